"""Do the standard errors of scores cover what many runs give, and does `n_runs="auto"` stop in time?

Runs of k-means from random starts, k the number of classes, exact silhouettes, at most 1,000 points of a set. The truth
of a point is its score in 800 runs: with 300, which take as long as `auto` does, half of the difference would be the
truth's own error. Ensembles of 20 others are scored, and coverage is the share of points whose truth is within 1.96
standard errors of their score. A set has several optima if the mean stability of the 800 runs is below 0.99. The truth of
a combined score also has the second opinions of 60 runs of each method on the same labels, in place of four.

`python -m experiments.research.errors.run` runs a few development sets, `--full` all and the held-out ones: some minutes
on many cores. It writes a table and its rows.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from clustertrust import CAKE, Confidence, build_ensemble, confidence
from clustertrust.opinions import gather_opinions
from clustertrust.scoring.convergence import MOST_RUNS
from clustertrust.scoring.jackknife import Z
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.research import command, development, folder, heldout
from experiments.research.heldout import Set

MANY, FEW, ENSEMBLES = 800, 20, 10
# Runs of each other method that make the truth of second opinions.
MANY_OPINIONS = 60
MOST_POINTS = 1000
# From this mean stability of many runs on there is one optimum.
ONE_OPTIMUM = 0.99
# A score that is farther off counts as wrong.
TOLERATED = 0.05


def score(X: NDArray, labels: NDArray, fusion: str = "harmonic") -> Confidence:
    """Score labels of runs, on one thread: the sets are shared out among processes."""
    return confidence(X, labels, geometry="exact", fusion=fusion, n_jobs=1)


def combined(X: NDArray, labels: NDArray, few: Confidence, many: Confidence) -> dict[str, float]:
    """Coverage of combined scores, with and without errors of second opinions."""
    found = score(X, labels, "combined")
    opinions = gather_opinions(X, found.labels, n_runs=MANY_OPINIONS, seed=1, n_jobs=1)
    share, _ = opinions.of(X, found.labels)
    off = np.abs((few.scores - many.scores) + (found.second_opinions - share)) / 3
    return {
        "combined_runs": np.mean(off <= Z * few.standard_errors / 3 + 1e-9),
        "combined": np.mean(off <= Z * found.standard_errors + 1e-9),
    }


def part_of(case: Set) -> Set:
    """Draw `MOST_POINTS` points of a larger set."""
    rows = np.random.default_rng(0).permutation(len(case.X))[:MOST_POINTS]
    return case._replace(X=np.ascontiguousarray(case.X[np.sort(rows)]))


def row(group: str, case: Set) -> dict[str, Any]:
    """Coverage of a set, with and without runs of a kind not seen yet, and what `auto` does."""
    warnings.simplefilter("ignore")
    began = time.perf_counter()
    case = part_of(case)
    clusterer = KMeans(case.k, init="random", n_init=1)
    n_runs = MANY + ENSEMBLES * FEW
    labels = build_ensemble(case.X, clusterer, n_runs=n_runs, random_state=0, n_jobs=1).labels
    many = score(case.X, labels[:, :MANY])
    measured = []
    for first in range(MANY, n_runs, FEW):
        few = score(case.X, labels[:, first : first + FEW])
        off = np.abs(few.scores - many.scores)
        unseen = 2 * few.scores / (FEW + 2)
        jackknife = np.sqrt(np.maximum(few.standard_errors**2 - unseen**2, 0))
        zero = few.scores == 0
        measured.append(
            {
                "jackknife": np.mean(off <= Z * jackknife + 1e-9),
                "coverage": np.mean(off <= Z * few.standard_errors + 1e-9),
                "half_width": Z * few.standard_errors.mean(),
                "off": off.mean(),
                "zeros": zero.mean(),
                "zeros_moved": np.mean(zero & (few.standard_errors == 0) & (off > 1e-9)),
            }
        )
    # Of the last of them: sixty runs of each method take as long as all that is above.
    second = combined(case.X, labels[:, n_runs - FEW :], few, many)
    auto = CAKE(case.k, clusterer=clusterer, n_runs="auto", geometry="exact", random_state=1)
    auto.set_params(n_jobs=1).fit(case.X)
    n, d = case.X.shape
    print(f"{group} {case.name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
    return {
        "group": group,
        "dataset": case.name,
        "n": n,
        "d": d,
        "k": case.k,
        "stability": np.nanmean(many.stability),
        **pd.DataFrame(measured).mean(),
        **second,
        "auto_runs": auto.n_runs_,
        "auto_wrong": np.mean(np.abs(auto.scores_ - many.scores) > TOLERATED),
    }


def summary(table: pd.DataFrame) -> str:
    """Coverage and what `auto` does, of all sets and of those with several optima."""
    several = table["stability"] < ONE_OPTIMUM
    lines = []
    for words, of in (
        ("several optima", table[several]),
        ("one", table[~several]),
        ("all", table),
    ):
        stopped = of[of["auto_runs"] < MOST_RUNS]
        lines.append(
            [
                words,
                len(of),
                f"{of['jackknife'].mean():.2f}",
                f"{of['coverage'].mean():.2f}",
                f"{(of['coverage'] >= 0.9).sum()}",
                f"{of['combined_runs'].mean():.2f}",
                f"{of['combined'].mean():.2f}",
                f"{(of['combined'] >= 0.9).sum()}",
                f"{of['half_width'].mean():.3f}",
                f"{of['auto_runs'].median():.0f}",
                f"{len(of) - len(stopped)}",
                f"{stopped['auto_wrong'].max():.1%}" if len(stopped) else "",
                f"{(stopped['auto_wrong'] > 0.05).sum()}",
            ]
        )
    head = [
        "sets",
        "number",
        "coverage, jackknife alone",
        "coverage",
        "at least 0.9",
        "combined, without errors of opinions",
        "combined",
        "at least 0.9",
        "half a width",
        "median runs of auto",
        "at the limit",
        f"most points off by {TOLERATED} where it stopped",
        "sets with more than 5 %",
    ]
    return markdown(head, lines)


def details(table: pd.DataFrame) -> str:
    """Every set."""
    head = ["dataset", "n", "d", "k", "stability", "jackknife", "coverage", "combined"]
    head += ["half_width", "off"]
    lines = [
        [
            *(r[name] for name in head[:4]),
            *(f"{r[name]:.3f}" for name in head[4:]),
            *(r["auto_runs"], f"{r['auto_wrong']:.3f}"),
        ]
        for _, r in table.iterrows()
    ]
    return markdown([*head, "runs of auto", f"off by {TOLERATED}"], lines)


def main() -> None:
    """Run, and write tables."""
    full = command("errors", __doc__, "all sets: some minutes on many cores").parse_args().full
    cases = [("development", case) for case in development.sets()]
    if full:
        found = (case for _, case in heldout.all_sets())
        cases += [("held out", case) for case in found if case is not None]
    else:
        cases = [case for case in cases if len(case[1].X) <= 1000][:4]
    # The largest first, so that no process works alone at the end.
    cases.sort(key=lambda case: -len(case[1].X))
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        table = pd.DataFrame(list(pool.map(row, *zip(*cases, strict=True))))
    table = table.sort_values(["group", "dataset"])
    results = folder("errors", full=full)
    page = f"{summary(table)}\n\n{details(table)}\n"
    write(results / "errors.csv", table.to_csv(index=False, float_format="%.6g"))
    write(results / "errors.md", page)
    print(page)


if __name__ == "__main__":
    sys.exit(main())
