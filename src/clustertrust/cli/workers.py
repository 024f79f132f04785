"""A table in files → blocks that the workers of a Dask scheduler read and prepare."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click
import numpy as np
import pandas as pd

from clustertrust.cli.blocks import Prepared, joined, with_rows
from clustertrust.cli.planning import named_problems, preparer_for
from clustertrust.cli.request import ScoreRequest
from clustertrust.files.file_sources import ROWS, FileSource
from clustertrust.streaming.passes import BlockReader
from clustertrust.tables import TablePreparer


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
            preparer = preparer_for(replace(columns, id=columns.id or source.index), source.names)
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
