"""Read and write whole tables of each format. Nothing is ever unpickled."""

from __future__ import annotations

import importlib
import io
import json
import re
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._errors import Message, literal
from clustertrust._types import Array
from clustertrust.files.columns import UNNAMED
from clustertrust.files.delimited import check_unique, rewound
from clustertrust.files.errors import TableError
from clustertrust.files.layout import titles_above
from clustertrust.files.reading import Dialect, Reading, Table
from clustertrust.storage import check_archive, check_array_file, checked_csr, pack_arrays

# CSV and TSV


def write_delimited(
    table: pd.DataFrame, path: Path, separator: str, format: str, dialect: Dialect | None = None
) -> None:
    """Write text; the suffix sets the compression."""
    options = {"sep": separator} if dialect is None else dialect.options(format, separator)
    table.to_csv(path, index=False, **options)


# JSON and spreadsheets


def read_json(source: Any, reading: Reading, *, lines: bool) -> Table:
    """Read records: a list of objects, or one object a line."""
    with _opened(source) as file:
        text = file.read().decode(reading.encoding or "utf-8-sig")
    try:
        if lines:
            parsed = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise TableError(f"is no JSON that can be read: {error}.") from error
    # Some services answer with one list of records inside of an object.
    if isinstance(parsed, dict):
        lists = [value for value in parsed.values() if isinstance(value, list)]
        parsed = lists[0] if len(lists) == 1 else parsed
    if isinstance(parsed, dict) and all(isinstance(value, list) for value in parsed.values()):
        if len({len(value) for value in parsed.values()}) > 1:
            raise TableError("holds lists of different lengths; give one record a point.")
        return Table(pd.DataFrame(parsed))
    if not isinstance(parsed, list) or not all(isinstance(record, dict) for record in parsed):
        raise TableError('holds no list of records; give one object a point, such as [{"x": 1}].')
    return _from_frame(pd.DataFrame.from_records(parsed))


def _opened(source: Any) -> AbstractContextManager[IO[bytes]]:
    """Return the bytes of a path, or those in memory, as an open file."""
    return nullcontext(rewound(source)) if isinstance(source, io.BytesIO) else source.open("rb")


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
        options: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
        cells = pd.read_excel(book, sheet_name=sheet, header=None, dtype=object, **options)
    cells = cells.dropna(how="all").dropna(axis=1, how="all")
    if cells.empty:
        raise TableError(f"has nothing in its sheet {sheet!r}.")
    skip = _names_at(cells) if reading.skip_rows is None else reading.skip_rows
    first = enumerate(cells.iloc[skip])
    names = [f"{UNNAMED}{j}" if pd.isna(name) else str(name) for j, name in first]
    check_unique(names)
    frame = cells.iloc[skip + 1 :].set_axis(names, axis=1).reset_index(drop=True)
    notes = [f"sheet {sheet!r}"] if len(book.sheet_names) > 1 else []
    notes += [f"{skip} line{'s' * (skip > 1)} above the names left out"] if skip else []
    return Table(frame.infer_objects(), notes=tuple(notes))


def _names_at(cells: pd.DataFrame) -> int:
    """Return which row of a sheet holds the names: the first full one above the values.

    Sentences above a table may fill several cells of a row. Values begin where columns that hold no
    text begin to.
    """
    counts = cells.notna().sum(axis=1).to_numpy()
    is_value = cells.notna() & ~cells.map(lambda cell: isinstance(cell, str))
    lower = slice(len(cells) // 3, None)
    holds_values = is_value.iloc[lower].sum() > cells.iloc[lower].notna().sum() / 2
    starts = is_value.loc[:, holds_values].mean(axis=1).to_numpy() >= 0.5
    begin = int(np.argmax(starts)) if starts.any() else 0
    full = np.flatnonzero(counts[:begin] >= np.median(counts[begin:]))
    return int(full[0]) if full.size else titles_above(counts.tolist())


# Parquet and Arrow


def read_parquet(source: Any, reading: Reading) -> Table:
    """Read Parquet."""
    return _from_frame(from_arrow(importlib.import_module("pyarrow.parquet").read_table(source)))


def read_arrow(source: Any, reading: Reading) -> Table:
    """Read Feather, Arrow's file format, or Arrow's stream."""
    with _opened(source) as file:
        return _from_frame(from_arrow(arrow_reader(file)[0].read_all()))


def arrow_reader(file: IO[bytes]) -> tuple[Any, bool]:
    """Return Arrow's reader of an open file, and whether it has the file format, not a stream."""
    ipc = importlib.import_module("pyarrow.ipc")
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    return (ipc.open_file if is_file else ipc.open_stream)(file), is_file


def from_arrow(table: Any) -> pd.DataFrame:
    """Turn an Arrow table into a frame and check its text: pandas may do so only later."""
    table.validate(full=True)
    frame: pd.DataFrame = table.to_pandas()
    return frame


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
            for name in ("indices", "indptr", "shape"):
                if file[name].dtype.kind not in "iu":
                    raise TableError(f"holds a sparse matrix whose {name} are not whole numbers.")
            return Table(checked_csr(sparse.load_npz(rewound(source))))
        if reading.array is not None and reading.array not in names:
            raise TableError(f"has no array {reading.array!r}; it has {names}.")
        arrays = {name: file[name] for name in names if reading.array in (None, name)}
    if len(arrays) == 1:
        ((name, array),) = arrays.items()
        return _from_array(array, f" in its array {name!r}")
    if not arrays:
        raise TableError("holds no array.")
    # One array per column, as we write it.
    if len({array.shape for array in arrays.values()}) == 1 and arrays[names[0]].ndim == 1:
        return Table(pd.DataFrame(arrays))
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
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
    with _opened(source) as file:
        (check_archive if file.read(2) == b"PK" else check_array_file)(file)


def _from_array(array: Array, where: str) -> Table:
    if array.dtype.names is not None and array.ndim == 1:
        return Table(pd.DataFrame({name: array[name] for name in array.dtype.names}))
    if array.ndim not in {1, 2}:
        raise TableError(f"has shape {array.shape}{where}; a table is (points, columns).")
    if array.dtype.kind in "cmM":
        kind = "complex numbers" if array.dtype.kind == "c" else "dates or times"
        raise TableError(f"holds {kind}{where}; store the columns as real numbers.")
    # Columns are named by their positions.
    return Table(pd.DataFrame(array.reshape(len(array), -1), copy=False))


def write_npy(table: pd.DataFrame, path: Path) -> None:
    """Write one array of records."""
    columns = {str(name): _stored_column(column) for name, column in table.items()}
    array = np.empty(len(table), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        array[name] = column
    np.save(path, array, allow_pickle=False)


def write_npz(table: pd.DataFrame, path: Path) -> None:
    """Write one array per column."""
    # NumPy would add a second suffix to a path in upper case.
    with path.open("wb") as file:
        pack_arrays(file, {str(name): _stored_column(c) for name, c in table.items()})


def _stored_column(column: pd.Series) -> Array:
    """Return a column as a plain NumPy array: no objects, no missing whole numbers or text."""
    types = pd.api.types
    if types.is_integer_dtype(column.dtype) and column.hasnans:
        return column.fillna(-1).to_numpy(np.int64)
    if types.is_integer_dtype(column.dtype):
        return column.to_numpy(column.dtype.type)
    if types.is_float_dtype(column.dtype):
        return column.to_numpy(np.float64)
    if types.is_bool_dtype(column.dtype):
        return column.to_numpy(bool)
    values = zip(column, column.isna(), strict=True)
    return np.array(["" if missing else str(value) for value, missing in values], str)


# What no spreadsheet can hold: its XML has no such characters.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_sheet(table: pd.DataFrame, path: Path, engine: Any) -> None:
    """Write a spreadsheet; text stays text, also where it begins like a formula."""
    _refuse_control(table, path.name)
    with pd.ExcelWriter(path, engine=engine) as writer:
        table.to_excel(writer, index=False)
        if engine != "openpyxl":
            return
        for sheet in writer.sheets.values():
            for cell in (cell for row in sheet.iter_rows() for cell in row):
                # A person's text that begins with = would be run by whoever opens the file.
                if cell.data_type == "f":
                    cell.data_type, cell.quotePrefix = "s", True


def _refuse_control(table: pd.DataFrame, file: str) -> None:
    """Raise for a text with characters that no spreadsheet can hold."""
    remedy = "which a spreadsheet cannot hold; write another format, such as .csv."
    for j, name in enumerate(table.columns):
        if _CONTROL.search(str(name)):
            raise ValueError(f"{file}: column {name!r} has a control character, {remedy}")
        column = table.iloc[:, j]
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        for i, value in enumerate(column):
            if isinstance(value, str) and _CONTROL.search(value):
                raise ValueError(
                    f"{file}: row {i} of column {str(name)!r} has a control character "
                    f"({value[:40]!r}), {remedy}"
                )
