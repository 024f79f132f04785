"""Stability c and geometry g → the CAKE score, Eq. (8); with more components scores of our own.

A fusion is an object that says what it needs; its name, such as ``"harmonic"``, is short for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from clustertrust._errors import ParameterError, ParameterTypeError
from clustertrust._types import Floats
from clustertrust._validation.arguments import MOST, check_choice, check_count
from clustertrust.records import register


def product(c: Floats, g: Floats) -> Floats:
    """The product c g, Eq. (8a)."""
    return c * g


def harmonic(c: Floats, g: Floats) -> Floats:
    """2 c g / (c + g), Eq. (8b), and 0 where c = g = 0, its limit. NaN stays NaN."""
    total = c + g
    return 2 * c * g / np.where(total == 0, 1.0, total)


def refined(c: Floats, g: Floats, p: Floats) -> Floats:
    """(2 c g / (c + g) + p) / 2: the harmonic score and persistence p, equally weighted.

    A mean, where Eq. (8) lets the weaker component decide: where spreads differ, silhouettes put
    the border of a cluster in the wrong place, and are too low on one side of it as much as they
    are too high on the other.
    """
    return (harmonic(c, g) + p) / 2


class Fusion(BaseEstimator):
    """How components become a score; base class of `Harmonic`, the others and your own.

    Attributes
    ----------
    name : what it is called in settings
    uses_persistence : whether it is called with persistence as a third component
    uses_opinions : whether it is called with second opinions as the last component
    needs_coordinates : whether it refuses data without coordinates, where there is no persistence
    of_two : "harmonic" or "product" if the score is the mean of this function of stability and
        geometry and of the other components, which makes errors faster to compute; else ""

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE, Fusion
    >>> class Lowest(Fusion):
    ...     name = "lowest"
    ...     def __call__(self, c, g, *more):
    ...         return np.minimum(c, g)
    >>> CAKE(3, fusion=Lowest(), random_state=0).fit(load_iris().data).scores_.shape
    (150,)
    """

    name: ClassVar[str] = "own"
    uses_persistence: ClassVar[bool] = False
    uses_opinions: ClassVar[bool] = False
    needs_coordinates: ClassVar[bool] = True
    of_two: ClassVar[str] = ""

    def check(self) -> None:
        """Raise for a parameter that cannot be used."""

    def __init_subclass__(cls) -> None:
        """Let a model with this fusion be stored: its parameters are."""
        register(cls)

    def __call__(self, c: Floats, g: Floats, *more: Floats) -> Floats:
        """Return scores in [0, 1] of stability c and geometry g."""
        raise NotImplementedError(f"{type(self).__name__} needs a method __call__.")


class Harmonic(Fusion):
    """The harmonic mean of stability and geometry, Eq. (8b).

    Examples
    --------
    >>> import numpy as np
    >>> from clustertrust import Harmonic
    >>> Harmonic()(np.array([1.0, 0.5]), np.array([0.25, 0.5])).tolist()
    [0.4, 0.5]
    """

    name = of_two = "harmonic"

    def __call__(self, c: Floats, g: Floats, *more: Floats) -> Floats:
        """Return 2 c g / (c + g)."""
        return harmonic(c, g)


class Product(Fusion):
    """The product of stability and geometry, Eq. (8a).

    Examples
    --------
    >>> import numpy as np
    >>> from clustertrust import Product
    >>> Product()(np.array([1.0, 0.5]), np.array([0.25, 0.5])).tolist()
    [0.25, 0.25]
    """

    name = of_two = "product"

    def __call__(self, c: Floats, g: Floats, *more: Floats) -> Floats:
        """Return c g."""
        return product(c, g)


class Refined(Fusion):
    """The mean of the harmonic score and persistence; it needs dense points.

    Examples
    --------
    >>> import numpy as np
    >>> from clustertrust import Refined
    >>> stability, geometry, persistence = np.array([[1.0], [0.25], [0.6]])
    >>> Refined()(stability, geometry, persistence).tolist()
    [0.5]
    """

    name = "refined"
    of_two = "harmonic"
    uses_persistence = True

    def __call__(self, c: Floats, g: Floats, *more: Floats) -> Floats:
        """Return (harmonic + p) / 2."""
        return refined(c, g, *more)


class Combined(Fusion):
    """The mean of the harmonic score, of persistence and of second opinions.

    A second opinion is the share of a few runs of other methods that put the point into the same
    cluster (see :mod:`clustertrust.opinions`). Where points have no coordinates, persistence is
    left out.

    Parameters
    ----------
    methods : sequence of clusterers, optional
        The other methods, as in `clusterer`; those that take a number of clusters get that of the
        consensus. None: "gmm" and "spectral"; for distances without coordinates "kmedoids",
        "agglomerative" and "spectral".
    n_runs : int
        Runs of each method.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE, Combined
    >>> cake = CAKE(3, fusion=Combined(n_runs=3), random_state=0).fit(load_iris().data)
    >>> cake.second_opinions_.shape
    (150,)
    """

    name = "combined"
    of_two = "harmonic"
    uses_persistence = True
    uses_opinions = True
    needs_coordinates = False

    def __init__(self, methods: Sequence[Any] | None = None, n_runs: int = 4) -> None:
        self.methods = methods
        self.n_runs = n_runs

    def check(self) -> None:
        """Raise for a parameter that cannot be used."""
        check_count("n_runs", self.n_runs, at_least=1, at_most=MOST)
        if self.methods is None:
            return
        if isinstance(self.methods, str) or not isinstance(self.methods, Sequence):
            raise ParameterTypeError(
                "methods", self.methods, "must be a list of clusterers", "such as ['gmm']"
            )
        if not self.methods:
            raise ParameterError(
                "methods", self.methods, "is empty", "name one, or use {fusion='refined'}"
            )

    def __call__(self, c: Floats, g: Floats, *more: Floats) -> Floats:
        """Return the mean of the harmonic score and of all other components."""
        total: Floats = sum(more, start=harmonic(c, g))
        return total / (1 + len(more))


# A name is the object with its defaults. A class of your own can be added under a name.
FUSIONS: dict[str, type[Fusion]] = {
    "combined": Combined,
    "harmonic": Harmonic,
    "product": Product,
    "refined": Refined,
}


def as_fusion(fusion: Any) -> Fusion:
    """Return a fusion as an object."""
    if isinstance(fusion, Fusion):
        fusion.check()
        return fusion
    if not isinstance(fusion, str):
        raise ParameterTypeError(
            "fusion", fusion, "must be a name or a Fusion", f"choose one of {sorted(FUSIONS)}"
        )
    check_choice("fusion", fusion, FUSIONS)
    return FUSIONS[fusion]()
