"""X and cells → distance of each point to the kernel mean of each cluster, Eq. (9)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import row_norms

from clustertrust._errors import ParameterError
from clustertrust._types import Array, Floats, Result
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity, Reduce
from clustertrust.distances.metrics import is_name
from clustertrust.distances.moments import ROUNDING
from clustertrust.distances.neighbors import SCALE_NEIGHBOR, Neighbors
from clustertrust.distances.precomputed import check_entries


class KernelMeans(Dissimilarity):
    """Squared distance to the mean of each cluster in the space of a kernel, Eq. (9), O(n² d).

    The Gram matrix is never held. Sums over its own cluster include the point, as in the paper.
    A kernel that is not positive semidefinite can give squares below 0; they count as 0.
    """

    leaves_self_out = False
    root = True

    def __init__(
        self,
        X: Any,
        cells: Cells,
        *,
        kernel: Any = "self-tuning",
        kernel_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(cells, n_jobs)
        self.kernel, self.params = kernel, dict(kernel_params or {})
        # Under these kernels distances do not move with the origin, but digits are lost far from
        # it.
        fixed = sparse.issparse(X) or not any(
            is_name(kernel, name) for name in ("linear", "rbf", "self-tuning")
        )
        self.origin = None if fixed else X.mean(axis=0)
        self.X = self._moved(X)
        if is_name(kernel, "rbf") or is_name(kernel, "polynomial"):
            self.params = {"gamma": 1.0 / X.shape[1]} | {
                k: v for k, v in self.params.items() if v is not None
            }
        self.scale: Floats | None = None
        if is_name(kernel, "self-tuning"):
            self.neighbors = Neighbors(self.X, n_jobs)
            # The first is the point itself.
            scale = self.neighbors.kth_distances(self.X, self._rank + 1)
            # Points with many copies have no scale of their own; where all points do, nor has
            # anyone.
            self.floor = scale[scale > 0].min() if scale.any() else _smallest_distance(self.X)
            self.scale = np.maximum(scale, self.floor)
        precomputed = is_name(kernel, "precomputed")
        self.itself = (
            np.asarray(X.diagonal(), np.float64) if precomputed else self._with_itself(self.X)
        )
        self.within = self._within()

    @property
    def _rank(self) -> int:
        """Which neighbour of a point is its scale's."""
        return min(SCALE_NEIGHBOR, len(self.cells.cell_of) - 1)

    def map(self, X: Any, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances from unseen points."""
        if is_name(self.kernel, "precomputed"):
            raise ParameterError(
                "kernel",
                self.kernel,
                "cannot score unseen points: their kernel values are not known",
            )
        X = self._moved(X)
        return self._map_distances(X, self._scale_of(X), self._with_itself(X), reduce)

    def map_training(self, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances of the training points."""
        return self._map_distances(self.X, self.scale, self.itself, reduce)

    def noise(self, X: Any = None) -> Floats | float:
        """Sums of kernel values are off by some ulps of κ(x, x)."""
        return ROUNDING * np.abs(self.itself if X is None else self._with_itself(self._moved(X)))

    def _scale_of(self, points: Any) -> Floats | None:
        """Return the scales of unseen points, if the kernel has any."""
        if self.scale is None:
            return None
        return np.maximum(self.neighbors.kth_distances(points, self._rank), self.floor)

    def _moved(self, X: Any) -> Any:
        return X if self.origin is None else X - self.origin

    def _map_distances(
        self, X: Any, scale: Floats | None, itself: Floats, reduce: Reduce[Result]
    ) -> Iterator[Result]:
        def distances(rows: slice, means: Floats) -> Result:
            return reduce(rows, np.maximum(itself[rows] - 2 * means + self.within[:, None], 0.0))

        return self._map_similarities(X, scale, distances)

    def _map_similarities(
        self, X: Any, scale: Floats | None, reduce: Reduce[Result]
    ) -> Iterator[Result]:
        """Return the mean κ to the members of each cluster."""

        def means(rows: slice) -> Floats:
            gram = self._gram(X[rows], None if scale is None else scale[rows])
            if is_name(self.kernel, "precomputed"):
                check_entries(
                    gram, rows.start, np.isfinite(gram), "similarity; similarities are finite"
                )
            return self._matrix_means(gram)

        return self._split(X.shape[0], means, reduce, 24 * self.X.shape[0])

    def _gram(self, X: Any, scale: Floats | None) -> Array:
        """κ of some points with all training points."""
        if scale is not None and self.scale is not None:
            squares = self.neighbors.squares(X)
            squares /= scale[:, None]
            squares /= self.scale
            return np.exp(-squares)
        if is_name(self.kernel, "precomputed"):
            return np.asarray(X)
        return np.asarray(pairwise_kernels(X, self.X, metric=self.kernel, **self.params))

    def _with_itself(self, X: Any) -> Floats:
        """κ(x, x); raise where sums of such values would not be finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            diagonal = self._diagonal(X)
            if not np.isfinite(diagonal * float(self.X.shape[0])).all():
                raise ParameterError(
                    "kernel",
                    self.kernel,
                    "of some points with themselves is not finite, or too large to sum",
                    "divide X by its largest value first",
                )
        return diagonal

    def _diagonal(self, X: Any) -> Floats:
        if is_name(self.kernel, "self-tuning") or is_name(self.kernel, "rbf"):
            return np.ones(X.shape[0])
        if is_name(self.kernel, "linear"):
            return np.asarray(row_norms(X, squared=True), np.float64)
        if is_name(self.kernel, "polynomial"):
            params = {"degree": 3, "coef0": 1} | self.params
            return np.asarray(
                (params["gamma"] * row_norms(X, squared=True) + params["coef0"]) ** params["degree"]
            )
        points = (X[[i]] if sparse.issparse(X) else X[i] for i in range(X.shape[0]))
        return np.array([self.kernel(x, x, **self.params) for x in points], dtype=np.float64)

    def _within(self) -> Floats:
        """(1/|C|²) Σ κ(p, q) over the pairs of each cluster: the mean, over its members, of their
        mean κ to it.
        """
        cells = self.cells

        def totals(rows: slice, means: Floats) -> Floats:
            labels = cells.rows[cells.cell_of[rows]]
            point, run = np.nonzero(labels >= 0)
            column = cells.start[run] + labels[point, run]
            return np.bincount(
                column, weights=means[column, point], minlength=cells.sizes.size
            ).astype(np.float64)

        sums = self._map_similarities(self.X, self.scale, totals)
        return np.asarray(sum(sums, np.zeros(cells.sizes.size)) / cells.sizes)


def _smallest_distance(X: Any) -> float:
    """Return the distance of the two nearest points that differ; infinite where all are equal."""
    distinct = _distinct(X)
    if distinct.shape[0] < 2:
        return np.inf
    return float(Neighbors(distinct).kth_distances(distinct, 2).min())


def _distinct(X: Any) -> Any:
    """Return the rows of X, each once."""
    if not sparse.issparse(X):
        return np.unique(X, axis=0)
    X = X.sorted_indices()
    X.eliminate_zeros()
    rows = [slice(*X.indptr[i : i + 2]) for i in range(X.shape[0])]
    last = {(X.indices[row].tobytes(), X.data[row].tobytes()): i for i, row in enumerate(rows)}
    return X[list(last.values())]
