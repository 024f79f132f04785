"""Stability c and geometry g → the CAKE score, Eq. (8)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["FUSIONS", "harmonic", "product"]

Floats = NDArray[np.float64]


def product(c: Floats, g: Floats) -> Floats:
    """C g, Eq. (8a)."""
    return c * g


def harmonic(c: Floats, g: Floats) -> Floats:
    """2 c g / (c + g), Eq. (8b), and 0 where c = g = 0, its limit. NaN stays NaN."""
    total = c + g
    return np.divide(2 * c * g, total, out=np.zeros_like(total), where=total != 0)


FUSIONS: dict[str, Callable[[Floats, Floats], Floats]] = {"harmonic": harmonic, "product": product}
