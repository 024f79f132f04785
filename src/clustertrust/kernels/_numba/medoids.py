"""k-medoids: swaps of medoids with points, as long as one helps."""

from __future__ import annotations

import numpy as np

from clustertrust.kernels._numba.compiling import compiled
from clustertrust.kernels._numba.pairs import distances_from


@compiled
def nearest_two(to_medoid, nearest, first, second, removal):  # type: ignore[no-untyped-def]
    """From distances (k, n): each point's nearest medoid, its two smallest distances, and what each
    removal costs.
    """
    k, n = to_medoid.shape
    for i in range(n):
        first[i] = np.inf
        second[i] = np.inf
        nearest[i] = 0
        for m in range(k):
            if to_medoid[m, i] < first[i]:
                second[i] = first[i]
                first[i] = to_medoid[m, i]
                nearest[i] = m
            elif to_medoid[m, i] < second[i]:
                second[i] = to_medoid[m, i]
    if k == 1:  # there is no second: any bound on the distances to come serves in its place
        bound = 2 * first.max()
        for i in range(n):
            second[i] = bound
    for m in range(k):
        removal[m] = 0.0
    for i in range(n):
        removal[nearest[i]] += second[i] - first[i]


@compiled
def fasterpam(X, start, max_iter):  # type: ignore[no-untyped-def]
    """Medoids (k,) of X (n, d) by eager swaps from `start`, and the number of sweeps. O(n² d) a
    sweep.

    For each point the nearest and the second nearest medoid are kept, and for each medoid what its
    removal would cost. A candidate then needs one pass over the points to know its best swap,
    whichever medoid that is with, and a swap that gains is made at once. After n candidates without
    one no single swap gains.
    """
    n, k = X.shape[0], start.size
    medoids = start.copy()
    to_medoid = np.empty((k, n))
    for m in range(k):
        distances_from(X, medoids[m], to_medoid[m])
    distance, first, second = np.empty(n), np.empty(n), np.empty(n)
    nearest = np.empty(n, dtype=np.int64)
    removal, gain = np.empty(k), np.empty(k)
    nearest_two(to_medoid, nearest, first, second, removal)
    without = 0
    for sweep in range(max_iter):
        for c in range(n):
            is_medoid = False
            for m in range(k):
                is_medoid = is_medoid or medoids[m] == c
            if not is_medoid:
                distances_from(X, c, distance)
                for m in range(k):
                    gain[m] = removal[m]
                shared = 0.0
                for i in range(n):
                    if distance[i] < first[i]:
                        shared += distance[i] - first[i]
                        gain[nearest[i]] += first[i] - second[i]
                    elif distance[i] < second[i]:
                        gain[nearest[i]] += distance[i] - second[i]
                best = 0
                for m in range(1, k):
                    if gain[m] < gain[best]:
                        best = m
                if gain[best] + shared < 0:
                    medoids[best] = c
                    for i in range(n):
                        to_medoid[best, i] = distance[i]
                    nearest_two(to_medoid, nearest, first, second, removal)
                    without = -1
            without += 1
            if without >= n:
                return medoids, sweep + 1
    return medoids, max_iter


@compiled
def try_swaps(block, start, medoids, to_medoid, without):  # type: ignore[no-untyped-def]
    """Try the points start:start + b as medoids; `block` (b, n) are their distances to all points.

    As `fasterpam`, for distances that are known. `medoids` (k,) and the distances from them,
    `to_medoid` (k, n), are changed in place. `without` counts the candidates since the last swap
    and is returned: n or more where no single swap gains. A gain within rounding of the loss is
    none, otherwise ties could be swapped for ever. O(b n), and O(n k) for each swap.
    """
    k, n = to_medoid.shape
    first, second = np.empty(n), np.empty(n)
    nearest = np.empty(n, dtype=np.int64)
    removal, gain = np.empty(k), np.empty(k)
    nearest_two(to_medoid, nearest, first, second, removal)
    least = 1e-14 * first.sum()
    for at in range(block.shape[0]):
        c = start + at
        is_medoid = False
        for m in range(k):
            is_medoid = is_medoid or medoids[m] == c
        if not is_medoid:
            distance = block[at]
            for m in range(k):
                gain[m] = removal[m]
            shared = 0.0
            for i in range(n):
                there = distance[i]
                if there < second[i]:
                    if there < first[i]:
                        shared += there - first[i]
                        gain[nearest[i]] += first[i] - second[i]
                    else:
                        gain[nearest[i]] += there - second[i]
            best = 0
            for m in range(1, k):
                if gain[m] < gain[best]:
                    best = m
            if gain[best] + shared < -least:
                medoids[best] = c
                for i in range(n):
                    to_medoid[best, i] = distance[i]
                nearest_two(to_medoid, nearest, first, second, removal)
                without = -1
        without += 1
        if without >= n:
            break
    return without
