"""The kernels compiled by Numba: plain loops, no options, no locks.

Each releases the GIL, so callers hand blocks of rows to threads. A block is one thread's own work, so the
result has the same bits for any number of threads. Numba's own threads are not used: its OpenMP layer dies
in a forked child, its workqueue when two threads enter at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

# Sums may be regrouped, which is what lets the loops below run in vector registers; NaN and infinity keep
# their meaning.
_REGROUP = {"reassoc", "contract", "nsz"}
_COLUMNS = 512  # points a tile: with its features it stays in the first-level cache for small d


def compiled(function: Callable[..., Any]) -> Any:
    """Compile at the first call; keep the machine code on disk where some folder can be written to."""
    try:
        return numba.njit(nogil=True, cache=True, fastmath=_REGROUP)(function)
    except RuntimeError:  # no folder for the cache
        return numba.njit(nogil=True, fastmath=_REGROUP)(function)


@compiled
def meet(labels):  # type: ignore[no-untyped-def]
    """Cell of each row of `labels` (n, R) and first row of each cell; cells count up by first appearance.

    O(n R) expected: one look at each row, found again in a hash table that is at most half full.
    """
    n, R = labels.shape
    size = 16
    while size < 2 * n:
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    of = np.empty(n, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    m = 0
    for i in range(n):
        key = np.uint64(14695981039346656037)  # FNV-1a over the labels of the row
        for r in range(R):
            key = (key ^ np.uint64(labels[i, r] + 1)) * np.uint64(1099511628211)
        key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(size - 1))
        while True:
            cell = table[slot]
            if cell < 0:
                table[slot] = m
                of[i] = m
                first[m] = i
                m += 1
                break
            same = True
            for r in range(R):
                if labels[first[cell], r] != labels[i, r]:
                    same = False
                    break
            if same:
                of[i] = cell
                break
            slot = (slot + 1) & (size - 1)
    return of, first[:m].copy()


@compiled
def contingencies(rows, counts, run, others, k, k_others):  # type: ignore[no-untyped-def]
    """Tables (len(others), k, k_others) of points by cluster of `run` and of each other run, Eq. (4).

    O(m len(others)): one sweep over the cells serves all other runs.
    """
    tables = np.zeros((others.size, k, k_others), dtype=np.int64)
    for j in range(rows.shape[0]):
        own = rows[j, run]
        if own >= 0:
            for t in range(others.size):
                other = rows[j, others[t]]
                if other >= 0:
                    tables[t, own, other] += counts[j]
    return tables


@compiled
def agreement_sums(rows, to):  # type: ignore[no-untyped-def]
    """out[j, r] = number of other runs that agree with run r on row j, Eq. (6); `to` is (R, R, k).

    O(m R²/2), each pair of runs once.
    """
    m, R = rows.shape
    sums = np.zeros((m, R), dtype=np.int32)
    for j in range(m):
        for r in range(1, R):
            own = rows[j, r]
            if own >= 0:
                for q in range(r):
                    matched = to[r, q, own]
                    if matched >= 0 and matched == rows[j, q]:
                        sums[j, r] += 1
                        sums[j, q] += 1
    return sums


@compiled
def distance_sums(X, Y, start):  # type: ignore[no-untyped-def]
    """out[i, j] = sum of |X[i] - y| over cell j, the columns start[j]:start[j + 1] of Y (d, n).

    O(len(X) n d), once for all runs. Y is laid out by feature so that the inner loops run over points.
    """
    n, d = Y.shape[1], Y.shape[0]
    out = np.zeros((X.shape[0], start.size - 1))
    squares = np.empty(_COLUMNS, dtype=X.dtype)
    for i in range(X.shape[0]):
        j = 0
        for low in range(0, n, _COLUMNS):
            width = min(_COLUMNS, n - low)
            squares[:width] = 0
            for f in range(d):
                x = X[i, f]
                y = Y[f, low : low + width]
                for p in range(width):
                    difference = x - y[p]
                    squares[p] += difference * difference
            for p in range(width):
                squares[p] = np.sqrt(squares[p])
            p = 0
            while p < width:
                end = min(width, start[j + 1] - low)
                total = 0.0  # float64 whatever X is: float32 sums drift
                for q in range(p, end):
                    total += squares[q]
                out[i, j] += total
                p = end
                if low + p == start[j + 1]:
                    j += 1
    return out


@compiled
def own_and_nearest(means, own, start):  # type: ignore[no-untyped-def]
    """Mean dissimilarity to the own cluster, to the nearest other one, and which one that is, for every run.

    `means` is (b, K) with the clusters of run r in the columns start[r]:start[r + 1]; `own` is (b, R).
    NaN and -1 where the point is not assigned; infinity and -1 where there is no other cluster.
    """
    a = np.full(own.shape, np.nan)
    b = np.full(own.shape, np.nan)
    nearest = np.full(own.shape, -1, dtype=np.int32)
    for i in range(own.shape[0]):
        for r in range(own.shape[1]):
            if own[i, r] >= 0:
                mine = start[r] + own[i, r]
                least = np.inf
                for c in range(start[r], start[r + 1]):
                    if c != mine and means[i, c] < least:
                        least = means[i, c]
                        nearest[i, r] = c - start[r]
                a[i, r] = means[i, mine]
                b[i, r] = least
    return a, b, nearest


@compiled
def squared_distances(X, centers):  # type: ignore[no-untyped-def]
    """|x - c|² for each row of X (b, d) and of `centers` (K, d): (b, K). O(b K d)."""
    out = np.zeros((X.shape[0], centers.shape[0]))
    for i in range(X.shape[0]):
        for c in range(centers.shape[0]):
            square = 0.0
            for f in range(centers.shape[1]):
                difference = X[i, f] - centers[c, f]
                square += difference * difference
            out[i, c] = square
    return out
