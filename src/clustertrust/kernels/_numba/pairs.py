"""Distances of pairs of points, tile by tile."""

from __future__ import annotations

import numpy as np

from clustertrust.kernels._numba.compiling import TILE, compiled, inlined


@inlined
def add_squares(rows, columns, i, f, out):  # type: ignore[no-untyped-def]
    """out[i, p] += Σ (rows[i, f] - columns[f, p])² for the four rows from i and the four features
    from f on.

    What is loaded serves sixteen differences. The loop runs over points, side by side in memory,
    and fills the vector registers.
    """
    a0, a1, a2, a3 = rows[i, f], rows[i, f + 1], rows[i, f + 2], rows[i, f + 3]
    b0, b1, b2, b3 = rows[i + 1, f], rows[i + 1, f + 1], rows[i + 1, f + 2], rows[i + 1, f + 3]
    c0, c1, c2, c3 = rows[i + 2, f], rows[i + 2, f + 1], rows[i + 2, f + 2], rows[i + 2, f + 3]
    d0, d1, d2, d3 = rows[i + 3, f], rows[i + 3, f + 1], rows[i + 3, f + 2], rows[i + 3, f + 3]
    for p in range(TILE):
        x0, x1, x2, x3 = columns[f, p], columns[f + 1, p], columns[f + 2, p], columns[f + 3, p]
        out[i, p] += (
            (a0 - x0) * (a0 - x0)
            + (a1 - x1) * (a1 - x1)
            + (a2 - x2) * (a2 - x2)
            + (a3 - x3) * (a3 - x3)
        )
        out[i + 1, p] += (
            (b0 - x0) * (b0 - x0)
            + (b1 - x1) * (b1 - x1)
            + (b2 - x2) * (b2 - x2)
            + (b3 - x3) * (b3 - x3)
        )
        out[i + 2, p] += (
            (c0 - x0) * (c0 - x0)
            + (c1 - x1) * (c1 - x1)
            + (c2 - x2) * (c2 - x2)
            + (c3 - x3) * (c3 - x3)
        )
        out[i + 3, p] += (
            (d0 - x0) * (d0 - x0)
            + (d1 - x1) * (d1 - x1)
            + (d2 - x2) * (d2 - x2)
            + (d3 - x3) * (d3 - x3)
        )


@inlined
def add_squares_and_root(rows, columns, i, f, out, ready):  # type: ignore[no-untyped-def]
    """The same as `add_squares`, and ready[p] = √ready[p] for another row.

    A processor takes roots in a unit of its own, several times slower than it multiplies: beside
    products they cost next to nothing, one after another as much as the squares of twenty features.
    """
    a0, a1, a2, a3 = rows[i, f], rows[i, f + 1], rows[i, f + 2], rows[i, f + 3]
    b0, b1, b2, b3 = rows[i + 1, f], rows[i + 1, f + 1], rows[i + 1, f + 2], rows[i + 1, f + 3]
    c0, c1, c2, c3 = rows[i + 2, f], rows[i + 2, f + 1], rows[i + 2, f + 2], rows[i + 2, f + 3]
    d0, d1, d2, d3 = rows[i + 3, f], rows[i + 3, f + 1], rows[i + 3, f + 2], rows[i + 3, f + 3]
    for p in range(TILE):
        x0, x1, x2, x3 = columns[f, p], columns[f + 1, p], columns[f + 2, p], columns[f + 3, p]
        out[i, p] += (
            (a0 - x0) * (a0 - x0)
            + (a1 - x1) * (a1 - x1)
            + (a2 - x2) * (a2 - x2)
            + (a3 - x3) * (a3 - x3)
        )
        out[i + 1, p] += (
            (b0 - x0) * (b0 - x0)
            + (b1 - x1) * (b1 - x1)
            + (b2 - x2) * (b2 - x2)
            + (b3 - x3) * (b3 - x3)
        )
        out[i + 2, p] += (
            (c0 - x0) * (c0 - x0)
            + (c1 - x1) * (c1 - x1)
            + (c2 - x2) * (c2 - x2)
            + (c3 - x3) * (c3 - x3)
        )
        out[i + 3, p] += (
            (d0 - x0) * (d0 - x0)
            + (d1 - x1) * (d1 - x1)
            + (d2 - x2) * (d2 - x2)
            + (d3 - x3) * (d3 - x3)
        )
        ready[p] = np.sqrt(ready[p])


@compiled
def squares(rows, columns, out):  # type: ignore[no-untyped-def]
    """out[i, p] = Σ_f (rows[i, f] - columns[f, p])² for a tile of points against one of TILE
    points.

    Both tiles are padded so that the number of rows and of features is a multiple of four.
    """
    for i in range(0, rows.shape[0], 4):
        for p in range(TILE):  # loops, here and below, since slices take seconds to compile
            out[i, p] = out[i + 1, p] = out[i + 2, p] = out[i + 3, p] = 0
        for f in range(0, rows.shape[1], 4):
            add_squares(rows, columns, i, f, out)


@compiled
def distances(rows, columns, out):  # type: ignore[no-untyped-def]
    """out[i, p] = |rows[i] - columns[:, p]|, tiles as in `squares`.

    Four rows at a time, while the last get roots.
    """
    n = rows.shape[0]
    for i in range(0, n, 4):
        for p in range(TILE):
            out[i, p] = out[i + 1, p] = out[i + 2, p] = out[i + 3, p] = 0
        rooted = i - 4 if i > 4 else 0  # the row whose root is next
        for f in range(0, rows.shape[1], 4):
            if rooted < i:
                add_squares_and_root(rows, columns, i, f, out, out[rooted])
                rooted += 1
            else:
                add_squares(rows, columns, i, f, out)
        for r in range(rooted, i):  # there are more rows than fours of features
            for p in range(TILE):
                out[r, p] = np.sqrt(out[r, p])
    for r in range(n - 4, n):
        for p in range(TILE):
            out[r, p] = np.sqrt(out[r, p])


@compiled
def squared_distances(rows, columns):  # type: ignore[no-untyped-def]
    """|x - c|² of centres (K', d) and tiles of points (t, d, TILE): (K', t TILE).

    O(t TILE K' d).
    """
    out = np.empty((rows.shape[0], columns.shape[0] * TILE), dtype=rows.dtype)
    tile = np.empty((rows.shape[0], TILE), dtype=rows.dtype)
    for t in range(columns.shape[0]):
        squares(rows, columns[t], tile)
        for c in range(rows.shape[0]):
            for p in range(TILE):
                out[c, t * TILE + p] = tile[c, p]
    return out


@compiled
def distances_from(X, at, out):  # type: ignore[no-untyped-def]
    """out[i] = |X[i] - X[at]|. O(n d)."""
    for i in range(X.shape[0]):
        square = 0.0
        for f in range(X.shape[1]):
            square += (X[i, f] - X[at, f]) ** 2
        out[i] = np.sqrt(square)


@compiled
def gower_distances(X, points):  # type: ignore[no-untyped-def]
    """Mean over the columns that both rows have of min(1, |a - b|): (b, n). O(b n d).

    1 where two rows have no column in common.
    """
    out = np.empty((X.shape[0], points.shape[0]))
    d = X.shape[1]
    for i in range(X.shape[0]):
        row = X[i]
        for j in range(points.shape[0]):
            other = points[j]
            total, columns = 0.0, 0
            for f in range(d):
                apart = abs(row[f] - other[f])
                if apart == apart:  # not NaN
                    total += min(1.0, apart)
                    columns += 1
            out[i, j] = total / columns if columns > 0 else 1.0
    return out
