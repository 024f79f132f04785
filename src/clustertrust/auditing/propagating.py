"""Given labels of some points → labels of all, each by its nearest neighbours among those drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from clustertrust._parallel import blocks, one_thread
from clustertrust._types import Bools, Floats, Ints
from clustertrust.distances.links import nearest_linked
from clustertrust.distances.neighbors import Neighbors, drop_self, smallest
from clustertrust.geometry.base import Compute, Geometry
from clustertrust.matching import tally


@dataclass(frozen=True)
class Neighbourhood:
    """The nearest of some points to every point, without itself.

    Attributes
    ----------
    of : (n, depth) positions of the neighbours, nearest first; -1 where there are no more
    distances : (n, depth) how far away they are, infinite where there are no more
    """

    of: Ints
    distances: Floats

    def drawn(self, is_drawn: Bools, k: int) -> Neighbourhood:
        """Return the k nearest drawn points, by a mask (n,) of all points."""
        near = np.full((len(self.of), k), -1)
        away = np.full((len(self.of), k), np.inf)
        for rows in blocks(len(self.of), 32 * self.of.shape[1]):
            of = self.of[rows]
            keep = (of >= 0) & is_drawn[of]
            place = np.cumsum(keep, axis=1) - 1
            point, rank = np.nonzero(keep & (place < k))
            to = point, place[point, rank]
            near[rows][to], away[rows][to] = of[point, rank], self.distances[rows][point, rank]
        return Neighbourhood(near, away)


def nearest_labelled(
    X: Any, labelled: Ints, depth: int, geometry: Geometry, compute: Compute
) -> Neighbourhood:
    """Return the `depth` nearest points at positions `labelled` to each row of checked X.

    By the distance of the silhouettes; ties go to the first, so that no processor decides. A kernel
    given as a matrix has the distance of its space. O(n² d). A graph has only its own links.
    """
    depth = min(depth, labelled.size - 1)
    if geometry.has_weights or (geometry.is_precomputed and sparse.issparse(X)):
        away, near = nearest_linked(X, labelled, depth, weights=geometry.has_weights)
        return Neighbourhood(near, away)
    if geometry.is_precomputed or not geometry.used_metric.is_euclidean:
        away, near = _by_blocks(X, labelled, depth + 1, geometry)
    else:
        away, near = Neighbors(X[labelled], compute.n_jobs).nearest(X, depth + 1)
    away, near = drop_self(away, labelled[near])
    return Neighbourhood(near, away)


def propagate(near: Ints, labels: Ints, k: int) -> Ints:
    """Return the label (n,) that most neighbours have; ties go to the nearest neighbour's.

    `near` (n, K) are positions into `labels`, -1 for none; the result is -1 where there are none.
    """
    of = labels_of(near, labels)
    counts = tally(of, k)
    votes = np.take_along_axis(counts, np.maximum(of, 0), axis=1)
    leads = (of >= 0) & (votes == counts.max(axis=1)[:, None])
    return np.asarray(of[np.arange(len(of)), leads.argmax(axis=1)])


def labels_of(near: Ints, labels: Ints) -> Ints:
    """Return the labels (n, K) of neighbours at these positions; -1 where there is none."""
    return np.where(near >= 0, labels[near], -1)


def _by_blocks(X: Any, labelled: Ints, k: int, geometry: Geometry) -> tuple[Floats, Ints]:
    """Return the k nearest and the distances to them, by a metric or a matrix."""
    nearest = []
    for rows in blocks(X.shape[0], 24 * labelled.size):
        with one_thread():
            nearest.append(smallest(distances_between(X, rows, labelled, geometry), k))
    away, near = zip(*nearest, strict=True)
    return np.concatenate(away), np.concatenate(near)


def distances_between(X: Any, rows: slice | Ints, others: Ints, geometry: Geometry) -> Floats:
    """Return the distances (b, m) of some rows to others, by a metric or a matrix."""
    if geometry.is_precomputed:
        values = np.asarray(X[rows][:, others], dtype=np.float64)
        if geometry.used_metric.is_precomputed:
            return values
        own = np.asarray(X.diagonal(), dtype=np.float64)
        return np.sqrt(np.maximum(own[rows, None] + own[others] - 2 * values, 0.0))
    return geometry.used_metric.fit(X).between(X[rows], X[others])
