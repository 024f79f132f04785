"""Whole runs of k-means on few points: k-means++ and Lloyd's steps, without Python in between.

The loops of `clustertrust.ensemble.lloyd` and `.starts`, run by run and with their kernels: where
all points stay in the cache, calls from Python would take longer than the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._types import AnyFloats, Bools, Floats, Ints
from clustertrust.kernels._numba.compiling import TILE, compiled, inlined
from clustertrust.kernels._numba.kmeans import (
    add_candidate_sums,
    assign_scratch,
    assign_tiles,
    candidate_scratch,
    find_draws,
)

_ROUNDING = 2.0**-53
# Drifts are rounded up.
_UP = 1 + 1e-6


@inlined
def _fill_rows(X, middle, positions, rows, halves):  # type: ignore[no-untyped-def]
    """rows[j] = x - middle of the points at `positions`, half their squares; the largest square."""
    reach = 0.0
    for j in range(positions.size):
        x, row = X[positions[j]], rows[j]
        square = 0.0
        for f in range(x.size):
            difference = x[f] - middle[f]
            row[f] = difference
            square += difference * difference
        halves[j] = square / 2
        reach = square if square > reach else reach
    return reach


@compiled
def draw_starts(sets, known, of_run, uniform, chosen, unsure, held, scratch):  # type: ignore[no-untyped-def]
    middles, all_squares = known
    (_, n, d), trials = sets.shape, uniform.shape[2]
    rows, halves, last, closest, sums, by_tile, positions, found, draws, gap = held
    part = (0, by_tile.shape[1])
    for b in range(chosen.shape[0]):
        X, middle, squares = sets[of_run[b]], middles[of_run[b]], all_squares[of_run[b]]
        scratch[3][0] = b > 0 and of_run[b] == of_run[b - 1] and by_tile.shape[1] > 1
        for i in range(n):
            closest[0, i] = np.inf
        for j in range(positions.size):
            positions[j] = chosen[b, 0]
        reach, best = 0.0, 0
        for step in range(chosen.shape[1]):
            square = _fill_rows(X, middle, positions, rows, halves)
            reach = square if square > reach else reach
            add_candidate_sums(X, middle, (rows, halves), closest, part, by_tile, scratch)
            scratch[3][0] = by_tile.shape[1] > 1
            least = np.inf
            for j in range(trials):
                total = 0.0
                for t in range(by_tile.shape[1]):
                    total += by_tile[0, t, j]
                gap[0, j] = total
                if total < least:
                    best, least = j, total
            margin = _ROUNDING * (4 * (d + 8) * (squares + n * reach) + 16 * np.sqrt(n) * least)
            for j in range(trials):
                # The same point twice is no question.
                if gap[0, j] <= least + 2 * margin and positions[1 + j] != positions[1 + best]:
                    for f in range(d):
                        unsure[b] |= rows[1 + j, f] != rows[1 + best, f]
            chosen[b, step] = positions[1 + best]
            positions[0] = positions[1 + best]
            if step == chosen.shape[1] - 1:
                break
            for f in range(d):
                last[0, f] = rows[1 + best, f]
            for t in range(by_tile.shape[1]):
                sums[0, t] = by_tile[0, t, best]
            for j in range(trials):
                draws[0, j] = uniform[b, step, j] * least
            find_draws(X, middle, last, closest, sums, draws, found, gap)
            for j in range(trials):
                unsure[b] |= gap[0, j] <= margin
                positions[1 + j] = found[0, j]


def plus_plus(
    X: AnyFloats,
    middle: Floats,
    squares: float,
    uniform: Floats,
    chosen: Ints,
    unsure: Bools,
) -> None:
    """Starts of k-means++: positions of points into chosen[:, 1:], whose first column is given.

    `squares` is Σ |x - middle|². `uniform` (B, k - 1, c) says where candidates lie. unsure[b] is
    set where rounding could decide. O(n B k c d).
    """
    held, scratch = start_scratch(X.shape, uniform.shape[2])
    known, of_run = (middle[None], np.array([squares])), np.zeros(len(chosen), dtype=np.int64)
    draw_starts(X[None], known, of_run, uniform, chosen, unsure, held, scratch)


def start_scratch(shape: tuple[int, ...], trials: int) -> tuple[Any, Any]:
    """Return what `draw_starts` writes to, for points of this shape."""
    n, d = shape
    n_tiles = -(-n // TILE)
    rows = np.zeros((-(-(1 + trials) // 4) * 4, -(-d // 4) * 4))
    held = (
        rows,
        np.zeros(len(rows)),
        np.empty((1, d)),
        np.empty((1, n)),
        np.empty((1, n_tiles)),
        np.empty((1, n_tiles, trials)),
        np.empty(1 + trials, dtype=np.int64),
        np.empty((1, trials), dtype=np.int64),
        np.empty((1, trials)),
        np.empty((1, trials)),
    )
    return held, candidate_scratch(rows, n_tiles)


@inlined
def _place(own, middle, scale, by, drifted):  # type: ignore[no-untyped-def]
    """Lay out centres as the kernel takes them, and add up how far they have drifted.

    As `clustertrust.ensemble.lloyd` does, in `_Batch._drifted`.
    """
    _, rows, halves, lengths, placed, drift = by
    path, steps = drifted
    first, most, second = 0, 0.0, 0.0
    for c in range(own.shape[0]):
        center, there, row, square, moved = own[c], placed[0, c], rows[0, c], 0.0, 0.0
        for f in range(center.size):
            before = there[f]
            there[f] = center[f] + middle[f]
            apart, step = scale * (there[f] - middle[f]), scale * (there[f] - before)
            row[f] = apart
            square += apart * apart
            moved += step * step
        halves[0, c], lengths[0, c], steps[c] = square / 2, np.sqrt(square), np.sqrt(moved)
        if steps[c] > most:
            first, most, second = c, steps[c], most
        elif steps[c] > second:
            second = steps[c]
    for c in range(own.shape[0]):
        path[c] += _UP * (steps[c] + (second if c == first else most))
        drift[0, c] = path[c]


@compiled
def take_steps(sets, known, limits, which, runs, held, scratch):  # type: ignore[no-untyped-def]
    X, tiles, flat, lengths_of_points = sets
    middles, scales, tolerances = known
    most_steps, size = limits
    centers, labels, sums, counts, steps, ending, (until, before, paths) = runs
    chosen, of_run = which
    by, (path, moves), (gained, of_part, entered, changed) = held
    active, placed = by[0], by[4]
    n_tiles, k, d = tiles.shape[1], centers.shape[1], centers.shape[2]
    for r in chosen:
        own, sizes, total, b = centers[r], counts[r], sums[r], of_run[r]
        points = (X[b], tiles[b], flat[b], lengths_of_points[b])
        middle, scale = middles[b], scales[b]
        active[0] = r
        ends = ending[r]
        for c in range(k):
            path[c] = paths[r, c]
            for f in range(d):
                placed[0, c, f] = before[r, c, f]
        while True:
            _place(own, middle, scale, by, (path, moves))
            changed[0] = 0
            for c in range(k):
                entered[0, c] = 0
                for f in range(d):
                    gained[c, f] = 0.0
            for low in range(0, n_tiles, size):
                for c in range(k):
                    for f in range(d):
                        of_part[0, c, f] = 0.0
                part = (low, low + size if low + size < n_tiles else n_tiles)
                moved_by = (middle, of_part, entered, changed)
                assign_tiles(points, by, part, (labels, until), moved_by, scratch)
                for c in range(k):
                    for f in range(d):
                        gained[c, f] += of_part[0, c, f]
            is_full = True
            for c in range(k):
                sizes[c] += entered[0, c]
                is_full &= sizes[c] > 0
                for f in range(d):
                    total[c, f] += gained[c, f]
            if ends:
                break
            steps[r] += 1
            if not is_full:
                steps[r] = -1
                break
            shift = 0.0
            for c in range(k):
                for f in range(d):
                    mean = total[c, f] / sizes[c]
                    difference = mean - own[c, f]
                    shift += difference * difference
                    own[c, f] = mean
            if changed[0] == 0:
                break
            ends = shift <= tolerances[b] or steps[r] >= most_steps


def lloyd(
    points: tuple[Any, Any, Any],
    known: tuple[Floats, float],
    size: int,
    limits: tuple[int, float],
    chosen: Ints,
    runs: tuple[Any, ...],
) -> None:
    """Lloyd's steps of the chosen runs up to their ends, from wherever they are.

    `known`: the middle (d,) and the scale; `size`: the tiles of a part of the points, which are
    added up by part as in `assign`; `limits`: most steps, and the shift of centres that ends a run.
    `runs`, all of them: centres (R, k, d) minus the middle, labels (R, n), sums (R, k, d) and
    counts (R, k) of clusters, steps (R,), -1 where a cluster was left empty, and whether they lack
    but the labels of their last centres (R,); and of the last step, up to which drift a label holds
    (R, n), where centres were (R, k, d), and how far they had drifted (R, k). O(n k d) a step, less
    when few labels are in question.
    """
    X, tiles, lengths = points
    middle, scale = known
    centers = runs[0]
    sets = (X[None], tiles[None], tiles.reshape(1, -1), lengths[None])
    one = (middle[None], np.array([scale]), np.array([limits[1]]))
    of_run = np.zeros(len(centers), dtype=np.int64)
    scratch = step_scratch(centers.shape[1:], tiles)
    take_steps(sets, one, (limits[0], size), (chosen, of_run), runs, *scratch)


def step_scratch(shape: tuple[int, ...], tiles: Any) -> tuple[Any, Any]:
    """Return what `take_steps` writes to, for centres of this shape."""
    k, d = shape
    rows = np.zeros((1, -(-k // 4) * 4, tiles.shape[1]), dtype=np.float32)
    by = (
        np.empty(1, dtype=np.int64),
        rows,
        np.zeros(rows.shape[:2], dtype=np.float32),
        np.zeros(rows.shape[:2], dtype=np.float32),
        np.empty((1, k, d)),
        np.empty((1, k), dtype=np.float32),
    )
    counts = (np.empty((1, k), dtype=np.int64), np.empty(1, dtype=np.int64))
    held = (by, (np.empty(k), np.empty(k)), (np.empty((k, d)), np.empty((1, k, d)), *counts))
    return held, assign_scratch(rows, tiles)
