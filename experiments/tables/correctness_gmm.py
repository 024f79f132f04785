"""Consensus correctness with mixtures: full covariances, but the authors' bootstrap of real sets has diagonal ones."""

from experiments.correctness import KEYS, consensus_correctness
from experiments.data import REAL
from experiments.results import Experiment

EXPERIMENT = Experiment(
    title="Consensus correctness, Gaussian mixture ensembles",
    run=consensus_correctness("gmm", subsample=lambda name: "gmm-diag" if name in REAL else "gmm-full"),
    keys=KEYS,
)
