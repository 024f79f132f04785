"""Instance removal with k-means."""

from experiments.paper.filtering import KEYS, filtering
from experiments.paper.results import Experiment

EXPERIMENT = Experiment(
    title="Instance removal, k-means: keep 70 % by seven rules, cluster again, compare with the truth",
    run=filtering("kmeans"),
    keys=KEYS,
    protocols=("printed",),  # over ten ensembles a set in filtering_ensembles_kmeans
)
