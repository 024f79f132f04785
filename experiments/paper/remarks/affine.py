"""The affine map of the footnote, ((μ - σ) + 1) / 2 in place of max(0, μ - σ): does it rank points
better?

It keeps apart the points that the clip sets to 0. Values of the two maps, and their difference in
each ensemble.
"""

from __future__ import annotations

from dataclasses import replace

from clustertrust import confidence
from clustertrust.evaluation import auprc, auroc, correctness
from experiments.paper import data, runs
from experiments.paper.ensembles import repeated
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment

KEYS = ("dataset", "map", "quantity")
METRICS = {"AUROC": auroc, "AUPRC": auprc}


def one(name: str, protocol: Protocol, repetition: int) -> dict[tuple[str, str, str], float]:
    """How well the harmonic score of each map tells right labels from wrong ones in one ensemble."""
    case = replace(protocol, part=repetition).load(name)
    ensemble = runs.build(
        case.X, protocol.method("kmeans", name), case.k, protocol.seeds(repetition)
    )
    found: dict[tuple[str, str, str], float] = {}
    for way in ("clip", "affine"):
        with runs.hushed():
            scored = confidence(case.X, ensemble, geometry="exact", normalization=way)
        right = correctness(scored.labels, case.y)
        found |= {
            (name, way, metric): value(scored.scores, right) for metric, value in METRICS.items()
        }
        found[name, way, "share of points at 0"] = float((scored.scores == 0).mean())
    for metric in METRICS:
        found[name, "affine - clip", metric] = (
            found[name, "affine", metric] - found[name, "clip", metric]
        )
    return found


EXPERIMENT = Experiment(
    title="The affine map of silhouettes compared with the clip, harmonic scores",
    run=repeated(one, KEYS),
    keys=KEYS,
    sets=data.ALL,
    protocols=("fair",),
    causes={},
)
