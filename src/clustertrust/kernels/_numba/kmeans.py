"""k-means of many runs at once: starts, and the nearest centre of each point.

Distances are products in float32; wherever their rounding could decide between two centres, float64
does. So a label is always that of the least `squared_length`, on every processor.
"""

from __future__ import annotations

import numpy as np

from clustertrust.kernels._numba.compiling import TILE, compiled, strictly

# Half the distance between 1 and the next number.
_ROUNDING = np.float32(2.0**-24)
# Above what is lost where numbers are too small for float32.
_LEAST = np.float32(1e-30)


@strictly
def squared_length(x, c):  # type: ignore[no-untyped-def]
    """|x - c|², feature by feature."""
    total = 0.0
    for f in range(c.size):
        difference = np.float64(x[f]) - c[f]
        total += difference * difference
    return total


@compiled
def lay_out(X, middle, scale, part, tiles, lengths):  # type: ignore[no-untyped-def]
    """tiles[t, :, p] = scale (x - middle) in float32, lengths = their norms; Σ |x - middle|².

    For the tiles part[0]:part[1] of the rows of X. O(n d).
    """
    n, d = X.shape
    total = 0.0
    for t in range(part[0], part[1]):
        tile = tiles[t]
        for p in range(min(TILE, n - t * TILE)):
            x = X[t * TILE + p]
            square = 0.0
            for f in range(d):
                difference = np.float64(x[f]) - middle[f]
                square += difference * difference
                tile[f, p] = np.float32(scale * difference)
            total += square
            lengths[t * TILE + p] = np.float32(scale * np.sqrt(square))
    return total


@compiled
def half_squares(rows, halves, columns, out):  # type: ignore[no-untyped-def]
    """out[i, p] = halves[i] - rows[i] · columns[:, p], which is (|x - c|² - |x|²) / 2.

    Four rows and four features at a time, as in `add_squares`, and both padded as there.
    """
    for i in range(0, rows.shape[0], 4):
        h0, h1, h2, h3 = halves[i], halves[i + 1], halves[i + 2], halves[i + 3]
        for p in range(TILE):
            out[i, p], out[i + 1, p], out[i + 2, p], out[i + 3, p] = h0, h1, h2, h3
        for f in range(0, rows.shape[1], 4):
            a0, a1, a2, a3 = rows[i, f], rows[i, f + 1], rows[i, f + 2], rows[i, f + 3]
            i1, i2, i3 = i + 1, i + 2, i + 3
            b0, b1, b2, b3 = rows[i1, f], rows[i1, f + 1], rows[i1, f + 2], rows[i1, f + 3]
            c0, c1, c2, c3 = rows[i2, f], rows[i2, f + 1], rows[i2, f + 2], rows[i2, f + 3]
            d0, d1, d2, d3 = rows[i3, f], rows[i3, f + 1], rows[i3, f + 2], rows[i3, f + 3]
            for p in range(TILE):
                x0, x1 = columns[f, p], columns[f + 1, p]
                x2, x3 = columns[f + 2, p], columns[f + 3, p]
                out[i, p] -= a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                out[i1, p] -= b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                out[i2, p] -= c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                out[i3, p] -= d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3


@compiled
def _two_least(tile, k, least, second, nearest):  # type: ignore[no-untyped-def]
    """The least and second least of the first k rows of a tile, and where the least is."""
    for p in range(TILE):
        least[p], second[p], nearest[p] = tile[0, p], np.inf, 0
    for c in range(1, k):
        code = np.int32(c)
        for p in range(TILE):
            value, before = tile[c, p], least[p]
            larger = max(value, before)
            second[p] = min(larger, second[p])
            nearest[p] = code if value < before else nearest[p]
            least[p] = min(value, before)


@compiled
def _close_call(x, tile, p, nearest, error, lengths, centers):  # type: ignore[no-untyped-def]
    """The nearest centre by float64, of those that rounding leaves in question; first on ties."""
    c = nearest
    most = tile[c, p] + error[0] * lengths[c] * (error[1] + lengths[c]) + _LEAST
    best, least = nearest, np.inf
    for c in range(centers.shape[0]):
        if tile[c, p] - error[0] * lengths[c] * (error[1] + lengths[c]) - _LEAST <= most:
            square = squared_length(x, centers[c])
            if square < least:
                best, least = c, square
    return best


@compiled
def _label_tile(points, t, run, buffers):  # type: ignore[no-untyped-def]
    """The nearest centre of each point of tile t, into buffers[3].

    The error of a product of d numbers is at most d roundings of the product of the norms, in any
    order; six more allow for the rounding of points, centres and `halves`.
    """
    X, tiles, lengths = points
    rows, halves, sizes, centers = run
    tile, least, second, nearest = buffers
    half_squares(rows, halves, tiles[t], tile)
    k = centers.shape[0]
    _two_least(tile, k, least, second, nearest)
    error = np.float32(1.1 * (X.shape[1] + 6)) * _ROUNDING
    reach = np.float32(0)
    for c in range(k):
        reach = max(reach, sizes[c])
    near = lengths[t * TILE : (t + 1) * TILE]
    doubtful = 0
    for p in range(TILE):
        margin = 2 * error * reach * (near[p] + reach) + 2 * _LEAST
        doubtful += second[p] - least[p] <= margin
    if doubtful > 0:
        for p in range(min(TILE, X.shape[0] - t * TILE)):
            margin = 2 * error * reach * (near[p] + reach) + 2 * _LEAST
            if second[p] - least[p] <= margin:
                x = X[t * TILE + p]
                nearest[p] = _close_call(x, tile, p, nearest[p], (error, near[p]), sizes, centers)


@compiled
def assign(points, runs, part, labels, moved):  # type: ignore[no-untyped-def]
    """Labels of the nearest centres for the tiles part[0]:part[1], in all active runs.

    `runs`: the active ones, their centres in float32 (A, k', d') with half squares and norms
    (A, k'), and in float64 (A, k, d). `moved`: sums of the points that a cluster gained, less those
    that it lost (A, k, d), or none of their features, the same for their number (A, k), and how
    many changed (A,). A tile is read once for all runs. O(n A k d), and O(d) for each change.
    """
    X = points[0]
    active, rows, halves, sizes, centers = runs
    middle, sums, counts, changed = moved
    tile = np.empty((rows.shape[1], TILE), dtype=np.float32)
    least, second = np.empty(TILE, dtype=np.float32), np.empty(TILE, dtype=np.float32)
    nearest = np.empty(TILE, dtype=np.int32)
    for t in range(part[0], part[1]):
        low = t * TILE
        here = min(TILE, X.shape[0] - low)
        for a in range(active.size):
            run = (rows[a], halves[a], sizes[a], centers[a])
            _label_tile(points, t, run, (tile, least, second, nearest))
            before = labels[active[a]]
            differ = 0
            for p in range(here):
                differ += before[low + p] != nearest[p]
            if differ == 0:
                continue
            changed[a] += differ
            for p in range(here):
                old, new = before[low + p], nearest[p]
                if old == new:
                    continue
                before[low + p] = new
                x = X[low + p]
                counts[a, new] += 1
                gains = sums[a, new]
                for f in range(gains.size):
                    gains[f] += np.float64(x[f]) - middle[f]
                if old >= 0:
                    counts[a, old] -= 1
                    losses = sums[a, old]
                    for f in range(losses.size):
                        losses[f] -= np.float64(x[f]) - middle[f]


@compiled
def candidate_sums(X, middle, centers, closest, part, sums):  # type: ignore[no-untyped-def]
    """One step of k-means++ for all runs and the tiles part[0]:part[1].

    `centers` (B (1 + c) and more, d') are, run by run, the one that was chosen last and c
    candidates, minus `middle`, and half their squares. `closest` (B, n) is brought up to the
    former, and sums[b, t, j] is Σ of the squared distances to the nearest centre if candidate j
    were one. O(n B c d).
    """
    rows, halves = centers
    n, d = X.shape
    each = 1 + sums.shape[2]
    columns = np.zeros((rows.shape[1], TILE))
    tile = np.empty((rows.shape[0], TILE))
    squares = np.empty(TILE)
    for t in range(part[0], part[1]):
        low = t * TILE
        here = min(TILE, n - low)
        for p in range(here):
            x = X[low + p]
            square = 0.0
            for f in range(d):
                difference = np.float64(x[f]) - middle[f]
                columns[f, p] = difference
                square += difference * difference
            squares[p] = square
        half_squares(rows, halves, columns, tile)
        for b in range(closest.shape[0]):
            known = closest[b, low : low + here]
            chosen = tile[b * each]
            for p in range(here):
                known[p] = min(known[p], max(0.0, 2 * chosen[p] + squares[p]))
            for j in range(1, each):
                candidate = tile[b * each + j]
                total = 0.0
                for p in range(here):
                    total += min(known[p], max(0.0, 2 * candidate[p] + squares[p]))
                sums[b, t, j - 1] = total


@compiled
def locate(X, middle, last, closest, sums, draws):  # type: ignore[no-untyped-def]
    """Where the squared distances of each run, added up in order, reach the values `draws` (B, c).

    `sums` (B, t) are those of the tiles; `closest` (B, n) still lacks the centres `last` (B, d).
    Returns the points (B, c), and by how little a value misses another point (B, c).
    """
    n, d = X.shape
    out = np.empty(draws.shape, dtype=np.int64)
    gap = np.empty(draws.shape)
    for b in range(draws.shape[0]):
        for j in range(draws.shape[1]):
            value, total, t = draws[b, j], 0.0, 0
            while t < sums.shape[1] - 1 and total + sums[b, t] < value:
                total += sums[b, t]
                t += 1
            high = min((t + 1) * TILE, n)
            for i in range(t * TILE, high):
                square = 0.0
                for f in range(d):
                    square += (X[i, f] - middle[f] - last[b, f]) ** 2
                before = total
                total += min(closest[b, i], square)
                if total >= value or i == high - 1:
                    out[b, j] = i
                    below = value - before if i > 0 else np.inf
                    above = total - value if i < n - 1 else np.inf
                    gap[b, j] = min(below, above)
                    break
    return out, gap
