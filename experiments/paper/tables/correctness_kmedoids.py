"""Consensus correctness with K-Medoids: the authors' alternation on 2000 points as printed, FasterPAM where fair."""

from experiments.paper.correctness import KEYS, consensus_correctness
from experiments.paper.results import Experiment

EXPERIMENT = Experiment(
    title="Consensus correctness, K-Medoids ensembles",
    run=consensus_correctness("kmedoids", reduced=True),
    keys=KEYS,
)
