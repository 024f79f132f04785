"""Whole runs of k-means on few points."""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._types import AnyFloats, Bools, Floats, Ints
from clustertrust.kernels._numpy.kmeans import assign


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
    known: tuple[Floats, float],
    size: int,
    limits: tuple[int, float],
    chosen: Ints,
    runs: tuple[Any, ...],
) -> None:
    """Lloyd's steps of the chosen runs up to their ends, from wherever they are.

    `known`: the middle and the scale; `size`: the tiles of a part of the points; `limits`: most
    steps, and the shift of centres that ends a run. `runs`, all of them: centres (R, k, d) minus
    the middle, labels (R, n), sums (R, k, d) and counts (R, k), steps (R,), -1 where a cluster was
    left empty, and whether they lack but the labels of their last centres (R,). All points are
    compared, so how far centres have drifted is not read.
    """
    middle, _ = known
    centers, labels, sums, counts, steps, ending = runs[:6]
    none, tiles = np.zeros((1, 0), dtype=np.float32), len(points[1])
    parts = np.array([[low, min(low + size, tiles)] for low in range(0, tiles, size)])
    shape = (len(parts), 1, *centers.shape[1:])
    for r in chosen:
        own, ends = centers[r], ending[r]
        while True:
            gained, entered = np.zeros(shape), np.zeros(shape[:3], dtype=np.int64)
            changed = np.zeros(shape[:2], dtype=np.int64)
            by = (np.array([r]), none, none, none, (own + middle)[None], none)
            assign(points, by, parts, (labels, none), (middle, gained, entered, changed))
            sums[r] += gained.sum(axis=0)[0]
            counts[r] += entered.sum(axis=0)[0]
            if ends:
                break
            steps[r] += 1
            if counts[r].min() == 0:
                steps[r] = -1
                break
            means = sums[r] / counts[r][:, None]
            ends = ((means - own) ** 2).sum() <= limits[1] or steps[r] >= limits[0]
            own[:] = means
            if changed.sum() == 0:
                break
