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
from clustertrust.files.layout import Layout, layout_of, try_encodings
from clustertrust.files.reading import Reading

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
    def find(cls, path: Path, reading: Reading, separator: str) -> TextFile:
        """Look at the first bytes of a file; what `reading` has is taken from there."""
        head = head_of(path)
        return try_encodings(
            head,
            reading,
            lambda encoding: cls(path, encoding, layout_of(head, encoding, reading, separator)),
        )

    @contextmanager
    def open(self) -> Iterator[tuple[bytes, Iterator[bytes]]]:
        """Give the line of names and an iterator over the lines below it, as UTF-8."""
        with open_text(self.path, "rb") as file:
            lines = iter(file) if self.encoding.lower() in UTF8 else self._recoded(file)
            lines = itertools.islice(lines, self.layout.skip, None)
            first = iter(partial(records, lines, 1), b"")
            yield next((line for line in first if line.strip(b" \r\n")), b""), lines

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
    # A stray quote does not read the whole file.
    for line in itertools.islice(lines, max(rows, 1000)) if quotes % 2 else ():
        text += line
        quotes += line.count(b'"')
        if quotes % 2 == 0:
            break
    return text
