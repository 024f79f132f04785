"""Tables larger than memory, read in blocks of rows, as often as asked: arrays on disk, Parquet, CSV, and folders."""

from __future__ import annotations

import gzip
import importlib
import itertools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._validation import check_finite, check_names, check_range, check_whole_numbers
from clustertrust.files.delimited import EXACT, TableError, as_text, check_unique, first_line, is_number
from clustertrust.files.tables import from_arrow, named_errors

__all__ = [
    "ArraySource",
    "Block",
    "CsvSource",
    "FrameSource",
    "NpySource",
    "ParquetSource",
    "Source",
    "bytes_in_memory",
    "column_names",
    "numbers_of",
    "open_source",
    "separator_of",
    "suffix_of",
]


class Block(NamedTuple):
    """Some rows.

    Attributes
    ----------
    X : (b, d) their numbers
    ids : (b,) their names, where the table has them
    before : how many rows stand before them
    labels : (b, R) the label that each run gave them, where the labels are there already
    kept : where rows were left out, which of those that `ids` names are in X
    """

    X: NDArray
    ids: NDArray | None = None
    before: int = 0
    labels: NDArray | None = None
    kept: NDArray[np.bool_] | None = None

    @property
    def names(self) -> NDArray:
        """What the rows of X are called: by the table, else their positions in it."""
        if self.ids is None:
            return np.arange(self.before, self.before + len(self.X))
        return self.ids if self.kept is None else self.ids[self.kept]


class Source(ABC):
    """A table of numbers that is read from the start in blocks of rows, as often as asked.

    Attributes
    ----------
    columns : names of the columns, None where they have none
    n_features : number of columns
    n_rows : number of rows, None where only reading tells
    """

    columns: list[str] | None = None
    n_features: int
    n_rows: int | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes that the numbers take in memory, an estimate where only reading tells the rows."""
        return (self.n_rows or 0) * self.n_features * 8

    def load(self) -> Any:
        """All rows at once: an array, or a frame where the columns have names."""
        blocks = list(self.read(2**16))
        X = np.concatenate([block.X for block in blocks]) if blocks else np.empty((0, self.n_features))
        return X if self.columns is None else pd.DataFrame(X, columns=self.columns)

    @abstractmethod
    def read(self, rows: int) -> Iterator[Block]:
        """Yield blocks of at most `rows` rows, in order."""

    def blocks(self, rows: int) -> Iterator[Block]:
        """Yield blocks of finite numbers; raise with the place of the first that is none."""
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
    """An array, such as a `numpy.memmap`."""

    def __init__(self, array: NDArray) -> None:
        if array.ndim != 2:
            raise ValueError(f"X has shape {array.shape}; it must have rows and columns.")
        if array.dtype.kind not in "fiub":
            raise ValueError(f"X has type {array.dtype}; it must hold numbers.")
        self.array = array
        self.n_rows, self.n_features = array.shape

    def read(self, rows: int) -> Iterator[Block]:
        """Copy slices."""
        for low in range(0, len(self.array), rows):
            part = self.array[low : low + rows]
            check_whole_numbers(part)
            yield Block(np.array(part, dtype=_float_type(self.array.dtype)))


class NpySource(Source):
    """A file that `numpy.save` wrote. It is read, not mapped, so that a limit on memory holds."""

    def __init__(self, path: Path) -> None:
        with named_errors(str(path), "npy"), path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            if version not in read_header:
                raise ValueError(f"{path} is an array file of version {version}; save it anew with numpy.save.")
            shape, by_column, self.dtype = read_header[version](file)
            self.offset = file.tell()
        if len(shape) != 2 or min(shape) < 0 or by_column or self.dtype.kind not in "fiub":
            order = "column by column" if by_column else "row by row"
            raise ValueError(
                f"{path} holds an array of shape {shape} and type {self.dtype}, {order}; it must be (n, d) numbers, "
                "row by row (numpy.ascontiguousarray)."
            )
        expected = self.offset + shape[0] * shape[1] * self.dtype.itemsize
        if path.stat().st_size < expected:
            raise ValueError(f"{path} is cut short: {path.stat().st_size} bytes of {expected}. Write it anew.")
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


class FrameSource(Source):
    """One or more files of columns with names, the same in each; ids by name, the other columns numbers."""

    def __init__(
        self, paths: Sequence[Path], *, id: str | None = None, use: Any = None, drop: Sequence[str] = ()
    ) -> None:
        self.paths = list(paths)
        found = [self.names_of(path) for path in self.paths]
        for path, columns in zip(self.paths, found, strict=True):
            if columns != found[0]:
                raise ValueError(
                    f"{path} has columns {columns}, but {self.paths[0]} has {found[0]}; make them the same."
                )
        for name in [*([] if id is None else [id]), *(use or ()), *drop]:
            if name not in found[0]:
                raise ValueError(f"{self.paths[0]} has no column {name!r}; it has {found[0]}.")
        both = [name for name in use or () if name == id or name in drop]
        if both:
            raise ValueError(f"The column {both[0]!r} is to be used, and left out by drop or id; decide for one.")
        chosen = list(dict.fromkeys(use)) if use else [name for name in found[0] if name != id and name not in drop]
        if not chosen:
            raise ValueError(f"{self.paths[0]} has no column of numbers left; it has {found[0]}.")
        unnamed = [name for name in chosen if name.startswith("Unnamed: ")]
        if unnamed and not use:
            raise ValueError(
                f"{self.paths[0]} has a column without a name, {unnamed[0]!r}, often row numbers that a program added; "
                "leave it out (drop), or name the rows by it (id)."
            )
        self.id, self.columns, self.n_features = id, chosen, len(chosen)

    def read(self, rows: int) -> Iterator[Block]:
        """Read the files one after the other."""
        assert self.columns is not None
        for path in self.paths:
            for frame in self._guarded(path, rows):
                if frame.empty:  # nothing but empty lines; without values all columns look like text
                    continue
                ids = None if self.id is None else frame[self.id].to_numpy()
                yield Block(numbers_of(frame[self.columns], str(path)), ids)

    @classmethod
    def names_of(cls, path: Path) -> list[str]:
        """Names of the columns of a file, each once; what the reader raises names the file."""
        with named_errors(str(path), suffix_of(path)):
            names = cls._columns(path)
            check_unique(names)
        return names

    def _guarded(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        """Frames of a file; what the reader raises names the file."""
        with named_errors(str(path), suffix_of(path)):
            yield from self._frames(path, rows)

    @classmethod
    @abstractmethod
    def _columns(cls, path: Path) -> list[str]:
        """Names of the columns of a file."""

    @abstractmethod
    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        """Frames of at most so many rows, or a few more."""


class CsvSource(FrameSource):
    """Comma- or tab-separated text with a header, also compressed."""

    @property
    def n_bytes(self) -> int:
        """As many as the files have, roughly."""
        return sum(bytes_in_memory(path) for path in self.paths)

    @classmethod
    def _columns(cls, path: Path) -> list[str]:
        names = first_line(path, {"sep": separator_of(path)})
        if all(is_number(name) for name in names) and names != [str(i) for i in range(len(names))]:
            raise TableError(f"has numbers in its first line ({', '.join(names[:3])}); it must hold names of columns.")
        return names

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        # pandas' own blocks would drop a field too many in the first row of each without a word.
        open_file: Callable[..., Any] = gzip.open if path.suffix == ".gz" else Path.open
        with open_file(path, "rb") as file:
            head = next((line for line in iter(partial(_records, file, 1), b"") if line.strip(b" \r\n")), b"")
            lines, before = 1, len(head)
            while block := _records(file, rows):
                yield self._parse(path, head, block, lines, before)
                lines, before = lines + block.count(b"\n"), before + len(block)

    def _parse(self, path: Path, head: bytes, block: bytes, lines: int, before: int) -> pd.DataFrame:
        """Some lines of text as a frame; `lines` and `before` count the lines and bytes above them."""
        try:
            block.decode()
        except UnicodeDecodeError as error:
            raise TableError(
                f"is not UTF-8 text ({error.reason} at byte {before + error.start}); save it as UTF-8."
            ) from error
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            try:
                frame = pd.read_csv(
                    BytesIO(head + block),
                    sep=separator_of(path),
                    index_col=False,
                    low_memory=False,
                    **EXACT,
                    **as_text([] if self.id is None else [self.id], self.columns or ()),
                )
            except (pd.errors.ParserWarning, pd.errors.ParserError) as error:
                raise TableError(
                    f"has a line with too many fields, or quotes that do not close, below line {lines}: {error}".strip()
                ) from error
        frame.columns = frame.columns.map(str)
        return frame[[*(self.columns or ()), *([] if self.id is None else [self.id])]]


class ParquetSource(FrameSource):
    """Parquet, by pyarrow."""

    def __init__(
        self, paths: Sequence[Path], *, id: str | None = None, use: Any = None, drop: Sequence[str] = ()
    ) -> None:
        super().__init__(paths, id=id, use=use, drop=drop)
        self.n_rows = sum(_parquet(path).metadata.num_rows for path in self.paths)

    @classmethod
    def _columns(cls, path: Path) -> list[str]:
        return list(_parquet(path).schema_arrow.names)

    def _frames(self, path: Path, rows: int) -> Iterator[pd.DataFrame]:
        columns = [*(self.columns or ()), *([] if self.id is None else [self.id])]
        for batch in _parquet(path).iter_batches(batch_size=rows, columns=columns):
            yield from_arrow(batch)


SUFFIXES: dict[str, type[FrameSource]] = {
    ".csv": CsvSource,
    ".tsv": CsvSource,
    ".csv.gz": CsvSource,
    ".tsv.gz": CsvSource,
    ".parquet": ParquetSource,
}


def open_source(X: Any, *, id: str | None = None, use: Any = None, drop: Sequence[str] = ()) -> Source:
    """Open a table to be read in blocks.

    Parameters
    ----------
    X : array, or path of a file (.npy, .parquet, .csv, .tsv, the last two also .gz) or of a folder of files of one kind
    id : name of the column that names the rows, optional
    use : names of the columns to use, optional; None: all but `id` and `drop`
    drop : names of columns to leave out

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
        raise TypeError(f"id={id!r} must be the name of a column.")
    use, drop = None if use is None else check_names("use", use, "columns"), check_names("drop", drop, "columns")
    kind, paths = _files(Path(X))
    if kind is None:
        if id is not None or use is not None or drop:
            raise ValueError(f"{X} has no named columns; id, use and drop are for CSV and Parquet.")
        return NpySource(paths[0])
    return kind(paths, id=id, use=use, drop=drop)


def column_names(path: Path) -> list[str] | None:
    """Names of the columns of a file or of the first of a folder; None where they have none."""
    kind, paths = _files(path)
    return None if kind is None else kind.names_of(paths[0])


def _files(path: Path) -> tuple[type[FrameSource] | None, list[Path]]:
    """What reads a file, or all files of a folder, and the files; None: one array."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    paths = (
        sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith((".", "_")))
        if path.is_dir()
        else [path]
    )
    if not paths:
        raise ValueError(f"{path} holds no files.")
    if len(paths) == 1 and paths[0].suffix == ".npy":
        return None, paths
    kinds = {suffix_of(p) for p in paths}
    if len(kinds) > 1 or next(iter(kinds)) not in SUFFIXES:
        raise ValueError(
            f"{path} holds {sorted(kinds)}; it must be files of one kind: {', '.join(SUFFIXES)}, or one .npy."
        )
    return SUFFIXES[kinds.pop()], paths


def bytes_in_memory(path: Path) -> int:
    """Bytes that a file takes once it is read, roughly: a number has some eight characters, and text is compressed
    some fivefold.
    """
    if path.suffix == ".parquet":
        with named_errors(str(path), ".parquet"):
            about = _parquet(path).metadata
        return int(about.num_rows * about.num_columns * 8)
    return path.stat().st_size * (5 if path.suffix == ".gz" else 1)


def suffix_of(path: Path) -> str:
    """The suffix that tells the format, with that of what it is compressed by."""
    return "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix


def separator_of(path: Path) -> str:
    """What separates the fields of a file of text."""
    return "\t" if ".tsv" in path.suffixes else ","


def _records(file: IO[bytes], rows: int) -> bytes:
    """The next lines, as many as `rows`, and more where a quoted field runs on into them."""
    text = b"".join(itertools.islice(file, rows))
    quotes = text.count(b'"')
    for line in itertools.islice(file, max(rows, 1000)) if quotes % 2 else ():  # not the whole file for a stray quote
        text += line
        quotes += line.count(b'"')
        if quotes % 2 == 0:
            break
    return text


def numbers_of(frame: pd.DataFrame, told: str) -> NDArray[np.float64]:
    """The values of a frame, NaN where they are missing; `told` is what messages call it."""
    text = [str(name) for name in frame if frame[name].dtype.kind not in "fiub"]
    if text:
        raise ValueError(f"{told} has columns that are not numbers: {text}. Leave them out (drop, or id).")
    _check_whole(told, frame)
    if all(isinstance(dtype, np.dtype) for dtype in frame.dtypes):
        return np.ascontiguousarray(frame.to_numpy(dtype=np.float64))
    return np.ascontiguousarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))  # pandas' own types know NA


def _check_whole(told: str, values: Any) -> None:
    try:
        check_whole_numbers(values)
    except ValueError as error:
        raise ValueError(f"{told}: {error}") from error


def _float_type(dtype: np.dtype) -> Any:
    return np.float32 if dtype == np.float32 else np.float64


def _parquet(path: Path) -> Any:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError('Parquet needs pyarrow: pip install "clustertrust[parquet]".') from error
    return parquet.ParquetFile(path)
