"""What some measures return, and the interval of a mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from clustertrust._types import Floats
from clustertrust._validation.arguments import check_floats, check_inside


@dataclass(frozen=True)
class Curve:
    """Something measured on the surest points, at several coverages.

    Attributes
    ----------
    coverage : (p,) share of the points kept, increasing
    value : (p,) risk or accuracy among them
    """

    coverage: Floats
    value: Floats


@dataclass(frozen=True)
class Interval:
    """A mean and the limits of its confidence interval."""

    mean: float
    low: float
    high: float


def student_interval(values: ArrayLike, *, level: float = 0.95) -> Interval:
    """Mean ± t(level, N - 1) s / √N, s the standard deviation with N - 1; not clipped to any range.

    Parameters
    ----------
    values : (N,) finite numbers, at least two
    level : float
        Coverage of the interval, between 0 and 1.

    Returns
    -------
    Interval

    Examples
    --------
    >>> from clustertrust.evaluation import student_interval
    >>> student_interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484..., high=4.484...)
    """
    numbers = check_floats("values", values, "at least two finite numbers in one flat sequence")
    if numbers.ndim != 1 or numbers.size < 2 or not np.isfinite(numbers).all():
        raise ValueError(
            f"values has shape {numbers.shape}; give at least two finite numbers in one flat "
            "sequence."
        )
    level = check_inside("level", level, remedy="0.95 is usual")
    with np.errstate(over="ignore", invalid="ignore"):
        half = (
            student.ppf((1 + level) / 2, numbers.size - 1)
            * numbers.std(ddof=1)
            / np.sqrt(numbers.size)
        )
        mean = float(numbers.mean())
    if not np.isfinite(mean + half):
        raise ValueError(
            f"values go up to {np.abs(numbers).max():.3g}, too large to be squared; divide them "
            "first."
        )
    return Interval(mean, mean - float(half), mean + float(half))
