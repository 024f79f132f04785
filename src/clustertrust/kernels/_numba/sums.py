"""Sums of distances to clusters, and silhouettes from them."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from clustertrust._types import AnyFloats, Floats, Ints
from clustertrust.kernels._numba.compiling import TILE, compiled, inlined
from clustertrust.kernels._numba.pairs import distances, squares
from clustertrust.kernels.rules import Rules


@inlined
def _least(a, b):  # type: ignore[no-untyped-def]
    return a if a < b else b


@compiled
def _add_distances(tiles, cells, per_block, pairs, out, tile, sums):  # type: ignore[no-untyped-def]
    rows, columns = tiles
    cell, bounds = cells
    n, last = cell.size, rows.shape[0]
    for b in range(pairs.shape[0]):
        first, second = pairs[b, 0], pairs[b, 1]
        end_s, end_t = _least(last, (first + 1) * per_block), _least(last, (second + 1) * per_block)
        for s in range(first * per_block, end_s):
            for t in range(s if first == second else second * per_block, end_t):
                distances(rows[s], columns[t], tile)
                low_s, high_s = s * TILE, _least(n, (s + 1) * TILE)
                low_t, high_t = t * TILE, _least(n, (t + 1) * TILE)
                p = low_t
                while p < high_t:  # points of s to the cells in t
                    j = cell[p]
                    end = _least(high_t, bounds[j + 1])
                    sums_s = out[j, low_s:high_s]
                    for i in range(high_s - low_s):
                        part = tile[i, p - low_t : end - low_t]
                        total = 0.0
                        for q in range(part.size):
                            total += part[q]
                        sums_s[i] += total
                    p = end
                if s == t:
                    continue
                i = low_s
                while i < high_s:  # points of t to the cells in s
                    j = cell[i]
                    end = _least(high_s, bounds[j + 1])
                    for p in range(TILE):
                        sums[p] = 0.0
                    for q in range(i - low_s, end - low_s):
                        for p in range(TILE):
                            sums[p] += tile[q, p]
                    sums_t = out[j, low_t:high_t]
                    for p in range(high_t - low_t):
                        sums_t[p] += sums[p]
                    i = end


class _Scratch(threading.local):
    """What `_add_distances` writes to, kept by each thread: new memory takes as long as a small
    pair of blocks.
    """

    def __init__(self) -> None:
        self._by_type: dict[np.dtype[Any], tuple[AnyFloats, Floats]] = {}

    def for_points(self, dtype: np.dtype[Any]) -> tuple[AnyFloats, Floats]:
        """Return room for distances of points of this type, and for sums of them."""
        if dtype not in self._by_type:
            # float64 whatever the data are: float32 sums drift
            self._by_type[dtype] = np.empty((TILE, TILE), dtype=dtype), np.empty(TILE)
        return self._by_type[dtype]


_scratch = _Scratch()


def add_distances(
    tiles: tuple[AnyFloats, AnyFloats],
    cells: tuple[Ints, Ints],
    per_block: int,
    pairs: Ints,
    out: Floats,
) -> None:
    """out[j, i] += Σ |x_i - x_p| over the points p of cell j, for the pairs of blocks of points in
    `pairs`.

    `tiles` are rows (t, TILE, d) and columns (t, d, TILE) of the same n points, sorted by cell, and
    `cells` the cell (n,) of each point and where each cell begins (m + 1,). Block b is the tiles
    from b per_block on. Each pair of tiles is computed once and serves both sides. The
    pairs of one call, and of calls at the same time, share no block: then no two threads write to
    the same place. O(d) a pair of points.
    """
    _add_distances(tiles, cells, per_block, pairs, out, *_scratch.for_points(tiles[0].dtype))


@compiled
def _unite(sums, low, high, rows, start, out):  # type: ignore[no-untyped-def]
    for first in range(0, high - low, TILE):
        last = _least(first + TILE, high - low)
        # The sums of one run, k TILE of them, stay in the first-level cache.
        for r in range(rows.shape[1]):
            for j in range(rows.shape[0]):
                if rows[j, r] >= 0:
                    total = out[start[r] + rows[j, r], first:last]
                    part = sums[j, low + first : low + last]
                    for p in range(last - first):
                        total[p] += part[p]


def unite(sums: Floats, low: int, high: int, rows: Ints, start: Ints) -> Floats:
    """Sums by cell (m, n) → sums by cluster (K, b) of the points low:high.

    Every cluster of every run is a union of cells: O(m R b).
    """
    out = np.zeros((start[-1], high - low))
    _unite(sums, low, high, rows, start, out)
    return out


@compiled
def cluster_distances(rows, n, columns, bounds, cell_rows, start):  # type: ignore[no-untyped-def]
    """Σ |x - y| over the members y of each cluster, for points x in tiles (t, d, TILE): (K, t
    TILE).

    `rows` (s, TILE, d) hold the n members, sorted by cell. O(n d + m R) a point; nothing of size n
    or m is held, so that it serves where there are too many cells to keep a sum for each, and for
    unseen points.
    """
    out = np.zeros((start[-1], columns.shape[0] * TILE))
    tile = np.empty((TILE, TILE), dtype=rows.dtype)
    sums = np.empty(TILE)
    for t in range(columns.shape[0]):
        low = t * TILE
        j = 0
        for p in range(TILE):
            sums[p] = 0.0
        for s in range(rows.shape[0]):
            distances(rows[s], columns[t], tile)
            for i in range(min(TILE, n - s * TILE)):
                for p in range(TILE):
                    sums[p] += tile[i, p]
                if s * TILE + i + 1 == bounds[j + 1]:  # the last member of cell j
                    for r in range(cell_rows.shape[1]):
                        if cell_rows[j, r] >= 0:
                            c = start[r] + cell_rows[j, r]
                            mine = out[c, low : low + TILE]
                            for p in range(TILE):
                                mine[p] += sums[p]
                    for p in range(TILE):
                        sums[p] = 0.0
                    j += 1
    return out


@compiled
def matrix_sums(matrix, order, bounds, rows, start):  # type: ignore[no-untyped-def]
    """Σ of row i of `matrix` (b, n) over the members of each cluster: (K, b). O(n + m R) a row."""
    out = np.zeros((start[-1], matrix.shape[0]))
    clusters = np.empty(start[-1])
    for i in range(matrix.shape[0]):
        for c in range(start[-1]):
            clusters[c] = 0.0
        for j in range(bounds.size - 1):
            total = 0.0
            for p in range(bounds[j], bounds[j + 1]):
                total += matrix[i, order[p]]
            for r in range(rows.shape[1]):
                if rows[j, r] >= 0:
                    clusters[start[r] + rows[j, r]] += total
        for c in range(start[-1]):
            out[c, i] = clusters[c]
    return out


@inlined
def _most(a, b):  # type: ignore[no-untyped-def]
    return a if a > b else b


@compiled
def _silhouettes(means, part, own, clusters, itself, noise, rules, between, s, nearest):  # type: ignore[no-untyped-def]
    start, sizes = clusters
    low, high = part
    a, b, mine, near = between
    for first in range(0, high - low, TILE):
        count = _least(TILE, high - low - first)
        for r in range(own.shape[1]):
            for i in range(count):
                mine[i], near[i] = own[low + first + i, r], -1
                a[i], b[i] = np.nan, np.inf
            for c in range(start[r + 1] - start[r]):
                row, code = means[start[r] + c, first : first + count], np.int32(c)
                for i in range(count):  # no branches: the loop fills the vector registers
                    is_own = mine[i] == code
                    better = (not is_own) & (row[i] < b[i])
                    a[i] = row[i] if is_own else a[i]
                    b[i] = row[i] if better else b[i]
                    near[i] = code if better else near[i]
            for i in range(count):
                p = low + first + i
                if mine[i] < 0:
                    s[p, r], nearest[p, r] = np.nan, -1
                    continue
                nearest[p, r] = near[i]
                size = sizes[start[r] + mine[i]]
                x, y = a[i], b[i]
                if rules.leaves_out:
                    x = _most(x * size - itself[p], 0.0) / _most(size - 1.0, 1.0)
                x = x if x > noise[p] else 0.0
                y = y if y > noise[p] else 0.0
                if near[i] < 0 or (rules.lone_zero and size == 1) or (x == 0 and y == 0):
                    s[p, r] = 0.0
                    continue
                if rules.root:
                    x, y = np.sqrt(x), np.sqrt(y)
                s[p, r] = (y - x) / _most(x, y)


def silhouettes(
    means: Floats,
    own: Ints,
    clusters: tuple[Ints, Floats],
    itself: Floats,
    noise: Floats,
    rules: Rules,
) -> tuple[Floats, Ints]:
    """Silhouettes (b - a) / max(a, b), Eq. (1), and the nearest other cluster: two arrays (b, R).
    O(K b).

    `clusters` are start and sizes (K,): `means` is (K, b) with the clusters of run r in the rows
    start[r]:start[r + 1]; `own` is (b, R). By the rules, a becomes the mean over the other members,
    a point adding `itself` (b,) to its own sum. What is not above `noise` (b,) is 0. Silhouettes
    are 0 where a and b are 0 and where there is no other cluster, NaN where the point is not
    assigned.
    """
    s, nearest = np.empty(own.shape), np.empty(own.shape, dtype=np.int32)
    between = (*np.empty((2, TILE)), *np.empty((2, TILE), dtype=np.int32))
    part = (0, len(own))
    _silhouettes(means, part, own, clusters, itself, noise, rules, between, s, nearest)
    return s, nearest


@compiled
def _cell_silhouettes(sums, part, cells, clusters, rules, between, s, nearest):  # type: ignore[no-untyped-def]
    rows, cell = cells
    start, sizes = clusters
    means, own, zeros, scratch = between
    for low in range(part[0], part[1], TILE):
        high = _least(low + TILE, part[1])
        for c in range(means.shape[0]):
            for p in range(TILE):
                means[c, p] = 0.0
        _unite(sums, low, high, rows, start, means)
        for c in range(means.shape[0]):
            for p in range(TILE):
                means[c, p] /= sizes[c]
        for i in range(low, high):
            for r in range(own.shape[1]):
                own[i - part[0], r] = rows[cell[i], r]
        here = (low - part[0], high - part[0])
        _silhouettes(means, here, own, clusters, zeros, zeros, rules, scratch, s, nearest)


def cell_silhouettes(
    sums: Floats,
    part: tuple[int, int],
    cells: tuple[Ints, Ints],
    clusters: tuple[Ints, Floats],
    rules: Rules,
) -> tuple[Floats, Ints]:
    """The same by sums of distances to cells (m, n), for the points part[0]:part[1]. O(m R b).

    `cells` are their clusters (m, R), and the cell of each of the n points.
    """
    size, K = part[1] - part[0], clusters[0][-1]
    s = np.empty((size, cells[0].shape[1]))
    nearest, own = np.empty((2, *s.shape), dtype=np.int32)
    scratch = (*np.empty((2, TILE)), *np.empty((2, TILE), dtype=np.int32))
    between = (np.empty((K, TILE)), own, np.zeros(size), scratch)
    _cell_silhouettes(sums, part, cells, clusters, rules, between, s, nearest)
    return s, nearest


@compiled
def _center_silhouettes(X, own, centers, clusters, ulps, rules, between, s, nearest):  # type: ignore[no-untyped-def]
    grid, place, spread = centers
    columns, tile, means, itself, noise, scratch = between
    n, d = X.shape
    for low in range(0, n, TILE):
        high = _least(low + TILE, n)
        for p in range(high - low):
            x, square = X[low + p], 0.0
            for f in range(d):
                value = np.float64(x[f])
                columns[f, p] = value
                square += value * value
            noise[low + p] = ulps * square
        squares(grid, columns, tile)
        for c in range(place.size):
            mean, known, more = means[c], tile[place[c]], spread[c]
            for p in range(TILE):
                mean[p] = known[p] + more
        part = (low, high)
        _silhouettes(means, part, own, clusters, itself, noise, rules, scratch, s, nearest)


def center_silhouettes(
    X: AnyFloats,
    own: Ints,
    centers: tuple[Floats, Ints, Floats],
    clusters: tuple[Ints, Floats],
    ulps: float,
    rules: Rules,
) -> tuple[Floats, Ints]:
    """The same by mean squared distances |x - centre|² + spread of points X (b, d). O(b K d).

    `centers` are the different ones (K', d'), padded to multiples of four, the place of each
    cluster's among them (K,), and the spreads (K,). What is not above `ulps` |x|² is 0.
    """
    grid, place, _ = centers
    s, nearest = np.empty(own.shape), np.empty(own.shape, dtype=np.int32)
    between = (
        np.zeros((grid.shape[1], TILE)),
        np.empty((len(grid), TILE)),
        np.empty((len(place), TILE)),
        np.zeros(len(own)),
        np.empty(len(own)),
        (*np.empty((2, TILE)), *np.empty((2, TILE), dtype=np.int32)),
    )
    _center_silhouettes(X, own, centers, clusters, ulps, rules, between, s, nearest)
    return s, nearest
