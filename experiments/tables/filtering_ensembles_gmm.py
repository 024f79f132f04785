"""Instance removal over ten ensembles a set, Gaussian mixtures with full covariances.

Fm is taken as its first 50 principal components.
"""

from experiments.ensembles import KEYS, over_ensembles
from experiments.results import Experiment

EXPERIMENT = Experiment(
    title="Instance removal over ten ensembles a set, Gaussian mixtures with full covariances",
    run=over_ensembles({"k-means": "gmm-full"}, reduced=True),
    keys=KEYS,
    protocols=("fair",),
    causes={},
)
