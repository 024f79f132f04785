"""Columns of paths to pictures → the pictures of the points that the page asks about, in the page.

A page that only named the files would show nothing once it is sent to someone else.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Ints

# By suffix: what kind it is, and how such files begin.
KINDS = {
    ".png": ("image/png", b"\x89PNG\r\n\x1a\n"),
    ".jpg": ("image/jpeg", b"\xff\xd8\xff"),
    ".jpeg": ("image/jpeg", b"\xff\xd8\xff"),
    ".gif": ("image/gif", b"GIF8"),
    ".webp": ("image/webp", b"RIFF"),
}
# Rows that decide whether a column holds paths
LOOK_AT = 200
# Bytes of a picture that is embedded as it is; larger ones are reduced to so many pixels
LARGEST, SIDE = 100_000, 480
# Of pictures in a page
MOST_BYTES = 20_000_000


def picture_column(table: pd.DataFrame) -> str | None:
    """Return the first column whose entries are, for the most part, paths of pictures."""
    if not table.columns.is_unique:
        return None
    for name in table.columns:
        column = table[name].iloc[:LOOK_AT]
        entries = [entry for entry in column if isinstance(entry, str) and entry.strip()]
        paths = sum(PurePath(entry).suffix.lower() in KINDS for entry in entries)
        if paths > len(entries) / 2:
            return str(name)
    return None


def pack_pictures(
    table: pd.DataFrame, positions: Iterable[Ints], folder: str | Path | None
) -> dict[str, Any] | None:
    """Return the pictures of the points at these positions as data of the page.

    None: no column holds paths of pictures. Paths start from `folder`. Files that are missing or no
    pictures are left out, and so is what does not fit into `MOST_BYTES`.
    """
    name = picture_column(table)
    if name is None:
        return None
    pictures: dict[str, str] = {}
    size = 0
    asked = dict.fromkeys(np.concatenate([np.asarray(part) for part in positions]).tolist())
    for position in asked:
        picture = _read(table[name].iloc[position], Path() if folder is None else Path(folder))
        if picture is None:
            continue
        size += len(picture)
        if size > MOST_BYTES:
            break
        pictures[str(position)] = picture
    return {"column": name, "of": pictures} if pictures else None


def _read(entry: Any, folder: Path) -> str | None:
    """Return a picture as a data address; None if it cannot be shown."""
    # Two slashes name another machine
    if not isinstance(entry, str) or entry.startswith(("\\\\", "//")):
        return None
    path = folder / entry.strip()
    kind, start = KINDS.get(path.suffix.lower(), ("", b"\0"))
    try:
        data = path.read_bytes() if kind and path.is_file() else b""
    except (OSError, ValueError):
        return None
    if not data.startswith(start):
        return None
    if len(data) > LARGEST:
        kind, data = _smaller(kind, data)
    return f"data:{kind};base64,{base64.b64encode(data).decode()}" if data else None


def _smaller(kind: str, data: bytes) -> tuple[str, bytes]:
    """Return a large picture as a small JPEG; as it is where Pillow is not installed."""
    try:
        from PIL import Image
    except ImportError:
        return kind, data
    try:
        with Image.open(io.BytesIO(data)) as picture:
            picture.thumbnail((SIDE, SIDE))
            out = io.BytesIO()
            picture.convert("RGB").save(out, "JPEG", quality=85)
    except (OSError, ValueError, Image.DecompressionBombError):
        return kind, b""
    return "image/jpeg", out.getvalue()
