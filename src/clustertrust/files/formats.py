"""The one table of formats: suffixes, and how each is read and written, whole or in blocks."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from clustertrust.files.appending import Append, append_arrow, append_parquet, append_text
from clustertrust.files.errors import TableError
from clustertrust.files.h5ad import read_h5ad
from clustertrust.files.sources import (
    ArrowSource,
    CsvSource,
    FileSource,
    NpySource,
    ParquetSource,
    TsvSource,
)
from clustertrust.files.whole import (
    Reading,
    Table,
    read_arrow,
    read_json,
    read_npy,
    read_npz,
    read_parquet,
    read_sheet,
    read_text,
    write_arrow,
    write_delimited,
    write_json,
    write_npy,
    write_npz,
    write_parquet,
    write_sheet,
)

__all__ = ["FORMATS", "Format", "format_of", "known_format", "need", "suffixes"]


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
    append: Callable[[Path], AbstractContextManager[Append]] | None = None
    options: tuple[str, ...] = ()
    needs: tuple[str, str] | None = None


TEXT = ("separator", "header", "encoding", "decimal", "thousands", "na", "skip_rows", "as_written")

FORMATS: dict[str, Format] = {
    "csv": Format(
        (".csv", ".csv.gz", ".csv.bz2", ".csv.xz"),
        partial(read_text, separator=",", format="csv"),
        partial(write_delimited, separator=",", format="csv"),
        blocks=CsvSource,
        append=partial(append_text, separator=","),
        options=TEXT,
    ),
    "tsv": Format(
        (".tsv", ".tsv.gz", ".tsv.bz2", ".tsv.xz", ".tab"),
        partial(read_text, separator="\t", format="tsv"),
        partial(write_delimited, separator="\t", format="tsv"),
        blocks=TsvSource,
        append=partial(append_text, separator="\t"),
        options=TEXT,
    ),
    "txt": Format(
        (".txt", ".txt.gz", ".dat"),
        partial(read_text, separator=",", format="txt"),
        partial(write_delimited, separator="\t", format="txt"),
        options=TEXT,
    ),
    "json": Format(
        (".json",),
        partial(read_json, lines=False),
        partial(write_json, lines=False),
        options=("encoding",),
    ),
    "jsonl": Format(
        (".jsonl", ".ndjson"),
        partial(read_json, lines=True),
        partial(write_json, lines=True),
        options=("encoding",),
    ),
    "xlsx": Format(
        (".xlsx",),
        partial(read_sheet, engine="openpyxl"),
        partial(write_sheet, engine="openpyxl"),
        options=("sheet", "skip_rows"),
        needs=("openpyxl", "excel"),
    ),
    "ods": Format(
        (".ods",),
        partial(read_sheet, engine="odf"),
        partial(write_sheet, engine="odf"),
        options=("sheet", "skip_rows"),
        needs=("odf", "excel"),
    ),
    "parquet": Format(
        (".parquet", ".pq"),
        read_parquet,
        write_parquet,
        blocks=ParquetSource,
        append=append_parquet,
        needs=("pyarrow", "parquet"),
    ),
    "arrow": Format(
        (".arrow", ".feather"),
        read_arrow,
        write_arrow,
        blocks=ArrowSource,
        append=append_arrow,
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
    if format is not None:
        return format
    raise TableError(f"{path} has none of the known suffixes: {suffixes()}.")


def known_format(path: str | Path) -> str | None:
    """Return the format of a path by its suffix; None if it is unknown."""
    name = Path(path).name.lower()
    return next((format for format, kind in FORMATS.items() if name.endswith(kind.suffixes)), None)


def suffixes(able: str | None = None) -> str:
    """List all suffixes for a message, or those of formats that have `able`, such as "append"."""
    kinds = [kind for kind in FORMATS.values() if able is None or getattr(kind, able) is not None]
    return ", ".join(suffix for kind in kinds for suffix in kind.suffixes)


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
