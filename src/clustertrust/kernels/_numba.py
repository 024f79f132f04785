"""The kernels compiled by Numba: plain loops, no options, no locks.

Each releases the GIL, so callers hand blocks of rows to threads. A block is one thread's own work,
so the result has the same bits for any number of threads. Numba's own threads are not used: its
OpenMP layer dies in a forked child, its workqueue when two threads enter at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

# Views of rows, as below, have indices that cannot be negative; with sums of indices in their place
# Numba would check for that in the innermost loops, which keeps them out of the vector registers.

# Sums may be regrouped, which is what lets the loops below run in vector registers; NaN and
# infinity keep their meaning.
_REGROUP = {"reassoc", "contract", "nsz"}
# Points a tile. A tile of 20 features then fills two thirds of a first-level cache, a tile of
# distances an eighth of a second-level one.
TILE = 128


def compiled(function: Callable[..., Any], fastmath: set[str] | bool = _REGROUP) -> Any:
    """Compile at the first call.

    Keep the machine code on disk where some folder can be written to.
    """
    try:
        return numba.njit(nogil=True, cache=True, fastmath=fastmath)(function)
    except RuntimeError:  # no folder for the cache
        return numba.njit(nogil=True, fastmath=fastmath)(function)


def strictly(function: Callable[..., Any]) -> Any:
    """Compile without regrouping: the same bits on every processor."""
    return compiled(function, fastmath=False)


@compiled
def rename(labels, largest):  # type: ignore[no-untyped-def]
    """Clusters of each run (n, R) numbered by first appearance, and the label behind each number:
    (R, largest + 1).

    Labels are at most `largest`; negative ones become -1. O(n R), row by row as the labels lie in
    memory.
    """
    n, R = labels.shape
    number = np.full((R, largest + 1), -1, dtype=np.int32)
    names = np.full((R, largest + 1), -1, dtype=np.int64)
    found = np.zeros(R, dtype=np.int32)
    codes = np.full((n, R), -1, dtype=np.int32)
    for i in range(n):
        for r in range(R):
            label = labels[i, r]
            if label >= 0:
                code = number[r, label]
                if code < 0:
                    code = found[r]
                    number[r, label] = code
                    names[r, code] = label
                    found[r] += 1
                codes[i, r] = code
    return codes, names, found


@compiled
def meet(labels):  # type: ignore[no-untyped-def]
    """Cell of each row of `labels` (n, R) and first row of each cell; cells count up by first
    appearance.

    O(n R) expected: one look at each row, found again in a hash table that is at most half full.
    """
    n, R = labels.shape
    size = 16
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    of = np.empty(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    m = 0
    for i in range(n):
        key = np.uint64(14695981039346656037)  # FNV-1a over the labels of the row
        for r in range(R):
            key = (key ^ np.uint64(labels[i, r] + 1)) * np.uint64(1099511628211)
        key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(size - 1))
        while True:
            cell = table[slot]
            if cell < 0:
                table[slot] = m
                of[i] = m
                first[m] = i
                m += 1
                break
            same = True
            for r in range(R):
                if labels[first[cell], r] != labels[i, r]:
                    same = False
                    break
            if same:
                of[i] = cell
                break
            slot = (slot + 1) & (size - 1)
    return of, first[:m].copy()


@compiled
def contingencies(rows, counts, run, others, k, k_others):  # type: ignore[no-untyped-def]
    """Count points by cluster of `run` and of each other run, Eq. (4): (others, k, k_others).

    O(m len(others)): one sweep over the cells serves all other runs.
    """
    tables = np.zeros((others.size, k, k_others), dtype=np.int64)
    for j in range(rows.shape[0]):
        own = rows[j, run]
        if own >= 0:
            for t in range(others.size):
                other = rows[j, others[t]]
                if other >= 0:
                    tables[t, own, other] += counts[j]
    return tables


@compiled
def strict_matches(tables, widths):  # type: ignore[no-untyped-def]
    """Best matching of each table (t, k, ·) where it can be read off, and whether it can; -1
    elsewhere.

    Where every row has one largest entry and these lie in different columns, that is the only
    optimum of Eq. (5) and no assignment problem needs solving. Table t has `widths[t]` columns. O(t
    k²).
    """
    t, k, _ = tables.shape
    match = np.full((t, k), -1, dtype=np.int64)
    settled = np.zeros(t, dtype=np.bool_)
    for x in range(t):
        taken = np.zeros(widths[x], dtype=np.bool_)
        fine = True
        for a in range(k):
            largest, at, ties = np.int64(-1), 0, 0
            for b in range(widths[x]):
                if tables[x, a, b] > largest:
                    largest, at, ties = tables[x, a, b], b, 0
                elif tables[x, a, b] == largest:
                    ties += 1
            if ties > 0 or largest < 0 or taken[at]:
                fine = False
                break
            taken[at] = True
            match[x, a] = at
        settled[x] = fine
        if not fine:
            for a in range(k):
                match[x, a] = -1
    return match, settled


@compiled
def agreement_sums(rows, to):  # type: ignore[no-untyped-def]
    """out[j, r] = number of other runs that agree with run r on row j, Eq. (6); `to` is (R, k, R).

    Each pair of runs is looked at from both sides, O(m R²): side by side in memory the comparisons
    fill the vector registers, and nothing is added to the sums of another run.
    """
    m, R = rows.shape
    sums = np.zeros((m, R), dtype=np.int32)
    for j in range(m):
        for r in range(R):
            own = rows[j, r]
            if own >= 0:
                agree = np.int32(-1)  # not with itself
                for q in range(R):
                    agree += np.int32(to[r, own, q] == rows[j, q])
                sums[j, r] = agree
    return sums


@compiled
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
        out[i, p] += (a0 - x0) ** 2 + (a1 - x1) ** 2 + (a2 - x2) ** 2 + (a3 - x3) ** 2
        out[i + 1, p] += (b0 - x0) ** 2 + (b1 - x1) ** 2 + (b2 - x2) ** 2 + (b3 - x3) ** 2
        out[i + 2, p] += (c0 - x0) ** 2 + (c1 - x1) ** 2 + (c2 - x2) ** 2 + (c3 - x3) ** 2
        out[i + 3, p] += (d0 - x0) ** 2 + (d1 - x1) ** 2 + (d2 - x2) ** 2 + (d3 - x3) ** 2


@compiled
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
        out[i, p] += (a0 - x0) ** 2 + (a1 - x1) ** 2 + (a2 - x2) ** 2 + (a3 - x3) ** 2
        out[i + 1, p] += (b0 - x0) ** 2 + (b1 - x1) ** 2 + (b2 - x2) ** 2 + (b3 - x3) ** 2
        out[i + 2, p] += (c0 - x0) ** 2 + (c1 - x1) ** 2 + (c2 - x2) ** 2 + (c3 - x3) ** 2
        out[i + 3, p] += (d0 - x0) ** 2 + (d1 - x1) ** 2 + (d2 - x2) ** 2 + (d3 - x3) ** 2
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
        at = max(i - 4, 0)  # the row whose root is next
        for f in range(0, rows.shape[1], 4):
            if at < i:
                add_squares_and_root(rows, columns, i, f, out, out[at])
                at += 1
            else:
                add_squares(rows, columns, i, f, out)
        for r in range(at, i):  # there are more rows than fours of features
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
def nearest_row(rows, k, columns):  # type: ignore[no-untyped-def]
    """Which of the first k rows is nearest to each point of tiles (t, d, TILE): (t TILE,).

    The first on ties.
    """
    out = np.zeros(columns.shape[0] * TILE, dtype=np.int32)
    tile = np.empty((rows.shape[0], TILE), dtype=rows.dtype)
    least = np.empty(TILE, dtype=rows.dtype)
    for t in range(columns.shape[0]):
        squares(rows, columns[t], tile)
        found = out[t * TILE : (t + 1) * TILE]
        for p in range(TILE):
            least[p] = tile[0, p]
        for c in range(1, k):
            for p in range(TILE):
                better = tile[c, p] < least[p]
                least[p] = tile[c, p] if better else least[p]
                found[p] = c if better else found[p]
    return out


@compiled
def add_distances(rows, columns, cell, bounds, per_block, pairs, out):  # type: ignore[no-untyped-def]
    """out[j, i] += Σ |x_i - x_p| over the points p of cell j, for the pairs of blocks of points in
    `pairs`.

    `rows` (t, TILE, d) and `columns` (t, d, TILE) hold the same n points, sorted by cell; block b
    is the tiles from b per_block on. Each pair of tiles is computed once and serves both sides. The
    pairs of one call, and of calls at the same time, share no block: then no two threads write to
    the same place. O(d) a pair of points.
    """
    n = cell.size
    last = rows.shape[0]
    tile = np.empty((TILE, TILE), dtype=rows.dtype)
    sums = np.empty(TILE)  # float64 whatever the data are: float32 sums drift
    for b in range(pairs.shape[0]):
        first, second = pairs[b, 0], pairs[b, 1]
        for s in range(first * per_block, min(last, (first + 1) * per_block)):
            for t in range(
                s if first == second else second * per_block, min(last, (second + 1) * per_block)
            ):
                distances(rows[s], columns[t], tile)
                low_s, high_s = s * TILE, min(n, (s + 1) * TILE)
                low_t, high_t = t * TILE, min(n, (t + 1) * TILE)
                p = low_t
                while p < high_t:  # points of s to the cells in t
                    j = cell[p]
                    end = min(high_t, bounds[j + 1])
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
                    end = min(high_s, bounds[j + 1])
                    for p in range(TILE):
                        sums[p] = 0.0
                    for q in range(i - low_s, end - low_s):
                        for p in range(TILE):
                            sums[p] += tile[q, p]
                    sums_t = out[j, low_t:high_t]
                    for p in range(high_t - low_t):
                        sums_t[p] += sums[p]
                    i = end


@compiled
def unite(sums, low, high, rows, start):  # type: ignore[no-untyped-def]
    """Sums by cell (m, n) → sums by cluster (K, b) of the points low:high.

    Every cluster of every run is a union of cells: O(m R b).
    """
    out = np.zeros((start[-1], high - low))
    for first in range(0, high - low, TILE):
        last = min(first + TILE, high - low)
        for r in range(
            rows.shape[1]
        ):  # the sums of one run, k TILE of them, stay in the first-level cache
            for j in range(rows.shape[0]):
                if rows[j, r] >= 0:
                    total = out[start[r] + rows[j, r], first:last]
                    part = sums[j, low + first : low + last]
                    for p in range(last - first):
                        total[p] += part[p]
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


@compiled
def silhouettes(means, own, start, sizes, itself, noise, leaves_out, lone_zero, root):  # type: ignore[no-untyped-def]
    """Silhouettes (b - a) / max(a, b), Eq. (1), and the nearest other cluster: two arrays (R, b).
    O(K b).

    `means` is (K, b) with the clusters of run r, of `sizes` (K,), in the rows start[r]:start[r +
    1]; `own` is (R, b). `leaves_out`: a becomes the mean over the other members, a point adding
    `itself` (b,) to its own sum. What is not above `noise` (b,) is 0. `root`: square roots are
    compared. `lone_zero`: 0 for a cluster of one. They are 0 where a and b are 0 and where there is
    no other cluster, NaN where the point is not assigned.
    """
    R, points = own.shape
    s = np.empty((R, points))
    nearest = np.empty((R, points), dtype=np.int32)
    a = np.empty(points)
    b = np.empty(points)
    for r in range(R):
        for i in range(points):
            a[i] = np.nan
            b[i] = np.inf
            nearest[r, i] = -1
        for c in range(start[r + 1] - start[r]):
            row = means[start[r] + c]
            for i in range(points):  # no branches: the loop fills the vector registers
                mine = own[r, i] == c
                better = (not mine) & (row[i] < b[i])
                a[i] = row[i] if mine else a[i]
                b[i] = row[i] if better else b[i]
                nearest[r, i] = c if better else nearest[r, i]
        for i in range(points):
            if own[r, i] < 0:
                s[r, i] = np.nan
                nearest[r, i] = -1
                continue
            size = sizes[start[r] + own[r, i]]
            x, y = a[i], b[i]
            if leaves_out:
                x = max(x * size - itself[i], 0.0) / max(size - 1.0, 1.0)
            x = x if x > noise[i] else 0.0
            y = y if y > noise[i] else 0.0
            if nearest[r, i] < 0 or (lone_zero and size == 1) or (x == 0 and y == 0):
                s[r, i] = 0.0
            elif root:
                s[r, i] = (np.sqrt(y) - np.sqrt(x)) / np.sqrt(max(x, y))
            else:
                s[r, i] = (y - x) / max(x, y)
    return s, nearest


@compiled
def distances_from(X, at, out):  # type: ignore[no-untyped-def]
    """out[i] = |X[i] - X[at]|. O(n d)."""
    for i in range(X.shape[0]):
        square = 0.0
        for f in range(X.shape[1]):
            square += (X[i, f] - X[at, f]) ** 2
        out[i] = np.sqrt(square)


@compiled
def nearest_two(to_medoid, nearest, first, second, removal):  # type: ignore[no-untyped-def]
    """From distances (k, n): each point's nearest medoid, its two smallest distances, and what each
    removal costs.
    """
    k, n = to_medoid.shape
    for i in range(n):
        first[i] = np.inf
        second[i] = np.inf
        nearest[i] = 0
        for m in range(k):
            if to_medoid[m, i] < first[i]:
                second[i] = first[i]
                first[i] = to_medoid[m, i]
                nearest[i] = m
            elif to_medoid[m, i] < second[i]:
                second[i] = to_medoid[m, i]
    if k == 1:  # there is no second: any bound on the distances to come serves in its place
        bound = 2 * first.max()
        for i in range(n):
            second[i] = bound
    for m in range(k):
        removal[m] = 0.0
    for i in range(n):
        removal[nearest[i]] += second[i] - first[i]


@compiled
def fasterpam(X, start, max_iter):  # type: ignore[no-untyped-def]
    """Medoids (k,) of X (n, d) by eager swaps from `start`, and the number of sweeps. O(n² d) a
    sweep.

    For each point the nearest and the second nearest medoid are kept, and for each medoid what its
    removal would cost. A candidate then needs one pass over the points to know its best swap,
    whichever medoid that is with, and a swap that gains is made at once. After n candidates without
    one no single swap gains.
    """
    n, k = X.shape[0], start.size
    medoids = start.copy()
    to_medoid = np.empty((k, n))
    for m in range(k):
        distances_from(X, medoids[m], to_medoid[m])
    distance, first, second = np.empty(n), np.empty(n), np.empty(n)
    nearest = np.empty(n, dtype=np.int64)
    removal, gain = np.empty(k), np.empty(k)
    nearest_two(to_medoid, nearest, first, second, removal)
    without = 0
    for sweep in range(max_iter):
        for c in range(n):
            is_medoid = False
            for m in range(k):
                is_medoid = is_medoid or medoids[m] == c
            if not is_medoid:
                distances_from(X, c, distance)
                for m in range(k):
                    gain[m] = removal[m]
                shared = 0.0
                for i in range(n):
                    if distance[i] < first[i]:
                        shared += distance[i] - first[i]
                        gain[nearest[i]] += first[i] - second[i]
                    elif distance[i] < second[i]:
                        gain[nearest[i]] += distance[i] - second[i]
                best = 0
                for m in range(1, k):
                    if gain[m] < gain[best]:
                        best = m
                if gain[best] + shared < 0:
                    medoids[best] = c
                    for i in range(n):
                        to_medoid[best, i] = distance[i]
                    nearest_two(to_medoid, nearest, first, second, removal)
                    without = -1
            without += 1
            if without >= n:
                return medoids, sweep + 1
    return medoids, max_iter


@compiled
def try_swaps(block, start, medoids, to_medoid, without):  # type: ignore[no-untyped-def]
    """Try the points start:start + b as medoids; `block` (b, n) are their distances to all points.

    As `fasterpam`, for distances that are known. `medoids` (k,) and the distances from them,
    `to_medoid` (k, n), are changed in place. `without` counts the candidates since the last swap
    and is returned: n or more where no single swap gains. A gain within rounding of the loss is
    none, otherwise ties could be swapped for ever. O(b n), and O(n k) for each swap.
    """
    k, n = to_medoid.shape
    first, second = np.empty(n), np.empty(n)
    nearest = np.empty(n, dtype=np.int64)
    removal, gain = np.empty(k), np.empty(k)
    nearest_two(to_medoid, nearest, first, second, removal)
    least = 1e-14 * first.sum()
    for at in range(block.shape[0]):
        c = start + at
        is_medoid = False
        for m in range(k):
            is_medoid = is_medoid or medoids[m] == c
        if not is_medoid:
            distance = block[at]
            for m in range(k):
                gain[m] = removal[m]
            shared = 0.0
            for i in range(n):
                there = distance[i]
                if there < second[i]:
                    if there < first[i]:
                        shared += there - first[i]
                        gain[nearest[i]] += first[i] - second[i]
                    else:
                        gain[nearest[i]] += there - second[i]
            best = 0
            for m in range(1, k):
                if gain[m] < gain[best]:
                    best = m
            if gain[best] + shared < -least:
                medoids[best] = c
                for i in range(n):
                    to_medoid[best, i] = distance[i]
                nearest_two(to_medoid, nearest, first, second, removal)
                without = -1
        without += 1
        if without >= n:
            break
    return without


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


@strictly
def rounded_distances(columns, at, out):  # type: ignore[no-untyped-def]
    """out[j] = |x_j - x_at| to 33 bits, for points (d, n).

    O(n d), by features, so that points share registers.
    """
    d, n = columns.shape
    for j in range(n):
        out[j] = 0.0
    for f in range(d):
        column, there = columns[f], columns[f, at]
        for j in range(n):
            out[j] += (column[j] - there) ** 2
    for j in range(n):
        length = np.sqrt(out[j])
        wide = length * 1048577.0  # 2²⁰ + 1: Dekker's way to cut off the last 20 bits
        out[j] = wide - (wide - length)


@strictly
def grow_tree(edge, newest, outside, distance, core, best, tree):  # type: ignore[no-untyped-def]
    """Write the next edge of the least tree and return the point that it adds. O(n).

    `best` holds each point's best edge into the tree: weight, length, and the point where it ends
    there. `distance` are the distances from the newest point, `outside` the points to come.
    """
    weight, length, inner = best
    ends, weights, lengths = tree
    found = outside[0]
    for j in outside:
        here = max(max(core[newest], core[j]), distance[j])
        if here <= weight[j]:  # the quick question first
            new = (here, distance[j], min(newest, j), max(newest, j))
            if new < (weight[j], length[j], min(inner[j], j), max(inner[j], j)):
                weight[j], length[j], inner[j] = here, distance[j], newest
        if weight[j] <= weight[found]:
            mine = (weight[j], length[j], min(inner[j], j), max(inner[j], j))
            if mine < (
                weight[found],
                length[found],
                min(inner[found], found),
                max(inner[found], found),
            ):
                found = j
    ends[edge, 0], ends[edge, 1] = min(inner[found], found), max(inner[found], found)
    weights[edge], lengths[edge] = weight[found], length[found]
    return found


@strictly
def reachability_tree(columns, k):  # type: ignore[no-untyped-def]
    """The least spanning tree of points (d, n) under mutual reachability: ends (n - 1, 2), weights,
    lengths of edges.

    The length of an edge is the distance of its ends, its weight the largest of that and both
    points' distances to their k-th nearest point (themselves the first). Edges of one weight are
    ordered by length, then by their points, so there is one least tree. Prim's algorithm, O(n² d),
    twice: distances are computed again, not kept.
    """
    n = columns.shape[1]
    distance, core = np.empty(n), np.empty(n)
    for i in range(n):
        rounded_distances(columns, i, distance)
        core[i] = np.partition(distance, k - 1)[k - 1]
    tree = (np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1), np.empty(n - 1))
    best = (np.full(n, np.inf), np.full(n, np.inf), np.zeros(n, dtype=np.int64))
    outside = np.arange(n)
    newest = 0
    for edge in range(n - 1):
        outside = outside[outside != newest]
        rounded_distances(columns, newest, distance)
        newest = grow_tree(edge, newest, outside, distance, core, best, tree)
    return tree


@strictly
def rounded_row(matrix, at, out):  # type: ignore[no-untyped-def]
    """out[j] = the distance from `at` to j in a matrix (n, n), to 33 bits. O(n)."""
    for j in range(matrix.shape[0]):
        length = np.float64(matrix[at, j])
        wide = length * 1048577.0
        out[j] = wide - (wide - length)


@strictly
def reachability_tree_of(matrix, k):  # type: ignore[no-untyped-def]
    """The tree of `reachability_tree`, of distances (n, n) that are known. O(n²), twice."""
    n = matrix.shape[0]
    distance, core = np.empty(n), np.empty(n)
    for i in range(n):
        rounded_row(matrix, i, distance)
        core[i] = np.partition(distance, k - 1)[k - 1]
    tree = (np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1), np.empty(n - 1))
    best = (np.full(n, np.inf), np.full(n, np.inf), np.zeros(n, dtype=np.int64))
    outside = np.arange(n)
    newest = 0
    for edge in range(n - 1):
        outside = outside[outside != newest]
        rounded_row(matrix, newest, distance)
        newest = grow_tree(edge, newest, outside, distance, core, best, tree)
    return tree
