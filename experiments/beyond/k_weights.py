"""The weights of the signals in `choose_k`, and the mass of its plausible sets: from development sets alone.

`python -m experiments.beyond.k_weights` runs `choose_k` on the generated development families, on the development sets
of the ranking and on the paper's sets, and writes what each signal says to `results/k_development.csv`; a set that is
there is not run again. Then it prints the weights of largest likelihood, fitted to both groups with equal weight: the
generated sets, and all others, which are not what a mixture assumes. Some minutes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from clustertrust import CAKE, choose_k
from clustertrust.k_profile import combine
from experiments import data
from experiments.beyond import RESULTS, development, k_sets
from experiments.beyond.heldout import Set
from experiments.results import read, write
from experiments.runs import hushed

FILE = RESULTS / "k_development.csv"
KS = range(2, 17)
SIGNALS = ("separation", "likelihood", "stability")
POINTS = 500
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
        for name in k_sets.DEVELOPMENT:
            yield "generated", k_sets.draw(k_sets.DEVELOPMENT, 22, name, b)


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


def main() -> None:
    """Run what is missing, and print weights and mass."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.beyond.k_weights", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--each", type=int, default=8, help="sets of each generated family")
    parser.add_argument("--prior", type=float, default=1.0, help="p(k) ∝ 1/k^PRIOR; 0 was first")
    parser.add_argument("--out", type=Path, default=FILE)
    arguments = parser.parse_args()
    rows = read(arguments.out)
    done = set(rows["set"]) if len(rows) else set()
    for group, made in all_sets(arguments.each):
        if made.name in done:
            continue
        rows = pd.concat([rows, rows_of(group, made)], ignore_index=True)
        write(arguments.out, rows.to_csv(index=False, float_format="%.4g"))
        print(f"{time.strftime('%H:%M:%S')} {made.name}", file=sys.stderr, flush=True)
    rows = read(arguments.out)
    cases = cases_of(rows)
    for used in combine.WEIGHTS:
        w = fit_weights(cases, used, arguments.prior)
        print(used, w[[SIGNALS.index(name) for name in used]].round(2))
    w = fit_weights(cases, SIGNALS, arguments.prior)
    for mass in (0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98):
        by_group = {
            group: share_covered(cases_of(of), w, mass, arguments.prior)
            for group, of in rows.groupby("group")
        }
        print(f"mass {mass}: share covered and mean size {by_group}")


if __name__ == "__main__":
    main()
