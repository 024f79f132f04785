"""Mean distance to the members of each cluster, for any metric and for distances that are given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from clustertrust._types import Array, Floats, Ints, Result
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity, Reduce
from clustertrust.distances.metrics import Metric
from clustertrust.distances.precomputed import check_entries


class Pairwise(Dissimilarity):
    """Mean distance to the members of each cluster: one pass over the pairs serves all runs.

    With given distances, X is the (n, n) matrix, and unseen points are rows of their distances to
    the n points. In a model from a file X is then (n, 0): the matrix is not stored.
    """

    def __init__(self, X: Any, cells: Cells, *, metric: Metric, n_jobs: int | None = None) -> None:
        super().__init__(cells, n_jobs)
        self.X, self.metric = X, metric

    def map(self, X: Any, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances from unseen points."""
        return self._split(
            X.shape[0],
            lambda rows: self._matrix_means(self._distances(X[rows])),
            reduce,
            24 * len(self.cells.cell_of),
        )

    def map_training(self, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances among the training points."""
        n = len(self.cells.cell_of)
        return self._split(
            n, lambda rows: self._matrix_means(self._own_distances(rows)), reduce, 24 * n
        )

    def to_points(self, positions: Ints) -> Floats | None:
        """Return the distances (n, L) of all points to those at some positions; None: not known."""
        if not self.metric.is_precomputed:
            return np.asarray(self.metric.between(self.X, self.X[positions]), dtype=np.float64)
        return np.asarray(self.X[:, positions], dtype=np.float64) if self.X.shape[1] else None

    def _distances(self, X: Any) -> Array:
        return np.asarray(X) if self.metric.is_precomputed else self.metric.between(X, self.X)

    def _own_distances(self, rows: slice) -> Array:
        """Return rows of the distance matrix; a point is 0 from itself whatever the metric says."""
        point = np.arange(rows.start, rows.stop)
        if self.metric.is_precomputed:
            matrix = np.asarray(self.X[rows])
            fine = np.isfinite(matrix) & (matrix >= 0)
            fine[np.arange(point.size), point] &= matrix[np.arange(point.size), point] == 0
            what = (
                "distance; distances are finite and not negative, and a point is at distance 0 "
                "from itself"
            )
            check_entries(matrix, rows.start, fine, what)
        else:
            matrix = self.metric.between(self.X[rows], self.X)
            matrix[np.arange(point.size), point] = 0.0
        return matrix
