"""Instance removal over ten ensembles a set, MiniBatchKMeans."""

from experiments.paper.ensembles import KEYS, over_ensembles
from experiments.paper.results import Experiment

EXPERIMENT = Experiment(
    title="Instance removal over ten ensembles a set, MiniBatchKMeans",
    run=over_ensembles({"random": "minibatch-random"}),
    keys=KEYS,
    protocols=("fair",),
    causes={},
)
