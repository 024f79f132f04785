"""How a file of text is laid out: its encoding, what separates fields, lines above the names."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clustertrust.files.errors import TableError

__all__ = ["SEPARATORS", "Dialect", "Layout", "encoding_of", "layout_of", "titles_above"]

# Words that may be typed for a separator.
SEPARATORS = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
SEPARATORS |= {"space": r"\s+", "spaces": r"\s+", " ": r"\s+", "whitespace": r"\s+"}
_FOUND = {
    "\t": "a tab separates",
    ";": "a semicolon separates",
    "|": "a bar separates",
    r"\s+": "blanks separate",
    ",": "a comma separates",
}
LINES = 100  # of the file, to know it by
MOST_TITLES = 40  # lines of prose above the names
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Dialect:
    """How a table was written as text.

    Attributes
    ----------
    format : name of `FORMATS`
    separator : of its fields, as pandas takes it
    decimal : the mark before decimals
    """

    format: str
    separator: str
    decimal: str

    def options(self, format: str, separator: str) -> dict[str, Any]:
        """Return options of to_csv to write a format, whose own separator is given.

        Another format has its own separator, but decimal commas would be quoted between commas.
        """
        if format == self.format and len(self.separator) == 1:
            separator = self.separator
        elif separator == self.decimal:
            separator = ";"
        return {"sep": separator, "decimal": self.decimal}


@dataclass(frozen=True)
class Layout:
    """How a text is laid out.

    Attributes
    ----------
    separator : of its fields, as pandas takes it
    skip : lines above the one with the names
    unnamed : whether rows have one field more than there are names, their own name first
    notes : what of this was found and not told
    """

    separator: str
    skip: int
    unnamed: bool
    notes: list[str]


def encoding_of(head: bytes) -> str:
    """Return the encoding that the first bytes of a file show."""
    for mark, encoding in BOMS:
        if head.startswith(mark):
            return encoding
    zeros = [head[0:4096:2].count(0), head[1:4096:2].count(0)]
    if max(zeros) > max(4, 0.3 * len(head[:4096]) / 2):
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    return "utf-8"


def layout_of(head: bytes, encoding: str, reading: Any, default: str) -> Layout:
    """Return the layout of a file by its first bytes; what `reading` has is taken from there."""
    text = _decoded(head, encoding)
    if "\0" in text:
        raise TableError("holds bytes that are not text; is it another format?")
    lines = text.splitlines()
    if len(head) >= 2**16 and len(lines) > 1:
        lines.pop()  # it may be cut
    given = SEPARATORS.get(reading.separator, reading.separator) if reading.separator else None
    notes = [] if encoding.startswith("utf-8") or reading.encoding else [f"as {encoding} text"]
    separator = given or _separator(lines[:LINES], default)
    if given is None and separator != default:
        notes.append(f"{_FOUND[separator]} the fields")
    counts = _counts(lines[:LINES], separator)
    skip = reading.skip_rows
    if skip is None:
        skip = titles_above(counts) if reading.header is not False else 0
        if skip:
            notes.append(f"{skip} line{'s' * (skip > 1)} above the names left out")
    return Layout(separator, skip, _is_unnamed(counts, skip, reading), notes)


def titles_above(counts: Sequence[int]) -> int:
    """Return how many of the first lines are titles, by the fields that each line has.

    Titles have fewer fields than nearly all lines below them, and one or two as a rule.
    """
    known = [count for count in counts if count]
    if len(known) < 4:
        return 0
    usual, times = Counter(known[len(known) // 3 :]).most_common(1)[0]
    if usual < 3 or times < 0.6 * len(known[len(known) // 3 :]):
        return 0
    first = next((j for j, count in enumerate(counts) if count >= usual - 1), 0)
    below = [count for count in counts[:first] if count]
    return first if below and max(below) <= max(1, usual // 2) and first <= MOST_TITLES else 0


def _decoded(head: bytes, encoding: str) -> str:
    """Return the first bytes as text; a character that was cut at their end is left out."""
    decoder = codecs.getincrementaldecoder(encoding)()
    return decoder.decode(head, final=False)


def _is_unnamed(counts: Sequence[int], skip: int, reading: Any) -> bool:
    """Return whether nearly all rows have one field more than the line of names."""
    below = [count for count in counts[skip:] if count]
    if len(below) < 3 or reading.header is False:
        return False
    return below[0] >= 2 and all(count == below[0] + 1 for count in below[1:])


def _counts(lines: Sequence[str], separator: str) -> list[int]:
    """Return fields in each line that is not empty at their ends; 0 for an empty line."""
    if separator == r"\s+":
        return [len(re.findall(r'"[^"]*"|\S+', line)) for line in lines]
    if len(separator) != 1:
        return [len(re.split(separator, line)) for line in lines]
    counts = []
    try:
        for row in csv.reader(lines, delimiter=separator):
            filled = [cell.strip() for cell in row]
            title = len(filled) > 2 and sum(map(bool, filled)) == 1
            counts.append(1 if title and filled[0] else len(row) if any(filled) else 0)
    except csv.Error:
        return [1] * len(lines)
    return counts


def _separator(lines: Sequence[str], default: str) -> str:
    """Return what separates the fields: what gives nearly all lines the same number of them."""
    best, found = (0.0, 0), default
    for separator in dict.fromkeys((default, ",", ";", "\t", "|", r"\s+")):
        counts = [count for count in _counts(lines, separator) if count]
        if not counts:
            continue
        usual, times = Counter(counts).most_common(1)[0]
        same = times + (counts[0] == usual - 1)
        rank = (same / len(counts), usual)
        if separator == r"\s+":  # words of a text are separated by blanks too
            rank = (rank[0] if same == len(counts) and len(counts) > 2 else 0.0, 0)
        if separator == default and usual > 1 and rank[0] >= 0.9 and counts[0] >= max(2, usual - 1):
            return default
        if usual > 1 and rank > best and rank[0] >= 0.6:
            best, found = rank, separator
    return found
