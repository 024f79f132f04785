"""Text as people write it → numbers, booleans, dates, and what stands for a missing value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from clustertrust._types import Array, Floats

# Rows from which on values say something.
ENOUGH = 10
# Texts that mean "no value", in lower case. "unknown" and "other" may be categories: not here.
MISSING = frozenset(
    "|?|-|--|---|.|..|...|*|–|—|n/a|na|n.a.|#n/a|nan|null|none|nil|<na>|#null!|#div/0!|#value!"  # noqa: SIM905
    "|#ref!|missing|not available|k.a.".split("|")
)
# Numbers that often stand for a missing value, where they lie far from all others.
SENTINELS = frozenset(
    (-9, -88, -99, -888, -999, -9999, -99999, -999999, 999, 9999, 99999, 999999, 9999999)
) | frozenset((-99.9, -999.9, -999.25, 999.9, 9999.9, 99999.9))

# Marks before a number that is a limit, as laboratories write what they cannot measure.
LIMITS = ("<", ">", "≤", "≥")

# Words for yes, each with its word for no.
_NO_BESIDE = {"yes": "no", "y": "n", "true": "false", "t": "f", "on": "off", "ja": "nein"}
_NO_BESIDE |= {"oui": "non", "si": "no", "sí": "no", "wahr": "falsch"}

# Names of months and days by themselves: English, German, French, Spanish, Italian, Portuguese,
# Dutch.
_MONTHS_AND_DAYS = frozenset(
    "january february march april may june july august september october november december "  # noqa: SIM905
    "jan feb mar apr jun jul aug sep sept oct nov dec "
    "januar jänner februar märz mai juni juli oktober dezember "
    "janvier février mars avril juin juillet août septembre octobre novembre décembre "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre "
    "gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre "
    "janeiro fevereiro março maio junho julho setembro outubro novembro dezembro "
    "januari februari maart mei augustus "
    "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun "
    "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag "
    "lundi mardi mercredi jeudi vendredi samedi dimanche "
    "lunes martes miércoles jueves viernes sábado domingo "
    "lunedì martedì mercoledì giovedì venerdì sabato domenica "
    "segunda terça quarta quinta sexta "
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag".split()
)
# How their names begin in a date.
_MONTH = (
    "(?:jan|feb|fev|fév|mar|mär|mrz|maa|apr|avr|abr|may|mai|mag|mei|jun|jui|giu|jul|lug|aug|aoû|ago|"
    r"sep|set|oct|okt|ott|out|nov|dec|dez|déc|dic|gen|ene)[^\W\d]*\.?"
)
_CLOCK = r"(?:[ T]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\s?(?:[ap]m)?(?:Z|[+-]\d{2}:?\d{2}|\s?UTC)?)?"
_DATE = re.compile(
    "|".join(
        (
            rf"\d{{4}}[-/.]\d{{1,2}}(?:[-/.]\d{{1,2}})?{_CLOCK}",
            rf"\d{{1,2}}[-/.]\d{{1,2}}[-/.](?:\d{{4}}|\d{{2}}){_CLOCK}",
            rf"\d{{1,2}}(?:[ -]|\. ?){_MONTH}[ ,-]*\d{{2,4}}{_CLOCK}",
            rf"{_MONTH}[ -]\d{{1,2}},?[ -]\d{{2,4}}{_CLOCK}",
            rf"{_MONTH}[ -]\d{{2,4}}",
            r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?",
            r"\d{4}[-: ]?Q[1-4]",
            r"\d{4}[-: ]?M\d{1,2}",
            r"Q0?[1-4]",
        )
    ),
    re.IGNORECASE,
)

_LINK = re.compile(r"(?:https?://|ftp://|www\.)\S+|[^\s@]+@[^\s@]+\.\w+")
_MARKS = re.compile(r"[$€£¥₹\s\u00a0\u202f']|(?:USD|EUR|GBP|CHF|JPY)(?=[\s\d.,-]|$)|(?<=[\d\s])%$")
# Such as 1.2M of an amount; 79323B is a code.
_MULTIPLE = re.compile(r"([+-]?\d{1,3}(?:[.,]\d+)?)\s?(k|K|M|B|bn|Mio|Mrd)\.?")
_TIMES = {"k": 1e3, "K": 1e3, "M": 1e6, "Mio": 1e6, "B": 1e9, "bn": 1e9, "Mrd": 1e9}
# A number and what it counts: 1,200 sq ft.
_IN_UNITS = re.compile(r"[+-]?\d[\d.,'\s]*?(\s*)((?:[^\W\d_]|°)\D*[²³23]?)")
_PLAIN = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d*)?(?:[eE][+-]?\d{1,3})?")
_BLANKS = re.compile(r"(?<=\d)[\s'](?=\d{3}(?!\d))")  # between thousands: 1 234,5
# A comma that separates no thousands: other than three digits follow, or a point is before it.
_PROVES_COMMA = re.compile(
    r"[^\d]*\d+,(?:\d{1,2}|\d{4,})[^\d,.]*|[^\d]*\d{1,3}(?:\.\d{3})+,\d+[^\d,.]*"
)
_PROVES_POINT = re.compile(r"[^\d]*\d{1,3}(?:,\d{3})+\.\d+[^\d,.]*|[^\d]*\d+\.\d+[^\d,.]*")


def known_texts(
    column: pd.Series, na: Iterable[str] | None = None, *, words: bool = False
) -> pd.Series:
    """Return the texts of a column, stripped, NaN where one stands for a missing value.

    `na` are more texts that mean one, besides those of `MISSING`; where it is empty, only empty
    texts do. `words`: the column holds words, of which "none" may be one.
    """
    more = None if na is None else frozenset(text.casefold() for text in na)
    missing = MISSING | (more or frozenset()) if more is None or more else frozenset({""})
    if words and not (more and "none" in more):
        missing = missing - {"none"}
    plain = as_scalars(column).astype(object)
    return mapped(plain, lambda value: None if _blank(value, missing) else str(value).strip())


def as_scalars(column: pd.Series) -> pd.Series:
    """Return a column with lists, arrays and the like as texts, which can be compared."""
    if isinstance(column.dtype, pd.ArrowDtype) and column.dtype.type in (list, dict):
        column = column.astype(object)
    if not pd.api.types.is_object_dtype(column.dtype):
        return column
    is_scalar = pd.api.types.is_scalar
    return column.map(lambda value: value if is_scalar(value) else str(value))


def as_categories(column: pd.Series, na: Iterable[str] | None = None) -> pd.Series:
    """Return the values of a column as texts, numbers too: 1 and 1.0 are the same."""
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return known_texts(column, na, words=True)
    return known_texts(mapped(column.astype(object), _shortest), na, words=True)


def _shortest(number: object) -> str:
    is_whole = isinstance(number, float) and number.is_integer()
    return str(int(number) if is_whole else number)  # type: ignore[call-overload]


def listed(names: Sequence[object], most: int = 10) -> str:
    """Join names for a message; of many, list the first."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(str(name).strip() or "(no name)" for name in names[:most]) + more


def in_order(text: str) -> tuple[bool, float, str]:
    """Return a key that sorts numbers by size, before other texts."""
    return (False, float(text), "") if is_number(text) else (True, 0.0, text)


def words_of(name: str) -> list[str]:
    """Return the words of a name, in lower case: customerID, IDunit and customer_id have two."""
    words = re.findall(r"ID(?=[a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    return [word.lower() for word in words]


def _blank(value: object, missing: frozenset[str]) -> bool:
    return (
        value is None
        or value is pd.NA
        or value != value
        or str(value).strip().casefold() in missing
    )


def mapped(column: pd.Series, of: Callable[[object], object]) -> pd.Series:
    """Apply a function to each value, called once for each different value."""
    codes, values = pd.factorize(column, use_na_sentinel=True)
    results = np.array([*(of(value) for value in values), None], dtype=object)
    return pd.Series(results[codes], index=column.index, name=column.name, dtype=object)


def decimal_of(texts: Iterable[str]) -> str | None:
    """Return which mark these texts prove to come before the decimals; None: neither, or both."""
    texts = [_BLANKS.sub("", text) for text in texts]
    comma = any(_PROVES_COMMA.fullmatch(text) for text in texts)
    point = any(_PROVES_POINT.fullmatch(text) for text in texts)
    if comma == point:
        return None
    return "," if comma else "."


def as_numbers(texts: pd.Series, decimal: str = ".", thousands: str | None = None) -> pd.Series:
    """Return texts as floats, NaN where one is not a number: 82.1%, $34,453, (12), 1.234,56 are."""
    return mapped(texts, lambda text: _number(str(text), decimal, thousands)).astype(np.float64)


def _number(text: str, decimal: str, thousands: str | None) -> float:
    """Return one number, or NaN."""
    text = text.strip().replace("−", "-")
    # Book-keepers write a loss in brackets.
    if len(text) > 2 and text[0] == "(" and text[-1] == ")":
        text = f"-{text[1:-1]}"
    text = _MARKS.sub("", text.lstrip("".join(LIMITS)))
    multiple = _MULTIPLE.fullmatch(text)
    if multiple:
        return _TIMES[multiple[2]] * _number(multiple[1], decimal, thousands)
    if thousands and thousands != decimal:
        text = text.replace(thousands, "")
    if decimal == ",":
        if not _COMMA.fullmatch(text):
            return np.nan
        return _finite(text.replace(".", "").replace(",", "."))
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    return _finite(text) if _PLAIN.fullmatch(text) else np.nan


def are_amounts(texts: pd.Series) -> bool:
    """Return whether most texts are more than digits: they have a unit or separate thousands."""
    there = texts.dropna()
    return len(there) > 0 and not there.str.fullmatch(_PLAIN).mean() > 0.5


def unit_of(texts: Iterable[str]) -> str:
    """Return the unit behind all numbers among texts, such as kg; empty where there is none.

    Capitals right behind a number are those of a code.
    """
    found = [_IN_UNITS.fullmatch(text) for text in texts if text[:1].isdecimal()]
    if not found or not all(found):
        return ""
    units = {_singular(match[2]) for match in found if match}
    is_code = any(match and not match[1] and re.match("[A-Z]", match[2]) for match in found)
    return units.pop() if len(units) == 1 and not is_code else ""


def without_unit(texts: pd.Series, unit: str) -> pd.Series:
    """Return texts without the unit behind their numbers."""

    def bare(text: object) -> object:
        match = _IN_UNITS.fullmatch(str(text)) if unit else None
        is_known = match is not None and _singular(match[2]) == unit
        return str(text)[: match.start(1)] if match is not None and is_known else text

    return mapped(texts, bare)


def _singular(unit: str) -> str:
    unit = unit.strip().casefold()
    return unit.removesuffix("s") or unit


def _finite(text: str) -> float:
    number = float(text)
    return number if np.isfinite(number) else np.nan


def is_number(text: str) -> bool:
    """Return whether a text is a plain number."""
    return _PLAIN.fullmatch(text.strip()) is not None


def truth_of(texts: Iterable[str]) -> dict[str, float] | None:
    """Return the number of each of two texts that say yes and no; None where these do not."""
    texts = set(texts)
    lower = {text.casefold() for text in texts}
    if lower not in ({yes, no} for yes, no in _NO_BESIDE.items()):
        return None
    return {text: float(text.casefold() in _NO_BESIDE) for text in texts}


def is_date(text: str) -> bool:
    """Return whether a text is a date, a month, a quarter or a time of day."""
    text = text.strip()
    return _DATE.fullmatch(text) is not None or text.casefold() in _MONTHS_AND_DAYS


def is_link(text: str) -> bool:
    """Return whether a text is the address of a page or of a person."""
    return _LINK.fullmatch(text.strip()) is not None


def is_real(column: pd.Series) -> bool:
    """Return whether a column holds numbers, and not complex ones."""
    types = pd.api.types
    return types.is_numeric_dtype(column.dtype) and not types.is_complex_dtype(column.dtype)


def are_whole(values: Array) -> bool:
    """Return whether all are integers."""
    return bool((values == np.round(values)).all())


def sentinels_in(values: Floats) -> list[float]:
    """Return the numbers among the values that seem to stand for a missing one.

    Such a number is known as one, is the smallest or the largest of all, and lies farther from the
    nearest other value than those lie from each other.
    """
    different = np.unique(values[np.isfinite(values)])
    sentinels: list[float] = []
    while len(different) > 2:
        for end in (0, -1):
            others = np.delete(different, end)
            gap = abs(different[end] - others[end])
            if different[end] in SENTINELS and gap > max(others[-1] - others[0], 1.0):
                sentinels.append(float(different[end]))
                different = others
                break
        else:
            break
    return sentinels
