"""The kinds of values that can be typed, as types of click: names of a table, numbers, ranges."""

from __future__ import annotations

import ast
import importlib
import math
import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import click

PACKAGE = Path(__file__).parents[1]
# Most numbers of clusters to try, so that a typing error does not fill the memory.
MOST_NUMBERS = 1000


def names_in(table: str) -> list[str]:
    """Return the names in a table of the library, such as "fusion:FUSIONS".

    They are the keys of an annotated dict in its source: importing it takes a second, and help and
    shell completion should not.
    """
    module, _, name = table.partition(":")
    path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
    # Without its source, the table is imported.
    if not path.exists():
        return list(getattr(importlib.import_module(f"clustertrust.{module}"), name))
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            assert isinstance(node.value, ast.Dict)
            return [ast.literal_eval(key) for key in node.value.keys if key is not None]
    raise LookupError(f"{path} has no table {name}")


class NameChoice(click.Choice[str]):
    """A choice among names; the error for another says which was probably meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the name."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            from clustertrust._validation.arguments import nearest_name

            near = nearest_name(str(value), list(self.choices))
            if near is None:
                raise
            self.fail(f"{error.message} Did you mean {near!r}?", param, ctx)


class TableChoice(NameChoice):
    """A choice among the names of one of the library's tables, but for a few."""

    def __init__(self, table: str, without: Sequence[str] = ()) -> None:
        self.table, self.without = table, without
        self.case_sensitive = True

    @cached_property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names, read when they are first needed."""
        return tuple(sorted({*names_in(self.table)} - {*self.without}))


class TableOption(click.Option):
    """An option whose help lists the names of a table."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Add the names to the help."""
        record = super().get_help_record(ctx)
        assert record is not None
        assert isinstance(self.type, TableChoice)
        return record[0], f"{record[1]}  One of: {', '.join(self.type.choices)}."


class Between(click.FloatRange):
    """A number in a range; `nan` is in none."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return what was typed as a number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(
                f"{value!r} is not a number; give one in the range {self._describe_range()}.",
                param,
                ctx,
            )
        return number


class Parsed(click.ParamType):  # type: ignore[type-arg]  # older releases have no type of values
    """What a function makes of a typed text; its ValueError says what is wrong with it."""

    def __init__(self, metavar: str, parse: Callable[[str], Any]) -> None:
        self.name = self.metavar = metavar
        self.parse = parse

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return the placeholder in help."""
        return self.metavar

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what was typed as the library takes it; a default is that already."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(f"{value!r} {error}", param, ctx)


def _numbers(text: str) -> tuple[int, ...]:
    """Return numbers of clusters to try, rising."""
    numbers: list[int] = []
    for part in text.split(","):
        ends = part.strip().split(":")
        if len(ends) > 2 or not all(end.strip().isdecimal() for end in ends):
            raise ValueError("is not a list of numbers; give a range such as 2:12, or 2,3,5.")
        low, high = int(ends[0]), int(ends[-1])
        if high < low:
            raise ValueError(f"runs from {low} down to {high}; write {high}:{low}.")
        if high - low >= MOST_NUMBERS:
            raise ValueError(f"names more than {MOST_NUMBERS} numbers; give fewer.")
        numbers += range(low, high + 1)
    if min(numbers) < 2 or len(numbers) < 2 or len(set(numbers)) < len(numbers):
        raise ValueError(
            "gives nothing to choose from; give different numbers from 2 on, at least two, such as "
            "2:12."
        )
    return tuple(sorted(numbers))


def _number_of_runs(text: str, or_auto: str = "") -> int:
    if not text.isdecimal() or int(text) < 2:
        raise ValueError(f"is not a number of runs; give 2 or more{or_auto}.")
    return int(text)


def _runs_or_auto(text: str) -> int | str:
    return text if text == "auto" else _number_of_runs(text, ", or auto")


def _clusters(text: str) -> int | range:
    """Return a number of clusters, or a range from which each run draws its own."""
    typed = text.split(":")
    if len(typed) > 2 or not all(part.isdecimal() and int(part) >= 1 for part in typed):
        raise ValueError(
            "is not a number of clusters; give 1 or more, such as 3, or a range such as 8:12."
        )
    first, last = int(typed[0]), int(typed[-1])
    if last < first:
        raise ValueError(f"runs backwards; give the smaller number first, {last}:{first}.")
    return first if len(typed) == 1 else range(first, last + 1)


def _resample(text: str) -> float | str:
    """Return a share of the points, or bootstrap."""
    if text == "bootstrap":
        return text
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise ValueError(
            "is not a share; give a number between 0 and 1, such as 0.8, or bootstrap."
        )
    return share


NUMBERS = Parsed("LOW:HIGH|K,K,…", _numbers)
RUNS = Parsed("N", _number_of_runs)
RUNS_OR_AUTO = Parsed("N|auto", _runs_or_auto)
CLUSTERS = Parsed("K|FIRST:LAST", _clusters)
RESAMPLE = Parsed("SHARE|bootstrap", _resample)


class Existing(click.Path):
    """An existing file or folder; the error for an address on the web says what to do."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if re.match("[a-z][a-z0-9+.-]+://", str(value).lower()):
            self.fail(
                f"{value!r} is an address, and only files are read; download it first.", param, ctx
            )
        return super().convert(value, param, ctx)


class OneFile(Existing):
    """An existing file; the error for a folder says what to do."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if os.path.isdir(value):
            self.fail(
                f"{value!r} is a folder; name one file (`clustertrust score` alone takes folders).",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


# What commands read and write; - is standard input.
TABLE_OR_FOLDER = Existing(exists=True, allow_dash=True)
INPUT = OneFile(exists=True, allow_dash=True)
STORED = OneFile(exists=True)
OUTPUT = click.Path()
