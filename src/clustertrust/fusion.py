"""Stability c and geometry g → the CAKE score, Eq. (8); with persistence p a score of our own.

A fusion is an object that says what it needs; its name, such as ``"harmonic"``, is short for it.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from clustertrust._errors import ParameterTypeError
from clustertrust._types import Floats
from clustertrust._validation import check_choice
from clustertrust.records import register


def product(c: Floats, g: Floats) -> Floats:
    """The product c g, Eq. (8a)."""
    return c * g


def harmonic(c: Floats, g: Floats) -> Floats:
    """2 c g / (c + g), Eq. (8b), and 0 where c = g = 0, its limit. NaN stays NaN."""
    total = c + g
    return np.divide(2 * c * g, total, out=np.zeros_like(total), where=total != 0)


def refined(c: Floats, g: Floats, p: Floats) -> Floats:
    """(2 c g / (c + g) + p) / 2: the harmonic score and persistence p, equally weighted.

    A mean, where Eq. (8) lets the weaker component decide: where spreads differ, silhouettes put
    the border of a cluster in the wrong place, and are too low on one side of it as much as they
    are too high on the other.
    """
    return (harmonic(c, g) + p) / 2


class Fusion(BaseEstimator):
    """How components become a score; the base of `Harmonic` and the others, and of your own.

    Attributes
    ----------
    name : what it is called in settings
    uses_persistence : whether it is called with persistence as a third component
    """

    name: ClassVar[str] = "own"
    uses_persistence: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Let a model with this fusion be stored: its parameters are."""
        register(cls)

    def __call__(self, c: Floats, g: Floats, *more: Floats) -> Floats:
        """Return scores in [0, 1] of stability c and geometry g."""
        raise NotImplementedError(f"{type(self).__name__} needs a method __call__.")


class Harmonic(Fusion):
    """The harmonic mean of stability and geometry, Eq. (8b)."""

    name = "harmonic"

    def __call__(self, c: Floats, g: Floats, *more: Floats) -> Floats:
        """Return 2 c g / (c + g)."""
        return harmonic(c, g)


class Product(Fusion):
    """The product of stability and geometry, Eq. (8a)."""

    name = "product"

    def __call__(self, c: Floats, g: Floats, *more: Floats) -> Floats:
        """Return c g."""
        return product(c, g)


class Refined(Fusion):
    """The mean of the harmonic score and persistence; it needs dense points."""

    name = "refined"
    uses_persistence = True

    def __call__(self, c: Floats, g: Floats, *more: Floats) -> Floats:
        """Return (harmonic + p) / 2."""
        return refined(c, g, *more)


# A name is the object with its defaults. A class of your own can be added under a name.
FUSIONS: dict[str, type[Fusion]] = {
    "harmonic": Harmonic,
    "product": Product,
    "refined": Refined,
}


def as_fusion(fusion: Any) -> Fusion:
    """Return a fusion as an object."""
    if isinstance(fusion, Fusion):
        return fusion
    if not isinstance(fusion, str):
        raise ParameterTypeError(
            "fusion", fusion, "must be a name or a Fusion", f"choose one of {sorted(FUSIONS)}"
        )
    check_choice("fusion", fusion, FUSIONS)
    return FUSIONS[fusion]()
