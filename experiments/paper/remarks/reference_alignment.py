"""Alignment to one reference run in place of all pairs: what it costs in quality, and what it
saves.

The paper names it as a way from quadratic to linear cost in R, and warns that it depends on the
run. Three ways are compared: all pairs, through the run that agrees most with all others
(`agreement="reference"`; to find it takes all pairs), and through the first run, which alone is
linear in R. `seconds` are those of stability alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clustertrust import align_labels, confidence
from clustertrust.evaluation import auroc, correctness
from clustertrust.fusion import harmonic
from clustertrust.stability import pairwise_stability
from experiments.paper import data, runs
from experiments.paper.ensembles import repeated
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment, averaged_rows

KEYS = ("dataset", "agreement", "quantity")
MANY = 100  # runs, for the time


def through_first(labels: NDArray) -> NDArray:
    """Share of the pairs of runs that name a point alike after each is aligned to the first run:
    linear in R.
    """
    named = np.column_stack([align_labels(labels[:, 0], run) for run in labels.T])
    votes = np.zeros((len(labels), labels[:, 0].max() + 1))
    for run in named.T:
        votes[np.flatnonzero(run >= 0), run[run >= 0]] += 1
    R = labels.shape[1]
    return (votes * (votes - 1)).sum(axis=1) / (R * (R - 1))


WAYS: dict[str, Callable[[NDArray], NDArray]] = {
    "all pairs": pairwise_stability,
    "most central run": lambda labels: pairwise_stability(labels, agreement="reference"),
    "first run": through_first,
}


def one(name: str, protocol: Protocol, repetition: int) -> dict[tuple[str, str, str], float]:
    """AUROC of stability and of the harmonic score by each way, and how far scores are from those
    of all pairs.
    """
    case = replace(protocol, part=repetition).load(name)
    ensemble = runs.build(
        case.X, protocol.method("kmeans", name), case.k, protocol.seeds(repetition)
    )
    with runs.hushed():
        scored = confidence(case.X, ensemble, geometry="exact")
        stability = {way: of(ensemble.labels) for way, of in WAYS.items()}
    right = correctness(scored.labels, case.y)
    found = {}
    for way, c in stability.items():
        found[name, way, "AUROC of stability"] = auroc(c, right)
        found[name, way, "AUROC of HM"] = auroc(harmonic(c, scored.geometry), right)
        found[name, way, "mean difference of c from all pairs"] = float(
            np.abs(c - stability["all pairs"]).mean()
        )
    return found


def timed(name: str, protocol: Protocol) -> dict[tuple[str, str, str], float]:
    """Seconds of stability alone with few and with many runs, the shortest of three."""
    case = replace(protocol, part=0).load(name)
    found = {}
    for R in (20, MANY):
        labels = runs.build(
            case.X, protocol.method("kmeans", name), case.k, protocol.seeds(size=R)
        ).labels
        for way, of in WAYS.items():
            taken = []
            for _ in range(3):
                began = time.perf_counter()
                with runs.hushed():
                    of(labels)
                taken.append(time.perf_counter() - began)
            found[name, way, f"seconds, R = {R}"] = min(taken)
    return found


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Quality over ten ensembles, and times."""
    yield from repeated(one, KEYS)(name, protocol)
    yield from averaged_rows([timed(name, protocol)], KEYS)


EXPERIMENT = Experiment(
    title="Alignment to one reference run: quality and time compared with all pairs",
    run=run,
    keys=KEYS,
    sets=tuple(name for name in data.ALL if name != "Fm"),
    protocols=("fair",),
    causes={},
)
