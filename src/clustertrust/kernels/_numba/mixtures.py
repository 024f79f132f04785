"""EM of mixtures, Gaussians or Student's t: whole fits, without Python in between.

On some hundred points a step takes less time than the calls of NumPy that it would be made of. A
point that is no member of a cluster is left out of its sums.
"""

from __future__ import annotations

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.kernels._numba.compiling import TILE, compiled, inlined, inner
from clustertrust.kernels._numba.densities import exp_of, squares_of, turn
from clustertrust.kernels.rules import (
    DIAGONAL,
    FULL,
    NO_MEMBER,
    NOTHING,
    SPHERICAL,
    TIED,
    Mixing,
)

_LEAST = float(np.finfo(np.float64).tiny)
# Factors whose product stays within the range of floats.
_FACTORS = 16


@inner
def _moments(columns, P, weights, kind, moments, held):  # type: ignore[no-untyped-def]
    """Sizes, means and covariances of clusters; of the latter no more than the kind needs."""
    sizes, means, covariances = moments
    own, counted, weighted, members = held
    p, n = columns.shape
    for j in range(sizes.size):
        mean, covariance, memberships, weight = means[j], covariances[j], P[j], weights[j]
        count, size, mass = 0, 0.0, 0.0
        for i in range(n):
            members[count] = i
            count += memberships[i] > NO_MEMBER
            size += memberships[i]
        # Rows of all points, in order, are read faster than those of half of them.
        is_most = 2 * count > n
        count = n if is_most else count
        for c in range(count):
            counted[c] = weight[c] if is_most else weight[members[c]]
            mass += counted[c]
        size, mass = size if size > _LEAST else _LEAST, mass if mass > _LEAST else _LEAST
        sizes[j] = size
        for a in range(p):
            column, row, total = columns[a], own[a], 0.0
            if not is_most:
                for c in range(count):
                    row[c] = column[members[c]]
                column = row
            for c in range(count):
                total += counted[c] * column[c]
            mean[a] = total / mass
            for c in range(count):
                row[c] = column[c] - mean[a]
        for a in range(p):
            row = own[a]
            for c in range(count):
                weighted[c] = counted[c] * row[c]
            for b in range(a if kind in (DIAGONAL, SPHERICAL) else 0, a + 1):
                other, total = own[b], 0.0
                for c in range(count):
                    total += weighted[c] * other[c]
                covariance[a, b] = covariance[b, a] = total / size


@inlined
def _pool(moments, pooled):  # type: ignore[no-untyped-def]
    """The covariance within all clusters, and the number of points."""
    sizes, means, covariances = moments
    (k, p), everyone = means.shape, 0.0
    for j in range(k):
        everyone += sizes[j]
    for a in range(p):
        for b in range(p):
            total = 0.0
            for j in range(k):
                total += sizes[j] * covariances[j, a, b]
            pooled[a, b] = total / everyone
    return everyone


@inlined
def _shrink(own, size, mixing, C):  # type: ignore[no-untyped-def]
    """The covariance of a component from that of a cluster, by the kind and the prior."""
    p, prior, extra = C.shape[0], mixing.prior, mixing.extra
    is_full = mixing.kind in (FULL, TIED)
    trace, of_prior = 0.0, 0.0
    for a in range(p):
        trace += own[a, a] / p
        of_prior += prior[a, a] / p
    for a in range(p):
        for b in range(p):
            value, drawn_to = own[a, b], prior[a, b]
            if mixing.kind == SPHERICAL:
                value, drawn_to = trace, of_prior
            drawn = (size * value + extra * drawn_to) / (size + extra)
            C[a, b] = mixing.added[a, b] + (drawn if is_full or a == b else 0.0)


@inlined
def _whiten(C, whiten):  # type: ignore[no-untyped-def]
    """C = L Lᵀ becomes L and `whiten` L⁻¹; return log |C|, NaN if C is not positive definite."""
    p = C.shape[0]
    logdet = 0.0
    for a in range(p):
        for b in range(a + 1):
            total = C[a, b]
            for c in range(b):
                total -= C[a, c] * C[b, c]
            if a > b:
                C[a, b] = total / C[b, b]
            elif total > 0:
                C[a, a] = np.sqrt(total)
            else:
                return np.nan
        logdet += 2 * np.log(C[a, a])
        for b in range(a + 1):
            total = 1.0 if a == b else 0.0
            for c in range(b, a):
                total -= C[a, c] * whiten[c, b]
            whiten[a, b] = total / C[a, a]
    return logdet


@inlined
def _log_product(totals):  # type: ignore[no-untyped-def]
    """Σ log totals[i], all from 1 to the number of components: few logarithms."""
    logs = 0.0
    for low in range(0, totals.size, _FACTORS):
        high = low + _FACTORS if low + _FACTORS < totals.size else totals.size
        product = 1.0
        for i in range(low, high):
            product *= totals[i]
        logs += np.log(product)
    return logs


@inlined
def _gaussians(P, part, highest, totals):  # type: ignore[no-untyped-def]
    """Log densities of components become memberships; return Σ log of their sums."""
    low, high = part
    k, most, likelihood = P.shape[0], highest[low:high], 0.0
    for i in range(most.size):
        most[i], totals[i] = P[0, low + i], 0.0
    for j in range(1, k):
        row = P[j, low:high]
        for i in range(row.size):
            most[i] = row[i] if row[i] > most[i] else most[i]
    for j in range(k):
        row = P[j, low:high]
        for i in range(row.size):
            below = row[i] - most[i]
            value = exp_of(below if below > -NOTHING else -NOTHING)
            row[i] = value if below > -NOTHING else 0.0
            totals[i] += row[i]
    for i in range(most.size):
        likelihood += most[i]
    likelihood += _log_product(totals[: most.size])
    _divide(P, low, high, totals)
    return likelihood


@inner
def _divide(P, low, high, totals):  # type: ignore[no-untyped-def]
    for i in range(high - low):
        totals[i] = 1 / totals[i]
    for j in range(P.shape[0]):
        row = P[j, low:high]
        for i in range(row.size):
            row[i] *= totals[i]


@inlined
def _students(P, weights, part, heights, powers, highest, totals):  # type: ignore[no-untyped-def]
    """Squared distances become memberships, and those times weights; return Σ log of sums.

    A density is that at its mean times (1 + s / freedom)^(-(freedom + p) / 2).
    """
    (low, high), (freedom, p) = part, powers
    half, odd = (freedom + p) // 2, (freedom + p) % 2
    most, likelihood = highest[low:high], 0.0
    for i in range(most.size):
        most[i], totals[i] = _LEAST, _LEAST
    for j in range(P.shape[0]):
        row, weight, height = P[j, low:high], weights[j, low:high], heights[j]
        for i in range(row.size):
            weight[i] = freedom / (freedom + row[i])
            row[i] = height
        if odd:
            for i in range(row.size):
                row[i] *= np.sqrt(weight[i])
        for _ in range(half):
            for i in range(row.size):
                row[i] *= weight[i]
        for i in range(row.size):
            most[i] = row[i] if row[i] > most[i] else most[i]
            totals[i] += row[i]
            weight[i] *= (freedom + p) / freedom
    for i in range(most.size):
        likelihood += np.log(totals[i])
    _divide(P, low, high, totals)
    for j in range(P.shape[0]):
        row, weight = P[j, low:high], weights[j, low:high]
        for i in range(row.size):
            weight[i] *= row[i]
    return likelihood


@inlined
def _is_diagonal(mixing):  # type: ignore[no-untyped-def]
    """Whether all covariances are."""
    diagonal = mixing.kind in (DIAGONAL, SPHERICAL)
    for a in range(mixing.added.shape[0]):
        for b in range(a):
            diagonal &= mixing.added[a, b] == 0 and mixing.added[b, a] == 0
    return diagonal


@compiled
def _em(columns, moments, mixing, found, held):  # type: ignore[no-untyped-def]
    sizes, means, covariances = moments
    labels, highest, likelihoods = found
    pooled, C, whiteners, peaks, heights, P, weights, row, gathered, tiles, of_turned = held
    apart, turned, zeros = tiles
    # Where distances are squared: the mean and the weight of each axis, once points are turned.
    centers, scales = of_turned
    (p, n), k, freedom = columns.shape, sizes.size, mixing.freedom
    is_tied, is_diagonal = mixing.kind == TIED, _is_diagonal(mixing)
    last, step, peak = -np.inf, 0, 0.0
    while True:
        everyone = _pool(moments, pooled)
        peak, logdet = -np.inf, 0.0
        for j in range(k):
            if j == 0 or not is_tied:
                own = pooled if is_tied else covariances[j]
                _shrink(own, everyone if is_tied else sizes[j], mixing, C)
                logdet = _whiten(C, whiteners[j])
                if np.isnan(logdet):
                    return -1
            peaks[j] = np.log(sizes[j] / everyone) - 0.5 * logdet + mixing.constant
            peak = peaks[j] if peaks[j] > peak else peak
            for a in range(p):
                centers[j, a] = means[j, a] if is_diagonal else 0.0
                scales[j, a] = whiteners[j, a, a] * whiteners[j, a, a] if is_diagonal else 1.0
                for b in range(a + 1 if is_tied else 0):
                    centers[j, a] += whiteners[0, a, b] * means[j, b]
        for j in range(k):
            heights[j] = np.exp(peaks[j] - peak)
        likelihood = 0.0 if freedom == 0 else n * peak
        for low in range(0, n, TILE):
            high = low + TILE if low + TILE < n else n
            if is_tied:
                turn(columns, low, high - low, zeros, whiteners[0], apart, turned)
            for j in range(k):
                squares = P[j, low:high]
                if is_diagonal:
                    squares_of(columns, low, centers[j], scales[j], squares)
                else:
                    if not is_tied:
                        turn(columns, low, high - low, means[j], whiteners[j], apart, turned)
                    squares_of(turned, 0, centers[j], scales[j], squares)
                for i in range(squares.size if freedom == 0 else 0):
                    squares[i] = peaks[j] - 0.5 * squares[i]
            part = (low, high)
            if freedom == 0:
                likelihood += _gaussians(P, part, highest, row)
            else:
                likelihood += _students(P, weights, part, heights, (freedom, p), highest, row)
        likelihoods[step] = likelihood
        step += 1
        ends = mixing.down < likelihood - last < mixing.up
        last = likelihood
        if mixing.moves_last or not ends:
            _moments(columns, P, weights, mixing.kind, moments, gathered)
        if ends or step == likelihoods.size:
            break
    for i in range(n):
        if freedom > 0:
            highest[i] = peak + np.log(highest[i])
        labels[i] = 0
        for j in range(1, k):
            if P[j, i] > P[labels[i], i]:
                labels[i] = j
    return step


def em(
    columns: Floats, start: tuple[Floats, Floats, Floats], mixing: Mixing
) -> tuple[tuple[Floats, Floats, Floats], Ints, Floats, Floats] | None:
    """EM from the moments of clusters: sizes (k,), means (k, p), covariances (k, p, p).

    `columns` (p, n) are the points. Return the moments of the last step, the likeliest component of
    each point (n,), the log density with it (n,), and the log likelihood of each step; None if a
    covariance is not positive definite. Off their diagonals covariances are not kept up to date
    where the kind needs none. O(n k p²) a step.
    """
    p, n = columns.shape
    moments = (start[0].copy(), start[1].copy(), start[2].copy())
    k = len(moments[0])
    found = (np.empty(n, dtype=np.int64), np.empty(n), np.empty(mixing.steps))
    P = np.empty((k, n))
    held = (
        np.empty((p, p)),
        np.empty((p, p)),
        np.empty((k, p, p)),
        np.empty(k),
        np.empty(k),
        P,
        np.empty((k, n)) if mixing.freedom else P,
        np.empty(TILE),
        _gathered(p, n),
        (np.empty((p, TILE)), np.empty((p, TILE)), np.zeros(p)),
        (np.empty((k, p)), np.empty((k, p))),
    )
    steps = _em(columns, moments, mixing, found, held)
    return None if steps < 0 else (moments, found[0], found[1], found[2][:steps])


def _gathered(p: int, n: int) -> tuple[Floats, Floats, Floats, Ints]:
    return np.empty((p, n)), np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)


@compiled
def _all_moments(columns, P, moments, held):  # type: ignore[no-untyped-def]
    _moments(columns, P, P, TIED, moments, held)


def mixture_moments(columns: Floats, P: Floats) -> tuple[Floats, Floats, Floats]:
    """Sizes (k,), means (k, p) and covariances (k, p, p) of clusters with memberships P (k, n)."""
    (p, n), k = columns.shape, len(P)
    moments = (np.empty(k), np.empty((k, p)), np.empty((k, p, p)))
    _all_moments(columns, P, moments, _gathered(p, n))
    return moments
