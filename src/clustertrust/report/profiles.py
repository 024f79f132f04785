"""What sets each cluster apart: columns whose means differ from the rest, and categories whose
shares do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Floats, Ints

# Listed for a cluster
MOST_COLUMNS, MOST_CATEGORIES = 8, 5
# A column that is constant within both parts would have an infinite one
LARGEST_EFFECT = 99.0
# Of shares that are worth listing
SMALLEST_DIFFERENCE = 0.05
# Values of a column of categories
DISTINCT = 30


@dataclass(frozen=True)
class Moments:
    """Sums over each cluster, and last over the points without one: (k + 1, d).

    Attributes
    ----------
    n : values that are there
    sums, squares : of the values less the shift, and of their squares
    shift : (d,) the mean of each column, since squares of large numbers lose digits; 0 where the
        data are sparse
    """

    n: Floats
    sums: Floats
    squares: Floats
    shift: Floats

    @property
    def means(self) -> Floats:
        """(k, d) mean of each column in each cluster, NaN where it has no value."""
        with np.errstate(invalid="ignore"):
            means: Floats = self.sums[:-1] / self.n[:-1] + self.shift
            # What is left of a mean of 0 by rounding
            means[np.abs(means) <= 1e-12 * np.abs(self.shift)] = 0.0
        return means

    @property
    def of_all(self) -> tuple[Floats, Floats]:
        """(d,) mean and variance of each column over all points, 0 where it has no value."""
        n = np.maximum(self.n.sum(axis=0), 1)
        mean = self.sums.sum(axis=0) / n
        return mean + self.shift, self.squares.sum(axis=0) / n - mean**2


def moments_of(X: Any, codes: Ints, k: int) -> Moments:
    """Sum up the columns of X, dense or CSR; missing values are left out."""
    points = np.arange(len(codes))
    # A negative code is the last row
    rows = np.where(codes < 0, k, codes)
    member = sparse.csr_matrix((np.ones(len(codes)), (rows, points)), shape=(k + 1, len(codes)))
    if sparse.issparse(X):
        sizes = np.asarray(member.sum(axis=1)).reshape(-1, 1)
        n = np.broadcast_to(sizes, (k + 1, X.shape[1]))
        sums, squares = (member @ X).toarray(), (member @ X.multiply(X).tocsr()).toarray()
        return Moments(n, sums, squares, np.zeros(X.shape[1]))
    there = np.isfinite(X)
    shift = np.where(there, X, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    near = np.where(there, X - shift, 0.0)
    return Moments(member @ there.astype(np.float64), member @ near, member @ near**2, shift)


def effect_sizes(moments: Moments) -> tuple[Floats, Floats, Floats]:
    """Return Cohen's d of each cluster against all other assigned points, and both means: (k, d).

    d = (mean inside - mean outside) / s, with s the standard deviation pooled over both parts.
    NaN where one of the parts has no value.
    """
    n, sums, squares = (part[:-1] for part in (moments.n, moments.sums, moments.squares))
    rest = n.sum(axis=0) - n, sums.sum(axis=0) - sums, squares.sum(axis=0) - squares
    with np.errstate(divide="ignore", invalid="ignore"):
        inside, outside = sums / n, rest[1] / rest[0]
        scatter = squares - n * inside**2 + rest[2] - rest[0] * outside**2
        spread = np.sqrt(np.maximum(scatter, 0.0) / np.maximum(n + rest[0] - 2, 1))
        effect = (inside - outside) / spread
    effect[(inside == outside) & (spread == 0)] = 0.0
    clipped = np.clip(effect, -LARGEST_EFFECT, LARGEST_EFFECT)
    return clipped, inside + moments.shift, outside + moments.shift


def share_differences(column: pd.Series, codes: Ints, k: int) -> tuple[list[str], Floats, Floats]:
    """Return a column's categories, and their shares in each cluster and outside: (k, c)."""
    values = column.astype(object).to_numpy()
    there = column.notna().to_numpy() & (column.astype(str) != "").to_numpy() & (codes >= 0)
    categories, names = pd.factorize(pd.Series(values[there]).map(str), sort=True)
    counts = np.zeros((k, len(names)))
    np.add.at(counts, (codes[there], categories), 1.0)
    others = counts.sum(axis=0) - counts
    return names.tolist(), _shares(counts), _shares(others)


def _shares(counts: Floats) -> Floats:
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0))


def cluster_profiles(
    moments: Moments | None, names: list[str], table: pd.DataFrame | None, codes: Ints, k: int
) -> dict[str, list[Any]]:
    """Return for each cluster the columns and categories that set it apart, the strongest first.

    `columns`: name, d, mean inside, mean outside. `categories`: column, category, share inside,
    share outside; from the columns of text of `table`. Either may be missing. A column that is in
    both, such as yes and no that are clustered as 1 and 0, is among the categories.
    """
    columns = pd.DataFrame() if table is None else table
    is_text = [is_categories(columns.iloc[:, j]) for j in range(columns.shape[1])]
    categories = columns.loc[:, is_text]
    texts = {str(name) for name in categories}
    return {
        "columns": [[] for _ in range(k)] if moments is None else _by_column(moments, names, texts),
        "categories": _by_category(categories, codes, k),
    }


def _by_column(moments: Moments, names: list[str], left_out: set[str]) -> list[Any]:
    listed = []
    is_listed = np.array([name not in left_out for name in names], dtype=bool)
    for effect, inside, outside in zip(*effect_sizes(moments), strict=True):
        strength = np.where(is_listed, np.nan_to_num(np.abs(effect)), 0.0)
        order = np.argsort(-strength, kind="stable")[:MOST_COLUMNS]
        listed.append(
            [
                [names[j], float(effect[j]), float(inside[j]), float(outside[j])]
                for j in order
                if strength[j] > 0
            ]
        )
    return listed


def _by_category(table: pd.DataFrame, codes: Ints, k: int) -> list[Any]:
    by_cluster: list[list[Any]] = [[] for _ in range(k)]
    for j, name in enumerate(table.columns):
        names, inside, outside = share_differences(table.iloc[:, j], codes, k)
        for cluster, category in np.argwhere(np.abs(inside - outside) >= SMALLEST_DIFFERENCE):
            shares = float(inside[cluster, category]), float(outside[cluster, category])
            by_cluster[cluster].append([str(name), names[category], *shares])
    for listed in by_cluster:
        listed.sort(key=lambda entry: -abs(entry[2] - entry[3]))
        del listed[MOST_CATEGORIES:]
    return by_cluster


def without_labels(table: pd.DataFrame, codes: Ints, clusters: list[str]) -> pd.DataFrame:
    """Return the columns that are not the labels themselves, which would set clusters apart."""
    names = np.array([*clusters, ""], dtype=object)
    labels = names[codes]
    there = codes >= 0
    kept = [
        j
        for j in range(table.shape[1])
        if not (there.any() and (table.iloc[:, j].astype(str).to_numpy() == labels)[there].all())
    ]
    return table.iloc[:, kept]


def is_categories(column: pd.Series) -> bool:
    """Whether a column holds a few names that repeat: text without numbers, or true and false."""
    if pd.api.types.is_bool_dtype(column):
        return column.nunique() == 2
    if pd.api.types.is_numeric_dtype(column):
        return False
    names = column.dropna().astype(str)
    names = names[names != ""]
    if not 1 < names.nunique() <= min(DISTINCT, len(column) // 2):
        return False
    return bool(pd.to_numeric(pd.Series(names.unique()), errors="coerce").isna().any())
