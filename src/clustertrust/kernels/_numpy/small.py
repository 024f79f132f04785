"""Whole runs of k-means on few points."""

from __future__ import annotations

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
            changed = np.zeros((1, 1), dtype=np.int64)
            gained, entered = np.zeros((1, 1, *own.shape)), np.zeros((1, 1, len(own)), np.int64)
            by = (np.array([r]), none, none, none, (own + middle)[None], none)
            moved_by = (middle, gained, entered, changed)
            assign(points, by, np.array([part]), (labels, none), moved_by)
            sums[r] += gained[0, 0]
            counts[r] += entered[0, 0]
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
