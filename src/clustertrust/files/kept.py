"""Numbers that the first pass over a text keeps on disk: later passes need not parse it again."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from clustertrust._types import Array
from clustertrust.files.sources import Block, Source

# Bytes that must stay free on the disk, besides those that are kept: results need room too.
SPARE = 2**30


class KeptSource(Source):
    """A table whose first whole pass is kept in a nameless file of a folder.

    Where the folder has no room, or cannot be written to, each pass reads the table itself.
    """

    def __init__(self, source: Source, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.columns, self.n_features = source.columns, source.n_features
        self.n_rows = source.n_rows
        self._file: IO[bytes] | None = None
        # Rows of a block in the file, and where each begins.
        self._rows, self._starts = 0, list[int]()
        with contextlib.suppress(OSError):
            # It is gone with the process, however that ends.
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
            weakref.finalize(self, self._file.close)

    def read(self, rows: int) -> Iterator[Block]:
        """Read the kept blocks, or the table if they are not kept, or of another size."""
        if self._file is not None and self._rows == rows:
            for start in self._starts:
                self._file.seek(start)
                yield Block(_read(self._file), _read(self._file), why=_read(self._file))
            return
        self._rows, starts = 0, [0]
        for block in self.source.read(rows):
            starts.append(self._keep(block, starts[-1]))
            yield block
        self._rows, self._starts = rows, starts[:-1]

    def _keep(self, block: Block, start: int) -> int:
        """Write a block and return where the next begins; keep nothing where there is no room."""
        if self._file is None:
            return 0
        try:
            self._file.seek(start)
            for part in (block.X, block.ids, block.why):
                _write(self._file, part)
            end = self._file.tell()
            has_room = shutil.disk_usage(self.folder).free > end + SPARE
        except OSError:
            end, has_room = 0, False
        if not has_room:
            # What could not be written may still be buffered.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
        return end


def _write(file: IO[bytes], part: Array | None) -> None:
    """Write numbers as they are, and names and reasons as JSON."""
    if part is not None and part.dtype.kind in "iufb":
        np.lib.format.write_array(file, np.ascontiguousarray(part), allow_pickle=False)
        return
    text = json.dumps(None if part is None else part.tolist()).encode()
    np.lib.format.write_array(file, np.frombuffer(text, dtype="S1"), allow_pickle=False)


def _read(file: IO[bytes]) -> Any:
    """Read what `_write` wrote."""
    array = np.lib.format.read_array(file, allow_pickle=False)
    if array.dtype.kind != "S":
        return array
    values = json.loads(array.tobytes())
    if values is None:
        return None
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects
