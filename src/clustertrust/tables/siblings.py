"""Columns that belong together are treated alike: two ranks, a number and its square."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Floats
from clustertrust.tables.column import ColumnPlan, numbers_of
from clustertrust.tables.values import are_whole, words_of
from clustertrust.tables.words import IDS_IF_DIFFERENT


def treated_alike(
    columns: Sequence[ColumnPlan], frame: pd.DataFrame, number_format: Any
) -> list[ColumnPlan]:
    """Return the plans, with columns left out that belong to one that is left out as an id."""
    out = [c for c in columns if c.kind == "id" and c.use != "number" and c.numeric]
    found = []
    for column in columns:
        other = None
        if out and (column.use, column.kind, column.user_decided) == ("number", "number", False):
            values = numbers_of(frame[column.name], column, number_format)
            other = next((o for o in out if _belongs(column.name, o.name, values)), None) or next(
                (o for o in out if _follows(column, o, values, frame, number_format)), None
            )
        if other is not None:
            reason = f"it is treated like {other.name}"
            column = replace(column, use="ignored", reason=reason, override_hint="keep")
        found.append(column)
    return found


def _belongs(name: str, other: str, values: Floats) -> bool:
    """Return whether two names end in the same word for an id: pf_rank and ef_rank."""
    words, others = words_of(name), words_of(other)
    same = len(words) == len(others) > 1 and words[-1] == others[-1]
    return same and words[-1] in IDS_IF_DIFFERENT and are_whole(values[np.isfinite(values)])


def _follows(
    column: ColumnPlan, other: ColumnPlan, values: Floats, frame: pd.DataFrame, number_format: Any
) -> bool:
    """Return whether a column rises with another whose name its own begins with: exper, expersq."""
    if len(other.name) < 3 or not column.name.lower().startswith(other.name.lower()):
        return False
    base = numbers_of(frame[other.name], other, number_format)
    known = np.isfinite(base) & np.isfinite(values)
    order = np.lexsort((values[known], base[known]))
    return bool(known.any() and (np.diff(values[known][order]) >= 0).all())
