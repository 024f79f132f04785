"""Files and bytes in memory, opened to be read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

# How to open compressed text, by suffix; the same suffixes as in pandas.
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def open_text(path: Path, mode: str, **options: Any) -> Any:
    """Open a file of text, also where it is compressed."""
    return COMPRESSED.get(path.suffix.lower(), open)(path, mode, **options)


def opened(source: Any) -> Any:
    """Return a path, or bytes in memory, as an open file without compression."""
    in_memory = isinstance(source, io.BytesIO)
    return nullcontext(rewound(source)) if in_memory else open_text(source, "rb")


def rewound(source: Any) -> Any:
    """Return the source, at its first byte if it is in memory."""
    if isinstance(source, io.BytesIO):
        source.seek(0)
    return source


def size_of(source: Any) -> int:
    """Return the bytes of a file, or of those in memory."""
    return len(source.getvalue()) if isinstance(source, io.BytesIO) else source.stat().st_size


def head_of(source: Any) -> bytes:
    """Return the first bytes of a text, without its compression."""
    with opened(source) as file:
        return bytes(file.read(2**16))
