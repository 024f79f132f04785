"""Instance removal with Gaussian mixtures: diagonal as printed, full covariances where fair."""

from experiments.filtering import KEYS, filtering
from experiments.results import Experiment

EXPERIMENT = Experiment(
    title="Instance removal, Gaussian mixtures",
    run=filtering("gmm", printed="gmm-diag", reduced=True),
    keys=KEYS,
    protocols=("printed",),  # over ten ensembles a set in filtering_ensembles_gmm
)
