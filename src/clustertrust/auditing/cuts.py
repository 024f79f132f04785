"""Points → two parts of them, by k-means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from clustertrust._types import Floats, Ints

# Positions of points → ways to part them, labels 0 and 1
Cut = Callable[[Ints], list[Ints]]
# Points for each dimension, from which on their spread is known in all directions
ROOM = 5
# Steps of a cut by k-means
STEPS = 100


def halves(X: Any, seed: int) -> Cut:
    """Return cuts of X in two by k-means: as points lie, and with equal spread in all directions.

    The second finds two strips side by side, which the first cuts across.
    """

    def cut(members: Ints) -> list[Ints]:
        points = X[members]
        if sparse.issparse(points):
            return [two_means(points, seed)]
        points = points - points.mean(axis=0)
        ways = [points]
        if len(points) > ROOM * points.shape[1]:
            ways.append(_with_equal_spread(points))
        return [two_means(way, seed) for way in ways]

    return cut


def _with_equal_spread(centred: Floats) -> Floats:
    """Return points in their principal components, each with variance 1.

    Directions in which they barely spread are left out.
    """
    variances, directions = np.linalg.eigh(centred.T @ centred / len(centred))
    wide = variances > 1e-12 * max(variances[-1], np.finfo(float).tiny)
    return np.asarray(centred @ (directions[:, wide] / np.sqrt(variances[wide])))


def two_means(X: Any, seed: int) -> Ints:
    """Return labels 0 and 1 (n,) by k-means from a k-means++ start; rows may be sparse.

    O(n d) a step. Of two centres, the plane between them says which is nearer: one product with
    the data a step, where scikit-learn's KMeans spends more on its checks than on small clusters.
    """
    rng = np.random.default_rng(seed)
    n = X.shape[0]
    squares = np.asarray((X.power(2) if sparse.issparse(X) else X * X).sum(axis=1)).ravel()

    def away(i: int) -> Floats:
        products = np.asarray(X @ _row(X, i)).ravel()
        return np.asarray(np.maximum(squares - 2 * products + squares[i], 0.0))

    first = int(rng.integers(n))
    distance = away(first)
    if not distance.sum() > 0:
        return np.zeros(n, dtype=np.int64)
    # The better of two draws, as scikit-learn has it
    drawn = rng.choice(n, 2, p=distance / distance.sum()).tolist()
    second = min(drawn, key=lambda i: np.minimum(distance, away(i)).sum())
    total = np.asarray(X.sum(axis=0)).ravel()
    centers = _row(X, first), _row(X, second)
    labels = np.full(n, -1)
    for _ in range(STEPS):
        normal = centers[1] - centers[0]
        middle = (centers[1] + centers[0]) @ normal / 2
        nearer = (np.asarray(X @ normal).ravel() > middle).astype(np.int64)
        count = int(nearer.sum())
        if count in (0, n) or np.array_equal(nearer, labels):
            break
        labels = nearer
        summed = np.asarray(labels.astype(np.float64) @ X).ravel()
        centers = (total - summed) / (n - count), summed / count
    return np.maximum(labels, 0)


def _row(X: Any, i: int) -> Floats:
    row = X[[i]]
    return np.asarray(row.toarray() if sparse.issparse(row) else row, dtype=np.float64).ravel()
