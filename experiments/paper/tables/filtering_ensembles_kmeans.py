"""Instance removal over ten ensembles a set, k-means."""

from experiments.paper.ensembles import KEYS, over_ensembles
from experiments.paper.results import Experiment

EXPERIMENT = Experiment(
    title="Instance removal over ten ensembles a set, k-means",
    run=over_ensembles({"random": "kmeans-random", "k-means++": "kmeans"}),
    keys=KEYS,
    protocols=("fair",),
    causes={},
)
