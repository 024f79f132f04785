"""Columns made comparable: which scale a table needs, and what the columns are divided by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from clustertrust._types import Floats
from clustertrust.tables.plan import TablePlan

# Columns in one unit have ranges within this factor: Iris has 2.5, mpg 8, wine 514.
ONE_UNIT = 5.0
# The standard deviation of a bell curve is that of its quartiles; where outliers rule it is a
# multiple of it.
OUTLIERS = 5.0
# Robust scales clip values at so many spreads around the median.
LIMIT = 5.0
# Between the quartiles of a bell curve of standard deviation 1.
QUARTILES = 1.349


@dataclass(frozen=True)
class Measures:
    """What values are made comparable by: (x - centers) / scales, held within ±limit.

    Attributes
    ----------
    centers, scales : (features,)
    limit : largest absolute value; infinite where there is none
    """

    centers: Floats
    scales: Floats
    limit: float = np.inf


def choose_scale(plan: TablePlan, X: pd.DataFrame) -> tuple[str, str]:
    """Return the scale that the columns that are used need, and why."""
    single = _number_features(plan)
    values = X.to_numpy(np.float64)[:, single]
    if len(single) < 2:
        with_categories = len(single) < X.shape[1]
        return (
            ("standard", "a number and categories") if single and with_categories else ("none", "")
        )
    low, high = _ends(values)
    ranges = (high - low)[high > low]
    if len(ranges) < 2:
        return "none", ""
    factor = ranges.max() / np.quantile(ranges, 0.25, method="lower")
    if factor <= ONE_UNIT:
        return "none", "the columns have similar ranges"
    shown = f"{factor:,.0f}" if 10 <= factor < 1e6 else f"{factor:.2g}"
    reason = f"since their ranges differ by a factor of {shown} (scale='none' keeps them)"
    has_outliers = np.nanstd(values, axis=0) > OUTLIERS * _quartile_spread(values)
    if has_outliers.any():
        names = [X.columns[single[j]] for j in np.flatnonzero(has_outliers)]
        return "robust", f"{reason}, and outliers rule {', '.join(map(str, names[:3]))}"
    return "standard", reason


def _number_features(plan: TablePlan) -> list[int]:
    """Return the positions of the features that are columns of numbers."""
    used = plan.used
    return [j for j, source in enumerate(plan.sources) if used[source].use == "number"]


def _ends(values: Floats) -> tuple[Floats, Floats]:
    finite = np.isfinite(values)
    low = np.where(finite, values, np.inf).min(axis=0)
    high = np.where(finite, values, -np.inf).max(axis=0)
    return low, high


def _quartile_spread(values: Floats) -> Floats:
    """Return the standard deviation by the quartiles, or by all values if half are equal."""
    low, high = np.nanquantile(values, [0.25, 0.75], axis=0)
    spread: Floats = (high - low) / QUARTILES
    return np.where(spread > 0, spread, np.nanstd(values, axis=0))


def measures(plan: TablePlan, values: Floats) -> Measures:
    """Return what the columns (rows, features) are made comparable by.

    A category weighs as much as a number: its columns share one scale, by which two random rows
    differ in them as much as in a number.
    """
    center, scale, limit = SCALES[plan.scale](values)
    scale = np.where(scale > 1e-12 * np.maximum(np.abs(center), 1e-300), scale, 1.0)
    numbers = _number_features(plan)
    # what a number counts, in squares: the weight that a category gets
    spread = np.nanvar(np.clip((values - center) / scale, -limit, limit), axis=0)
    weight = spread[numbers].mean() if numbers and spread[numbers].mean() > 0 else 1.0
    for position, column in enumerate(plan.used):
        if column.use == "category":
            mine = plan.sources == position
            shares = np.nanmean(values[:, mine], axis=0)
            center[mine] = shares
            total = (shares * (1 - shares)).sum()
            scale[mine] = np.sqrt(total / weight) if total > 0 else 1.0
    return Measures(center, scale, limit)


def _none(values: Floats) -> tuple[Floats, Floats, float]:
    return np.zeros(values.shape[1]), np.ones(values.shape[1]), np.inf


def _standard(values: Floats) -> tuple[Floats, Floats, float]:
    filled = np.where(np.isfinite(values), values, np.nanmean(values, axis=0))
    return np.nanmean(values, axis=0), filled.std(axis=0), np.inf


def _robust(values: Floats) -> tuple[Floats, Floats, float]:
    return np.nanmedian(values, axis=0), _quartile_spread(values), LIMIT


def _minmax(values: Floats) -> tuple[Floats, Floats, float]:
    low, high = _ends(values)
    return low, high - low, np.inf


SCALES = {"none": _none, "standard": _standard, "robust": _robust, "minmax": _minmax}
