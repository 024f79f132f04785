"""The fifteen data sets as the experiments use them."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from clustertrust import datasets

SYNTHETIC = ("S1", "S2", "S3", "S4", "S5", "S6", "S7")
REAL = ("Ir", "Bc", "Dg", "Ng", "Fm", "Pd", "Lt", "Sa")  # in the paper's order
ALL = SYNTHETIC + REAL
CHEAPEST_FIRST = (
    "Ir",
    "Bc",
    "Dg",
    "S2",
    "S4",
    "S1",
    "S5",
    "S6",
    "S7",
    "S3",
    "Sa",
    "Pd",
    "Lt",
    "Ng",
    "Fm",
)
QUICK = ("Ir", "S4")  # of --quick
# Points of a part, where ten repetitions of the whole would take hours.
LARGE = {"Lt": 5000, "Ng": 5000, "Fm": 2000}
# Of the fair protocol; 10 of all others.
REPETITIONS = {"Sa": 5, "Pd": 5, "Lt": 3, "Ng": 3, "Fm": 2}


class Case(NamedTuple):
    """A data set: points, classes, and the number of clusters asked for."""

    name: str
    X: NDArray
    y: NDArray
    k: int


def find_data() -> None:
    """Read the real sets from `../shared/data` where that folder is there and no other is named."""
    folder = Path(__file__).parents[3] / "shared" / "data"
    if folder.is_dir():
        os.environ.setdefault("CLUSTERTRUST_DATA", str(folder))


def part(case: Case, repetition: int) -> Case:
    """The set, or where it is one of the largest three a random part of it."""
    if case.name not in LARGE:
        return case
    at = np.sort(
        np.random.default_rng(repetition).choice(len(case.X), LARGE[case.name], replace=False)
    )
    return case._replace(X=case.X[at], y=case.y[at])


@lru_cache(maxsize=4)
def load(
    name: str, *, noise_is_class: bool = True, dtype: str | None = None, reduced: bool = False
) -> Case:
    """Load a set; k is its number of classes, in which the noise of S3 counts as the authors had it, or does not.

    `reduced` takes the first 50 principal components of the columns as they are.
    """
    X, y = datasets.load(name)
    if reduced:
        X = PCA(50, random_state=42).fit_transform(X)
    classes = np.unique(y) if noise_is_class else np.unique(y[y >= 0])
    return Case(name, X if dtype is None else X.astype(dtype), y, len(classes))
