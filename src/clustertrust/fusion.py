"""Stability c and geometry g → the CAKE score, Eq. (8); with persistence p a score of our own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clustertrust._types import Floats

__all__ = ["FUSIONS", "WITH_PERSISTENCE", "harmonic", "product", "refined"]


def product(c: Floats, g: Floats) -> Floats:
    """The product c g, Eq. (8a)."""
    return c * g


def harmonic(c: Floats, g: Floats) -> Floats:
    """2 c g / (c + g), Eq. (8b), and 0 where c = g = 0, its limit. NaN stays NaN."""
    total = c + g
    return np.divide(2 * c * g, total, out=np.zeros_like(total), where=total != 0)


def refined(c: Floats, g: Floats, p: Floats) -> Floats:
    """(2 c g / (c + g) + p) / 2: the harmonic score and persistence p, halves of one.

    A mean, where Eq. (8) lets the weaker component decide: where spreads differ, silhouettes put
    the border of a cluster in the wrong place, and are too low on one side of it as much as they
    are too high on the other.
    """
    return (harmonic(c, g) + p) / 2


FUSIONS: dict[str, Callable[..., Floats]] = {
    "harmonic": harmonic,
    "product": product,
    "refined": refined,
}
WITH_PERSISTENCE = frozenset({"refined"})  # those of FUSIONS that take p as well
