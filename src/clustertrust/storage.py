"""Files of arrays and JSON (.npz), never pickle, written completely or not at all.

:mod:`clustertrust.records` says how the arrays of a file make up an object.
"""

from __future__ import annotations

import errno
import hashlib
import json
import lzma
import math
import os
import re
import secrets
import struct
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clustertrust._types import Arrays

VERSION = 2
_META = "meta.json"
# A small file may hold large arrays: deflate packs a thousand equal bytes into one. Files that
# unpack to more than this many bytes are refused, unless the file itself is large (at least one
# byte in `DENSEST`).
LARGEST = 2**31
DENSEST = 50
ON_WINDOWS = os.name == "nt"
WAITS = (0.05, 0.2, 0.75)  # seconds between attempts to replace a file that is open
FARTHEST = 1e154  # largest coordinate: its square is still finite
# Errors of zip, zlib, NumPy and JSON for damaged files.
DAMAGE: tuple[type[Exception], ...] = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, TokenError),
    *(lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error),
)


def write_text(path: Path, text: str) -> None:
    """Write a small text file completely or not at all."""
    _replace(path, lambda file: file.write(text.encode()))


def write_arrays(path: Path, kind: str, content: Any, arrays: Arrays) -> None:
    """Write arrays and the JSON that describes them; a crash leaves the old file or the new one."""
    head = {"format": "clustertrust", "version": VERSION, "kind": kind}
    meta = head | {"sha256": checksum(content, arrays), "content": content}
    text = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    _replace(path, lambda file: pack_arrays(file, {_META: text, **arrays}))


def checksum(content: Any, arrays: Arrays) -> str:
    """Return a fingerprint of the JSON and of the arrays: names, types, shapes and values."""
    digest = hashlib.sha256(json.dumps(content).encode())
    for name, array in sorted(arrays.items()):
        refuse_objects(name, array)
        digest.update(f" {name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def refuse_objects(name: str, array: NDArray[Any]) -> None:
    """Raise if an array could only be stored by pickling."""
    if array.dtype.hasobject:
        raise TypeError(f"The array {name!r} holds Python objects, which cannot be stored.")


def pack_arrays(file: Any, arrays: dict[str, Any]) -> None:
    """Write an NPZ archive, never by pickling.

    NumPy before 2.1 would take `allow_pickle` for the name of an array.
    """
    for name, array in arrays.items():
        refuse_objects(name, array)
    np.savez_compressed(file, **arrays)


def _replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write to a file next to `path`, force it to disk, then rename it in one step."""
    for _ in range(2):
        try:
            return _replace_once(path, write)
        except FileNotFoundError:  # another process took it for a leftover, see `leftovers`
            continue
    return _replace_once(path, write)


def _replace_once(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        # With the permissions of any new file; those of tempfile are for its owner alone.
        with part.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            part.chmod(path.stat().st_mode & 0o777)
        replace_file(part, path)
        sync_folder(path.parent)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def replace_file(source: Path, target: Path) -> None:
    """Rename a file onto another in one step.

    Windows refuses while a program has the target open. A virus scanner has it for a moment, so it
    is tried again for a second.
    """
    for pause in (*WAITS, None):
        try:
            os.replace(source, target)
        except PermissionError as error:
            if not ON_WINDOWS:
                raise
            if pause is None:
                problem = "It cannot be replaced; close it in other programs"
                raise PermissionError(error.errno, problem, str(target)) from error
            time.sleep(pause)
        else:
            return


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to disk, so that a new file survives a power cut."""
    # Windows opens no folders.
    if ON_WINDOWS:
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        # Some file systems sync files only.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def leftovers(folder: Path, names: str) -> list[Path]:
    """Return temporary files that killed processes left, for names that match the pattern.

    Another process may still be writing one; it writes it again if it is removed.
    """
    return [
        path
        for path in folder.glob(".*.part")
        if re.fullmatch(rf"\.({names})\.[0-9a-f]{{8}}\.part", path.name)
    ]


@contextmanager
def named_damage(path: Path) -> Iterator[None]:
    """Turn any error about the contents of a file into one that names it."""
    try:
        yield
    except DAMAGE as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise ValueError(f"{str(path)!r} is damaged: {what}.") from error


def read_arrays(path: Path, kind: str) -> tuple[Any, Arrays]:
    """Read what `write_arrays` wrote; raise for anything else, or if it was changed since."""
    meta, arrays = _read(path, kind, with_arrays=True)
    if checksum(meta.get("content"), arrays) != meta.get("sha256"):
        raise ValueError(f"{str(path)!r} is damaged: its contents do not match their checksum.")
    return meta["content"], arrays


def read_content(path: Path, kind: str) -> Any:
    """Read the JSON that `write_arrays` wrote, without the arrays and so without the checksum."""
    return _read(path, kind, with_arrays=False)[0].get("content")


def _read(path: Path, kind: str, *, with_arrays: bool) -> tuple[dict[str, Any], Arrays]:
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    try:
        with path.open("rb") as opened:
            check_archive(opened)
            with np.load(opened, allow_pickle=False) as file:
                meta = json.loads(bytes(file[_META]))
                names = set(file.files) - {_META} if with_arrays else ()
                arrays = {name: file[name] for name in names}
    except DAMAGE as error:
        raise ValueError(
            f"{str(path)!r} is damaged or was not written by clustertrust ({error})."
        ) from error
    head = meta if isinstance(meta, dict) else {}
    if head.get("format") != "clustertrust" or head.get("kind") != kind:
        raise ValueError(f"{str(path)!r} does not hold a clustertrust {kind}.")
    if head.get("version") != VERSION:
        raise ValueError(
            f"{str(path)!r} has version {head.get('version')!r}, and this clustertrust reads "
            f"{VERSION}; install the version that wrote it."
        )
    return head, arrays


# Name, shape and type of an array, as a file describes it.
Described = tuple[str, tuple[int, ...], np.dtype[Any]]


def check_archive(file: IO[bytes]) -> list[Described]:
    """Raise unless an open .npz file holds plain arrays of the sizes it claims, and not too large.

    Only the first bytes of each array are unpacked. The file is left at its start. Return what it
    says of its arrays.
    """
    arrays = []
    packed = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        check_unpacked(members, packed)
        names = [member.filename for member in members]
        if len(set(names)) < len(names):
            raise ValueError("it holds two arrays of one name")
        for member in members:
            within = PurePosixPath(member.filename.replace("\\", "/"))
            if within.is_absolute() or ".." in within.parts:
                raise ValueError(f"it holds {member.filename!r}, which lies outside of the file")
            with archive.open(member) as opened:
                arrays.append(_check_size(opened, member.file_size, member.filename))
    file.seek(0)
    return arrays


def check_unpacked(members: Sequence[zipfile.ZipInfo], packed: int) -> int:
    """Return the bytes that an archive unpacks to; raise if they are more than is trusted."""
    total = sum(member.file_size for member in members)
    if total > max(LARGEST, DENSEST * packed):
        raise ValueError(f"its {packed:,} bytes claim to unpack to {total:,}, more than is trusted")
    return total


def check_array_file(file: IO[bytes]) -> list[Described]:
    """Raise unless an open .npy file holds a plain array of the size it claims; rewind it."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    array = _check_size(file, size, "the array")
    file.seek(0)
    return [array]


def read_array_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether it is stored column by column, and type of an array in a file."""
    version = np.lib.format.read_magic(file)
    if version not in {(1, 0), (2, 0), (3, 0)}:
        raise ValueError(f"its array has the unknown version {version}")
    # Versions 2 and 3 differ in how names of columns are spelled, which does not matter here.
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)


def _check_size(file: IO[bytes], size: int, name: str) -> Described:
    """Raise if an array claims more bytes than there are: NumPy would allocate them."""
    shape, _, dtype = read_array_header(file)
    if dtype.hasobject:
        raise ValueError(f"{name} holds Python objects, which would have to be unpickled")
    # Python's numbers do not overflow.
    if min(shape, default=0) < 0 or file.tell() + math.prod(shape) * dtype.itemsize > size:
        raise ValueError(
            f"{name} claims to have shape {shape}, for which {size:,} bytes are too few"
        )
    return name, shape, dtype


def checked_csr(matrix: Any) -> sparse.csr_array:
    """Return a sparse matrix from a file as CSR; raise if its positions lie outside of it."""
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    return sparse.csr_array(matrix)


def hash_data(X: Any) -> str:
    """Return a fingerprint of the data: values, shape and type."""
    digest = hashlib.sha256(
        f"{type(X).__name__ if sparse.issparse(X) else 'dense'} {X.shape} {X.dtype}".encode()
    )
    for part in (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,):
        digest.update(np.ascontiguousarray(part).view(np.uint8).data)
    return digest.hexdigest()
