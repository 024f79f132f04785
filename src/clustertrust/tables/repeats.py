"""Columns that say again what others say: copies, codes of names, logarithms, sums."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clustertrust._types import Bools, Floats
from clustertrust.tables.column import Columns
from clustertrust.tables.column_doubts import Doubt
from clustertrust.tables.relations import MOST_COMPARED
from clustertrust.tables.units import series_of
from clustertrust.tables.values import ENOUGH, are_whole

# Correlation of columns, or of their ranks, that say the same.
SAME = 0.99999
# Numbers among which one is a code, in the mean.
CLOSE = 10
# Difference of a sum, as a share of the largest.
EXACT = 1e-6
# Share of the rows below which different values repeat, so that equal groups cannot be chance.
REPEATED = 0.5


def repeated(columns: Columns) -> dict[str, Doubt]:
    """Doubt columns that say the same as one before them, or add up others: distances count both.

    Two columns say the same if their numbers, or ranks of these, are in line, or if each value of
    one occurs with one value of the other.
    """
    used = columns.plan.used
    names = [column.name for column in used]
    if len(names) > MOST_COMPARED or len(columns.numbers) < ENOUGH:
        return {}
    is_number = np.array([column.use == "number" for column in used])
    numbers = [name for name, is_one in zip(names, is_number, strict=True) if is_one]
    same = _same_groups(columns, is_number)
    same[np.ix_(is_number, is_number)] |= _in_line(columns.numbers)
    doubts: dict[str, Doubt] = {}
    for i, j in zip(*np.nonzero(np.triu(same, 1)), strict=True):
        if series_of((names[i], names[j])):
            continue
        # A code says less than the name that it stands for.
        again, other = (i, j) if is_number[i] and not is_number[j] else (j, i)
        reason = f"the same information as {names[other]}, which counts twice"
        if names[other] not in doubts:
            doubts.setdefault(names[again], Doubt(reason, "drop"))
    sums = {numbers[j]: parts for j, parts in _sums(columns.numbers).items()}
    for name, parts in sums.items():
        between = f"{numbers[parts.start]} to {numbers[parts.stop - 1]}"
        doubts.setdefault(name, Doubt(f"the sum of {between}, which count twice", "drop"))
    return doubts


def _in_line(numbers: Floats) -> Bools:
    """Return (p, p) which columns are in line, or their ranks are; missing values are the mean.

    The ranks of series that only rise, or only fall, say nothing.
    """
    known = np.isfinite(numbers)
    ranks = pd.DataFrame(numbers).rank().to_numpy(copy=True)  # that of pandas 3 is read-only
    steps = np.diff(ranks, axis=0)
    ranks[:, (steps > 0).all(axis=0) | (steps < 0).all(axis=0)] = np.nan
    alike = np.zeros((numbers.shape[1],) * 2, dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        for values in (numbers, ranks):
            means = np.where(known, values, 0.0).sum(axis=0) / known.sum(axis=0)
            filled = np.where(known, values, means)
            alike |= np.abs(np.atleast_2d(np.corrcoef(filled.T))) >= SAME
    return alike


def _same_groups(columns: Columns, is_number: Bools) -> Bools:
    """Return (columns, columns) which categories, or codes of them, are the same groups of rows.

    Integers close together may be codes; other numbers may be equal in a group by what they are.
    """
    numbers, texts = iter(columns.numbers.T), iter(columns.texts)
    keys: list[bytes | int] = []
    for j, is_one in enumerate(is_number):
        values = next(numbers) if is_one else next(texts)
        codes, different = pd.factorize(values)
        repeats = 1 < len(different) <= REPEATED * len(codes)
        close = not is_one or (
            are_whole(np.asarray(different)) and np.ptp(different) < CLOSE * len(different)
        )
        keys.append(codes.tobytes() if repeats and close else j)
    groups = pd.factorize(np.array(keys, dtype=object))[0]
    return np.asarray((groups[:, None] == groups) & ~np.logical_and.outer(is_number, is_number))


def _sums(numbers: Floats) -> dict[int, slice]:
    """Return which columns are the sum of two or more that stand together, and of which."""
    known = numbers[np.isfinite(numbers).all(axis=1)]
    if len(known) < ENOUGH:
        return {}
    totals = np.hstack([np.zeros((len(known), 1)), np.cumsum(known, axis=1)])
    sums: dict[int, slice] = {}
    for j, column in enumerate(known.T):
        if np.ptp(column) == 0:
            continue
        nearly = EXACT * np.abs(column).max()
        # Sums that end before the column, and those that begin after it.
        before = totals[:, [j]] - totals[:, : max(j - 1, 0)]
        after = totals[:, j + 3 :] - totals[:, [j + 1]]
        ends = [slice(i, j) for i in range(before.shape[1])]
        ends += [slice(j + 1, j + 3 + i) for i in range(after.shape[1])]
        off = np.abs(np.hstack([before, after]) - column[:, None]).max(axis=0, initial=0.0)
        found = np.flatnonzero(off <= nearly)
        if len(found):
            sums[j] = ends[found[0]]
    return sums
