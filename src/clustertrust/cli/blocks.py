"""A table that is read in blocks → numbers, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from clustertrust._progress import progress
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.planning import fit_preparer
from clustertrust.cli.points import reading_of
from clustertrust.cli.printing import is_interactive
from clustertrust.files.file_sources import FrameSource
from clustertrust.files.sources import Block, Source
from clustertrust.files.tables import column_names, open_source
from clustertrust.files.text_sources import CsvSource
from clustertrust.streaming.passes import rows_of_block
from clustertrust.tables import TablePreparer
from clustertrust.tables.rows import HEAD


class Prepared(Source):
    """A table as the numbers that a preparer makes of it, without the rows that it leaves out."""

    def __init__(self, source: Source, preparer: TablePreparer) -> None:
        self.source, self.preparer, self.n_rows = source, preparer, preparer.n_rows_
        self.id: str | None = getattr(source, "id", None)
        self.columns = None if source.columns is None else preparer.plan_.features
        self.n_features = len(preparer.plan_.features)

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the table in memory."""
        return self.source.n_bytes

    def read(self, rows: int) -> Iterator[Block]:
        """Prepare each block; every one keeps at least one row."""
        held: list[Block] = []
        before = 0
        for frame in frames_of(self.source, rows):
            block = self._block(frame, before)
            before += len(frame)
            if len(block.X) and any(len(one.X) for one in held):
                yield _joined(held)
                held = []
            held.append(block)
        if held:
            yield _joined(held)

    def _block(self, frame: pd.DataFrame, before: int) -> Block:
        plan = self.preparer.plan_
        paths = [str(path) for path in getattr(self.source, "paths", ())]
        plan.check_whole_numbers(frame, paths[0] if len(paths) == 1 else "The table")
        rows = self.preparer.rows_of(frame, before)
        ids = None if self.id is None else frame[self.id].to_numpy()
        if self.n_rows == plan.n_rows:
            return Block(np.ascontiguousarray(rows.X), ids)
        ids = np.arange(before, before + len(frame)) if ids is None else ids
        return Block(np.ascontiguousarray(rows.X), ids, why=rows.why)


def frames_of(source: Source, rows: int) -> Iterator[pd.DataFrame]:
    """Yield a table in frames of rows; the columns of arrays are called by their positions."""
    if isinstance(source, FrameSource):
        for _, frame in source.frames(rows):
            yield frame
    else:
        names = [str(j) for j in range(source.n_features)]
        for block in source.read(rows):
            yield pd.DataFrame(block.X, columns=names)


def _joined(blocks: list[Block]) -> Block:
    """Return the rows of several blocks as one; rows were left out of some of them."""
    if len(blocks) == 1:
        return blocks[0]
    parts = zip(*((block.X, block.ids, block.why) for block in blocks), strict=True)
    X, ids, why = (np.concatenate(part) for part in parts)
    return Block(X, ids, why=why)


def open_table(data: str, columns: ReadOptions) -> Source:
    """Open a table in blocks, with all its columns."""
    reading = reading_of(columns)
    names = column_names(Path(data), reading)
    choice = columns.choice(names or ())
    if names is None:
        return open_source(data, id=choice["id"], use=choice["use"], drop=choice["drop"])
    others = [name for name in names if name != choice["id"]]
    opened = partial(open_source, data, id=choice["id"], use=others)
    source = opened(reading=replace(reading, text=()))
    assert isinstance(source, FrameSource)
    first = source.head(HEAD)
    texts = tuple(n for n in others if not pd.api.types.is_numeric_dtype(first[n].dtype))
    return opened(reading=replace(reading, text=texts))


def prepare_table(source: Source, data: str, columns: ReadOptions) -> Prepared:
    """Look at a table in blocks, and return the numbers that it becomes."""
    names = [str(j) for j in range(source.n_features)]
    if isinstance(source, FrameSource):
        names = source.wanted
    rows = rows_of_block(len(names), 20)

    def blocks() -> Iterator[pd.DataFrame]:
        what = "looking at the columns"
        frames = frames_of(source, rows)
        yield from progress(frames, source.n_rows, what, verbose=is_interactive(), size=len)

    preparer = fit_preparer(
        replace(columns, id=getattr(source, "id", None)),
        names,
        blocks,
        data,
        notes=source.notes if isinstance(source, CsvSource) else (),
        has_names=source.columns is not None,
    )
    return Prepared(only_used(source, data, preparer), preparer)


def only_used(source: Source, data: str, preparer: TablePreparer) -> Source:
    """Return the table with the columns that are used, and the one that names the rows."""
    if not isinstance(source, FrameSource):
        return source
    plan = preparer.plan_
    used = [column.name for column in plan.used]
    texts = tuple(name for name in source.reading.text if name in used)
    reading = replace(source.reading, text=texts)
    return open_source(data, id=plan.id, use=used, reading=reading)
