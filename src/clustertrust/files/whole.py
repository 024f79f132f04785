"""Read and write whole tables of each format. Nothing is ever unpickled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._errors import Message, literal
from clustertrust._types import Array
from clustertrust.files.delimited import rewound
from clustertrust.files.errors import TableError
from clustertrust.files.frames import opened, table_of_frame
from clustertrust.files.memory import check_memory, needed, needed_by_array
from clustertrust.files.reading import Reading, Table
from clustertrust.storage import check_archive, check_array_file, checked_csr, pack_arrays

# JSON


def read_json(source: Any, reading: Reading, *, lines: bool) -> Table:
    """Read records: a list of objects, or one object a line."""
    with opened(source) as file:
        check_memory(_needed_by_json(file), "its records")
        text = file.read().decode(reading.encoding or "utf-8-sig")
    try:
        if lines:
            parsed = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            parsed = json.loads(text)
    except json.JSONDecodeError as error:
        raise TableError(f"is not valid JSON: {error}.") from error
    # Some services answer with one list of records inside of an object.
    if isinstance(parsed, dict):
        lists = [value for value in parsed.values() if isinstance(value, list)]
        parsed = lists[0] if len(lists) == 1 else parsed
    if isinstance(parsed, dict) and all(isinstance(value, list) for value in parsed.values()):
        if len({len(value) for value in parsed.values()}) > 1:
            raise TableError("holds lists of different lengths; give one record per point.")
        return Table(pd.DataFrame(parsed))
    if not isinstance(parsed, list) or not all(isinstance(record, dict) for record in parsed):
        raise TableError('holds no list of records; give one object per point, such as [{"x": 1}].')
    columns = {name for record in parsed for name in record}
    # Records without a key of another get a gap there.
    check_memory(needed(len(parsed), len(parsed) * len(columns)), f"{len(columns):,} keys")
    return table_of_frame(pd.DataFrame.from_records(parsed))


def _needed_by_json(file: IO[bytes]) -> int:
    """Return roughly the bytes that JSON takes as Python objects; rewind the file."""
    size, marks, objects = 0, 0, 0
    while part := file.read(2**20):
        size, objects = size + len(part), objects + part.count(b"{") + part.count(b"[")
        marks += part.count(b",") + part.count(b":")
    file.seek(0)
    # Letters beyond Latin ones make all of a text wide.
    return 5 * size + 100 * marks + 200 * objects


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


# NumPy

# The arrays of a sparse matrix.
SPARSE = {"format", "indices", "indptr", "shape", "data"}


def read_npy(source: Any, reading: Reading) -> Table:
    """Read one NumPy array."""
    return _from_array(_load(source), "")


def read_npz(source: Any, reading: Reading) -> Table:
    """Read an archive of arrays: a sparse matrix, one array, or one array per column."""
    with _load(source, reading.array) as file:
        names = list(file.files)
        if set(names) >= SPARSE:
            for name in ("indices", "indptr", "shape"):
                if file[name].dtype.kind not in "iu":
                    raise TableError(f"holds a sparse matrix whose {name} are not integers.")
            rows, columns = (int(length) for length in file["shape"])
            # Other forms than CSR become one, with a number for each row.
            check_memory(needed(max(rows, columns), 0), f"{rows:,} rows and {columns:,} columns")
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


def _load(source: Any, chosen: str | None = None) -> Any:
    try:
        _check_sizes(source, chosen)
        return np.load(rewound(source), allow_pickle=False)
    except ValueError as error:
        if "pickle" not in str(error).lower():
            raise
        raise TableError(
            "holds Python objects or is not a NumPy file; save an array of numbers (np.save, "
            "np.savez)."
        ) from error


def _check_sizes(source: Any, chosen: str | None) -> None:
    """Raise if arrays claim to be larger than their file, or are too large for a table."""
    with opened(source) as file:
        arrays = (check_archive if file.read(2) == b"PK" else check_array_file)(file)
    arrays = [array for array in arrays if chosen is None or array[0] == f"{chosen}.npy"]
    need = sum(needed_by_array(shape, dtype) for _, shape, dtype in arrays)
    names = {name.removesuffix(".npy") for name, *_ in arrays}
    if not names >= SPARSE:
        need += needed(max((shape[0] for _, shape, _ in arrays if shape), default=0), 0)
    shown = ", ".join(f"{name} {shape} of {dtype}" for name, shape, dtype in arrays[:5])
    check_memory(need, f"its arrays ({shown})")


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
    """Return a column as a plain NumPy array: no objects, no missing integers or text."""
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
