"""X and cells → mean dissimilarity of each point to each cluster of each run.

The clusters of all runs stand one below the other in K rows; points are columns. All kinds are a
`Dissimilarity`:

- `Euclidean`, `Pairwise` (in `clustertrust.distances.pairwise`): mean distance to the members (the
  exact silhouette's), one pass for all runs;
- `Centers`: distance to a centre, or root-mean-square distance to the members, from centres and
  spreads;
- `Cosine`: mean cosine distance, from mean directions;
- `KernelMeans` (in `clustertrust.distances.kernel_means`): distance to the mean in the space of a
  kernel, Eq. (9).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from clustertrust._parallel import (
    blocks,
    count_threads,
    map_blocks,
    memory_budget,
    one_thread,
    run_blocks,
)
from clustertrust._types import Array, Floats, Ints, Result
from clustertrust.cells import Cells, Clusters
from clustertrust.distances.moments import ROUNDING, cluster_means
from clustertrust.distances.tiles import by_feature, by_point, in_fours, sums_by_cell
from clustertrust.kernels import backend
from clustertrust.kernels.rules import Rules

# (positions of b points, means (K, b)) → what is kept of them
Reduce = Callable[[Any, Floats], Result]
# (positions of b points, silhouettes (b, R), nearest other clusters (b, R)): what is done with them
Take = Callable[[Any, Floats, Ints], None]

# Of a block whose results do not depend on its size: enough to keep Python out of the way.
_POINTS = 4096
_FLOATS = (np.float32, np.float64)


class Dissimilarity(ABC):
    """Mean dissimilarity of points to all K clusters, in blocks of points, each handed to `reduce`.

    `map(X, reduce)` is for points that are not members of any cluster, `map_training(reduce)` for
    the points that the clusters were made of. `leaves_self_out` says that the mean over a point's
    own cluster leaves the point itself out, and `root` that a square root is taken at the end.
    `calls_libraries` is False if our own kernels do all of the work.
    """

    leaves_self_out = True
    root = False
    calls_libraries = True

    def __init__(self, cells: Any, n_jobs: int | None) -> None:
        self.cells, self.n_jobs = cells, n_jobs

    @abstractmethod
    def map(self, X: Any, reduce: Reduce[Result]) -> Iterator[Result]:
        """Yield reduce(points, means) for blocks of unseen points."""

    @abstractmethod
    def map_training(self, reduce: Reduce[Result]) -> Iterator[Result]:
        """Yield reduce(points, means) for blocks of the training points."""

    def noise(self, X: Any = None) -> Floats | float:
        """What rounding may make of a dissimilarity of 0 at each point of X.

        None: the training points.
        """
        return 0.0

    def of_itself(self, X: Any = None) -> Floats | float:
        """What each point of X adds to the sum over its own cluster; None: the training points."""
        return 0.0

    def noise_of(self, X: Any, n: int) -> Floats:
        """Return `noise` as one number for each of n points, (n,)."""
        return np.broadcast_to(np.asarray(self.noise(X), np.float64), n)

    def rules(self, training: bool) -> Rules:
        """Return how silhouettes of training points, or of unseen ones, treat the point itself."""
        out = self.leaves_self_out
        return Rules(training and out, training or not out, self.root)

    @property
    def training_labels(self) -> Ints:
        """(n, R) the clusters of the training points."""
        return np.asarray(self.cells.rows[self.cells.cell_of])

    def silhouettes(
        self, own: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> tuple[Floats, Ints]:
        """Return silhouettes (n, R), Eq. (1), and the nearest other cluster (n, R).

        `own` (n, R) are the labels of the points X. Without both they are the training points; with
        `training`, X are some of those. Otherwise X are unseen points, and means are over all
        members of a cluster. NaN and -1 mark points that are not assigned. A point alone in its
        cluster has silhouette 0.
        """
        n = len(self.cells.cell_of if own is None else own)
        s = np.empty((n, self.cells.n_runs))
        nearest = np.empty(s.shape, dtype=np.int32)

        def keep(points: Any, values: Floats, others: Ints) -> None:
            s[points], nearest[points] = values, others

        self._each(keep, own, X, training)
        return s, nearest

    def _each(self, take: Take, own: Ints | None, X: Any, training: bool) -> None:
        """Call take(points, s, nearest) for each block of points, in threads."""
        training = training or X is None
        # The labels of the training points are looked up block by block.
        rows, of = (self.cells.rows, self.cells.cell_of) if own is None else (own, None)
        n = len(rows if of is None else of)
        clusters, rules = (self.cells.start, self.cells.sizes), self.rules(training)
        noise = self.noise_of(X, n)
        itself = np.broadcast_to(self.of_itself(X) if training else 0.0, n)

        def reduce(points: Any, means: Floats) -> None:
            found = backend().silhouettes(
                np.ascontiguousarray(means),
                np.ascontiguousarray(rows[points if of is None else of[points]]),
                clusters,
                np.ascontiguousarray(itself[points]),
                np.ascontiguousarray(noise[points]),
                rules,
            )
            take(points, *found)

        for _ in self.map_training(reduce) if X is None else self.map(X, reduce):
            pass

    def _measures_as(self, kind: type[Dissimilarity]) -> bool:
        """Return whether no subclass, which may be somebody else's, measures in another way."""
        parts = ("map", "map_training", "noise", "noise_of", "of_itself")
        return all(getattr(type(self), name) is getattr(kind, name) for name in parts)

    def kept_silhouettes(
        self, own: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> tuple[Any, Any]:
        """Return the same, on the GPU if it was computed there."""
        return self.silhouettes(own, X, training=training)

    def _split(
        self,
        n: int,
        means: Callable[[slice], Floats],
        reduce: Reduce[Result],
        bytes_each: int,
        points: Any = None,
        largest: int = 1024,
    ) -> Iterator[Result]:
        """Run reduce(points[block], means(block)) over blocks of n points on the threads.

        `points` are their positions, None where they are in order. The libraries below us get one
        thread each.
        """
        threads = count_threads(self.n_jobs)

        def work(block: slice) -> Result:
            return reduce(block if points is None else points[block], means(block))

        columns = 16 * int(self.cells.start[-1])
        with one_thread() if self.calls_libraries else nullcontext():
            yield from map_blocks(work, blocks(n, bytes_each + columns, largest=largest), threads)

    def _matrix_means(self, matrix: Array) -> Floats:
        """Dissimilarities (b, n) → means by cluster (K, b)."""
        cells = self.cells
        sums = backend().matrix_sums(matrix, cells.order, cells.bounds, cells.rows, cells.start)
        return np.asarray(sums / cells.sizes[:, None])


def each_silhouettes(
    by: Dissimilarity, take: Take, own: Ints | None, X: Any, *, training: bool = False
) -> None:
    """Call take(points, s, nearest) for each block of points, in threads.

    The blocks of `Dissimilarity.silhouettes`, which are held as a whole only where a subclass has
    a way of its own to compute them.
    """
    if type(by).silhouettes is Dissimilarity.silhouettes:
        by._each(take, own, X, training)
    else:
        hand_out(by.silhouettes(own, X, training=training), take, count_threads(by.n_jobs))


def hand_out(silhouettes: tuple[Floats, Ints], take: Take, threads: int) -> None:
    """Call take(points, s, nearest) for each block of known silhouettes, in threads."""
    s, nearest = silhouettes

    def work(points: slice) -> None:
        take(points, s[points], nearest[points])

    run_blocks(work, blocks(len(s), 16 * 8 * s.shape[1], largest=_POINTS), threads)


class Euclidean(Dissimilarity):
    """Mean Euclidean distance to the members of each cluster, for dense data, in compiled loops.

    Distances come from differences, so that data far from the origin lose no digits. float32 data
    are computed in float32 (a distance is good to about seven digits) and summed in float64.
    """

    calls_libraries = False
    # Of the points: above this a sum for each point and cell is slower than none
    # (benchmarks/tiles.py).
    few_cells = 0.05

    def __init__(self, X: Array, cells: Cells, *, n_jobs: int | None = None) -> None:
        super().__init__(cells, n_jobs)
        self.X = X

    def map(self, X: Array, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances from unseen points."""
        return self._map_direct(np.asarray(X, dtype=self.X.dtype), reduce, None)

    def map_training(self, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances among the training points, each pair twice."""
        order = self.cells.order
        return self._map_direct(self.X[order], reduce, order)

    def _each(self, take: Take, own: Ints | None, X: Any, training: bool) -> None:
        """Call take(points, s, nearest) for each block of points.

        Among the training points each pair is computed once where a sum for each point and cell can
        be held.
        """
        cells, n, m = self.cells, self.X.shape[0], len(self.cells.counts)
        fits = 8 * n * m <= memory_budget() and m <= n * self.few_cells
        if own is not None or X is not None or not fits or not self._measures_as(Euclidean):
            super()._each(take, own, X, training)
            return
        sums, order = self._cell_sums()
        known = ((cells.rows, cells.cell_of[order]), (cells.start, cells.sizes), self.rules(True))

        def work(block: slice) -> None:
            take(order[block], *backend().cell_silhouettes(sums, (block.start, block.stop), *known))

        run_blocks(work, blocks(n, 16 * cells.n_runs + 16), count_threads(self.n_jobs))

    def _cell_sums(self) -> tuple[Floats, Ints]:
        """Return the sums of distances (m, n) to each cell, and the order of points, by cell."""
        return sums_by_cell(self.X, self.cells, count_threads(self.n_jobs)), self.cells.order

    def _map_direct(self, X: Array, reduce: Reduce[Result], points: Any) -> Iterator[Result]:
        cells, n = self.cells, self.X.shape[0]
        members = by_point(self.X[cells.order])

        def means(block: slice) -> Floats:
            columns = by_feature(X[block])
            sums = backend().cluster_distances(
                members, n, columns, cells.bounds, cells.rows, cells.start
            )
            return np.asarray(sums[:, : block.stop - block.start] / cells.sizes[:, None])

        return self._split(X.shape[0], means, reduce, 0, points)


class Centers(Dissimilarity):
    """Mean squared distance |x - centre|² + spread, O(n K d); the square root of it where `root`.

    With the means and variances of the clusters this is the mean squared distance to the members;
    with no spread the squared distance to the centre. Runs often find the same cluster, so equal
    centres are computed once.
    """

    def __init__(
        self,
        X: Any,
        cells: Clusters,
        *,
        centers: Floats,
        spread: Floats | None,
        root: bool,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(cells, n_jobs)
        self.X, self.root = X, root
        self.centers, self.spread = centers, spread
        self.leaves_self_out = spread is not None
        self._distinct, self._place = np.unique(centers, axis=0, return_inverse=True)

    def noise(self, X: Any = None) -> Floats | float:
        """A mean is off by some ulps of the coordinates, a product for sparse data by some ulps of
        the squares.
        """
        X = self.X if X is None else X
        return np.asarray(
            row_norms(X, squared=True) * (ROUNDING if sparse.issparse(X) else ROUNDING**2),
            np.float64,
        )

    def map(self, X: Any, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances from unseen points."""
        # Many points in fewer calls: differences round the same in blocks of any size.
        largest = 1024 if sparse.issparse(X) else min(2048, max(1024, X.shape[0] // 256))
        means, each = (lambda rows: self._means(X[rows])), 16 * len(self.centers)
        return self._split(X.shape[0], means, reduce, each, None, largest)

    def map_training(self, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances of the training points; the same as for any others."""
        return self.map(self.X, reduce)

    def _each(self, take: Take, own: Ints | None, X: Any, training: bool) -> None:
        """Call take(points, s, nearest) for each block of points; dense ones in one kernel."""
        points = self.X if X is None else X
        if (
            not self._measures_as(Centers)
            or not isinstance(points, np.ndarray)
            or points.dtype not in _FLOATS
        ):
            super()._each(take, own, X, training)
            return
        points = np.ascontiguousarray(points)
        rows, of = (self.cells.rows, self.cells.cell_of) if own is None else (own, None)
        spread = np.zeros(len(self.centers)) if self.spread is None else self.spread
        centers = (in_fours(self._distinct), self._place.ravel(), spread)
        clusters, rules = (self.cells.start, self.cells.sizes), self.rules(training or X is None)

        def work(block: slice) -> None:
            mine = np.ascontiguousarray(rows[block if of is None else of[block]])
            known = (points[block], mine, centers, clusters, ROUNDING**2, rules)
            take(block, *backend().center_silhouettes(*known))

        # Differences round the same in blocks of any size.
        some = blocks(len(points), 16 * self.cells.n_runs + 16, largest=_POINTS)
        run_blocks(work, some, count_threads(self.n_jobs))

    def _means(self, X: Any) -> Floats:
        squares = squared_distances(self._distinct, X)[self._place.ravel()]
        if self.spread is not None:
            squares += self.spread[:, None]
        return squares


def squared_distances(centers: Floats, X: Any) -> Floats:
    """|x - c|² of each row of `centers` with each of X: (K, b); by differences if X is dense."""
    if sparse.issparse(X):
        X = X.astype(np.float64)
        cross = safe_sparse_dot(centers, X.T, dense_output=True)
        squares = row_norms(centers, squared=True)[:, None] - 2 * cross + row_norms(X, squared=True)
        return np.asarray(np.maximum(squares, 0.0))
    columns = by_feature(np.asarray(X, dtype=np.float64))
    return np.asarray(
        backend().squared_distances(in_fours(centers), columns)[: len(centers), : len(X)]
    )


class Cosine(Dissimilarity):
    """Mean cosine distance, 1 - x̂ · (mean direction of the members), O(n K d).

    `means` (K, d) are given where the points were never in memory at once.
    """

    def __init__(
        self, X: Any, cells: Any, *, means: Floats | None = None, n_jobs: int | None = None
    ) -> None:
        super().__init__(cells, n_jobs)
        if means is not None:
            self.means = means
            return
        self.X = _directions(X)
        self.means = cluster_means(self.X, cells)

    def of_itself(self, X: Any = None) -> Floats:
        """Return 0, and 1 for rows of zeros: they have no direction."""
        return np.asarray(1.0 - row_norms(self.X if X is None else _directions(X), squared=True))

    def map(self, X: Any, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances from unseen points."""
        return self._map_directions(_directions(X), reduce)

    def map_training(self, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances of the training points."""
        return self._map_directions(self.X, reduce)

    def noise(self, X: Any = None) -> Floats | float:
        """A product of two directions is off by some ulps of 1."""
        return ROUNDING

    def _map_directions(self, X: Any, reduce: Reduce[Result]) -> Iterator[Result]:
        def means(rows: slice) -> Floats:
            return np.asarray(
                np.clip(1.0 - safe_sparse_dot(self.means, X[rows].T, dense_output=True), 0.0, 2.0)
            )

        return self._split(X.shape[0], means, reduce, 16 * len(self.means))


def _directions(X: Any) -> Any:
    return normalize(X.astype(np.float64, copy=False))
