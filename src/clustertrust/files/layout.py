"""How a file of text is laid out: its encoding, what separates fields, lines above the names."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clustertrust._types import Result
from clustertrust.files.errors import TableError
from clustertrust.files.reading import BLANKS, Reading

_NAMES = {"\t": "tabs", ";": "semicolons", "|": "bars", BLANKS: "blanks", ",": "commas"}
# Lines at the start of a file that show its layout.
LINES = 100
# Lines of prose above the names.
MOST_TITLES = 40
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Layout:
    """How a text is laid out.

    Attributes
    ----------
    separator : of its fields, as pandas takes it
    skip : lines above the one with the names
    unnamed : whether rows have one field more than there are names, their own name first
    notes : what of this was found and not given
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


def try_encodings(head: bytes, reading: Reading, read: Callable[[str], Result]) -> Result:
    """Return what `read` makes of an encoding: of that given, or of the first that fits."""
    if reading.encoding is not None:
        return read(reading.encoding)
    for encoding in (encoding_of(head), "cp1252"):
        try:
            return read(encoding)
        except UnicodeDecodeError:
            continue
    return read("latin-1")  # it has a letter for every byte


def layout_of(head: bytes, encoding: str, reading: Reading, default: str) -> Layout:
    """Return the layout of a file by its first bytes; what `reading` has is taken from there."""
    text = _decoded(head, encoding)
    if "\0" in text:
        raise TableError("holds bytes that are not text; is it another format?")
    lines = text.splitlines()
    if len(head) >= 2**16 and len(lines) > 1:
        lines.pop()  # it may be cut
    lines = lines[:LINES]
    notes = [] if encoding.startswith("utf-8") or reading.encoding else [f"as {encoding} text"]
    separator = reading.between or _separator(lines, default)
    if not reading.between and separator != default:
        notes.append(f"{_NAMES[separator]} between the fields")
    counts = _counts(lines, separator)
    skip = reading.skip_rows
    if skip is None:
        skip = titles_above(counts) if reading.header is not False else 0
        if skip:
            notes.append(f"{skip} line{'s' * (skip > 1)} above the names left out")
    return Layout(separator, skip, _is_unnamed(counts, skip, reading), notes)


def titles_above(counts: Sequence[int]) -> int:
    """Return how many of the first lines are titles, by the fields that each line has.

    Titles have fewer fields than nearly all lines below them: one or two as a rule, or more where
    an empty line is between them and the names.
    """
    filled = [count for count in counts if count]
    if len(filled) < 4:
        return 0
    later = filled[len(filled) // 3 :]
    usual, times = Counter(later).most_common(1)[0]
    if usual < 3 or times < 0.6 * len(later):
        return 0
    first = next((j for j, count in enumerate(counts) if count >= usual - 1), 0)
    below = [count for count in counts[:first] if count]
    few = bool(below) and (max(below) <= max(1, usual // 2) or counts[first - 1] == 0)
    return first if few and first <= MOST_TITLES else 0


def _decoded(head: bytes, encoding: str) -> str:
    """Return the first bytes as text; a character that was cut at their end is left out."""
    decoder = codecs.getincrementaldecoder(encoding)()
    return decoder.decode(head, final=False)


def _is_unnamed(counts: Sequence[int], skip: int, reading: Reading) -> bool:
    """Return whether nearly all rows have one field more than the line of names."""
    below = [count for count in counts[skip:] if count]
    if len(below) < 3 or reading.header is False:
        return False
    return below[0] >= 2 and all(count == below[0] + 1 for count in below[1:])


def _counts(lines: Sequence[str], separator: str) -> list[int]:
    """Return fields in each line that is not empty at their ends; 0 for an empty line."""
    if separator == BLANKS:
        return [len(re.findall(r'"[^"]*"|\S+', line)) for line in lines]
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
    best_rank, best = (0.0, 0), default
    for separator in dict.fromkeys((default, ",", ";", "\t", "|", BLANKS)):
        counts = [count for count in _counts(lines, separator) if count]
        if not counts:
            continue
        usual, times = Counter(counts).most_common(1)[0]
        # A first line of one field is no list of names without that of the rows.
        same = times + (2 <= counts[0] == usual - 1)
        rank = (same / len(counts), usual)
        if separator == BLANKS:  # words of a text are separated by blanks too
            rank = (rank[0] if same == len(counts) and len(counts) > 2 else 0.0, 0)
        if separator == default and usual > 1 and rank[0] >= 0.9 and counts[0] >= max(2, usual - 1):
            return default
        if usual > 1 and rank > best_rank and rank[0] >= 0.6:
            best_rank, best = rank, separator
    return best
