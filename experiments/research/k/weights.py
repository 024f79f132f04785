"""The weights of the signals in `choose_k`, and the mass of its plausible sets: from development sets alone.

What each signal says is stored for the generated development families, the development sets of the ranking and the paper's
sets. The weights are those of largest likelihood, fitted to both groups with equal weight: the generated sets, and all
others, which are not what a mixture assumes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from clustertrust import CAKE, choose_k
from clustertrust.k_profile import combine
from experiments.paper import data
from experiments.paper.runs import hushed
from experiments.research import development, folder
from experiments.research.heldout import Set
from experiments.research.k import sets
from experiments.research.k.rivals import KS, POINTS
from experiments.research.k.signals import SIGNALS

FILE = folder("k") / "k_development.csv"
OUT_OF_RANGE = ("Ng", "Lt", "Fm")  # of the paper's: more than 16 classes, and one of 784 columns


def paper_sets() -> Iterator[Set]:
    """The paper's sets, and those that the ranking was developed on."""
    data.find_data()
    yield from development.sets()
    for name in data.ALL:
        if name not in OUT_OF_RANGE:
            case = data.load(name, noise_is_class=False)
            yield Set(name, np.asarray(case.X, dtype=np.float64), case.y, case.k)


def all_sets(each: int) -> Iterator[tuple[str, Set]]:
    """Every set with its group, families in turn."""
    for made in paper_sets():
        yield "others", made
    for b in range(each):
        for name in sets.DEVELOPMENT:
            yield "generated", sets.draw(sets.DEVELOPMENT, 22, name, b)


def rows_of(group: str, made: Set) -> pd.DataFrame:
    """One row a k: how far it is behind by each signal."""
    rows = np.random.default_rng([4, 0]).permutation(len(made.X))[:POINTS]
    with hushed():
        profile = choose_k(made.X[rows], KS, CAKE(n_runs=10, random_state=0, n_jobs=1), null=None)
    frame = profile.to_frame()[[f"{name}_behind" for name in SIGNALS if name in profile.signals]]
    frame = frame.reindex(columns=[f"{name}_behind" for name in SIGNALS], fill_value=0.0)
    frame.insert(0, "classes", made.k)
    frame.insert(0, "group", group)
    frame.insert(0, "set", made.name)
    return frame.reset_index()


class Case(NamedTuple):
    """(q, 3) log(1 + t), (q,) log k, the position of the right k, and the weight of the set."""

    features: np.ndarray
    log_k: np.ndarray
    right: int
    weight: float

    def logs(self, w: np.ndarray, prior: float) -> np.ndarray:
        """(q,) log of the probability of each k, but for a constant."""
        return -self.features @ w - prior * self.log_k


def cases_of(rows: pd.DataFrame) -> list[Case]:
    """The sets; both groups weigh the same."""
    kept = rows[rows["classes"].isin(KS)]
    sizes = kept.groupby("group")["set"].nunique()
    columns = [f"{name}_behind" for name in SIGNALS]
    return [
        Case(
            np.log1p(of[columns].to_numpy()),
            np.log(of["n_clusters"].to_numpy()),
            list(of["n_clusters"]).index(of["classes"].iloc[0]),
            1 / sizes[group],
        )
        for (group, _), of in kept.groupby(["group", "set"], sort=False)
    ]


def fit_weights(
    cases: list[Case], used: tuple[str, ...] = SIGNALS, prior: float = 1.0
) -> np.ndarray:
    """The weights, none below 0, that make the right k most probable: Σ log p(right) as large as it gets.

    Signals that are not `used` have weight 0. The prior is 1 / k^prior.
    """

    def loss(w: np.ndarray) -> float:
        logs = [case.logs(w, prior) for case in cases]
        return -sum(
            case.weight * (of[case.right] - np.logaddexp.reduce(of))
            for case, of in zip(cases, logs, strict=True)
        )

    bounds = [(0.0, None if name in used else 0.0) for name in SIGNALS]
    start = [1.0 if name in used else 0.0 for name in SIGNALS]
    return np.asarray(minimize(loss, start, bounds=bounds, method="L-BFGS-B").x)


def share_covered(
    cases: list[Case], w: np.ndarray, mass: float, prior: float = 1.0
) -> tuple[float, float]:
    """How often the plausible k hold the right one, and how many they are in the mean."""
    covered, sizes, weights = [], [], []
    for case in cases:
        p = np.exp(case.logs(w, prior))
        found = combine.plausible(p / p.sum(), mass)
        covered.append(case.right in found)
        sizes.append(len(found))
        weights.append(case.weight)
    return float(np.average(covered, weights=weights)), float(np.average(sizes, weights=weights))
