"""Text that is read in blocks of rows, with the same type for a column in every block."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from clustertrust._errors import Message
from clustertrust._parallel import memory_budget
from clustertrust.files import delimited
from clustertrust.files.arrow_text import arrow_parser
from clustertrust.files.columns import stripped
from clustertrust.files.errors import named_errors, not_text
from clustertrust.files.lines import TextFile
from clustertrust.files.reading import Dialect
from clustertrust.files.sources import FileSource

# Rows of text that show the marks in its numbers.
FIRST = 1000
# Where a line is that a worker cannot read: a cut between two parts may be inside of quotes.
IN_PARTS = " (line ends inside quotes can only be read without a scheduler)"


class CsvSource(FileSource):
    """Comma-separated text, with names of the columns or without, also compressed."""

    format, separator = "csv", ","
    # Columns of text, among which None may be a word.
    words: Sequence[str] = ()

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Return the bytes of the text, about eight per number."""
        return delimited.size_of_text(path, memory_budget())

    @classmethod
    def needed_by(cls, path: Path) -> int:
        """Count the fields."""
        return delimited.needed_by_text(path)

    def _columns(self, path: Path) -> list[str]:
        return self._top(self._text(path))[0].names

    def _top(self, text: TextFile) -> tuple[delimited.Top, bytes]:
        """Return the names of the columns, and the row that stands in their place, if one does."""
        with text.open() as (head, _):
            first = delimited.first_line(BytesIO(head), {"sep": text.layout.separator})
        top = delimited.top_of(first, text.layout, self.reading)
        row = b"" if top.has_names else head.removeprefix(codecs.BOM_UTF8)
        return top._replace(names=stripped(top.names)), row

    @property
    def notes(self) -> list[str | Message]:
        """What was found about the text of the first file, and not given."""
        text = self._text(self.paths[0])
        with named_errors(str(text.path), self.format):
            first, options = self._first(text)
        return delimited.notes_of(text.layout, self._top(text)[0], self.reading, options, first)

    @property
    def dialect(self) -> Dialect:
        """How the first file is written."""
        text = self._text(self.paths[0])
        with named_errors(str(text.path), self.format):
            marks = self._first(text)[1]
        return Dialect(self.format, text.layout.separator, marks.get("decimal", "."))

    def _text(self, path: Path) -> TextFile:
        return TextFile.find(path, self.reading, self.separator)

    def _places(self, path: Path) -> list[Any]:
        return list(self._text(path).places())

    def _frames(self, path: Path, rows: int, place: Any = None) -> Iterator[pd.DataFrame]:
        # pandas' own blocks silently drop an extra field in the first row of each block.
        text = self._text(path)
        first, options = self._first(text)
        by_arrow = arrow_parser(self.names, first[self.wanted], options)
        with text.open(place) as (head, below):
            row = self._top(text)[1] if head else b""
            lines, before = text.layout.skip + (not row), len(head) - len(row)
            before += 0 if place is None else place[0]
            block = row + below.records(rows)
            while block:
                _check_text(block, before)
                frame = None if by_arrow is None else by_arrow(block)
                if frame is None:
                    where = f", below line {lines}" if place is None else IN_PARTS
                    frame = self._parse(block, options, where)[self.wanted]
                yield frame
                lines, before = lines + block.count(b"\n"), before + len(block)
                block = below.records(rows)

    def _first(self, text: TextFile) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the first rows, and options that allow for the marks in their numbers."""
        options = self.options(text)
        with text.open() as (head, below):
            block = self._top(text)[1] + below.records(FIRST)
            _check_text(block, len(head))

        def parse(how: Mapping[str, Any]) -> pd.DataFrame:
            return self._parse(block, how, ", below line 1")

        first = parse(options)
        return first, options | delimited.marks_of(first, self.reading, options, parse)

    def _parse(self, block: bytes, options: Mapping[str, Any], where: str) -> pd.DataFrame:
        """Parse some lines of text by pandas; `where` they are, for messages."""
        options = {**options, "names": self.names, "header": None}
        return delimited.parse_csv(BytesIO(block), options, where)

    def options(self, text: TextFile) -> dict[str, Any]:
        """Return options of pandas.read_csv for all blocks, so that a column has one type."""
        na, kept = self.reading.na, [name for name in self.reading.text if name in self.names]
        words = [name for name in self.words if name not in kept]
        options = delimited.as_text([*kept, *words], self.names, ("None",) if na is None else na)
        if words:
            # Among words, None may be one.
            options["na_values"] |= dict.fromkeys(words, delimited.missing_texts(na))
        return options | {"sep": text.layout.separator}


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
