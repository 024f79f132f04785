"""Least spanning trees under mutual reachability, for HDBSCAN."""

from __future__ import annotations

import numpy as np

from clustertrust.kernels._numba.compiling import strictly


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


# The same loops again: Numba cannot keep a function on disk that takes another one.


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
