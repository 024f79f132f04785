"""Silhouettes s (n, R) of all runs → the geometric component g = S̃, Eqs. (2) and (3)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clustertrust._types import Floats


def mean_and_std(s: Floats) -> tuple[Floats, Floats]:
    """μ and σ over the runs that count, Eq. (2).

    `s` is (n, R), NaN where a run does not count; σ divides by the number of runs that count.
    """
    counts = np.isfinite(s)
    if counts.all():
        mean = s.mean(axis=1)
        deviation = s - mean[:, None]
        return mean, np.sqrt(np.square(deviation, out=deviation).mean(axis=1))
    runs = counts.sum(axis=1)
    divisor = np.where(runs > 0, runs, np.nan)
    mean = np.where(counts, s, 0.0).sum(axis=1) / divisor
    deviation = np.where(counts, s - mean[:, None], 0.0)
    return mean, np.sqrt((deviation**2).sum(axis=1) / divisor)


def clip(mean: Floats, std: Floats) -> Floats:
    """S̃ = max(0, μ - σ), Eq. (3)."""
    return np.maximum(mean - std, 0.0)


def affine(mean: Floats, std: Floats) -> Floats:
    """((μ - σ) + 1) / 2, the footnote to Eq. (3), clipped because μ - σ may fall to -√2."""
    return np.clip((mean - std + 1.0) / 2.0, 0.0, 1.0)


NORMALIZATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {"affine": affine, "clip": clip}
