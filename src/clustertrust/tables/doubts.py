"""Decisions that a person should check: not everything can be read from a column.

A doubt changes nothing. It is printed with the plan, with its reason and what to say instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Floats
from clustertrust.tables.column import ColumnPlan, numbers_of
from clustertrust.tables.column_doubts import (
    ANSWER,
    CALENDAR,
    CODES,
    COUNT,
    ID,
    IN_A_ROW,
    MOST_CODES,
    ODD,
    RULES,
    Doubt,
    Seen,
    free_text,
    has_valley,
)
from clustertrust.tables.kinds import COUNTING, MOST_CATEGORIES
from clustertrust.tables.plan import TablePlan
from clustertrust.tables.relations import relations
from clustertrust.tables.repeats import repeated
from clustertrust.tables.units import MANY, shared_unit
from clustertrust.tables.values import ENOUGH, are_amounts, is_real, known_texts
from clustertrust.tables.words import (
    ANSWERS_ALONE,
    DATES,
    NO_ANSWERS,
    NOT_ZERO,
    OUTCOMES,
    TIMES,
    is_amount,
    is_answer,
    is_answer_at_the_end,
    is_event,
)

# What few integers may be, if not marks on a scale.
OF_MARKS = (CODES, IN_A_ROW, CALENDAR)
# Wider tables hold many columns of one kind, such as genes.
MOST_COLUMNS = 1000
# Columns of a table of frequencies.
MOST_COUNTED = 6
# Words of the name of an answer; longer ones are those of a category that became a column.
LONG_NAME = 4
# Different integers of several columns that are marks on one scale.
FEWEST_MARKS = 5
# Share of many columns of integers in which a value is rarer than those around it.
VALLEYS = 0.25
# Correlation with any other column below which integers may be ids, mean distance of ids, and share
# of round numbers among them.
UNRELATED, APART, ROUND = 0.35, 100_000, 0.15
# Mean correlation of an answer with all columns, the same times the root of the rows, and share of
# the columns that may go more with others.
RELATED, BY_CHANCE, MORE_RELATED = 0.1, 2.0, 0.25
# Times that the numbers of groups fall, as a share of the times that they rise.
FALLS = 0.05
# Share of the integers that two columns have in common.
PAIRED = 0.8


def with_doubts(plan: TablePlan, frame: pd.DataFrame) -> TablePlan:
    """Return the plan with what a person should check, for columns that nobody decided on."""
    if len(plan.used) > MOST_COLUMNS:
        return plan
    seen = {c.name: _seen(c, frame, plan) for c in plan.used if not c.user_decided}
    columns = plan.read(frame)
    together = relations(columns)
    again = {name: doubt for name, doubt in repeated(columns).items() if name in seen}
    doubts = _answer(seen, plan, frame, together) | again
    doubts |= _numbered_groups(seen, frame) | _paired(seen, frame)
    for name, column in seen.items():
        if name not in doubts:
            raised = next(filter(None, (rule(column) for rule in RULES)), None)
            doubts |= {} if raised is None else {name: raised}
    numbers = [column.name for column in plan.used if column.use == "number"]
    coded = _many_codes(seen)
    in_one_unit = shared_unit(numbers, columns.numbers)
    doubts = coded | ({} if in_one_unit else _unrelated(seen, plan, together)) | doubts
    marks = _on_one_scale(seen)
    if in_one_unit and not _are_kinds(seen, coded):
        marks = {*seen}
    doubts = {n: doubt for n, doubt in doubts.items() if n not in marks or doubt not in OF_MARKS}
    named = any(column.use == "id" and column.reason not in COUNTING for column in plan.columns)
    if named or len(plan.used) > MOST_COUNTED:
        # Then a row is one case.
        doubts = {name: doubt for name, doubt in doubts.items() if doubt != COUNT}
    return replace(plan, columns=tuple(_doubted(c, doubts.get(c.name)) for c in plan.columns))


def _doubted(column: ColumnPlan, doubt: Doubt | None) -> ColumnPlan:
    if doubt is None:
        return column
    return replace(column, check=doubt.reason, override_hint=doubt.option)


def _seen(column: ColumnPlan, frame: pd.DataFrame, number_format: Any) -> Seen:
    if column.use != "number":
        return Seen(column, np.empty(0))
    series = frame[column.name]
    numbers = numbers_of(series, column, number_format)
    values = numbers[np.isfinite(numbers)].astype(np.float64, copy=False)
    is_text = not (is_real(series) or column.kind == "boolean")
    return Seen(column, values, is_text and are_amounts(known_texts(series, number_format.na)))


# Rules about the table


def _answer(
    seen: dict[str, Seen], plan: TablePlan, frame: pd.DataFrame, together: Floats
) -> dict[str, Doubt]:
    """Doubt what is named as an answer and has few values, and other columns of two values.

    Those stand at an end of a table in which they are rare, or go with the other columns more than
    most do; so the only column of words at the last place.
    """
    values = {name: frame[name].nunique() for name in seen}
    placed = [c.name for c in plan.columns if c.kind not in ("id", "constant", "empty")]
    last = placed[-1]
    ends = {last, placed[0]}
    answers = [n for n in seen if _is_named_as_answer(seen[n], values[n], n in ends)]
    if any(name.lower() == "x" for name in seen):
        answers = [name for name in answers if name.lower() != "y"]
    answers += _beside_one_unit(seen, plan, frame)
    words = [column.name for column in plan.used if column.levels and column.name in seen]
    twos = [n for n in seen if values[n] == 2 and not NO_ANSWERS & {*seen[n].words}]
    if len(plan.used) - len(words) > 1:
        few = [name for name in seen if values[name] <= MOST_CODES]
        coded = last in seen and last.isdecimal() and _are_codes(seen[last].numbers)
        if words == [last] or (coded and few == [last]):
            answers += [last] if not NO_ANSWERS & {*seen[last].words} else []
    if not answers:
        answers += _most_related(twos, plan, together)
    if len(plan.used) > 2 and len(twos) < len(plan.used) / 2:
        answers += [name for name in twos if name in ends]
    return dict.fromkeys((name for name in answers if free_text(seen[name]) is None), ANSWER)


def _most_related(names: list[str], plan: TablePlan, together: Floats) -> list[str]:
    """Return the one of these columns that goes most with all others, if few others do more."""
    means = dict(zip((column.name for column in plan.used), together.mean(axis=0), strict=True))
    best = max(names, key=means.__getitem__, default=None)
    if best is None or not means[best] > max(RELATED, BY_CHANCE / np.sqrt(plan.n_rows)):
        return []
    more = sum(mean > means[best] for mean in means.values())
    return [best] if more <= MORE_RELATED * len(means) else []


def _is_named_as_answer(column: Seen, values: int, at_an_end: bool) -> bool:
    """Return whether the name of a column of so many values is that of an answer or an event."""
    words = [word for word in column.words if not word.isdecimal()]
    # Of texts there may be more.
    most = MOST_CODES if len(column.numbers) else MOST_CATEGORIES
    if not words or len(words) > LONG_NAME or column.counts_things or values > most:
        return False
    first, last = words[0], words[-1]
    alone = (len(words) == 1 and first in ANSWERS_ALONE) or column.words == ["y"]
    at_the_end = at_an_end and is_answer_at_the_end(last)
    happens = values == 2 and len(column.numbers) and (is_event(first) or is_event(last))
    says_so = {level.casefold() for level in column.plan.levels} in OUTCOMES
    named = is_answer(column.last_word) or first == "target"
    return bool(alone or named or at_the_end or happens or says_so)


def _beside_one_unit(seen: dict[str, Seen], plan: TablePlan, frame: pd.DataFrame) -> list[str]:
    """Return a column of codes at an end of a table whose many other columns share a unit.

    Other columns without a name may be codes too, but not the same.
    """
    numbers = [column.name for column in plan.used if column.use == "number"]
    many = [name for name in numbers if name in seen and len(seen[name].distinct) > MOST_CODES]
    unnamed = len(numbers) > MANY and all(map(str.isdecimal, numbers))
    if len(many) <= max(MANY, len(numbers) / 2) and not unnamed:
        return []
    values = plan.read(frame).numbers
    for name, others in ((numbers[-1], slice(0, -1)), (numbers[0], slice(1, None))):
        if name not in seen or name in many or not _are_codes(seen[name].numbers):
            continue
        codes = seen[name].distinct
        alike = (np.array_equal(codes, seen[n].distinct) for n in numbers[others] if n in seen)
        if shared_unit(numbers[others], values[:, others]) and not any(alike):
            return [name]
    return []


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
    numbers = [column for column in seen.values() if len(column.distinct) > 2]
    coded = [column.plan.name for column in numbers if column.has_few and not column.is_ordered]
    counts = [name for name in coded if _are_counts(seen[name])]
    if len(counts) > len(coded) / 2:  # as of species or events
        coded = [name for name in coded if name not in counts]
    are_most = len(coded) >= max(MANY, len(numbers) / 2)
    return dict.fromkeys(coded, CODES) if are_most else {}


def _are_counts(column: Seen) -> bool:
    """Return whether integers from 0 on are counts, of which none is rarer than those around it."""
    from_0 = column.distinct[0] == 0 and len(column.distinct) >= FEWEST_MARKS
    return bool(from_0 and column.is_smooth and not has_valley(column.counts))


def _are_kinds(seen: dict[str, Seen], coded: Iterable[str]) -> bool:
    """Return whether columns of integers hold kinds of things and not counts, nor pixels.

    They have few values, and in some of them a value is rarer than those around it.
    """
    columns = [seen[name] for name in coded]
    valleys = sum(has_valley(column.counts) for column in columns)
    few = sum(len(column.distinct) <= FEWEST_MARKS for column in columns)
    return valleys > VALLEYS * len(columns) and few > len(columns) / 2


def _on_one_scale(seen: dict[str, Seen]) -> set[str]:
    """Return the columns that have their few integers in common with others, as marks have.

    Those are two others where there are five or more integers, else half of all columns.
    """
    scales: dict[bytes, list[str]] = {}
    for name, column in seen.items():
        if column.has_few:
            scales.setdefault(column.distinct.tobytes(), []).append(name)
    return {
        name
        for names in scales.values()
        for name in names
        if len(names) > (2 if len(seen[name].distinct) >= FEWEST_MARKS else len(seen) / 2)
    }


def _unrelated(seen: dict[str, Seen], plan: TablePlan, together: Floats) -> dict[str, Doubt]:
    """Doubt many integers above 0, not round, that go with no other column or lie far apart."""
    doubts: dict[str, Doubt] = {}
    for column, most in zip(plan.used, together.max(axis=0), strict=True):
        one = seen.get(column.name)
        if one is None or not one.is_whole or len(one.distinct) <= MOST_CODES or one.is_ordered:
            continue
        if any(map(is_amount, one.words)) or one.words == ["n"]:
            continue
        is_round = (one.numbers % 10 == 0).mean() > ROUND
        is_apart = np.ptp(one.distinct) > APART * len(one.distinct)
        is_plain = one.distinct[0] >= 1 and not is_round and not NOT_ZERO & {*one.words}
        if is_plain and (most < UNRELATED or is_apart):
            doubts[column.name] = ID
    return doubts


def _paired(seen: dict[str, Seen], frame: pd.DataFrame) -> dict[str, Doubt]:
    """Doubt two columns side by side that have their integers in common, and no pair of them twice.

    Those are ends of links, or rows and columns of a matrix; a full grid may be one of places.
    """
    doubts: dict[str, Doubt] = {}
    names = [str(name) for name in frame.columns]
    for one, two in pairwise(names):
        if one not in seen or two not in seen or not (seen[one].is_whole and seen[two].is_whole):
            continue
        first, second = seen[one].distinct, seen[two].distinct
        both = len(np.intersect1d(first, second))
        if min(len(first), len(second)) <= 2 * MOST_CODES or both < PAIRED * max(
            len(first), len(second)
        ):
            continue
        is_grid = len(frame) > PAIRED * len(first) * len(second)
        repeats = max(len(first), len(second)) <= len(frame) / 2
        if repeats and not is_grid and not frame.duplicated([one, two]).any():
            doubts |= dict.fromkeys((one, two), ID)
    return doubts


def _numbered_groups(seen: dict[str, Seen], frame: pd.DataFrame) -> dict[str, Doubt]:
    """Doubt the first columns whose integers repeat and rarely fall, as those of groups."""
    doubts: dict[str, Doubt] = {}
    for name in map(str, frame.columns if len(frame) >= ENOUGH else ()):
        column = seen.get(name)
        if column is None:
            continue
        repeats = column.is_whole and 4 < len(column.distinct) <= len(frame) / 2
        steps = np.diff(column.numbers)
        rises = column.is_whole and len(steps) > ODD and (steps > 0).all()
        if rises and not (DATES | TIMES) & {*column.words}:
            doubts[name] = ID
            break
        falls = (steps < 0).sum()
        if not repeats or column.plan.n_missing or falls > FALLS * (steps > 0).sum():
            break
        # A table may be sorted by a count.
        is_count = column.distinct[0] <= 1 and len(column.distinct) <= MOST_CATEGORIES
        if not column.is_even and (falls or not is_count or not column.is_smooth):
            doubts[name] = ID
    return doubts
