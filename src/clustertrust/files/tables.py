"""Tables in files: read whole or in blocks of rows, and written, in every format of `FORMATS`.

A table read whole is a `Table`: columns by name and, if the file has them, names of the rows.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._errors import InputError, Message, ParameterTypeError
from clustertrust._parallel import memory_budget
from clustertrust._validation.arguments import check_choice, check_names
from clustertrust.files.columns import Selection
from clustertrust.files.errors import TableError, named_errors
from clustertrust.files.file_sources import FileSource, numbers_of
from clustertrust.files.formats import FORMATS, format_of, known_format, need, suffixes
from clustertrust.files.memory import allowed
from clustertrust.files.reading import Dialect, Reading, Table
from clustertrust.files.sources import ArraySource, Source, SparseSource


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
    if dialect is not None and "decimal" in FORMATS[format].options:
        write = partial(write, dialect=dialect)
    write(table, Path(path))


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


def open_source(
    X: Any,
    *,
    id: str | None = None,
    use: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    reading: Reading | None = None,
) -> Source:
    """Open a table to read it in blocks.

    Parameters
    ----------
    X : array, or path of a file, or of a folder of files of one format
        Every format that `read_table` reads. CSV, TSV, Parquet, Arrow and NPY files are read in
        blocks; NPZ and H5AD files are read whole here.
    id : name of the column that names the rows, optional
    use : names of the columns to use, optional; None: all except `id` and `drop`
    drop : names of columns to leave out
    reading : Reading, optional
        Its `encoding`, `separator` and `skip_rows` are used, for text; found where they are None.

    Returns
    -------
    Source
    """
    if isinstance(X, Source):
        return X
    if isinstance(X, np.ndarray):
        return ArraySource(X)
    if not isinstance(X, str | Path):
        raise TypeError(f"X={X!r} must be an array, or the path of a file or of a folder.")
    if id is not None and not isinstance(id, str):
        raise ParameterTypeError("id", id, "must be the name of a column")
    used = [] if use is None else check_names("use", use, "columns")
    selection = Selection(id, used, check_names("drop", drop, "columns"))
    kind, paths = _files(Path(X))
    reading = Reading.check(reading)
    _check_options(reading, format_of(paths[0]))
    if kind is None:
        return _read_whole(paths[0], selection, reading)
    return kind(paths, selection, reading)


def column_names(path: Path, reading: Reading) -> list[str] | None:
    """Return the column names of a file read in blocks, or of the first in a folder, or None."""
    kind, paths = _files(path)
    return None if kind is None else kind.names_of(paths[0], reading)


def fits_in_memory(path: Path) -> bool:
    """Return whether a file of a format that is read in blocks is small enough to be read whole."""
    format = format_of(path)
    blocks = FORMATS[format].blocks
    assert blocks is not None
    with named_errors(str(path), format):
        fits = blocks.size_of(path) <= memory_budget() and blocks.needed_by(path) <= allowed()
    return fits  # noqa: RET504  (inside, mypy would miss a return: a context may swallow errors)


def _files(path: Path) -> tuple[type[FileSource] | None, list[Path]]:
    """Return the class that reads a file or folder in blocks (None: read whole), and the files."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if not path.is_dir():
        need(format_of(path))
        return FORMATS[format_of(path)].blocks, [path]
    paths = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith((".", "_")))
    if not paths:
        raise ValueError(f"{path} holds no files.")
    format, *others = kinds = sorted({known_format(p) or p.suffix for p in paths})
    if others or format not in FORMATS or FORMATS[format].blocks is None:
        raise ValueError(
            f"{path} holds files of several formats, or of one that is not read in blocks "
            f"({', '.join(kinds)}); give files of one format: {suffixes('blocks')}."
        )
    need(format)
    return FORMATS[format].blocks, paths


def _read_whole(path: Path, selection: Selection, reading: Reading) -> Source:
    """Read a table of a format that is not read in blocks."""
    data = read_table(path, reading).data
    is_sparse = sparse.issparse(data)
    if is_sparse or isinstance(data.columns, pd.RangeIndex):
        selection.refuse_names(str(path))
        return SparseSource(data, str(path)) if is_sparse else ArraySource(data.to_numpy())
    frame = data.set_axis([str(name) for name in data.columns], axis=1)
    columns = selection.features(list(frame.columns), str(path))
    ids = None if selection.id is None else frame[selection.id].to_numpy()
    return ArraySource(numbers_of(frame[columns], str(path)), columns, ids)
