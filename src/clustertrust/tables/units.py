"""Which scale a table needs: named columns are standardised, unless they share a visible unit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clustertrust._types import Bools, Floats
from clustertrust.tables.plan import TablePlan
from clustertrust.tables.scales import quartile_spread
from clustertrust.tables.values import are_whole, is_date, listed, words_of

# The standard deviation of a bell curve is that of its quartiles; where there are outliers it is a
# multiple of it.
HEAVY = 5.0
# Standard deviations from the mean, of a single value that decides distances alone.
FAR = 20.0
# Columns in one unit have ranges within this factor.
ONE_UNIT = 5.0
# Columns that count or number one kind of thing are many.
MANY = 8
# Share of zeros in a table of counts, and of its columns that begin at 0.
ZEROS, MOSTLY = 0.3, 0.9
UNITS = frozenset(
    "mm cm dm m km inch ft mg g kg lb oz ml l s sec ms min hours days years celsius kelvin "  # noqa: SIM905
    "percent pct usd eur gbp dollars euros db hz px ppm".split()
)
LENGTHS = frozenset(("length", "width", "height", "depth", "diameter", "thickness", "radius"))
_BRACKETS = re.compile(r"[(\[]([^)\]]+)[)\]]\s*$")
_NUMBERED = re.compile(r"(.*?)[\s_.\-\[(]*\d+[\])]*$")

KEEPS = "(scale='none' keeps them)"
SCALES_THEM = "(scale='standard' scales them)"


def with_scale(plan: TablePlan, values: Floats, scale: str) -> TablePlan:
    """Return the plan with its scale, the reason for it, and which columns are clipped.

    `values` (rows, p) are the numbers that are looked at; `scale` what the user chose, or "auto".
    """
    if scale != "auto":
        return replace(plan, scale=scale, scale_reason="")
    numbers = [column for column in plan.used if column.use == "number"]
    if not numbers or len(plan.used) < 2:
        return replace(plan, scale="none", scale_reason="")
    unit = shared_unit([column.name for column in numbers], values)
    if unit:
        return replace(plan, scale="none", scale_reason=f"{unit} {SCALES_THEM}")
    reason = f"{_why_standard(values, len(numbers))} {KEEPS}"
    heavy = [c.name for c, is_heavy in zip(numbers, has_outliers(values), strict=True) if is_heavy]
    if heavy:
        reason = f"{reason}; clipped, since they have outliers: {listed(heavy, 5)}"
    columns = tuple(replace(c, clipped=True) if c.name in heavy else c for c in plan.columns)
    return replace(plan, columns=columns, scale="standard", scale_reason=reason)


def _why_standard(values: Floats, n_numbers: int) -> str:
    ranges = _ranges(values)
    if n_numbers < 2 or len(ranges) < 2:
        return "so that a number counts as much as a category"
    factor = ranges.max() / ranges.min()
    if factor < 2:
        return "since their units may differ"
    shown = f"{factor:,.0f}" if 10 <= factor < 1e6 else f"{factor:.2g}"
    return f"since their ranges differ by a factor of {shown}"


def has_outliers(values: Floats) -> Bools:
    """Return for each column whether outliers dominate it: few values far from all others."""
    finite = np.isfinite(values)
    counts = np.maximum(finite.sum(axis=0), 1)
    means = np.where(finite, values, 0.0).sum(axis=0) / counts
    away = np.where(finite, values - means, 0.0)
    deviations = np.sqrt((away**2).sum(axis=0) / counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        far = np.abs(away).max(axis=0, initial=0.0) > FAR * deviations
        heavy = deviations > HEAVY * quartile_spread(values)
    return np.asarray((far | heavy) & (deviations > 0), dtype=bool)


def shared_unit(names: Sequence[str], values: Floats) -> str:
    """Return what shows that all columns of numbers are in one unit; empty where nothing does."""
    values = values[:, np.isfinite(values).any(axis=0)]
    ranges = _ranges(values)
    if len(names) < 2 or len(ranges) < 2:
        return ""
    # Positions stand for the names of columns that have none; years are names.
    similar = np.median(ranges) * ONE_UNIT >= ranges.max()
    if all(name.isdecimal() and len(name) < 4 for name in names) and similar:
        return "the columns have no names and similar ranges"
    units = {_unit(name) for name in names}
    if len(units) == 1 and units != {""} and ranges.max() <= 2 * ONE_UNIT * ranges.min():
        unit = units.pop()
        return "all are lengths" if unit == "lengths" else f"their names show one unit, {unit}"
    ends = {(np.nanmin(column), np.nanmax(column)) for column in values.T}
    if len(names) > 2 and len(ends) == 1:
        low, high = ends.pop()
        return f"all columns lie between {low:g} and {high:g}"
    if len(names) < MANY:
        return ""
    if series_of(names) and similar:
        return "many numbered columns of similar ranges"
    known = values[np.isfinite(values)]
    begins_at_0 = (np.nanmin(values, axis=0) == 0).mean()
    if are_whole(known) and begins_at_0 >= MOSTLY and (known == 0).mean() >= ZEROS:
        return "many columns of counts"
    return ""


def _ranges(values: Floats) -> Floats:
    """Return the ranges of the columns that vary."""
    finite = np.isfinite(values)
    low = np.where(finite, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(finite, values, -np.inf).max(axis=0, initial=-np.inf)
    return np.asarray((high - low)[high > low])


def _unit(name: str) -> str:
    """Return the unit at the end of a name: in brackets, or a word that is one; lengths are."""
    brackets = _BRACKETS.search(name)
    if brackets is not None:
        return brackets[1].strip()
    last = words_of(name)[-1:]
    if {*last} & LENGTHS:
        return "lengths"
    return last[0] if {*last} & UNITS and last != [name] else ""


def series_of(names: Sequence[str]) -> bool:
    """Return whether names are numbered or dated, and differ in nothing else."""
    prefixes = {_prefix(name) for name in names}
    return len(prefixes) == 1 and prefixes != {None}


def _prefix(name: str) -> str | None:
    """Return what is before the number at the end of a name; None without a number.

    Months number columns too, also where a month occurs again, as May.1.
    """
    if is_date(name):
        return ""
    numbered = _NUMBERED.fullmatch(name.strip())
    return None if numbered is None else "" if is_date(numbered[1]) else numbered[1]
