"""Spreadsheets: how far their cells reach is counted before they are read, and text stays text."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast
from xml.parsers import expat

import numpy as np
import pandas as pd

from clustertrust._errors import Message, literal
from clustertrust._types import Array
from clustertrust.files.columns import UNNAMED, distinct
from clustertrust.files.errors import TableError
from clustertrust.files.layout import titles_above
from clustertrust.files.memory import check_memory, needed
from clustertrust.files.opening import rewound, size_of
from clustertrust.files.reading import Reading, Table
from clustertrust.storage import check_unpacked

# Rows of the largest sheet that a program can open.
MOST_ROWS = 2**20
# Bytes that a padded cell takes, and an empty row.
PER_GAP, PER_EMPTY_ROW = 24, 64
# Bytes that a byte of XML takes where all of it is held; xlsx files have their sheets streamed.
PER_BYTE = {"openpyxl": 3, "odf": 20}


def read_sheet(source: Any, reading: Reading, *, engine: str) -> Table:
    """Read the first sheet of a spreadsheet, or the one that is asked for."""
    _check_unpacked(source, engine)
    with pd.ExcelFile(rewound(source), engine=cast(Any, engine)) as book:
        if reading.sheet is not None and reading.sheet not in book.sheet_names:
            raise TableError(f"has no sheet {reading.sheet!r}; it has {book.sheet_names}.")
        sheet = book.sheet_names[0] if reading.sheet is None else reading.sheet
        EXTENTS[engine](source, str(sheet)).check(str(sheet))
        options: dict[str, Any] = {"keep_default_na": False, "na_values": [""]}
        cells = pd.read_excel(book, sheet_name=sheet, header=None, dtype=object, **options)
    cells = cells.dropna(how="all").dropna(axis=1, how="all")
    if cells.empty:
        raise TableError(f"has nothing in its sheet {sheet!r}.")
    names, skip = _names_of(cells, reading.skip_rows)
    end = len(cells) if reading.skip_rows is not None else _end_of(cells, skip + 1)
    # Titles may reach further to the right than the table.
    there = cells.iloc[skip:end].notna().any().to_numpy()
    names, renamed = distinct(
        [name for name, is_there in zip(names, there, strict=True) if is_there]
    )
    frame = cells.iloc[skip + 1 : end, there].set_axis(names, axis=1).reset_index(drop=True)
    notes: list[str | Message] = [*_which_of(book.sheet_names, str(sheet), reading)]
    notes += [renamed] * bool(renamed)
    for count, place in ((skip, "above the names"), (len(cells) - end, "below the table")):
        notes += [f"{count} line{'s' * (count > 1)} {place} left out"] * bool(count)
    return Table(frame.infer_objects(), notes=tuple(notes))


def _which_of(names: Sequence[Any], sheet: str, reading: Reading) -> list[Message]:
    """Return a note on the sheet that was read, and the option for the others."""
    others = [str(name) for name in names if name != sheet]
    if reading.sheet is not None or not others:
        return []
    text = f"sheet {sheet!r}, the first of {len(names)} "
    return [Message(f"{literal(text)}({{sheet=}} reads another)", {"sheet": others[0]})]


def _names_of(cells: pd.DataFrame, skip: int | None) -> tuple[list[str], int]:
    """Return the names of a sheet's columns, and the rows above the last row that has them.

    Names may take several rows between titles and values, where one of them has not all.
    """
    at = _names_at(cells) if skip is None else skip
    plain = _named(cells.iloc[at])
    begin = _begin_of(cells)
    gaps = np.flatnonzero(np.diff(cells.index[: begin + 1]) > 1)
    top = cells.iloc[gaps.max(initial=-1) + 1 : begin]
    top = top[np.maximum.accumulate(top.notna().sum(axis=1) > 1)]
    known = cells.loc[:, cells.iloc[begin:].notna().any()].iloc[at]
    if skip is not None or len(top) < 2 or (known.notna().all() and known.is_unique):
        return plain, at
    joined = _joined(top.to_numpy())
    if not all(joined) or len({*joined}) < len(joined):
        return plain, at
    return joined, begin - 1


def _joined(rows: Array) -> list[str]:
    """Return names by all rows that have parts of them, merged cells first.

    A merged cell has its text in the first of the columns that it spans.
    """
    *above, last = [[None if pd.isna(cell) else str(cell) for cell in row] for row in rows]
    parts = [[name] if name else [] for name in last]
    for row in above[::-1]:
        spanning = None
        for j, cell in enumerate(row):
            spanning = cell or spanning
            if spanning and (cell or parts[j]) and (None in last or last.count(last[j]) > 1):
                parts[j].insert(0, spanning)
    return [" ".join(names) for names in parts]


def _named(row: pd.Series) -> list[str]:
    return [f"{UNNAMED}{j}" if pd.isna(name) else str(name) for j, name in enumerate(row)]


def _are_values(cells: pd.DataFrame) -> pd.DataFrame:
    """Return (rows, columns) which cells hold values, of columns that hold no text."""
    is_value = cells.notna() & ~cells.map(lambda cell: isinstance(cell, str))
    lower = slice(len(cells) // 3, None)
    return is_value.loc[:, is_value.iloc[lower].sum() > cells.iloc[lower].notna().sum() / 2]


def _begin_of(cells: pd.DataFrame) -> int:
    """Return the first row of a sheet where columns that hold no text begin to."""
    starts = _are_values(cells).mean(axis=1).to_numpy() >= 0.5
    return int(np.argmax(starts)) if starts.any() else 0


def _end_of(cells: pd.DataFrame, begin: int) -> int:
    """Return where notes below the values begin: rows without any, from an empty row on."""
    has_values = _are_values(cells).any(axis=1).to_numpy()
    after = begin + int(np.flatnonzero([True, *has_values[begin:]])[-1])
    gaps = np.flatnonzero(np.diff(cells.index) > 1) + 1
    return int(min(gaps[gaps >= after], default=len(cells))) if has_values.any() else len(cells)


def _names_at(cells: pd.DataFrame) -> int:
    """Return which row of a sheet holds the names: the first full one above the values.

    Sentences above a table may fill several cells of a row, or all of them above an empty row.
    """
    counts = cells.notna().sum(axis=1).to_numpy()
    begin = _begin_of(cells)
    full = np.flatnonzero(counts[:begin] >= np.median(counts[begin:]))
    gaps = np.flatnonzero(np.diff(cells.index[: begin + 1]) > 1)
    below = full[full > gaps.max(initial=-1)]
    full = below if below.size else full
    return int(full[0]) if full.size else titles_above(counts.tolist())


# How far the cells of a sheet reach


@dataclass
class Extent:
    """How far the cells of a sheet reach.

    Attributes
    ----------
    last : number of the last row that the sheet has
    rows, columns : of the rectangle around all values
    filled : number of values
    """

    last: int = 0
    rows: int = 0
    columns: int = 0
    filled: int = 0

    def add(self, row: int, column: int, count: int = 1) -> None:
        """Count values that end in a row and column."""
        self.rows, self.columns = max(self.rows, row), max(self.columns, column)
        self.filled += count

    def check(self, sheet: str) -> None:
        """Raise if the sheet takes more memory than is allowed."""
        if self.last > MOST_ROWS:
            raise TableError(
                f"has row {self.last:,} in its sheet {sheet!r}, and sheets have at most "
                f"{MOST_ROWS:,}. Delete the cells so far down, or save the table as CSV."
            )
        cells = self.rows * self.columns
        need = needed(min(self.rows, self.filled), self.filled, objects=self.filled)
        need += self.last * PER_EMPTY_ROW + cells * PER_GAP
        corner = f"{_letters(self.columns)}{self.rows}"
        check_memory(need, f"the cells of its sheet {sheet!r}, which reach to {corner},")


def _letters(column: int) -> str:
    """Return a column as spreadsheets name it: 1 is A, 28 is AB.

    Examples
    --------
    >>> from clustertrust.files.sheets import _letters
    >>> _letters(16384)
    'XFD'
    """
    letters = ""
    while column > 0:
        column, digit = divmod(column - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def _number(cell: str) -> int:
    """Return the number of the column of a cell such as XFD12."""
    number = 0
    for letter in re.match("[A-Z]{0,7}", cell.upper())[0]:  # type: ignore[index]
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _opened(source: Any) -> zipfile.ZipFile:
    return zipfile.ZipFile(rewound(source))


def _check_unpacked(source: Any, engine: str) -> None:
    """Raise for a file that unpacks to more than is trusted, or than fits."""
    with _opened(source) as archive:
        members = archive.infolist()
        check_unpacked(members, size_of(source))
    held = [member for member in members if "/worksheets/" not in member.filename]
    size = sum(member.file_size for member in held if member.filename.endswith(".xml"))
    check_memory(PER_BYTE[engine] * size, f"its {size:,} bytes of XML")


def _extent_of_xlsx(source: Any, sheet: str) -> Extent:
    """Count the cells of a sheet in an .xlsx file."""
    extent = Extent()
    row = column = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal row, column
        name = name.rpartition(" ")[2]
        if name == "row":
            row, column = int(attributes.get("r", row + 1)), 0
            extent.last = max(extent.last, row)
        elif name == "c":
            column = _number(attributes["r"]) if "r" in attributes else column + 1
        elif name in ("v", "is"):
            extent.add(row, column)

    with _opened(source) as archive:
        for part in _parts(archive, sheet):
            with archive.open(part) as file:
                _parse(file, start)
    return extent


def _parts(archive: zipfile.ZipFile, sheet: str) -> list[str]:
    """Return the members of an .xlsx file that hold a sheet: all sheets where it is not found."""
    sheets = [name for name in archive.namelist() if "/worksheets/" in name and "_rels" not in name]
    try:
        book = _elements(archive, "xl/workbook.xml", "sheet")
        links = _elements(archive, "xl/_rels/workbook.xml.rels", "Relationship")
    except KeyError:
        return sheets
    targets = {link.get("Id", ""): link.get("Target", "") for link in links}
    keys = [element.get("id", "") for element in book if element.get("name") == sheet]
    target = targets.get(keys[0], "") if keys else ""
    name = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    return [name] if name in archive.namelist() else sheets


def _elements(archive: zipfile.ZipFile, member: str, wanted: str) -> list[dict[str, str]]:
    """Return the attributes of the elements of a name, without namespaces."""
    attributes: list[dict[str, str]] = []

    def start(name: str, values: dict[str, str]) -> None:
        if name.rpartition(" ")[2] == wanted:
            attributes.append({key.rpartition(" ")[2]: value for key, value in values.items()})

    with archive.open(member) as file:
        _parse(file, start)
    return attributes


def _extent_of_ods(source: Any, sheet: str) -> Extent:
    """Count the cells of a sheet in an .ods file, where rows and columns may be repeated."""
    extent = Extent()
    inside, width, repeats, row, filled = False, 0, 1, 0, 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal inside, width, repeats, filled
        name = name.rpartition(" ")[2]
        short = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        if name == "table":
            inside = short.get("name") == sheet
        elif inside and name == "table-row":
            repeats, width, filled = int(short.get("number-rows-repeated", 1)), 0, 0
        elif inside and name in ("table-cell", "covered-table-cell"):
            columns = int(short.get("number-columns-repeated", 1))
            width += columns
            if "value-type" in short:
                filled += columns
                extent.columns = max(extent.columns, width)

    def end(name: str) -> None:
        nonlocal row
        if inside and name.endswith(" table-row"):
            row += repeats
            if filled:
                extent.add(row, 0, filled * repeats)

    with _opened(source) as archive, archive.open("content.xml") as file:
        _parse(file, start, end)
    return extent


EXTENTS = {"openpyxl": _extent_of_xlsx, "odf": _extent_of_ods}


def _parse(file: IO[bytes], start: Any, end: Any = None) -> None:
    """Walk through XML without holding it; names come with their namespaces."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.ParseFile(file)
    except expat.ExpatError as error:
        raise TableError(f"is damaged: {error}.") from error


# What no spreadsheet can hold: its XML has no such characters.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def write_sheet(table: pd.DataFrame, path: Path, engine: Any) -> None:
    """Write a spreadsheet; text stays text, also where it begins like a formula."""
    _refuse_control(table, path.name)
    # In memory first: an archive that cannot be finished complains when it is collected.
    written = io.BytesIO()
    with pd.ExcelWriter(written, engine=engine) as writer:
        table.to_excel(writer, index=False)
        for sheet in writer.sheets.values() if engine == "openpyxl" else ():
            for cell in (cell for row in sheet.iter_rows() for cell in row):
                # A person's text that begins with = would be run by whoever opens the file.
                if cell.data_type == "f":
                    cell.data_type, cell.quotePrefix = "s", True
    path.write_bytes(written.getvalue())


def _refuse_control(table: pd.DataFrame, file: str) -> None:
    """Raise for a text with characters that no spreadsheet can hold."""
    remedy = "which a spreadsheet cannot hold; write another format, such as .csv."
    for j, name in enumerate(table.columns):
        if _CONTROL.search(str(name)):
            raise ValueError(f"{file}: column {name!r} has a control character, {remedy}")
        column = table.iloc[:, j]
        if pd.api.types.is_numeric_dtype(column.dtype):
            continue
        for i, value in enumerate(column):
            if isinstance(value, str) and _CONTROL.search(value):
                raise ValueError(
                    f"{file}: row {i} of column {str(name)!r} has a control character "
                    f"({value[:40]!r}), {remedy}"
                )
