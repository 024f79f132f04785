"""Tables larger than memory, read in blocks of rows: arrays on disk, Parquet, CSV, and folders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from clustertrust._errors import InputError, literal
from clustertrust._parallel import memory_budget
from clustertrust._types import Array, Bools, Floats
from clustertrust._validation import check_finite, check_range, check_whole_numbers
from clustertrust.files import delimited
from clustertrust.files.arrow_files import (
    arrow_reader,
    arrow_size,
    from_arrow,
    parquet_file,
    parquet_size,
)
from clustertrust.files.arrow_text import arrow_parser
from clustertrust.files.columns import Selection
from clustertrust.files.errors import TableError, named_errors, not_text
from clustertrust.files.lines import TextFile
from clustertrust.files.memory import needed, needed_by_array
from clustertrust.files.reading import Reading
from clustertrust.storage import read_array_header

__all__ = ["ArraySource", "Block", "Source"]

# Rows of text that show the marks in its numbers.
FIRST = 1000


class Block(NamedTuple):
    """Some rows.

    Attributes
    ----------
    X : (b, d) their numbers
    ids : (b,) their names, if the table has names
    before : number of rows before them
    labels : (b, R) their label in each run, if labels were given
    why : if rows were left out, why each of the rows in `ids` is not in X, empty if it is
    """

    X: Array
    ids: Array | None = None
    before: int = 0
    labels: Array | None = None
    why: Array | None = None

    @property
    def kept(self) -> Bools | None:
        """If rows were left out, which of the rows in `ids` are in X."""
        return None if self.why is None else np.asarray(self.why == "", dtype=bool)

    @property
    def names(self) -> Array:
        """Return the names of the rows of X, else their positions in the table."""
        if self.ids is None:
            return np.arange(self.before, self.before + len(self.X))
        return self.ids if self.kept is None else self.ids[self.kept]


class Source(ABC):
    """A table of numbers that can be read many times, in blocks of rows.

    Attributes
    ----------
    columns : names of the columns, None if they have none
    n_features : number of columns
    n_rows : number of rows, None if unknown before reading
    """

    columns: list[str] | None = None
    n_features: int
    n_rows: int | None = None

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the numbers in memory; an estimate if `n_rows` is unknown."""
        return (self.n_rows or 0) * self.n_features * 8

    def load(self) -> Any:
        """Return all rows at once: an array, or a frame if the columns have names."""
        parts = [block.X for block in self.read(2**16)]
        X = np.concatenate(parts) if parts else np.empty((0, self.n_features))
        return X if self.columns is None else pd.DataFrame(X, columns=self.columns)

    @abstractmethod
    def read(self, rows: int) -> Iterator[Block]:
        """Yield blocks of at most `rows` rows, in order."""

    def blocks(self, rows: int) -> Iterator[Block]:
        """Yield blocks of finite numbers; raise with the place of the first other value."""
        before = 0
        for block in self.read(rows):
            if not len(block.X):
                continue
            yield checked(block._replace(before=before), self.columns)
            before += len(block.X)


def checked(block: Block, columns: list[str] | None) -> Block:
    """Return the block; raise with the place of the first value that is missing or infinite."""
    try:
        check_finite(block.X, columns)
        check_range(block.X, small=False)
    except ValueError as error:
        raise ValueError(f"In the block of rows from {block.before} on: {error}") from error
    return block


class ArraySource(Source):
    """An array, such as a `numpy.memmap`, with the names of its columns and rows, if any."""

    def __init__(
        self, array: Array, columns: list[str] | None = None, ids: Array | None = None
    ) -> None:
        if array.ndim != 2:
            raise ValueError(f"X has shape {array.shape}; it must have rows and columns.")
        if array.dtype.kind not in "fiub":
            raise ValueError(f"X has type {array.dtype}; it must hold numbers.")
        self.array, self.columns, self.ids = array, columns, ids
        self.n_rows, self.n_features = array.shape

    def read(self, rows: int) -> Iterator[Block]:
        """Copy slices."""
        for low in range(0, len(self.array), rows):
            part = self.array[low : low + rows]
            check_whole_numbers(part)
            ids = None if self.ids is None else self.ids[low : low + rows]
            yield Block(np.array(part, dtype=_float_type(self.array.dtype)), ids)


class SparseSource(Source):
    """A sparse matrix in memory, which is not read in blocks."""

    def __init__(self, matrix: Any, source_name: str) -> None:
        self.matrix, self.source_name = matrix, source_name
        self.n_rows, self.n_features = matrix.shape

    @property
    def n_bytes(self) -> int:
        """Return 0: the matrix is already in memory."""
        return 0

    def load(self) -> Any:
        """Return the matrix."""
        return self.matrix

    def read(self, rows: int) -> Iterator[Block]:
        """Raise: blocks are dense."""
        raise ValueError(
            f"{self.source_name} holds a sparse matrix, which is not read in blocks; save it as a "
            "dense array."
        )


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
                yield Block(values.astype(_float_type(self.dtype), order="C", copy=False))

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
        self.paths, self.reading, self.id = list(paths), reading, selection.id
        first, *others = ((path, self.names_of(path, reading)) for path in self.paths)
        for path, names in others:
            if names != first[1]:
                raise ValueError(
                    f"{path} has columns {names}, but {first[0]} has {first[1]}; make them the "
                    "same."
                )
        self.names = first[1] or []
        self.columns = selection.features(self.names, str(first[0]))
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
        return names

    def _guarded(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        """Yield frames of a file; errors name the file."""
        with named_errors(str(path), self.format):
            yield from self._frames(path, rows)

    @classmethod
    @abstractmethod
    def _columns(cls, path: Path, reading: Reading) -> list[str]:
        """Return the names of the columns of a file."""

    @abstractmethod
    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        """Yield frames of about so many rows."""


class CsvSource(FrameSource):
    """Comma-separated text with a header, also compressed."""

    format, separator = "csv", ","

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Return the bytes of the text, about eight per number."""
        return delimited.size_of_text(path, memory_budget())

    @classmethod
    def needed_by(cls, path: Path) -> int:
        """Count the fields."""
        return delimited.needed_by_text(path)

    @classmethod
    def _columns(cls, path: Path, reading: Reading) -> list[str]:
        text = TextFile.find(path, reading, cls.separator)
        with text.open() as (head, _):
            names = delimited.first_line(BytesIO(head), {"sep": text.layout.separator})
        if delimited.is_point(names):
            raise TableError(
                f"has numbers in its first line ({', '.join(names[:3])}); it must hold names of "
                "columns."
            )
        return names

    @property
    def notes(self) -> list[str]:
        """What was found about the text of the first file, and not given."""
        first = self.texts[0]
        with named_errors(str(first.path), self.format):
            has_commas = not self.reading.has_marks and "decimal" in self._first(first)[1]
        return [*first.layout.notes, *([delimited.COMMA] if has_commas else [])]

    @property
    def texts(self) -> list[TextFile]:
        """The files and how each is laid out."""
        return [TextFile.find(path, self.reading, self.separator) for path in self.paths]

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        # pandas' own blocks silently drop an extra field in the first row of each block.
        text = TextFile.find(path, self.reading, self.separator)
        first, options = self._first(text)
        by_arrow = arrow_parser(self.names, first[self.wanted], options)
        with text.open() as (head, below):
            lines, before = 1 + text.layout.skip, len(head)
            while block := below.records(rows):
                _check_text(block, before)
                frame = None if by_arrow is None else by_arrow(block)
                if frame is None:
                    frame = _parse(head, block, options, lines)[self.wanted]
                yield frame
                lines, before = lines + block.count(b"\n"), before + len(block)

    def _first(self, text: TextFile) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the first rows, and options that allow for the marks in their numbers."""
        options = self.options(text)
        with text.open() as (head, below):
            block = below.records(FIRST)
            _check_text(block, len(head))
            first = _parse(head, block, options, 1)
        return first, options | delimited.marks_of(
            first, self.reading, options, lambda others: _parse(head, block, others, 1)
        )

    def options(self, text: TextFile) -> dict[str, Any]:
        """Return options of pandas.read_csv for all blocks, so that a column has one type."""
        ids, na = [] if self.id is None else [self.id], self.reading.na
        options = delimited.as_text(ids, self.columns or (), ("None",) if na is None else na)
        options |= {"sep": text.layout.separator}
        if not self.reading.text:
            return options
        # Among words, None may be one.
        words = delimited.as_text((), (), na)["na_values"]
        missing = options["na_values"]
        missing = (
            missing if isinstance(missing, dict) else dict.fromkeys(self.columns or (), missing)
        )
        missing = missing | dict.fromkeys(self.reading.text, words)
        types = options.get("dtype", {}) | dict.fromkeys(self.reading.text, str)
        return options | {"dtype": types, "na_values": missing}


def _check_text(block: bytes, before: int) -> None:
    """Raise if lines are not UTF-8; `before` counts the bytes above them."""
    try:
        block.decode()
    except UnicodeDecodeError as error:
        problem = f"{error.reason} at byte {before + error.start}"
        raise not_text("UTF-8", problem) from error


def _parse(head: bytes, block: bytes, options: Mapping[str, Any], lines: int) -> pd.DataFrame:
    """Parse some lines of text by pandas; `lines` counts those above them."""
    frame = delimited.parse_csv(BytesIO(head + block), options, f", below line {lines}")
    return frame.set_axis(frame.columns.map(str), axis=1)


class TsvSource(CsvSource):
    """Tab-separated text with a header, also compressed."""

    format, separator = "tsv", "\t"


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

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        file = parquet_file(path)
        parquet_size(file).check_part()
        for batch in file.iter_batches(batch_size=rows, columns=self.wanted):
            yield from_arrow(batch)


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

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        arrow_size(path).check_part()
        with path.open("rb") as file:
            reader, is_file = arrow_reader(file)
            positions = range(reader.num_record_batches if is_file else 0)
            for batch in map(reader.get_batch, positions) if is_file else reader:
                chosen = batch.select(self.wanted)
                for low in range(0, len(chosen), rows):
                    yield from_arrow(chosen.slice(low, rows))


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


def _float_type(dtype: np.dtype[Any]) -> Any:
    return np.float32 if dtype == np.float32 else np.float64
