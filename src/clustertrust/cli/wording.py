"""Messages of the library in the words of the command: parameters as options."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Mapping

import click

from clustertrust._errors import Message

__all__ = ["CliWording", "message_of"]


class CliWording:
    """Writes a parameter as the option of a command: `fusion='sum'` as ``--fusion sum``.

    Parameters that no option stands for keep the name that they have in Python.
    """

    def __init__(self, options: Mapping[str, click.Parameter]) -> None:
        self.options = options

    def __call__(self, parameter: str, value: str | None) -> str:
        """Return the option, with its value if there is one."""
        option = self.options.get(parameter)
        if option is None:
            return parameter if value is None else f"{parameter}={value}"
        if value is None or (value == "True" and option.secondary_opts):
            return option.opts[0]
        if value == "False" and option.secondary_opts:
            return option.secondary_opts[0]
        return " ".join(f"{option.opts[0]} {shlex.quote(word)}" for word in _as_words(value))


def message_of(error: BaseException) -> Message | str:
    """Return what an error or a warning says, to be written in any words."""
    message = getattr(error, "message", None)
    return message if isinstance(message, Message) else str(error)


def _as_words(value: str) -> list[str]:
    """Write a Python value as users type it: no quotes, commas between the items of a list.

    The option is repeated for items that have commas themselves.
    """
    try:
        plain = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return [value]
    if isinstance(plain, list | tuple):
        items = [str(item) for item in plain]
        return items if any("," in item for item in items) else [",".join(items)]
    # A tab stays \t, which the command accepts.
    return [value[1:-1]] if isinstance(plain, str) else [value]
