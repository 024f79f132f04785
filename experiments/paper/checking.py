"""Run committed items again and compare the results with the files; nothing is written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from experiments.paper import results, runs
from experiments.paper.protocols import Protocol
from experiments.paper.results import Experiment

TOLERANCE = 2e-5  # of a number's size: files have six digits


class Checked(NamedTuple):
    """Cells that were run again, how many differ from the file, and the largest difference."""

    cells: int
    moved: int
    largest: float


def compare(fresh: pd.DataFrame, stored: pd.DataFrame, keys: tuple[str, ...]) -> Checked:
    """Set rows beside stored ones; a cell that one of the two lacks has moved.

    Times are left out: they are those of a machine.
    """
    column = "current" if results.stack() == "current" else "value"
    old = stored.astype(dict.fromkeys(keys, str))[[*keys, column]].rename(columns={column: "old"})
    new = fresh.astype(dict.fromkeys(keys, str))[[*keys, "value"]]
    both = new.merge(old, how="outer", on=list(keys))
    is_time = both[list(keys)].apply(lambda key: key.str.startswith("seconds")).any(axis=1)
    both = both[~is_time]
    gap = (both["value"] - both["old"]).abs()
    gap = gap.where(both["value"].notna() | both["old"].notna(), 0.0)  # neither has a value
    moved = ~(gap <= TOLERANCE * np.maximum(both["old"].abs(), 1e-3))
    return Checked(len(both), int(moved.sum()), float(gap.max(skipna=True)))


def check(known: dict[str, Experiment], todo: list[tuple[str, str, Protocol]], out: Path) -> int:
    """Run items again, print a line for each, and return how many cells moved."""
    cells = moved = 0
    for data_set, name, protocol in todo:
        table = results.read(out / f"{name}.csv")
        stored = table[(table["dataset"] == data_set) & (table["protocol"] == protocol.name)]
        try:
            fresh = pd.DataFrame(list(known[name].run(data_set, protocol)))
        except runs.TooCostly as why:
            print(f"{name} {data_set} {protocol.name}: not run: {why}", file=sys.stderr, flush=True)
            continue
        found = compare(fresh, stored, known[name].keys)
        told = f"{found.moved} moved, by up to {found.largest:.2g}" if found.moved else "the same"
        print(f"{name} {data_set} {protocol.name}: {found.cells} cells, {told}", flush=True)
        cells, moved = cells + found.cells, moved + found.moved
    print(f"{cells} cells run again, {moved} moved.")
    return moved
