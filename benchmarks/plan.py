"""A cost model of the passes over blocks, from scale.csv, beside what was measured.

And a billion rows on paper.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

import numpy as np

from benchmarks.common import HERE, Row

N, D, K, R = 10**9, 20, 10, 20  # the job on paper
PASSES = 5  # of which the sample, some of k-means, and the scores
CORES = 64


def constants(rows: list[dict[str, str]]) -> tuple[float, float]:
    """Seconds that do not grow (the fits on the sample), and seconds for each row and pass.

    Relative least squares.
    """
    work = np.array([float(row["n"]) * float(row["passes"]) for row in rows])
    seconds = np.array([float(row["seconds"]) for row in rows])
    fixed, each = np.linalg.lstsq(
        np.column_stack([1 / seconds, work / seconds]), np.ones(len(rows)), rcond=None
    )[0]
    return float(fixed), float(each)


def run() -> Iterator[Row]:
    """The model beside each measured job, then the plan."""
    with (HERE / "scale.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    rows = [row for row in found if row["how"] == "out of core"]
    fixed, each = constants(rows)
    for row in rows:
        told = fixed + each * float(row["n"]) * float(row["passes"])
        what = f"out of core, n={int(row['n']):,}, {row['passes']} passes: seconds by the model"
        yield Row.within(what, told, "measured", float(row["seconds"]), None)
    pace = 2 * each  # core seconds: there were two threads
    seconds = pace * N * PASSES / CORES
    yield Row.within(
        f"n=10^9, {PASSES} passes, {CORES} cores: minutes by the model",
        seconds / 60,
        "an hour",
        60,
        None,
    )
    sums = 8 * (R * K * (D + 2) + R * R * K * K)  # sizes, means, squares; contingencies
    yield Row.within(
        "bytes that a block sends to the sum of a pass",
        sums,
        "a block of 100,000 rows",
        8 * D * 1e5,
        None,
    )
