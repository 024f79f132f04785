"""Readers of a table, block by block, and a sample of its rows.

Threads do the work here, Dask workers in `dask_passes`.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from clustertrust._parallel import AT_ONCE, count_threads, map_blocks, memory_budget, one_thread
from clustertrust._progress import progress
from clustertrust._types import Array, Result
from clustertrust.files.sources import Block, Source
from clustertrust.totals import Totals, sum_in_pairs


class BlockReader(ABC):
    """Reads a table block by block, as often as it is asked to.

    Attributes
    ----------
    n_features : columns of the table
    columns : their names, None if they have none
    n_rows : its rows, None if unknown before reading
    in_turn : whether the blocks come to this process, one after the other
    remedy : what to do if all points are needed at once
    """

    in_turn = True
    remedy = "X is larger than memory: allow more by sklearn.set_config(working_memory=…) (MiB)"
    n_features: int
    columns: list[str] | None
    n_rows: int | None

    @abstractmethod
    def map(self, function: Callable[[Block], Result], what: str) -> Iterator[Result]:
        """Yield function(block) for each block, in order."""

    @abstractmethod
    def sum(self, function: Callable[[Block], Totals], what: str) -> Totals:
        """Add up function(block) over all blocks, by `sum_in_pairs`."""

    def workers(self) -> AbstractContextManager[Any]:
        """Return a context that says where runs are fitted: here, unless a subclass changes it."""
        return nullcontext()


def reader_of(source: Source, n_runs: Any, n_jobs: int | None, verbose: bool) -> LocalReader:
    """Return the blocks of a table, of a size for this many runs."""
    runs = int(n_runs) if isinstance(n_runs, numbers.Integral) else 20
    return LocalReader(
        source, rows_of_block(source.n_features, runs), count_threads(n_jobs), verbose=verbose
    )


class LocalReader(BlockReader):
    """Blocks read one after the other, some of them at a time worked on by threads."""

    def __init__(
        self, source: Source, block_rows: int, threads: int, *, verbose: bool = False
    ) -> None:
        self.source, self.block_rows = source, block_rows
        self.threads, self.verbose = threads, verbose
        self.n_features, self.columns = source.n_features, source.columns
        self.n_rows = source.n_rows

    def map(self, function: Callable[[Block], Result], what: str) -> Iterator[Result]:
        """Yield function(block) for each block, in order."""
        read = self.source.blocks(self.block_rows)
        blocks = progress(
            read, self.n_rows, what, verbose=self.verbose, size=lambda block: len(block.X)
        )
        with one_thread():
            yield from map_blocks(function, blocks, self.threads)

    def sum(self, function: Callable[[Block], Totals], what: str) -> Totals:
        """Add up function(block) over all blocks."""
        return sum_in_pairs(self.map(function, what))


def rows_of_block(n_features: int, n_runs: int) -> int:
    """Return the rows per block so that the blocks fit into the budget, from the sizes only."""
    # The numbers, labels, silhouettes and results.
    bytes_per_row = 24 * n_features + 60 * n_runs
    return int(np.clip(memory_budget() // (AT_ONCE * bytes_per_row), 1024, 2**16))


@dataclass(frozen=True)
class SampledRows:
    """Rows drawn at random.

    Attributes
    ----------
    X : (s, d) their numbers, in the order of the table
    names : (s,) what the table calls them, else their positions in it
    """

    X: Array
    names: Array


def sample_rows(reader: BlockReader, size: int, seed: int) -> tuple[SampledRows, int]:
    """Draw `size` rows at random in one pass, in the order of the table, and count the rows.

    Each row has a random number that depends only on its position, and the rows with the smallest
    numbers are kept. So the sample does not depend on the blocks.
    """
    # If the number of rows is known, only slightly more rows than needed are candidates: six
    # standard deviations more.
    below = 1.0 if reader.n_rows is None else (size + 6 * size**0.5 + 6) / max(1, reader.n_rows)
    candidates: list[tuple[Array, ...]] = []
    n, held = 0, 0
    for rows, *of_block in reader.map(partial(_candidates, seed, below), "sampling"):
        n += rows
        candidates.append(tuple(of_block))
        held += len(of_block[0])
        if held > 2 * size + 1000:
            candidates = [_smallest(size, candidates)]
            held = size
    if n < 2:
        raise ValueError(f"X has {n} rows; give at least two.")
    _, positions, names, X = _smallest(size, candidates)
    order = np.argsort(positions)
    return SampledRows(X[order], names[order]), n


def _candidates(seed: int, below: float, block: Block) -> tuple[int, Array, Array, Array, Array]:
    """Return the number of rows, and the data of those with a small random number."""
    bits = np.random.PCG64(seed)
    keys = np.random.Generator(bits.advance(block.before)).random(len(block.X))
    small = np.flatnonzero(keys < below)
    return len(keys), keys[small], block.before + small, block.names[small], block.X[small]


def _smallest(size: int, candidates: list[tuple[Array, ...]]) -> tuple[Array, ...]:
    columns = [np.concatenate(parts) for parts in zip(*candidates, strict=True)]
    keys = columns[0]
    kept = np.argpartition(keys, size - 1)[:size] if len(keys) > size else np.arange(len(keys))
    return tuple(column[kept] for column in columns)
