"""Tables in files: read whole or in blocks of rows, and written, in every format of `FORMATS`.

A table read whole is a `Table`: columns by name and, if the file has them, names of the rows.
"""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._errors import InputError, Message
from clustertrust._parallel import memory_budget
from clustertrust._validation.arguments import check_choice
from clustertrust.files.errors import TableError, named_errors
from clustertrust.files.formats import FORMATS, format_of, known_format, need, suffixes
from clustertrust.files.memory import allowed
from clustertrust.files.reading import Append, Dialect, Reading, Table
from clustertrust.files.sources import ArraySource, Source, check_named


def read_table(
    source: str | Path | bytes, reading: Reading | None = None, *, format: str | None = None
) -> Table:
    r"""Read a table.

    Parameters
    ----------
    source : path, or the bytes of a file
    reading : Reading, optional
    format : name of `FORMATS`; None: by the suffix of the path, which bytes do not have

    Returns
    -------
    Table

    Examples
    --------
    >>> from clustertrust.files import Reading, read_table
    >>> read_table(b"id,x\n007,1.5\n", Reading(text=("id",)), format="csv").data["id"].tolist()
    ['007']
    """
    reading = Reading.check(reading)
    if not isinstance(source, str | Path | bytes):
        raise TypeError(f"source={source!r} must be a path, or the bytes of a file.")
    source_name = "The input" if isinstance(source, bytes) else str(source)
    if format is None:
        if isinstance(source, bytes):
            raise InputError(
                f"{{format=None}}: bytes have no suffix; name the format, one of {sorted(FORMATS)}."
            )
        format = format_of(source)
    check_choice("format", format, FORMATS)
    _check_options(reading, format)
    need(format)
    opened = io.BytesIO(source) if isinstance(source, bytes) else Path(source)
    with named_errors(source_name, format):
        table = FORMATS[format].read(opened, reading)
    return table  # noqa: RET504  (inside, mypy would miss a return: a context may swallow errors)


def write_table(
    table: pd.DataFrame,
    path: str | Path,
    *,
    format: str | None = None,
    dialect: Dialect | None = None,
) -> None:
    """Write the columns of a table to a file, without its index.

    Missing integers and missing text are empty fields; in NPY and NPZ, missing integers are -1.

    Parameters
    ----------
    table : DataFrame
    path : the file to write
    format : name of `FORMATS`; None: by the suffix of the path
    dialect : separator and decimal mark of text, the `dialect` of the table that was read; None:
        those of the format, and a point. Only text has one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from clustertrust.files import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.csv")
    ...     write_table(pd.DataFrame({"label": [0, 1], "score": [0.5, 0.9]}), path)
    ...     path.read_text().split()
    ['label,score', '0,0.5', '1,0.9']
    """
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table is a {type(table).__name__}; give a pandas DataFrame.")
    if not isinstance(dialect, Dialect | None):
        raise TypeError(f"dialect={dialect!r} must be the dialect of a table that was read.")
    format = format_of(path) if format is None else format
    check_choice("format", format, FORMATS)
    write = FORMATS[format].write
    if write is None:
        raise ValueError(f"A plain table cannot be written as {format}; choose another suffix.")
    need(format)
    write(table, Path(path), **_dialect_of(format, dialect))


def append_table(path: Path, dialect: Dialect | None = None) -> AbstractContextManager[Append]:
    """Return a context that gives a function to write a table to a file, frame by frame."""
    append = FORMATS[format_of(path)].append
    assert append is not None
    return append(path, **_dialect_of(format_of(path), dialect))


def _dialect_of(format: str, dialect: Dialect | None) -> dict[str, Any]:
    return {"dialect": dialect} if "decimal" in FORMATS[format].options else {}


# Options that every format takes: those that mean nothing where values have types of their own.
ANYWHERE = ("text", "na", "decimal", "thousands", "as_written")


def _check_options(reading: Reading, format: str) -> None:
    """Raise for an option that the format would ignore."""
    default = Reading()
    for name in (field.name for field in fields(Reading) if field.name not in ANYWHERE):
        value = getattr(reading, name)
        if value != getattr(default, name) and name not in FORMATS[format].options:
            text = f"{{{name}=}} is not used for {format} files; leave it out."
            raise TableError(Message(text, {name: value}))


def open_source(X: Any, reading: Reading | None = None, *, format: str | None = None) -> Any:
    """Open a table to read it in blocks.

    Parameters
    ----------
    X : array, or path of a file, or of a folder of files of one format
        Every format that `read_table` reads.
    reading : Reading, optional
        Its options for text are used; what is None is found.
    format : name of `FORMATS`; None: by the suffix of the path, or of the files of a folder

    Returns
    -------
    Source, or the points of a file of a format that is not read in blocks: array, frame or CSR
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, np.ndarray):
        return ArraySource(X)
    if not isinstance(X, str | Path):
        raise TypeError(f"X={X!r} must be an array, or the path of a file or of a folder.")
    format, paths = _files(Path(X), format)
    reading = Reading.check(reading)
    _check_options(reading, format)
    need(format)
    blocks = FORMATS[format].blocks
    if blocks is not None:
        return blocks(paths, reading)
    data = read_table(X, reading, format=format).data
    if isinstance(data, pd.DataFrame) and isinstance(data.columns, pd.RangeIndex):
        return data.to_numpy()
    if isinstance(data, pd.DataFrame):
        check_named([str(name) for name in data.columns], str(X))
    return data


def fits_in_memory(path: Path, format: str) -> bool:
    """Return whether a file is small enough to be read whole, or cannot be read otherwise."""
    blocks = FORMATS[format].blocks
    if blocks is None:
        return True
    with named_errors(str(path), format):
        fits = blocks.size_of(path) <= memory_budget() and blocks.needed_by(path) <= allowed()
    return fits  # noqa: RET504  (inside, mypy would miss a return: a context may swallow errors)


def _files(path: Path, format: str | None) -> tuple[str, list[Path]]:
    """Return the format of a file, or of all in a folder, and the files."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if not path.is_dir():
        return format or format_of(path), [path]
    paths = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith((".", "_")))
    if not paths:
        raise ValueError(f"{path} holds no files.")
    kinds = sorted({format or known_format(p) or p.suffix for p in paths})
    if len(kinds) > 1 or kinds[0] not in FORMATS or FORMATS[kinds[0]].blocks is None:
        there = ", ".join(sorted({p.suffix.lower() or "without a suffix" for p in paths}))
        raise ValueError(
            f"{path} is a folder of files of several formats, or of one that is not read in blocks "
            f"({there}); give one file, or a folder of one format: {suffixes('blocks')}."
        )
    return kinds[0], paths
