"""k-medoids: swaps of medoids with points, as long as one helps."""

from __future__ import annotations

import numpy as np

from clustertrust.kernels._numba.compiling import compiled
from clustertrust.kernels._numba.pairs import distances_from


@compiled
def nearest_two(to_medoid, nearest, first, second, removal):  # type: ignore[no-untyped-def]
    """From distances (k, n): each point's nearest medoid, its two smallest distances, and what each
    removal costs. Returns the least gain of a swap that counts.

    A gain within rounding of the loss is none: among ties, which rounded data have many of, swaps
    would never end.
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
    return 1e-14 * first.sum()


@compiled
def best_swap(distance, nearest, first, second, removal, least):  # type: ignore[no-untyped-def]
    """The medoid that a candidate should replace, -1 if no swap gains more than `least`. O(n).

    `distance` (n,) is from the candidate to all points; the others are as `nearest_two` left them.
    """
    gain = removal.copy()
    shared = 0.0
    for i in range(distance.size):
        there = distance[i]
        if there < second[i]:
            if there < first[i]:
                shared += there - first[i]
                gain[nearest[i]] += first[i] - second[i]
            else:
                gain[nearest[i]] += there - second[i]
    best = gain.argmin()
    return best if gain[best] + shared < -least else -1


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
    nearest, removal = np.empty(n, dtype=np.int64), np.empty(k)
    least = nearest_two(to_medoid, nearest, first, second, removal)
    without = 0
    for sweep in range(max_iter):
        for c in range(n):
            if not (medoids == c).any():
                distances_from(X, c, distance)
                best = best_swap(distance, nearest, first, second, removal, least)
                if best >= 0:
                    medoids[best] = c
                    to_medoid[best] = distance
                    least = nearest_two(to_medoid, nearest, first, second, removal)
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
    and is returned: n or more where no single swap gains. O(b n), and O(n k) for each swap.
    """
    k, n = to_medoid.shape
    first, second = np.empty(n), np.empty(n)
    nearest, removal = np.empty(n, dtype=np.int64), np.empty(k)
    least = nearest_two(to_medoid, nearest, first, second, removal)
    for at in range(block.shape[0]):
        c = start + at
        if not (medoids == c).any():
            best = best_swap(block[at], nearest, first, second, removal, least)
            if best >= 0:
                medoids[best] = c
                to_medoid[best] = block[at]
                least = nearest_two(to_medoid, nearest, first, second, removal)
                without = -1
        without += 1
        if without >= n:
            break
    return without
