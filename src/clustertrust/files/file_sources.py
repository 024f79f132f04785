"""Files that are read in blocks of rows: arrays on disk, Parquet, Arrow, and folders of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
import pandas as pd

from clustertrust._errors import InputError, literal
from clustertrust._types import Array, Floats
from clustertrust._validation.frames import check_whole_numbers
from clustertrust.files import delimited
from clustertrust.files.arrow_files import (
    arrow_reader,
    arrow_size,
    from_arrow,
    index_levels,
    parquet_file,
    parquet_size,
)
from clustertrust.files.columns import Selection
from clustertrust.files.errors import named_errors
from clustertrust.files.memory import needed, needed_by_array
from clustertrust.files.reading import Reading
from clustertrust.files.sources import Block, Source, float_type
from clustertrust.storage import read_array_header


class FileSource(Source):
    """Files of one format, opened with the chosen columns; `reading` is for text."""

    @abstractmethod
    def __init__(self, paths: Sequence[Path], selection: Selection, reading: Reading) -> None: ...

    @classmethod
    @abstractmethod
    def names_of(cls, path: Path, reading: Reading) -> list[str] | None:
        """Return the names of the columns of a file, None if they have none."""

    @classmethod
    @abstractmethod
    def size_of(cls, path: Path) -> int:
        """Return roughly the bytes of the values of a file."""

    @classmethod
    @abstractmethod
    def needed_by(cls, path: Path) -> int:
        """Return roughly the bytes that a file takes if it is read whole."""


class NpySource(FileSource):
    """A file that `numpy.save` wrote. It is read, not mapped, so that a limit on memory holds."""

    @classmethod
    def names_of(cls, path: Path, reading: Reading) -> None:
        """Return None: columns of an array have no names."""
        return

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

    def __init__(self, paths: Sequence[Path], selection: Selection, reading: Reading) -> None:
        path = paths[0]
        if len(paths) > 1:
            raise ValueError(f"{path.parent} holds {len(paths)} arrays; give one .npy file.")
        selection.refuse_names(str(path))
        with named_errors(str(path), "npy"), path.open("rb") as file:
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

    def read(self, rows: int) -> Iterator[Block]:
        """Read the file from its start."""
        n = self.n_rows or 0
        with self.path.open("rb") as file:
            for start in range(0, n, rows):
                values = self._rows(file, start, min(rows, n - start))
                _check_whole(str(self.path), values)
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


class FrameSource(FileSource):
    """One or more files with the same named columns: numbers, and perhaps ids."""

    # Its name in messages.
    format: ClassVar[str]

    def __init__(self, paths: Sequence[Path], selection: Selection, reading: Reading) -> None:
        self.paths, self.reading = list(paths), reading
        first, *others = ((path, self.names_of(path, reading)) for path in self.paths)
        for path, names in others:
            if names != first[1]:
                raise ValueError(
                    f"{path} has columns {names}, but {first[0]} has {first[1]}; make them the "
                    "same."
                )
        index = self._index(self.paths[0])
        if selection.id in (None, index):
            selection = replace(selection, id=None)
        self.id = selection.id or index
        self.columns = selection.features(first[1] or [], str(first[0]))
        self.names = [*([] if index is None else [index]), *(first[1] or ())]
        self.n_features = len(self.columns)

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the numbers in memory, or roughly the size of the files."""
        return sum(map(self.size_of, self.paths)) if self.n_rows is None else super().n_bytes

    @property
    def wanted(self) -> list[str]:
        """Return the columns to read: the used ones, and the one that names the rows."""
        chosen = {*(self.columns or ()), self.id}
        return [name for name in self.names if name in chosen]

    def read(self, rows: int) -> Iterator[Block]:
        """Read the files one after the other."""
        assert self.columns is not None
        for path, frame in self.frames(rows):
            ids = None if self.id is None else frame[self.id].to_numpy()
            yield Block(numbers_of(frame[self.columns], str(path)), ids)

    def frames(self, rows: int) -> Iterator[tuple[Path, pd.DataFrame]]:
        """Yield the rows as they are read, text too, with their file."""
        for path in self.paths:
            for frame in self._guarded(path, rows):
                # A block of empty lines: columns without values look like text.
                if not frame.empty:
                    yield path, frame

    def head(self, rows: int) -> pd.DataFrame:
        """Return the first rows as they are read, text too."""
        for _, frame in self.frames(rows):
            return frame.head(rows)
        return pd.DataFrame(columns=self.wanted)

    @classmethod
    def names_of(cls, path: Path, reading: Reading) -> list[str]:
        """Return the names of the columns of a file, each once; errors name the file."""
        with named_errors(str(path), cls.format):
            names = cls._columns(path, reading)
            delimited.check_unique(names)
            index = cls._index(path)
        return [name for name in names if name != index]

    def _guarded(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        """Yield frames of a file; errors name the file."""
        with named_errors(str(path), self.format):
            yield from self._frames(path, rows)

    @classmethod
    @abstractmethod
    def _columns(cls, path: Path, reading: Reading) -> list[str]:
        """Return the names of the columns of a file."""

    @classmethod
    def _index(cls, path: Path) -> str | None:
        """Return the column that a file says names its rows; None: there is none."""
        return None

    @abstractmethod
    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        """Yield frames of about this many rows."""


class ParquetSource(FrameSource):
    """Parquet, by pyarrow."""

    format = "parquet"

    def __init__(self, paths: Sequence[Path], selection: Selection, reading: Reading) -> None:
        super().__init__(paths, selection, reading)
        self.n_rows = sum(parquet_file(path).metadata.num_rows for path in self.paths)

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Estimate eight bytes per number."""
        about = parquet_file(path).metadata
        return int(about.num_rows * about.num_columns * 8)

    @classmethod
    def needed_by(cls, path: Path) -> int:
        """Count what the file says of its parts."""
        return parquet_size(parquet_file(path)).need

    @classmethod
    def _columns(cls, path: Path, reading: Reading) -> list[str]:
        return list(parquet_file(path).schema_arrow.names)

    @classmethod
    def _index(cls, path: Path) -> str | None:
        return _index_of(parquet_file(path).schema_arrow)

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        file = parquet_file(path)
        parquet_size(file).check_part()
        for batch in file.iter_batches(batch_size=rows, columns=self.wanted):
            yield from_arrow(batch, flat=True)


class ArrowSource(FrameSource):
    """Feather, Arrow's file format, and Arrow's stream, by pyarrow.

    A block is at most a batch of the file.
    """

    format = "arrow"

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Return the bytes of the values, which the file says of its parts."""
        return arrow_size(path).bytes

    @classmethod
    def needed_by(cls, path: Path) -> int:
        """Count what the file says of its parts."""
        return arrow_size(path).need

    @classmethod
    def _columns(cls, path: Path, reading: Reading) -> list[str]:
        with path.open("rb") as file:
            return [str(name) for name in arrow_reader(file)[0].schema.names]

    @classmethod
    def _index(cls, path: Path) -> str | None:
        with path.open("rb") as file:
            return _index_of(arrow_reader(file)[0].schema)

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        arrow_size(path).check_part()
        with path.open("rb") as file:
            reader, is_file = arrow_reader(file)
            positions = range(reader.num_record_batches if is_file else 0)
            for batch in map(reader.get_batch, positions) if is_file else reader:
                chosen = batch.select(self.wanted)
                for low in range(0, len(chosen), rows):
                    yield from_arrow(chosen.slice(low, rows), flat=True)


def _index_of(schema: Any) -> str | None:
    """Return the column that names the rows of what pandas wrote; not one level of several."""
    levels = index_levels(schema)
    return levels[0] if len(levels) == 1 else None


def numbers_of(frame: pd.DataFrame, source_name: str) -> Floats:
    """Return the values of a frame, NaN where missing; messages call it `source_name`."""
    text = [str(name) for name in frame if frame[name].dtype.kind not in "fiub"]
    if text:
        problem = f"{source_name} has columns that are not numbers: {text}. "
        remedy = "Leave them out ({drop}), or name the rows by one ({id})."
        raise InputError(literal(problem) + remedy)
    _check_whole(source_name, frame)
    # pandas' own types have NA.
    plain = all(isinstance(dtype, np.dtype) for dtype in frame.dtypes)
    values = frame.to_numpy(np.float64) if plain else frame.to_numpy(np.float64, na_value=np.nan)
    return np.ascontiguousarray(values)


def _check_whole(source_name: str, values: Any) -> None:
    try:
        check_whole_numbers(values)
    except ValueError as error:
        raise ValueError(f"{source_name}: {error}") from error
