"""Instance removal with MiniBatchKMeans."""

from experiments.paper.filtering import KEYS, filtering
from experiments.paper.results import Experiment

EXPERIMENT = Experiment(
    title="Instance removal, MiniBatchKMeans",
    run=filtering("minibatch", reduced=True),
    keys=KEYS,
    protocols=("printed",),  # over ten ensembles a set in filtering_ensembles_minibatchkmeans
)
