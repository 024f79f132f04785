"""What a column of a table is: a number, a category, a date, an id, or nothing to cluster by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust.tables.plan import ColumnPlan, numbers_of
from clustertrust.tables.values import (
    as_categories,
    as_numbers,
    decimal_of,
    in_order,
    is_date,
    known_texts,
    sentinels_in,
    truth_of,
    words_of,
)

__all__ = [
    "COUNTING",
    "ENOUGH",
    "ColumnChoices",
    "NumberFormat",
    "counts_rows",
    "is_named_as_id",
    "kind_of",
]

MOST_CATEGORIES = 50  # in a column that becomes one column a category
ENOUGH = 10  # rows from which on counting columns and all-different values say something
FEW_IDS = 12  # different texts of a column named as an id; fewer are groups
GROUPED = 0.85  # of the steps from row to row that are 1, where a column counts rows
AS_NUMBERS = 0.9  # of the known texts of a column, for it to be one of numbers

# Words at the end of a name, or all of it.
IDS = frozenset(
    "id ids uuid guid uid identifier individual subject zip zipcode postcode plz fips ssn isbn ean "  # noqa: SIM905
    "sku rownames rowname rowid barcode phone code iso".split()
)
IDS_IF_DIFFERENT = frozenset(
    "index idx key serial seqno seq no nr num number obs case observation record row rank".split()  # noqa: SIM905
)
ANSWERS = {"target", "label", "labels", "cluster", "ground_truth", "truth"}

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
    keep : columns to use although they look like ids or dates, or miss most of their values
    category : columns to use as categories, although they hold numbers
    scale : "auto" or a name of `SCALES`
    encode : "auto", "onehot", "drop", or "match" (categories stay texts, for Gower's distance)
    missing : "auto", "mean" (fill in, also where most is missing), "drop" (leave rows out), or
        "skip" (they stay missing, as Gower's distance takes them)
    na : texts that stand for a missing value beside the usual ones; where it is empty, only empty
        fields do, and no number is taken for one
    decimal, thousands : marks in numbers; None: found
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
    """How texts of the table are read."""

    na: tuple[str, ...] | None
    decimal: str
    thousands: str | None


def kind_of(
    series: pd.Series, name: str, last: bool, choices: ColumnChoices, number_format: NumberFormat
) -> ColumnPlan:
    """Return what a column is; what was said about it counts only for categories."""
    if name in choices.category:
        texts = as_categories(series, number_format.na)
        levels = tuple(sorted(texts.dropna().unique(), key=in_order))
        lost = int(texts.isna().sum())
        return ColumnPlan(name, "category", "category", levels=levels, n_missing=lost)
    if pd.api.types.is_datetime64_any_dtype(series.dtype) or isinstance(
        series.dtype, pd.PeriodDtype
    ):
        return ColumnPlan(name, "date", "ignored", "a date")
    if pd.api.types.is_bool_dtype(series.dtype):
        return _counted(
            series, ColumnPlan(name, "truth value", "number", numeric=True), number_format
        )
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_complex_dtype(
        series.dtype
    ):
        return _number(series, name, last, choices, number_format)
    return _text(series, name, last, choices, number_format)


def _number(
    series: pd.Series, name: str, last: bool, choices: ColumnChoices, number_format: NumberFormat
) -> ColumnPlan:
    """Return a column of numbers, or of texts that are numbers."""
    values = numbers_of(series, ColumnPlan(name, "number", "number"), number_format)
    odd = tuple(sentinels_in(values)) if choices.na != () else ()
    column = ColumnPlan(
        name, "number", "number", missing=odd, numeric=True, decimal=number_format.decimal
    )
    column = _counted(series, column, number_format)
    values = numbers_of(series, column, number_format)
    known = values[np.isfinite(values)]
    if known.size == 0:
        return replace(column, kind="empty", use="ignored", reason="it has no values")
    kind, reason = _what_numbers_are(name, known, len(values), last)
    if kind != "number":
        return replace(column, kind=kind, use="ignored", reason=reason)
    if odd:
        shown = ", ".join(f"{value:g}" for value in odd)
        count = int(
            np.isin(numbers_of(series, replace(column, missing=()), number_format), odd).sum()
        )
        reason = (
            f"{shown} in {count} row{'s' * (count > 1)} is taken as missing (na=['none'] keeps it)"
        )
    return replace(column, reason=reason)


def _what_numbers_are(name: str, known: NDArray[np.float64], n: int, last: bool) -> tuple[str, str]:
    """Return the kind of a column of numbers by its name and its values, and the reason for it."""
    words = words_of(name)
    whole = bool((known == np.round(known)).all())
    different = len(np.unique(known))
    if different == 1 and n > 1 and abs(known[0]) <= 2**53:  # beyond, floats may hide differences
        return "constant", f"all its values are {known[0]:g}"
    if not name.strip() or name.startswith("Unnamed: "):
        if different == len(known) and (whole or counts_rows(known)):
            return "id", COUNTING[0]
        return "number", ""
    if whole and is_named_as_id(words):
        return "id", "its name says that it is an id or a code"
    if len(known) == n >= ENOUGH and counts_rows(known):
        return "id", COUNTING[1]
    if whole and len(known) == n >= ENOUGH and np.mean(np.diff(known) == 1) > GROUPED:
        return "id", COUNTING[2]
    if (
        whole
        and different > 0.9 * n
        and words[-1:]
        and words[-1] in IDS_IF_DIFFERENT
        and n >= ENOUGH
    ):
        return "id", "its name and its different values say that it is an id"
    if whole and _is_date_part(words, known):
        return "date", "a part of a date"
    if words[-1:] and ("_".join(words) in ANSWERS or (words == ["class"] and last)):
        return "id", "its name says that it is the answer, not a measurement"
    return "number", ""


def _text(
    series: pd.Series, name: str, last: bool, choices: ColumnChoices, number_format: NumberFormat
) -> ColumnPlan:
    """Return a column of text."""
    texts = known_texts(series, number_format.na)
    known = texts.dropna()
    column = ColumnPlan(name, "text", "ignored", n_missing=int(texts.isna().sum()))
    number_format = replace(
        number_format,
        decimal=choices.decimal or decimal_of(known.unique()) or number_format.decimal,
    )
    if known.empty:
        return replace(column, kind="empty", reason="it has no values")
    different = list(dict.fromkeys(known))
    truth = truth_of(different)
    if truth is not None:
        values = tuple(sorted(truth, key=lambda text: truth[text]))
        return replace(column, kind="truth value", use="number", levels=values, numeric=True)
    sample = pd.Series(different, dtype=object)
    dates = np.mean([is_date(text) for text in different[:200]])
    plain = as_numbers(sample, number_format.decimal, number_format.thousands).notna()
    parsed = as_numbers(known, number_format.decimal, number_format.thousands).notna()
    if parsed.mean() >= AS_NUMBERS and not dates >= AS_NUMBERS:
        found = _number(series, name, last, choices, number_format)
        odd = [text for text, is_number in zip(different, plain, strict=True) if not is_number]
        if odd and found.use == "number":
            count = int((~parsed).sum())
            verb = "text such as {!r} is" if count == 1 else "texts such as {!r} are"
            note = f"{count} {verb.format(odd[0])} taken as missing"
            found = replace(found, reason="; ".join(filter(None, [found.reason, note])))
        return found
    if dates >= AS_NUMBERS:
        return replace(column, kind="date", reason="dates or times")
    texts = known_texts(series, number_format.na, words=True)
    column = replace(column, n_missing=int(texts.isna().sum()))
    return _word_kind(column, texts.dropna(), list(dict.fromkeys(texts.dropna())), last)


def _word_kind(
    column: ColumnPlan, known: pd.Series, different: list[str], last: bool
) -> ColumnPlan:
    """Return a column of text that is neither numbers nor dates."""
    n, words = len(known), words_of(column.name)
    if len(different) == 1 and n > 1:
        return replace(column, kind="constant", reason=f"all its values are {different[0]!r}")
    if len(different) == n and n > 2:
        return replace(column, kind="id", reason="another text in every row")
    if words[-1:] and words[-1] in (IDS - {"code"}) and len(different) > FEW_IDS:
        return replace(column, kind="id", reason="its name says that it is an id")
    if words[-1:] and ("_".join(words) in ANSWERS or (words == ["class"] and last)):
        return replace(
            column, kind="category", reason="its name says that it is the answer, not a measurement"
        )
    if len(different) > max(2, n / 2):
        return replace(column, reason=f"{len(different)} different texts in {n} rows")
    values = tuple(sorted(different))
    if len(different) > MOST_CATEGORIES:
        reason = f"{len(different)} categories, more than {MOST_CATEGORIES}"
        return replace(column, kind="category", reason=reason, levels=values)
    return replace(column, kind="category", use="category", levels=values)


def _counted(series: pd.Series, column: ColumnPlan, number_format: NumberFormat) -> ColumnPlan:
    values = numbers_of(series, column, number_format)
    known = values[np.isfinite(values)]
    column = replace(column, n_missing=len(values) - len(known))
    if len(known) > 1 and column.kind == "truth value" and (known == known[0]).all():
        said = "true" if known[0] else "false"
        return replace(column, kind="constant", use="ignored", reason=f"all its values are {said}")
    return column


def is_named_as_id(words: Sequence[str]) -> bool:
    """Return whether the words of a name are those of an id."""
    return bool({"id", "uuid", "uid"} & set(words)) or (bool(words) and words[-1] in IDS)


def counts_rows(known: NDArray[np.float64]) -> bool:
    """Return whether numbers rise in equal steps, as row numbers and time axes do."""
    steps = np.diff(known)
    return bool(steps[0] > 0 and np.allclose(steps, steps.mean(), rtol=0.02, atol=0))


def _is_date_part(words: Sequence[str], known: NDArray[np.float64]) -> bool:
    low, high = known.min(), known.max()
    ranges = {
        "year": (1000, 2200),
        "yr": (1000, 2200),
        "jahr": (1000, 2200),
        "month": (1, 12),
        "day": (0, 366),
        "weekday": (0, 7),
        "quarter": (1, 4),
        "date": (10_000, 1e15),
        "timestamp": (1e8, 1e20),
        "time": (1e8, 1e20),
    }
    found = ranges.get(words[-1]) if words else None
    return found is not None and found[0] <= low and high <= found[1]
