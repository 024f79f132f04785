"""Tables of numbers that are read in blocks of rows, as often as needed."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from clustertrust._errors import InputError, Message, literal
from clustertrust._types import Array, Bools, Floats
from clustertrust._validation.frames import check_whole_numbers
from clustertrust._validation.points import check_finite, check_range
from clustertrust.files.columns import UNNAMED, check_unique
from clustertrust.files.errors import named_errors
from clustertrust.files.reading import Dialect, Reading

__all__ = ["ArraySource", "Block", "Source"]


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
    """An array, such as a `numpy.memmap`."""

    def __init__(self, array: Array) -> None:
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
            yield Block(np.array(part, dtype=float_type(self.array.dtype)))


def float_type(dtype: np.dtype[Any]) -> Any:
    """Return the type of floats that values of a type become."""
    return np.float32 if dtype == np.float32 else np.float64


# Of a frame, where a part is read whole.
ROWS = 2**16


class FileSource(Source):
    """One or more files with the same named columns, whose rows come as frames too, text as it is.

    Attributes
    ----------
    format : name of the format, in messages
    paths : the files
    names : of all columns; positions, if they have no names
    index : the column that the files say names the rows
    """

    format: ClassVar[str]
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

    @classmethod
    @abstractmethod
    def size_of(cls, path: Path) -> int:
        """Return roughly the bytes of the values of a file."""

    @classmethod
    @abstractmethod
    def needed_by(cls, path: Path) -> int:
        """Return roughly the bytes that a file takes if it is read whole."""

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
        for path in self.paths:
            for frame in self._guarded(path, rows):
                ids = None if self.index is None else frame[self.index].to_numpy()
                yield Block(numbers_of(frame[self.columns], str(path)), ids)

    def frames(self, rows: int) -> Iterator[pd.DataFrame]:
        """Yield the rows as they are read, text too."""
        for path in self.paths:
            yield from self._guarded(path, rows)

    def _names(self, path: Path) -> list[str]:
        """Return the names of the columns of a file, each once; errors name the file."""
        with named_errors(str(path), self.format):
            names = self._columns(path)
            check_unique(names)
            index = self._index(path)
        return [name for name in names if name != index]

    def parts(self) -> list[tuple[Path, Any]]:
        """Return what workers read on their own, in order: the files, each with places in it."""
        return [(path.absolute(), place) for path in self.paths for place in self._places(path)]

    def part(self, part: tuple[Path, Any]) -> pd.DataFrame:
        """Return the rows of a part."""
        frames = list(self._guarded(part[0], ROWS, part[1]))
        empty = pd.DataFrame(columns=self.wanted)
        return pd.concat(frames, ignore_index=True) if frames else empty

    def _guarded(self, path: Path, rows: int, place: Any = None) -> Iterator[pd.DataFrame]:
        """Yield frames of a file; errors name the file."""
        with named_errors(str(path), self.format):
            for frame in self._frames(path, rows, place):
                # A block of empty lines: columns without values look like text.
                if not frame.empty:
                    yield frame

    def _columns(self, path: Path) -> list[str]:
        """Return the names of the columns of a file."""
        raise NotImplementedError

    def _index(self, path: Path) -> str | None:
        """Return the column that a file says names its rows; None: there is none."""
        return None

    def _places(self, path: Path) -> list[Any]:
        """Return places of a file that can be read on their own; None: all of it."""
        return [None]

    def _frames(self, path: Path, rows: int, place: Any = None) -> Iterator[pd.DataFrame]:
        """Yield frames of about this many rows."""
        raise NotImplementedError


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
        remedy = "Leave them out, or make numbers of the table first (clustertrust.TablePreparer)."
        raise InputError(literal(f"{problem}{remedy}"))
    check_whole_numbers(frame, source_name)
    # pandas' own types have NA.
    plain = all(isinstance(dtype, np.dtype) for dtype in frame.dtypes)
    values = frame.to_numpy(np.float64) if plain else frame.to_numpy(np.float64, na_value=np.nan)
    return np.ascontiguousarray(values)
