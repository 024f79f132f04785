"""Tables written frame by frame, as blocks of results arrive."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from clustertrust.files.delimited import open_text
from clustertrust.files.reading import Dialect

Append = Callable[[pd.DataFrame], None]


@contextmanager
def append_text(
    path: Path, separator: str, format: str, dialect: Dialect | None = None
) -> Iterator[Append]:
    """Write frames as text; the suffix sets the compression."""
    first = True
    options = {"sep": separator} if dialect is None else dialect.options(format, separator)

    def write(frame: pd.DataFrame) -> None:
        nonlocal first
        frame.to_csv(opened, index=False, header=first, lineterminator="\n", **options)
        first = False

    with open_text(path, "wt", newline="", encoding="utf-8") as opened:
        yield write


def _parquet_writer(path: Path, schema: Any) -> Any:
    return importlib.import_module("pyarrow.parquet").ParquetWriter(path, schema)


def _arrow_writer(path: Path, schema: Any) -> Any:
    ipc = importlib.import_module("pyarrow.ipc")
    return ipc.new_file(str(path), schema, options=ipc.IpcWriteOptions(compression="lz4"))


# Row groups of Parquet, and batches of Arrow's file format, also known as Feather.
WRITERS = {"parquet": _parquet_writer, "arrow": _arrow_writer}


@contextmanager
def append_arrow(path: Path, format: str) -> Iterator[Append]:
    """Write frames with one of the `WRITERS`, opened with the schema of the first frame."""
    arrow = importlib.import_module("pyarrow")
    writer: Any = None
    schema: Any = None

    def write(frame: pd.DataFrame) -> None:
        nonlocal writer, schema
        # Integers that name rows become floats in a block where one is missing: the first
        # block sets the type.
        table = arrow.Table.from_pandas(frame, schema=schema, preserve_index=False)
        if writer is None:
            schema = table.schema
            writer = WRITERS[format](path, schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
