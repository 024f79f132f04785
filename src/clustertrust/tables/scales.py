"""Columns made comparable: which scale a table needs, and what the columns are divided by.

Sums are taken over all rows, in pieces of a fixed size, and quantiles over the rows that are looked
at. So a table has the same scales in memory and in blocks, to the bit.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from clustertrust._errors import InputError, literal
from clustertrust._types import Bools, Floats, Ints
from clustertrust.tables.column import Columns
from clustertrust.tables.plan import TablePlan
from clustertrust.tables.rows import in_pieces

# Values are clipped at so many spreads around the median, by robust scales and where a column has
# outliers.
LIMIT = 5.0
# Between the quartiles of a bell curve of standard deviation 1.
QUARTILES = 1.349
# Rows whose sums are taken at once.
PIECE = 4096


@dataclass(frozen=True)
class Measures:
    """What gaps become, and what values are made comparable by: clipped, (x - centers) / scales.

    Attributes
    ----------
    means : (features,) what missing values become
    centers, scales : (features,)
    lows, highs : (features,) what values are clipped at first; infinite where they are not
    """

    means: Floats
    centers: Floats
    scales: Floats
    lows: Floats
    highs: Floats

    @classmethod
    def nothing(cls, d: int) -> Measures:
        """Return measures that change nothing."""
        zeros = np.zeros(d)
        return cls(zeros, zeros, zeros + 1.0, zeros - np.inf, zeros + np.inf)

    @property
    def is_scaled(self) -> bool:
        """Whether any column is not as it is in the table."""
        changed = self.centers.any() or (self.scales != 1).any()
        return bool(changed or np.isfinite([self.lows, self.highs]).any())

    def fill(self, X: Any) -> Any:
        """Replace missing values by the means."""
        return np.where(np.isfinite(X), X, self.means.astype(X.dtype))

    def scale(self, X: Any) -> Any:
        """Return values, without gaps or with them, on the scale that they are clustered on."""
        if not self.is_scaled:
            return X
        return (np.clip(X, self.lows, self.highs) - self.centers) / self.scales

    def unscale(self, X: Any) -> Any:
        """Return clustered values as they are in the table, but for those that were clipped."""
        return X * self.scales + self.centers if self.is_scaled else X

    def to_json(self) -> dict[str, Any]:
        """Return what is stored in a model file; JSON has no infinity."""
        kept = {name: getattr(self, name).tolist() for name in _MEASURES}
        for name in ("lows", "highs"):
            kept[name] = [None if np.isinf(value) else value for value in kept[name]]
        return kept

    @classmethod
    def from_json(cls, kept: Any) -> Measures:
        """Read what is stored in a model file."""
        otherwise = {"lows": -np.inf, "highs": np.inf}
        parts = [
            [otherwise.get(name) if value is None else value for value in kept[name]]
            for name in _MEASURES
        ]
        return cls(*(np.array(values, dtype=np.float64) for values in parts))


_MEASURES = tuple(one.name for one in fields(Measures))


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
    with np.errstate(over="ignore", invalid="ignore"):
        # `measure` refuses what overflows.
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


class Spread(NamedTuple):
    """Of each column of numbers its median, its spread, and what it is clipped at."""

    medians: Floats
    spreads: Floats
    lows: Floats
    highs: Floats

    def clip(self, numbers: Floats) -> Floats:
        """Return the numbers without outliers."""
        if not np.isfinite([self.lows, self.highs]).any():
            return numbers
        return np.clip(numbers, self.lows, self.highs)


def spread_of(plan: TablePlan, looked_at: Floats) -> Spread:
    """Return medians, spreads and limits of the columns of numbers, by those looked at."""
    numbers = [column for column in plan.used if column.use == "number"]
    if not len(looked_at):
        looked_at = np.zeros((1, len(numbers)))
    medians = np.array(quiet_quantiles(looked_at, 0.5), dtype=np.float64)
    spreads = quartile_spread(looked_at)
    clipped = np.array([plan.scale == "robust" or column.clipped for column in numbers], bool)
    reach = np.where(clipped & np.isfinite(spreads), LIMIT * spreads, np.inf)
    return Spread(medians, spreads, medians - reach, medians + reach)


def measure(
    plan: TablePlan, totals: ColumnTotals, spread: Spread, encoded: Sequence[Floats] = ()
) -> Measures:
    """Return what the features of a plan are made comparable by.

    `totals` are of clipped numbers; `encoded` is what transformers made of other columns of the
    rows that are looked at. A category weighs as much as a number: its columns share one scale, by
    which two random rows differ in them as much as in a number. So does what was encoded.
    """
    numbers = [column for column in plan.used if column.use == "number"]
    moments = moments_of(np.empty((0, len(numbers)))) if totals.moments is None else totals.moments
    empty = [c.name for c, known in zip(numbers, moments.known, strict=True) if not known]
    if empty:
        raise InputError(
            f"The column {literal(repr(empty[0]))} has no known value and so no mean; leave it "
            "out with {drop}."
        )
    vast = [c.name for c, sum in zip(numbers, moments.squares, strict=True) if not np.isfinite(sum)]
    if vast:
        raise InputError(
            f"The column {literal(repr(vast[0]))} has values so large that their squares are "
            "beyond 64-bit floats. Divide it by a power of ten, or leave it out with {drop}."
        )
    center, scale = SCALES[plan.scale](moments, totals.rows, spread)
    scale = np.where(scale > 1e-12 * np.maximum(np.abs(center), 1e-300), scale, 1.0)
    variances = moments.squares / np.maximum(moments.known, 1) / scale**2
    weight = variances.mean() if len(variances) and variances.mean() > 0 else 1.0
    of_numbers = iter(np.column_stack([moments.means, center, scale, spread.lows, spread.highs]))
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
        parts.append(_columns(shares, width))
    for values in encoded:
        means, total = np.nanmean(values, axis=0), np.nanvar(values, axis=0).sum()
        width = np.sqrt(total / weight) if total > 0 else 1.0
        parts.append(_columns(means, width))
    return Measures(*np.concatenate(parts).T.copy())


def _columns(means: Floats, width: float) -> Floats:
    """Return the measures of columns that share a scale, (columns, measures)."""
    return np.column_stack(np.broadcast_arrays(means, means, width, -np.inf, np.inf))


def _none(moments: Moments, rows: int, spread: Spread) -> tuple[Floats, Floats]:
    return np.zeros(len(moments.means)), np.ones(len(moments.means))


def _standard(moments: Moments, rows: int, spread: Spread) -> tuple[Floats, Floats]:
    """Take missing values as the mean: they count in the deviations."""
    return moments.means, np.sqrt(moments.squares / max(1, rows))


def _robust(moments: Moments, rows: int, spread: Spread) -> tuple[Floats, Floats]:
    return spread.medians, spread.spreads


def _minmax(moments: Moments, rows: int, spread: Spread) -> tuple[Floats, Floats]:
    return moments.lows, moments.highs - moments.lows


SCALES = {"none": _none, "standard": _standard, "robust": _robust, "minmax": _minmax}


def quartile_spread(values: Floats) -> Floats:
    """Return the standard deviation by the quartiles, or by all values if half are equal."""
    if not values.shape[1]:
        return np.empty(0)
    low, high = quiet_quantiles(values, [0.25, 0.75])
    spread: Floats = (high - low) / QUARTILES
    return np.where(spread > 0, spread, _deviations(values))


def quiet_quantiles(values: Floats, which: Any) -> Any:
    """Return quantiles of columns without missing values; NaN where all are missing."""
    if not np.isnan(values).any():  # all columns at once, where nanquantile goes one by one
        return np.quantile(values, which, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanquantile(values, which, axis=0)


def _deviations(values: Floats) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.asarray(np.nanstd(values, axis=0, dtype=np.float64))
