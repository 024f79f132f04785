"""Balls in which all points get the same label: a point inside one need not be compared further.

Around a center there is a radius up to which no other training point can be the nearest, and no
other Gaussian the densest. A point that lies closer to the center than that has its label at the
cost of one distance, however many points or Gaussians there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clustertrust._mixtures import Densities
from clustertrust._types import Array, Floats, Ints

# Halvings of an interval of radii
_HALVINGS = 30
# Radii are this much smaller than they may be: far more than rounding takes.
_SAFE = 1 - 1e-6


class Balls(NamedTuple):
    """The label of all points within each ball, and its radius: (g,); 0 where nothing is sure."""

    labels: Ints
    radii: Floats


def balls_of_points(points: Array, labels: Ints, centers: Floats) -> Balls:
    """Return balls around `centers` whose points have the label of their nearest of `points`.

    If the nearest point of one label is at a, and that of any other label at b, points within
    (b - a) / 2 are nearer to the first.
    """
    apart = np.array([np.linalg.norm(points - center, axis=1) for center in centers])
    label = labels[apart.argmin(axis=1)]
    others = np.where(labels == label[:, None], np.inf, apart).min(axis=1)
    return Balls(label, _SAFE * (others - apart.min(axis=1)) / 2)


def balls_of_densities(
    densities: Densities, centers: Floats, *, ahead: float, rival: float = -np.inf
) -> Balls:
    """Return balls around `centers` in which one Gaussian, times its share, is the densest.

    Logarithms of the others are smaller by more than `ahead`, and so is `rival`, that of a constant
    density.
    """
    peaks, means, whiteners = densities.peaks, densities.means, densities.whiteners
    spreads = np.linalg.svd(whiteners, compute_uv=False)
    # To each mean, (g, k): plain distances, and in units of its covariance
    apart = [centers - mean for mean in means]
    lengths = np.column_stack([np.linalg.norm(own, axis=1) for own in apart])
    pairs = zip(apart, whiteners, strict=True)
    whitened = np.column_stack([np.linalg.norm(own @ by, axis=1) for own, by in pairs])
    everyone = np.arange(len(centers))
    first = (peaks - 0.5 * whitened**2).argmax(axis=1)
    # Steps of one unit change a whitened distance by at most the first, at least the last.
    steepest, flattest = spreads[:, 0], spreads[:, -1]

    def is_sure(radii: Floats) -> Array:
        r = radii[:, None]
        nearest = np.maximum(whitened - r * steepest, flattest * (lengths - r))
        most = peaks - 0.5 * np.maximum(nearest, 0.0) ** 2
        most[everyone, first] = rival
        farthest = whitened[everyone, first] + radii * steepest[first]
        return np.asarray(peaks[first] - 0.5 * farthest**2 > most.max(axis=1) + ahead)

    low, high = np.zeros(len(centers)), lengths.max(axis=1)
    # With one Gaussian alone and no rival, any distance would do; this one is finite.
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        sure = is_sure(middle)
        low, high = np.where(sure, middle, low), np.where(sure, high, middle)
    return Balls(first, _SAFE * low)
