"""Mean distance to the members of each cluster, from some members of each cell: between `rms` and
`exact` in cost.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clustertrust._types import Array, Floats, Ints, Result
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity, Reduce
from clustertrust.distances.tiles import by_feature, by_point
from clustertrust.kernels import backend

# Drawn in all, in proportion to the cells; at least two of each cell.
MEMBERS = 2000


class SampledMeans(Dissimilarity):
    """Mean Euclidean distance, estimated without bias from a random sample of each cell.

    Every cluster is a union of cells, so that a sample of each cell, weighted by its size, stands
    for all clusters of all runs (a stratified sample). O(n s d) for s members drawn; with as many
    as there are points it is exact.
    """

    def __init__(
        self,
        X: Array,
        cells: Cells,
        *,
        members: int = MEMBERS,
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(cells, n_jobs)
        self.X, self.members, self.seed = X, members, seed
        n = len(cells.cell_of)
        self.taken = np.minimum(
            cells.counts, np.maximum(2, np.ceil(members * cells.counts / n).astype(np.int64))
        )
        shuffled = np.random.default_rng(seed).permutation(n)
        # Cells one after the other, random inside
        by_cell = shuffled[np.argsort(cells.cell_of[shuffled], kind="stable")]
        place_in_cell = np.arange(n) - np.repeat(cells.bounds[:-1], cells.counts)
        self.drawn = by_cell[place_in_cell < np.repeat(self.taken, cells.counts)]
        self.is_drawn = np.zeros(n, dtype=bool)
        self.is_drawn[self.drawn] = True

    def map(self, X: Array, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the distances from unseen points."""
        X = np.asarray(X, dtype=self.X.dtype)
        return self._map(X, reduce, None)

    def map_training(self, reduce: Reduce[Result]) -> Iterator[Result]:
        """Distances of the training points; of its own cell a point sees the others alone."""
        return self._map(self.X, reduce, self.cells.cell_of)

    def _map(self, X: Array, reduce: Reduce[Result], of: Ints | None) -> Iterator[Result]:
        cells: Cells = self.cells
        m = len(cells.counts)
        # Each cell a cluster of its own.
        each = np.arange(m, dtype=np.int32)[:, None]
        bounds, start = np.concatenate([[0], np.cumsum(self.taken)]), np.array([0, m])
        members = by_point(self.X[self.drawn])
        weight = cells.counts / self.taken

        def means(block: slice) -> Floats:
            columns = by_feature(X[block])
            sums = backend().cluster_distances(
                members, len(self.drawn), columns, bounds, each, start
            )
            sums = np.asarray(sums[:, : block.stop - block.start])
            scaled = sums * weight[:, None]
            if of is not None:
                own, point = of[block], np.arange(block.stop - block.start)
                others = self.taken[own] - self.is_drawn[block]
                mean = np.divide(sums[own, point], others, out=np.zeros(len(own)), where=others > 0)
                scaled[own, point] = (cells.counts[own] - 1) * mean
            united = backend().unite(scaled, 0, scaled.shape[1], cells.rows, cells.start)
            return np.asarray(united / cells.sizes[:, None])

        return self._split(X.shape[0], means, reduce, 32 * m)

    def drawn_again(self, times: int) -> list[SampledMeans]:
        """Draw other samples of the same size; their differences show the error of each."""
        return [
            SampledMeans(
                self.X,
                self.cells,
                members=self.members,
                seed=self.seed + 1 + draw,
                n_jobs=self.n_jobs,
            )
            for draw in range(times)
        ]
