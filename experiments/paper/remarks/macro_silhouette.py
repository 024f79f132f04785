"""Adaptive filtering by the macro silhouette, the mean of cluster means, in place of the mean over
points.

The paper names it for settings in which clusters should be kept alike. Both criteria choose among
the same shares, from the same three fits a share; the subset is then clustered anew as in the table
of adaptive filtering. `micro - full` is what adaptive filtering by HM gains over all points, which
that table has for one ensemble a set.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from clustertrust import confidence
from clustertrust.geometry import silhouettes
from experiments.paper import runs
from experiments.paper.data import Case
from experiments.paper.ensembles import repeated
from experiments.paper.filtering import evaluate
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment

KEYS = ("dataset", "criterion", "quantity")
METRICS = ("ARI", "AMI", "ACC")
SHARES = np.arange(40, 91, 5) / 100


def micro(s: NDArray, labels: NDArray) -> float:
    """Mean over points."""
    return float(s.mean())


def macro(s: NDArray, labels: NDArray) -> float:
    """Mean over clusters of the mean over their points."""
    return float(np.mean([s[labels == label].mean() for label in np.unique(labels)]))


CRITERIA: dict[str, Callable[[NDArray, NDArray], float]] = {"micro": micro, "macro": macro}


def judged(case: Case, method: str, points: NDArray, seeds: list[int]) -> dict[str, float]:
    """Each criterion on a subset, averaged over fits."""
    X = case.X[points]
    fits = runs.build(X, method, case.k, seeds)
    s = silhouettes(X, fits, geometry="exact")
    return {
        name: float(np.mean([of(*pair) for pair in zip(s.T, fits.labels.T, strict=True)]))
        for name, of in CRITERIA.items()
    }


def smallest_class(case: Case, points: NDArray) -> float:
    """Share of its points that the class which loses most keeps."""
    classes, sizes = np.unique(case.y, return_counts=True)
    return float(
        min(
            (case.y[points] == label).sum() / size
            for label, size in zip(classes, sizes, strict=True)
        )
    )


def one(name: str, protocol: Protocol, repetition: int) -> dict[tuple[str, str, str], float]:
    """Chosen share, quality of the subset, and how alike classes are kept, by each criterion."""
    case, method = protocol.load(name), protocol.method("kmeans", name)
    ensemble = runs.build(case.X, method, case.k, protocol.seeds(repetition))
    with runs.hushed():
        scores = confidence(case.X, ensemble, geometry="exact").scores
    order = np.argsort(-scores, kind="stable")
    kept = {share: np.sort(order[: round(share * len(order))]) for share in SHARES}
    seeds = [400_000 + 10 * repetition + at for at in range(3)]
    values = {share: judged(case, method, points, seeds) for share, points in kept.items()}
    chosen = {
        # Ties: the larger share.
        criterion: max(SHARES, key=lambda share: (round(values[share][criterion], 9), share))
        for criterion in CRITERIA
    }
    subsets = {"full": np.arange(len(order))} | {
        criterion: kept[share] for criterion, share in chosen.items()
    }
    found = {}
    evaluation = [seed + 100 * repetition for seed in protocol.evaluation_seeds()]
    for criterion, points in subsets.items():
        metrics = evaluate(case, method, [points], evaluation, silhouette=False).mean()
        found |= {(name, criterion, metric): metrics[metric] for metric in METRICS}
    for criterion, share in chosen.items():
        found[name, criterion, "share kept"] = float(share)
        found[name, criterion, "least share kept of a class"] = smallest_class(case, kept[share])
    for first, second in (("macro", "micro"), ("micro", "full")):
        for metric in METRICS:
            found[name, f"{first} - {second}", metric] = (
                found[name, first, metric] - found[name, second, metric]
            )
    return found


EXPERIMENT = Experiment(
    title="Adaptive filtering by the macro silhouette, compared with the mean over points",
    run=repeated(one, KEYS),
    keys=KEYS,
    sets=("S2", "S4", "S6", "Bc", "Dg", "Pd", "Sa"),
    protocols=("fair",),
    causes={},
)
