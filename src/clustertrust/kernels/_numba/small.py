"""Whole runs of k-means on few points: k-means++ and Lloyd's steps, without Python in between.

The loops of `clustertrust.ensemble.lloyd` and `.starts`, run by run and with their kernels: where
all points stay in the cache, calls from Python would take longer than the work.
"""

from __future__ import annotations

import numpy as np

from clustertrust.kernels._numba.compiling import TILE, compiled
from clustertrust.kernels._numba.kmeans import assign, candidate_sums, locate

_ROUNDING = 2.0**-53


@compiled
def _fill_rows(X, middle, positions, rows, halves):  # type: ignore[no-untyped-def]
    """rows[j] = x - middle of the points at `positions`, half their squares; the largest square."""
    reach = 0.0
    for j in range(positions.size):
        x = X[positions[j]]
        square = 0.0
        for f in range(x.size):
            difference = x[f] - middle[f]
            rows[j, f] = difference
            square += difference * difference
        halves[j] = square / 2
        reach = max(reach, square)
    return reach


@compiled
def plus_plus(X, middle, squares, uniform, chosen, unsure):  # type: ignore[no-untyped-def]
    """Starts of k-means++: positions of points into chosen[:, 1:], whose first column is given.

    `squares` is Σ |x - middle|². `uniform` (B, k - 1, c) says where candidates lie. unsure[b] is
    set where rounding could decide. O(n B k c d).
    """
    n, d = X.shape
    trials, n_tiles = uniform.shape[2], -(-n // TILE)
    rows, halves = np.zeros((-(-(1 + trials) // 4) * 4, -(-d // 4) * 4)), np.zeros(4 + trials)
    halves = halves[: rows.shape[0]]
    closest, sums = np.empty((1, n)), np.empty((1, n_tiles))
    first, by_tile = np.empty((1, n_tiles, 1)), np.empty((1, n_tiles, trials))
    positions = np.empty(1 + trials, dtype=np.int64)
    for b in range(chosen.shape[0]):
        closest[:] = np.inf
        positions[:] = chosen[b, 0]
        reach = _fill_rows(X, middle, positions, rows, halves)
        candidate_sums(X, middle, (rows[:4], halves[:4]), closest, (0, n_tiles), first)
        sums[0] = first[0, :, 0]
        for step in range(1, chosen.shape[1]):
            total = sums.sum()
            draws = uniform[b, step - 1 : step] * total
            found, gap = locate(X, middle, rows[:1, :d].copy(), closest, sums, draws)
            per_distance = 4 * (d + 8) * (squares + n * reach)
            margin = _ROUNDING * (per_distance + 16 * np.sqrt(n) * total)
            for j in range(trials):
                unsure[b] |= gap[0, j] <= margin
                positions[1 + j] = found[0, j]
            reach = max(reach, _fill_rows(X, middle, positions, rows, halves))
            candidate_sums(X, middle, (rows, halves), closest, (0, n_tiles), by_tile)
            totals = by_tile[0].sum(axis=0)
            best = int(totals.argmin())
            per_distance = 4 * (d + 8) * (squares + n * reach)
            margin = _ROUNDING * (per_distance + 16 * np.sqrt(n) * totals[best])
            for j in range(trials):
                # The same point twice is no question.
                if totals[j] <= totals[best] + 2 * margin:
                    unsure[b] |= np.any(rows[1 + j] != rows[1 + best])
            positions[0] = chosen[b, step] = positions[1 + best]
            rows[0] = rows[1 + best]
            sums[0] = by_tile[0, :, best]


@compiled
def lloyd(points, moved, scale, parts, limits, runs):  # type: ignore[no-untyped-def]
    """Lloyd's steps of each run up to its end.

    `moved`: the middle (d,), sums (R, k, d) and counts (R, k) of clusters; `limits`: most steps,
    and the shift of centres that ends a run; `runs`: centres (R, k, d) minus the middle, labels
    (R, n), and steps (R,), -1 where a cluster was left empty. `parts` (P, 2) are added up one by
    one. O(n R k d) a step.
    """
    middle, sums, counts = moved
    centers, labels, steps = runs
    most_steps, tol = limits
    R, k, d = centers.shape
    rows = np.zeros((1, -(-k // 4) * 4, points[1].shape[1]), dtype=np.float32)
    halves = np.zeros((1, rows.shape[1]), dtype=np.float32)
    lengths = np.zeros((1, rows.shape[1]), dtype=np.float32)
    placed, active = np.empty((1, k, d)), np.empty(1, dtype=np.int64)
    gained, entered = np.empty((1, k, d)), np.empty((1, k), dtype=np.int64)
    changed = np.empty(1, dtype=np.int64)
    for r in range(R):
        own, sizes, total = centers[r], counts[r], sums[r]
        active[0] = r
        ends = False
        while True:
            for c in range(k):
                square = 0.0
                for f in range(d):
                    placed[0, c, f] = own[c, f] + middle[f]
                    apart = scale * (placed[0, c, f] - middle[f])
                    rows[0, c, f] = apart
                    square += apart * apart
                halves[0, c], lengths[0, c] = square / 2, np.sqrt(square)
            changed[0] = 0
            whole, moves = np.zeros((k, d)), np.zeros(k, dtype=np.int64)
            for i in range(parts.shape[0]):
                gained[:], entered[:] = 0.0, 0
                part = (parts[i, 0], parts[i, 1])
                by = (active, rows, halves, lengths, placed)
                assign(points, by, part, labels, (middle, gained, entered, changed))
                whole += gained[0]
                moves += entered[0]
            total += whole
            sizes += moves
            if ends:
                break
            steps[r] += 1
            if sizes.min() == 0:
                steps[r] = -1
                break
            shift = 0.0
            for c in range(k):
                for f in range(d):
                    mean = total[c, f] / sizes[c]
                    shift += (mean - own[c, f]) ** 2
                    own[c, f] = mean
            if changed[0] == 0:
                break
            ends = shift <= tol or steps[r] >= most_steps
