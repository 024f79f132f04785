"""Tables of numbers that are read in blocks of rows, as often as needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clustertrust._types import Array, Bools
from clustertrust._validation.frames import check_whole_numbers
from clustertrust._validation.points import check_finite, check_range

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
