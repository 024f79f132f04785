"""What is done with the columns of a table: the user's plan, a model's, or what a look decides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

from clustertrust import CAKE
from clustertrust._errors import InputError, Message
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.wording import current_wording
from clustertrust.columns import beside_results
from clustertrust.files.columns import check_there
from clustertrust.tables import ColumnChoices, ColumnPlan, TablePlan, TablePreparer
from clustertrust.tables.column import warn_of_unread
from clustertrust.tables.looking import unknown_column, unknown_columns
from clustertrust.tables.preparer import Blocks
from clustertrust.tables.problems import TablePlanError
from clustertrust.tables.rows import odd_rows
from clustertrust.tables.values import listed


def preparer_for(columns: ReadOptions, names: Sequence[str]) -> TablePreparer:
    """Return what turns a table with these columns into numbers, as the user chose."""
    if columns.plan is not None:
        return TablePreparer(plan=chosen_plan(columns, names))
    return TablePreparer(
        **columns.choice(names),
        scale="standard" if columns.standardize else columns.scale,
        encode=columns.encode,
        missing=columns.missing_rule() or "auto",
        na=columns.missing_texts(),
        decimal=columns.decimal,
        thousands=columns.thousands,
    )


def fit_preparer(
    columns: ReadOptions,
    names: Sequence[str],
    blocks: Blocks,
    source_name: str,
    *,
    notes: Sequence[str | Message],
    has_names: bool,
) -> TablePreparer:
    """Look at a table that comes in one block or in many; `notes` are on how it was read."""
    with named_problems(source_name):
        preparer = preparer_for(columns, names)
        unknown = unknown_columns(names, ColumnChoices(**columns.choice(names)))
        if unknown and columns.plan is None:
            raise TablePlanError(unknown)
        return preparer.fit_blocks(blocks, notes, has_names=has_names)


@contextmanager
def named_problems(source_name: str) -> Iterator[None]:
    """Let errors about a table name it, and the options of the command."""
    try:
        yield
    except TablePlanError as error:
        problems = error.problems
        raise TablePlanError(problems, f"{source_name}: ", current_wording()) from error
    except InputError as error:
        raise InputError(error.message.after(f"{source_name}: ")) from error


def for_metric(columns: ReadOptions, metric: str) -> ReadOptions:
    """Return how to read a table for a metric: Gower's takes categories and gaps as they are."""
    if metric != "gower":
        return columns
    given = {
        "--scale": columns.scale != "auto" and columns.scale,
        "--standardize": columns.standardize,
        "--impute": columns.impute,
        "--encode": columns.encode == "onehot",
    }
    refused = [option for option, value in given.items() if value]
    if refused:
        raise click.UsageError(
            "--metric gower compares numbers by their range and categories by match, and skips "
            f"missing values; leave out {', '.join(refused)}."
        )
    return columns if columns.encode == "drop" else replace(columns, encode="match")


def chosen_plan(columns: ReadOptions, names: Sequence[str]) -> TablePlan:
    """Read the plan that the user gave, perhaps edited, or that lay next to scores."""
    id = columns.id
    if id is not None and id not in names:
        raise InputError(unknown_column("id", id, names))
    plan = _named_by(_in_scores(read_plan(columns), names), id)
    if plan.id is not None and plan.id not in names:  # rows have no names then
        unnamed = [c for c in plan.columns if c.use != "id"]
        plan = replace(plan, columns=tuple(unnamed))
    if columns.encode == "match" and not plan.is_mixed:
        return replace(plan, encode="match", scale="none", missing="skip")
    if plan.is_mixed and columns.encode != "match":
        return replace(plan, encode="auto", missing="auto")
    return plan


def read_plan(columns: ReadOptions) -> TablePlan:
    """Read the plan in the file of --plan."""
    assert columns.plan is not None
    try:
        return TablePlan.from_json(json.loads(Path(columns.plan).read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"--plan {columns.plan} cannot be used: {error}") from error


def _in_scores(plan: TablePlan, names: Sequence[str]) -> TablePlan:
    """Return the plan with names as in a file of scores, if the table comes from one.

    There a column of the user that has the name of a result is called `score_input`.
    """
    columns = (
        replace(column, name=own) if (own := beside_results(column.name)) in names else column
        for column in plan.columns
    )
    return replace(plan, columns=tuple(columns))


def _named_by(plan: TablePlan, id: str | None) -> TablePlan:
    """Return the plan with another column that names the rows; None: it stays."""
    if id is None or id == plan.id:
        return plan
    others = [
        replace(column, use="ignored") if column.use == "id" else column
        for column in plan.columns
        if column.name != id
    ]
    return replace(plan, columns=(*others, ColumnPlan(id, "id", "id", user_decided=True)))


@dataclass(frozen=True)
class FittedTable:
    """What a model knows of the table that it was fitted on.

    Attributes
    ----------
    preparer : what made its features
    has_names : whether its columns have names; else they are taken in their order
    has_means : whether gaps can be filled in; not by models that the library saved, whose columns
        are the numbers they are
    """

    preparer: TablePreparer
    has_names: bool
    has_means: bool

    @classmethod
    def of(cls, cake: CAKE, kept: Any) -> FittedTable:
        """Return what a model knows, by the preparation stored with it; None: it has none."""
        names = getattr(cake, "feature_names_in_", None)
        if kept is not None:
            return cls(TablePreparer.from_json(kept), names is not None, True)
        features = range(cake.n_features_in_) if names is None else names
        columns = (ColumnPlan(str(one), "number", "number", user_decided=True) for one in features)
        plan = TablePlan(tuple(columns), missing="drop")
        return cls(TablePreparer.from_plan(plan), names is not None, False)

    def preparer_of(
        self, frame: pd.DataFrame, columns: ReadOptions, source_name: str
    ) -> TablePreparer:
        """Return what prepares a table for the model to score; other columns are ignored."""
        plan = self.preparer.plan_
        id, drop = _checked_choice(frame, columns, source_name)
        have = [name for name in frame.columns if name not in drop]
        if not self.has_names:
            plan = _by_position(plan, [name for name in have if name != id], source_name)
        used = [column.name for column in plan.used]
        _check_lost([name for name in used if name not in have], have, source_name)
        if id is not None and id in used:
            raise ValueError(f"--id {id}: the model was fitted on this column; name another.")
        if id is None and plan.id in have and frame[plan.id].is_unique:
            id = plan.id
        others = [column for column in plan.columns if column.use != "id" and column.name != id]
        named = [] if id is None else [ColumnPlan(id, "id", "id", user_decided=True)]
        missing = columns.missing_rule() or plan.missing
        plan = replace(plan, columns=(*others, *named), missing=missing)
        if not self.has_means:
            _check_numbers(frame[used], source_name)
            if columns.missing_rule() is None and plan.read(frame).lost.any():
                raise ValueError(
                    f"{source_name} has missing values, and the model has no column means of its "
                    "fit; use --drop-missing."
                )
            return TablePreparer.from_plan(plan)
        for column in plan.used:
            if column.use == "number":
                warn_of_unread(frame[column.name], column, plan)
        plan = replace(plan, rows=tuple(odd_rows(frame, plan)))
        return TablePreparer.from_plan(plan, self.preparer.measures_)


def _by_position(plan: TablePlan, names: Sequence[str], source_name: str) -> TablePlan:
    """Return the plan of an array for a table whose columns have these names."""
    if len(names) != len(plan.used):
        raise ValueError(
            f"{source_name} has {len(names)} columns to use; the model was fitted on "
            f"{len(plan.used)}."
        )
    pairs = zip(plan.used, names, strict=True)
    return replace(plan, columns=tuple(replace(column, name=name) for column, name in pairs))


def _checked_choice(
    frame: pd.DataFrame, columns: ReadOptions, source_name: str
) -> tuple[str | None, list[str]]:
    """Return the column that names the rows and those to leave out; raise if one is missing."""
    choice = columns.choice(list(frame.columns))
    id, drop = choice["id"], choice["drop"]
    check_there(list(frame.columns), source_name, id=[] if id is None else [id], drop=drop)
    return id, drop


def _check_lost(lost: Sequence[str], have: Sequence[str], source_name: str) -> None:
    if lost:
        raise ValueError(
            f"{source_name} lacks columns that the model was fitted on: {listed(lost)}; it has "
            f"{listed(have)}. Add them, or rename yours."
        )


def _check_numbers(frame: pd.DataFrame, source_name: str) -> None:
    text = [
        f"{name} ({str(frame[name].dropna().iloc[0])!r})"
        for name, kind in frame.dtypes.items()
        if not pd.api.types.is_numeric_dtype(kind) and not frame[name].isna().all()
    ]
    if text:
        raise ValueError(
            f"{source_name} has columns that are not numbers: {listed(text)}. Leave them out with "
            "--drop, or name the rows by one with --id."
        )
