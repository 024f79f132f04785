"""The tree of HDBSCAN."""

from __future__ import annotations

import numpy as np

from clustertrust._types import AnyFloats, Ints


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
