"""Files that are read in blocks of rows: arrays on disk, Parquet, Arrow, and folders of them."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
import pandas as pd

from clustertrust._errors import InputError, Message, literal
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
from clustertrust.files.columns import UNNAMED
from clustertrust.files.errors import named_errors
from clustertrust.files.memory import needed, needed_by_array
from clustertrust.files.reading import Dialect, Reading
from clustertrust.files.sources import Block, Source, float_type
from clustertrust.storage import read_array_header

# Of a frame, where a part is read whole.
ROWS = 2**16


class FileSource(Source):
    """Files of one format, whose rows come as frames too, text as it is.

    Attributes
    ----------
    paths : the files
    names : of all columns; positions, if they have no names
    index : the column that the files say names the rows
    """

    paths: list[Path]
    names: list[str]
    index: str | None = None

    @property
    def notes(self) -> list[str | Message]:
        """What was found out about the files, such as their encoding."""
        return []

    @property
    def dialect(self) -> Dialect | None:
        """How text is written; None for other formats."""
        return None

    @abstractmethod
    def __init__(self, paths: Sequence[Path], reading: Reading) -> None: ...

    @abstractmethod
    def frames(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield all rows as they are read, in order."""

    def only(self, names: Collection[str], id: str | None = None) -> FileSource:
        """Return the table with some of its columns, and with the one that names the rows."""
        return self

    def parts(self) -> list[tuple[Path, Any]]:
        """Return what workers read on their own, in order; nothing, if they do not."""
        return []

    def part(self, part: tuple[Path, Any]) -> pd.DataFrame:
        """Return the rows of a part."""
        raise NotImplementedError

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
        self.names = [str(j) for j in range(self.n_features)]

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


class FrameSource(FileSource):
    """One or more files with the same named columns: numbers, and perhaps ids."""

    # Its name in messages.
    format: ClassVar[str]

    def __init__(self, paths: Sequence[Path], reading: Reading) -> None:
        self.paths, self.reading = list(paths), reading
        names, *others = (self._names(path) for path in self.paths)
        for path, own in zip(self.paths[1:], others, strict=True):
            if own != names:
                raise ValueError(
                    f"{path} has columns {own}, but {self.paths[0]} has {names}; make them the "
                    "same."
                )
        self.index = self._index(self.paths[0])
        self._choose(names if self.index is None else [self.index, *names])
        self.names = self.wanted

    def _choose(self, names: list[str]) -> None:
        """Set the columns to read; all but those of names are features."""
        self.wanted = names
        self.columns = [name for name in names if name != self.index]
        self.n_features = len(self.columns)

    def only(self, names: Collection[str], id: str | None = None) -> FileSource:
        """Return the table with some of its columns, and with the one that names the rows.

        Names of rows are kept as they are written.
        """
        chosen = copy.copy(self)
        chosen._choose([name for name in self.wanted if name in names or name == id])
        chosen.reading = replace(self.reading, text=() if id is None else (id,))
        return chosen

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the numbers in memory, or roughly the size of the files."""
        return sum(map(self.size_of, self.paths)) if self.n_rows is None else super().n_bytes

    def read(self, rows: int) -> Iterator[Block]:
        """Read the files one after the other."""
        assert self.columns is not None
        check_named(self.columns, str(self.paths[0]))
        for path, frame in self._parts(rows):
            ids = None if self.index is None else frame[self.index].to_numpy()
            yield Block(numbers_of(frame[self.columns], str(path)), ids)

    def frames(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield the rows as they are read, text too."""
        return (frame for _, frame in self._parts(rows))

    def _parts(self, rows: int) -> Iterator[tuple[Path, pd.DataFrame]]:
        """Yield the rows with their file."""
        for path in self.paths:
            for frame in self._guarded(path, rows):
                # A block of empty lines: columns without values look like text.
                if not frame.empty:
                    yield path, frame

    def _names(self, path: Path) -> list[str]:
        """Return the names of the columns of a file, each once; errors name the file."""
        with named_errors(str(path), self.format):
            names = self._columns(path)
            delimited.check_unique(names)
            index = self._index(path)
        return [name for name in names if name != index]

    def parts(self) -> list[tuple[Path, Any]]:
        """Return the files, each with places in it."""
        return [(path.absolute(), place) for path in self.paths for place in self._places(path)]

    def part(self, part: tuple[Path, Any]) -> pd.DataFrame:
        """Return the rows of a part."""
        frames = list(self._guarded(part[0], ROWS, part[1]))
        empty = pd.DataFrame(columns=self.wanted)
        return pd.concat(frames, ignore_index=True) if frames else empty

    def _guarded(self, path: Path, rows: int, place: Any = None) -> Iterator[pd.DataFrame]:
        """Yield frames of a file; errors name the file."""
        with named_errors(str(path), self.format):
            yield from self._frames(path, rows, place)

    @abstractmethod
    def _columns(self, path: Path) -> list[str]:
        """Return the names of the columns of a file."""

    def _index(self, path: Path) -> str | None:
        """Return the column that a file says names its rows; None: there is none."""
        return None

    def _places(self, path: Path) -> list[Any]:
        """Return places of a file that can be read on their own; None: all of it."""
        return [None]

    @abstractmethod
    def _frames(self, path: Path, rows: int, place: Any = None) -> Iterator[pd.DataFrame]:
        """Yield frames of about this many rows."""


class ParquetSource(FrameSource):
    """Parquet, by pyarrow."""

    format = "parquet"

    def __init__(self, paths: Sequence[Path], reading: Reading) -> None:
        super().__init__(paths, reading)
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

    def _columns(self, path: Path) -> list[str]:
        return list(parquet_file(path).schema_arrow.names)

    def _index(self, path: Path) -> str | None:
        return _index_of(parquet_file(path).schema_arrow)

    def _places(self, path: Path) -> list[Any]:
        return list(range(parquet_file(path).num_row_groups)) or [None]

    def _frames(self, path: Path, rows: int, place: Any = None) -> Iterator[pd.DataFrame]:
        file = parquet_file(path)
        parquet_size(file).check_part()
        chosen = None if place is None else [place]
        for batch in file.iter_batches(batch_size=rows, row_groups=chosen, columns=self.wanted):
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

    def _columns(self, path: Path) -> list[str]:
        with path.open("rb") as file:
            return [str(name) for name in arrow_reader(file)[0].schema.names]

    def _index(self, path: Path) -> str | None:
        with path.open("rb") as file:
            return _index_of(arrow_reader(file)[0].schema)

    def _frames(self, path: Path, rows: int, place: Any = None) -> Iterator[pd.DataFrame]:
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


def check_named(names: Sequence[str], source_name: str) -> None:
    """Raise if a column has no name: it often holds numbers of the rows."""
    unnamed = next((name for name in names if name.startswith(UNNAMED)), None)
    if unnamed is not None:
        raise ValueError(
            f"{source_name} has a column without a name, {unnamed!r}, often row numbers that a "
            "program added. Give it a name, or leave it out of the file."
        )


def numbers_of(frame: pd.DataFrame, source_name: str) -> Floats:
    """Return the values of a frame, NaN where missing; messages call it `source_name`."""
    text = [str(name) for name in frame if frame[name].dtype.kind not in "fiub"]
    if text:
        problem = f"{source_name} has columns that are not numbers: {text}. "
        remedy = "Leave them out ({drop}), or name the rows by one ({id})."
        raise InputError(literal(problem) + remedy)
    check_whole_numbers(frame, source_name)
    # pandas' own types have NA.
    plain = all(isinstance(dtype, np.dtype) for dtype in frame.dtypes)
    values = frame.to_numpy(np.float64) if plain else frame.to_numpy(np.float64, na_value=np.nan)
    return np.ascontiguousarray(values)
