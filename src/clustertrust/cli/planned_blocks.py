"""The plan of a table that is read in blocks: made from its first rows, applied to every block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from clustertrust.cli.options import ReadOptions
from clustertrust.cli.planning import TablePlanError, check_plan, given_plan, wishes_of
from clustertrust.cli.points import reading_of
from clustertrust.files.columns import check_there, listed
from clustertrust.files.sources import Block, CsvSource, FrameSource, Source
from clustertrust.files.tables import open_source
from clustertrust.tables import ColumnPlan, TablePlan, look
from clustertrust.tables.kinds import COUNTING

SAMPLE = 5000  # rows at the start of a table that its plan is made from


@dataclass(frozen=True)
class PlannedTable:
    """A table in blocks, and what a look at its first rows decided.

    Attributes
    ----------
    source : its blocks, text turned into numbers
    plan : what is done with each column; None if columns have no names
    first : the first rows, as they were read
    """

    source: Source
    plan: TablePlan | None = None
    first: pd.DataFrame | None = None


class Encoded(Source):
    """A table whose text, categories and missing values a plan turns into numbers."""

    def __init__(self, source: FrameSource, plan: TablePlan) -> None:
        self.source, self.plan, self.id = source, plan, source.id
        self.columns, self.n_features = plan.features, len(plan.features)
        self.n_rows = source.n_rows

    @property
    def n_bytes(self) -> int:
        """Return the bytes of the files' numbers in memory."""
        return self.source.n_bytes

    def read(self, rows: int) -> Iterator[Block]:
        """Apply the plan to each block; NaN where a value is missing."""
        for _, frame in self.source.frames(rows):
            ids = None if self.id is None else frame[self.id].to_numpy()
            yield Block(np.ascontiguousarray(self.plan.apply(frame).to_numpy(np.float64)), ids)


def plan_blocks(data: str, columns: ReadOptions, names: list[str]) -> PlannedTable:
    """Look at the first rows of a table, and open its blocks with what is decided."""
    reading = reading_of(columns)
    choice = columns.choice(names)
    check_there(names, data, id=[] if choice["id"] is None else [choice["id"]])
    others = [name for name in names if name != choice["id"]]
    head = open_source(data, id=choice["id"], use=others, reading=reading)
    assert isinstance(head, FrameSource)
    first = head.head(SAMPLE)
    first = first[[name for name in names if name in first]]
    if columns.plan is not None:
        plan = given_plan(columns, first, data)
    else:
        notes = head.notes if isinstance(head, CsvSource) else []
        plan = look(first, wishes_of(columns, choice), reading=notes)
        check_plan(plan, data)
        plan = replace(plan, columns=tuple(_cautious(c, first[c.name]) for c in plan.columns))
    if plan.rows:
        raise ValueError(
            f"{data} is read in blocks, and its first row holds units. Remove that row, or allow "
            "more --memory."
        )
    used = [column.name for column in plan.used]
    source = open_source(data, id=columns.id, use=used, reading=reading)
    assert isinstance(source, FrameSource)
    if is_plain(plan, first):
        return PlannedTable(source, plan, first)
    return PlannedTable(Encoded(source, plan), plan, first)


def is_plain(plan: TablePlan, first: pd.DataFrame) -> bool:
    """Return whether the columns that are used are numbers as they are read."""
    return not _encoded(plan, first) and not plan.na


def refuse_encoding(plan: TablePlan, first: pd.DataFrame, data: str) -> None:
    """Raise for columns that a plan would turn into numbers, where that is not done."""
    names = _encoded(plan, first)
    if names:
        raise TablePlanError(
            f"{data}: the workers of --scheduler cluster nothing but numbers, and {listed(names)} "
            "would have to be turned into numbers first. Leave them out with --drop, or prepare "
            "the files.",
            [("drop", names)],
        )


def _encoded(plan: TablePlan, first: pd.DataFrame) -> list[str]:
    return [
        column.name
        for column in plan.used
        if column.use == "category"
        or column.missing
        or not pd.api.types.is_numeric_dtype(first[column.name].dtype)
    ]


def _cautious(column: ColumnPlan, series: pd.Series) -> ColumnPlan:
    """Return the plan of a column; first rows that are sorted prove nothing about the others."""
    steps = column.reason == COUNTING[1] and not pd.api.types.is_integer_dtype(series.dtype)
    sorted_rows = column.numeric and (column.kind == "constant" or steps)
    if column.use in ("ignored", "id") and sorted_rows and not column.user_decided:
        return replace(column, kind="number", use="number", reason="", override_hint="")
    return column
