"""Squared distances to some points, and the distance to the k-th nearest of them; copies are at
distance 0.

scikit-learn's brute force takes squared distances from products, so that two copies of a point lie
up to 1e-8 of its length apart. Here they come from differences; of sparse points those to the
nearest do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KDTree, NearestNeighbors

from clustertrust._parallel import blocks, count_threads, map_blocks, one_thread
from clustertrust._types import Floats, Ints
from clustertrust.distances.tiles import by_feature, in_fours
from clustertrust.kernels import backend

# The scale of a point in the self-tuning kernel is its distance to this neighbor.
SCALE_NEIGHBOR = 7
# Beyond these a tree looks at nearly all points, as scikit-learn has it.
_TREE_FEATURES = 15
# Entries of a long row that are looked at together
_GROUP = 64


class Neighbors:
    """The points `among` which neighbours are sought: (n, d), dense or CSR."""

    def __init__(self, among: Any, n_jobs: int | None = None) -> None:
        self.n, self.n_jobs = among.shape[0], n_jobs
        self.sparse = sparse.issparse(among)
        self.among = among if self.sparse else np.asarray(among, dtype=np.float64)
        self._tiles = None if self.sparse else by_feature(self.among)
        small = not self.sparse and among.shape[1] <= _TREE_FEATURES
        self._tree = KDTree(self.among) if small else None

    def squares(self, X: Any) -> Floats:
        """Squared distance from each row of X to each of the points: (b, n). O(b n d)."""
        if self.sparse:
            return np.asarray(euclidean_distances(X, self.among, squared=True), dtype=np.float64)
        rows = in_fours(np.asarray(X, dtype=np.float64))
        return np.asarray(backend().squared_distances(rows, self._tiles)[: len(X), : self.n])

    def kth_distances(self, X: Any, k: int) -> Floats:
        """Distance from each row of X to the k-th nearest of the points, a point among them being
        its own first: (b,).

        O(b n d); less in few dimensions.
        """
        with one_thread():
            if self.sparse:
                return self._of_sparse(X, k)
            if self._tree is not None:
                return np.asarray(self._tree.query(np.asarray(X, dtype=np.float64), k)[0][:, -1])

            def kth(rows: slice) -> Floats:
                return np.sqrt(np.partition(self.squares(X[rows]), k - 1, axis=1)[:, k - 1])

            parts = map_blocks(kth, blocks(X.shape[0], 24 * self.n), count_threads(self.n_jobs))
            return np.concatenate(list(parts))

    def nearest(self, X: Any, k: int) -> tuple[Floats, Ints]:
        """Return the distances to the k nearest points and their positions: (b, k), nearest first.

        Ties go to the first. O(b n d); less in few dimensions.
        """
        with one_thread():
            if self._tree is not None:
                away, near = self._tree.query(np.asarray(X, dtype=np.float64), k)
                order = np.lexsort((near, away), axis=1)
                return np.take_along_axis(away, order, 1), np.take_along_axis(near, order, 1)

            def of(rows: slice) -> tuple[Floats, Ints]:
                squares, near = smallest(self.squares(X[rows]), k)
                return np.sqrt(np.maximum(squares, 0.0)), near

            parts = map_blocks(of, blocks(X.shape[0], 24 * self.n), count_threads(self.n_jobs))
            away, near = zip(*parts, strict=True)
            return np.concatenate(away), np.concatenate(near)

    def _of_sparse(self, X: Any, k: int) -> Floats:
        """The k nearest by products, then how far they are by differences."""
        near = (
            NearestNeighbors(n_neighbors=k, algorithm="brute")
            .fit(self.among)
            .kneighbors(X, return_distance=False)
        )
        points, among = (sparse.csr_array(rows, dtype=np.float64) for rows in (X, self.among))
        squares = [(points - among[kth]).power(2).sum(axis=1) for kth in near.T]
        return np.asarray(np.sqrt(np.max(squares, axis=0)))


def drop_self(away: Floats, near: Ints) -> tuple[Floats, Ints]:
    """Leave each point out of its neighbors (n, k + 1); where copies crowd it out, the last one."""
    itself = near == np.arange(len(near))[:, None]
    itself[~itself.any(axis=1), -1] = True
    shape = len(near), near.shape[1] - 1
    return away[~itself].reshape(shape), near[~itself].reshape(shape)


def smallest(values: Floats, k: int) -> tuple[Floats, Ints]:
    """Return the k smallest of each row, rising, and their columns: (b, k); ties go to the first.

    Only a bound on them comes from a partition: which of equal entries a partition keeps depends on
    the processor.
    """
    columns = np.empty((len(values), k), dtype=np.int64)
    for row, last, into in zip(values, _bound(values, k), columns, strict=True):
        near = np.flatnonzero(row <= last)
        into[:] = near[np.argsort(row[near], kind="stable")[:k]]
    return np.take_along_axis(values, columns, axis=1), columns


def _bound(values: Floats, k: int) -> Floats:
    """Return, for each row, a value that at least k of its entries do not exceed: (b,).

    In long rows it is the k-th smallest of the minima of groups, which holds and costs one pass:
    a partition of the row takes ten times as long.
    """
    whole = values.shape[1] - values.shape[1] % _GROUP
    if whole >= 2 * k * _GROUP:
        # Groups of columns that lie apart: numpy takes the minima of many groups at a time.
        minima = values[:, :whole].reshape(len(values), _GROUP, -1).min(axis=1)
        values = np.hstack([minima, values[:, whole:]])
    return np.asarray(np.partition(values, k - 1)[:, k - 1])
