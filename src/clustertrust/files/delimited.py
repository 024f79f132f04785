"""Comma- and tab-separated text: whole files, and what reading in blocks and on Dask share."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from clustertrust._errors import Message
from clustertrust.files.columns import UNNAMED, distinct
from clustertrust.files.errors import TableError
from clustertrust.files.layout import Layout, layout_of, try_encodings
from clustertrust.files.memory import allowed, check_memory, needed
from clustertrust.files.opening import COMPRESSED, head_of, open_text, opened, rewound, size_of
from clustertrust.files.reading import Append, Dialect, Reading, Table
from clustertrust.tables.values import as_numbers, decimal_of, known_texts

Parse = Callable[[Mapping[str, Any]], pd.DataFrame]
COMMA = "decimal commas"


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


def read_delimited(source: Any, reading: Reading, separator: str, format: str) -> Table:
    """Read a table from a path or from bytes in memory; `separator` is what the `format` says."""
    head = head_of(source)
    if head.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html")):
        raise TableError("is a web page, not a table; download the file itself.")
    check_memory(needed_by_text(source, as_written=reading.as_written), "its rows")

    def read(encoding: str) -> Table:
        layout = layout_of(head, encoding, reading, separator)
        options: dict[str, Any] = {"sep": layout.separator, "encoding": encoding}
        options |= {"skiprows": layout.skip} if layout.skip else {}
        top = top_of(first_line(source, options), layout, reading)
        options |= {"header": 0, "names": top.names} if top.has_names else {"header": None}
        options |= _types(reading, top)

        def parse(how: Mapping[str, Any]) -> pd.DataFrame:
            return parse_csv(rewound(source), how)

        frame = parse(options)
        marks = {} if reading.as_written else marks_of(frame, reading, options, parse)
        if marks:
            frame = parse(options | marks)
        dialect = Dialect(format, layout.separator, marks.get("decimal", "."))
        notes = notes_of(layout, top, reading, marks, frame)
        return Table(frame, notes=tuple(notes), dialect=dialect)

    return try_encodings(head, reading, read)


class Top(NamedTuple):
    """The first line of a text.

    Attributes
    ----------
    names : of the columns, or their positions
    has_names : whether the columns have names; else the line is a row
    note : on names that occur twice
    """

    names: list[str]
    has_names: bool
    note: str = ""


def top_of(first: list[str], layout: Layout, reading: Reading) -> Top:
    """Return the names of the columns, by the fields of the first line."""
    if not has_names(first, reading.header):
        return Top([str(j) for j in range(len(first))], has_names=False)
    names, note = distinct([f"{UNNAMED}0"] * layout.unnamed + first)
    return Top(names, True, note)


def notes_of(
    layout: Layout, top: Top, reading: Reading, marks: Mapping[str, Any], frame: pd.DataFrame
) -> list[str | Message]:
    """Return what was found about a text, and not given; `frame` has its rows, or the first."""
    notes: list[str | Message] = [*layout.notes, *([top.note] if top.note else [])]
    if not top.has_names and reading.header is None:
        notes.append(WITHOUT_NAMES)
    if "decimal" in marks and not reading.has_marks:
        notes.append(COMMA)
    elif top.has_names and reading.header is None:
        notes += doubt_of_names(frame)
    return notes


def _types(reading: Reading, top: Top) -> dict[str, Any]:
    """Return options of pandas.read_csv for what is kept as text and what is missing."""
    if reading.as_written:
        return {"dtype": str, "keep_default_na": False}
    text = [name for name in reading.text if name in top.names]
    if top.has_names:
        return as_text(text, top.names, reading.na)
    return as_text([int(name) for name in text], range(len(top.names)), reading.na)


def marks_of(
    frame: pd.DataFrame, reading: Reading, options: Mapping[str, Any], parse: Parse
) -> dict[str, Any]:
    """Return options of pandas.read_csv for marks in numbers: those given, or that a frame shows.

    The frame was read without marks, with some `options`; `parse` reads it with others.
    """
    marks: dict[str, Any] = {"decimal": reading.decimal, "thousands": reading.thousands}
    if not reading.has_marks and _has_decimal_commas(frame, reading):
        marks = {"decimal": ",", "thousands": "."}
    marks = {name: mark for name, mark in marks.items() if mark}
    if "thousands" in marks:
        floats = [name for name in frame if pd.api.types.is_float_dtype(frame[name].dtype)]
        if marks["thousands"] == "." and floats:
            # Numbers do not show whether 45.0 or 45.000 was written.
            as_written = {**options.get("dtype", {}), **dict.fromkeys(floats, str)}
            frame = parse({**options, "dtype": as_written})
        marks |= _dates_as_text(frame, marks["thousands"], options)
    return marks


def doubt_of_names(frame: pd.DataFrame) -> list[Message]:
    """Return a note if names look like the first point: decimals, or values of their columns."""
    names = [str(name) for name in frame.columns]
    are_decimals = any(is_number(name) and not float(name).is_integer() for name in names)
    if not are_decimals and not _are_values(names, frame):
        return []
    shown = ", ".join(names[:4]) + ", …" * (len(names) > 4)
    note = Message("Please check: if it is the first point, use {header=False}")
    return [note.after(f"the first line as names ({shown}). ")]


def _are_values(names: Sequence[str], frame: pd.DataFrame) -> bool:
    """Return whether each name could be a value: a number, or one of the texts that repeat."""
    repeat = False
    for name, (_, column) in zip(names, frame.items(), strict=True):
        if not _is_text(column):
            if not is_number(name):
                return False
        elif column.nunique() <= len(column) / 2:
            if not (column == name).any():
                return False
            repeat = True
    return repeat


def _is_text(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column.dtype)


def _has_decimal_commas(frame: pd.DataFrame, reading: Reading) -> bool:
    """Return whether texts of the table prove decimal commas, and none a decimal point."""
    proven = set()
    for name in frame:
        column = frame[name]
        if _is_text(column):
            texts = known_texts(column.head(2000), reading.na).dropna()
            if len(texts) and as_numbers(texts, ",").notna().mean() >= 0.9:
                proven.add(decimal_of(texts.unique()))
        elif pd.api.types.is_float_dtype(column.dtype) and not _in_thousandths(column):
            proven.add(".")
    return proven - {None} == {","}


def _dates_as_text(frame: pd.DataFrame, mark: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return an option of pandas.read_csv that keeps texts whose marks separate no thousands.

    Without it pandas reads 31.12.2024 as 31122024, and 45.0 as 450.
    """
    no_thousands = rf"\d{re.escape(mark)}(?!\d{{3}}(?!\d))\d"
    texts = [
        name
        for name, column in frame.items()
        if _is_text(column) and column.astype(str).str.contains(no_thousands, regex=True).any()
    ]
    return {"dtype": {**options.get("dtype", {}), **dict.fromkeys(texts, str)}}


def _in_thousandths(column: pd.Series) -> bool:
    """Return whether numbers may be 1.234, one thousand two hundred and thirty-four."""
    values = column.dropna()
    return bool((values.mul(1000).round(6) % 1 == 0).all() and (values.abs() < 1000).all())


def parse_csv(text: Any, options: Mapping[str, Any], place: str = "") -> pd.DataFrame:
    """Return text as a frame; errors say where in the file it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            # Without index_col pandas takes an extra first field for the names of the rows.
            frame: pd.DataFrame = pd.read_csv(
                text, index_col=False, low_memory=False, **EXACT, **options
            )
        except (pd.errors.ParserWarning, pd.errors.ParserError) as error:
            if isinstance(error, pd.errors.ParserWarning) and not place:
                raise TableError(
                    "has more fields in its rows than in its first line; give every column a name."
                ) from None
            problem = str(error).strip().removeprefix("Error tokenizing data. C error: ")
            if isinstance(error, pd.errors.ParserWarning):
                problem = "a row has more fields than there are columns"
            raise TableError(
                f"has a line with too many fields, or quotes that do not close{place}: {problem}. "
                "Correct the file there."
            ) from error
    return frame


def size_of_text(path: Path, enough: int) -> int:
    """Return the bytes of a text; compressed text is unpacked until there are enough of them."""
    size = path.stat().st_size
    if path.suffix.lower() not in COMPRESSED or size > enough:
        return size
    with open_text(path, "rb") as file:
        size = 0
        while size <= enough and (part := file.read(2**20)):
            size += len(part)
    return size


# Bytes that a field of text takes where it is parsed with all others.
PER_FIELD = 24
# The most that a byte of text can take: a row of one number.
DENSEST = 300


def needed_by_text(source: Any, *, as_written: bool = True) -> int:
    """Return roughly the bytes that text takes as a table; counting ends where it is too much."""
    packed = isinstance(source, Path) and source.suffix.lower() in COMPRESSED
    size = size_of(source)
    if not packed and size * DENSEST <= allowed():
        return size * DENSEST
    letters, rows, need, marks = 0, 0, 0, Counter[bytes]()
    with opened(source) as file:
        while need <= allowed() and (part := file.read(2**20)):
            letters, rows = letters + len(part), rows + part.count(b"\n")
            marks.update({mark: part.count(mark) for mark in (b",", b";", b"\t", b"|", b" ")})
            fields = rows + max(marks.values())
            objects = fields * as_written
            need = needed(rows, fields, letters=letters, objects=objects) + PER_FIELD * fields
    return need


def as_text(
    text: Sequence[Any], columns: Iterable[Any], na: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return options of pandas.read_csv that keep columns as text: 007 stays 007, NA is a name.

    `na` are more texts that stand for a missing value in the others.
    """
    if not text:
        return {"keep_default_na": False, "na_values": missing_texts(na)}
    kinds = dict.fromkeys(text, str)
    missing = {name: missing_texts(na) for name in columns if name not in kinds}
    return {"dtype": kinds, "keep_default_na": False, "na_values": missing}


def missing_texts(na: Sequence[str] | None) -> list[str]:
    """Return the texts that stand for a missing value: the usual ones and `na`, which may be ()."""
    return [""] if na == () else [*_MISSING, *(na or ())]


def first_line(source: Any, options: Mapping[str, Any]) -> list[str]:
    """Return the fields of the first line, as pandas would name the columns."""
    try:
        line = pd.read_csv(
            rewound(source), nrows=1, header=None, dtype=str, keep_default_na=False, **options
        )
    except pd.errors.EmptyDataError:
        skipped = options.get("skiprows")
        raise TableError(
            Message("has no line below those that {skip_rows=} leaves out.", {"skip_rows": skipped})
            if skipped
            else "is empty; it needs a line of column names and a line for each point."
        ) from None
    return [str(name) or f"{UNNAMED}{j}" for j, name in enumerate(line.iloc[0])]


# What is said of a first line of numbers that no names are like.
WITHOUT_NAMES = Message("the first line as a point ({header=True} takes it as names)")


def has_names(first: list[str], header: bool | None) -> bool:
    """Return whether the first line holds names: integers that rise may be such, as years are."""
    if header is None and is_point(first):
        are_whole = all(text.strip().isdecimal() for text in first)
        if not are_whole or not all(int(a) < int(b) for a, b in pairwise(first)) or len(first) < 2:
            return False
        raise TableError(
            Message(
                f"has numbers in its first line ({', '.join(first[:3])}): set {{header=False}} if "
                "that is the first point, {header=True} if they are names."
            ),
            [("header", False)],
        )
    return header is not False


def is_point(first: list[str]) -> bool:
    """Return whether the first line is more likely a point than names: numbers, but 0, 1, 2, …."""
    return all(map(is_number, first)) and first != [str(j) for j in range(len(first))]


def is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def append_text(
    path: Path, separator: str, format: str, dialect: Dialect | None = None
) -> Iterator[Append]:
    """Write frames as text; the suffix sets the compression."""
    first = True
    options = {"sep": separator} if dialect is None else dialect.options(format, separator)

    def write(frame: pd.DataFrame) -> None:
        nonlocal first
        frame.to_csv(file, index=False, header=first, lineterminator="\n", **options)
        first = False

    with open_text(path, "wt", newline="", encoding="utf-8") as file:
        yield write
