"""Small data sets of one shape, one after the other: a run of k-means on each, and silhouettes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.kernels._numba.compiling import TILE, compiled, inlined
from clustertrust.kernels._numba.pairs import distances
from clustertrust.kernels._numba.small import draw_starts, start_scratch, step_scratch, take_steps


def kmeans_each(
    points: tuple[Any, Any, Any],
    known: tuple[Floats, Floats, Floats],
    starts: tuple[Floats, Ints],
    limits: tuple[int, float],
) -> tuple[Ints, Any]:
    """One run of k-means on each of B data sets: labels (B, n), and whether each may be used.

    `points` are X (B, n, d) with tiles and lengths as in `lay_out`, `known` their means, the sums
    of squares and the scales. `starts`: where candidates of k-means++ lie (B, k - 1, c), c being 0
    where all is chosen, and positions (B, k), of which the first is. `limits`: most steps, and the
    tolerance. A run may not be used where rounding could decide, or a cluster was left empty.
    """
    X, tiles, lengths = points
    uniform, chosen = starts
    (B, n, d), k = X.shape, chosen.shape[1]
    middles, squares, scales = known
    each, unsure = np.arange(B), np.zeros(B, dtype=np.bool_)
    if uniform.shape[2]:
        scratch = start_scratch((n, d), uniform.shape[2])
        draw_starts(X, (middles, squares), each, uniform, chosen, unsure, *scratch)
    centers = X[each[:, None], chosen] - middles[:, None]
    labels, until = np.full((B, n), -1, np.int32), np.full((B, n), -1, np.float32)
    counts, steps = np.zeros((B, k), dtype=np.int64), np.zeros(B, dtype=np.int64)
    sets = (X, tiles, tiles.reshape(B, -1), lengths)
    about = (middles, scales, limits[1] * squares / (n * d))
    sums, ending = np.zeros(centers.shape), np.zeros(B, dtype=np.bool_)
    at_last = (until, centers + middles[:, None], np.zeros(counts.shape))
    runs = (centers, labels, sums, counts, steps, ending, at_last)
    # So few points are one part.
    at_most = (limits[0], tiles.shape[1])
    take_steps(sets, about, at_most, (each, each), runs, *step_scratch((k, d), tiles[0]))
    return labels, ~unsure & (steps > 0) & (counts > 0).all(axis=1)


@inlined
def _lay_out(X, rows, columns):  # type: ignore[no-untyped-def]
    """Points (n, d) as `by_point` and `by_feature` do."""
    for i in range(X.shape[0]):
        t, p = i // TILE, i % TILE
        for f in range(X.shape[1]):
            rows[t, p, f] = columns[t, f, p] = X[i, f]


@compiled
def _mean_silhouettes(points, labels, start, sizes, held, out):  # type: ignore[no-untyped-def]
    rows, columns, tile, sums = held
    n = points.shape[1]
    for b in range(points.shape[0]):
        _lay_out(points[b], rows, columns)
        for t in range(rows.shape[0]):
            for c in range(sums.shape[0]):
                for p in range(TILE):
                    sums[c, p] = 0.0
            for s in range(rows.shape[0]):
                here = n - s * TILE if n - s * TILE < TILE else TILE
                # Rows come in fours.
                distances(rows[s][: (here + 3) // 4 * 4], columns[t], tile)
                for i in range(here):
                    away = tile[i]
                    for r in range(labels.shape[1]):
                        mine = sums[start[r] + labels[b, r, s * TILE + i]]
                        for p in range(TILE):
                            mine[p] += away[p]
            here = n - t * TILE if n - t * TILE < TILE else TILE
            for r in range(labels.shape[1]):
                total = 0.0
                for p in range(here):
                    own = start[r] + labels[b, r, t * TILE + p]
                    outside = np.inf
                    for c in range(start[r], start[r + 1]):
                        mean = sums[c, p] / sizes[b, c]
                        outside = mean if c != own and mean < outside else outside
                    if sizes[b, own] > 1:
                        inside = sums[own, p] / (sizes[b, own] - 1)
                        largest = inside if inside > outside else outside
                        total += (outside - inside) / largest if largest > 0 else 0.0
                out[b, r] += total / n


def mean_silhouettes(points: Floats, labels: Ints, start: Ints, sizes: Floats) -> Floats:
    """Mean silhouettes by Euclidean distance (B, q) of q runs on each of B data sets.

    `points` are (B, n, d), `labels` (B, q, n), `start` (q + 1,) where the clusters of each run
    begin, and `sizes` (B, K) theirs; each run has two clusters or more, none of them empty.
    O(n² (d + q)) a data set.
    """
    n, d = points.shape[1:]
    n_tiles, width = -(-n // TILE), -(-d // 4) * 4
    out = np.zeros(labels.shape[:2])
    held = (
        np.zeros((n_tiles, TILE, width)),
        np.zeros((n_tiles, width, TILE)),
        np.empty((TILE, TILE)),
        np.empty((int(start[-1]), TILE)),
    )
    _mean_silhouettes(points, labels, start, sizes, held, out)
    return out
