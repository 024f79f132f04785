"""The kernels in plain NumPy: the oracle for the compiled ones, and the fallback without Numba."""

from __future__ import annotations

import numpy as np

from clustertrust._types import AnyFloats, Bools, Floats, Ints
from clustertrust.kernels.rules import Fusing, Rules

TILE = 128  # points a tile


def rename(labels: Ints, largest: int) -> tuple[Ints, Ints, Ints]:
    """Clusters of each run (n, R) numbered by first appearance, and the label behind each number:
    (R, largest + 1).
    """
    codes = np.full(labels.shape, -1, dtype=np.int32)
    names = np.full((labels.shape[1], largest + 1), -1, dtype=np.int64)
    counts = np.zeros(labels.shape[1], dtype=np.int32)
    for r, run in enumerate(labels.T):
        clusters, first = np.unique(run[run >= 0], return_index=True)
        counts[r] = clusters.size
        names[r, : clusters.size] = clusters[np.argsort(first)]
        for code in range(clusters.size):
            codes[run == names[r, code], r] = code
    return codes, names, counts


def meet(labels: Ints) -> tuple[Ints, Ints]:
    """Cell of each row of `labels` (n, R) and first row of each cell.

    Cells count up by first appearance.
    """
    _, first, of = np.unique(labels, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[of.ravel()], first[order]


def contingencies(rows: Ints, counts: Ints, run: int, others: Ints, k: int, k_others: int) -> Ints:
    """Count points by cluster of `run` and of each other run, Eq. (4): (others, k, k_others)."""
    tables = np.zeros((len(others), k, k_others), dtype=np.int64)
    for table, other in zip(tables, others, strict=True):
        both = (rows[:, run] >= 0) & (rows[:, other] >= 0)
        np.add.at(table, (rows[both, run], rows[both, other]), counts[both])
    return tables


def strict_matches(tables: Ints, widths: Ints) -> tuple[Ints, Bools]:
    """Best matching of each table (t, k, ·) where it can be read off, and whether it can.

    -1 elsewhere.
    """
    match = np.full(tables.shape[:2], -1)
    settled = np.zeros(len(tables), dtype=bool)
    for t, width in enumerate(widths):
        table = tables[t, :, :width]
        if table.size > 0 and len(table) <= width:
            top = table.argmax(axis=1)
            strict = (table == table.max(axis=1, keepdims=True)).sum() == len(table)
            settled[t] = strict and np.unique(top).size == len(table)
            match[t] = np.where(settled[t], top, -1)
    return match, settled


def agreement_sums(rows: Ints, to: Ints) -> Ints:
    """out[j, r] = number of runs that agree with run r on row j, Eq. (6); `to` is (R, k, R)."""
    sums = np.zeros(rows.shape, dtype=np.int32)
    for r in range(rows.shape[1]):
        j = np.flatnonzero(rows[:, r] >= 0)
        sums[j, r] = (to[r, rows[j, r]] == rows[j]).sum(axis=1) - 1  # not with itself
    return sums


def squared_distances(rows: AnyFloats, columns: AnyFloats) -> AnyFloats:
    """|x - c|² of centres (K', d) with points in tiles (t, d, TILE): (K', t TILE)."""
    points = columns.transpose(0, 2, 1).reshape(-1, columns.shape[1])
    return np.array([((points - row) ** 2).sum(axis=1) for row in rows]).reshape(
        len(rows), len(points)
    )


def lay_out(
    X: AnyFloats,
    middle: Floats,
    scale: float,
    part: tuple[int, int],
    tiles: AnyFloats,
    lengths: AnyFloats,
) -> float:
    """tiles[t, :, p] = scale (x - middle) in float32, lengths = their norms; Σ |x - middle|².

    For the tiles part[0]:part[1] of the rows of X.
    """
    low, high = part[0] * TILE, min(part[1] * TILE, len(X))
    apart = np.asarray(X[low:high], dtype=np.float64) - middle
    squares = (apart**2).sum(axis=1)
    lengths[low:high] = scale * np.sqrt(squares)
    for t in range(*part):
        block = scale * apart[t * TILE - low : (t + 1) * TILE - low]
        tiles[t, : X.shape[1], : len(block)] = block.T
    return float(squares.sum())


def assign(
    points: tuple[AnyFloats, AnyFloats, AnyFloats],
    runs: tuple[Ints, AnyFloats, AnyFloats, AnyFloats, Floats, AnyFloats],
    part: tuple[int, int],
    known: tuple[Ints, AnyFloats],
    moved: tuple[Floats, Floats, Ints, Ints],
) -> None:
    """Labels of the nearest centres for the tiles part[0]:part[1], in all active runs.

    Centres are read in float64 alone, and features are added one by one, as where the compiled
    kernel compares in float64, and all points are compared. `moved` gathers what clusters gained
    and lost.
    """
    labels, _ = known
    middle, sums, counts, changed = moved
    low = part[0] * TILE
    X = np.asarray(points[0][low : part[1] * TILE], dtype=np.float64)
    for a, (r, centers) in enumerate(zip(runs[0], runs[4], strict=True)):
        squares = np.zeros((len(centers), len(X)))
        for f, column in enumerate(X.T):
            squares += (column - centers[:, f, None]) ** 2
        new, old = squares.argmin(axis=0), labels[r, low : low + len(X)].copy()
        i = np.flatnonzero(new != old)
        changed[a] += i.size
        labels[r, low + i] = new[i]
        apart = (X[i] - middle)[:, : sums.shape[2]]
        was = old[i] >= 0
        np.add.at(counts[a], new[i], 1)
        np.add.at(sums[a], new[i], apart)
        np.subtract.at(counts[a], old[i][was], 1)
        np.subtract.at(sums[a], old[i][was], apart[was])


def candidate_sums(
    X: AnyFloats,
    middle: Floats,
    centers: tuple[Floats, Floats],
    closest: Floats,
    part: tuple[int, int],
    sums: Floats,
) -> None:
    """One step of k-means++ for all runs and the tiles part[0]:part[1].

    `centers` are, run by run, the one chosen last and the candidates, minus `middle`; `closest`
    (B, n) is brought up to the former, and sums[t, b, j] is Σ of the squared distances to the
    nearest centre if candidate j were one.
    """
    runs, candidates = sums.shape[0], sums.shape[2]
    rows = centers[0][: runs * (1 + candidates), : X.shape[1]]
    for t in range(*part):
        here = slice(t * TILE, min((t + 1) * TILE, len(X)))
        block = np.asarray(X[here], dtype=np.float64) - middle
        squares = np.array([((block - row) ** 2).sum(axis=1) for row in rows])
        squares = squares.reshape(-1, 1 + candidates, len(block))
        closest[:, here] = np.minimum(closest[:, here], squares[:, 0])
        nearer = np.minimum(closest[:, None, here], squares[:, 1:])
        sums[:, t] = nearer.sum(axis=2)


def locate(
    X: AnyFloats, middle: Floats, last: Floats, closest: Floats, sums: Floats, draws: Floats
) -> tuple[Ints, Floats]:
    """Where the squared distances of each run, added up in order, reach the values `draws` (B, c).

    `closest` (B, n) still lacks the centres `last` (B, d). Returns the points (B, c), and by how
    little a value misses another point (B, c).
    """
    out, gap = np.empty(draws.shape, dtype=np.int64), np.empty(draws.shape)
    for b, values in enumerate(draws):
        squares = ((X - middle - last[b]) ** 2).sum(axis=1)
        running = np.cumsum(np.minimum(closest[b], squares))
        out[b] = np.minimum(running.searchsorted(values), len(X) - 1)
        edges = np.concatenate([[-np.inf], running[:-1], [np.inf]])
        gap[b] = np.minimum(values - edges[out[b]], edges[out[b] + 1] - values)
    return out, gap


def plus_plus(
    X: AnyFloats, middle: Floats, squares: float, uniform: Floats, chosen: Ints, unsure: Bools
) -> None:
    """Starts of k-means++: positions of points into chosen[:, 1:], whose first column is given.

    `uniform` (B, k - 1, c) says where candidates lie. unsure[b] is set where rounding could decide.
    """
    n, d = X.shape
    Z = X - middle
    for b, of_run in enumerate(uniform):
        closest = ((Z - Z[chosen[b, 0]]) ** 2).sum(axis=1)
        for step, shares in enumerate(of_run, 1):
            running, lengths = np.cumsum(closest), (Z[chosen[b, :step]] ** 2).sum(axis=1)
            draws = shares * running[-1]
            tried = np.minimum(running.searchsorted(draws), n - 1)
            edges = np.concatenate([[-np.inf], running[:-1], [np.inf]])
            gap = np.minimum(draws - edges[tried], edges[tried + 1] - draws)
            nearer = np.array([np.minimum(closest, ((Z - Z[i]) ** 2).sum(axis=1)) for i in tried])
            totals = nearer.sum(axis=1)
            best = int(totals.argmin())
            reach = n * max(lengths.max(), (Z[tried] ** 2).sum(axis=1).max())
            margin = 2.0**-53 * (
                4 * (d + 8) * (squares + reach) + 16 * np.sqrt(n) * np.array([running[-1], *totals])
            )
            tied = totals <= totals[best] + 2 * margin[1 + best]
            other = (Z[tried] != Z[tried[best]]).any(axis=1)
            unsure[b] |= bool((gap <= margin[0]).any() or (tied & other).any())
            chosen[b, step], closest = tried[best], nearer[best]


def lloyd(
    points: tuple[AnyFloats, AnyFloats, AnyFloats],
    moved: tuple[Floats, Floats, Ints],
    scale: float,
    part: tuple[int, int],
    limits: tuple[int, float],
    runs: tuple[Floats, Ints, Ints],
) -> None:
    """Lloyd's steps of each run up to its end.

    `moved`: the middle, sums (R, k, d) and counts (R, k); `limits`: most steps, and the shift of
    centres that ends a run; `runs`: centres (R, k, d) minus the middle, labels (R, n), and steps
    (R,), -1 where a cluster was left empty. `part` is all tiles.
    """
    middle, sums, counts = moved
    centers, labels, steps = runs
    none = np.zeros((1, 0), dtype=np.float32)
    for r, own in enumerate(centers):
        ends = False
        while True:
            changed = np.zeros(1, dtype=np.int64)
            gained, entered = np.zeros((1, *own.shape)), np.zeros((1, len(own)), dtype=np.int64)
            by = (np.array([r]), none, none, none, (own + middle)[None], none)
            assign(points, by, part, (labels, none), (middle, gained, entered, changed))
            sums[r] += gained[0]
            counts[r] += entered[0]
            if ends:
                break
            steps[r] += 1
            if counts[r].min() == 0:
                steps[r] = -1
                break
            means = sums[r] / counts[r][:, None]
            ends = ((means - own) ** 2).sum() <= limits[1] or steps[r] >= limits[0]
            own[:] = means
            if changed[0] == 0:
                break


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
    """Silhouettes (b - a) / max(a, b), Eq. (1), and the nearest other cluster: both (R, b)."""
    start, sizes = clusters
    s = np.full(own.shape, np.nan)
    nearest = np.full(own.shape, -1, dtype=np.int32)
    for r, mine in enumerate(own):
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
        nearest[r, i] = np.where(alone, -1, closest)
        if rules.leaves_out:
            a = np.maximum(a * size - itself[i], 0.0) / np.maximum(size - 1, 1)
        a, b = (np.where(x > noise[i], x, 0.0) for x in (a, b))
        if rules.root:
            a, b = np.sqrt(a), np.sqrt(b)
        top = np.maximum(a, b)
        zero = alone | (top == 0) | (rules.lone_zero & (size == 1))
        s[r, i] = np.divide(b - a, top, out=np.zeros(i.size), where=~zero)
    return s, nearest


def cell_sums(
    X: AnyFloats, cell_of: Ints, base: Floats, part: tuple[int, int], sums: Floats
) -> None:
    """Add x - base[j] to sums[j] for each point x of cell j in the rows of a part."""
    rows = slice(*part)
    np.add.at(sums, cell_of[rows], X[rows] - base[cell_of[rows]])


def cell_squares(
    X: AnyFloats, cell_of: Ints, means: Floats, part: tuple[int, int], squares: Floats
) -> None:
    """Add |x - means[j]|² to squares[j] for each point x of cell j in the rows of a part."""
    rows = slice(*part)
    np.add.at(squares, cell_of[rows], ((X[rows] - means[cell_of[rows]]) ** 2).sum(axis=1))


def moments(s: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each row, without its NaN."""
    runs = (~np.isnan(s)).sum(axis=1)
    divisor = np.where(runs > 0, runs, np.nan)
    mean = np.nansum(s, axis=1) / divisor
    return mean, np.sqrt(np.nansum((s - mean[:, None]) ** 2, axis=1) / divisor)


def jackknife(
    of: Ints, stability: tuple[Floats, Floats, Ints, Bools], s: Floats, fusing: Fusing
) -> Floats:
    """Errors of scores (2, n), each score without a run computed anew: O(n R²)."""
    c, sums, run_counts, counted = stability
    c, sums, run_counts, counted = c[of], sums[of], run_counts[of], counted[of]
    runs = np.where(run_counts < 3, np.nan, run_counts)

    def fuse(c: Floats, low: Floats) -> Floats:
        g = np.clip((low + 1) / 2, 0, 1) if fusing.affine else np.maximum(low, 0)
        if not fusing.harmonic:
            return c * g
        return np.divide(2 * c * g, c + g, out=np.zeros_like(c + g), where=c + g != 0)

    def lows(values: Floats) -> Floats:
        mean, std = moments(values)
        return mean - std

    def spread(values: Floats) -> Floats:
        mean = np.nansum(values, axis=1) / runs
        return np.asarray(
            np.sqrt((runs - 1) / runs * np.nansum((values - mean[:, None]) ** 2, axis=1))
        )

    s = np.where(counted, s, np.nan)
    agreed = sums.sum(axis=1) / 2
    low = lows(s)
    left_low, theta = np.full(s.shape, np.nan), np.full(s.shape, np.nan)
    for r in range(s.shape[1]):
        here = counted[:, r] & (run_counts >= 3)
        left_low[here, r] = lows(np.delete(s[here], r, axis=1))
        without = (agreed - sums[:, r]) / ((runs - 1) * (runs - 2) / 2)
        theta[here, r] = fuse(np.clip(without, 0, 1), left_low[:, r])[here]
    errors, score = spread(theta), fuse(c, low)
    g = np.clip((low + 1) / 2, 0, 1) if fusing.affine else np.maximum(low, 0)
    rise = np.abs(fuse(c, low + fusing.z * spread(left_low)) - score) / fusing.z
    errors = np.where(g == 0, np.maximum(errors, rise), errors)
    left = 1 - 2 / (runs + 2)
    less = 2 * left * g - 1 if fusing.affine else left * g
    return np.stack([errors, np.abs(score - fuse(left * c, less))])


def fasterpam(X: AnyFloats, start: Ints, max_iter: int) -> tuple[Ints, int]:
    """Medoids (k,) of X (n, d) by eager swaps from `start`, and the number of sweeps."""
    n = len(X)
    medoids = np.array(start, dtype=np.int64)

    def distances(i: int) -> AnyFloats:
        return np.asarray(np.sqrt(((X - X[i]) ** 2).sum(axis=1)))

    to_medoid = np.array([distances(i) for i in medoids])
    without = 0
    for sweep in range(max_iter):
        for c in range(n):
            without = try_swaps(distances(c)[None, :], c, medoids, to_medoid, without)
            if without >= n:
                return medoids, sweep + 1
    return medoids, max_iter


def try_swaps(
    block: AnyFloats, start: int, medoids: Ints, to_medoid: AnyFloats, without: int
) -> int:
    """Try the points start:start + b as medoids, whose distances to all are `block` (b, n).

    `medoids` (k,) and the distances from them, `to_medoid` (k, n), change in place. Returns the
    number of candidates since the last swap.
    """
    k, n = to_medoid.shape
    for c, distance in enumerate(block, start):
        if c not in medoids:
            # The loss after each swap, from scratch: each medoid in turn gives way.
            others = [np.delete(to_medoid, m, axis=0).min(axis=0, initial=np.inf) for m in range(k)]
            losses = [np.minimum(other, distance).sum() for other in others]
            best = int(np.argmin(losses))
            if losses[best] < to_medoid.min(axis=0).sum() * (1 - 1e-14):
                medoids[best], to_medoid[best] = c, distance
                without = -1
        without += 1
        if without >= n:
            break
    return without


def gower_distances(X: AnyFloats, points: AnyFloats) -> Floats:
    """Mean over the columns that both rows have of min(1, |a - b|): (b, n); 1 if there is none."""
    out = np.ones((len(X), len(points)))
    for i, row in enumerate(X):
        apart = np.abs(points - row)
        columns = (~np.isnan(apart)).sum(axis=1)
        total = np.minimum(np.nan_to_num(apart), 1.0).sum(axis=1)
        np.divide(total, columns, out=out[i], where=columns > 0)
    return out


def rounded_distances(data: AnyFloats, are_distances: bool, i: int) -> AnyFloats:
    """|x_j - x_i| to 33 bits, for points (d, n), or distances (n, n) as they are.

    Features are added one by one, in the same order everywhere.
    """
    if are_distances:
        lengths = np.asarray(data[i], dtype=np.float64)
    else:
        squares = np.zeros(data.shape[1])
        for column in data:
            squares += (column - column[i]) ** 2
        lengths = np.sqrt(squares)
    wide = lengths * 1048577.0
    return wide - (wide - lengths)


def reachability_tree(
    data: AnyFloats, k: int, are_distances: bool
) -> tuple[Ints, AnyFloats, AnyFloats]:
    """The least spanning tree under mutual reachability: ends (n - 1, 2), weights and lengths.

    Of points (d, n), or of distances (n, n).
    """
    n = data.shape[1]
    matrix = np.array([rounded_distances(data, are_distances, i) for i in range(n)])
    core = np.array([np.partition(row, k - 1)[k - 1] for row in matrix])
    edges = []
    # The best edge of each point that is not in the tree
    nearest = {j: (np.inf, np.inf, 0, j) for j in range(1, n)}
    newest = 0
    for _ in range(n - 1):
        lengths = matrix[newest]
        weights = np.maximum(np.maximum(core, core[newest]), lengths)
        for j, edge in nearest.items():
            nearest[j] = min(edge, (weights[j], lengths[j], min(j, newest), max(j, newest)))
        newest = min(nearest, key=nearest.__getitem__)
        edges.append(nearest.pop(newest))
    ends = np.array([edge[2:] for edge in edges], dtype=np.int64).reshape(n - 1, 2)
    return ends, np.array([edge[0] for edge in edges]), np.array([edge[1] for edge in edges])
