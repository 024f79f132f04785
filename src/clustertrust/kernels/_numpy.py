"""The kernels in plain NumPy: what the compiled ones are tested against, and what runs where Numba cannot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]
Floats = NDArray[np.floating]


def meet(labels: Ints) -> tuple[Ints, Ints]:
    """Cell of each row of `labels` (n, R) and first row of each cell; cells count up by first appearance."""
    _, first, of = np.unique(labels, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return rank[of.ravel()], first[order]


def contingencies(rows: Ints, counts: Ints, run: int, others: Ints, k: int, k_others: int) -> Ints:
    """Tables (len(others), k, k_others) of points by cluster of `run` and of each other run, Eq. (4)."""
    tables = np.zeros((len(others), k, k_others), dtype=np.int64)
    for table, other in zip(tables, others, strict=True):
        both = (rows[:, run] >= 0) & (rows[:, other] >= 0)
        np.add.at(table, (rows[both, run], rows[both, other]), counts[both])
    return tables


def agreement_sums(rows: Ints, to: Ints) -> Ints:
    """out[j, r] = number of other runs that agree with run r on row j, Eq. (6); `to` is (R, R, k)."""
    sums = np.zeros(rows.shape, dtype=np.int32)
    for r in range(rows.shape[1]):
        for q in range(r):
            matched = np.where(rows[:, r] >= 0, to[r, q, rows[:, r]], -1)
            agree = (matched >= 0) & (matched == rows[:, q])
            sums[:, r] += agree
            sums[:, q] += agree
    return sums


def distance_sums(X: Floats, Y: Floats, start: Ints) -> NDArray[np.float64]:
    """out[i, j] = sum of |X[i] - y| over cell j, the columns start[j]:start[j + 1] of Y (d, n)."""
    out = np.empty((len(X), start.size - 1))
    for i, x in enumerate(X):
        distances = np.sqrt(((x[:, None] - Y) ** 2).sum(axis=0))
        out[i] = np.add.reduceat(distances, start[:-1], dtype=np.float64)
    return out


def own_and_nearest(means: Floats, own: Ints, start: Ints) -> tuple[Floats, Floats, Ints]:
    """Mean dissimilarity to the own cluster, to the nearest other one, and which one that is, for every run.

    `means` is (b, K) with the clusters of run r in the columns start[r]:start[r + 1]; `own` is (b, R).
    NaN and -1 where the point is not assigned; infinity and -1 where there is no other cluster.
    """
    a = np.full(own.shape, np.nan)
    b = np.full(own.shape, np.nan)
    nearest = np.full(own.shape, -1, dtype=np.int32)
    for r in range(own.shape[1]):
        i = np.flatnonzero(own[:, r] >= 0)
        if i.size == 0:
            continue
        block = means[i, start[r] : start[r + 1]].astype(np.float64)
        at = np.arange(i.size), own[i, r]
        a[i, r] = block[at]
        block[at] = np.inf
        closest = block.argmin(axis=1)
        b[i, r] = block[np.arange(i.size), closest]
        nearest[i, r] = np.where(np.isinf(b[i, r]), -1, closest)
    return a, b, nearest


def squared_distances(X: Floats, centers: Floats) -> NDArray[np.float64]:
    """|x - c|² for each row of X (b, d) and of `centers` (K, d): (b, K)."""
    return np.array([((x - centers) ** 2).sum(axis=1) for x in X]).reshape(len(X), len(centers))
