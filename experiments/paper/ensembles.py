"""Instance removal over ten ensembles a set: what the printed tables, made of one ensemble each,
cannot say.

Each repetition has an ensemble, a draw for ties and seeds of evaluation of its own, so that the
intervals hold all three. All rules of a repetition are evaluated by the same seeds, so that
differences between rules are paired.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from clustertrust import confidence
from experiments.paper import runs
from experiments.paper.data import Case
from experiments.paper.filtering import SHARE, evaluate, signals
from experiments.paper.protocols import Protocol
from experiments.paper.results import averaged, averaged_rows

KEYS = ("dataset", "start", "subset", "metric")
# Rules whose values are subtracted in each repetition.
PAIRS = tuple((cake, other) for other in ("S", "C", "full") for cake in ("CAKE_HM", "CAKE_PR"))
LEVEL = 5e-4  # what three printed digits call equal


def difference(first: str, second: str) -> str:
    """Name of the rows of a paired difference."""
    return f"{first} - {second}"


def subsets(case: Case, method: str, protocol: Protocol, repetition: int) -> dict[str, NDArray]:
    """Positions kept by each rule: exactly 70 %, ties in an order drawn for the repetition."""
    ensemble = runs.build(case.X, method, case.k, protocol.seeds(repetition))
    with runs.hushed():
        ranked = signals(confidence(case.X, ensemble, geometry="exact"))
    n = len(case.X)
    m = int(SHARE * n + 1e-9)
    shuffled = np.random.default_rng(repetition).permutation(n)
    kept = {"full": np.arange(n), "random": np.sort(shuffled[:m])}
    for rule, scores in ranked.items():
        kept[rule] = np.sort(shuffled[np.argsort(-scores[shuffled], kind="stable")[:m]])
    return kept


def repeat(
    name: str, method: str, protocol: Protocol, dtype: str | None = None
) -> Iterator[dict[tuple[str, str], tuple[float, float]]]:
    """Mean of each metric and its deviation over seeds, of all rules and paired differences, once a
    repetition.
    """
    for repetition in range(2 if protocol.quick else 10):
        case = replace(protocol, part=repetition).load(name, dtype)
        seeds = [seed + 100 * repetition for seed in protocol.evaluation_seeds()]
        kept = subsets(case, method, protocol, repetition)
        by_seed = {rule: evaluate(case, method, [points], seeds) for rule, points in kept.items()}
        by_seed |= {
            difference(first, second): by_seed[first] - by_seed[second] for first, second in PAIRS
        }
        yield {
            (rule, metric): (values.mean(), values.std())
            for rule, metrics in by_seed.items()
            for metric, values in metrics.items()
        }


def over_ensembles(
    starts: Mapping[str, str], *, reduced: bool = False, dtype: str | None = None
) -> Callable[[str, Protocol], Iterator[dict[str, Any]]]:
    """Make the experiment for some ways to start: what the tables call them, and the method.

    `reduced` takes the first 50 principal components of Fm, where its pixels would cost too much. `dtype`
    is that of the points, where it is not their own.
    """

    def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
        protocol = replace(protocol, reduced=reduced)
        for start, method in starts.items():
            found = list(repeat(name, method, protocol, dtype))
            for rule, metric in found[0]:
                values, spread = np.array([one[rule, metric] for one in found]).T
                row = {
                    "dataset": name,
                    "start": start,
                    "subset": rule,
                    "metric": metric,
                    **averaged(values),
                }
                if " - " in rule:
                    level = np.abs(values) < LEVEL
                    row |= {"above": int((values[~level] > 0).sum()), "level": int(level.sum())}
                yield row | {"spread": spread.mean(), "repetitions": len(values)}

    return run


def repeated(
    one: Callable[[str, Protocol, int], Mapping[Hashable, float]], keys: tuple[str, ...]
) -> Callable[[str, Protocol], Iterator[dict[str, Any]]]:
    """Make the experiment that averages what `one` finds with each of ten ensembles, or of two."""

    def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
        found = [one(name, protocol, at) for at in range(2 if protocol.quick else 10)]
        return averaged_rows(found, keys)

    return run


class SignedRank(NamedTuple):
    """Wilcoxon's signed-rank test over data sets, and the rank-biserial correlation as the size of
    the effect.
    """

    sets: int
    median: float
    p: float
    effect: float


def beyond_zero(rows: pd.DataFrame) -> pd.Series:
    """1 where an interval lies above zero, -1 where it lies below, by more than printed digits
    show; else 0.
    """
    return (rows["low"] > LEVEL).astype(int) - (rows["high"] < -LEVEL).astype(int)


def signed_rank(differences: NDArray) -> SignedRank:
    """Test whether mean differences of data sets are centred on zero.

    Those that round to 0.000000 are left out.
    """
    differences = np.round(differences, 6)
    nonzero = differences[differences != 0]
    if not len(nonzero):
        return SignedRank(0, 0.0, 1.0, 0.0)
    ranks = rankdata(np.abs(nonzero))
    effect = float((ranks * np.sign(nonzero)).sum() / ranks.sum())
    return SignedRank(
        len(nonzero), float(np.median(differences)), float(wilcoxon(nonzero).pvalue), effect
    )


def differences(table: pd.DataFrame, pair: tuple[str, str], metric: str) -> pd.DataFrame:
    """Rows of one pair of rules and one metric, one for each data set of a table of one start."""
    return table[(table["subset"] == difference(*pair)) & (table["metric"] == metric)]
