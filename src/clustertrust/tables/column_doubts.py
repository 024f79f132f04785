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
    DATES,
    FREE_TEXTS,
    NO_IDS,
    NOT_ZERO,
    NUMBERS,
    NUMBERS_OF,
    SURVEYS,
    TIMES,
    WEIGHTS,
    is_filed,
    is_group,
    is_id,
    is_lasting,
    is_of_few,
    is_rank,
    is_year,
)

# Different integers that are codes as often as amounts.
MOST_CODES = 12
# The same where they begin at 0, as counts do.
MOST_FROM_0 = 4
# Pairs of equal amounts that cannot be missing by chance, and share of them below which they are.
UNLIKELY, RARELY = 6, 0.1
# Rows from which on it is odd that all integers of a column differ.
ODD = 20
# Seconds since 1970, from 2000 to 2036, and milliseconds.
TIMESTAMPS = ((946_684_800, 2_100_000_000), (946_684_800_000, 2_100_000_000_000))
# Numbers of years: 1987, and 87.
YEARS = ((1500, 2100), (40, 99))
FEWEST_YEARS = 5
# First and last of hours, minutes, days, weeks, and days of a year.
CALENDARS = (
    (0, 6),
    (1, 7),
    (1, 12),
    (0, 23),
    (1, 24),
    (0, 59),
    (1, 31),
    (1, 52),
    (1, 53),
    (1, 365),
    (1, 366),
)
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
# Variance of how often the ids of a panel occur, as a share of the mean.
EVENLY = 0.1
# Decimals of what is weighed, and below which other weights are those of rows.
DECIMALS, LIGHT = 4, 10
# Share of the median below which a measure comes near to 0.
FAR_FROM_ZERO = 0.05
# Numbers that may stand for a missing value beside none below 0, and how many times as often as the
# next above them they occur then.
MISSING_CODES = frozenset(range(-9, 0))
FREQUENT = 3
BESIDE_FEW = frozenset((77, 88, 97, 98, 99))


@dataclass(frozen=True)
class Seen:
    """A column that is used, and what the rules look at.

    Attributes
    ----------
    plan : what is done with it
    numbers : its numbers that are not missing; empty for categories
    is_amount : whether they are written as amounts are, such as $1,200 or 5 %
    """

    plan: ColumnPlan
    numbers: Floats
    is_amount: bool = False

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
        """Whether it holds integers, which may be codes."""
        return not self.is_amount and len(self.numbers) > 0 and are_whole(self.numbers)

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
    def is_even(self) -> bool:
        """Whether its integers have equal steps larger than 1, as planned values and places do."""
        steps = np.diff(self.distinct)
        return len(steps) > 1 and steps[0] > 1 and bool(np.ptp(steps) == 0)

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
        ordered = (is_rank(word) or is_of_few(word) for word in self.words)
        return self.counts_things or any(ordered)

    @property
    def counts_things(self) -> bool:
        """Whether its name says that it counts things."""
        counted = len(self.words) > 1 and self.words[0] in NUMBERS_OF
        return counted or self.plan.name.lower().startswith(("num", "nb"))

    @property
    def lasts(self) -> bool:
        """Whether its name says that it does not pass, as the year of a birth."""
        return any(map(is_lasting, self.words))


class Doubt(NamedTuple):
    """Why a decision should be checked, and the parameter that says otherwise."""

    reason: str
    option: str


IN_A_ROW = Doubt("all integers from 1 on, which may be codes", "category")
CODES = Doubt("few different integers, which may be codes", "category")
NAMED_AS_CODE = Doubt("named like a code", "category")
ID = Doubt("integers like those of an id", "drop")
ANSWER = Doubt(KNOWN_ANSWER, "drop")
NAMELESS = Doubt("without a name, like the names of rows", "drop")
DATE = Doubt("named like a date", "drop")
COUNT = Doubt("named like a count of cases, which may be the weight of a row", "drop")
WEIGHT = Doubt("named like the weight of a row, not a measurement", "drop")
YEARS_IN_A_ROW = Doubt("integers like those of years", "drop")
CALENDAR = Doubt("all integers of a clock or a calendar, such as hours or days", "drop")
TIMESTAMP = Doubt("integers like those of a time in seconds since 1970", "drop")
CLOCK = Doubt("integers like those of times of day, such as 1459", "drop")
TEXT = Doubt("named like free text, in several words", "drop")
ZEROS = Doubt("0 cannot be measured, and may stand for a missing value", "na=0")


def _as_code(doubt: Doubt, different: int) -> Doubt:
    """Return a doubt of codes; too many of them for a column each are better left out."""
    return doubt if different <= MOST_CATEGORIES else doubt._replace(option="drop")


def _named_as_count(seen: Seen) -> Doubt | None:
    is_named = len(seen.words) == 1 and seen.last_word in COUNTS
    return COUNT if is_named and len(seen.numbers) else None


def _named_as_weight(seen: Seen) -> Doubt | None:
    """Doubt weights of a survey; others are large, 1 in the mean, or small and not rounded."""
    if seen.plan.use != "number" or not len(seen.numbers):
        return None
    named = {"weight", "wt", "wgt"} & {*seen.words[-1:]}
    large = seen.is_whole and seen.distinct[-1] > HEAVY
    near_one = len(seen.distinct) > 2 and abs(seen.numbers.mean() - 1) < NEAR_ONE
    exact = (np.round(seen.distinct, DECIMALS) != seen.distinct).mean() > 0.5
    bare = len(seen.words) == 1 and (large or near_one or (exact and seen.distinct[-1] < LIGHT))
    is_weight = WEIGHTS & {*seen.words[:1], *seen.words[-1:]} or (
        named and (SURVEYS & {*seen.words} or bare)
    )
    return WEIGHT if is_weight else None


def _named_as_date(seen: Seen) -> Doubt | None:
    """Doubt what is called date, year and the like; amounts may begin so, or be in hours."""
    last = seen.last_word
    if seen.lasts:
        return None
    if last in DATES:
        return DATE
    named = (DATES | TIMES) & {*seen.words[:1], last}
    if not seen.is_whole:
        return DATE if named and not len(seen.numbers) else None
    months = seen.words[:1] == ["mo"] and seen.lies_in((1, 12))
    clock = last == "time" and _are_on_the_clock(seen.distinct)
    years = is_year(last) and seen.lies_in(*YEARS)
    return DATE if named or months or clock or years else None


def _are_on_the_clock(values: Floats, by_name: bool = True) -> bool:
    """Return whether many different numbers are times of day such as 1459, or their seconds.

    Numbers of any name must not be round.
    """
    if len(values) <= 4 * MOST_CODES or values[0] < 0:
        return False
    in_hours = 1000 < values[-1] <= 2400 and (values % 100 < 60).all()
    in_seconds = NOON < values[-1] <= 2 * NOON
    if by_name:
        return bool(in_hours or in_seconds)
    return bool(in_hours and (values % 50 != 0).mean() > 0.5)


def _like_times(seen: Seen) -> Doubt | None:
    """Doubt integers that are times in a column of any name.

    Those are seconds since 1970, five or more years in a row of the last or this century, and all
    of a clock or a calendar, none of them much rarer than the others.
    """
    different = len(seen.distinct)
    if not seen.is_whole or different < FEWEST_YEARS:
        return None
    if different >= ENOUGH and seen.lies_in(*TIMESTAMPS):
        return TIMESTAMP
    if seen.is_full and not seen.lasts and seen.lies_in((1900, 2050)):
        return YEARS_IN_A_ROW
    if _are_on_the_clock(seen.distinct, by_name=False):
        return CLOCK
    ends = (seen.distinct[0], seen.distinct[-1])
    is_calendar = ends in CALENDARS and different == ends[1] - ends[0] + 1
    # The last days and weeks are rarer.
    return CALENDAR if is_calendar and 2 * seen.counts[:-3].min() >= seen.counts.max() else None


def _without_a_name(seen: Seen) -> Doubt | None:
    """Doubt numbers without a name: those of rows have none."""
    name = seen.plan.name.strip()
    return NAMELESS if len(seen.numbers) and (not name or name.startswith("Unnamed: ")) else None


def _named_as_id(seen: Seen) -> Doubt | None:
    """Doubt integers of a name such as hhid; those of numbers and of what is filed are many."""
    last, many = seen.last_word, len(seen.distinct) > MOST_CODES
    if not seen.is_whole or len(seen.distinct) < 3:
        return None
    if many and seen.words == ["number"]:
        return ID
    numbered = len(seen.words) > 1 and last in NUMBERS
    counted = last.endswith("no") and seen.is_full
    first = next(iter(seen.words), "")
    glued = [is_id(word) and word not in NO_IDS for word in (first, last)]
    named = (glued[0] and many) or (glued[1] and (many or seen.distinct[0] >= 1))
    filed = many and (numbered or counted or is_filed(last))
    return ID if (named or filed) and not seen.is_ordered else None


def _like_an_id(seen: Seen) -> Doubt | None:
    """Doubt integers that hardly ever repeat, where amounts would; and those that never fall.

    Amounts that are spread as evenly as can be repeat less than any others.
    """
    different, rows = len(seen.distinct), len(seen.numbers)
    if not seen.is_whole or rows < ODD:
        return None
    by_chance = rows * (rows - 1) / 2 / (np.ptp(seen.distinct) + 1)
    repeats = (seen.counts * (seen.counts - 1)).sum() / 2
    close = np.ptp(seen.distinct) < 2 * different
    rises = close and 2 * different > rows and (np.diff(seen.numbers) >= 0).all()
    return ID if rises or (by_chance > UNLIKELY and repeats < RARELY * by_chance) else None


def _like_groups(seen: Seen) -> Doubt | None:
    """Doubt many integers that occur equally often, as the ids of a panel do.

    Of integers without gaps, which may be places, this must be exact.
    """
    if not seen.is_whole or len(seen.distinct) <= MOST_CODES or seen.is_even:
        return None
    evenly = 0.0 if seen.is_full else EVENLY * seen.counts.mean()
    is_panel = seen.counts.min() > 1 and seen.counts.var() <= evenly
    return ID if is_panel and np.ptp(seen.distinct) < SPARSE * len(seen.distinct) else None


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
    named = seen.is_whole and is_group(last) and different > 2
    is_amount = len(seen.words) > 1 and different > MOST_CODES and seen.is_smooth
    return _as_code(NAMED_AS_CODE, different) if named and not is_amount else None


def _few_whole_numbers(seen: Seen) -> Doubt | None:
    """Doubt three to twelve integers from 1 on, and three or four from 0 on.

    Two are a number and a category alike; counts begin at 0 and become rarer.
    """
    if not seen.has_few or seen.is_ordered or seen.distinct[0] not in (0, 1):
        return None
    few = len(seen.distinct) <= MOST_FROM_0 and seen.is_full and (np.diff(seen.counts) > 0).any()
    return CODES if seen.distinct[0] == 1 or few else None


def has_valley(counts: Ints) -> bool:
    """Return whether a value is rarer than one below and one above it, and not by chance."""
    below, above = np.maximum.accumulate(counts), np.maximum.accumulate(counts[::-1])[::-1]
    walls = np.minimum(below, above)
    return bool((walls - counts > RARER * np.sqrt(walls)).any())


def _with_missing_codes(seen: Seen) -> Doubt | None:
    """Doubt zeros far from all other values of a measure that is never 0, and a frequent -1.

    So for -2 to -9: the only number below 0, and more frequent than the next one above it; and for
    88 or 99 beside few smaller integers.
    """
    if seen.is_whole and 1 < len(seen.distinct) <= MOST_CODES:
        last, is_above = seen.distinct[-1], seen.distinct[-2] < seen.distinct[-1] / 4
        if last in BESIDE_FEW and is_above and seen.counts[-1] > 1:
            return _missing(last, "lies far above the others")
    if len(seen.distinct) <= ENOUGH:
        return None
    code, least = seen.distinct[:2]
    if code == 0:
        usual = np.median(seen.numbers[seen.numbers != 0])
        return ZEROS if NOT_ZERO & {*seen.words} and least >= FAR_FROM_ZERO * usual else None
    is_frequent = seen.counts[0] >= FREQUENT * seen.counts[1]
    if code not in MISSING_CODES or least < 0 or not is_frequent:
        return None
    return _missing(code, "is frequent")


def _missing(code: float, why: str) -> Doubt:
    return Doubt(f"{code:g} {why}, and may stand for a missing value", f"na={code:g}")


def free_text(seen: Seen) -> Doubt | None:
    """Doubt categories of a column of comments and the like, if one of them is a sentence."""
    named = seen.last_word in FREE_TEXTS
    return TEXT if named and any(level.count(" ") > 1 for level in seen.plan.levels) else None


# The first that doubts a column counts.
RULES: tuple[Callable[[Seen], Doubt | None], ...] = (
    _named_as_count,
    _named_as_weight,
    _named_as_date,
    _without_a_name,
    _like_times,
    _named_as_id,
    _like_an_id,
    _like_groups,
    _in_a_row,
    _named_as_group,
    _with_missing_codes,
    _few_whole_numbers,
    free_text,
)
