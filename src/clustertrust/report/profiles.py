"""What sets each cluster apart: columns whose means differ from the rest, and categories whose
shares do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Floats, Ints

MOST_COLUMNS = 8  # listed for a cluster
MOST_CATEGORIES = 5
LARGEST_EFFECT = 99.0  # a column that is constant within both parts would have an infinite one
SMALLEST_DIFFERENCE = 0.05  # of shares that are worth listing
DISTINCT = 30  # values of a column of categories


def effect_sizes(X: Any, codes: Ints, k: int) -> tuple[Floats, Floats, Floats]:
    """Return Cohen's d of each cluster against all other assigned points, and both means: (k, d).

    d = (mean inside - mean outside) / s, with s the standard deviation pooled over both parts.
    Missing values are left out; NaN where one of the parts has no value. X is dense or CSR.
    """
    assigned = np.flatnonzero(codes >= 0)
    member = sparse.csr_matrix(
        (np.ones(assigned.size), (codes[assigned], assigned)), shape=(k, X.shape[0])
    )
    n, sums, squares, shift = _moments(X, member)
    rest = n.sum(axis=0) - n, sums.sum(axis=0) - sums, squares.sum(axis=0) - squares
    with np.errstate(divide="ignore", invalid="ignore"):
        inside, outside = sums / n, rest[1] / rest[0]
        scatter = squares - n * inside**2 + rest[2] - rest[0] * outside**2
        spread = np.sqrt(np.maximum(scatter, 0.0) / np.maximum(n + rest[0] - 2, 1))
        effect = (inside - outside) / spread
    effect[(inside == outside) & (spread == 0)] = 0.0
    clipped = np.clip(effect, -LARGEST_EFFECT, LARGEST_EFFECT)
    return clipped, inside + shift, outside + shift


def _moments(X: Any, member: sparse.csr_matrix) -> tuple[Floats, Floats, Floats, Floats]:
    """Counts, sums and sums of squares of each cluster, (k, d), of values less a shift (d,).

    Dense values are taken from the mean of their column: squares of large numbers lose digits.
    """
    if sparse.issparse(X):
        sizes = np.asarray(member.sum(axis=1)).reshape(-1, 1)
        n = np.broadcast_to(sizes, (member.shape[0], X.shape[1]))
        sums, squares = (member @ X).toarray(), (member @ X.multiply(X).tocsr()).toarray()
        return n, sums, squares, np.zeros(X.shape[1])
    there = np.isfinite(X)
    count = np.maximum(there.sum(axis=0), 1)
    shift = np.where(there, X, 0.0).sum(axis=0) / count
    near = np.where(there, X - shift, 0.0)
    return member @ there.astype(np.float64), member @ near, member @ near**2, shift


def share_differences(column: pd.Series, codes: Ints, k: int) -> tuple[list[str], Floats, Floats]:
    """Return the categories of a column, and their shares in each cluster and outside: (k, c).

    Shares are of the assigned rows with a value.
    """
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
    X: Any, names: list[str], table: pd.DataFrame | None, codes: Ints, k: int
) -> dict[str, list[Any]]:
    """Return for each cluster the columns and categories that set it apart, the strongest first.

    `columns`: name, d, mean inside, mean outside. `categories`: column, category, share inside,
    share outside; from the columns of text of `table`. Either may be missing.
    """
    return {
        "columns": [[] for _ in range(k)] if X is None else _by_column(X, names, codes, k),
        "categories": [[] for _ in range(k)] if table is None else _by_category(table, codes, k),
    }


def _by_column(X: Any, names: list[str], codes: Ints, k: int) -> list[Any]:
    effect, inside, outside = effect_sizes(X, codes, k)
    listed = []
    for cluster in range(k):
        strength = np.nan_to_num(np.abs(effect[cluster]))
        order = np.argsort(-strength, kind="stable")[:MOST_COLUMNS]
        listed.append(
            [
                [names[j], *(float(part[cluster, j]) for part in (effect, inside, outside))]
                for j in order
                if strength[j] > 0
            ]
        )
    return listed


def _by_category(table: pd.DataFrame, codes: Ints, k: int) -> list[Any]:
    by_cluster: list[list[Any]] = [[] for _ in range(k)]
    for j, name in enumerate(table.columns):
        column = table.iloc[:, j]
        if not is_categories(column):
            continue
        names, inside, outside = share_differences(column, codes, k)
        for cluster, category in np.argwhere(np.abs(inside - outside) >= SMALLEST_DIFFERENCE):
            shares = float(inside[cluster, category]), float(outside[cluster, category])
            by_cluster[cluster].append([str(name), names[category], *shares])
    for listed in by_cluster:
        listed.sort(key=lambda entry: -abs(entry[2] - entry[3]))
        del listed[MOST_CATEGORIES:]
    return by_cluster


def is_categories(column: pd.Series) -> bool:
    """Whether a column holds a few names that repeat: text that is no number, or true and false."""
    if pd.api.types.is_bool_dtype(column):
        return column.nunique() == 2
    if pd.api.types.is_numeric_dtype(column):
        return False
    names = column.dropna().astype(str)
    names = names[names != ""]
    if not 1 < names.nunique() <= min(DISTINCT, len(column) // 2):
        return False
    return bool(pd.to_numeric(pd.Series(names.unique()), errors="coerce").isna().any())
