"""Tables written one frame below the other, as blocks of results come."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from clustertrust.files.delimited import open_text

__all__ = ["Append", "append_arrow", "append_parquet", "append_text"]

Append = Callable[[pd.DataFrame], None]


@contextmanager
def append_text(path: Path, separator: str) -> Iterator[Append]:
    """Write frames as text; the suffix says how it is compressed."""
    first = True

    def write(frame: pd.DataFrame) -> None:
        nonlocal first
        frame.to_csv(opened, index=False, sep=separator, header=first, lineterminator="\n")
        first = False

    with open_text(path, "wt", newline="", encoding="utf-8") as opened:
        yield write


@contextmanager
def append_parquet(path: Path) -> Iterator[Append]:
    """Write frames as row groups of Parquet."""
    parquet = importlib.import_module("pyarrow.parquet")
    with _append(lambda schema: parquet.ParquetWriter(path, schema)) as write:
        yield write


@contextmanager
def append_arrow(path: Path) -> Iterator[Append]:
    """Write frames as batches of Arrow's file format, which Feather is."""
    ipc = importlib.import_module("pyarrow.ipc")
    with _append(lambda schema: ipc.new_file(str(path), schema)) as write:
        yield write


@contextmanager
def _append(open_writer: Callable[[Any], Any]) -> Iterator[Append]:
    """Write frames by a writer of Arrow's, which is opened for the schema of the first."""
    arrow = importlib.import_module("pyarrow")
    writer: Any = None
    schema: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer, schema
        # Names of rows that are whole numbers come as floats in a block where one is missing: the
        # first block decides.
        table = arrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if writer is None:
            schema = table.schema
            writer = open_writer(schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
