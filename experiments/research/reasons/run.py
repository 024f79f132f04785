"""What reasons and bands of the score are worth: how often assignments are right, by each, where classes are known.

`python -m experiments.research.reasons.run` is a trial of seconds and goes to `results/quick`; `--full` takes some minutes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust import CAKE
from clustertrust.evaluation import correctness
from clustertrust.reasons import REASONS
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, publish

EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)
BANDS = tuple(f"{low:g} to {high:g}" for low, high in pairwise(EDGES))
FEW = 20  # points of a data set, over all repetitions, below which a share says nothing


class Size(NamedTuple):
    """How much is run."""

    points: int
    runs: int
    repetitions: int
    sets: tuple[str, ...]


QUICK = Size(500, 10, 1, ("S1", "S4", "Ir"))
FULL = Size(3000, 20, 3, data.ALL)


def square(rng: np.random.Generator, n: int) -> NDArray:
    """Uniform: no clusters."""
    return rng.uniform(size=(n, 2))


def gaussian(rng: np.random.Generator, n: int) -> NDArray:
    """One elongated cloud: no clusters."""
    return rng.normal(size=(n, 2)) * [4.0, 1.0]


CLOUDS = {"uniform square": (square, 4), "one Gaussian 4:1": (gaussian, 2)}


def judged(X: NDArray, k: int, size: Size, seed: int) -> pd.DataFrame:
    """Reason and band of each point; bands hold their upper edge, as a score at the threshold is not kept."""
    with hushed():
        table = (
            CAKE(k, n_runs=size.runs, random_state=seed)
            .fit(np.asarray(X, dtype=np.float64))
            .to_frame(0.5)
        )
    band = pd.cut(table["score"], EDGES, labels=list(BANDS), include_lowest=True)
    return table.assign(band=band)


def counted(table: pd.DataFrame, right: NDArray, **names: Any) -> Iterator[dict[str, Any]]:
    """Points, and how many of them are right, by reason and by band."""
    for kind in ("reason", "band"):
        groups = table.assign(right=right).groupby(kind, observed=False)["right"]
        for value, part in groups:
            yield names | {
                "by": kind,
                "value": value,
                "points": len(part),
                "right": part.sum(min_count=1),
            }


def run(size: Size) -> Iterator[dict[str, Any]]:
    """Every data set, and two clouds without clusters."""
    for repetition in range(size.repetitions):
        for name, (draw, k) in CLOUDS.items():
            X = draw(np.random.default_rng([6, repetition]), size.points)
            nothing = np.full(len(X), np.nan)  # there are no classes to be right about
            yield from counted(
                judged(X, k, size, repetition), nothing, dataset=name, repetition=repetition
            )
        for name in size.sets:
            began = time.perf_counter()
            case = data.load(name, noise_is_class=False)
            rows = np.random.default_rng([5, repetition]).permutation(len(case.X))[: size.points]
            table = judged(case.X[rows], case.k, size, repetition)
            # Noise is in no cluster.
            right = correctness(table["label"], case.y[rows]) & (case.y[rows] >= 0)
            yield from counted(table, right.astype(float), dataset=name, repetition=repetition)
            print(
                f"{name} {repetition}: {time.perf_counter() - began:.0f} s",
                file=sys.stderr,
                flush=True,
            )


def shares(rows: pd.DataFrame, by: str) -> pd.DataFrame:
    """For each data set and value: share of the points, share of these that are right; NaN where there are few."""
    part = rows[(rows["by"] == by) & (rows["points"] > 0)]
    sums = (
        part.groupby(["dataset", "value"], sort=False)[["points", "right"]]
        .sum(min_count=1)
        .reset_index()
    )
    total = sums.groupby("dataset", sort=False)["points"].transform("sum")
    enough = sums["points"] >= FEW
    return sums.assign(
        share=sums["points"] / total, right=(sums["right"] / sums["points"]).where(enough)
    )


def overview(rows: pd.DataFrame, by: str, values: tuple[str, ...]) -> str:
    """One row a value: mean, lowest and highest share that is right, each data set counting once."""
    known = shares(rows[~rows["dataset"].isin(CLOUDS)], by)
    sets = known["dataset"].nunique()
    lines = []
    for value in values:
        part = known[known["value"] == value]
        right = part["right"].dropna()
        told = (
            [f"{right.mean():.0%}", f"{right.min():.0%}–{right.max():.0%}"]
            if len(right)
            else ["–", "–"]
        )
        lines.append([value, f"{part['share'].sum() / sets:.0%}", *told, len(right)])
    return markdown([by, "of the points", "right", "lowest–highest data set", "data sets"], lines)


def by_set(rows: pd.DataFrame, by: str, values: tuple[str, ...]) -> str:
    """One row a data set."""
    found = shares(rows, by).set_index(["dataset", "value"])
    lines = []
    for name in rows["dataset"].unique():
        cells = []
        for value in values:
            if (name, value) not in found.index:
                cells.append("")
                continue
            row = found.loc[(name, value)]
            cells.append(
                f"{row['share']:.0%}"
                + ("" if np.isnan(row["right"]) else f": {row['right']:.0%} right")
            )
        lines.append([name, *cells])
    return markdown(["data set", *values], lines)


def page(rows: pd.DataFrame, size: Size) -> dict[str, str]:
    """The tables as Markdown, by name."""
    values = tuple(name for name in REASONS if name != "unassigned")  # k-means assigns every point
    how = (
        f"{len(size.sets)} data sets, at most {size.points} points, k the number of classes, {size.runs} runs of "
        f"k-means, {size.repetitions} repetitions, threshold 0.5. Made by `python -m experiments.research.reasons.run"
        f"{' --full' if size is FULL else ''}`."
    )
    return {
        "reasons": f"{how}\n\n{overview(rows, 'reason', values)}",
        "bands": overview(rows, "band", BANDS),
        "sets": by_set(rows, "reason", values),
    }


def main() -> None:
    """Run, and write the tables."""
    parser = command("reasons", __doc__, "all data sets: some minutes")
    chosen = parser.parse_args()
    data.find_data()
    size, out = FULL if chosen.full else QUICK, folder("reasons", full=chosen.full)
    rows = pd.DataFrame(list(run(size)))
    write(out / "reasons.csv", rows.to_csv(index=False))
    tables = page(rows, size)
    publish(tables, out / "reasons.md", "reading.md", full=chosen.full)


if __name__ == "__main__":
    main()
