"""How much memory a table may take, and what a file will need, before anything large is allocated.

The needs are estimates of what a whole command takes for a table: the values as they are read, the
copies that are filled in and scaled, labels and scores. The tests of hostile files compare them
with what processes took.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from clustertrust._errors import Message, literal
from clustertrust.files.errors import TableError

# Bytes that a row takes in all (labels of runs, scores, a line of results), and a number; a text,
# or any other value that is a Python object, takes more besides its letters.
PER_ROW, PER_NUMBER, PER_OBJECT = 400, 20, 100
_ALLOWED: ContextVar[int | None] = ContextVar("_ALLOWED", default=None)


@contextmanager
def allowing(mebibytes: int | None) -> Iterator[None]:
    """Let tables take at most so much memory; None: half of what the machine has."""
    token = _ALLOWED.set(None if mebibytes is None else mebibytes * 2**20)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def allowed() -> int:
    """Return the bytes that a table may take."""
    chosen = _ALLOWED.get()
    return _machine() // 2 if chosen is None else chosen


def _machine() -> int:
    """Return the bytes of memory that the machine has, or that this process may use of it."""
    limits = [2**33]
    if hasattr(os, "sysconf"):
        limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(int(Path(path).read_text(encoding="ascii")))
        except (OSError, ValueError):
            # Another system, or no limit ("max").
            continue
    if sys.platform != "win32":
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits += [] if soft == resource.RLIM_INFINITY else [soft]
    return min(limits)


def needed(rows: int, cells: int, *, letters: int = 0, objects: int = 0) -> int:
    """Return roughly the bytes that a table takes, with the bytes of its text."""
    return rows * PER_ROW + cells * PER_NUMBER + objects * PER_OBJECT + 3 * letters


def check_memory(need: int, what: str) -> None:
    """Raise if a table takes more than is allowed; `what` is its size in words."""
    if need <= allowed():
        return
    text = f"is too large to be read whole: {what} take about {in_words(need)} of memory, and "
    text = literal(f"{text}{in_words(allowed())} may be used. ")
    remedy = "Leave out rows or columns, or allow more ({memory}). "
    raise TableError(Message(f"{text}{remedy}`score` reads CSV, Parquet and NPY in blocks."))


def in_words(size: float) -> str:
    """Return a number of bytes as people write it."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if size >= 10 or unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"


def needed_by_array(shape: tuple[int, ...], dtype: Any) -> int:
    """Return roughly the bytes that the values of an array take in a table."""
    if dtype.names is not None:
        return sum(needed_by_array(shape, dtype[name]) for name in dtype.names)
    # Texts become Python objects, also those of no letter at all.
    cells, is_text = math.prod(shape), dtype.kind in "SUVO"
    return needed(0, cells, letters=cells * dtype.itemsize * is_text, objects=cells * is_text)
