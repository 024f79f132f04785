"""A table that is read in blocks → numbers, block by block, here or on the workers of Dask."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from clustertrust._progress import progress
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.planning import fit_preparer, named_problems, preparer_for
from clustertrust.cli.points import reading_of
from clustertrust.cli.printing import is_interactive
from clustertrust.cli.request import ScoreRequest
from clustertrust.files.sources import ROWS, Block, FileSource, Source
from clustertrust.files.tables import open_source
from clustertrust.files.text_sources import CsvSource
from clustertrust.streaming.passes import BlockReader, rows_of_block
from clustertrust.tables import TablePreparer
from clustertrust.tables.learning import placed
from clustertrust.tables.rows import HEAD


class Prepared(Source):
    """A table as the numbers that a preparer makes of it, without the rows that it leaves out."""

    def __init__(self, source: FileSource, preparer: TablePreparer) -> None:
        plan = preparer.plan_
        self.source = source.only({column.name for column in plan.used}, plan.id)
        self.preparer, self.n_rows, self.id = preparer, preparer.n_rows_, plan.id
        self.columns = None if source.columns is None else plan.features
        self.n_features = len(plan.features)

    def read(self, rows: int) -> Iterator[Block]:
        """Prepare each block; every one keeps at least one row."""
        blocks = (self._block(*one) for one in placed(self.source.frames(rows)))
        for group in with_rows((block, len(block.X)) for block in blocks):
            yield joined([block for block, _ in group])

    def block_at(self, part: tuple[Path, Any], before: int) -> Block:
        """Read and prepare a part of the files, on a worker; `before` counts the rows above it."""
        return self._block(self.source.part(part), before)

    def _block(self, frame: pd.DataFrame, before: int) -> Block:
        plan, paths = self.preparer.plan_, self.source.paths
        plan.check_whole_numbers(frame, str(paths[0]) if len(paths) == 1 else "The table")
        rows = self.preparer.rows_of(frame, before)
        ids = None if self.id is None else frame[self.id].to_numpy()
        if self.n_rows == plan.n_rows:
            return Block(np.ascontiguousarray(rows.X), ids)
        ids = np.arange(before, before + len(frame)) if ids is None else ids
        return Block(np.ascontiguousarray(rows.X), ids, why=rows.why)


def with_rows(blocks: Iterable[tuple[Any, int]]) -> Iterator[list[tuple[Any, int]]]:
    """Yield blocks, each with the number of its rows, in groups of which each has a row."""
    group: list[tuple[Any, int]] = []
    for block, rows in blocks:
        if rows and any(count for _, count in group):
            yield group
            group = []
        group.append((block, rows))
    if group:
        yield group


def joined(blocks: list[Block]) -> Block:
    """Return the rows of several blocks as one; rows were left out of some of them."""
    if len(blocks) == 1:
        return blocks[0]
    parts = zip(*((block.X, block.ids, block.why) for block in blocks), strict=True)
    X, ids, why = (np.concatenate(part) for part in parts)
    return Block(X, ids, why=why)


def open_table(data: str, columns: ReadOptions) -> FileSource:
    """Open a table in blocks, with all its columns."""
    source: FileSource = open_source(data, reading_of(columns), format=columns.format)
    if isinstance(source, CsvSource):
        first = next(source.frames(HEAD), pd.DataFrame(columns=source.names))
        source.words = [
            name
            for name in source.names
            if name not in source.reading.text and not is_numeric_dtype(first[name].dtype)
        ]
    return source


def _named(columns: ReadOptions, source: FileSource) -> ReadOptions:
    """Return how to read a table, with the column that the files say names the rows."""
    return replace(columns, id=columns.id or source.index)


def prepare_table(source: FileSource, data: str, columns: ReadOptions) -> Prepared:
    """Look at a table in blocks, and return the numbers that it becomes."""
    rows = rows_of_block(len(source.names), 20)

    def blocks() -> Iterator[pd.DataFrame]:
        what = "looking at the columns"
        frames = source.frames(rows)
        yield from progress(frames, source.n_rows, what, verbose=is_interactive(), size=len)

    preparer = fit_preparer(
        _named(columns, source),
        source.names,
        blocks,
        data,
        notes=source.notes,
        has_names=source.columns is not None,
    )
    return Prepared(source, preparer)


@contextmanager
def on_workers(
    source: FileSource, request: ScoreRequest
) -> Iterator[tuple[BlockReader, TablePreparer]]:
    """Let the workers of a Dask scheduler read the files, prepare them, and fit the runs."""
    if not source.parts():
        raise click.UsageError(
            "--scheduler reads CSV, TSV, Parquet and Arrow files; write the table as one of these."
        )
    try:
        distributed = importlib.import_module("distributed")
        importlib.import_module("dask.dataframe")
    except ImportError as error:
        raise ImportError('--scheduler needs Dask: pip install "clustertrust[dask]"') from error
    data, columns = request.data, request.columns
    with distributed.Client(request.scheduler, timeout="10s"):
        with named_problems(data):
            preparer = preparer_for(_named(columns, source), source.names)
            preparer.fit(_dask_frame(source))
        preparer.plan_ = replace(preparer.plan_, reading=tuple(source.notes))
        yield _reader_of(Prepared(source, preparer)), preparer


def _dask_frame(source: FileSource) -> Any:
    """Return the files as a Dask frame, whose parts are read as without a scheduler."""
    frames = importlib.import_module("dask.dataframe")
    first = next(source.frames(ROWS), pd.DataFrame(columns=source.names))
    return frames.from_map(source.part, source.parts(), meta=first.head(0))


def _reader_of(prepared: Prepared) -> BlockReader:
    """Return a reader of the blocks that workers prepare, each with at least one row."""
    from clustertrust.streaming.dask_passes import TaskReader, count_rows

    delayed = importlib.import_module("dask").delayed
    parts, shared = prepared.source.parts(), delayed(prepared, pure=False)
    rows = count_rows([shared.source.part(part) for part in parts])
    before = [0, *np.cumsum(rows).tolist()]
    blocks = [shared.block_at(part, above) for part, above in zip(parts, before, strict=False)]
    if prepared.n_rows != before[-1]:
        groups = list(with_rows(zip(blocks, count_rows(blocks), strict=True)))
        blocks = [delayed(joined)([block for block, _ in group]) for group in groups]
        rows = [sum(count for _, count in group) for group in groups]
    return TaskReader(blocks, rows, prepared.columns, prepared.n_features)
