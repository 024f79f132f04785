"""k-means of many runs at once: starts, and the nearest centre of each point.

Distances are products in float32; wherever their rounding could decide between two centres, float64
does. So a label is always that of the least `squared_length`, on every processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._types import AnyFloats, Floats, Ints
from clustertrust.kernels._numba.compiling import TILE, compiled, inlined, inner_strictly, strictly

# Half the distance between 1 and the next number.
_ROUNDING = np.float32(2.0**-24)
# Above what is lost where numbers are too small for float32.
_LEAST = np.float32(1e-30)
# Of a distance: far above what is lost by adding up how centres drift.
_SLACK = np.float32(1e-5)
# Read for all runs while they are in the cache.
_TILES = 8


@inner_strictly
def squared_length(x, c):  # type: ignore[no-untyped-def]
    """|x - c|², feature by feature."""
    total = 0.0
    for f in range(c.size):
        difference = np.float64(x[f]) - c[f]
        total += difference * difference
    return total


@strictly
def own_squares(X, middle, own, centers, rows, out):  # type: ignore[no-untyped-def]
    """out[i] = |X[i] - middle - centers[own[i]]|² for the rows[0]:rows[1] of X. O(n d)."""
    for i in range(rows[0], rows[1]):
        x, c = X[i], centers[own[i]]
        total = 0.0
        for f in range(c.size):
            difference = np.float64(x[f]) - middle[f] - c[f]
            total += difference * difference
        out[i] = total


@compiled
def lay_out(X, middle, scale, part, tiles, lengths):  # type: ignore[no-untyped-def]
    """tiles[t, :, p] = scale (x - middle) in float32, lengths = their norms; Σ |x - middle|².

    For the tiles part[0]:part[1] of the rows of X. O(n d).
    """
    n, d = X.shape
    total = 0.0
    for t in range(part[0], part[1]):
        tile = tiles[t]
        for p in range(TILE if n - t * TILE > TILE else n - t * TILE):
            x = X[t * TILE + p]
            square = 0.0
            for f in range(d):
                difference = np.float64(x[f]) - middle[f]
                square += difference * difference
                tile[f, p] = np.float32(scale * difference)
            total += square
            lengths[t * TILE + p] = np.float32(scale * np.sqrt(square))
    return total


@inlined
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


@inlined
def _two_least(tile, k, least, second, nearest):  # type: ignore[no-untyped-def]
    """The least and second least of the first k rows of a tile, and where the least is."""
    row = tile[0]
    for p in range(TILE):
        least[p], second[p], nearest[p] = row[p], np.inf, 0
    for c in range(1, k):
        code, row = np.int32(c), tile[c]
        for p in range(TILE):
            value, before = row[p], least[p]
            is_less = value < before
            larger = before if is_less else value
            second[p] = larger if larger < second[p] else second[p]
            nearest[p] = code if is_less else nearest[p]
            least[p] = value if is_less else before


@inlined
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


@inlined
def _label_tile(X, which, here, run, buffers):  # type: ignore[no-untyped-def]
    """The nearest centre of each point, and by how much a rival centre is farther, at least.

    `which` are the points, and `here` where they are: (d', TILE), and their norms. The error of a
    product of d numbers is at most d roundings of the product of the norms, in any order; six more
    allow for the rounding of points, centres and `halves`.
    """
    columns, near = here
    rows, halves, sizes, centers = run
    tile, least, second, ahead, nearest = buffers
    half_squares(rows, halves, columns, tile)
    k = centers.shape[0]
    _two_least(tile, k, least, second, nearest)
    error = np.float32(1.1 * (X.shape[1] + 6)) * _ROUNDING
    reach = np.float32(0)
    for c in range(k):
        reach = sizes[c] if sizes[c] > reach else reach
    one, two = np.float32(1), np.float32(2)
    for p in range(TILE):
        length = near[p]
        margin = two * error * reach * (length + reach) + two * _LEAST
        apart = second[p] - least[p] - margin  # of half the squares
        most = length * length * (one + _SLACK) + two * margin
        other, own = two * second[p] + most, two * least[p] + most
        both = np.sqrt(other if other > _LEAST else _LEAST) + np.sqrt(
            own if own > _LEAST else _LEAST
        )
        second[p] = apart
        ahead[p] = two * apart / both - _SLACK * both
    for p in range(which.size):
        if second[p] <= 0:
            known = (error, near[p])
            nearest[p] = _close_call(X[which[p]], tile, p, nearest[p], known, sizes, centers)


@inner_strictly
def _update(X, which, found, known, drift, moved):  # type: ignore[no-untyped-def]
    """Write labels and how long they hold; add points that changed to what clusters gained."""
    nearest, ahead = found
    labels, until = known
    middle, sums, counts = moved
    changed = 0
    for p in range(which.size):
        i, new = which[p], nearest[p]
        old = labels[i]
        until[i] = ahead[p] + drift[new]
        if old == new:
            continue
        changed += 1
        labels[i] = new
        x = X[i]
        counts[new] += 1
        gains = sums[new]
        for f in range(gains.size):
            gains[f] += np.float64(x[f]) - middle[f]
        if old >= 0:
            counts[old] -= 1
            losses = sums[old]
            for f in range(losses.size):
                losses[f] -= np.float64(x[f]) - middle[f]
    return changed


@inlined
def _choose(low, high, known, drift, chosen):  # type: ignore[no-untyped-def]
    """The points low:high whose label may not hold, or all if these are most, and their number."""
    labels, until = known
    count = 0
    for i in range(low, high):
        chosen[count] = i
        label = labels[i] if labels[i] > 0 else 0
        count += not until[i] > drift[label]  # NaN: compare
    if 2 * count > high - low:
        count = high - low
        for p in range(count):
            chosen[p] = low + p
    return count


@compiled
def assign_tiles(points, runs, part, known, moved, scratch):  # type: ignore[no-untyped-def]
    X, tiles, flat, lengths = points
    active, rows, halves, sizes, centers, drifts = runs
    labels, until = known
    middle, sums, counts, changed = moved
    tile, columns, least, second, ahead, near, nearest, chosen = scratch
    buffers = (tile, least, second, ahead, nearest)
    step = columns.size
    for low in range(part[0], part[1], _TILES):
        high = low + _TILES if low + _TILES < part[1] else part[1]
        last = high * TILE if high * TILE < X.shape[0] else X.shape[0]
        for a in range(active.size):
            mine = (labels[active[a]], until[active[a]])
            count = _choose(low * TILE, last, mine, drifts[a], chosen)
            for first in range(0, count, TILE):
                which = chosen[first : first + TILE if first + TILE < count else count]
                start, here = which[0], (columns, near)
                is_whole = start % TILE == 0 and which[which.size - 1] - start == TILE - 1
                if is_whole and which.size == TILE:
                    here = (tiles[start // TILE], lengths[start : start + TILE])
                else:
                    for p in range(which.size):
                        near[p] = lengths[which[p]]
                    for f in range(columns.shape[0]):
                        column, offset = columns[f], f * TILE
                        for p in range(which.size):
                            t = which[p] // TILE
                            column[p] = flat[t * step + offset + (which[p] - t * TILE)]
                run = (rows[a], halves[a], sizes[a], centers[a])
                _label_tile(X, which, here, run, buffers)
                found, moves = (nearest, ahead), (middle, sums[a], counts[a])
                changed[a] += _update(X, which, found, mine, drifts[a], moves)


def assign_scratch(rows: Any, tiles: Any) -> tuple[Any, ...]:
    """Return what `assign_tiles` writes to: for centres (A, k', d') and points in tiles."""
    lines = np.empty((4, TILE), dtype=np.float32)
    return (
        np.empty((rows.shape[1], TILE), dtype=np.float32),
        np.zeros(tiles.shape[1:], dtype=np.float32),
        *lines,
        np.empty(TILE, dtype=np.int32),
        np.empty(_TILES * TILE, dtype=np.int64),
    )


@compiled
def _assign_parts(points, runs, parts, known, moved, scratch):  # type: ignore[no-untyped-def]
    middle, sums, counts, changed = moved
    for i in range(parts.shape[0]):
        moves = (middle, sums[i], counts[i], changed[i])
        assign_tiles(points, runs, (parts[i, 0], parts[i, 1]), known, moves, scratch)


def assign(
    points: tuple[Any, ...],
    runs: tuple[Any, ...],
    parts: Ints,
    known: tuple[Any, Any],
    moved: tuple[Any, ...],
) -> None:
    """Labels of the nearest centres for the tiles from parts[i, 0] to parts[i, 1], in all active
    runs.

    `runs`: the active ones, their centres in float32 (A, k', d') with half squares and norms
    (A, k'), in float64 (A, k, d), and how far they have drifted (A, k). `known`: labels (R, n), and
    the drift (R, n) up to which a label holds: only points beyond it are compared with the centres.
    `moved`, for each part: sums of the points that a cluster gained, less those that it lost
    (P, A, k, d), or none of their features, the same for their number (P, A, k), and how many
    changed (P, A). A few tiles are read for all runs while they are in the cache. O(n A k d), and
    O(d) for each change.
    """
    X, tiles, lengths = points
    scratch = assign_scratch(runs[1], tiles)
    _assign_parts((X, tiles, tiles.ravel(), lengths), runs, parts, known, moved, scratch)


@inlined
def _nearer(a, b):  # type: ignore[no-untyped-def]
    """The smaller of two squares; b may be below 0 by rounding."""
    b = b if b > 0.0 else 0.0
    return a if a < b else b


@compiled
def add_candidate_sums(X, middle, centers, closest, part, sums, scratch):  # type: ignore[no-untyped-def]
    rows, halves = centers
    n, d = X.shape
    each = 1 + sums.shape[2]
    laid_out, tile, all_squares, is_laid_out = scratch
    for t in range(part[0], part[1]):
        low = t * TILE
        here = TILE if n - low > TILE else n - low
        slot = t if laid_out.shape[0] > 1 else 0
        columns, squares = laid_out[slot], all_squares[slot]
        for p in range(0 if is_laid_out[0] else here):
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
                known[p] = _nearer(known[p], 2 * chosen[p] + squares[p])
            for j in range(1, each):
                candidate = tile[b * each + j]
                total = 0.0
                for p in range(here):
                    total += _nearer(known[p], 2 * candidate[p] + squares[p])
                sums[b, t, j - 1] = total


def candidate_scratch(rows: Floats, tiles: int = 1) -> tuple[Any, ...]:
    """Return what `add_candidate_sums` writes to: for centres (c', d').

    With all `tiles`, those of the last call stay, and the last entry may say that they are there.
    """
    laid_out, squares = np.zeros((tiles, rows.shape[1], TILE)), np.empty((tiles, TILE))
    return laid_out, np.empty((len(rows), TILE)), squares, np.zeros(1, dtype=np.bool_)


def candidate_sums(
    X: AnyFloats,
    middle: Floats,
    centers: tuple[Floats, Floats],
    closest: Floats,
    part: tuple[int, int],
    sums: Floats,
) -> None:
    """One step of k-means++ for all runs and the tiles part[0]:part[1].

    `centers` (B (1 + c) and more, d') are, run by run, the one that was chosen last and c
    candidates, minus `middle`, and half their squares. `closest` (B, n) is brought up to the
    former, and sums[b, t, j] is Σ of the squared distances to the nearest centre if candidate j
    were one. O(n B c d).
    """
    scratch = candidate_scratch(centers[0])
    add_candidate_sums(X, middle, centers, closest, part, sums, scratch)


@compiled
def find_draws(X, middle, last, closest, sums, draws, out, gap):  # type: ignore[no-untyped-def]
    n, d = X.shape
    for b in range(draws.shape[0]):
        for j in range(draws.shape[1]):
            value, total, t = draws[b, j], 0.0, 0
            while t < sums.shape[1] - 1 and total + sums[b, t] < value:
                total += sums[b, t]
                t += 1
            high = (t + 1) * TILE if (t + 1) * TILE < n else n
            for i in range(t * TILE, high):
                square = 0.0
                for f in range(d):
                    difference = X[i, f] - middle[f] - last[b, f]
                    square += difference * difference
                before = total
                total += _nearer(closest[b, i], square)
                if total >= value or i == high - 1:
                    out[b, j] = i
                    below = value - before if i > 0 else np.inf
                    above = total - value if i < n - 1 else np.inf
                    gap[b, j] = below if below < above else above
                    break


def locate(
    X: AnyFloats, middle: Floats, last: Floats, closest: Floats, sums: Floats, draws: Floats
) -> tuple[Ints, Floats]:
    """Where the squared distances of each run, added up in order, reach the values `draws` (B, c).

    `sums` (B, t) are those of the tiles; `closest` (B, n) still lacks the centres `last` (B, d).
    Returns the points (B, c), and by how little a value misses another point (B, c).
    """
    out, gap = np.empty(draws.shape, dtype=np.int64), np.empty(draws.shape)
    find_draws(X, middle, last, closest, sums, draws, out, gap)
    return out, gap
