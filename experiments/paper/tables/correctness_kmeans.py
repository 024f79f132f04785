"""Consensus correctness with k-means: the authors' bootstrap has k-means++ starts, their ensemble random ones."""

from experiments.paper.correctness import KEYS, consensus_correctness
from experiments.paper.results import Experiment

EXPERIMENT = Experiment(
    title="Consensus correctness, k-means ensembles",
    run=consensus_correctness("kmeans", subsample=lambda name: "kmeans", parts=True),
    keys=KEYS,
)
