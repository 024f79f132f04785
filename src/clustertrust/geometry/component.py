"""Silhouettes s (n, R) of all runs → the geometric component g = S̃, Eqs. (2) and (3)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clustertrust._devices import is_on_gpu
from clustertrust._types import Floats
from clustertrust.kernels import _cupy_scores, backend

# δ of `smooth`, twice its value where the mean silhouette is 0
BEND = 0.02


def mean_and_std(s: Floats) -> tuple[Floats, Floats]:
    """μ and σ over the runs that count, Eq. (2), from s (n, R), NaN where a run does not count."""
    if is_on_gpu(s):
        return _cupy_scores.moments(s)
    mean, std = backend().moments(np.ascontiguousarray(s, dtype=np.float64))
    return mean, std


def clip(mean: Floats, std: Floats) -> Floats:
    """S̃ = max(0, μ - σ), Eq. (3)."""
    return np.maximum(mean - std, 0.0)


def affine(mean: Floats, std: Floats) -> Floats:
    """((μ - σ) + 1) / 2, the footnote to Eq. (3), clipped because μ - σ may fall to -√2."""
    return np.clip((mean - std + 1.0) / 2.0, 0.0, 1.0)


def smooth(mean: Floats, std: Floats) -> Floats:
    """(μ + √(μ² + δ²)) / (1 + √(1 + δ²)): near max(0, μ), but it increases everywhere.

    Not the paper's. It is for runs that are meant to differ, such as communities at several
    resolutions: the spread of their silhouettes is no doubt, so σ is left out.
    """
    return np.asarray((mean + np.hypot(mean, BEND)) / (1.0 + np.hypot(1.0, BEND)))


NORMALIZATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "affine": affine,
    "clip": clip,
    "smooth": smooth,
}
