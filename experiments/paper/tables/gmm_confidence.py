"""Confidence of mixtures: how well posteriors, and CAKE, find the errors of one mixture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from clustertrust._parallel import one_thread
from clustertrust.baselines import gmm_memberships, membership_confidence
from clustertrust.evaluation import correctness
from experiments.paper import runs
from experiments.paper.correctness import KEYS, Signals, measure
from experiments.paper.data import REAL
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment

NATIVE = {"GMM1": "maximum", "GMM2": "margin", "GMM3": "entropy"}


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """The target is one mixture's own labels. The authors' CAKE has the centroid proxy here, with fitted means."""
    dtype, geometry = ("float64", "centroid") if protocol.name == "printed" else (None, "exact")
    case = protocol.load(name, dtype)
    runs.check_cost(case.X, "gmm-full", case.k)

    def repetition(at: int) -> tuple[Signals, NDArray]:
        seeds = protocol.seeds(at, first=42)
        scored = runs.scored(name, "gmm-full", seeds, protocol, geometry=geometry, dtype=dtype)
        with runs.hushed(), one_thread():  # several would wait for each other on a busy machine
            u = gmm_memberships(
                case.X, case.k, random_state=42 if protocol.name == "printed" else seeds[0] + 500
            )
        native = {signal: membership_confidence(u, kind) for signal, kind in NATIVE.items()}
        return native | {"CAKE_HM": scored.scores}, correctness(u.argmax(axis=1), case.y)

    return measure(name, map(repetition, range(protocol.repetitions(name))))


EXPERIMENT = Experiment(
    title="Confidence of a Gaussian mixture: its posteriors compared with CAKE",
    run=run,
    keys=KEYS,
    sets=REAL,
)
