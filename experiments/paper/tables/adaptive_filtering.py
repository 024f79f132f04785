"""Adaptive filtering: a re-fit's silhouette chooses the share kept. S2, S4, S6 the authors ran and left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clustertrust import CAKE, select_adaptive
from experiments.paper import runs
from experiments.paper.filtering import KEYS, baselines, evaluate, rows_of, signals
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """The authors used the centroid proxy throughout; the paper speaks of the silhouette."""
    geometry = "centroid" if protocol.name == "printed" else "exact"
    case, method = protocol.load(name), protocol.method("kmeans", name)
    scored = runs.scored(name, method, protocol.seeds(), protocol, geometry=geometry)
    with runs.hushed():
        refit = CAKE(case.k, clusterer=method, geometry=geometry, random_state=[123, 124, 125])
        chosen = select_adaptive(case.X, scored.scores, refit)
    m, draws = int(chosen.mask.sum()), protocol.repetitions(name)
    kept = dict(baselines(len(case.X), m, draws))
    kept |= {subset: protocol.top(scores, m, draws) for subset, scores in signals(scored).items()}
    for subset, points in kept.items():
        by_run = evaluate(case, method, points, protocol.evaluation_seeds(), silhouette=False)
        for row in rows_of(name, subset, by_run, kept=len(points[0])):
            yield row | {"low": max(row["low"], 0.0), "high": min(row["high"], 1.0)}


EXPERIMENT = Experiment(
    title="Adaptive filtering: the share kept is chosen by the silhouette",
    run=run,
    keys=KEYS,
    kind=lambda rows: (
        rows["dataset"].isin(["S2", "S4", "S6"]).map({True: "notebook", False: "table"})
    ),
    sets=("S2", "S4", "S6", "Bc", "Dg", "Ng", "Fm", "Pd", "Sa"),
)
