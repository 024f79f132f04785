"""Records whose fields are the options of a command: an option is declared where its value goes.

A field that is such a record itself brings its options along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields, is_dataclass
from typing import Any

import click

from clustertrust.cli.kinds import OUTPUT, NameChoice


def option(help: str, *names: str, **settings: Any) -> Any:
    """Return a field that is an option, by default with the name of the field."""
    settings = {"show_default": "default" in settings} | settings | {"help": help}
    return field(default=settings.get("default"), metadata={"option": (names, settings)})


def one_of(help: str, choices: Sequence[str], *names: str) -> Any:
    """Return a field that is one of some names, by default the first."""
    return option(help, *names, type=NameChoice(choices), default=choices[0])


def flag(help: str, *names: str) -> Any:
    """Return a field that is True if its option is typed."""
    return option(help, *names, is_flag=True, default=False, show_default=False)


def several(help: str, metavar: str, **settings: Any) -> Any:
    """Return a field with the values of an option that can be typed several times."""
    many: dict[str, Any] = {"multiple": True, "default": (), "show_default": False}
    return option(help, metavar=metavar, **many, **settings)


def output(help: str, **settings: Any) -> Any:
    """Return a field with the path of a file to write."""
    return option(help, type=OUTPUT, metavar="FILE", **settings)


def count(help: str, *names: str, least: int = 1, metavar: str = "N", **settings: Any) -> Any:
    """Return a field with a number of things."""
    return option(help, *names, type=click.IntRange(min=least), metavar=metavar, **settings)


def argument(type: click.ParamType[Any], **settings: Any) -> Any:
    """Return a field that is an argument: typed without a name."""
    return field(metadata={"argument": settings | {"type": type}})


def parameters(record: Any) -> list[click.Parameter]:
    """Return the options and arguments that the fields of a record declare, in their order."""
    declared: list[click.Parameter] = []
    for part in fields(record):
        if is_dataclass(part.default_factory):
            declared += parameters(part.default_factory)
        elif "argument" in part.metadata:
            declared.append(click.Argument([part.name], **part.metadata["argument"]))
        elif "option" in part.metadata:
            names, settings = part.metadata["option"]
            names = names or (f"--{part.name.replace('_', '-')}",)
            kind = {"cls": click.Option} | settings
            declared.append(kind.pop("cls")((*names, part.name), **kind))
    return declared


def filled(record: Any, values: dict[str, Any]) -> Any:
    """Return the record with these values; nested ones take theirs."""
    nested = {
        part.name: filled(part.default_factory, values)
        for part in fields(record)
        if is_dataclass(part.default_factory)
    }
    own = {part.name: values[part.name] for part in fields(record) if part.name in values}
    return record(**own, **nested)
