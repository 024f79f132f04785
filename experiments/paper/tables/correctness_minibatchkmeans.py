"""Consensus correctness with MiniBatchKMeans."""

from experiments.paper.correctness import KEYS, consensus_correctness
from experiments.paper.results import Experiment

EXPERIMENT = Experiment(
    title="Consensus correctness, MiniBatchKMeans ensembles",
    run=consensus_correctness("minibatch", subsample=lambda name: "minibatch", parts=True),
    keys=KEYS,
)
