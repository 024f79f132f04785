"""Read and write whole tables of each format. Nothing is ever unpickled."""

from __future__ import annotations

import importlib
import io
import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clustertrust._errors import Message, literal
from clustertrust.files.delimited import check_unique, read_delimited, rewound
from clustertrust.files.errors import TableError
from clustertrust.files.layout import Dialect, titles_above
from clustertrust.storage import check_archive, check_array_file, checked_csr, pack_arrays

__all__ = [
    "Reading",
    "Table",
    "from_arrow",
    "read_arrow",
    "read_json",
    "read_npy",
    "read_npz",
    "read_parquet",
    "read_sheet",
    "read_text",
    "write_arrow",
    "write_delimited",
    "write_json",
    "write_npy",
    "write_npz",
    "write_parquet",
    "write_sheet",
]


@dataclass(frozen=True)
class Reading:
    """How to read a file.

    Attributes
    ----------
    text : names of columns to keep as text, such as ids (007 stays 007)
    separator : between the fields of text, also as a word such as "tab"; None: found
    header : whether the first line of CSV and TSV holds names; None: it must, and numbers there are
        an error
    array : which array of an NPZ file
    use_rep : which representation of an AnnData file, a key of `obsm` or "X"
    encoding : of text, such as "cp1252"; None: found
    decimal, thousands : marks in numbers of text; None: found
    na : texts that stand for a missing value, beside the usual ones; only empty ones where it is ()
    skip_rows : lines above the one that holds the names; None: found
    sheet : name of the sheet of a spreadsheet; None: the first
    as_written : whether all columns are kept as the text they are
    """

    text: tuple[str, ...] = ()
    separator: str | None = None
    header: bool | None = None
    array: str | None = None
    use_rep: str = "X_pca"
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    na: tuple[str, ...] | None = None
    skip_rows: int | None = None
    sheet: str | None = None
    as_written: bool = False


@dataclass(frozen=True)
class Table:
    """The contents of a file.

    Attributes
    ----------
    data : DataFrame, or CSR array if the file holds a sparse matrix
    names : names of the rows that the file itself has, else None
    adata : the AnnData object, if the file is one
    notes : what was found out about the file, such as its encoding
    dialect : how text is written; None for other formats
    """

    data: Any
    names: pd.Index | None = None
    adata: Any = None
    notes: tuple[str | Message, ...] = ()
    dialect: Dialect | None = None


# CSV and TSV


def read_text(source: Any, reading: Reading, separator: str, format: str) -> Table:
    """Read text with fields separated by `separator`, unless `reading` has another."""
    frame, notes, dialect = read_delimited(source, reading, separator, format)
    return Table(frame, notes=tuple(notes), dialect=dialect)


def write_delimited(
    table: pd.DataFrame, path: Path, separator: str, format: str, dialect: Dialect | None = None
) -> None:
    """Write text; the suffix sets the compression."""
    how = {"sep": separator} if dialect is None else dialect.options(format, separator)
    table.to_csv(path, index=False, **how)


# JSON and spreadsheets


def read_json(source: Any, reading: Reading, *, lines: bool) -> Table:
    """Read records: a list of objects, or one object a line."""
    text = source.getvalue() if isinstance(source, io.BytesIO) else source.read_bytes()
    try:
        found = text.decode(reading.encoding or "utf-8-sig")
        parsed = (
            [json.loads(line) for line in found.splitlines() if line.strip()]
            if lines
            else json.loads(found)
        )
    except json.JSONDecodeError as error:
        raise TableError(f"is no JSON that can be read: {error}.") from error
    if isinstance(parsed, dict):  # one list of records inside, as some services answer
        lists = [value for value in parsed.values() if isinstance(value, list)]
        parsed = lists[0] if len(lists) == 1 else parsed
    if isinstance(parsed, dict) and all(isinstance(value, list) for value in parsed.values()):
        if len({len(value) for value in parsed.values()}) > 1:
            raise TableError("holds lists of different lengths; give one record a point.")
        return Table(pd.DataFrame(parsed))
    if not isinstance(parsed, list) or not all(isinstance(record, dict) for record in parsed):
        raise TableError('holds no list of records; give one object a point, such as [{"x": 1}].')
    return _from_frame(pd.DataFrame.from_records(parsed))


def write_json(table: pd.DataFrame, path: Path, *, lines: bool) -> None:
    """Write records; numbers keep all their digits."""
    records = [
        {str(name): _json_value(value) for name, value in record.items()}
        for record in table.to_dict("records")
    ]
    texts = [json.dumps(record, ensure_ascii=False, default=str) for record in records]
    whole = "\n".join(texts) if lines else "[" + ",\n".join(texts) + "]"
    path.write_text(whole + "\n", encoding="utf-8")


def _json_value(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is pd.NA or value is pd.NaT or value != value else value


def read_sheet(source: Any, reading: Reading, *, engine: str) -> Table:
    """Read the first sheet of a spreadsheet, or the one that is asked for."""
    with pd.ExcelFile(source, engine=cast(Any, engine)) as book:
        if reading.sheet is not None and reading.sheet not in book.sheet_names:
            raise TableError(f"has no sheet {reading.sheet!r}; it has {book.sheet_names}.")
        sheet = book.sheet_names[0] if reading.sheet is None else reading.sheet
        cells = pd.read_excel(
            book,
            sheet_name=sheet,
            header=None,
            dtype=object,
            keep_default_na=False,
            na_values=[""],
        )
    cells = cells.dropna(how="all").dropna(axis=1, how="all")
    if cells.empty:
        raise TableError(f"has nothing in its sheet {sheet!r}.")
    skip = (
        titles_above(cells.notna().sum(axis=1).tolist())
        if reading.skip_rows is None
        else reading.skip_rows
    )
    names = [
        f"Unnamed: {j}" if pd.isna(name) else str(name) for j, name in enumerate(cells.iloc[skip])
    ]
    check_unique(names)
    frame = cells.iloc[skip + 1 :].set_axis(names, axis=1).reset_index(drop=True)
    notes = [f"sheet {sheet!r}"] if len(book.sheet_names) > 1 else []
    notes += [f"{skip} line{'s' * (skip > 1)} above the names left out"] if skip else []
    return Table(frame.infer_objects(), notes=tuple(notes))


def write_sheet(table: pd.DataFrame, path: Path, *, engine: str) -> None:
    """Write one sheet."""
    table.to_excel(path, index=False, engine=cast(Any, engine))


# Parquet and Arrow


def read_parquet(source: Any, reading: Reading) -> Table:
    """Read Parquet."""
    return _from_frame(from_arrow(importlib.import_module("pyarrow.parquet").read_table(source)))


def read_arrow(source: Any, reading: Reading) -> Table:
    """Read Feather, Arrow's file format, or Arrow's stream."""
    ipc = importlib.import_module("pyarrow.ipc")
    data = source.getvalue() if isinstance(source, io.BytesIO) else source.read_bytes()
    opened = ipc.open_file(data) if data.startswith(b"ARROW1") else ipc.open_stream(data)
    return _from_frame(from_arrow(opened.read_all()))


def write_parquet(table: pd.DataFrame, path: Path) -> None:
    """Write Parquet."""
    table.to_parquet(path, index=False)


def from_arrow(table: Any) -> pd.DataFrame:
    """Turn an Arrow table into a frame and check its text: pandas may do so only later."""
    table.validate(full=True)
    return table.to_pandas()


def _from_frame(frame: pd.DataFrame) -> Table:
    """Make a table of a frame with its index, if it has one, and with text as column names."""
    if frame.index.nlevels > 1:
        raise TableError("has an index of several levels; reset it to columns first.")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    check_unique(list(frame.columns))
    names = None if isinstance(frame.index, pd.RangeIndex) else frame.index
    return Table(frame.reset_index(drop=True), names)


def write_arrow(table: pd.DataFrame, path: Path) -> None:
    """Write Feather, Arrow's file format."""
    table.reset_index(drop=True).to_feather(path)


# NumPy


def read_npy(source: Any, reading: Reading) -> Table:
    """Read one NumPy array."""
    return _from_array(_load(source), "")


def read_npz(source: Any, reading: Reading) -> Table:
    """Read an archive of arrays: a sparse matrix, one array, or one array per column."""
    with _load(source) as file:
        names = list(file.files)
        if {"format", "indices", "indptr", "shape", "data"} <= set(names):
            odd = [
                name for name in ("indices", "indptr", "shape") if file[name].dtype.kind not in "iu"
            ]
            if odd:
                raise TableError(f"holds a sparse matrix whose {odd[0]} are not whole numbers.")
            return Table(checked_csr(sparse.load_npz(rewound(source))))
        if reading.array is not None and reading.array not in names:
            raise TableError(f"has no array {reading.array!r}; it has {names}.")
        arrays = {name: file[name] for name in names if reading.array in (None, name)}
    if len(arrays) == 1:
        ((name, array),) = arrays.items()
        return _from_array(array, f" in its array {name!r}")
    if (
        arrays
        and all(array.ndim == 1 for array in arrays.values())
        and len({len(a) for a in arrays.values()}) == 1
    ):
        return Table(pd.DataFrame(arrays))  # one array per column, as we write it
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    if not arrays:
        raise TableError("holds no array.")
    text = f"holds several arrays ({literal(shapes)}); name one, such as {{array=}}."
    raise TableError(Message(text, {"array": names[0]}))


def _load(source: Any) -> Any:
    try:
        _check_sizes(source)
        return np.load(rewound(source), allow_pickle=False)
    except ValueError as error:
        if "pickle" not in str(error).lower():
            raise
        raise TableError(
            "holds Python objects or is not a NumPy file; save an array of numbers (np.save, "
            "np.savez)."
        ) from error


def _check_sizes(source: Any) -> None:
    """Raise if an array claims to be larger than its file, before memory is allocated for it."""
    with nullcontext(source) if isinstance(source, io.BytesIO) else source.open("rb") as file:
        (check_archive if file.read(2) == b"PK" else check_array_file)(file)


def _from_array(array: NDArray, where: str) -> Table:
    if array.dtype.names is not None and array.ndim == 1:
        return Table(pd.DataFrame({name: array[name] for name in array.dtype.names}))
    if array.ndim not in {1, 2}:
        raise TableError(f"has shape {array.shape}{where}; a table is (points, columns).")
    return Table(
        pd.DataFrame(array.reshape(len(array), -1), copy=False)
    )  # columns are named by their positions


def write_npy(table: pd.DataFrame, path: Path) -> None:
    """Write one array of records."""
    columns = {str(name): _stored_column(column) for name, column in table.items()}
    array = np.empty(len(table), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        array[name] = column
    np.save(path, array, allow_pickle=False)


def write_npz(table: pd.DataFrame, path: Path) -> None:
    """Write one array per column."""
    with path.open("wb") as file:  # NumPy would add a second suffix to a path in upper case
        pack_arrays(file, {str(name): _stored_column(c) for name, c in table.items()})


def _stored_column(column: pd.Series) -> NDArray:
    """Return a column as a plain NumPy array: no objects, no missing whole numbers or text."""
    if pd.api.types.is_integer_dtype(column.dtype):
        return (
            column.fillna(-1).to_numpy(np.int64)
            if column.hasnans
            else column.to_numpy(column.dtype.type)
        )
    if pd.api.types.is_float_dtype(column.dtype):
        return column.to_numpy(np.float64)
    if pd.api.types.is_bool_dtype(column.dtype):
        return column.to_numpy(bool)
    return np.array(
        [
            "" if missing else str(value)
            for value, missing in zip(column, column.isna(), strict=True)
        ],
        str,
    )
