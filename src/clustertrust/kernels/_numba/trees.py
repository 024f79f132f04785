"""Least spanning trees under mutual reachability, for HDBSCAN."""

from __future__ import annotations

import numpy as np

from clustertrust.kernels._numba.compiling import strictly


@strictly
def rounded_distances(data, are_distances, i, out):  # type: ignore[no-untyped-def]
    """out[j] = |x_j - x_i| to 33 bits, for points (d, n), or distances (n, n) as they are.

    O(n d) for points, by features, so that points share registers.
    """
    d, n = data.shape
    for j in range(n):
        out[j] = data[i, j] if are_distances else 0.0
    if not are_distances:
        for f in range(d):
            column, there = data[f], data[f, i]
            for j in range(n):
                out[j] += (column[j] - there) ** 2
        for j in range(n):
            out[j] = np.sqrt(out[j])
    for j in range(n):
        length = out[j]
        wide = length * 1048577.0  # 2²⁰ + 1: Dekker's way to cut off the last 20 bits
        out[j] = wide - (wide - length)


@strictly
def grow_tree(edge, newest, outside, distances, best, tree):  # type: ignore[no-untyped-def]
    """Write the next edge of the least tree and return the point that it adds. O(n).

    `best` holds each point's best edge into the tree: weight, length, and the point where it ends
    there. `distances` are those from the newest point, and each point's to its k-th nearest;
    `outside` are the points to come.
    """
    distance, core = distances
    weight, length, inner = best
    ends, weights, lengths = tree
    nearest = outside[0]
    for j in outside:
        here = max(max(core[newest], core[j]), distance[j])
        if here <= weight[j]:  # the quick question first
            new = (here, distance[j], min(newest, j), max(newest, j))
            if new < (weight[j], length[j], min(inner[j], j), max(inner[j], j)):
                weight[j], length[j], inner[j] = here, distance[j], newest
        if weight[j] <= weight[nearest]:
            mine = (weight[j], length[j], min(inner[j], j), max(inner[j], j))
            if mine < (
                weight[nearest],
                length[nearest],
                min(inner[nearest], nearest),
                max(inner[nearest], nearest),
            ):
                nearest = j
    ends[edge, 0], ends[edge, 1] = min(inner[nearest], nearest), max(inner[nearest], nearest)
    weights[edge], lengths[edge] = weight[nearest], length[nearest]
    return nearest


@strictly
def reachability_tree(data, k, are_distances):  # type: ignore[no-untyped-def]
    """The least spanning tree under mutual reachability: ends (n - 1, 2), weights, lengths.

    Of points (d, n), or of distances (n, n).

    The length of an edge is the distance of its ends, its weight the largest of that and both
    points' distances to their k-th nearest point (themselves the first). Edges of one weight are
    ordered by length, then by their points, so there is one least tree. Prim's algorithm, O(n² d),
    twice: distances are computed again, not kept.
    """
    n = data.shape[1]
    distance, core = np.empty(n), np.empty(n)
    for i in range(n):
        rounded_distances(data, are_distances, i, distance)
        core[i] = np.partition(distance, k - 1)[k - 1]
    tree = (np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1), np.empty(n - 1))
    best = (np.full(n, np.inf), np.full(n, np.inf), np.zeros(n, dtype=np.int64))
    outside = np.arange(n)
    newest = 0
    for edge in range(n - 1):
        outside = outside[outside != newest]
        rounded_distances(data, are_distances, newest, distance)
        newest = grow_tree(edge, newest, outside, (distance, core), best, tree)
    return tree
