"""Records whose fields are the options of a command: an option is declared where its value goes.

A field that is such a record itself brings its options along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, field, fields, is_dataclass
from typing import Any

import click
from click.core import ParameterSource

Declare = Callable[[Callable[..., Any]], Callable[..., Any]]
DEFAULTS = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def option(help: str, *names: str, **settings: Any) -> Any:
    """Return a field that is an option, by default with the name of the field.

    A default is shown in help.
    """
    settings = {"show_default": "default" in settings} | settings | {"help": help}
    return field(default=settings.get("default"), metadata={"option": (names, settings)})


def one_of(help: str, choices: Sequence[str], *names: str) -> Any:
    """Return a field that is one of some names, by default the first."""
    return option(help, *names, type=click.Choice(choices), default=choices[0])


def flag(help: str, *names: str) -> Any:
    """Return a field that is True if its option is typed."""
    return option(help, *names, is_flag=True, default=False, show_default=False)


def several(help: str, metavar: str, **settings: Any) -> Any:
    """Return a field with the values of an option that can be typed several times."""
    many: dict[str, Any] = {"multiple": True, "default": (), "show_default": False}
    return option(help, metavar=metavar, **many, **settings)


def argument(type: click.ParamType[Any], **settings: Any) -> Any:
    """Return a field that is an argument: typed without a name."""
    return field(metadata={"argument": settings | {"type": type}})


def takes(record: type) -> Callable[[Callable[[Any], None]], Callable[..., Any]]:
    """Give a command the options of a record, and pass it this record alone.

    The field `typed` of the record holds the names of the parameters that the user typed; its
    method `checked` returns the record that the command gets.
    """

    def decorate(command: Callable[[Any], None]) -> Callable[..., Any]:
        def with_record(**values: Any) -> None:
            context = click.get_current_context()
            typed = (name for name in values if context.get_parameter_source(name) not in DEFAULTS)
            command(_filled(record, values | {"typed": frozenset(typed)}).checked())

        with_record.__name__, with_record.__doc__ = command.__name__, command.__doc__
        debug_option(with_record)
        for declare in reversed(list(_declared(record))):
            declare(with_record)
        return with_record

    return decorate


def _declared(record: Any) -> Iterator[Declare]:
    """Yield what adds each option of a record to a command."""
    for part in fields(record):
        if is_dataclass(part.default_factory):
            yield from _declared(part.default_factory)
        elif "argument" in part.metadata:
            yield click.argument(part.name, **part.metadata["argument"])
        elif "option" in part.metadata:
            yield _option(part)


def _option(part: Field[Any]) -> Declare:
    names, settings = part.metadata["option"]
    names = names or (f"--{part.name.replace('_', '-')}",)
    return click.option(*names, part.name, **settings)


def _filled(record: Any, values: dict[str, Any]) -> Any:
    """Return the record with these values; nested ones take theirs."""
    nested = {
        part.name: _filled(part.default_factory, values)
        for part in fields(record)
        if is_dataclass(part.default_factory)
    }
    own = {part.name: values[part.name] for part in fields(record) if part.name in values}
    return record(**own, **nested)


def _debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().obj["debug"] = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_debug,
    help="Show the traceback of an error.",
)
