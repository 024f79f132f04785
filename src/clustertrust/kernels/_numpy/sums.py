"""Sums of distances by cell and cluster, and silhouettes."""

from __future__ import annotations

import numpy as np

from clustertrust._types import AnyFloats, Floats, Ints
from clustertrust.kernels._numpy.pairs import squared_distances
from clustertrust.kernels.rules import Rules


def add_distances(
    tiles: tuple[AnyFloats, AnyFloats],
    cells: tuple[Ints, Ints],
    per_block: int,
    pairs: Ints,
    out: Floats,
) -> None:
    """out[j, i] += Σ |x_i - x_p| over the points p of cell j, for the pairs of blocks of points in
    `pairs`.
    """
    (rows, _), (cell, _) = tiles, cells
    n, size = cell.size, per_block * rows.shape[1]
    points = rows.reshape(-1, rows.shape[2])[:n]
    for first, second in pairs:
        s, t = (np.arange(block * size, min(n, (block + 1) * size)) for block in (first, second))
        distances = np.array(
            [np.sqrt(((points[t] - points[i]) ** 2).sum(axis=1)) for i in s], dtype=np.float64
        )
        for i, row in zip(s, distances, strict=True):
            np.add.at(out[:, i], cell[t], row)
        if first != second:
            for i, column in zip(t, distances.T, strict=True):
                np.add.at(out[:, i], cell[s], column)


def unite(sums: AnyFloats, low: int, high: int, rows: Ints, start: Ints) -> Floats:
    """Sums by cell (m, n) → sums by cluster (K, b) of the points low:high.

    Each cluster is a union of cells.
    """
    out = np.zeros((start[-1], high - low))
    for r in range(rows.shape[1]):
        j = np.flatnonzero(rows[:, r] >= 0)
        np.add.at(out, start[r] + rows[j, r], sums[j, low:high])
    return out


def cluster_distances(
    rows: AnyFloats, n: int, columns: AnyFloats, bounds: Ints, cell_rows: Ints, start: Ints
) -> Floats:
    """Σ |x - y| over the members y of each cluster, for points x in tiles (t, d, TILE): (K, t
    TILE).
    """
    members = rows.reshape(-1, rows.shape[2])[:n]
    distances = np.sqrt(squared_distances(members, columns))
    by_cell = np.add.reduceat(distances, bounds[:-1], axis=0, dtype=np.float64)
    return unite(by_cell, 0, by_cell.shape[1], cell_rows, start)


def matrix_sums(matrix: AnyFloats, order: Ints, bounds: Ints, rows: Ints, start: Ints) -> Floats:
    """Σ of row i of `matrix` (b, n) over the members of each cluster: (K, b)."""
    by_cell = np.add.reduceat(matrix[:, order], bounds[:-1], axis=1, dtype=np.float64)
    return unite(by_cell.T, 0, len(by_cell), rows, start)


def silhouettes(
    means: AnyFloats,
    own: Ints,
    clusters: tuple[Ints, AnyFloats],
    itself: AnyFloats,
    noise: AnyFloats,
    rules: Rules,
) -> tuple[AnyFloats, Ints]:
    """Silhouettes (b - a) / max(a, b), Eq. (1), and the nearest other cluster: both (b, R)."""
    start, sizes = clusters
    s = np.full(own.shape, np.nan)
    nearest = np.full(own.shape, -1, dtype=np.int32)
    for r, mine in enumerate(own.T):
        i = np.flatnonzero(mine >= 0)
        if i.size == 0:
            continue
        block = means[start[r] : start[r + 1], i]
        place = mine[i], np.arange(i.size)
        a, size = block[place], sizes[start[r] + mine[i]]
        block[place] = np.inf
        closest = block.argmin(axis=0)
        b = block[closest, np.arange(i.size)]
        alone = np.isinf(b)
        nearest[i, r] = np.where(alone, -1, closest)
        if rules.leaves_out:
            a = np.maximum(a * size - itself[i], 0.0) / np.maximum(size - 1, 1)
        a, b = (np.where(x > noise[i], x, 0.0) for x in (a, b))
        if rules.root:
            a, b = np.sqrt(a), np.sqrt(b)
        top = np.maximum(a, b)
        zero = alone | (top == 0) | (rules.lone_zero & (size == 1))
        s[i, r] = np.divide(b - a, top, out=np.zeros(i.size), where=~zero)
    return s, nearest


def cell_silhouettes(
    sums: Floats,
    part: tuple[int, int],
    cells: tuple[Ints, Ints],
    clusters: tuple[Ints, Floats],
    rules: Rules,
) -> tuple[AnyFloats, Ints]:
    """The same by sums of distances to cells (m, n), for the points part[0]:part[1]."""
    (rows, cell), (start, sizes) = cells, clusters
    means = unite(sums, *part, rows, start) / sizes[:, None]
    zeros = np.zeros(means.shape[1])
    return silhouettes(means, rows[cell[slice(*part)]], clusters, zeros, zeros, rules)


def center_silhouettes(
    X: AnyFloats,
    own: Ints,
    centers: tuple[Floats, Ints, Floats],
    clusters: tuple[Ints, Floats],
    ulps: float,
    rules: Rules,
) -> tuple[AnyFloats, Ints]:
    """The same by mean squared distances |x - centre|² + spread of points X (b, d)."""
    grid, place, spread = centers
    points = X.astype(np.float64)
    apart = points[None] - grid[place][:, None, : X.shape[1]]
    means = (apart**2).sum(axis=2) + spread[:, None]
    noise = ulps * (points**2).sum(axis=1)
    return silhouettes(means, own, clusters, np.zeros(len(X)), noise, rules)
