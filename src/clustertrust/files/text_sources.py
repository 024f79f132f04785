"""Text that is read in blocks of rows, with the same type for a column in every block."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from clustertrust._errors import Message
from clustertrust._parallel import memory_budget
from clustertrust.files import delimited
from clustertrust.files.arrow_text import arrow_parser
from clustertrust.files.columns import UNNAMED, stripped
from clustertrust.files.errors import named_errors, not_text
from clustertrust.files.file_sources import FrameSource
from clustertrust.files.lines import TextFile
from clustertrust.files.reading import Dialect, Reading

# Rows of text that show the marks in its numbers.
FIRST = 1000


class Top(NamedTuple):
    """The first line of a text.

    Attributes
    ----------
    names : of the columns, or their positions
    rows : the line itself, if it is a row
    has_names : whether the columns have names
    as_is : whether `names` are the fields of the line
    note : on names that occur twice
    """

    names: list[str]
    rows: bytes
    has_names: bool
    as_is: bool
    note: str = ""


class CsvSource(FrameSource):
    """Comma-separated text, with names of the columns or without, also compressed."""

    format, separator = "csv", ","

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Return the bytes of the text, about eight per number."""
        return delimited.size_of_text(path, memory_budget())

    @classmethod
    def needed_by(cls, path: Path) -> int:
        """Count the fields."""
        return delimited.needed_by_text(path)

    @classmethod
    def _columns(cls, path: Path, reading: Reading) -> list[str]:
        return cls._top(TextFile.find(path, reading, cls.separator), reading).names

    @classmethod
    def _top(cls, text: TextFile, reading: Reading) -> Top:
        """Return the names of the columns, and the rows that stand in their place."""
        with text.open() as (head, _):
            first = delimited.first_line(BytesIO(head), {"sep": text.layout.separator})
        if not delimited.has_names(first, reading.header):
            head = head.removeprefix(codecs.BOM_UTF8)
            return Top([str(j) for j in range(len(first))], head, has_names=False, as_is=False)
        names, note = delimited.distinct([f"{UNNAMED}0"] * text.layout.unnamed + first)
        names = stripped(names)
        return Top(names, b"", has_names=True, as_is=names == first, note=note)

    @property
    def top(self) -> Top:
        """The first line of the first file."""
        return self._top(self.texts[0], self.reading)

    @property
    def notes(self) -> list[str | Message]:
        """What was found about the text of the first file, and not given."""
        text = self.texts[0]
        notes: list[str | Message] = [*text.layout.notes]
        with named_errors(str(text.path), self.format):
            first, options = self._first(text)
        top = self.top
        has_names = top.has_names
        notes += [top.note] * bool(top.note)
        if not has_names and self.reading.header is None:
            notes.append(delimited.WITHOUT_NAMES)
        if "decimal" in options and not self.reading.has_marks:
            notes.append(delimited.COMMA)
        elif has_names and self.reading.header is None:
            notes += delimited.doubt_of_names(first)
        return notes

    @property
    def dialect(self) -> Dialect:
        """How the first file is written."""
        text = self.texts[0]
        with named_errors(str(text.path), self.format):
            marks = self._first(text)[1]
        return Dialect(self.format, text.layout.separator, marks.get("decimal", "."))

    @property
    def texts(self) -> list[TextFile]:
        """The files and how each is laid out."""
        return [TextFile.find(path, self.reading, self.separator) for path in self.paths]

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        # pandas' own blocks silently drop an extra field in the first row of each block.
        text = TextFile.find(path, self.reading, self.separator)
        first, options = self._first(text)
        by_arrow = arrow_parser(self.names, first[self.wanted], options)
        top = self._top(text, self.reading)
        with text.open() as (head, below):
            lines, before = text.layout.skip + (not top.rows), len(head) - len(top.rows)
            block = top.rows + below.records(rows)
            while block:
                _check_text(block, before)
                frame = None if by_arrow is None else by_arrow(block)
                if frame is None:
                    frame = self._parse(block, options, lines)[self.wanted]
                yield frame
                lines, before = lines + block.count(b"\n"), before + len(block)
                block = below.records(rows)

    def _first(self, text: TextFile) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the first rows, and options that allow for the marks in their numbers."""
        options = self.options(text)
        with text.open() as (head, below):
            block = self._top(text, self.reading).rows + below.records(FIRST)
            _check_text(block, len(head))
        first = self._parse(block, options, 1)
        return first, options | delimited.marks_of(
            first, self.reading, options, lambda others: self._parse(block, others, 1)
        )

    def _parse(self, block: bytes, options: Mapping[str, Any], lines: int) -> pd.DataFrame:
        """Parse some lines of text by pandas; `lines` counts those above them."""
        options = {**options, "names": self.names, "header": None}
        return delimited.parse_csv(BytesIO(block), options, f", below line {lines}")

    def options(self, text: TextFile) -> dict[str, Any]:
        """Return options of pandas.read_csv for all blocks, so that a column has one type."""
        ids, na = [] if self.id is None else [self.id], self.reading.na
        options = delimited.as_text(ids, self.columns or (), ("None",) if na is None else na)
        options |= {"sep": text.layout.separator}
        if not self.reading.text:
            return options
        # Among words, None may be one.
        words = delimited.as_text((), (), na)["na_values"]
        missing = options["na_values"]
        missing = (
            missing if isinstance(missing, dict) else dict.fromkeys(self.columns or (), missing)
        )
        missing = missing | dict.fromkeys(self.reading.text, words)
        types = options.get("dtype", {}) | dict.fromkeys(self.reading.text, str)
        return options | {"dtype": types, "na_values": missing}


def _check_text(block: bytes, before: int) -> None:
    """Raise if lines are not UTF-8; `before` counts the bytes above them."""
    try:
        block.decode()
    except UnicodeDecodeError as error:
        problem = f"{error.reason} at byte {before + error.start}"
        raise not_text("UTF-8", problem) from error


class TsvSource(CsvSource):
    """Tab-separated text, with names of the columns or without, also compressed."""

    format, separator = "tsv", "\t"
