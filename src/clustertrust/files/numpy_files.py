"""Arrays in NPY and NPZ files, whole, and an array in blocks of rows. Nothing is ever unpickled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._errors import Message, literal
from clustertrust._types import Array
from clustertrust._validation.frames import check_whole_numbers
from clustertrust.files.errors import TableError, named_errors
from clustertrust.files.memory import check_memory, needed, needed_by_array
from clustertrust.files.opening import opened, rewound
from clustertrust.files.reading import Reading, Table
from clustertrust.files.sources import Block, FileSource, float_type
from clustertrust.storage import (
    check_archive,
    check_array_file,
    checked_csr,
    pack_arrays,
    read_array_header,
)

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


class NpySource(FileSource):
    """A file that `numpy.save` wrote. It is read, not mapped, so that a limit on memory holds."""

    format = "npy"

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Return the size of the file."""
        return path.stat().st_size

    @classmethod
    def needed_by(cls, path: Path) -> int:
        """Count by the shape that the file has."""
        with path.open("rb") as file:
            shape, _, dtype = read_array_header(file)
        return needed_by_array(shape, dtype) + needed(shape[0] if shape else 1, 0)

    def __init__(self, paths: Sequence[Path], reading: Reading) -> None:
        self.paths, path = list(paths), paths[0]
        if len(paths) > 1:
            raise ValueError(f"{path.parent} holds {len(paths)} arrays; give one .npy file.")
        with named_errors(str(path), self.format), path.open("rb") as file:
            shape, self.by_column, self.dtype = read_array_header(file)
            self.offset = file.tell()
        if len(shape) != 2 or min(shape) < 0 or self.dtype.kind not in "fiub":
            raise ValueError(
                f"{path} holds an array of shape {shape} and type {self.dtype}; it must be (n, d) "
                "numbers."
            )
        expected = self.offset + shape[0] * shape[1] * self.dtype.itemsize
        if path.stat().st_size < expected:
            raise ValueError(
                f"{path} is cut short: {path.stat().st_size} bytes of {expected}. Write it again."
            )
        self.path = path
        self.n_rows, self.n_features = shape
        self.names = [str(j) for j in range(self.n_features)]

    def only(self, names: Collection[str], id: str | None = None) -> FileSource:
        """Return the table: rows are read with all their columns."""
        return self

    def parts(self) -> list[tuple[Path, Any]]:
        """Return nothing: workers do not read it."""
        return []

    def frames(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield the numbers, under the positions of their columns."""
        for block in self.read(rows):
            yield pd.DataFrame(block.X, columns=self.names)

    def read(self, rows: int) -> Iterator[Block]:
        """Read the file from its start."""
        n = self.n_rows or 0
        with self.path.open("rb") as file:
            for start in range(0, n, rows):
                values = self._rows(file, start, min(rows, n - start))
                check_whole_numbers(values, str(self.path))
                yield Block(values.astype(float_type(self.dtype), order="C", copy=False))

    def _rows(self, file: BinaryIO, start: int, count: int) -> Array:
        """Read rows of an array that is stored row by row, or column by column."""

        def numbers(first: int, size: int) -> Array:
            file.seek(self.offset + first * self.dtype.itemsize)
            read = np.fromfile(file, self.dtype, size)
            if read.size < size:
                raise ValueError(f"{self.path} became shorter while it was read.")
            return read

        if not self.by_column:
            return numbers(start * self.n_features, count * self.n_features).reshape(count, -1)
        columns = [numbers(j * (self.n_rows or 0) + start, count) for j in range(self.n_features)]
        return np.column_stack(columns)
