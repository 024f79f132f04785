"""Messages of the library, with its parameters turned into options of the command.

This is the only place that does so. The library writes a parameter with its value (`fusion='sum'`),
or with … for no specific value (`drop=…`).
"""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import fields
from typing import Any

import click

from clustertrust.cli.commands import COMMANDS
from clustertrust.cli.options import BUILDING, SCORING, Columns

__all__ = ["as_typed"]

# Other options, such as --out, have no parameter of the library behind them.
PARAMETERS = (
    *BUILDING,
    *SCORING,
    "noise",
    "n_surrogates",
    "level",
    "max_points",
    *(field.name for field in fields(Columns)),
)
# What the library says otherwise than the command.
WORDINGS = (
    ("Ensemble.from_labels(labels, noise=None)", "--noise none"),
    ("set vary or resample", "set --resample"),  # no option varies parameters
    (", or a parameter of the clusterer, to test", " to test"),
    ("say metric='precomputed'", "say --distances"),
    ("metric='precomputed' has no coordinates", "distances have no coordinates"),
    (" points of X to cluster", " points to cluster"),
    ("drawn=True", "--drawn-at-random"),
    ("force=True", "--force"),
    (
        "a scikit-learn estimator with metric='precomputed', or a function (distances, rng) -> "
        "labels",
        "or leave it out",
    ),
)
TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
VALUE = rf"""…|{TEXT}|\[(?:{TEXT}|[^\]'"])*\]|[\w-]+(?:\.[\w-]+)*"""
PATTERN = re.compile(rf"\b({'|'.join(PARAMETERS)})=({VALUE})")


def as_typed(message: str, *, lines: bool = False) -> str:
    """Put a message on one line and turn parameters into options: fusion='sum' → --fusion sum.

    `lines`: keep the lines.
    """
    if lines:
        return "\n".join(as_typed(line) for line in message.splitlines())
    params = [*COMMANDS["score"].params, *COMMANDS["choose-k"].params]
    options = {param.name: param for param in params if param.name in PARAMETERS}
    for ours, typed in WORDINGS:
        message = message.replace(ours, typed)
    message = re.sub(r"^n=(?=\d)", "--n ", message)  # elsewhere n is the number of points
    return PATTERN.sub(
        lambda found: _option(options[found[1]], found[2]), " ".join(message.split())
    )


def _option(param: click.Parameter, value: str) -> str:
    """Return an option with its value, quoted for a shell."""
    if value == "…" or (value == "True" and param.secondary_opts):
        return param.opts[0]
    if value == "False" and param.secondary_opts:
        return param.secondary_opts[0]
    return " ".join(f"{param.opts[0]} {shlex.quote(word)}" for word in _as_words(value))


def _as_words(value: str) -> list[str]:
    """Write a Python value as users type it: no quotes, commas between the items of a list.

    The option is repeated for items that have commas themselves.
    """
    if value[0] not in "'\"[":
        return [value]
    try:
        given: Any = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return [value]
    if value[0] in "'\"":  # a tab stays \t, which the command accepts
        return [value[1:-1]]
    items = [str(item) for item in given]
    return items if any("," in item for item in items) else [",".join(items)]
