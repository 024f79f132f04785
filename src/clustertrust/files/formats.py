"""The one table of formats: suffixes, and how each is read and written, whole or in blocks."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from clustertrust.files.arrow_files import (
    ArrowSource,
    ParquetSource,
    append_arrow,
    read_arrow,
    read_parquet,
)
from clustertrust.files.delimited import append_text, read_delimited
from clustertrust.files.errors import TableError
from clustertrust.files.h5ad import read_h5ad
from clustertrust.files.json_files import read_json, write_json
from clustertrust.files.numpy_files import NpySource, read_npy, read_npz, write_npy, write_npz
from clustertrust.files.reading import Append, Reading, Table
from clustertrust.files.sheets import read_sheet, write_sheet
from clustertrust.files.sources import FileSource
from clustertrust.files.text_sources import CsvSource, TsvSource


@dataclass(frozen=True)
class Format:
    """How one format is recognised, read and written.

    Attributes
    ----------
    suffixes : suffixes of its files, in lower case
    read : a path, or bytes in memory, and a `Reading` → the whole table
    write : a frame and a path, for text also a `Dialect`; None: it cannot hold a plain table
    blocks : the class that reads its files in blocks of rows; None: it is read whole
    append : a path → a context that gives a function to write frame by frame; None: it is written
        whole
    options : the fields of `Reading` that it uses, besides `text`
    needs : (module, extra that installs it), if it needs one
    """

    suffixes: tuple[str, ...]
    read: Callable[[Any, Reading], Table]
    write: Callable[..., None] | None
    blocks: type[FileSource] | None = None
    append: Callable[..., AbstractContextManager[Append]] | None = None
    options: tuple[str, ...] = ()
    needs: tuple[str, str] | None = None


TEXT = ("separator", "header", "encoding", "decimal", "thousands", "na", "skip_rows", "as_written")


def _by_frames(
    suffixes: tuple[str, ...], read: Callable[..., Table], append: Any, **rest: Any
) -> Format:
    """Return a format that is written frame by frame, a whole table as one."""

    def write(table: pd.DataFrame, path: Path, **how: Any) -> None:
        with append(path, **how) as add:
            add(table)

    return Format(suffixes, read, write, append=append, **rest)


def _text(
    format: str, suffixes: tuple[str, ...], separator: str, written: str, blocks: Any = None
) -> Format:
    """Return a format of delimited text, with its usual separator and that which is written."""
    read = partial(read_delimited, separator=separator, format=format)
    append = partial(append_text, separator=written, format=format)
    return _by_frames(suffixes, read, append, blocks=blocks, options=TEXT)


def _json(suffixes: tuple[str, ...], *, lines: bool) -> Format:
    """Return a format of records in JSON."""
    read, write = partial(read_json, lines=lines), partial(write_json, lines=lines)
    return Format(suffixes, read, write, options=("encoding",))


def _sheets(suffix: str, engine: Any) -> Format:
    """Return a format of spreadsheets."""
    read = partial(read_sheet, engine=engine)
    write = partial(write_sheet, engine=engine)
    return Format((suffix,), read, write, options=("sheet", "skip_rows"), needs=(engine, "excel"))


FORMATS: dict[str, Format] = {
    "csv": _text("csv", (".csv", ".csv.gz", ".csv.bz2", ".csv.xz"), ",", ",", CsvSource),
    "tsv": _text("tsv", (".tsv", ".tsv.gz", ".tsv.bz2", ".tsv.xz", ".tab"), "\t", "\t", TsvSource),
    "txt": _text("txt", (".txt", ".txt.gz", ".dat"), ",", "\t"),
    "json": _json((".json",), lines=False),
    "jsonl": _json((".jsonl", ".ndjson"), lines=True),
    "xlsx": _sheets(".xlsx", "openpyxl"),
    "ods": _sheets(".ods", "odf"),
    "parquet": _by_frames(
        (".parquet", ".pq"),
        read_parquet,
        partial(append_arrow, format="parquet"),
        blocks=ParquetSource,
        needs=("pyarrow", "parquet"),
    ),
    "arrow": _by_frames(
        (".arrow", ".feather"),
        read_arrow,
        partial(append_arrow, format="arrow"),
        blocks=ArrowSource,
        needs=("pyarrow", "parquet"),
    ),
    "npy": Format((".npy",), read_npy, write_npy, blocks=NpySource),
    "npz": Format((".npz",), read_npz, write_npz, options=("array",)),
    # Results are written as annotations of an AnnData object: see clustertrust.anndata.
    "h5ad": Format((".h5ad",), read_h5ad, None, options=("use_rep",), needs=("anndata", "anndata")),
}


def format_of(path: str | Path) -> str:
    """Return the format of a path by its suffix, in lower or upper case."""
    format = known_format(path)
    if format is None:
        raise TableError(f"{path} has none of the known suffixes: {suffixes()}.")
    return format


def known_format(path: str | Path) -> str | None:
    """Return the format of a path by its suffix; None if it is unknown."""
    name = Path(path).name.lower()
    return next((format for format, kind in FORMATS.items() if name.endswith(kind.suffixes)), None)


def suffixes(able: str | None = None) -> str:
    """List suffixes for a message, or those of formats that have `able`, such as "append".

    Those of compressed text are left out, so that the list fits a line.
    """
    kinds = [kind for kind in FORMATS.values() if able is None or getattr(kind, able) is not None]
    listed = [suffix for kind in kinds for suffix in kind.suffixes]
    return ", ".join(suffix for suffix in listed if suffix.count(".") == 1)


def need(format: str) -> None:
    """Raise if the package that a format needs is missing, with the line that installs it."""
    needs = FORMATS[format].needs
    if needs is not None:
        try:
            importlib.import_module(needs[0])
        except ImportError as error:
            raise ImportError(
                f'{format} files need {needs[0]}: pip install "clustertrust[{needs[1]}]"'
            ) from error
