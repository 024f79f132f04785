"""Tables of instance removal: keep the surest 70 % by several rules, cluster what is left anew, measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust.evaluation import agreement_with_truth
from clustertrust.fusion import product
from clustertrust.geometry import silhouettes
from clustertrust.results import Confidence
from experiments.paper import runs
from experiments.paper.data import Case
from experiments.paper.protocols import Protocol
from experiments.paper.results import averaged

KEYS = ("dataset", "subset", "metric")
METRICS = {"ARI": "ari", "AMI": "ami", "ACC": "accuracy", "NMI": "nmi"}
SHARE = 0.7


def signals(scored: Confidence) -> dict[str, NDArray]:
    """The scores that subsets are ranked by."""
    return {
        "consensus": scored.consensus_strength,
        "C": scored.stability,
        "S": scored.geometry,
        "CAKE_PR": product(scored.stability, scored.geometry),
        "CAKE_HM": scored.scores,
    }


def subsets(scored: Confidence, protocol: Protocol) -> Iterator[tuple[str, list[NDArray]]]:
    """Positions kept by each rule: as many as have a PR above its 30th percentile, which is 70 % only without ties."""
    ranked = signals(scored)
    above = ranked["CAKE_PR"] > np.percentile(ranked["CAKE_PR"], 30)
    m = int(above.sum())
    yield from baselines(len(above), m, 1)
    for name, scores in ranked.items():
        yield name, [np.flatnonzero(above)] if name == "CAKE_PR" else protocol.top(scores, m, 1)


def baselines(n: int, m: int, draws: int) -> Iterator[tuple[str, list[NDArray]]]:
    """All points, and m drawn at random by legacy generators seeded 0, 1, …: the authors drew once, seeded 0."""
    yield "full", [np.arange(n)]
    yield (
        "random",
        [np.sort(np.random.RandomState(draw).choice(n, m, replace=False)) for draw in range(draws)],
    )


def evaluate(
    case: Case,
    method: str,
    kept: Sequence[NDArray],
    seeds: Sequence[int],
    *,
    silhouette: bool = True,
) -> Any:
    """Metrics of clusterings of the kept points, one row a seed, averaged over the ways of breaking ties."""
    frames = []
    for points in kept:
        X, y = case.X[points], case.y[points]
        ensemble = runs.build(X, method, case.k, seeds)
        columns: dict[str, Any] = {
            name: [agreement_with_truth(run, y, metric) for run in ensemble.labels.T]
            for name, metric in METRICS.items()
        }
        if silhouette:
            columns["Silhouette"] = silhouettes(X, ensemble, geometry="exact").mean(axis=0)
        frames.append(pd.DataFrame(columns))
    return sum(frames) / len(frames)


def rows_of(name: str, subset: str, by_run: pd.DataFrame, **more: Any) -> Iterator[dict[str, Any]]:
    """Mean and Student interval of each metric over the runs of evaluation."""
    for metric, values in by_run.items():
        yield {"dataset": name, "subset": subset, "metric": metric, **more, **averaged(values)}


def filtering(
    family: str, *, printed: str | None = None, reduced: bool = False
) -> Callable[[str, Protocol], Iterator[dict[str, Any]]]:
    """Make the experiment for one family of clusterers, as printed: one ensemble a set (see `ensembles` for ten).

    `printed` is the authors' method where it is not the usual one, `reduced` says that they had principal components
    of Fm.
    """

    def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
        protocol = replace(protocol, reduced=reduced)
        case, method = protocol.load(name), printed or protocol.method(family, name)
        scored = runs.scored(name, method, protocol.seeds(), protocol)
        for subset, kept in subsets(scored, protocol):
            by_run = evaluate(case, method, kept, protocol.evaluation_seeds())
            yield from rows_of(name, subset, by_run, kept=len(kept[0]))

    return run
