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

from clustertrust._types import Floats, Ints
from clustertrust.tables.column import ColumnPlan, numbers_of
from clustertrust.tables.kinds import COUNTING, MOST_CATEGORIES
from clustertrust.tables.plan import KNOWN_ANSWER, Columns, TablePlan
from clustertrust.tables.units import MANY, series_of, shared_unit
from clustertrust.tables.values import ENOUGH, are_whole, words_of
from clustertrust.tables.words import (
    ANSWERS,
    ANSWERS_AT_THE_END,
    COUNTS,
    DATES,
    GROUPS,
    LASTING,
    NO_ANSWERS,
    NOT_ZERO,
    NUMBERS,
    SURVEYS,
    TIMES,
    WEIGHTS,
)

# Different integers that are codes as often as amounts.
MOST_CODES = 12
# Wider tables hold many columns of one kind, such as genes.
MOST_COLUMNS = 1000

# Seconds since 1970, from 2000 to 2036, and milliseconds.
TIMESTAMPS = ((946_684_800, 2_100_000_000), (946_684_800_000, 2_100_000_000_000))
# Columns of which each is compared with all others.
MOST_COMPARED = 300
# Correlation of columns that say the same.
SAME = 0.99999
# Times that the numbers of groups fall, as a share of the times that they rise.
FALLS = 0.05
# Numbers among which one is an id, in the mean.
SPARSE = 100
# From which on a weight is of a row, not of a thing.
HEAVY = 10_000
# Share of the median below which a measure comes near to 0.
FAR_FROM_ZERO = 0.05


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
        """Whether it holds integers."""
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
    columns = plan.read(frame)
    counts = _counts_of_combinations(seen, plan, frame)
    doubts = counts or (_answer(seen, plan, frame) | _repeated(seen, columns))
    doubts = _many_codes(seen) | doubts | _numbered_groups(seen, frame)
    for name, column in seen.items():
        if name not in doubts:
            raised = next(filter(None, (rule(column) for rule in RULES)), None)
            doubts |= {} if raised is None else {name: raised}
    numbers = [column.name for column in plan.used if column.use == "number"]
    if shared_unit(numbers, columns.numbers):
        doubts = {name: doubt for name, doubt in doubts.items() if doubt not in (CODES, IN_A_ROW)}
    if any(column.use == "id" and column.reason not in COUNTING for column in plan.columns):
        # Then a row is one case.
        doubts = {name: doubt for name, doubt in doubts.items() if doubt != COUNT}
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

CODES = Doubt("few different integers, which may be codes", "category")
IN_A_ROW = Doubt("all integers from 1 on, which may be codes", "category")
NAMED_AS_CODE = Doubt("its name says that it is a code", "category")
ID = Doubt("integers like those of an id", "drop")
ANSWER = Doubt(KNOWN_ANSWER, "drop")
DATE = Doubt("its name says that it is a date", "drop")
COUNT = Doubt("its name says that it counts cases, and may be the weight of a row", "drop")


def _as_code(doubt: Doubt, different: int) -> Doubt:
    """Return a doubt of codes; too many of them for a column each are better left out."""
    return doubt if different <= MOST_CATEGORIES else doubt._replace(option="drop")


def _named_as_count(seen: Seen) -> Doubt | None:
    if seen.last_word in COUNTS and seen.plan.use == "number":
        return COUNT
    return None


def _named_as_weight(seen: Seen) -> Doubt | None:
    of_survey = {"weight", "wt"} & {*seen.words[-1:]} and SURVEYS & {*seen.words}
    large = seen.words == ["weight"] and seen.is_whole and seen.numbers.max() > HEAVY
    if seen.plan.use == "number" and (of_survey or large or WEIGHTS & {*seen.words[-1:]}):
        return Doubt("its name says that it is the weight of a row, not a measurement", "drop")
    return None


def _named_as_date(seen: Seen) -> Doubt | None:
    """Doubt what is called date, year and the like; amounts may begin so, or be in hours."""
    if LASTING & {*seen.words}:  # the year of a birth does not pass
        return None
    if seen.last_word in DATES:
        return DATE
    if seen.words[:1] == ["mo"] and seen.is_whole and 1 <= seen.numbers.min() <= 12:
        return DATE if seen.numbers.max() <= 12 else None
    if seen.last_word == "time" and seen.is_whole and _are_on_the_clock(seen.numbers):
        return DATE
    named = (DATES | TIMES) & {*seen.words[:1], seen.last_word}
    return DATE if named and (seen.is_whole or not len(seen.numbers)) else None


def _are_on_the_clock(numbers: Floats) -> bool:
    """Return whether many different numbers are times of day such as 1459."""
    different = np.unique(numbers)
    in_a_day = different[0] >= 0 and 1000 < different[-1] <= 2400
    return bool(len(different) > 4 * MOST_CODES and in_a_day and (different % 100 < 60).all())


def _like_a_timestamp(seen: Seen) -> Doubt | None:
    """Doubt integers that are all seconds since 1970, in a column of any name."""
    if not seen.is_whole or len(np.unique(seen.numbers)) < ENOUGH:
        return None
    low, high = seen.numbers.min(), seen.numbers.max()
    if any(first <= low and high <= last for first, last in TIMESTAMPS):
        return Doubt("integers like those of a time in seconds since 1970", "drop")
    return None


def _named_as_id(seen: Seen) -> Doubt | None:
    different = len(np.unique(seen.numbers))
    named = seen.last_word.endswith(("id", "idno", "idnum")) or seen.words == ["number"]
    numbered = len(seen.words) > 1 and seen.last_word in NUMBERS and different > MOST_CODES
    return ID if seen.is_whole and different > 2 and (named or numbered) else None


def _like_an_id(seen: Seen) -> Doubt | None:
    """Doubt integers that all differ and lie close together, as numbers of rows do."""
    if not seen.is_whole or len(seen.numbers) < ENOUGH:
        return None
    different = np.unique(seen.numbers)
    close = different[-1] - different[0] < 2 * len(different)
    return ID if len(different) == len(seen.numbers) and close else None


def _like_groups(seen: Seen) -> Doubt | None:
    """Doubt many integers that occur equally often, as the ids of a panel do."""
    if not seen.is_whole:
        return None
    values, counts = np.unique(seen.numbers, return_counts=True)
    equal = len(counts) > MOST_CODES and counts[0] > 1 and np.ptp(counts) == 0
    return ID if equal and values[-1] - values[0] < SPARSE * len(values) else None


def _without_a_gap(seen: Seen) -> Doubt | None:
    """Doubt all integers from 1 on, up to a third of the rows, as codes of groups are."""
    if not seen.is_whole or seen.numbers.min() != 1:
        return None
    different = len(np.unique(seen.numbers))
    is_full = different == seen.numbers.max()
    is_many = MOST_CODES < different <= len(seen.numbers) / 3
    return _as_code(IN_A_ROW, different) if is_full and is_many else None


def _named_as_group(seen: Seen) -> Doubt | None:
    different = len(np.unique(seen.numbers))
    if seen.is_whole and seen.last_word in GROUPS and different > 2:
        return _as_code(NAMED_AS_CODE, different)
    return None


def _few_whole_numbers(seen: Seen) -> Doubt | None:
    """Doubt three to twelve integers from 1 on; two are a number and a category alike.

    Counts begin at 0 and are named in the plural; marks have one peak.
    """
    if not _has_few(seen) or seen.numbers.min() != 1:
        return None
    values, counts = np.unique(seen.numbers, return_counts=True)
    word = seen.last_word
    plural = word.endswith("s") and not word.endswith(("ss", "os", "us", "is"))
    marks = len(values) > 4 and _has_one_peak(counts)
    return CODES if values[-1] == len(values) and not plural and not marks else None


def _has_one_peak(counts: Ints) -> bool:
    """Return whether counts rise to one value, far above the least, and fall after it."""
    peak = int(counts.argmax())
    if counts[peak] < 2 * counts.min():
        return False
    return bool((np.diff(counts[: peak + 1]) >= 0).all() and (np.diff(counts[peak:]) <= 0).all())


def _with_odd_zeros(seen: Seen) -> Doubt | None:
    """Doubt zeros in a measure that is never 0, where all other values are far from it."""
    if not NOT_ZERO & {*seen.words} or len(seen.numbers) < ENOUGH:
        return None
    zeros = bool((seen.numbers == 0).any())
    others = seen.numbers[seen.numbers != 0]
    if not zeros or len(np.unique(others)) < ENOUGH:
        return None
    if others.min() < FAR_FROM_ZERO * np.median(others):
        return None
    return Doubt("0 cannot be measured, and may stand for a missing value", "na")


# The first that doubts a column counts.
RULES: tuple[Callable[[Seen], Doubt | None], ...] = (
    _named_as_count,
    _named_as_weight,
    _named_as_date,
    _like_a_timestamp,
    _named_as_id,
    _like_an_id,
    _like_groups,
    _without_a_gap,
    _named_as_group,
    _with_odd_zeros,
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
    """Doubt what is named as an answer and has few values, and what stands alone at the end.

    That is the only column of words, or of two numbers, which may stand first too.
    """
    words = [column.name for column in plan.used if column.levels and column.name in seen]
    if len(plan.used) - len(words) < 2:
        return {}
    last = plan.used[-1].name
    ends = {last, plan.used[0].name}
    few = [name for name in seen if frame[name].nunique() <= MOST_CODES]
    answers = [name for name in few if seen[name].last_word in ANSWERS]
    answers += [name for name in few if name in ends and seen[name].last_word in ANSWERS_AT_THE_END]
    twos = [name for name in few if frame[name].nunique() == 2 and len(seen[name].numbers)]
    if last in seen and not NO_ANSWERS & {*seen[last].words}:
        is_so = last in twos and seen[last].words[:1] == ["is"]
        coded = few == [last] and last.isdecimal() and _are_codes(seen[last].numbers)
        answers += [last] if words == [last] or is_so or coded else []
    alone = twos if len(twos) == 1 else []
    answers += [n for n in alone if n in ends and not NO_ANSWERS & {*seen[n].words}]
    return dict.fromkeys(answers, ANSWER)


def _are_codes(numbers: Floats) -> bool:
    """Return whether numbers are all integers from 0 or 1 up to the largest."""
    different = np.unique(numbers)
    return (
        len(different) > 1
        and np.array_equal(different, different[0] + np.arange(len(different)))
        and different[0] in (0, 1)
    )


def _many_codes(seen: dict[str, Seen]) -> dict[str, Doubt]:
    """Doubt few integers in most columns of a table, such as alleles."""
    numbers = [column for column in seen.values() if len(column.numbers)]
    coded = [column.plan.name for column in numbers if _has_few(column)]
    are_most = len(coded) >= max(MANY, len(numbers) / 2)
    return dict.fromkeys(coded, CODES) if are_most else {}


def _has_few(seen: Seen) -> bool:
    """Return whether a column has three to twelve integers."""
    if not seen.is_whole or len(seen.numbers) < ENOUGH:
        return False
    return 2 < len(np.unique(seen.numbers)) <= min(MOST_CODES, len(seen.numbers) / 2)


def _numbered_groups(seen: dict[str, Seen], frame: pd.DataFrame) -> dict[str, Doubt]:
    """Doubt the first columns whose integers repeat and hardly fall, as those of groups."""
    doubts: dict[str, Doubt] = {}
    for name in map(str, frame.columns if len(frame) >= ENOUGH else ()):
        column = seen.get(name)
        if column is None:
            continue
        different = len(np.unique(column.numbers))
        repeats = column.is_whole and 4 < different <= len(frame) / 2
        steps = np.diff(column.numbers)
        falls = (steps < 0).sum() > FALLS * (steps > 0).sum()
        if not repeats or column.plan.n_missing or falls:
            break
        doubts[name] = ID
    return doubts


def _repeated(seen: dict[str, Seen], columns: Columns) -> dict[str, Doubt]:
    """Doubt columns that say the same as one before them: distances count both."""
    numbers = [column.name for column in columns.plan.used if column.use == "number"]
    texts = [column.name for column in columns.plan.used if column.use == "category"]
    if len(numbers) > MOST_COMPARED or len(columns.numbers) < ENOUGH:
        return {}
    doubts = {}
    with np.errstate(invalid="ignore", divide="ignore"):
        known = np.isfinite(columns.numbers)
        means = np.where(known, columns.numbers, 0.0).sum(axis=0) / known.sum(axis=0)
        alike = np.abs(np.corrcoef(np.where(known, columns.numbers, means).T)) >= SAME
    groups = [pd.factorize(text)[0] for text in columns.texts]
    for j, name in enumerate(numbers):
        first = next((i for i in range(j) if alike[i, j]), None)
        if first is not None and name in seen and not series_of((numbers[first], name)):
            doubts[name] = _same_as(numbers[first])
    for j, name in enumerate(texts):
        first = next((i for i in range(j) if np.array_equal(groups[i], groups[j])), None)
        if first is not None and name in seen:
            doubts[name] = _same_as(texts[first])
    return doubts


def _same_as(name: str) -> Doubt:
    return Doubt(f"it says the same as {name}, and both count", "drop")
