"""The rows of a table that decide what is done with it: its first, some of the others, its last.

They depend on the rows alone, and not on the blocks that a table is read in.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clustertrust._types import Array, Floats, Ints
from clustertrust.tables.values import as_numbers, known_texts

# Rows at the start, rows drawn from the others, and rows at the end, where totals stand.
HEAD, DRAWN, TAIL = 5000, 5000, 3
# Rows below the names that may belong to them.
MOST_HEAD = 3
# What the reasons of rows that are not clustered begin with.
LEFT_OUT = "left out: "


class LookedAt(NamedTuple):
    """Some rows of a table.

    Attributes
    ----------
    frame : the rows, in the order of the table
    positions : (rows,) where they stand in it
    n_rows : rows of the table
    """

    frame: pd.DataFrame
    positions: Ints
    n_rows: int


class Candidates(NamedTuple):
    """Rows of a block that may be looked at: where they stand, and a random number each."""

    frame: pd.DataFrame
    positions: Ints
    keys: Floats


class PreparedRows(NamedTuple):
    """Rows of a table as they are clustered.

    Attributes
    ----------
    X : (rows, features) those that are clustered: filled in and scaled
    unscaled : the same in their own units, NaN where a value is missing
    why : why each row of the table is left out, an empty text if it is clustered
    n_missing : missing values of those that are clustered, by column
    """

    X: Any
    unscaled: Any
    why: Array
    n_missing: dict[str, int]


def draw_rows(blocks: Iterable[pd.DataFrame]) -> LookedAt:
    """Return the rows to look at, in one pass over the blocks of a table."""
    n_rows, held = 0, 0
    parts: list[Candidates] = []
    for frame in blocks:
        parts.append(candidates(frame, n_rows))
        n_rows += len(frame)
        held += len(parts[-1].keys)
        if held > 3 * (HEAD + DRAWN):
            parts = [_smallest(parts, n_rows)]
            held = len(parts[0].keys)
    return looked_at(parts, n_rows)


def looked_at(parts: Sequence[Candidates], n_rows: int) -> LookedAt:
    """Return the rows to look at, among the candidates of all blocks."""
    best = _smallest(parts, n_rows)
    return LookedAt(best.frame.reset_index(drop=True), best.positions, n_rows)


def candidates(frame: pd.DataFrame, before: int) -> Candidates:
    """Return the rows of a block that may be looked at; `before` counts the rows above it.

    The random number of a row depends on its position alone; that of the first rows is -1.
    """
    positions = np.arange(before, before + len(frame))
    bits = np.random.PCG64(0)
    keys = np.random.Generator(bits.advance(before)).random(len(frame))
    keys[positions < HEAD] = -1.0
    return _chosen(Candidates(frame, positions, keys), before + len(frame))


def _smallest(parts: Sequence[Candidates], n_rows: int) -> Candidates:
    if len(parts) == 1:
        return _chosen(parts[0], n_rows)
    positions, keys = (np.concatenate([part[j] for part in parts]) for j in (1, 2))
    with warnings.catch_warnings():
        # pandas is about to change the type of columns that have no values in one of the blocks.
        warnings.simplefilter("ignore", FutureWarning)
        frame = pd.concat([part.frame for part in parts], ignore_index=True)
    return _chosen(Candidates(frame, positions, keys), n_rows)


def _chosen(rows: Candidates, n_rows: int) -> Candidates:
    """Return the rows with the smallest numbers, and those at the end."""
    if len(rows.keys) <= HEAD + DRAWN:
        return rows
    small = np.argpartition(rows.keys, HEAD + DRAWN - 1)[: HEAD + DRAWN]
    last = np.flatnonzero(rows.positions >= n_rows - TAIL)
    taken = np.union1d(small, last)
    return Candidates(rows.frame.iloc[taken], rows.positions[taken], rows.keys[taken])


def in_pieces(arrays: Iterable[Floats], size: int) -> Iterator[Floats]:
    """Cut rows that come in blocks of any size into pieces of one size; the last has the rest."""
    held: list[Floats] = []
    count = 0
    for array in arrays:
        held.append(array)
        count += len(array)
        if count < size:
            continue
        whole = held[0] if len(held) == 1 else np.concatenate(held)
        end = count - count % size
        for low in range(0, end, size):
            yield whole[low : low + size]
        held, count = [whole[end:]], count - end
    if count:
        yield held[0] if len(held) == 1 else np.concatenate(held)


# Rows that are not points

TOTALS = {"total", "totals", "grand total", "sum", "subtotal", "average", "mean", "all", "overall"}
TOTALS |= {"summe", "gesamt", "insgesamt", "mittelwert", "durchschnitt"}


def odd_rows(frame: pd.DataFrame, number_format: Any) -> list[tuple[int, str]]:
    """Return positions and reasons of rows that are not points: units first, totals last."""
    text = [j for j, kind in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(kind)]
    if not text or len(frame) <= MOST_HEAD:
        return []
    head = _head_of(frame, text, number_format)
    rows = [(row, f"{LEFT_OUT}{'units' if head == 1 else 'header'}") for row in range(head)]
    for row in range(len(frame) - 1, max(len(frame) - 4, 0), -1):
        cells = known_texts(frame.iloc[row, text].astype(object)).dropna().str.casefold()
        if not any(cell.rstrip(":") in TOTALS for cell in cells):
            break
        others = frame.iloc[: len(frame) - 3, text].astype(str).apply(lambda c: c.str.casefold())
        # Then it is a word of the table's own.
        if others.isin(TOTALS).any(axis=None):
            break
        rows.append((row, f"{LEFT_OUT}total row"))
    return sorted(rows)


def _head_of(frame: pd.DataFrame, text: Sequence[int], number_format: Any) -> int:
    """Return how many of the first rows belong to the names, such as units, or questions.

    They hold no number, and only they keep columns from being numbers: several rows keep several.
    """
    marks = number_format.decimal, number_format.thousands
    top = frame.head(MOST_HEAD + 200)
    are_words, are_numbers = [], [~top.isna().to_numpy()[:, j] for j in _others(top, text)]
    for j in text:
        texts = known_texts(top.iloc[:, j], number_format.na)
        numbers = as_numbers(texts, *marks).notna().to_numpy()
        words = texts.notna().to_numpy() & ~numbers
        if numbers[MOST_HEAD:].any() and not words[MOST_HEAD:].any():
            are_words.append(words[:MOST_HEAD])
            are_numbers.append(numbers)
    counts = np.sum(are_words, axis=0) if are_words else np.zeros(1)
    head = int(np.flatnonzero(counts).max(initial=-1)) + 1
    if head == 0 or np.any(are_numbers, axis=0)[:head].any():
        return 0
    return head if counts[:head].min() >= min(head, 2) else 0


def _others(frame: pd.DataFrame, columns: Sequence[int]) -> list[int]:
    return [j for j in range(frame.shape[1]) if j not in {*columns}]
