"""Columns made comparable: which scale a table needs, and what the columns are divided by.

Sums are taken over all rows, in pieces of a fixed size, and quantiles over the rows that are looked
at. So a table has the same scales in memory and in blocks, to the bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from clustertrust._errors import InputError, literal
from clustertrust._types import Bools, Floats, Ints
from clustertrust.tables.plan import Columns, TablePlan
from clustertrust.tables.rows import in_pieces

# Columns in one unit have ranges within this factor: Iris has 2.5, mpg 8, wine 514.
ONE_UNIT = 5.0
# The standard deviation of a bell curve is that of its quartiles; where outliers rule it is a
# multiple of it.
OUTLIERS = 5.0
# Robust scales clip values at so many spreads around the median.
LIMIT = 5.0
# Between the quartiles of a bell curve of standard deviation 1.
QUARTILES = 1.349
# Rows whose sums are taken at once.
PIECE = 4096


@dataclass(frozen=True)
class Measures:
    """What gaps become, and what values are made comparable by: (x - centers) / scales.

    Attributes
    ----------
    means : (features,) what missing values become
    centers, scales : (features,)
    limits : (features,) largest absolute value after that; infinite where there is none
    """

    means: Floats
    centers: Floats
    scales: Floats
    limits: Floats

    @property
    def is_scaled(self) -> bool:
        """Whether any column is not as it is in the table."""
        changed = self.centers.any() or (self.scales != 1).any()
        return bool(changed or np.isfinite(self.limits).any())

    def fill(self, X: Any) -> Any:
        """Replace missing values by the means."""
        return np.where(np.isfinite(X), X, self.means.astype(X.dtype))

    def scale(self, X: Any) -> Any:
        """Return values as they are clustered."""
        if not self.is_scaled:
            return X
        return np.clip((X - self.centers) / self.scales, -self.limits, self.limits)

    def unscale(self, X: Any) -> Any:
        """Return clustered values as they are in the table, but for those that were clipped."""
        return X * self.scales + self.centers if self.is_scaled else X

    def to_json(self) -> dict[str, Any]:
        """Return what is stored in a model file; JSON has no infinity."""
        limits = [None if np.isinf(limit) else limit for limit in self.limits.tolist()]
        kept = {name: getattr(self, name).tolist() for name in ("means", "centers", "scales")}
        return {**kept, "limits": limits}

    @classmethod
    def from_json(cls, kept: Any) -> Measures:
        """Read what is stored in a model file."""
        limits = [np.inf if limit is None else limit for limit in kept["limits"]]
        parts = (kept["means"], kept["centers"], kept["scales"], limits)
        return cls(*(np.array(values, dtype=np.float64) for values in parts))


class Moments(NamedTuple):
    """Of each column its known values, their mean, squares around it, smallest and largest."""

    known: Floats
    means: Floats
    squares: Floats
    lows: Floats
    highs: Floats


def moments_of(X: Floats) -> Moments:
    """Return the moments of the columns of X (rows, d), without missing values."""
    finite = np.isfinite(X)
    known = finite.sum(axis=0).astype(np.float64)
    lows = np.where(finite, X, np.inf).min(axis=0, initial=np.inf)
    highs = np.where(finite, X, -np.inf).max(axis=0, initial=-np.inf)
    X = np.where(finite, X, 0.0).astype(np.float64, copy=False)
    means = X.sum(axis=0) / np.maximum(known, 1)
    squares = (np.where(finite, X - means, 0.0) ** 2).sum(axis=0)
    return Moments(known, means, squares, lows, highs)


def added(one: Moments, two: Moments) -> Moments:
    """Return the moments of all rows of both, by Chan's formula."""
    both = one.known + two.known
    share = two.known / np.maximum(both, 1)
    shift = two.means - one.means
    return Moments(
        both,
        one.means + shift * share,
        one.squares + two.squares + shift**2 * (one.known * share),
        np.minimum(one.lows, two.lows),
        np.maximum(one.highs, two.highs),
    )


@dataclass
class ColumnTotals:
    """What a pass over a table learns of the columns that are used.

    Attributes
    ----------
    rows : rows that are clustered
    n_missing : missing values of each column
    counts : how often each category occurs, of each column of categories
    moments : of the columns of numbers; None: no row has come yet
    """

    rows: int = 0
    n_missing: Ints | int = 0
    counts: list[Counter[str]] = field(default_factory=list)
    moments: Moments | None = None

    def count(self, columns: Columns, points: Bools, kept: Bools) -> Floats:
        """Count some rows, and return the numbers of those that are clustered.

        `points` are the rows that are points, `kept` those that are clustered.
        """
        self.rows += int(kept.sum())
        self.n_missing = self.n_missing + columns.lost[points].sum(axis=0)
        counts = [_counted(texts[kept]) for texts in columns.texts]
        self.counts = counts if not self.counts else list(map(_together, self.counts, counts))
        return columns.numbers if kept.all() else columns.numbers[kept]

    def measure(self, numbers: Iterable[Floats]) -> None:
        """Add up the moments of the numbers of blocks of rows, in pieces of one size."""
        parts = map(moments_of, in_pieces(numbers, PIECE))
        for part in parts:
            self.moments = part if self.moments is None else added(self.moments, part)


def _counted(texts: Any) -> Counter[str]:
    return Counter(texts.value_counts().to_dict())


def _together(one: Counter[str], two: Counter[str]) -> Counter[str]:
    return one + two


def add_totals(parts: Sequence[ColumnTotals]) -> ColumnTotals:
    """Return the totals of all parts of a table."""
    moments = [part.moments for part in parts if part.moments is not None]
    counts = [part.counts for part in parts if part.counts]
    return ColumnTotals(
        sum(part.rows for part in parts),
        sum(part.n_missing for part in parts),
        [reduce(_together, column) for column in zip(*counts, strict=True)],
        reduce(added, moments) if moments else None,
    )


def measure(
    plan: TablePlan, totals: ColumnTotals, looked_at: Floats, encoded: Sequence[Floats] = ()
) -> Measures:
    """Return what the features of a plan are made comparable by.

    `looked_at` are the numbers of the rows that quantiles are taken of, and `encoded` what
    transformers made of other columns there. A category weighs as much as a number: its columns
    share one scale, by which two random rows differ in them as much as in a number. So does what
    was encoded.
    """
    numbers = [column for column in plan.used if column.use == "number"]
    moments = moments_of(np.empty((0, len(numbers)))) if totals.moments is None else totals.moments
    empty = [c.name for c, known in zip(numbers, moments.known, strict=True) if not known]
    if empty:
        raise InputError(
            f"The column {literal(repr(empty[0]))} has no known value and so no mean; leave it "
            "out with {drop}."
        )
    center, scale, limit = SCALES[plan.scale](moments, totals.rows, looked_at)
    scale = np.where(scale > 1e-12 * np.maximum(np.abs(center), 1e-300), scale, 1.0)
    spread = moments.squares / np.maximum(moments.known, 1) / scale**2
    clipped = np.isfinite(limit)
    if clipped.any():
        held = np.clip((looked_at - center) / scale, -limit, limit)[:, clipped]
        spread[clipped] = np.nanvar(held, axis=0)
    weight = spread.mean() if len(spread) and spread.mean() > 0 else 1.0
    of_numbers = iter(np.column_stack([moments.means, center, scale, limit]))
    of_categories = iter(totals.counts)
    parts = []
    for column in plan.used:
        if column.use == "number":
            parts.append(next(of_numbers)[None, :])
            continue
        counts = next(of_categories)
        known = np.array([counts[level] for level in column.levels], dtype=np.float64)
        shares = known / max(known.sum(), 1.0)
        total = (shares * (1 - shares)).sum()
        width = np.sqrt(total / weight) if total > 0 else 1.0
        parts.append(np.column_stack(np.broadcast_arrays(shares, shares, width, np.inf)))
    for values in encoded:
        means, total = np.nanmean(values, axis=0), np.nanvar(values, axis=0).sum()
        width = np.sqrt(total / weight) if total > 0 else 1.0
        parts.append(np.column_stack(np.broadcast_arrays(means, means, width, np.inf)))
    return Measures(*np.concatenate(parts).T.copy())


Centers = tuple[Floats, Floats, Floats]


def _none(moments: Moments, rows: int, looked_at: Floats) -> Centers:
    d = len(moments.means)
    return np.zeros(d), np.ones(d), np.full(d, np.inf)


def _standard(moments: Moments, rows: int, looked_at: Floats) -> Centers:
    """Take missing values as the mean: they count in the deviations."""
    deviations = np.sqrt(moments.squares / max(1, rows))
    return moments.means, deviations, np.full(len(deviations), np.inf)


def _robust(moments: Moments, rows: int, looked_at: Floats) -> Centers:
    return (
        np.nanmedian(looked_at, axis=0).astype(np.float64),
        _quartile_spread(looked_at),
        np.full(looked_at.shape[1], LIMIT),
    )


def _minmax(moments: Moments, rows: int, looked_at: Floats) -> Centers:
    return moments.lows, moments.highs - moments.lows, np.full(len(moments.lows), np.inf)


SCALES = {"none": _none, "standard": _standard, "robust": _robust, "minmax": _minmax}


def choose_scale(plan: TablePlan, values: Floats) -> tuple[str, str]:
    """Return the scale that the numbers of a plan need, by those that are looked at, and why."""
    names = [column.name for column in plan.used if column.use == "number"]
    if len(names) < 2:
        with_categories = len(names) < len(plan.used)
        return (
            ("standard", "a number and categories") if names and with_categories else ("none", "")
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
        heavy = [names[j] for j in np.flatnonzero(has_outliers)]
        return "robust", f"{reason}, and outliers rule {', '.join(heavy[:3])}"
    return "standard", reason


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
