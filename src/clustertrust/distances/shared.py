"""Silhouettes of several ensembles of the same points, from one pass over the pairs of points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from clustertrust._parallel import count_threads, memory_budget
from clustertrust._types import Floats, Ints
from clustertrust.cells import Cells, meet
from clustertrust.distances.dissimilarity import Dissimilarity, Euclidean
from clustertrust.distances.tiles import sums_by_cell
from clustertrust.kernels import backend

# Cells of all ensembles, as a share of the points: with more, sums cost as much as they save.
_FEW_CELLS = 0.5


class _FromFinerCells(Euclidean):
    """Mean Euclidean distances from sums over cells of which those of the ensemble are unions."""

    # The sums are there.
    few_cells = 1.0

    def __init__(self, by: Euclidean, finer: Cells, sums: Floats) -> None:
        super().__init__(by.X, by.cells, n_jobs=by.n_jobs)
        self.finer, self.sums = finer, sums

    def _cell_sums(self) -> tuple[Floats, Ints]:
        """Return the sums over the cells of the ensemble, points in the order of the finer ones."""
        cells, order = self.cells, self.finer.order
        # Of each finer cell the cell that it is part of
        part_of = cells.cell_of[order[self.finer.bounds[:-1]]].astype(np.int32)
        whole = np.array([0, len(cells.counts)])
        sums = backend().unite(self.sums, 0, len(order), part_of[:, None], whole)
        return np.asarray(sums), order


def shared_silhouettes(measures: Sequence[Dissimilarity]) -> Iterator[tuple[Floats, Ints]]:
    """Yield the silhouettes of the training points by each measure; all have the same points.

    Those of exact Euclidean silhouettes share the sums of distances to cells, if so many sums can
    be held. O(n² d) once, instead of once for each.
    """
    plain = [one for one in measures if type(one) is Euclidean]
    if len(plain) == len(measures) > 1:
        X, n_jobs = plain[0].X, plain[0].n_jobs
        finer = meet(np.column_stack([one.cells.cell_of for one in plain]))
        n, m = len(X), len(finer.counts)
        if 8 * n * m <= memory_budget() and m <= n * _FEW_CELLS:
            sums = sums_by_cell(X, finer, count_threads(n_jobs))
            measures = [_FromFinerCells(one, finer, sums) for one in plain]
    for one in measures:
        yield one.silhouettes()
