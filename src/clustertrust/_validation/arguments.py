"""Numbers, names, flags and lists."""

from __future__ import annotations

import difflib
import inspect
import itertools
import numbers
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._errors import Message, ParameterError, ParameterTypeError, ParameterWarning
from clustertrust._types import Array, Floats

# The most runs, restarts, surrogates or values to try: more would take years or all memory.
MOST = 1_000_000


def warn_user(message: str | Message, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, however deep inside the package the warning arises.

    A :class:`Message` names parameters, which the command shows as its options.
    """
    # A function of ours that a context manager decorates is called from contextlib.
    ours = ("clustertrust", "contextlib")
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in ours:
        frame, level = frame.f_back, level + 1
    if isinstance(message, Message):
        warnings.warn(ParameterWarning(message), stacklevel=level)
    else:
        warnings.warn(message, category, stacklevel=level)


# What people call something that has another name here, and that is spelled otherwise.
OTHER_WORDS = {"gpu": "cuda"}


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise unless `value` is one of the known names."""
    names = sorted(choices)
    if not isinstance(value, str) or value not in names:
        near = nearest_name(value, names) if isinstance(value, str) else None
        hint = "" if near is None else f". Did you mean {near!r}?"
        raise ParameterError(name, value, "is not known", f"choose one of {names}{hint}")


def nearest_name(name: str, names: Sequence[str]) -> str | None:
    """Return the name that was most likely meant, in upper or lower case; None if none is close."""
    meant = OTHER_WORDS.get(name.casefold())
    if meant in names:
        return meant
    small = {other.casefold(): other for other in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), list(small), 1, 0.6)
    return small[near[0]] if near else None


def check_count(name: str, value: Any, *, at_least: int, at_most: int | None = None) -> int:
    """Return an integer of at least `at_least` and at most `at_most`, if that is given."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ParameterTypeError(name, value, f"must be an integer of at least {at_least}")
    if value < at_least:
        raise ParameterError(name, value, f"must be at least {at_least}")
    if at_most is not None and int(value) > at_most:
        raise ParameterError(name, value, f"must be at most {at_most}")
    return int(value)


def check_flag(name: str, value: Any) -> bool:
    """Return True or False; 0 and 1 are accepted."""
    if not isinstance(value, numbers.Integral | np.bool_):
        raise ParameterTypeError(name, value, "must be True or False")
    return bool(value)


def check_number(name: str, value: Any) -> float:
    """Return one real number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        raise ParameterTypeError(name, value, "must be a number")
    try:
        return float(value)
    except OverflowError as error:
        raise ParameterError(name, value, "is too large for a float") from error


def check_inside(
    name: str,
    value: Any,
    low: float = 0.0,
    high: float = 1.0,
    *,
    ends: str = "()",
    remedy: str = "",
) -> float:
    """Return a number of an interval; `ends` says which of its ends belong to it, as in "(]"."""
    number = check_number(name, value)
    inside = low < number < high
    if not (inside or (number == low and ends[0] == "[") or (number == high and ends[1] == "]")):
        above = f"{'at least' if ends[0] == '[' else 'above'} {low:g}"
        below = f" and {'at most' if ends[1] == ']' else 'below'} {high:g}"
        problem = f"must be {above}{'' if high == np.inf else below}"
        raise ParameterError(name, value, problem, remedy)
    return number


def check_flat(name: str, values: Array, what: str) -> None:
    """Raise unless an array is one flat sequence of `what`, one per point."""
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one flat sequence of {what}, one per point; its shape is "
            f"{values.shape}."
        )


def check_floats(name: str, values: Any, what: str) -> Floats:
    """Return numbers as floats, missing ones as NaN; `what` describes what is expected.

    NumPy would take the real part of complex numbers.
    """
    try:
        if np.iscomplexobj(values):
            raise TypeError("it holds complex numbers")
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be {what}: {error}.") from error


def check_scores(scores: Any) -> Floats:
    """Return scores as one flat float array; missing values are NaN."""
    array = check_floats("scores", scores, "one flat sequence of numbers, one per point")
    check_flat("scores", array, "numbers")
    return array


def check_option_names(what: str, options: Iterable[str], names: Collection[str]) -> None:
    """Raise if there is an option that `what`, such as "a page", does not have."""
    unknown = [name for name in options if name not in names]
    if unknown:
        raise TypeError(
            f"{unknown[0]!r} is not an option of {what}; choose from {', '.join(names)}."
        )


def check_mapping(name: str, value: Any) -> dict[Any, Any]:
    """Return a dict of names and values; None: an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise ParameterTypeError(name, value, "must be a dict of names and values")
    return {} if value is None else dict(value)


def check_names(name: str, value: Any, what: str) -> list[str]:
    """Return a sequence of names; `what` describes what they name."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray | pd.Index):
        raise ParameterTypeError(name, value, f"must be a list of {what}")
    names = list(value)
    if not all(isinstance(one, str) for one in names):
        raise ParameterTypeError(name, value, f"must be a list of {what}, each of them text")
    return names


def check_list(name: str, values: Any, such_as: str) -> list[Any]:
    """Return the values of an iterable as a list, at most `MOST` of them."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterTypeError(
            name, values, f"must be a range or a list of values, such as {such_as}"
        )
    listed = list(itertools.islice(values, MOST + 1))
    if len(listed) > MOST:
        raise ValueError(
            f"{name} holds more than {MOST} values, such as {listed[-1]!r}; give fewer."
        )
    return listed
