"""Moments of cells, of silhouettes, and the jackknife."""

from __future__ import annotations

import numpy as np

from clustertrust._types import AnyFloats, Bools, Floats, Ints
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


def moments(s: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each row, without its NaN."""
    runs = (~np.isnan(s)).sum(axis=1)
    divisor = np.where(runs > 0, runs, np.nan)
    mean = np.nansum(s, axis=1) / divisor
    return mean, np.sqrt(np.nansum((s - mean[:, None]) ** 2, axis=1) / divisor)


def jackknife(
    of: Ints, stability: tuple[Floats, Floats, Ints, Bools], s: Floats, fusing: Fusing
) -> Floats:
    """Errors of scores (2, n), each score without a run computed anew: O(n R²)."""
    c, sums, run_counts, counted = stability
    c, sums, run_counts, counted = c[of], sums[of], run_counts[of], counted[of]
    runs = np.where(run_counts < 3, np.nan, run_counts)

    def fuse(c: Floats, low: Floats) -> Floats:
        g = np.clip((low + 1) / 2, 0, 1) if fusing.affine else np.maximum(low, 0)
        if not fusing.harmonic:
            return c * g
        return np.divide(2 * c * g, c + g, out=np.zeros_like(c + g), where=c + g != 0)

    def lows(values: Floats) -> Floats:
        mean, std = moments(values)
        return mean - std

    def spread(values: Floats) -> Floats:
        mean = np.nansum(values, axis=1) / runs
        return np.asarray(
            np.sqrt((runs - 1) / runs * np.nansum((values - mean[:, None]) ** 2, axis=1))
        )

    s = np.where(counted, s, np.nan)
    agreed = sums.sum(axis=1) / 2
    low = lows(s)
    left_low, theta = np.full(s.shape, np.nan), np.full(s.shape, np.nan)
    for r in range(s.shape[1]):
        here = counted[:, r] & (run_counts >= 3)
        left_low[here, r] = lows(np.delete(s[here], r, axis=1))
        without = (agreed - sums[:, r]) / ((runs - 1) * (runs - 2) / 2)
        theta[here, r] = fuse(np.clip(without, 0, 1), left_low[:, r])[here]
    errors, score = spread(theta), fuse(c, low)
    g = np.clip((low + 1) / 2, 0, 1) if fusing.affine else np.maximum(low, 0)
    rise = np.abs(fuse(c, low + fusing.z * spread(left_low)) - score) / fusing.z
    errors = np.where(g == 0, np.maximum(errors, rise), errors)
    left = 1 - 2 / (runs + 2)
    less = 2 * left * g - 1 if fusing.affine else left * g
    return np.stack([errors, np.abs(score - fuse(left * c, less))])
