"""Text that is read in blocks: its layout, found once, and its lines, always as UTF-8."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from clustertrust.files.delimited import head_of, open_text
from clustertrust.files.errors import not_text
from clustertrust.files.layout import Layout, encoding_of, layout_of

__all__ = ["UTF8", "TextFile", "records"]

UTF8 = ("utf-8", "utf8", "utf-8-sig")


@dataclass(frozen=True)
class TextFile:
    """A file of delimited text, and how it is laid out.

    Attributes
    ----------
    path : the file
    encoding : of its text
    layout : what separates its fields, and the lines above the names
    """

    path: Path
    encoding: str
    layout: Layout

    @classmethod
    def find(cls, path: Path, reading: Any, separator: str) -> TextFile:
        """Look at the first bytes of a file; what `reading` has is taken from there."""
        head = head_of(path)
        encoding = reading.encoding or encoding_of(head)
        try:
            return cls(path, encoding, layout_of(head, encoding, reading, separator))
        except UnicodeDecodeError:
            if reading.encoding is not None:
                raise
        try:
            return cls(path, "cp1252", layout_of(head, "cp1252", reading, separator))
        except UnicodeDecodeError:  # some bytes have no letter there
            return cls(path, "latin-1", layout_of(head, "latin-1", reading, separator))

    @contextmanager
    def open(self) -> Iterator[tuple[bytes, Iterator[bytes]]]:
        """Give the line of names and an iterator over the lines below it, as UTF-8."""
        with open_text(self.path, "rb") as file:
            lines = iter(file) if self.encoding.lower() in UTF8 else self._recoded(file)
            lines = itertools.islice(lines, self.layout.skip, None)
            found = iter(partial(records, lines, 1), b"")
            yield next((line for line in found if line.strip(b" \r\n")), b""), lines

    def _recoded(self, file: Any) -> Iterator[bytes]:
        """Yield the lines as UTF-8."""
        try:
            for line in io.TextIOWrapper(file, encoding=self.encoding, newline="\n"):
                yield line.encode()
        except UnicodeError as error:
            raise not_text(self.encoding, str(error)) from error


def records(lines: Iterator[bytes], rows: int) -> bytes:
    """Return the next `rows` lines, and more if a quoted field spans lines."""
    text = b"".join(itertools.islice(lines, rows))
    quotes = text.count(b'"')
    for line in (
        itertools.islice(lines, max(rows, 1000)) if quotes % 2 else ()
    ):  # not the whole file for a stray quote
        text += line
        quotes += line.count(b'"')
        if quotes % 2 == 0:
            break
    return text
