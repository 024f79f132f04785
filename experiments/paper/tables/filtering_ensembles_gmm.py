"""Instance removal over ten ensembles a set, Gaussian mixtures with full covariances.

Fm is taken as its first 50 principal components. Points are in double precision: in single, covariances
of components with few points are not positive definite, and fits fail on Ng and Fm.
"""

from experiments.paper.ensembles import KEYS, over_ensembles
from experiments.paper.results import Experiment

EXPERIMENT = Experiment(
    title="Instance removal over ten ensembles a set, Gaussian mixtures with full covariances",
    run=over_ensembles({"k-means": "gmm-full"}, reduced=True, dtype="float64"),
    keys=KEYS,
    protocols=("fair",),
    causes={},
)
