"""The one table of formats: suffixes, and how each is read and written, whole or in blocks."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from clustertrust.files import arrow_files, file_sources, sheets, text_sources, whole
from clustertrust.files.appending import Append, append_arrow, append_text
from clustertrust.files.delimited import read_delimited
from clustertrust.files.errors import TableError
from clustertrust.files.h5ad import read_h5ad
from clustertrust.files.reading import Reading, Table


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
    blocks: type[file_sources.FileSource] | None = None
    append: Callable[..., AbstractContextManager[Append]] | None = None
    options: tuple[str, ...] = ()
    needs: tuple[str, str] | None = None


TEXT = ("separator", "header", "encoding", "decimal", "thousands", "na", "skip_rows", "as_written")


def _text(format: str, suffixes: tuple[str, ...], separator: str, **in_blocks: Any) -> Format:
    """Return a format of delimited text."""
    read = partial(read_delimited, separator=separator, format=format)
    write = partial(whole.write_delimited, separator=separator, format=format)
    return Format(suffixes, read, write, options=TEXT, **in_blocks)


def _json(suffixes: tuple[str, ...], *, lines: bool) -> Format:
    """Return a format of records in JSON."""
    read, write = partial(whole.read_json, lines=lines), partial(whole.write_json, lines=lines)
    return Format(suffixes, read, write, options=("encoding",))


def _sheets(suffix: str, engine: Any) -> Format:
    """Return a format of spreadsheets."""
    read = partial(sheets.read_sheet, engine=engine)
    write = partial(sheets.write_sheet, engine=engine)
    return Format((suffix,), read, write, options=("sheet", "skip_rows"), needs=(engine, "excel"))


FORMATS: dict[str, Format] = {
    "csv": _text(
        "csv",
        (".csv", ".csv.gz", ".csv.bz2", ".csv.xz"),
        ",",
        blocks=text_sources.CsvSource,
        append=partial(append_text, separator=",", format="csv"),
    ),
    "tsv": _text(
        "tsv",
        (".tsv", ".tsv.gz", ".tsv.bz2", ".tsv.xz", ".tab"),
        "\t",
        blocks=text_sources.TsvSource,
        append=partial(append_text, separator="\t", format="tsv"),
    ),
    "txt": replace(
        _text("txt", (".txt", ".txt.gz", ".dat"), ","),
        write=partial(whole.write_delimited, separator="\t", format="txt"),
    ),
    "json": _json((".json",), lines=False),
    "jsonl": _json((".jsonl", ".ndjson"), lines=True),
    "xlsx": _sheets(".xlsx", "openpyxl"),
    "ods": _sheets(".ods", "odf"),
    "parquet": Format(
        (".parquet", ".pq"),
        arrow_files.read_parquet,
        partial(pd.DataFrame.to_parquet, index=False),
        blocks=file_sources.ParquetSource,
        append=partial(append_arrow, format="parquet"),
        needs=("pyarrow", "parquet"),
    ),
    "arrow": Format(
        (".arrow", ".feather"),
        arrow_files.read_arrow,
        arrow_files.write_arrow,
        blocks=file_sources.ArrowSource,
        append=partial(append_arrow, format="arrow"),
        needs=("pyarrow", "parquet"),
    ),
    "npy": Format((".npy",), whole.read_npy, whole.write_npy, blocks=file_sources.NpySource),
    "npz": Format((".npz",), whole.read_npz, whole.write_npz, options=("array",)),
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
