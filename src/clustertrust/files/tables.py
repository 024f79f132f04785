"""Tables in files: the formats that people have, told apart by suffix, in and out. Nothing is ever unpickled.

`FORMATS` is the one table of formats. Reading gives a `Table`: columns by name and, where the file carries them, names
of the rows. Which columns are features is not decided here.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clustertrust._validation import check_choice
from clustertrust.files.delimited import TableError, check_unique, read_delimited, rewound
from clustertrust.storage import DAMAGE, check_archive, check_array_file, checked_csr, pack

__all__ = ["FORMATS", "Reading", "Table", "TableError", "format_of", "read_table", "write_table"]


@dataclass(frozen=True)
class Reading:
    """How a file is to be read.

    Attributes
    ----------
    text : names of columns to keep as the text they are, such as ids (007 stays 007)
    separator : between the fields of CSV and TSV; None: what the format says
    header : whether the first line of CSV and TSV holds names; None: it does, and numbers there are an error
    array : which array of an NPZ file
    use_rep : which representation of an AnnData file, a key of `obsm` or "X"
    """

    text: tuple[str, ...] = ()
    separator: str | None = None
    header: bool | None = None
    array: str | None = None
    use_rep: str = "X_pca"


@dataclass(frozen=True)
class Table:
    """What a file holds.

    Attributes
    ----------
    data : DataFrame, or CSR array where the file holds a sparse matrix
    names : names of the rows that the file itself carries, else None
    adata : the AnnData object, where the file is one
    """

    data: Any
    names: pd.Index | None = None
    adata: Any = None


@dataclass(frozen=True)
class Format:
    """How one format is known, read and written; `needs` is (module, extra that installs it)."""

    suffixes: tuple[str, ...]
    read: Callable[[Any, Reading], Table]
    write: Callable[[pd.DataFrame, Path], None] | None
    options: tuple[str, ...] = ()  # those of `Reading` that it uses, beside `text`
    needs: tuple[str, str] | None = None


def read_table(source: str | Path | bytes, reading: Reading | None = None, *, format: str | None = None) -> Table:
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
    reading = Reading() if reading is None else _check_reading(reading)
    _check_source(source)
    told = "The input" if isinstance(source, bytes) else str(source)
    if format is None:
        if isinstance(source, bytes):
            raise ValueError(f"format=None: bytes have no suffix; name the format, one of {sorted(FORMATS)}.")
        format = format_of(source)
    check_choice("format", format, FORMATS)
    kind = FORMATS[format]
    _check_options(kind, reading, format)
    need(format)
    with named_errors(told, format):
        table = kind.read(io.BytesIO(source) if isinstance(source, bytes) else Path(source), reading)
    return table  # noqa: RET504  (inside, mypy would miss a return: a context may swallow errors)


@contextmanager
def named_errors(told: str, format: str) -> Iterator[None]:
    """Make of anything that a reader raises over a file an error of one or two lines that names the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise TableError(
            f"{told} is not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8."
        ) from error
    except TableError as error:
        raise TableError(f"{told} {error}") from error
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except Exception as error:
        # Arrow has kinds of its own, which cannot be named here without loading it.
        if not isinstance(error, DAMAGE) and not type(error).__module__.startswith("pyarrow"):
            raise
        raise TableError(f"{told} cannot be read as {format}: {error}") from error


def write_table(table: pd.DataFrame, path: str | Path, *, format: str | None = None) -> None:
    """Write the columns of a table; its index is not written.

    Missing whole numbers are empty, but -1 in NPY and NPZ, which have no other way to say it; missing text is empty.

    Parameters
    ----------
    table : DataFrame
    path : where to
    format : name of `FORMATS`; None: by the suffix of the path
    """
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table is a {type(table).__name__}; give a pandas DataFrame.")
    format = format_of(path) if format is None else format
    check_choice("format", format, FORMATS)
    need(format)
    write = FORMATS[format].write
    if write is None:
        raise ValueError(f"A plain table cannot be written as {format}; choose another suffix.")
    write(table, Path(path))


def format_of(path: str | Path) -> str:
    """The format that the suffix of a path stands for."""
    name = Path(path).name.lower()
    for format, kind in FORMATS.items():
        if name.endswith(kind.suffixes):
            return format
    known = ", ".join(suffix for kind in FORMATS.values() for suffix in kind.suffixes)
    raise TableError(f"{path} has none of the suffixes that tell its format: {known}.")


def need(format: str) -> None:
    """Raise where the package that a format needs is not there, with the line that installs it."""
    needs = FORMATS[format].needs
    if needs is not None:
        try:
            importlib.import_module(needs[0])
        except ImportError as error:
            raise ImportError(f'{format} files need {needs[0]}: pip install "clustertrust[{needs[1]}]"') from error


def _check_source(source: Any) -> None:
    if not isinstance(source, str | Path | bytes):
        raise TypeError(f"source={source!r} must be a path, or the bytes of a file.")


def _check_reading(reading: Any) -> Reading:
    """Return how to read, each option of the type that it has."""
    if not isinstance(reading, Reading):
        raise TypeError(f"reading={reading!r} must be a clustertrust.files.Reading, such as Reading(text=('id',)).")
    names = reading.text
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"text={names!r} must be a tuple of names of columns, such as ('id',).")
    if not (reading.header is None or isinstance(reading.header, bool)):
        raise TypeError(f"header={reading.header!r} must be True, False or None.")
    for name in ("separator", "array", "use_rep"):
        value = getattr(reading, name)
        if not (isinstance(value, str) or (value is None and name != "use_rep")):
            raise TypeError(f"{name}={value!r} must be text.")
    return reading


def _check_options(kind: Format, reading: Reading, format: str) -> None:
    """Raise for an option that the format would not use: nothing is accepted and ignored."""
    default = Reading()
    for name in ("separator", "header", "array", "use_rep"):
        if getattr(reading, name) != getattr(default, name) and name not in kind.options:
            raise TableError(f"{name}={getattr(reading, name)!r} means nothing for {format} files; leave it out.")


# CSV and TSV


def _read_text(source: Any, reading: Reading, separator: str) -> Table:
    return Table(read_delimited(source, reading.separator or separator, reading.header, reading.text))


# Parquet and Arrow


def _read_parquet(source: Any, reading: Reading) -> Table:
    return _from_frame(from_arrow(importlib.import_module("pyarrow.parquet").read_table(source)))


def _read_arrow(source: Any, reading: Reading) -> Table:
    """Feather and Arrow's file format, or Arrow's stream."""
    ipc = importlib.import_module("pyarrow.ipc")
    data = source.getvalue() if isinstance(source, io.BytesIO) else source.read_bytes()
    opened = ipc.open_file(data) if data.startswith(b"ARROW1") else ipc.open_stream(data)
    return _from_frame(from_arrow(opened.read_all()))


def from_arrow(table: Any) -> pd.DataFrame:
    """A table of Arrow's as a frame, its text checked: pandas may leave that for later."""
    table.validate(full=True)
    return table.to_pandas()


def _from_frame(frame: pd.DataFrame) -> Table:
    """A frame that may have brought its index along; columns are known by their names as text."""
    if frame.index.nlevels > 1:
        raise TableError("has an index of several levels; reset it to columns first.")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    check_unique(list(frame.columns))
    names = None if isinstance(frame.index, pd.RangeIndex) else frame.index
    return Table(frame.reset_index(drop=True), names)


def _write_arrow(table: pd.DataFrame, path: Path) -> None:
    table.reset_index(drop=True).to_feather(path)


# NumPy


def _read_npy(source: Any, reading: Reading) -> Table:
    return _from_array(_load(source), "")


def _read_npz(source: Any, reading: Reading) -> Table:
    with _load(source) as file:
        names = list(file.files)
        if {"format", "indices", "indptr", "shape", "data"} <= set(names):
            odd = [name for name in ("indices", "indptr", "shape") if file[name].dtype.kind not in "iu"]
            if odd:
                raise TableError(f"holds a sparse matrix whose {odd[0]} are not whole numbers.")
            return Table(checked_csr(sparse.load_npz(rewound(source))))
        if reading.array is not None and reading.array not in names:
            raise TableError(f"has no array {reading.array!r}; it has {names}.")
        arrays = {name: file[name] for name in names if reading.array in (None, name)}
    if len(arrays) == 1:
        ((name, array),) = arrays.items()
        return _from_array(array, f" in its array {name!r}")
    if arrays and all(array.ndim == 1 for array in arrays.values()) and len({len(a) for a in arrays.values()}) == 1:
        return Table(pd.DataFrame(arrays))  # one array a column, as we write it
    told = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    raise TableError(f"holds several arrays ({told}); name one with --array." if arrays else "holds no array.")


def _load(source: Any) -> Any:
    try:
        _check_sizes(source)
        return np.load(rewound(source), allow_pickle=False)
    except ValueError as error:
        if "pickle" not in str(error).lower():
            raise
        raise TableError(
            "holds Python objects or is no NumPy file; save an array of numbers (np.save, np.savez)."
        ) from error


def _check_sizes(source: Any) -> None:
    """Raise where an array claims to be larger than its file, before memory is taken for it."""
    with nullcontext(source) if isinstance(source, io.BytesIO) else source.open("rb") as file:
        (check_archive if file.read(2) == b"PK" else check_array_file)(file)


def _from_array(array: NDArray, told: str) -> Table:
    if array.dtype.names is not None and array.ndim == 1:
        return Table(pd.DataFrame({name: array[name] for name in array.dtype.names}))
    if array.ndim not in {1, 2}:
        raise TableError(f"has shape {array.shape}{told}; a table is (points, columns).")
    return Table(pd.DataFrame(array.reshape(len(array), -1), copy=False))  # columns are known by their positions


def _write_npy(table: pd.DataFrame, path: Path) -> None:
    columns = {str(name): _plain(column) for name, column in table.items()}
    array = np.empty(len(table), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        array[name] = column
    np.save(path, array, allow_pickle=False)


def _write_npz(table: pd.DataFrame, path: Path) -> None:
    with path.open("wb") as file:  # a path would get a second suffix in capital letters
        pack(file, {str(name): _plain(c) for name, c in table.items()})


def _plain(column: pd.Series) -> NDArray:
    """A column as NumPy alone knows it: no objects, no missing whole numbers or text."""
    if pd.api.types.is_integer_dtype(column.dtype):
        return column.fillna(-1).to_numpy(np.int64) if column.hasnans else column.to_numpy(column.dtype.type)
    if pd.api.types.is_float_dtype(column.dtype):
        return column.to_numpy(np.float64)
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.to_numpy(bool)
    return np.array(["" if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)], str)


# AnnData


def _read_h5ad(source: Any, reading: Reading) -> Table:
    from clustertrust.anndata import representation

    if isinstance(source, io.BytesIO):
        raise TableError("is AnnData, which is read from a file, not from standard input.")
    adata = importlib.import_module("anndata").read_h5ad(source)
    try:
        X = representation(adata, reading.use_rep)
    except ValueError as error:
        raise TableError(f"cannot be used: {error}") from error
    if not sparse.issparse(X):
        X = pd.DataFrame(np.asarray(X), columns=adata.var_names if reading.use_rep == "X" else None)
    return Table(X, adata.obs_names, adata)


FORMATS: dict[str, Format] = {
    "csv": Format(
        (".csv", ".csv.gz", ".csv.bz2", ".csv.xz"),
        lambda source, reading: _read_text(source, reading, ","),
        lambda table, path: table.to_csv(path, index=False),
        ("separator", "header"),
    ),
    "tsv": Format(
        (".tsv", ".tsv.gz", ".tsv.bz2", ".tsv.xz", ".tab"),
        lambda source, reading: _read_text(source, reading, "\t"),
        lambda table, path: table.to_csv(path, sep="\t", index=False),
        ("separator", "header"),
    ),
    "parquet": Format(
        (".parquet", ".pq"),
        _read_parquet,
        lambda table, path: table.to_parquet(path, index=False),
        needs=("pyarrow", "parquet"),
    ),
    "arrow": Format((".arrow", ".feather"), _read_arrow, _write_arrow, needs=("pyarrow", "parquet")),
    "npy": Format((".npy",), _read_npy, _write_npy),
    "npz": Format((".npz",), _read_npz, _write_npz, ("array",)),
    # What is written there goes into the annotations of an AnnData object: clustertrust.anndata.
    "h5ad": Format((".h5ad",), _read_h5ad, None, ("use_rep",), needs=("anndata", "anndata")),
}
