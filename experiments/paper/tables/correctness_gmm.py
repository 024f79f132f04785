"""Consensus correctness with mixtures: full covariances, but the authors' bootstrap of real sets has diagonal ones."""

from experiments.paper.correctness import KEYS, consensus_correctness
from experiments.paper.data import REAL, SYNTHETIC
from experiments.paper.results import COMMON_CAUSES, Experiment

EXPERIMENT = Experiment(
    title="Consensus correctness, Gaussian mixture ensembles",
    run=consensus_correctness(
        "gmm", subsample=lambda name: "gmm-diag" if name in REAL else "gmm-full", reduced=True
    ),
    keys=KEYS,
    causes=COMMON_CAUSES
    | {
        "the authors' bootstrap is diagonal on real sets and not recovered on synthetic ones; ours is full there.": (
            lambda rows: (rows["signal"] == "bootstrap") & rows["dataset"].isin(SYNTHETIC)
        ),
        "0.833 is printed for three of four signals of Pd; that of entropy is likely a slip, as the rest agrees.": (
            lambda rows: (rows["dataset"] == "Pd") & (rows["signal"] == "entropy")
        ),
    },
)
