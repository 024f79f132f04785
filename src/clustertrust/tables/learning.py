"""What all rows of a table show of its columns: block by block here, or part by part on Dask."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clustertrust._dask import open_client, results
from clustertrust._types import Floats
from clustertrust.tables.column import ColumnPlan
from clustertrust.tables.kinds import MOST_CATEGORIES, too_many
from clustertrust.tables.plan import TablePlan
from clustertrust.tables.rows import LookedAt, candidates, looked_at
from clustertrust.tables.scales import ColumnTotals, Spread, add_totals
from clustertrust.tables.values import in_order


class Looked(NamedTuple):
    """What the rows that are looked at show.

    Attributes
    ----------
    plan : what is done with each column
    spread : medians and limits of the columns of numbers
    encoded : what transformers make of other columns
    """

    plan: TablePlan
    spread: Spread
    encoded: Sequence[Floats]


def placed(blocks: Iterable[pd.DataFrame]) -> Iterable[tuple[pd.DataFrame, int]]:
    """Yield blocks, each with the number of rows above it."""
    before = 0
    for frame in blocks:
        yield frame, before
        before += len(frame)


def totals_of(looked: Looked, blocks: Iterable[tuple[pd.DataFrame, int]]) -> ColumnTotals:
    """Return what blocks show of the columns that are used."""
    totals, plan = ColumnTotals(), looked.plan
    odd = np.array([row for row, _ in plan.rows])

    def clipped() -> Iterable[Floats]:
        for frame, before in blocks:
            positions = np.arange(before, before + len(frame))
            columns = plan.read(frame)
            kept = plan.rows_out(columns, positions) == ""
            numbers = totals.count(columns, ~np.isin(positions, odd), kept)
            yield looked.spread.clip(numbers)

    totals.measure(clipped())
    return totals


def with_totals(
    plan: TablePlan, totals: ColumnTotals, *, finds_levels: bool, drops_long: bool
) -> tuple[TablePlan, ColumnTotals]:
    """Return the plan with what all rows showed, and the totals of the columns it still uses.

    `finds_levels`: the categories that occurred take the place of those that the plan has;
    `drops_long`: too many of them, which few of the rows had shown, set a column aside.
    """
    lost = iter(np.broadcast_to(totals.n_missing, len(plan.used)).tolist())
    counts = iter(totals.counts)
    columns, kept = list[ColumnPlan](), []
    for column in plan.columns:
        if column.use in ("number", "category"):
            column = replace(column, n_missing=int(next(lost)))
        if column.use == "category":
            counted = next(counts)
            if finds_levels or not column.levels:
                column = replace(column, levels=tuple(sorted(counted, key=in_order)))
                is_long = len(column.levels) > MOST_CATEGORIES
                if is_long and drops_long and not column.user_decided:
                    column = too_many(replace(column, use="ignored", override_hint="keep"))
            kept += [counted] if column.use == "category" else []
        columns.append(column)
    return replace(plan, columns=tuple(columns)), replace(totals, counts=kept)


class DaskTable:
    """A Dask frame, whose partitions are looked at and measured where they are."""

    def __init__(self, X: Any) -> None:
        if not hasattr(X, "columns"):
            raise TypeError("X is a Dask array; give a Dask frame, whose columns have names.")
        self.parts = list(X.to_delayed())
        sizes = self._done(len)
        self.n_rows, self.before = sum(sizes), [0, *np.cumsum(sizes).tolist()[:-1]]

    def rows(self) -> LookedAt:
        """Return the rows to look at."""
        return looked_at(self._done(_candidates, self.before), self.n_rows)

    def totals(self, looked: Looked) -> ColumnTotals:
        """Return what all rows show of the columns that are used."""
        return add_totals(self._done(partial(_totals_of_part, looked), self.before))

    def _done(self, function: Callable[..., Any], *more: Sequence[Any]) -> list[Any]:
        """Return function(part, …) for each partition."""
        delayed = importlib.import_module("dask").delayed
        tasks = [delayed(function)(*one) for one in zip(self.parts, *more, strict=True)]
        return list(results(open_client(), tasks))


# What workers of Dask are sent.


def _named(part: pd.DataFrame) -> pd.DataFrame:
    return part.set_axis([str(name) for name in part.columns], axis=1)


def _candidates(part: pd.DataFrame, before: int) -> Any:
    return candidates(_named(part), before)


def _totals_of_part(looked: Looked, part: pd.DataFrame, before: int) -> ColumnTotals:
    return totals_of(looked, [(_named(part), before)])
