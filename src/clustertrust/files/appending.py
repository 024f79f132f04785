"""Tables written frame by frame, as blocks of results arrive."""

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
    """Write frames as text; the suffix sets the compression."""
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
    """Write frames as batches of Arrow's file format, also known as Feather."""
    ipc = importlib.import_module("pyarrow.ipc")
    with _append(lambda schema: ipc.new_file(str(path), schema)) as write:
        yield write


@contextmanager
def _append(open_writer: Callable[[Any], Any]) -> Iterator[Append]:
    """Write frames with an Arrow writer, opened with the schema of the first frame."""
    arrow = importlib.import_module("pyarrow")
    writer: Any = None
    schema: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer, schema
        # Whole numbers that name rows become floats in a block where one is missing: the first
        # block sets the type.
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
