"""Tables larger than memory, read in blocks of rows: arrays on disk, Parquet, CSV, and folders."""

from __future__ import annotations

import importlib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._errors import InputError, literal
from clustertrust._types import Bools, Floats
from clustertrust._validation import check_finite, check_range, check_whole_numbers
from clustertrust.files.columns import choose_features, unnamed_columns
from clustertrust.files.delimited import (
    COMMA,
    COMPRESSED,
    EXACT,
    as_text,
    check_unique,
    first_line,
    is_number,
    marks_of,
)
from clustertrust.files.errors import TableError, named_errors, not_text
from clustertrust.files.lines import TextFile, records
from clustertrust.files.whole import Reading, from_arrow

__all__ = [
    "ArraySource",
    "ArrowSource",
    "Block",
    "CsvSource",
    "FileSource",
    "FrameSource",
    "NpySource",
    "ParquetSource",
    "Source",
    "SparseSource",
    "TsvSource",
    "checked",
    "numbers_of",
]


FIRST = 1000  # rows of text that show the marks in its numbers


class Block(NamedTuple):
    """Some rows.

    Attributes
    ----------
    X : (b, d) their numbers
    ids : (b,) their names, if the table has names
    before : number of rows before them
    labels : (b, R) their label in each run, if labels were given
    kept : if rows were left out, which of the rows in `ids` are in X
    """

    X: NDArray
    ids: NDArray | None = None
    before: int = 0
    labels: NDArray | None = None
    kept: Bools | None = None

    @property
    def names(self) -> NDArray:
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
        blocks = list(self.read(2**16))
        X = (
            np.concatenate([block.X for block in blocks])
            if blocks
            else np.empty((0, self.n_features))
        )
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
        self, array: NDArray, columns: list[str] | None = None, ids: NDArray | None = None
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
    """Files of one format."""

    @classmethod
    @abstractmethod
    def open(
        cls,
        paths: Sequence[Path],
        *,
        id: str | None,
        use: Sequence[str],
        drop: Sequence[str],
        reading: Reading,
    ) -> FileSource:
        """Open files with the chosen columns; `reading` is for text."""

    @classmethod
    @abstractmethod
    def names_of(cls, path: Path, reading: Reading) -> list[str] | None:
        """Return the names of the columns of a file, None if they have none."""

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Return roughly the bytes that a file takes in memory."""
        return path.stat().st_size


class NpySource(FileSource):
    """A file that `numpy.save` wrote. It is read, not mapped, so that a limit on memory holds."""

    @classmethod
    def open(
        cls,
        paths: Sequence[Path],
        *,
        id: str | None,
        use: Sequence[str],
        drop: Sequence[str],
        reading: Reading,
    ) -> NpySource:
        """Open one file; its columns have no names, so all are used."""
        if len(paths) > 1:
            raise ValueError(f"{paths[0].parent} holds {len(paths)} arrays; give one .npy file.")
        if id is not None or use or drop:
            raise unnamed_columns(paths[0])
        return cls(paths[0])

    @classmethod
    def names_of(cls, path: Path, reading: Reading) -> None:
        """Return None: columns of an array have no names."""
        return

    def __init__(self, path: Path) -> None:
        with named_errors(str(path), "npy"), path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read_header = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }
            if version not in read_header:
                raise ValueError(
                    f"{path} is an array file of version {version}; save it again with numpy.save."
                )
            shape, by_column, self.dtype = read_header[version](file)
            self.offset = file.tell()
        if len(shape) != 2 or min(shape) < 0 or by_column or self.dtype.kind not in "fiub":
            order = "column by column" if by_column else "row by row"
            raise ValueError(
                f"{path} holds an array of shape {shape} and type {self.dtype}, {order}; it must "
                "be (n, d) numbers, row by row (numpy.ascontiguousarray)."
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
        with self.path.open("rb") as file:
            file.seek(self.offset)
            left = self.n_rows or 0
            while left > 0:
                count = min(rows, left)
                flat = np.fromfile(file, self.dtype, count * self.n_features)
                if flat.size < count * self.n_features:
                    raise ValueError(f"{self.path} became shorter while it was read.")
                _check_whole(str(self.path), flat.reshape(count, -1))
                yield Block(flat.reshape(count, -1).astype(_float_type(self.dtype), copy=False))
                left -= count


class FrameSource(FileSource):
    """One or more files with the same named columns: numbers, and perhaps ids."""

    format: ClassVar[str]  # its name in messages

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        id: str | None = None,
        use: Sequence[str] = (),
        drop: Sequence[str] = (),
        reading: Reading | None = None,
    ) -> None:
        self.paths, self.reading = list(paths), reading or Reading()
        found = [self.names_of(path, self.reading) for path in self.paths]
        for path, columns in zip(self.paths, found, strict=True):
            if columns != found[0]:
                raise ValueError(
                    f"{path} has columns {columns}, but {self.paths[0]} has {found[0]}; make them "
                    "the same."
                )
        self.columns = choose_features(found[0], str(self.paths[0]), id=id, use=use, drop=drop)
        self.id, self.n_features = id, len(self.columns)

    @classmethod
    def open(
        cls,
        paths: Sequence[Path],
        *,
        id: str | None,
        use: Sequence[str],
        drop: Sequence[str],
        reading: Reading,
    ) -> FrameSource:
        """Open the files as one table."""
        return cls(paths, id=id, use=use, drop=drop, reading=reading)

    @property
    def wanted(self) -> list[str]:
        """Return the columns to read: the used ones, and the one that names the rows."""
        return [*(self.columns or ()), *([] if self.id is None else [self.id])]

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
                if not frame.empty:  # only empty lines; columns without values look like text
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
            check_unique(names)
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

    @property
    def n_bytes(self) -> int:
        """Return roughly the size of the files."""
        return sum(self.size_of(path) for path in self.paths)

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Estimate eight characters per number, and fivefold compression."""
        return path.stat().st_size * (5 if path.suffix.lower() in COMPRESSED else 1)

    @classmethod
    def _columns(cls, path: Path, reading: Reading) -> list[str]:
        text = TextFile.find(path, reading, cls.separator)
        with text.open() as (head, _):
            names = first_line(BytesIO(head), {"sep": text.layout.separator})
        if all(is_number(name) for name in names) and names != [str(i) for i in range(len(names))]:
            raise TableError(
                f"has numbers in its first line ({', '.join(names[:3])}); it must hold names of "
                "columns."
            )
        return names

    @property
    def notes(self) -> list[str]:
        """What was found about the text of the first file, and not told."""
        first = self.texts[0]
        said = self.reading.decimal or self.reading.thousands
        with named_errors(str(first.path), self.format):
            found = [] if said or not self._marks(first) else [COMMA]
        return [*first.layout.notes, *found]

    @property
    def texts(self) -> list[TextFile]:
        """The files and how each is laid out."""
        return [TextFile.find(path, self.reading, self.separator) for path in self.paths]

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        # pandas' own blocks silently drop an extra field in the first row of each block.
        text = TextFile.find(path, self.reading, self.separator)
        options = {"sep": text.layout.separator} | self._marks(text)
        with text.open() as (head, below):
            lines, before = 1 + text.layout.skip, len(head)
            while block := records(below, rows):
                yield self._parse(options, head, block, (lines, before))[self.wanted]
                lines, before = lines + block.count(b"\n"), before + len(block)

    def _marks(self, text: TextFile) -> dict[str, Any]:
        """Return options for marks in numbers, as the first rows show them."""
        with text.open() as (head, below):
            options = {"sep": text.layout.separator}
            first = self._parse(options, head, records(below, FIRST), (1, len(head)))
        return marks_of(first, self.reading, self._as_text())

    def _as_text(self) -> dict[str, Any]:
        return as_text([] if self.id is None else [self.id], self.columns or (), ("None",))

    def _parse(
        self, options: dict[str, Any], head: bytes, block: bytes, above: tuple[int, int]
    ) -> pd.DataFrame:
        """Parse some lines of text; `above` counts the lines and bytes above them."""
        lines, before = above
        try:
            block.decode()
        except UnicodeDecodeError as error:
            problem = f"{error.reason} at byte {before + error.start}"
            raise not_text("UTF-8", problem) from error
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            try:
                frame: pd.DataFrame = pd.read_csv(
                    BytesIO(head + block),
                    index_col=False,
                    low_memory=False,
                    **EXACT,
                    **(self._as_text() | options),
                )
            except (pd.errors.ParserWarning, pd.errors.ParserError) as error:
                raise TableError(
                    "has a line with too many fields, or quotes that do not close, "
                    f"below line {lines}: {error}".strip()
                ) from error
        frame.columns = frame.columns.map(str)
        return frame


class TsvSource(CsvSource):
    """Tab-separated text with a header, also compressed."""

    format, separator = "tsv", "\t"


class ParquetSource(FrameSource):
    """Parquet, by pyarrow."""

    format = "parquet"

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        id: str | None = None,
        use: Sequence[str] = (),
        drop: Sequence[str] = (),
        reading: Reading | None = None,
    ) -> None:
        super().__init__(paths, id=id, use=use, drop=drop, reading=reading)
        self.n_rows = sum(_parquet(path).metadata.num_rows for path in self.paths)

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Estimate eight bytes per number."""
        about = _parquet(path).metadata
        return int(about.num_rows * about.num_columns * 8)

    @classmethod
    def _columns(cls, path: Path, reading: Reading) -> list[str]:
        return list(_parquet(path).schema_arrow.names)

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        for batch in _parquet(path).iter_batches(batch_size=rows, columns=self.wanted):
            yield from_arrow(batch)


class ArrowSource(FrameSource):
    """Feather, Arrow's file format, and Arrow's stream, by pyarrow.

    A block is at most a batch of the file.
    """

    format = "arrow"

    @property
    def n_bytes(self) -> int:
        """Return roughly the size of the files."""
        return sum(self.size_of(path) for path in self.paths)

    @classmethod
    def size_of(cls, path: Path) -> int:
        """Estimate twofold compression, more than Feather's numbers have."""
        return 2 * path.stat().st_size

    @classmethod
    def _columns(cls, path: Path, reading: Reading) -> list[str]:
        with _arrow_batches(path) as (schema, _):
            return [str(name) for name in schema.names]

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        with _arrow_batches(path) as (_, batches):
            for batch in batches:
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
    if all(isinstance(dtype, np.dtype) for dtype in frame.dtypes):
        return np.ascontiguousarray(frame.to_numpy(dtype=np.float64))
    return np.ascontiguousarray(
        frame.to_numpy(dtype=np.float64, na_value=np.nan)
    )  # pandas' own types have NA


def _check_whole(source_name: str, values: Any) -> None:
    try:
        check_whole_numbers(values)
    except ValueError as error:
        raise ValueError(f"{source_name}: {error}") from error


def _float_type(dtype: np.dtype) -> Any:
    return np.float32 if dtype == np.float32 else np.float64


def _parquet(path: Path) -> Any:
    return importlib.import_module("pyarrow.parquet").ParquetFile(path)


@contextmanager
def _arrow_batches(path: Path) -> Iterator[tuple[Any, Iterator[Any]]]:
    """Give the schema of an Arrow file and an iterator over its batches."""
    ipc = importlib.import_module("pyarrow.ipc")
    with path.open("rb") as file:
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        reader = ipc.open_file(file) if is_file else ipc.open_stream(file)
        batches = (
            (reader.get_batch(i) for i in range(reader.num_record_batches))
            if is_file
            else iter(reader)
        )
        yield reader.schema, batches
