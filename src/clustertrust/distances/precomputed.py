"""Distances that are given: a square matrix, or a sparse graph of neighbours, checked and sliced.

An entry of a sparse graph is a distance, a stored 0 too. What is not stored is farther away than
all that is; the diagonal need not be stored.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from clustertrust._errors import InputError, literal
from clustertrust._types import Array, Ints
from clustertrust._validation.frames import check_columns
from clustertrust._validation.points import MATRIX_OPTIONS, check_finite
from clustertrust._validation.rows import check_same_rows

# Rows and columns that are compared at a time.
TILE = 1024


def check_entries(matrix: Array, first: int, fine: Array, what: str) -> None:
    """Raise for the first entry of rows of a precomputed matrix that is not fine.

    Checked block by block as it is read, since the matrix may be larger than memory.
    """
    bad = np.argwhere(~fine)
    if bad.size:
        i, j = bad[0]
        raise ValueError(
            f"X[{first + i}, {j}] = {matrix[i, j]} in the precomputed matrix is not a valid {what}."
        )


def check_precomputed(X: Any, estimator: Any = None) -> Any:
    """Return given distances (n, n) as floats, checked; with `estimator`, it learns their number.

    Integers and lists are copied; arrays of floats are not, memory-mapped or in memory.
    """
    check_columns(X)
    if isinstance(X, pd.DataFrame) and X.shape[0] == X.shape[1]:
        # Or columns would be other points.
        check_same_rows("X.T", X.columns, "X", X.index)
    options = MATRIX_OPTIONS | {"ensure_min_samples": 2, "ensure_min_features": 2}
    if estimator is None:
        X = check_array(X, input_name="X", **options)
    else:
        X = validate_data(estimator, X, **options)
    return check_distances(X)


def check_precomputed_rows(X: Any, estimator: Any) -> Any:
    """Return rows of distances to the points that `estimator` was fitted on."""
    check_columns(X)
    n = estimator.n_features_in_
    try:
        X = validate_data(estimator, X, reset=False, **MATRIX_OPTIONS)
    except ValueError as error:
        if f"expecting {n} features" not in str(error):
            raise
        # The plainer mistake first.
        check_finite(check_array(X, **MATRIX_OPTIONS))
        raise InputError(
            f"{literal(error)} With {{metric='precomputed'}} each new point is a row of its "
            f"distances to all {n} training points, in their order."
        ) from error
    return check_new_distances(X, n)


def check_distances(X: Any) -> Any:
    """Return a square matrix of distances; a memory-mapped one is not copied.

    Raises for a matrix that is not square, and for entries that are not finite, below 0, not 0 on
    the diagonal, or not symmetric. Differences within rounding (4 √ε of the largest distance) are
    accepted: row i then holds the distances of point i. O(n²), a tile at a time.
    """
    if sparse.issparse(X):
        return check_graph(X)
    if X.shape[0] != X.shape[1]:
        # The plainer mistake first.
        check_finite(X)
        raise InputError(
            f"X has shape {X.shape}; with {{metric='precomputed'}} it holds the distances of all "
            "pairs of n points, (n, n). Rows of features need another metric, such as "
            "{metric='euclidean'}."
        )
    if X.flags.f_contiguous and not X.flags.c_contiguous:
        # Symmetric, and rows then lie together.
        X = X.T
    largest = _check_values(X)
    diagonal = np.asarray(X.diagonal())
    off = np.flatnonzero(diagonal)
    if off.size:
        raise ValueError(
            f"X[{off[0]}, {off[0]}] = {diagonal[off[0]]}: a point is at distance 0 from itself. "
            "Similarities are not distances (1 - X may be); np.fill_diagonal(X, 0) clears what "
            "rounding left."
        )
    _check_symmetric(X, 4 * np.sqrt(np.finfo(X.dtype).eps) * largest)
    return X


def _check_values(X: Array) -> float:
    """Raise for distances that are not finite or below 0; return the largest."""
    largest = 0.0
    for low in range(0, X.shape[0], TILE):
        block = X[low : low + TILE]
        if not block.size:
            continue
        least, most = float(block.min()), float(block.max())
        # NaN fails too.
        if not (least >= 0 and most < np.inf):
            i, j = np.argwhere(~((block >= 0) & np.isfinite(block)))[0]
            what, remedy = (
                ("Negative values in data", "np.maximum(X, 0) clears what rounding left below 0")
                if block[i, j] < 0
                else ("Unknown distances", "fill them in, or leave out their points")
            )
            raise ValueError(
                f"{what}: X[{low + i}, {j}] = {block[i, j]}. Distances are finite and not below 0; "
                f"{remedy}."
            )
        largest = max(largest, most)
    return largest


def _check_symmetric(X: Array, tolerance: float) -> None:
    """Raise where a distance differs from the one in the other direction."""
    corners = range(0, X.shape[0], TILE)
    for low, right in combinations_with_replacement(corners, 2):
        here = X[low : low + TILE, right : right + TILE]
        there = X[right : right + TILE, low : low + TILE].T
        apart = np.abs(here - there)
        if float(apart.max(initial=0.0)) > tolerance:
            i, j = (int(position) for position in np.argwhere(apart > tolerance)[0])
            p, q = low + i, right + j
            raise ValueError(
                f"X[{p}, {q}] = {here[i, j]} and X[{q}, {p}] = {there[i, j]}: a distance is the "
                "same in both directions. (X + X.T) / 2 takes their mean, np.minimum(X, X.T) the "
                "smaller one."
            )


def check_graph(X: Any) -> sparse.csr_array:
    """Return a sparse graph of distances, symmetric: a link in one direction serves both.

    Raises if it is not square, if an entry is not finite or below 0, if one on the diagonal is not
    0, or if the two directions of a link differ.
    """
    if X.shape[0] != X.shape[1]:
        raise ValueError(f"X has shape {X.shape}; a graph of the distances of n points is (n, n).")
    links = sparse.coo_array(X)
    links.sum_duplicates()
    row, column = (np.asarray(part, dtype=np.int64) for part in links.coords)
    values = np.asarray(links.data, dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)) | ((row == column) & (values != 0)))
    if bad.size:
        i, j, value = row[bad[0]], column[bad[0]], values[bad[0]]
        raise ValueError(
            f"X[{i}, {j}] = {value}: the entries of a sparse graph are "
            "distances, finite and not below 0, and 0 from a point to itself. Similarities "
            "(connectivities) are not distances."
        )
    off = row != column
    row, column, values = row[off], column[off], values[off]
    n = X.shape[0]
    low, high = np.minimum(row, column), np.maximum(row, column)
    link, first, of = np.unique(low * n + high, return_index=True, return_inverse=True)
    apart = np.abs(values - values[first][of.ravel()])
    rounding = np.finfo(X.dtype).eps if X.dtype.kind == "f" else 0.0
    if apart.size and apart.max() > 4 * np.sqrt(rounding) * values.max():
        furthest = int(apart.argmax())
        i, j = row[furthest], column[furthest]
        raise ValueError(
            f"X[{i}, {j}] and X[{j}, {i}] differ by {apart[furthest]:.3g}: "
            "a distance is the same in both directions. Give one of the two."
        )
    i, j, data = link // n, link % n, values[first]
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    graph = sparse.csr_array((np.concatenate([data, data]), both), shape=(n, n))
    graph.sort_indices()
    return graph


def check_new_distances(X: Any, n_train: int) -> Any:
    """Return rows of distances of unseen points to the training points, (n_new, n_train)."""
    if X.shape[1] != n_train:
        raise InputError(
            f"X has {X.shape[1]} columns; with {{metric='precomputed'}} each new point is a row of "
            f"its distances to all {n_train} training points, in their order: (n_new, {n_train})."
        )
    if not sparse.issparse(X):
        _check_values(X)
    return X


def among(X: Any, rows: Ints | None) -> Any:
    """Return the distances among some points: rows and columns are sliced."""
    if rows is None:
        return X
    return X[rows][:, rows] if sparse.issparse(X) else X[np.ix_(rows, rows)]


def nearest_column(X: Any, columns: Ints | None) -> Ints:
    """Return the nearest column (of all: None), the first on ties; -1: a sparse row has none."""
    if not sparse.issparse(X):
        return np.asarray((X if columns is None else X[:, columns]).argmin(axis=1), dtype=np.int64)
    X = sparse.csr_array(X)
    X = sparse.csr_array(X if columns is None else X[:, columns])
    X.sort_indices()
    nearest = np.full(X.shape[0], -1, dtype=np.int64)
    for i in range(X.shape[0]):
        stored = slice(X.indptr[i], X.indptr[i + 1])
        if stored.stop > stored.start:
            nearest[i] = X.indices[stored][X.data[stored].argmin()]
    return nearest
