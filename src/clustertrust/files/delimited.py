"""Comma- and tab-separated text: whole files, and what reading in blocks and on Dask share."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from clustertrust._errors import Message
from clustertrust.files.errors import TableError
from clustertrust.files.layout import Dialect, encoding_of, layout_of
from clustertrust.tables.values import as_numbers, decimal_of, known_texts

__all__ = [
    "COMMA",
    "COMPRESSED",
    "EXACT",
    "as_text",
    "check_unique",
    "first_line",
    "head_of",
    "is_number",
    "marks_of",
    "open_text",
    "read_delimited",
    "rewound",
]

COMMA = "a comma comes before the decimals"

# How to open compressed text, by suffix; the same suffixes as in pandas.
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

# Options of pandas.read_csv: its default was off in the last digit and crashed on 1e99999999999;
# from 3.1 on it is exact, and warns if asked to be.
EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    else {}
)


# Texts that pandas reads as a missing number, except None, which may be a word among words.
# fmt: off
_MISSING = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null",
]
# fmt: on


def read_delimited(
    source: Any, reading: Any, separator: str, format: str
) -> tuple[pd.DataFrame, list[str | Message], Dialect]:
    """Read a frame from a path or from bytes in memory, and list what was found about the text.

    `reading` is a :class:`clustertrust.files.Reading`; `separator` what the `format` says.
    """
    head = head_of(source)
    encoding = reading.encoding or encoding_of(head)
    try:
        return _read(source, reading, separator, encoding, format)
    except UnicodeDecodeError:
        if reading.encoding is not None:
            raise
    for guess in ("cp1252", "latin-1"):
        try:
            return _read(source, reading, separator, guess, format)
        except UnicodeDecodeError:
            continue
    raise AssertionError("latin-1 reads all bytes")  # pragma: no cover


def _read(
    source: Any, reading: Any, separator: str, encoding: str, format: str
) -> tuple[pd.DataFrame, list[str | Message], Dialect]:
    """Read with a known encoding; raise UnicodeDecodeError where it is another."""
    layout = layout_of(head_of(source), encoding, reading, separator)
    options: dict[str, Any] = {"sep": layout.separator, "encoding": encoding}
    options |= {"skiprows": layout.skip} if layout.skip else {}
    first = first_line(source, options)
    named = _has_names(first, reading.header)
    if named and layout.unnamed:
        first = ["Unnamed: 0", *first]
    if named:
        check_unique(first)
    numbered: Any = first if named else range(len(first))
    if reading.as_written:
        options |= {"dtype": str, "keep_default_na": False}
    else:
        names: list[Any] = [n for n in reading.text if n in first]
        if not named:
            names = [int(n) for n in reading.text if n.isdecimal()]
        options |= as_text(names, numbered, reading.na)
    if layout.unnamed and named:
        options |= {"names": first, "header": 0}
    frame = _parsed(source, options, named)
    marks = {} if reading.as_written else marks_of(frame, reading, options)
    dialect = Dialect(format, layout.separator, marks.get("decimal", "."))
    if marks:
        frame = _parsed(source, options | marks, named)
        if not (reading.decimal or reading.thousands):
            return frame, [*layout.notes, COMMA], dialect
    doubts = _first_point(frame) if named and reading.header is None else []
    return frame, [*layout.notes, *doubts], dialect


def marks_of(frame: pd.DataFrame, reading: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of pandas.read_csv for marks in numbers: those given, or that a frame shows.

    The frame was read without marks, with some `options`.
    """
    marks = {"decimal": reading.decimal, "thousands": reading.thousands}
    if not any(marks.values()) and _has_decimal_commas(frame, reading):
        marks = {"decimal": ",", "thousands": "."}
    found: dict[str, Any] = {name: mark for name, mark in marks.items() if mark}
    if "thousands" in found:
        found |= _dates_as_text(frame, found["thousands"], options)
    return found


def _first_point(frame: pd.DataFrame) -> list[Message]:
    """Return a note if names look like the first point: decimals, or values of their columns."""
    names = [str(name) for name in frame.columns]
    odd = any(is_number(name) and not float(name).is_integer() for name in names)
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        if not odd and not pd.api.types.is_numeric_dtype(column.dtype) and len(column) > 1:
            odd = bool((column == name).any())
    if not odd:
        return []
    shown = ", ".join(names[:4]) + ", …" * (len(names) > 4)
    note = Message("Please check: if it is the first point, say {header=False}")
    return [note.after(f"the first line as names ({shown}). ")]


def _has_decimal_commas(frame: pd.DataFrame, reading: Any) -> bool:
    """Return whether texts of the table prove decimal commas, and none a decimal point."""
    found = set()
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if not pd.api.types.is_numeric_dtype(column.dtype):
            texts = known_texts(column.head(2000), reading.na).dropna()
            numbers = as_numbers(texts, ",")
            if len(texts) and numbers.notna().mean() >= 0.9:
                found.add(decimal_of(texts.unique()))
        elif pd.api.types.is_float_dtype(column.dtype) and not _in_thousandths(column):
            found.add(".")
    return found - {None} == {","}


def _dates_as_text(frame: pd.DataFrame, mark: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return an option of pandas.read_csv that keeps texts whose marks separate no thousands.

    Without it pandas reads 31.12.2024 as 31122024.
    """
    odd = rf"\d{re.escape(mark)}(?!\d{{3}}(?!\d))\d"
    texts = [
        name
        for name in frame.columns
        if not pd.api.types.is_numeric_dtype(frame[name].dtype)
        and frame[name].astype(str).str.contains(odd, regex=True).any()
    ]
    return {"dtype": {**options.get("dtype", {}), **dict.fromkeys(texts, str)}}


def _in_thousandths(column: pd.Series) -> bool:
    """Return whether numbers may be 1.234, one thousand two hundred and thirty-four."""
    known = column.dropna()
    return bool((known.mul(1000).round(6) % 1 == 0).all() and (known.abs() < 1000).all())


def _parsed(source: Any, options: dict[str, Any], named: bool) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(
                rewound(source),
                # otherwise pandas takes an extra first field for the names of the rows
                index_col=False,
                low_memory=False,
                **EXACT,
                **({"header": 0 if named else None} | options),
            )
        except pd.errors.ParserWarning:
            raise TableError(
                "has more fields in its rows than in its first line; give every column a name."
            ) from None
        except pd.errors.ParserError as error:
            raise TableError(
                f"has a line with too many fields, or quotes that do not close: {error}".strip()
            ) from error


def head_of(source: Any, size: int = 2**16) -> bytes:
    """Return the first bytes of a text, without its compression."""
    if isinstance(source, io.BytesIO):
        return source.getvalue()[:size]
    with open_text(source, "rb") as file:
        return bytes(file.read(size))


def as_text(
    text: Sequence[Any], columns: Iterable[Any], na: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return options of pandas.read_csv that keep columns as text: 007 stays 007, NA is a name.

    `na` are more texts that stand for a missing value in the others.
    """
    texts = [""] if na == () else [*_MISSING, *(na or ())]
    if not text:
        return {"keep_default_na": False, "na_values": texts}
    missing = {name: texts for name in columns if name not in text}
    return {"dtype": dict.fromkeys(text, str), "keep_default_na": False, "na_values": missing}


def open_text(path: Path, mode: str, **options: Any) -> Any:
    """Open a file of text, also where it is compressed."""
    return COMPRESSED.get(path.suffix.lower(), open)(path, mode, **options)


def first_line(source: Any, options: Mapping[str, Any]) -> list[str]:
    """Return the fields of the first line, as pandas would name the columns."""
    try:
        line = pd.read_csv(
            rewound(source), nrows=1, header=None, dtype=str, keep_default_na=False, **options
        )
    except pd.errors.EmptyDataError:
        raise TableError(
            "is empty; it needs a line of column names and a line for each point."
        ) from None
    return [
        str(name) or f"Unnamed: {i}" for i, name in enumerate(line.iloc[0])
    ]  # pandas' name for no name


def _has_names(first: list[str], header: bool | None) -> bool:
    """Return whether the first line holds names.

    Numbers other than 0, 1, 2, … are more likely the first point.
    """
    if header is not None:
        return header
    if all(is_number(name) for name in first) and first != [str(i) for i in range(len(first))]:
        raise TableError(
            Message(
                f"has numbers in its first line ({', '.join(first[:3])}): set {{header=False}} if "
                "that is the first point, {header=True} if they are names."
            ),
            [("header", False)],
        )
    return True


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_unique(names: list[str]) -> None:
    """Raise if two columns have the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(f"has more than one column named {twice[0]!r}; rename them.")


def rewound(source: Any) -> Any:
    """Return the source, at its first byte if it is in memory."""
    if isinstance(source, io.BytesIO):
        source.seek(0)
    return source
