"""Convergence: how much the score of a point still changes from one ensemble of R runs to another.

As the authors ran it: ten sub-ensembles of each size from one pool of 200 runs, so that large ones share many runs and
vary too little. The noise of S3 is here the sixth block of the authors' stream: of blocks 1 to 16 it alone gives
the medians across S1–S7 that are read off their stored figure (all eight, to 0.0005; the next best gives four).

The fair protocol never uses a run twice for one size: ten sub-ensembles of 70 need 700 runs, which give up to twenty of
smaller sizes; on Fm, where a run takes seconds, it is 200 runs and sizes up to 20. Its deviations have B - 1 in the
divisor, and its intervals come from leaving out one sub-ensemble at a time (jackknife). Silhouettes, by fitted centres
as the paper says, are computed once a pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from clustertrust import datasets
from clustertrust.evaluation import student_interval
from clustertrust.fusion import harmonic
from clustertrust.geometry import silhouettes
from clustertrust.geometry.component import clip, mean_and_std
from clustertrust.stability import pairwise_stability
from experiments.paper import data, runs
from experiments.paper.data import Case
from experiments.paper.drawing import BLUE, GREY, VERMILION, by_protocol, grid
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment, Held

KEYS = ("dataset", "quantity", "R")
SIZES = range(5, 71, 5)
B = 10  # sub-ensembles of each size, or at least so many
POOL, FIRST = 200, 10_000  # runs of the authors' pool, and their first seed
# Medians across sets, read off the figure that the authors' notebook stores.
READ_AT = (5, 10, 20, 30, 40, 50, 60, 70)
READ = {
    "synthetic": (0.037, 0.030, 0.029, 0.014, 0.014, 0.012, 0.010, 0.010),
    "real": (0.054, 0.038, 0.023, 0.022, 0.016, 0.015, 0.013, 0.011),
}
TOLERANCE = 0.001
GROUPS = {"synthetic": data.SYNTHETIC, "real": data.REAL}


def plan(name: str, protocol: Protocol) -> tuple[Case, int, dict[int, list[NDArray]]]:
    """Data, the number of runs, and which of them make up the sub-ensembles of each size."""
    case = protocol.load(name)
    if protocol.name == "printed":
        if name == "S3":
            case = case._replace(X=datasets.load("S3", block=6).X)
        rng = np.random.default_rng(0)
        return (
            case,
            POOL,
            {R: [rng.choice(POOL, R, replace=False) for _ in range(B)] for R in SIZES},
        )
    sizes = range(5, 21 if name == "Fm" or protocol.quick else SIZES[-1] + 1, 5)
    pool = B * sizes[-1]
    blocks = {R: np.arange(pool - pool % R).reshape(-1, R)[: 2 * B] for R in sizes}
    return case, pool, {R: list(block) for R, block in blocks.items()}


def measure(scores: NDArray, ddof: int) -> dict[str, float]:
    """Summarise (n, B) scores: how far those of a typical and of a bad point vary, and how alike the rankings are."""
    std = scores.std(axis=1, ddof=ddof)
    alike = np.corrcoef(rankdata(scores, axis=0), rowvar=False)
    between = alike[np.triu_indices_from(alike, 1)].mean()
    return {
        "median std": np.median(std),
        "90th percentile of std": np.percentile(std, 90),
        "rank correlation": between,
    }


def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Score sub-ensembles of growing size, and tell how much they differ."""
    case, size, ensembles = plan(name, protocol)
    pool = runs.build(
        case.X, protocol.method("kmeans", name), case.k, protocol.seeds(first=FIRST, size=size)
    )
    s = silhouettes(case.X, pool, geometry="centroid")
    fair = protocol.name == "fair"
    for R, chosen in ensembles.items():
        with runs.hushed():
            scores = np.column_stack(
                [
                    harmonic(
                        pairwise_stability(pool.labels[:, some]), clip(*mean_and_std(s[:, some]))
                    )
                    for some in chosen
                ]
            )
        found = measure(scores, ddof=fair)
        n_scores = len(chosen)
        without = (
            [measure(np.delete(scores, b, axis=1), ddof=1) for b in range(n_scores)] if fair else []
        )
        for quantity, value in found.items():
            row = {"dataset": name, "quantity": quantity, "R": R, "value": value}
            if fair:
                interval = student_interval(
                    [n_scores * value - (n_scores - 1) * other[quantity] for other in without]
                )
                half = (interval.high - interval.low) / 2
                row |= {"low": value - half, "high": value + half}
            yield row


def medians(frame: pd.DataFrame, group: str) -> pd.DataFrame:
    """Median std, one row a size and one column a data set of the group."""
    rows = frame[(frame["quantity"] == "median std") & frame["dataset"].isin(GROUPS[group])]
    return rows.pivot_table(index="R", columns="dataset", values="value")


def name_curves(ax: Any, table: pd.DataFrame) -> None:
    """Write the names of the sets where their curves end, each above the last where they would meet."""
    ends = [
        (curve.last_valid_index(), curve.dropna().iloc[-1], name) for name, curve in table.items()
    ]
    taken: dict[int, float] = {}
    for R, value, name in sorted(ends):
        taken[R] = place = max(value, taken.get(R, -1) + 0.006)
        ax.annotate(name, (R, place), (8, 0), textcoords="offset points", fontsize=7, va="center")


def draw(frame: pd.DataFrame) -> Any:
    """One row a protocol, synthetic sets beside real ones, and what the authors' figure shows."""
    found = list(by_protocol(frame))
    title = (
        "Scores of two ensembles differ less the more runs they have; the gain slows after some 30"
    )
    figure, axes = grid(len(found), 2, height=3.3, title=title, sharex=True, sharey=True)
    for row, (_, meaning, rows) in zip(axes, found, strict=True):
        for ax, group in zip(row, GROUPS, strict=True):
            table = medians(rows, group)
            if table.empty:
                continue
            ax.plot(table, color=GREY, lw=0.8)
            name_curves(ax, table)
            middle = table.median(axis=1)
            half = (table.quantile(0.75, axis=1) - table.quantile(0.25, axis=1)) / 2
            ax.fill_between(
                middle.index, (middle - half).clip(0), middle + half, color=BLUE, alpha=0.15, lw=0
            )
            ax.plot(
                middle,
                color=BLUE,
                lw=2,
                marker="o",
                ms=4,
                label="median of the sets, ± half the quartiles' distance",
            )
            ax.plot(
                READ_AT,
                READ[group],
                "x",
                color=VERMILION,
                ms=7,
                mew=2,
                label="read off the authors' figure",
            )
            ax.set_title(f"{group.capitalize()} sets, {meaning}", fontsize=10)
            ax.set(ylabel="median std of a point's score" if group == "synthetic" else "")
            ax.legend(fontsize=8, frameon=False)
    for ax in axes[-1]:
        ax.set(xlabel="runs of an ensemble, R", ylim=(0, None))
    return figure


def of_sets(holds: Any, quantity: str = "median std", at: int = 70) -> Any:
    """Count the sets, among those run up to a size, whose values by R have a property."""

    def check(frame: pd.DataFrame) -> Held:
        rows = frame[frame["quantity"] == quantity]
        curves = [
            curve.set_index("R")["value"]
            for _, curve in rows.groupby("dataset")
            if curve["R"].max() >= at
        ]
        return sum(bool(holds(curve)) for curve in curves), len(curves)

    return check


def as_read(frame: pd.DataFrame) -> Held:
    """Compare medians across sets with the figure, for groups of which all sets were run."""
    held = []
    for group, values in READ.items():
        table = medians(frame, group)
        if set(table.columns) == set(GROUPS[group]):
            ours = table.dropna().median(axis=1)
            held += [
                bool(abs(ours[R] - value) <= TOLERANCE)
                for R, value in zip(READ_AT, values, strict=True)
                if R in ours.index
            ]
    return sum(held), len(held)


EXPERIMENT = Experiment(
    title="Figure: convergence of scores with the size of the ensemble",
    run=run,
    keys=KEYS,
    draw=draw,
    see={
        "Scores vary less with 70 runs than with 5": of_sets(lambda curve: curve[70] < curve[5]),
        "At least four fifths of the fall are done at R = 40": of_sets(
            lambda curve: curve[5] - curve[40] >= 0.8 * (curve[5] - curve[70])
        ),
        "Rankings of two ensembles of 40 runs are alike (mean rank correlation above 0.95)": of_sets(
            lambda curve: curve[40] > 0.95, "rank correlation"
        ),
        "The medians across sets are those of the authors' figure, ± 0.001": as_read,
    },
)
