"""Decisions that a person should check: not everything can be read from a column.

A doubt changes nothing. It is printed with the plan, with its reason and what to say instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clustertrust._types import Floats
from clustertrust.tables.plan import ColumnPlan, TablePlan, numbers_of
from clustertrust.tables.values import ENOUGH, are_whole, words_of

# Different whole numbers that are codes as often as amounts.
MOST_CODES = 12
# Wider tables hold many columns of one kind, such as genes.
MOST_COLUMNS = 1000

COUNTS = frozenset(("freq", "freqs", "frequency", "frequencies", "count", "counts", "nobs"))
DATES = frozenset(("date", "year", "yr", "month", "quarter", "week", "weekday", "day"))
GROUPS = frozenset(
    "group grp block batch plate lab plot strata stratum family cohort arm treatment trt study "  # noqa: SIM905
    "inst instit institution hospital clinic school store shop branch department dept team site "
    "center centre region district county state country ward zone mode type kind class category "
    "cat occupation job industry sector race religion ethnicity carrier vendor brand route tree "
    "animal patient person plant panel".split()
)
ANSWERS = frozenset(("species", "diagnosis", "outcome", "variety", "cultivar"))


class Seen(NamedTuple):
    """A column that is used, and what the rules look at.

    Attributes
    ----------
    plan : what is done with it
    words : those of its name
    numbers : its numbers that are not missing; empty for categories
    """

    plan: ColumnPlan
    words: list[str]
    numbers: Floats

    @property
    def is_whole(self) -> bool:
        """Whether it holds whole numbers."""
        return len(self.numbers) > 0 and are_whole(self.numbers)

    @property
    def last_word(self) -> str:
        """The last word of its name."""
        return self.words[-1] if self.words else ""


class Doubt(NamedTuple):
    """Why a decision should be checked, and the parameter that says otherwise."""

    reason: str
    option: str


def with_doubts(plan: TablePlan, frame: pd.DataFrame) -> TablePlan:
    """Return the plan with what a person should check, for columns that nobody decided on."""
    if len(plan.used) > MOST_COLUMNS:
        return plan
    seen = {c.name: _seen(c, frame, plan) for c in plan.used if not c.user_decided}
    doubts = _answer(seen, plan, frame) | _counts_of_combinations(seen, plan, frame)
    for name, column in seen.items():
        if name not in doubts:
            raised = next(filter(None, (rule(column) for rule in RULES)), None)
            doubts |= {} if raised is None else {name: raised}
    if _are_ratings(seen):
        doubts = {name: doubt for name, doubt in doubts.items() if doubt != CODES}
    return replace(plan, columns=tuple(_doubted(c, doubts.get(c.name)) for c in plan.columns))


def _doubted(column: ColumnPlan, doubt: Doubt | None) -> ColumnPlan:
    if doubt is None:
        return column
    return replace(column, check=doubt.reason, override_hint=doubt.option)


def _seen(column: ColumnPlan, frame: pd.DataFrame, number_format: Any) -> Seen:
    values = np.empty(0)
    if column.use == "number":
        numbers = numbers_of(frame[column.name], column, number_format)
        values = numbers[np.isfinite(numbers)].astype(np.float64, copy=False)
    return Seen(column, words_of(column.name), values)


# Rules about one column

CODES = Doubt("few different whole numbers, which may be codes", "category")
CODES_FROM_1 = Doubt("all whole numbers from 1 on, which may be codes", "category")
ID = Doubt("whole numbers like those of an id", "drop")


def _named_as_count(seen: Seen) -> Doubt | None:
    if seen.last_word in COUNTS and seen.plan.use == "number":
        return Doubt("its name says that it counts cases, and may be the weight of a row", "drop")
    return None


def _named_as_date(seen: Seen) -> Doubt | None:
    if seen.last_word in DATES:
        return Doubt("its name says that it is a date", "drop")
    return None


def _named_as_id(seen: Seen) -> Doubt | None:
    is_long = len(np.unique(seen.numbers)) > 2
    return ID if seen.is_whole and is_long and seen.last_word.endswith("id") else None


def _like_an_id(seen: Seen) -> Doubt | None:
    """Doubt whole numbers that all differ and lie close together, as numbers of rows do."""
    if not seen.is_whole or len(seen.numbers) < ENOUGH:
        return None
    different = np.unique(seen.numbers)
    close = different[-1] - different[0] < 2 * len(different)
    return ID if len(different) == len(seen.numbers) and close else None


def _like_groups(seen: Seen) -> Doubt | None:
    """Doubt many whole numbers that occur equally often, as the ids of a panel do."""
    if not seen.is_whole:
        return None
    counts = np.unique(seen.numbers, return_counts=True)[1]
    return ID if len(counts) > MOST_CODES and counts[0] > 1 and np.ptp(counts) == 0 else None


def _without_a_gap(seen: Seen) -> Doubt | None:
    """Doubt all whole numbers from 1 on, up to a third of the rows, as codes of groups are."""
    if not seen.is_whole or seen.numbers.min() != 1:
        return None
    different = len(np.unique(seen.numbers))
    is_full = different == seen.numbers.max()
    return CODES_FROM_1 if is_full and MOST_CODES < different <= len(seen.numbers) / 3 else None


def _named_as_group(seen: Seen) -> Doubt | None:
    if seen.is_whole and seen.last_word in GROUPS and len(np.unique(seen.numbers)) > 2:
        return Doubt("its name says that it is a code", "category")
    return None


def _few_whole_numbers(seen: Seen) -> Doubt | None:
    """Doubt three to twelve whole numbers; two are a number and a category alike."""
    if not seen.is_whole or len(seen.numbers) < ENOUGH:
        return None
    different = len(np.unique(seen.numbers))
    return CODES if 2 < different <= min(MOST_CODES, len(seen.numbers) / 2) else None


# The first that doubts a column counts.
RULES: tuple[Callable[[Seen], Doubt | None], ...] = (
    _named_as_count,
    _named_as_date,
    _named_as_id,
    _like_an_id,
    _like_groups,
    _without_a_gap,
    _named_as_group,
    _few_whole_numbers,
)


# Rules about the table


def _counts_of_combinations(
    seen: dict[str, Seen], plan: TablePlan, frame: pd.DataFrame
) -> dict[str, Doubt]:
    """Doubt the only count of a table whose other columns list combinations of a few values."""
    others: list[str] = []
    counts: list[str] = []
    for column in plan.columns:
        if column.use == "id" or column.kind in ("id", "constant", "empty"):
            continue
        if frame[column.name].nunique() <= MOST_CODES:
            others.append(column.name)
        elif column.name in seen:
            counts.append(column.name)
        else:
            # Such as dates, of which there are many combinations.
            return {}
    if len(counts) != 1 or len(others) < 2:
        return {}
    count = seen[counts[0]]
    if not count.is_whole or count.numbers.min() < 0:
        return {}
    combinations = math.prod(frame[name].nunique() for name in others)
    full = len(frame) >= 0.5 * combinations and not frame.duplicated(subset=others).any()
    doubt = Doubt(
        "it counts combinations of the other columns, and may be the weight of a row", "drop"
    )
    return {counts[0]: doubt} if full else {}


def _answer(seen: dict[str, Seen], plan: TablePlan, frame: pd.DataFrame) -> dict[str, Doubt]:
    """Doubt words that are named as an answer, or the only ones beside numbers, at the end."""
    words = [column.name for column in plan.used if column.levels and column.name in seen]
    if len(plan.used) - len(words) < 2:
        return {}
    answers = [name for name in words if seen[name].last_word in ANSWERS]
    if len(words) == 1 and words[0] == str(frame.columns[-1]):
        answers = words
    doubt = Doubt("it may be the known answer, and is used like the others", "drop")
    return dict.fromkeys(answers, doubt)


def _are_ratings(seen: dict[str, Seen]) -> bool:
    """Return whether all numbers lie between the same two whole numbers, as ratings do."""
    numbers = [column for column in seen.values() if len(column.numbers)]
    ends = {(column.numbers.min(), column.numbers.max()) for column in numbers}
    return len(numbers) > 2 and len(ends) == 1 and all(column.is_whole for column in numbers)
