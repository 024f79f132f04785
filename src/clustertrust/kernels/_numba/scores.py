"""Moments of cells and of silhouettes, and the jackknife: what a score takes from each point."""

from __future__ import annotations

import numpy as np

from clustertrust._types import Bools, Floats, Ints
from clustertrust.kernels._numba.compiling import compiled, inner
from clustertrust.kernels.rules import Fusing


@compiled
def cell_sums(X, cell_of, base, part, sums):  # type: ignore[no-untyped-def]
    """sums[j] += x - base[j] for the points x of cell j among the rows part[0]:part[1]. O(n d)."""
    for i in range(part[0], part[1]):
        j = cell_of[i]
        x, origin, total = X[i], base[j], sums[j]
        for f in range(total.size):
            total[f] += np.float64(x[f]) - origin[f]


@compiled
def cell_squares(X, cell_of, means, part, squares):  # type: ignore[no-untyped-def]
    """squares[j] += |x - means[j]|² for the points x of cell j in the rows part[0]:part[1]."""
    for i in range(part[0], part[1]):
        j = cell_of[i]
        x, mean = X[i], means[j]
        total = 0.0
        for f in range(mean.size):
            difference = np.float64(x[f]) - mean[f]
            total += difference * difference
        squares[j] += total


@compiled
def _moments(s, mean, std):  # type: ignore[no-untyped-def]
    n, R = s.shape
    for i in range(n):
        row = s[i]
        total, runs = 0.0, 0
        for r in range(R):
            there = row[r] == row[r]  # not NaN
            total += row[r] if there else 0.0
            runs += there
        if runs == 0:
            mean[i] = std[i] = np.nan
            continue
        middle, squares = total / runs, 0.0
        for r in range(R):
            away = row[r] - middle if row[r] == row[r] else 0.0
            squares += away * away
        mean[i], std[i] = middle, np.sqrt(squares / runs)


def moments(s: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (n,) of each row of s (n, R), without its NaN. O(n R)."""
    mean, std = np.empty((2, len(s)))
    _moments(s, mean, std)
    return mean, std


@inner
def _fuse(c, g, harmonic):  # type: ignore[no-untyped-def]
    """2 c g / (c + g), 0 where both are 0; or c g."""
    if not harmonic:
        return c * g
    total = c + g
    return 2 * c * g / total if total != 0 else 0.0


@inner
def _clip(value, most):  # type: ignore[no-untyped-def]
    """The nearest number from 0 to `most`; NaN stays NaN."""
    return 0.0 if value < 0.0 else most if value > most else value


@inner
def _normalize(low, affine):  # type: ignore[no-untyped-def]
    """Mean less std → [0, 1], or [0, ∞) where it is only clipped."""
    return _clip((low + 1.0) / 2.0, 1.0) if affine else _clip(low, np.inf)


@inner
def _spread(values, counted, runs):  # type: ignore[no-untyped-def]
    """The jackknife error of values (R,), each without one run."""
    total = 0.0
    for r in range(values.size):
        total += values[r] if counted[r] else 0.0
    mean, squares = total / runs, 0.0
    for r in range(values.size):
        away = values[r] - mean if counted[r] else 0.0
        squares += away * away
    return np.sqrt((runs - 1) / runs * squares)


@compiled
def _jackknife(of, stability, s, fusing, between, out):  # type: ignore[no-untyped-def]
    all_c, agreements, run_counts, all_counted = stability
    n, R = s.shape
    away, low, theta = between
    for i in range(n):
        j = of[i]
        counted, sums, row = all_counted[j], agreements[j], s[i]
        runs = np.float64(run_counts[j])
        if runs < 3:
            out[0, i] = out[1, i] = np.nan
            continue
        total, agreed = 0.0, 0.0
        for r in range(R):
            total += row[r] if counted[r] else 0.0
            agreed += sums[r]
        mean, agreed = total / runs, agreed / 2
        squares = 0.0
        for r in range(R):  # around the mean the variance loses no digits
            away[r] = row[r] - mean if counted[r] else 0.0
            squares += away[r] * away[r]
        pairs = (runs - 1) * (runs - 2) / 2
        for r in range(R):
            shift = away[r] / (runs - 1)
            variance = (squares - away[r] * away[r]) / (runs - 1) - shift * shift
            low[r] = mean - shift - np.sqrt(_clip(variance, np.inf))
            c = _clip((agreed - sums[r]) / pairs, 1.0)
            theta[r] = _fuse(c, _normalize(low[r], fusing.affine), fusing.harmonic)
        error = _spread(theta, counted, runs)
        std, c = np.sqrt(squares / runs), all_c[j]
        g = _normalize(mean - std, fusing.affine)
        score = _fuse(c, g, fusing.harmonic)
        if g == 0:
            high = mean + fusing.z * _spread(low, counted, runs) - std
            risen = _fuse(c, _normalize(high, fusing.affine), fusing.harmonic)
            raised = abs(risen - score) / fusing.z
            error = raised if raised > error else error
        left = 1 - 2 / (runs + 2)
        out[0, i] = error
        out[1, i] = abs(score - _fuse(left * c, left * g, fusing.harmonic))


def jackknife(
    of: Ints, stability: tuple[Floats, Floats, Ints, Bools], s: Floats, fusing: Fusing
) -> Floats:
    """Errors (2, n): of the jackknife over the runs that count, and by runs of a kind not seen yet.

    `of` (n,) is the row of `stability` of each point: c (m,), the agreements of each run with all
    others (m, R), the number of runs that count (m,), and which do (m, R). `s` (n, R) are the
    silhouettes. The score without a run comes from sums, so no run is scored again: O(n R). NaN
    where fewer than three runs count.
    """
    out, between = np.empty((2, len(s))), np.empty((3, s.shape[1]))
    _jackknife(of, stability, s, fusing, (between[0], between[1], between[2]), out)
    return out
