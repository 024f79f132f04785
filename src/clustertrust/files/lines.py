"""Text that is read in blocks: its layout, found once, and its lines, always as UTF-8."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from clustertrust._parallel import memory_budget
from clustertrust.files.errors import TableError, not_text
from clustertrust.files.layout import Layout, layout_of, try_encodings
from clustertrust.files.memory import in_words
from clustertrust.files.opening import COMPRESSED, head_of, open_text
from clustertrust.files.reading import Reading

UTF8 = ("utf-8", "utf8", "utf-8-sig")
# Bytes that are read at once, and those of the longest line.
AT_ONCE, LONGEST = 2**20, 2**26
# Bytes that a worker reads.
PART = 2**26
# Bytes of a part of a file; None: all of it.
Place = tuple[int, int] | None


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

    def places(self) -> list[Place]:
        """Return parts of the file by their bytes: lines belong to the part that they begin in.

        Compressed text, and text whose line ends are not single bytes, is one part.
        """
        is_plain = self.encoding.lower() in UTF8 or "\n".encode(self.encoding) == b"\n"
        if self.path.suffix.lower() in COMPRESSED or not is_plain:
            return [None]
        return [(low, low + PART) for low in range(0, self.path.stat().st_size, PART)]

    @contextmanager
    def open(self, place: Place = None) -> Iterator[tuple[bytes, Lines]]:
        """Give the line of names and the lines below it, as UTF-8; of a later part no names."""
        with open_text(self.path, "rb") as file:
            part = file if place is None else io.BytesIO(_lines_between(file, *place))
            lines = Lines(part if self.encoding.lower() in UTF8 else _Recoded(part, self.encoding))
            if place is not None and place[0]:
                yield b"", lines
                return
            for _ in range(self.layout.skip):
                lines.line()
            first = iter(lambda: lines.records(1), b"")
            yield next((line for line in first if line.strip(b" \r\n")), b""), lines


def _lines_between(file: BinaryIO, low: int, high: int) -> bytes:
    """Return the lines of a file that begin at or after a byte, and before another."""
    ends = []
    for byte in (low, high):
        file.seek(max(byte - 1, 0))
        ends.append(byte if byte == 0 else file.seek(0, 1) + len(file.readline()))
    file.seek(ends[0])
    return file.read(ends[1] - ends[0])


class _Recoded:
    """A file of text in another encoding, as UTF-8."""

    def __init__(self, file: Any, encoding: str) -> None:
        self.text, self.encoding = io.TextIOWrapper(file, encoding=encoding, newline="\n"), encoding

    def read(self, size: int) -> bytes:
        """Return about this many bytes."""
        try:
            return self.text.read(size).encode()
        except UnicodeError as error:
            raise not_text(self.encoding, str(error)) from error


class Lines:
    """The lines of an open file, many at a time, of bounded length."""

    def __init__(self, file: Any) -> None:
        self.file, self.held, self.ended = file, b"", False

    def line(self) -> bytes:
        """Return the next line; an empty text at the end."""
        return self._take(self._end(1))

    def records(self, rows: int) -> bytes:
        """Return the next `rows` lines, and more if a quoted field spans lines.

        Fewer where lines are so long that they would take more memory than blocks may.
        """
        end = self._end(rows)
        if self.held.count(b'"', 0, end) % 2:
            # A stray quote does not read the whole file.
            for _ in range(max(rows, 1000)):
                more = self._end(1, end)
                is_closing = self.held.count(b'"', end, more) % 2
                at_end, end = more == end, more
                if is_closing or at_end:
                    break
        return self._take(end)

    def _take(self, end: int) -> bytes:
        taken, self.held = self.held[:end], self.held[end:]
        return taken

    def _end(self, rows: int, start: int = 0) -> int:
        """Return where the `rows`-th line from `start` on ends; read as much as that takes."""
        most, count = max(memory_budget(), 4 * AT_ONCE), self.held.count(b"\n", start)
        parts, size = [self.held], len(self.held)
        while count < rows and not self.ended and (size - start < most or not count):
            if not count and size - start > LONGEST:
                raise TableError(
                    f"has a line of more than {in_words(LONGEST)}; check that its lines have "
                    "line ends."
                )
            part = self.file.read(AT_ONCE)
            self.ended = not part
            parts.append(part)
            count, size = count + part.count(b"\n"), size + len(part)
        self.held = b"".join(parts)
        if count < rows and self.ended:
            return len(self.held)
        if rows == 1:
            return self.held.index(b"\n", start) + 1
        is_end = np.frombuffer(self.held, dtype=np.uint8)[start:] == ord("\n")
        return start + int(np.flatnonzero(is_end)[min(rows, count) - 1]) + 1
