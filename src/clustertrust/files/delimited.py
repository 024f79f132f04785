"""Comma- and tab-separated text: whole files, and what reading in blocks and on Dask share."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from clustertrust.files.errors import TableError

__all__ = [
    "COMPRESSED",
    "EXACT",
    "as_text",
    "check_unique",
    "first_line",
    "is_number",
    "open_text",
    "read_delimited",
    "rewound",
]

# How to open compressed text, by suffix; the same suffixes as in pandas.
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

# Options of pandas.read_csv: its default was off in the last digit and crashed on 1e99999999999;
# from 3.1 on it is exact, and warns if asked to be.
EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    else {}
)


# Texts that pandas reads as a missing number.
# fmt: off
_MISSING = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
]
# fmt: on


def read_delimited(
    source: Any, separator: str, header: bool | None, text: Sequence[str]
) -> pd.DataFrame:
    """Read a frame from a path or from bytes in memory.

    `header` and `text` as in :class:`clustertrust.files.Reading`.
    """
    options: dict[str, Any] = {"sep": separator}  # the suffix of a path shows the compression
    first = first_line(source, options)
    named = _has_names(first, header)
    if named:
        check_unique(first)
        other = next((other for other in ";\t|" if other in first[0]), None)
        if len(first) == 1 and separator == "," and other is not None:
            raise TableError(
                f"has one column, {first[0]!r}; name the separator of its fields: "
                f"separator={other!r}."
            )
        options |= as_text([name for name in text if name in first], first)
    else:
        options |= as_text([int(name) for name in text if name.isdecimal()], range(len(first)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(
                rewound(source),
                header=0 if named else None,
                # otherwise pandas takes an extra first field for the names of the rows
                index_col=False,
                low_memory=False,
                **EXACT,
                **options,
            )
        except pd.errors.ParserWarning:
            raise TableError(
                "has more fields in its rows than in its first line; give every column a name."
            ) from None
        except pd.errors.ParserError as error:
            raise TableError(
                f"has a line with too many fields, or quotes that do not close: {error}".strip()
            ) from error
        except UnicodeDecodeError:
            _bytes_of(
                source
            ).decode()  # pandas counts from a chunk; this finds the place in the file
            raise


def as_text(text: Sequence[Any], columns: Iterable[Any]) -> dict[str, Any]:
    """Return options of pandas.read_csv that keep columns as text: 007 stays 007, NA is a name."""
    if not text:
        return {}
    missing = {name: _MISSING for name in columns if name not in text}
    return {"dtype": dict.fromkeys(text, str), "keep_default_na": False, "na_values": missing}


def _bytes_of(source: Any) -> bytes:
    if isinstance(source, io.BytesIO):
        return source.getvalue()
    with open_text(source, "rb") as file:
        return bytes(file.read())


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
            f"has numbers in its first line ({', '.join(first[:3])}): set header=False if that is "
            "the first point, header=True if they are names."
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
