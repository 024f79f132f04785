"""Small data sets of one shape: a run of k-means on each, and silhouettes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.kernels._numpy.small import lloyd, plus_plus


def kmeans_each(
    points: tuple[Any, Any, Any],
    known: tuple[Floats, Floats, Floats],
    starts: tuple[Floats, Ints],
    limits: tuple[int, float],
) -> tuple[Ints, Any]:
    """One run of k-means on each data set: labels (B, n), and whether each may be used."""
    X, tiles, lengths = points
    uniform, chosen = starts
    B, n, d = X.shape
    labels = np.full((B, n), -1, dtype=np.int32)
    fine = np.zeros(B, dtype=bool)
    for b, (middle, squares, scale) in enumerate(zip(*known, strict=True)):
        unsure, steps = np.zeros(1, dtype=bool), np.zeros(1, dtype=np.int64)
        if uniform.shape[2]:
            plus_plus(X[b], middle, squares, uniform[b : b + 1], chosen[b : b + 1], unsure)
        centers = (X[b, chosen[b]] - middle)[None]
        sums, counts = np.zeros(centers.shape), np.zeros(centers.shape[:2], dtype=np.int64)
        own = (limits[0], limits[1] * squares / (n * d))
        runs = (centers, labels[b : b + 1], sums, counts, steps, np.zeros(1, dtype=bool))
        points_of = (X[b], tiles[b], lengths[b])
        lloyd(points_of, (middle, scale), len(tiles[b]), own, np.arange(1), runs)
        fine[b] = not unsure[0] and steps[0] > 0 and counts.min() > 0
    return labels, fine


def mean_silhouettes(points: Floats, labels: Ints, start: Ints, sizes: Floats) -> Floats:
    """Mean silhouettes by Euclidean distance (B, q) of q runs on each data set."""
    out = np.zeros(labels.shape[:2])
    n = points.shape[1]
    for b, X in enumerate(points):
        distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
        for r, own in enumerate(labels[b]):
            size = sizes[b, start[r] : start[r + 1]]
            sums = distances @ (own[:, None] == np.arange(len(size)))
            mine = np.arange(n), own
            inside = sums[mine] / np.maximum(size[own] - 1, 1)
            means = sums / size
            means[mine] = np.inf
            outside = means.min(axis=1)
            largest = np.maximum(inside, outside)
            s = np.divide(outside - inside, largest, out=np.zeros(n), where=largest > 0)
            out[b, r] = np.where(size[own] > 1, s, 0.0).mean()
    return out
