"""Tables of correctness: how well a signal tells right consensus labels from wrong ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from clustertrust.baselines import entropy_agreement, subsample_stability
from clustertrust.evaluation import auprc, auroc, correctness
from clustertrust.fusion import product
from clustertrust.results import Confidence
from experiments.paper import authors, runs
from experiments.paper.data import LARGE, Case
from experiments.paper.protocols import Protocol
from experiments.paper.results import averaged

KEYS = ("dataset", "metric", "signal")
METRICS = {"AUPRC": auprc, "AUROC": auroc}

Signals = dict[str, NDArray]
Repetitions = Iterator[tuple[Signals, NDArray]]


def bootstrap(case: Case, method: str, protocol: Protocol, repetition: int) -> NDArray:
    """Stability over 20 runs on 80 % of the points each: the authors' draws, or starts like the ensemble's."""
    n = len(case.X)
    if protocol.name == "printed":
        return authors.stability(
            runs.subsampled(case.X, method, case.k, size=round(0.8 * n), seed=42).labels
        )
    seed = protocol.seeds(repetition)[0] + 500
    return subsample_stability(
        runs.subsampled(case.X, method, case.k, size=int(0.8 * n + 1e-9), seed=seed)
    )


def entropy(scored: Confidence, protocol: Protocol) -> NDArray:
    """Agreement with the consensus by entropy."""
    if protocol.name == "fair":
        return entropy_agreement(scored.ensemble)
    return authors.entropy(scored.ensemble.labels, scored.labels)


def measure(
    name: str, of_repetition: Iterable[tuple[Signals, NDArray]]
) -> Iterator[dict[str, Any]]:
    """AUPRC and AUROC of signals against what is right, averaged over repetitions, with an interval."""
    found = [
        {
            (metric, signal): value(scores, right)
            for metric, value in METRICS.items()
            for signal, scores in some.items()
        }
        for some, right in of_repetition
    ]
    for (metric, signal), values in pd.DataFrame(found).items():
        yield {"dataset": name, "metric": metric, "signal": signal, **averaged(values)}


def signals(
    name: str, method: str, subsample_method: str, protocol: Protocol, *, parts: bool = False
) -> Repetitions:
    """The four signals of the tables and which consensus labels are right, once a repetition.

    `parts`: ten repetitions also of the largest sets, each on a part of the points.
    """
    in_parts = parts and protocol.name == "fair" and name in LARGE and not protocol.quick
    for repetition in range(10 if in_parts else protocol.repetitions(name)):
        protocol = replace(protocol, part=repetition if in_parts else None)
        case = protocol.load(name)
        scored = runs.scored(name, method, protocol.seeds(repetition), protocol)
        yield (
            {
                "CAKE_PR": product(scored.stability, scored.geometry),
                "CAKE_HM": scored.scores,
                "entropy": entropy(scored, protocol),
                "bootstrap": bootstrap(case, subsample_method, protocol, repetition),
            },
            correctness(scored.labels, case.y),
        )


def consensus_correctness(
    family: str,
    *,
    subsample: Callable[[str], str] | None = None,
    reduced: bool = False,
    parts: bool = False,
) -> Callable[[str, Protocol], Iterator[dict[str, Any]]]:
    """Make the experiment for one family of clusterers.

    `subsample` names the authors' method for the bootstrap, `reduced` says that they had principal components of Fm,
    `parts` that the fair protocol takes ten parts of each of the largest sets.
    """

    def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
        protocol = replace(protocol, reduced=reduced and protocol.name == "printed")
        method = protocol.method(family, name)
        other = subsample(name) if subsample and protocol.name == "printed" else method
        return measure(name, signals(name, method, other, protocol, parts=parts))

    return run
