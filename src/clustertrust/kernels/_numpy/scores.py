"""Moments of cells and of silhouettes, scores and their errors."""

from __future__ import annotations

import numpy as np

from clustertrust._types import AnyFloats, Floats, Ints
from clustertrust.kernels.rules import Fusing


def cell_sums(
    X: AnyFloats, cell_of: Ints, base: Floats, part: tuple[int, int], sums: Floats
) -> None:
    """Add x - base[j] to sums[j] for each point x of cell j in the rows of a part."""
    rows = slice(*part)
    np.add.at(sums, cell_of[rows], X[rows] - base[cell_of[rows]])


def cell_squares(
    X: AnyFloats, cell_of: Ints, means: Floats, part: tuple[int, int], squares: Floats
) -> None:
    """Add |x - means[j]|² to squares[j] for each point x of cell j in the rows of a part."""
    rows = slice(*part)
    np.add.at(squares, cell_of[rows], ((X[rows] - means[cell_of[rows]]) ** 2).sum(axis=1))


def cluster_sums(
    rows: Ints,
    start: Ints,
    counts: Ints,
    means: Floats,
    origin: Floats,
    part: tuple[int, int],
    sums: Floats,
) -> None:
    """Add counts[j] (means[j] - origin) to the sums (K, d) of the clusters that hold cell j."""
    some = slice(*part)
    weighted = counts[some, None] * (means[some] - origin)
    for r, run in enumerate(rows[some].T):
        np.add.at(sums, start[r] + run[run >= 0], weighted[run >= 0])


def cluster_squares(
    rows: Ints,
    start: Ints,
    counts: Ints,
    means: Floats,
    inside: Floats,
    centers: Floats,
    part: tuple[int, int],
    squares: Floats,
) -> None:
    """Add inside[j] + counts[j] |means[j] - centers[c]|² to squares[c] for each cell j of c."""
    for j in range(*part):
        c = (start[:-1] + rows[j])[rows[j] >= 0]
        squares[c] += inside[j] + counts[j] * ((means[j] - centers[c]) ** 2).sum(axis=1)


def moments(s: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each row, without its NaN."""
    runs = (~np.isnan(s)).sum(axis=1)
    divisor = np.where(runs > 0, runs, np.nan)
    mean = np.nansum(s, axis=1) / divisor
    return mean, np.sqrt(np.nansum((s - mean[:, None]) ** 2, axis=1) / divisor)


def moments_without_each(s: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of the other values of each row, without NaN."""
    mean, std = np.empty((2, *s.shape))
    for r in range(s.shape[1]):
        mean[:, r], std[:, r] = moments(np.delete(s, r, axis=1))
    return mean, std


def score(
    at: Ints,
    of: Ints,
    cells: tuple[Floats, Floats],
    ballots: tuple[Ints, Floats],
    near: tuple[Floats, Ints, int],
    extra: Floats,
    fusing: Fusing,
    out: tuple[Floats, Floats, Ints],
) -> int:
    """Scores of the points `at` and all that belongs to them; how many lack a rival."""
    j, (s, nearest, reference) = of[at], near
    (c, cell_runs, strength), sums = cells[0][:, j], cells[1][j]
    (labels, second), votes = ballots[0][:, j], ballots[1][j]
    rival = np.where(second >= 0, second, nearest[:, reference])
    s = np.nan_to_num(s, nan=0.0) if fusing.disagree else s
    mean, std = moments(s)
    score = _fuse(c, mean - std, fusing)
    is_odd = (~np.isnan(s)).sum(axis=1) != cell_runs
    errors = np.hypot(*_errors(c, sums, np.where(is_odd, 0, cell_runs), s, fusing))
    if fusing.parts > 0:
        more = extra[at]
        score, errors = score + more, errors + 0 * more
    score, errors = score / (1 + fusing.parts), errors / (1 + fusing.parts)
    out[0][:, at] = score, c, _normalize(mean - std, fusing), mean, std, errors, strength
    out[1][at] = votes
    out[2][:, at] = labels, rival
    return int(((rival < 0) & (labels >= 0)).sum())


def _normalize(low: Floats, fusing: Fusing) -> Floats:
    return np.asarray(np.clip((low + 1) / 2, 0, 1) if fusing.affine else np.maximum(low, 0))


def _fuse(c: Floats, low: Floats, fusing: Fusing) -> Floats:
    g = _normalize(low, fusing)
    if not fusing.harmonic:
        return c * g
    return np.divide(2 * c * g, c + g, out=np.zeros_like(c + g), where=c + g != 0)


def _errors(
    c: Floats, sums: Floats, run_counts: Ints, s: Floats, fusing: Fusing
) -> tuple[Floats, Floats]:
    """By the jackknife, each score without a run computed anew, and by runs not seen: O(n R²)."""
    runs = np.where(run_counts < 3, np.nan, run_counts)

    def lows(values: Floats) -> Floats:
        mean, std = moments(values)
        return mean - std

    def spread(values: Floats) -> Floats:
        mean = np.nansum(values, axis=1) / runs
        return np.asarray(
            np.sqrt((runs - 1) / runs * np.nansum((values - mean[:, None]) ** 2, axis=1))
        )

    agreed = sums.sum(axis=1) / 2
    low = lows(s)
    left_low, theta = np.full(s.shape, np.nan), np.full(s.shape, np.nan)
    for r in range(s.shape[1]):
        here = ~np.isnan(s[:, r]) & (run_counts >= 3)
        left_low[here, r] = lows(np.delete(s[here], r, axis=1))
        without = (agreed - sums[:, r]) / ((runs - 1) * (runs - 2) / 2)
        theta[here, r] = _fuse(np.clip(without, 0, 1), left_low[:, r], fusing)[here]
    errors, score = spread(theta), _fuse(c, low, fusing)
    g = _normalize(low, fusing)
    rise = np.abs(_fuse(c, low + fusing.z * spread(left_low), fusing) - score) / fusing.z
    errors = np.where(g == 0, np.maximum(errors, rise), errors)
    left = 1 - 2 / (runs + 2)
    less = 2 * left * g - 1 if fusing.affine else left * g
    return errors, np.abs(score - _fuse(left * c, less, fusing))
