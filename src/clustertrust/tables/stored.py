"""Checks of what a person may have edited in the JSON of a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any


def check_keys(kept: dict[str, Any], record: type, subject: str) -> None:
    """Raise for keys that a record does not have, and for values of another type than it has."""
    types = {item.name: str(item.type) for item in fields(record)}
    odd = next((name for name in kept if name not in types), None)
    if odd is not None:
        raise ValueError(f"{subject} has {odd!r}, which is not known; it may have {sorted(types)}.")
    for name, value in kept.items():
        plain = types[name].removesuffix(" | None")
        fits, words = _FORMS.get(plain, (lambda _: True, ""))
        if not (fits(value) or (value is None and plain != types[name])):
            raise ValueError(f"{subject} has {value!r} as {name!r}; it must be {words}.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_place(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and _is_whole(value[0]) and _is_text(value[1])
    )


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


# What JSON must hold for a field, by its type.
_FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (_is_text, "a text"),
    "int": (_is_whole, "an integer"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "tuple[str, ...]": (_list_of(_is_text), "a list of texts"),
    "tuple[str | Message, ...]": (_list_of(_is_text), "a list of texts"),
    "tuple[float, ...]": (_list_of(_is_real), "a list of numbers"),
    "tuple[tuple[int, str], ...]": (_list_of(_is_place), "a list of pairs of a row and a reason"),
}
