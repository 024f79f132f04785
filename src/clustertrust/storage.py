"""Ensembles and models on disk: arrays and JSON in one .npz file, never pickle, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["hash_data", "read_arrays", "write_arrays", "write_text"]

VERSION = 1
_META = "meta.json"
# What zip, zlib, NumPy and JSON raise over bytes that are not theirs.
DAMAGE: tuple[type[Exception], ...] = (
    *(AttributeError, EOFError, KeyError, MemoryError, NotImplementedError, OSError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)


def write_text(path: Path, text: str) -> None:
    """Write a small text file whole or not at all."""
    _replace(path, lambda file: file.write(text.encode()))


def write_arrays(path: Path, kind: str, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
    """Write arrays and what is said of them; a crash leaves the old file or the new one."""
    for name, array in arrays.items():
        if array.dtype == object:
            raise TypeError(f"The array {name!r} holds Python objects, which cannot be stored.")
    head = {"format": "clustertrust", "version": VERSION, "kind": kind, **meta}
    text = np.frombuffer(json.dumps(head, default=str).encode(), dtype=np.uint8)
    _replace(path, lambda file: np.savez_compressed(file, allow_pickle=False, **{_META: text}, **arrays))


def _replace(path: Path, write: Any) -> None:
    """Write to a file beside `path`, force it to disk, then put it in its place in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_arrays(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Read what `write_arrays` wrote; anything else is refused with a clear error."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            meta = json.loads(bytes(file[_META]).decode())
            arrays = {name: file[name] for name in file.files if name != _META}
    except DAMAGE as error:
        raise ValueError(f"{str(path)!r} is damaged or was not written by clustertrust ({error}).") from error
    if not isinstance(meta, dict) or meta.get("format") != "clustertrust" or meta.get("kind") != kind:
        raise ValueError(f"{str(path)!r} does not hold a clustertrust {kind}.")
    if meta.get("version") != VERSION:
        raise ValueError(
            f"{str(path)!r} has version {meta.get('version')!r}, and this clustertrust reads {VERSION}; install the "
            "version that wrote it."
        )
    return meta, arrays


def hash_data(X: Any) -> str:
    """A fingerprint of the data: values, shape and type."""
    digest = hashlib.sha256(f"{type(X).__name__ if sparse.issparse(X) else 'dense'} {X.shape} {X.dtype}".encode())
    for part in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    return digest.hexdigest()
