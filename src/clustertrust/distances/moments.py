"""X and cells → means and variances of all clusters of all runs, from one sum for each cell."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from clustertrust._parallel import map_blocks
from clustertrust._types import Array, Floats
from clustertrust.cells import Cells
from clustertrust.kernels import _cupy_cells, backend

# Of rows, for sums.
_PARTS = 16
# Some ulps.
ROUNDING = 64 * np.finfo(np.float64).eps


def _cell_sums(X: Any, cells: Cells) -> Any:
    """(m, d) sum of the points of each cell."""
    n = X.shape[0]
    indicator = sparse.csr_array(
        (np.ones(n), (cells.cell_of, np.arange(n))), shape=(len(cells.counts), n)
    )
    return indicator @ X


def _cell_means(X: Array, cells: Cells, threads: int = 1) -> Floats:
    """(m, d) mean of each cell: a point of the cell, and the mean of what the others differ from
    it.

    Sums of the points themselves would lose digits where these lie far from the origin.
    """
    member = np.empty(len(cells.counts), dtype=np.int64)
    member[cells.cell_of] = np.arange(len(cells.cell_of))
    base = np.asarray(X[member], dtype=np.float64)
    sums = _by_part(backend().cell_sums, (X, cells.cell_of, base), base.shape, threads)
    return np.asarray(base + sums / cells.counts[:, None])


def _by_part(
    kernel: Callable[..., None], data: tuple[Any, ...], shape: tuple[int, ...], threads: int
) -> Floats:
    """Add up what a kernel adds for each part of the rows: a number of parts that n and m decide.

    So the sums have the same bits for any number of threads.
    """
    n = len(data[0])
    parts = _PARTS if _PARTS * int(np.prod(shape)) <= n else 1
    bounds = np.linspace(0, n, parts + 1).astype(int).tolist()

    def work(part: tuple[int, int]) -> Floats:
        out = np.zeros(shape)
        kernel(*data, part, out)
        return out

    first, *others = map_blocks(work, itertools.pairwise(bounds), threads)
    for other in others:
        first += other
    return first


def _unite(means: Floats, cells: Cells, threads: int = 1) -> Floats:
    """Means of cells (m, d) → means of clusters (K, d), centred while they are summed."""
    origin = cells.counts @ means / max(1, cells.counts.sum())
    data = (cells.rows, cells.start, cells.counts, means, origin)
    sums = _by_part(backend().cluster_sums, data, (len(cells.sizes), len(origin)), threads)
    return np.asarray(origin + sums / cells.sizes[:, None])


def cluster_means(X: Any, cells: Cells) -> Floats:
    """(K, d) mean of each cluster of each run, from one sum per cell."""
    if sparse.issparse(X):
        sums = cells.members.T @ _cell_sums(X, cells)
        return np.asarray(sums.toarray() / cells.sizes[:, None])
    return _unite(_cell_means(np.ascontiguousarray(X), cells), cells)


def _cell_moments(X: Array, cells: Cells, threads: int) -> tuple[Floats, Floats]:
    """Mean (m, d) of the points of each cell, and their summed squared distances (m,) to it."""
    means = _cell_means(X, cells, threads)
    data = (X, cells.cell_of, means)
    return means, _by_part(backend().cell_squares, data, cells.counts.shape, threads)


def cluster_moments(
    X: Any, cells: Cells, threads: int = 1, *, on_gpu: bool = False
) -> tuple[Floats, Floats]:
    """Mean (K, d) of each cluster, and the mean squared distance (K,) of its members to it.

    Within cells by differences, then between the means of cells: no large numbers are subtracted,
    but for sparse data. What is left of equal points by rounding is 0.
    """
    if sparse.issparse(X):
        means = cluster_means(X, cells)
        squared_norms = row_norms(means, squared=True)
        squares = np.bincount(cells.cell_of, weights=row_norms(X, squared=True))
        variances = cells.members.T @ squares / cells.sizes - squared_norms
        return means, np.where(variances > ROUNDING * squared_norms, variances, 0.0)
    within = _cupy_cells.cell_moments if on_gpu else _cell_moments
    cell_means, inside = within(np.ascontiguousarray(X), cells, threads)
    means = _unite(cell_means, cells, threads)
    data = (cells.rows, cells.start, cells.counts, cell_means, inside, means)
    sums = _by_part(backend().cluster_squares, data, cells.sizes.shape, threads)
    variances = sums / cells.sizes
    return means, np.where(variances > ROUNDING**2 * row_norms(means, squared=True), variances, 0.0)
