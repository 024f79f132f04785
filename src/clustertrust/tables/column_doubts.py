"""Rules that doubt one column by its name and its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.tables.column import ColumnPlan
from clustertrust.tables.kinds import MOST_CATEGORIES
from clustertrust.tables.plan import KNOWN_ANSWER
from clustertrust.tables.values import ENOUGH, are_whole, words_of
from clustertrust.tables.words import (
    COUNTS,
    DATE_ENDINGS,
    DATES,
    FREE_TEXTS,
    GROUP_ENDINGS,
    GROUPS,
    ID_ENDINGS,
    LASTING,
    NO_IDS,
    NOT_ZERO,
    NUMBERS,
    NUMBERS_OF,
    ORDERED,
    ORDERED_ENDINGS,
    ROW_NUMBERS,
    SURVEYS,
    TIMES,
    WEIGHTS,
)

# Different integers that are codes as often as amounts.
MOST_CODES = 12
# Rows from which on it is odd that all integers of a column differ.
ODD = 20
# Seconds since 1970, from 2000 to 2036, and milliseconds.
TIMESTAMPS = ((946_684_800, 2_100_000_000), (946_684_800_000, 2_100_000_000_000))
# Numbers of years: 1987, and 87.
YEARS = ((1500, 2100), (40, 99))
FEWEST_YEARS = 5
# First and last of hours, minutes, days, weeks, and days of a year.
CALENDARS = ((0, 23), (1, 24), (0, 59), (1, 31), (1, 52), (1, 53), (1, 365), (1, 366))
# In seconds.
NOON = 43_200
# Correlation of how often a value occurs with how often the next one does, of amounts.
SMOOTH = 0.45
# Share of the integers between the smallest and the largest that occur, of codes.
FULL = 0.75
# Standard errors by which a value is rarer than some below and above it.
RARER = 3.0
# Numbers among which one is an id, in the mean.
SPARSE = 100
# From which on a weight is of a row, not of a thing; and how far from 1 the mean of such may be.
HEAVY, NEAR_ONE = 10_000, 0.02
# Decimals of what is weighed, and below which other weights are those of rows.
DECIMALS, LIGHT = 4, 10
# Share of the median below which a measure comes near to 0.
FAR_FROM_ZERO = 0.05


@dataclass(frozen=True)
class Seen:
    """A column that is used, and what the rules look at.

    Attributes
    ----------
    plan : what is done with it
    numbers : its numbers that are not missing; empty for categories
    """

    plan: ColumnPlan
    numbers: Floats

    @cached_property
    def words(self) -> list[str]:
        """Those of its name."""
        return words_of(self.plan.name)

    @property
    def last_word(self) -> str:
        """The last word of its name."""
        return self.words[-1] if self.words else ""

    @cached_property
    def is_whole(self) -> bool:
        """Whether it holds integers."""
        return len(self.numbers) > 0 and are_whole(self.numbers)

    @cached_property
    def distinct(self) -> Floats:
        """Its different numbers, in order."""
        return np.unique(self.numbers)

    @cached_property
    def counts(self) -> Ints:
        """How often each of them occurs."""
        return np.unique(self.numbers, return_counts=True)[1]

    def lies_in(self, *ranges: tuple[float, float]) -> bool:
        """Return whether all numbers lie in one of these ranges."""
        return any(low <= self.distinct[0] and self.distinct[-1] <= high for low, high in ranges)

    @property
    def has_few(self) -> bool:
        """Whether it has three to twelve integers."""
        if not self.is_whole or len(self.numbers) < ENOUGH:
            return False
        return 2 < len(self.distinct) <= min(MOST_CODES, len(self.numbers) / 2)

    @property
    def is_full(self) -> bool:
        """Whether it has most integers between its smallest and its largest."""
        return self.is_whole and bool(len(self.distinct) >= FULL * (np.ptp(self.distinct) + 1))

    @property
    def is_smooth(self) -> bool:
        """Whether a value occurs about as often as the next, as amounts do and codes do not.

        Values that all occur about equally often are not amounts.
        """
        if len(self.distinct) < 4 or self.counts.var() <= self.counts.mean():
            return False
        ranks = np.unique(self.counts, return_inverse=True)[1]
        if np.ptp(ranks[1:]) == 0 or np.ptp(ranks[:-1]) == 0:
            return True
        return bool(np.corrcoef(ranks[:-1], ranks[1:])[0, 1] > SMOOTH)

    @property
    def is_ordered(self) -> bool:
        """Whether its name says that its numbers have an order, or count things."""
        counted = self.words[:1] and self.words[0] in NUMBERS_OF and len(self.words) > 1
        named = [w.startswith(tuple(ORDERED)) or w.endswith(ORDERED_ENDINGS) for w in self.words]
        return bool(counted) or any(named) or self.plan.name.lower().startswith(("num", "nb"))


class Doubt(NamedTuple):
    """Why a decision should be checked, and the parameter that says otherwise."""

    reason: str
    option: str


CODES = Doubt("few different integers, which may be codes", "category")
IN_A_ROW = Doubt("all integers from 1 on, which may be codes", "category")
NAMED_AS_CODE = Doubt("its name says that it is a code", "category")
ID = Doubt("integers like those of an id", "drop")
ANSWER = Doubt(KNOWN_ANSWER, "drop")
DATE = Doubt("its name says that it is a date", "drop")
COUNT = Doubt("its name says that it counts cases, and may be the weight of a row", "drop")
WEIGHT = Doubt("its name says that it is the weight of a row, not a measurement", "drop")
YEARS_IN_A_ROW = Doubt("integers like those of years", "drop")
CALENDAR = Doubt("all integers of a clock or a calendar, such as hours or days", "drop")
TIMESTAMP = Doubt("integers like those of a time in seconds since 1970", "drop")
TEXT = Doubt("its name and its texts say that it is free text", "drop")
ZEROS = Doubt("0 cannot be measured, and may stand for a missing value", "na")


def _as_code(doubt: Doubt, different: int) -> Doubt:
    """Return a doubt of codes; too many of them for a column each are better left out."""
    return doubt if different <= MOST_CATEGORIES else doubt._replace(option="drop")


def _named_as_count(seen: Seen) -> Doubt | None:
    return COUNT if seen.last_word in COUNTS and seen.plan.use == "number" else None


def _named_as_weight(seen: Seen) -> Doubt | None:
    """Doubt weights of a survey; others are large, 1 in the mean, or small and not rounded."""
    if seen.plan.use != "number" or not len(seen.numbers):
        return None
    named = {"weight", "wt"} & {*seen.words[-1:]}
    large = seen.is_whole and seen.distinct[-1] > HEAVY
    near_one = len(seen.distinct) > 2 and abs(seen.numbers.mean() - 1) < NEAR_ONE
    exact = (np.round(seen.distinct, DECIMALS) != seen.distinct).mean() > 0.5
    bare = len(seen.words) == 1 and (large or near_one or (exact and seen.distinct[-1] < LIGHT))
    is_weight = WEIGHTS & {*seen.words[-1:]} or (named and (SURVEYS & {*seen.words} or bare))
    return WEIGHT if is_weight else None


def _named_as_date(seen: Seen) -> Doubt | None:
    """Doubt what is called date, year and the like; amounts may begin so, or be in hours."""
    last = seen.last_word
    if LASTING & {*seen.words} or last.startswith(tuple(LASTING)):
        # The year of a birth does not pass.
        return None
    if last in DATES:
        return DATE
    if not seen.is_whole:
        named = not len(seen.numbers) and (DATES | TIMES) & {*seen.words[:1], last}
        return DATE if named else None
    months = seen.words[:1] == ["mo"] and seen.lies_in((1, 12))
    clock = last == "time" and _are_on_the_clock(seen.distinct)
    years = last.endswith(DATE_ENDINGS) and seen.lies_in(*YEARS)
    return DATE if months or clock or years or (DATES | TIMES) & {*seen.words[:1], last} else None


def _are_on_the_clock(values: Floats) -> bool:
    """Return whether many different numbers are times of day such as 1459, or their seconds."""
    in_hours = values[0] >= 0 and 1000 < values[-1] <= 2400 and (values % 100 < 60).all()
    in_seconds = values[0] >= 0 and NOON < values[-1] <= 2 * NOON
    return bool(len(values) > 4 * MOST_CODES and (in_hours or in_seconds))


def _like_years(seen: Seen) -> Doubt | None:
    """Doubt five or more integers in a row that are all years of the last or this century."""
    if not seen.is_full or LASTING & {*seen.words} or len(seen.distinct) < FEWEST_YEARS:
        return None
    return YEARS_IN_A_ROW if seen.lies_in((1900, 2050)) else None


def _like_a_calendar(seen: Seen) -> Doubt | None:
    """Doubt all integers of a clock or a calendar, none of them much rarer than the others."""
    if not seen.is_whole or len(seen.distinct) <= MOST_CODES:
        return None
    ends = (seen.distinct[0], seen.distinct[-1])
    is_full = ends in CALENDARS and len(seen.distinct) == ends[1] - ends[0] + 1
    # The last days and weeks are rarer.
    return CALENDAR if is_full and 2 * seen.counts[:-3].min() >= seen.counts.max() else None


def _like_a_timestamp(seen: Seen) -> Doubt | None:
    """Doubt integers that are all seconds since 1970, in a column of any name."""
    if not seen.is_whole or len(seen.distinct) < ENOUGH:
        return None
    return TIMESTAMP if seen.lies_in(*TIMESTAMPS) else None


def _named_as_id(seen: Seen) -> Doubt | None:
    """Doubt integers of a name such as hhid; those of numbers and rows are many."""
    last = seen.last_word
    if not seen.is_whole or len(seen.distinct) < 3:
        return None
    glued = last.endswith(ID_ENDINGS) and last not in {*NO_IDS, *ID_ENDINGS}
    counted = last in ROW_NUMBERS or seen.words == ["number"]
    numbered = len(seen.words) > 1 and last in NUMBERS
    many = len(seen.distinct) > MOST_CODES
    named = (glued and (many or seen.distinct[0] >= 1)) or ((counted or numbered) and many)
    return ID if named else None


def _like_an_id(seen: Seen) -> Doubt | None:
    """Doubt integers that all differ and lie close together, as numbers of rows do."""
    if not seen.is_whole or len(seen.numbers) < ODD or len(seen.distinct) < len(seen.numbers):
        return None
    return ID if np.ptp(seen.distinct) < 2 * len(seen.distinct) else None


def _like_groups(seen: Seen) -> Doubt | None:
    """Doubt many integers that occur equally often, as the ids of a panel do."""
    if not seen.is_whole or len(seen.distinct) <= MOST_CODES:
        return None
    equal = seen.counts[0] > 1 and np.ptp(seen.counts) == 0
    return (
        ID if equal and seen.distinct[-1] - seen.distinct[0] < SPARSE * len(seen.distinct) else None
    )


def _in_a_row(seen: Seen) -> Doubt | None:
    """Doubt nearly all integers from 1 on, up to a third of the rows, as codes of groups are.

    Amounts are smooth: next to a value that occurs often is another.
    """
    different = len(seen.distinct)
    if not seen.is_full or seen.distinct[0] != 1:
        return None
    is_many = MOST_CODES < different <= len(seen.numbers) / 3
    is_code = is_many and not seen.is_smooth and not seen.is_ordered
    return _as_code(IN_A_ROW, different) if is_code else None


def _named_as_group(seen: Seen) -> Doubt | None:
    """Doubt integers named as groups; an amount may be one of such, as in MPG.city."""
    last, different = seen.last_word, len(seen.distinct)
    named = seen.is_whole and (last in GROUPS or last.endswith(GROUP_ENDINGS)) and different > 2
    is_amount = len(seen.words) > 1 and different > MOST_CODES and seen.is_smooth
    return _as_code(NAMED_AS_CODE, different) if named and not is_amount else None


def _few_whole_numbers(seen: Seen) -> Doubt | None:
    """Doubt three to twelve integers from 0 or 1 on; two are a number and a category alike.

    Counts begin at 0 and become rarer; others are named in the plural; marks have one peak.
    """
    if not (seen.has_few and seen.is_full) or seen.distinct[0] not in (0, 1) or seen.is_ordered:
        return None
    if seen.distinct[0] == 0:
        return CODES if _has_valley(seen.counts) else None
    word = seen.last_word
    plural = word.endswith("s") and not word.endswith(("ss", "os", "us", "is"))
    marks = len(seen.distinct) > 4 and _has_one_peak(seen.counts)
    return None if plural or marks else CODES


def _has_one_peak(counts: Ints) -> bool:
    """Return whether counts rise to one value, far above the least, and fall after it."""
    peak = int(counts.argmax())
    if counts[peak] < 2 * counts.min():
        return False
    return bool((np.diff(counts[: peak + 1]) >= 0).all() and (np.diff(counts[peak:]) <= 0).all())


def _has_valley(counts: Ints) -> bool:
    """Return whether a value is rarer than one below and one above it, and not by chance."""
    below, above = np.maximum.accumulate(counts), np.maximum.accumulate(counts[::-1])[::-1]
    walls = np.minimum(below, above)
    return bool((walls - counts > RARER * np.sqrt(walls)).any())


def _with_odd_zeros(seen: Seen) -> Doubt | None:
    """Doubt zeros in a measure that is never 0, where all other values are far from it."""
    if not NOT_ZERO & {*seen.words} or len(seen.numbers) < ENOUGH:
        return None
    others = seen.numbers[seen.numbers != 0]
    if len(others) == len(seen.numbers) or len(np.unique(others)) < ENOUGH:
        return None
    return None if others.min() < FAR_FROM_ZERO * np.median(others) else ZEROS


def free_text(seen: Seen) -> Doubt | None:
    """Doubt categories of a column of comments and the like, if one of them is a sentence."""
    named = seen.last_word in FREE_TEXTS
    return TEXT if named and any(level.count(" ") > 1 for level in seen.plan.levels) else None


# The first that doubts a column counts.
RULES: tuple[Callable[[Seen], Doubt | None], ...] = (
    _named_as_count,
    _named_as_weight,
    _named_as_date,
    _like_years,
    _like_a_calendar,
    _like_a_timestamp,
    _named_as_id,
    _like_an_id,
    _like_groups,
    _in_a_row,
    _named_as_group,
    _with_odd_zeros,
    _few_whole_numbers,
    free_text,
)
