"""Densities of mixtures of Gaussians at points."""

from __future__ import annotations

import math

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.kernels._numba.compiling import TILE, compiled, inlined, inner
from clustertrust.kernels.rules import NOTHING

# 1 / i!
_ONE_BY = tuple(1 / math.factorial(i) for i in range(13))
_MIDDLE = float(np.exp(-NOTHING / 2))


@inner
def turn(columns, low, here, mean, whiten, apart, out):  # type: ignore[no-untyped-def]
    """L⁻¹ (z - mean) into `out`, for points from `low` on side by side; four products a pass."""
    for a in range(mean.size):
        row, column, center = apart[a], columns[a, low : low + here], mean[a]
        for i in range(here):
            row[i] = column[i] - center
    for a in range(mean.size):
        turned = out[a]
        for i in range(here):
            turned[i] = 0.0
        last = (a + 1) // 4 * 4
        for b in range(0, last, 4):
            u, v, w, x = whiten[a, b], whiten[a, b + 1], whiten[a, b + 2], whiten[a, b + 3]
            one, two, three, four = apart[b], apart[b + 1], apart[b + 2], apart[b + 3]
            for i in range(here):
                turned[i] += u * one[i] + v * two[i] + w * three[i] + x * four[i]
        for b in range(last, a + 1):
            u, one = whiten[a, b], apart[b]
            for i in range(here):
                turned[i] += u * one[i]


@inner
def squares_of(rows, low, mean, weights, squares):  # type: ignore[no-untyped-def]
    """squares[i] = Σ weights (rows[:, low + i] - mean)²."""
    for i in range(squares.size):
        squares[i] = 0.0
    for a in range(mean.size):
        row, center, weight = rows[a, low : low + squares.size], mean[a], weights[a]
        for i in range(squares.size):
            apart = row[i] - center
            squares[i] += weight * apart * apart


@inlined
def exp_of(x):  # type: ignore[no-untyped-def]
    """exp(x) for x from -`NOTHING` to 0, to 14 digits; without branches, for vector registers.

    exp((x + 20) / 64) by its series, squared six times.
    """
    y = (x + NOTHING / 2) / 64
    z = y * _ONE_BY[12] + _ONE_BY[11]
    z = z * y + _ONE_BY[10]
    z = z * y + _ONE_BY[9]
    z = z * y + _ONE_BY[8]
    z = z * y + _ONE_BY[7]
    z = z * y + _ONE_BY[6]
    z = z * y + _ONE_BY[5]
    z = z * y + _ONE_BY[4]
    z = z * y + _ONE_BY[3]
    z = z * y + _ONE_BY[2]
    z = z * y + 1
    z = z * y + 1
    z *= z
    z *= z
    z *= z
    z *= z
    z *= z
    z *= z
    return z * _MIDDLE


@compiled
def _joint(columns, gaussians, logs, found, scratch):  # type: ignore[no-untyped-def]
    peaks, means, whiteners = gaussians
    totals, labels = found
    apart, turned, zeros, ones, tile, most, total = scratch
    k, n = peaks.size, columns.shape[1]
    for low in range(0, n, TILE):
        high = low + TILE if low + TILE < n else n
        here, first = high - low, labels[low:high]
        for j in range(k):
            # In a tile of their own: rows of `logs` may be a power of two apart.
            row = tile[j, :here]
            turn(columns, low, here, means[j], whiteners[j], apart, turned)
            squares_of(turned, 0, zeros, ones, row)
            for i in range(here):
                row[i] = peaks[j] - 0.5 * row[i]
                is_more = j == 0 or row[i] > most[i]
                first[i] = j if is_more else first[i]
                most[i] = row[i] if is_more else most[i]
        if totals.size == 0:
            continue
        # That of the largest is 1 to the last bit.
        for i in range(here):
            total[i] = 1.0
        for j in range(k):
            row, out = tile[j], logs[j, low:high]
            for i in range(here):
                out[i] = row[i]
                below = row[i] - most[i]
                counts = below > -NOTHING and first[i] != j
                total[i] += exp_of(below if counts else 0.0) if counts else 0.0
        sums = totals[low:high]
        for i in range(here):
            sums[i] = most[i] + np.log(total[i])


def joint_densities(
    columns: Floats, peaks: Floats, means: Floats, whiteners: Floats, *, sums: bool = True
) -> tuple[Floats, Floats, Ints]:
    """log(share f) of each Gaussian at points `columns` (p, n): (k, n); log of their sum, and the
    largest: (n,).

    Without `sums` only the last is filled. `peaks` (k,) are those at the means (k, p), `whiteners`
    (k, p, p) the inverses of the lower triangles whose squares are the covariances. O(n k p²).
    """
    p, n = columns.shape
    logs = np.empty((len(peaks), n if sums else 0))
    found = (np.empty(n if sums else 0), np.empty(n, dtype=np.int64))
    scratch = (
        np.empty((p, TILE)),
        np.empty((p, TILE)),
        np.zeros(p),
        np.ones(p),
        np.empty((len(peaks), TILE)),
        np.empty(TILE),
        np.empty(TILE),
    )
    _joint(np.ascontiguousarray(columns), (peaks, means, whiteners), logs, found, scratch)
    return logs, *found
