"""Consensus correctness with K-Medoids, by FasterPAM from random starts: the authors' way is not known."""

from experiments.correctness import KEYS, consensus_correctness
from experiments.results import Experiment

EXPERIMENT = Experiment(
    title="Consensus correctness, K-Medoids ensembles",
    run=consensus_correctness("kmedoids"),
    keys=KEYS,
)
