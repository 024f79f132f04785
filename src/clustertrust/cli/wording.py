"""Messages of the library in the words of the command: parameters as options."""

from __future__ import annotations

import ast

import click

from clustertrust._errors import as_python
from clustertrust.cli.terminal import quote

# Functions that messages advise, and that are commands
COMMANDS = {"choose_k": "choose-k"}


class CliWording:
    """Writes a parameter as the option of a command: `fusion='sum'` as ``--fusion sum``.

    Parameters that no option stands for keep the name that they have in Python.
    """

    def __init__(self, command: click.Command | None) -> None:
        self.options: dict[str, click.Option] = {}
        for option in [] if command is None else command.params:
            if isinstance(option, click.Option) and option.name is not None:
                self.options[option.name] = option

    def __call__(self, parameter: str, value: str | None) -> str:
        """Return the option, with its value if there is one."""
        name = parameter.rpartition(".")[2]
        if (name, value) == ("metric", "'precomputed'") and "distances" in self.options:
            name, value = "distances", None
        if name == "missing" and "impute" in self.options:
            name = "impute"
        option = self.options.get(name)
        if name in COMMANDS:
            return COMMANDS[name]
        if option is None:
            return as_python(parameter, value)
        if value is None or (value == "True" and option.is_flag):
            return option.opts[0]
        if value == "False" and option.secondary_opts:
            return option.secondary_opts[0]
        return " ".join(f"{option.opts[0]} {quote(word)}" for word in _as_words(value))


def current_wording() -> CliWording:
    """Return the words of the command that is running."""
    context = click.get_current_context(silent=True)
    return CliWording(None if context is None else context.command)


def score_wording() -> CliWording:
    """Return the words of `clustertrust score`, for another command that shows its results."""
    context = click.get_current_context(silent=True)
    group = None if context is None else context.find_root().command
    return CliWording(group.commands.get("score") if isinstance(group, click.Group) else None)


def _as_words(value: str) -> list[str]:
    """Write a Python value as users type it; lists as `a,b`, or one word per item with commas."""
    try:
        plain = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return [value]
    if isinstance(plain, list | tuple):
        items = [str(item) for item in plain]
        return items if any("," in item for item in items) else [",".join(items)]
    if plain is None:
        return ["none"]
    # A tab stays \t, which the command accepts.
    return [value[1:-1]] if isinstance(plain, str) else [value]
