"""List the columns of tables that repeat others, by plain comparisons that share no code with ours.

    python -m experiments.research.tables_in_the_wild.repeats PACKAGES sixth

writes `repeats_sixth.csv`, a row for each column that goes with another: the same groups of rows, or
numbers of which one rises or falls with the other, or a sum of columns that stand together. It is
run before a list is judged: a question that says so is right.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from clustertrust.files import read_table
from experiments.research.tables_in_the_wild.decisions import short
from experiments.research.tables_in_the_wild.run import HERE, fetch, tables

FEWEST_ROWS, MOST_COLUMNS, IN_LINE = 10, 450, 0.99999


def repeats(frame: pd.DataFrame) -> dict[str, str]:
    """Return for each column that goes with another why it does."""
    found: dict[str, str] = {}
    if len(frame) < FEWEST_ROWS or frame.shape[1] > MOST_COLUMNS:
        return found
    frame = frame.loc[:, (frame.map(str) != frame.iloc[0].map(str)).any()]
    numbers = frame.select_dtypes("number")
    for how in ("pearson", "spearman"):
        with np.errstate(invalid="ignore", divide="ignore"):
            alike = numbers.corr(method=how, min_periods=FEWEST_ROWS).abs() >= IN_LINE
        for i, j in zip(*np.nonzero(np.triu(alike, 1)), strict=True):
            one, two = numbers.columns[[i, j]]
            found.setdefault(one, f"in line with {two}")
            found.setdefault(two, f"in line with {one}")
    texts = frame.map(str)
    few = [name for name in frame if texts[name].nunique() <= len(frame) / 2]
    # Groups in the order in which they come.
    groups = {name: pd.factorize(texts[name])[0].tobytes() for name in few}
    for one, two in combinations(few, 2):
        if groups[one] == groups[two]:
            found.setdefault(one, f"the same groups as {two}")
            found.setdefault(two, f"the same groups as {one}")
    known = numbers.dropna()
    for name in numbers if len(known) >= FEWEST_ROWS else ():
        place = list(numbers).index(name)
        sides = (numbers.columns[:place][::-1], numbers.columns[place + 1 :])
        for side in sides:
            sums = known[side].cumsum(axis=1).to_numpy()[:, 1:]
            off = np.abs(sums - known[[name]].to_numpy()).max(axis=0, initial=0.0)
            if (off <= 1e-6 * np.abs(known[name]).max()).any():
                found.setdefault(name, "a sum of others")
    return found


def main(packages: Path, name: str) -> None:
    """Write the repeats in all tables of a list that can be read."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table in tables(f"{name}.txt"):
            try:
                frame = read_table(fetch(table, packages, Path(folder))).data
            except ValueError as error:
                print(table, str(error)[:80])
                continue
            frame.columns = [str(column) for column in frame.columns]
            rows += [(short(table), *pair) for pair in repeats(frame).items()]
    with (HERE / f"repeats_{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("table", "column", "why"))
        writer.writerows(rows)
    print(f"{name}: {len(rows)} columns")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
