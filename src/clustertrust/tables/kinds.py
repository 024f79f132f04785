"""What a column of a table is: a number, a category, a date, an id, or nothing to cluster by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from clustertrust._types import Floats, Ints
from clustertrust._validation.frames import check_whole_numbers
from clustertrust.tables.column import ColumnPlan, numbers_of
from clustertrust.tables.rows import DRAWN, HEAD
from clustertrust.tables.values import (
    ENOUGH,
    LIMITS,
    are_whole,
    as_categories,
    as_numbers,
    decimal_of,
    in_order,
    is_date,
    is_link,
    is_number,
    is_real,
    known_texts,
    sentinels_in,
    truth_of,
    unit_of,
    without_unit,
    words_of,
)
from clustertrust.tables.words import (
    DATE_PARTS,
    FREE_TEXTS,
    IDS,
    IDS_IF_DIFFERENT,
    NAMED_ANSWERS,
    NUMBERS,
    SPLITS,
    is_lasting,
)

# In a column that becomes one column a category.
MOST_CATEGORIES = 50
# Different texts of a column named as an id; fewer are groups.
FEW_IDS = 12
# Letters of an id, on average over a column; longer texts do not name rows.
LONGEST_ID = 60
# Share of the steps from row to row that are 1, where a column counts rows.
GROUPED = 0.85
# Share of the different texts that occur once or have several words, in a column of free text.
FREE = 0.5
# Share of the texts of a column that are numbers, for it to be one of numbers.
AS_NUMBERS = 0.9
# Different texts beside many numbers that stand for a missing value.
FEW_WORDS = 2
# Share of limits such as <0.5 among them; more are groups.
MOST_LIMITS = 0.5

# Floats hold all integers up to it.
LARGEST = 2.0**53

# Such as C489449 or 79323P; 12k may be an amount.
CODE = r"[A-Za-z]{1,3}[-_ ]?\d{2,}|\d{3,}[A-Za-z]{1,2}"

ANSWER = "named like the answer, not a measurement"
TOO_LONG = "integers of more digits than floats can hold, like those of ids"
SPLIT = "words for training and testing rows"

COUNTING = (
    "it has no name and counts the rows",
    "it counts the rows in equal steps",
    "it counts the rows of groups",
)


@dataclass(frozen=True, kw_only=True)
class ColumnChoices:
    """What a user said about a table.

    Attributes
    ----------
    id : column that names the rows
    use : columns to use, no others
    drop : columns to leave out
    keep : columns to use even if they look like ids or dates, or most values are missing
    category : columns of numbers to use as categories
    scale : "auto" or a name of `SCALES`
    encode : "auto", "onehot", "drop", or "match" (categories stay texts, for Gower's distance)
    missing : "auto", "mean" (fill in, also if most are missing), "drop" (leave rows out), or
        "skip" (they stay missing, as Gower's distance takes them)
    na : texts that mean a missing value, besides the usual ones; where it is empty, only empty
        fields do, and no number is taken for one
    decimal, thousands : marks in numbers; None: detected
    """

    id: str | None = None
    use: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    scale: str = "auto"
    encode: str = "auto"
    missing: str = "auto"
    na: tuple[str, ...] | None = None
    decimal: str | None = None
    thousands: str | None = None


@dataclass(frozen=True)
class NumberFormat:
    """How texts of the table are read; `is_given`: the user said which mark is decimal."""

    na: tuple[str, ...] | None
    decimal: str
    thousands: str | None
    is_given: bool = False


class Source(NamedTuple):
    """A column as it is looked at.

    Attributes
    ----------
    column : (rows,) its values
    positions : (rows,) where they stand in the table
    last : whether it is the last column
    """

    column: pd.Series
    positions: Ints
    last: bool

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.column.name)


def kind_of(source: Source, number_format: NumberFormat, as_category: bool = False) -> ColumnPlan:
    """Return what a column is; `as_category`: the user said that it is a category."""
    column, name = source.column, source.name
    if as_category:
        texts = as_categories(column, number_format.na)
        levels = tuple(sorted(texts.dropna().unique(), key=in_order))
        lost = int(texts.isna().sum())
        return ColumnPlan(name, "category", "category", levels=levels, n_missing=lost)
    is_period = isinstance(column.dtype, pd.PeriodDtype)
    if is_period or pd.api.types.is_datetime64_any_dtype(column.dtype):
        return ColumnPlan(name, "date", "ignored", "a date")
    if pd.api.types.is_bool_dtype(column.dtype):
        return _truth(column, number_format)
    if is_real(column):
        return _number(source, number_format)
    return _text(source, number_format)


def _truth(column: pd.Series, number_format: NumberFormat) -> ColumnPlan:
    """Return a column of booleans."""
    plan = ColumnPlan(str(column.name), "boolean", "number", numeric=True)
    values = numbers_of(column, plan, number_format)
    there = values[np.isfinite(values)]
    plan = replace(plan, n_missing=len(values) - len(there))
    if len(there) > 1 and (there == there[0]).all():
        word = "true" if there[0] else "false"
        return replace(plan, kind="constant", use="ignored", reason=f"all values are {word}")
    return plan


def _number(source: Source, number_format: NumberFormat, unit: str = "") -> ColumnPlan:
    """Return a column of numbers, or of texts that are numbers, each with a unit or none."""
    plan = ColumnPlan(
        source.name, "number", "number", numeric=True, decimal=number_format.decimal, unit=unit
    )
    values = numbers_of(source.column, plan, number_format)
    sentinels = tuple(sentinels_in(values)) if number_format.na != () else ()
    named = _missing_in(plan.name, number_format.na or ())
    found, sentinels = sentinels, (*sentinels, *(one for one in named if one not in sentinels))
    is_known = np.isfinite(values) & ~np.isin(values, sentinels)
    there, steps = values[is_known], np.diff(source.positions[is_known])
    plan = replace(plan, missing=sentinels, n_missing=len(values) - len(there))
    if there.size == 0:
        return replace(plan, kind="empty", use="ignored", reason="no values")
    if np.median(np.abs(there)) > LARGEST and _lose_digits(source.column):
        return replace(plan, kind="id", use="ignored", reason=TOO_LONG)
    kind, reason = _what_numbers_are(plan.name, there, steps, len(values), source.last)
    if kind != "number":
        return replace(plan, kind=kind, use="ignored", reason=reason)
    if sentinels:
        shown = ", ".join(f"{value:g}" for value in sentinels)
        count = int(np.isin(values, sentinels).sum())
        keep = " (na=['none'] keeps it)" if set(found) - set(named) else ""
        rows = f"{count} row{'s' * (count > 1)}"
        rows += " of those looked at" * (len(values) >= HEAD + DRAWN)
        reason = f"{shown} in {rows} is taken as missing{keep}"
    return replace(plan, reason=reason)


def _lose_digits(column: pd.Series) -> bool:
    """Return whether a column holds integers that floats cannot hold."""
    try:
        check_whole_numbers(column.to_frame())
    except ValueError:
        return True
    return False


def _missing_in(name: str, na: Sequence[str]) -> list[float]:
    """Return the numbers that stand for a missing value in one column, given as `column=0`."""
    own = [text.removeprefix(f"{name}=") for text in na if text.startswith(f"{name}=")]
    return [float(text) for text in own if is_number(text)]


def _what_numbers_are(
    name: str, values: Floats, steps: Ints, n: int, last: bool
) -> tuple[str, str]:
    """Return the kind of a column of numbers by its name and its values, and the reason for it.

    `steps` are the rows from one value to the next, `n` the rows, known or not.
    """
    words = words_of(name)
    whole = are_whole(values)
    different = len(np.unique(values))
    # Floats beyond may hide differences.
    if different == 1 and n > 1 and abs(values[0]) <= LARGEST:
        return "constant", f"all values are {values[0]:g}"
    if not name.strip() or name.startswith("Unnamed: "):
        if different == len(values) and (whole or (np.diff(values) > 0).all()):
            return "id", COUNTING[0]
        return "number", ""
    if len(values) == n >= ENOUGH and counts_rows(values, steps):
        return "id", COUNTING[1]
    if whole and is_named_as_id(words):
        return "id", "named like an id or a code"
    if whole and len(values) == n >= ENOUGH and _counts_in_groups(values, steps):
        return "id", COUNTING[2]
    if whole and different > 0.9 * n and n >= ENOUGH and {*words[-1:]} & IDS_IF_DIFFERENT:
        return "id", "named like an id, with different values"
    if whole and _is_date_part(words, values):
        return "date", "a part of a date"
    if whole and different >= ENOUGH and _are_days(values):
        return "date", "dates such as 20240131 or 202401"
    if _is_named_as_answer(words, last):
        return "id", ANSWER
    return "number", ""


def _text(source: Source, number_format: NumberFormat) -> ColumnPlan:
    """Return a column of text."""
    texts = known_texts(source.column, number_format.na)
    there = texts.dropna()
    plan = ColumnPlan(source.name, "text", "ignored", n_missing=int(texts.isna().sum()))
    if there.empty:
        return replace(plan, kind="empty", reason="no values")
    different = list(dict.fromkeys(there))
    truth = truth_of(different)
    if truth is not None:
        levels = tuple(sorted(truth, key=lambda text: truth[text]))
        return replace(plan, kind="boolean", use="number", levels=levels, numeric=True)
    if np.mean([is_date(text) for text in different[:200]]) >= AS_NUMBERS:
        return replace(plan, kind="date", reason="dates or times")
    given = number_format.decimal
    decimal = given if number_format.is_given else decimal_of(different) or given
    numbers, unit = as_numbers(there, decimal, number_format.thousands), ""
    if numbers.notna().mean() < AS_NUMBERS:
        unit = unit_of(different)
        numbers = as_numbers(without_unit(there, unit), decimal, number_format.thousands)
    are_numbers = numbers.notna()
    has_limit = there.str.startswith(LIMITS)
    # One word among many numbers stands for a missing value.
    is_marked = numbers.nunique() > FEW_IDS and there[~are_numbers].nunique() <= FEW_WORDS
    least = 0.5 if is_marked else AS_NUMBERS
    if are_numbers.mean() >= least and has_limit.mean() <= MOST_LIMITS:
        plan = _number(source, replace(number_format, decimal=decimal), unit)
        limits, others = there[has_limit], there[~are_numbers]
        if len(others) and others.str.fullmatch(CODE).mean() > 0.5:
            reason = f"some of its numbers have letters, such as {others.iloc[0]!r}, as codes do"
            return replace(plan, kind="id", use="ignored", reason=reason)
        return _with_notes(plan, limits, others) if plan.use == "number" else plan
    texts = known_texts(source.column, number_format.na, words=True)
    plan = replace(plan, n_missing=int(texts.isna().sum()))
    plan = _word_kind(plan, texts.dropna(), source.last)
    if not 0.5 < are_numbers.mean() < AS_NUMBERS or plan.use != "category":
        return plan
    others = there[~are_numbers]
    count, first = len(others), others.mode()[0]
    text = f"the text {first!r}" if len(set(others)) == 1 else f"texts such as {first!r}"
    reason = f"a category, since {count} of {len(there)} values are {text}"
    return replace(plan, reason=f"{reason} (na={[first]!r} makes them missing)")


def _with_notes(plan: ColumnPlan, limits: pd.Series, others: pd.Series) -> ColumnPlan:
    """Return a column of numbers with notes on texts in it: limits such as <0.5, and others."""
    notes = [plan.reason]
    if plan.unit:
        notes.append(f"{plan.unit!r} behind its numbers is left out")
    if len(limits):
        notes.append(f"{limits.iloc[0]!r} and the like are taken as the number after it")
    if len(others):
        text = "1 text, {!r}, is" if len(others) == 1 else f"{len(others)} texts such as {{!r}} are"
        notes.append(f"{text.format(others.iloc[0])} taken as missing")
    return replace(plan, reason="; ".join(filter(None, notes)))


def _word_kind(plan: ColumnPlan, texts: pd.Series, last: bool) -> ColumnPlan:
    """Return a column of text that is neither numbers nor dates."""
    counts = texts.value_counts()
    n, words, levels = len(texts), words_of(plan.name), tuple(sorted(counts.index))
    if len(levels) == 1 and n > 1:
        return replace(plan, kind="constant", reason=f"all values are {levels[0]!r}")
    if len(levels) == n and n > 2:
        # Paragraphs and pictures differ in every row too, and name none.
        kind = "id" if texts.str.len().mean() <= LONGEST_ID else "text"
        return replace(plan, kind=kind, reason="another text in every row")
    if is_named_as_id(words) and len(levels) > FEW_IDS:
        return replace(plan, kind="id", reason="named like an id")
    if len(levels) > 2 and np.mean([is_link(level) for level in levels]) >= AS_NUMBERS:
        return replace(plan, kind="id", reason="links or addresses")
    if _is_named_as_answer(words, last):
        return replace(plan, kind="category", reason=ANSWER)
    if len(levels) > 1 and {level.casefold() for level in levels} <= SPLITS:
        return replace(plan, kind="category", reason=SPLIT, levels=levels)
    if len(levels) > max(2, n / 2):
        return replace(plan, reason=f"{len(levels)} different texts in {n} rows")
    plan = replace(plan, kind="category", levels=levels)
    if _are_free(counts, named=bool({*words[-1:]} & FREE_TEXTS)):
        reason = f"free text: {len(levels)} different texts, of which most occur once or are long"
        return replace(plan, kind="text", reason=reason)
    return too_many(plan) if len(levels) > MOST_CATEGORIES else replace(plan, use="category")


def _are_free(counts: pd.Series, named: bool) -> bool:
    """Return whether texts are written and not chosen, by how often each of them occurs.

    Most occur once, in several words or many of them; in a column that is `named` as one of
    comments or titles one of these is enough.
    """
    once = (counts == 1).mean() > FREE
    long = (counts.index.str.count(" ") >= 2).mean() > FREE
    many = len(counts) > FEW_IDS
    return (
        bool(once or long or many) if named else bool(once and (long or many) and len(counts) > 4)
    )


def too_many(plan: ColumnPlan) -> ColumnPlan:
    """Return a category of many values with the reason why it is not used."""
    return replace(plan, reason=f"{len(plan.levels)} categories, more than {MOST_CATEGORIES}")


def _is_named_as_answer(words: Sequence[str], last: bool) -> bool:
    return "_".join(words) in NAMED_ANSWERS or (words == ["class"] and last)


def is_named_as_id(words: Sequence[str]) -> bool:
    """Return whether the words of a name are those of an id."""
    # zip5 is one too.
    last = next((word for word in reversed(words) if not word.isdecimal()), "")
    bare = next((last.removesuffix(end) for end in NUMBERS if last.endswith(end)), "")
    return bool({"id", "uuid", "uid"} & set(words)) or last in IDS or bare in IDS


def _counts_in_groups(values: Floats, steps: Ints) -> bool:
    """Return whether numbers rise by 1 and start again, mostly at the same number."""
    rises = np.diff(values)[steps == 1] == 1
    if not len(rises) or rises.mean() <= GROUPED:
        return False
    starts = values[np.flatnonzero(np.diff(values) != 1) + 1]
    return not len(starts) or bool(np.unique(starts, return_counts=True)[1].max() > len(starts) / 2)


def counts_rows(values: Floats, rows: Ints | int = 1) -> bool:
    """Return whether numbers rise in equal steps, as row numbers and time axes do.

    `rows` are the rows from one value to the next.
    """
    steps = np.diff(values) / rows
    return bool(steps[0] > 0 and np.allclose(steps, steps.mean(), rtol=0.02, atol=0))


def _are_days(values: Floats) -> bool:
    """Return whether all numbers are dates such as 20240131, of the last or this century.

    Those of months, such as 202401, have no days.
    """
    if values.max() < 1_000_000:
        values = 100 * values + 1
    years, months, days = values // 10_000, values // 100 % 100, values % 100
    return bool(
        ((years >= 1900) & (years < 2100)).all()
        and ((months >= 1) & (months <= 12)).all()
        and ((days >= 1) & (days <= 31)).all()
    )


def _is_date_part(words: Sequence[str], values: Floats) -> bool:
    if any(map(is_lasting, words)):  # the year of a birth does not pass
        return False
    low, high = DATE_PARTS.get(words[-1] if words else "", (np.inf, -np.inf))
    return bool(low <= values.min() and values.max() <= high)
