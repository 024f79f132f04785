"""Text that keeps within the width of the terminal.

Prose is wrapped, tables are split by columns, and commands are continued with a backslash, so that
they can still be pasted. Windows has no such mark that all its shells know: there they stay whole.
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
import sys
import textwrap
from itertools import groupby
from typing import IO, Any

import click

ON_WINDOWS = os.name == "nt"
COMMAND = re.compile(r"(?:\s*|\w+: )(?:clustertrust|eval) ")


def echo(text: str, *, err: bool = False) -> None:
    """Print a text within the width of where it goes; a file or a pipe has none.

    Names of files need not be UTF-8; what cannot be printed of them is a question mark.
    """
    text = text.encode("utf-8", "replace").decode()
    width = _width(err)
    click.echo(text if width is None else fit(text, width), err=err)


def data_stream() -> IO[Any]:
    """Return where to print data: a program gets UTF-8 on every system, as in a file."""
    return sys.stdout if sys.stdout.isatty() else sys.stdout.buffer


def quote(word: str) -> str:
    """Return a word as it can be typed; the shell of Windows knows double quotes alone."""
    if not ON_WINDOWS or shlex.quote(word) == word:
        return shlex.quote(word)
    return '"' + word.replace('"', r"\"") + '"'


def _width(err: bool) -> int | None:
    """Return the variable COLUMNS, or the width of the terminal; None if there is neither."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    stream = sys.stderr if err else sys.stdout
    if not stream.isatty():
        return None
    return os.get_terminal_size(stream.fileno()).columns or None


def fit(text: str, width: int) -> str:
    """Return the text with no line longer than `width`, unless a word is."""
    parts: list[str] = []
    for length, lines in groupby(text.split("\n"), key=len):
        same = list(lines)
        if length <= width:
            parts += same
        elif len(same) > 1 and all(re.search(r"\S {2,}\S|\s$", line) for line in same):
            # pandas gives all lines of a table the same length.
            parts += _split_table(same, width)
        else:
            parts += [part for line in same for part in _wrap(line, width)]
    return "\n".join(parts)


def _wrap(line: str, width: int) -> list[str]:
    """Break a line between words; the lines after the first are indented as it is."""
    indent = re.match(r"\s*", line)[0]  # type: ignore[index]
    command = COMMAND.match(line) is not None
    if command and ON_WINDOWS:
        return [line]
    room = width - 2 if command else width
    parts = textwrap.wrap(
        line,
        room,
        subsequent_indent=indent + "  " * command,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"{part} \\" for part in parts[:-1]] + parts[-1:] if command else parts


def _split_table(lines: list[str], width: int) -> list[str]:
    """Put columns that do not fit below the others, again with the names of the rows."""
    # A column begins where two blanks stand in the titles, which may have single ones, and at least
    # one below.
    gaps = [(gap.start(), gap.end()) for gap in re.finditer(" {2,}", lines[0])]
    blank = [[j for j in range(*gap) if all(line[j] == " " for line in lines)] for gap in gaps]
    starts = [places[0] for places in blank if places and places[0] > 0]
    ends = [*starts[1:], len(lines[0])]
    index = [line[: starts[0]] for line in lines]
    parts, used = [list(index)], starts[0]
    for start, end in zip(starts, ends, strict=True):
        if used + end - start > width and used > starts[0]:
            parts.append(list(index))
            used = starts[0]
        parts[-1] = [part + line[start:end] for part, line in zip(parts[-1], lines, strict=True)]
        used += end - start
    return [line for i, part in enumerate(parts) for line in ([""] if i else []) + part]


class Examples(click.Command):
    """A command whose help ends with examples, continued on the next line where they are long."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if not self.epilog:
            return
        # The examples are indented.
        room = formatter.width - 2
        lines = inspect.cleandoc(self.epilog).splitlines()
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(
                "\n".join(fit(line, room) if COMMAND.match(line) else line for line in lines)
            )
