"""What is done with the columns of a table: the user's plan, a model's, or what a look decides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click
import pandas as pd

from clustertrust._errors import InputError
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.wording import current_wording
from clustertrust.columns import COLUMNS
from clustertrust.files.columns import check_there
from clustertrust.tables import ColumnPlan, TablePlan, TablePreparer
from clustertrust.tables.problems import TablePlanError
from clustertrust.tables.values import listed


def preparer_for(columns: ReadOptions, names: Sequence[str], source_name: str) -> TablePreparer:
    """Return what turns a table with these columns into numbers, as the user chose."""
    if columns.plan is not None:
        return TablePreparer(plan=given_plan(columns, names, source_name))
    return TablePreparer(
        **columns.choice(names),
        scale="standard" if columns.standardize else columns.scale,
        encode=columns.encode,
        missing=columns.missing_rule() or "auto",
        na=columns.missing_texts(),
        decimal=columns.decimal,
        thousands=columns.thousands,
    )


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


def given_plan(columns: ReadOptions, names: Sequence[str], source_name: str) -> TablePlan:
    """Read the plan that the user gave, perhaps edited, or that lay beside scores."""
    plan = _named_by(_in_scores(read_plan(columns), names), columns.id)
    if plan.id is not None and plan.id not in names:  # rows have no names then
        unnamed = [c for c in plan.columns if c.use != "id"]
        plan = replace(plan, columns=tuple(unnamed))
    lost = [c.name for c in plan.used if c.name not in names]
    if lost:
        raise ValueError(f"{source_name} lacks columns of --plan {columns.plan}: {listed(lost)}.")
    if not plan.used:
        raise ValueError(f"--plan {columns.plan} uses no column; set the use of some to number.")
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
    have = set(names)
    return replace(
        plan,
        columns=tuple(
            replace(column, name=renamed)
            if column.name in COLUMNS and (renamed := f"{column.name}_input") in have
            else column
            for column in plan.columns
        ),
    )


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


def preparer_for_new_rows(
    fitted: TablePreparer,
    frame: pd.DataFrame,
    columns: ReadOptions,
    source_name: str,
    *,
    has_names: bool,
) -> TablePreparer:
    """Return the preparer of a model for a table that it shall score; other columns stay aside.

    `has_names`: the columns of the model have names; else they are taken in their order.
    """
    plan = fitted.plan_
    id, drop = _checked_choice(frame, columns, source_name)
    if not has_names:
        plan = _by_position(plan, [n for n in frame.columns if n not in (id, *drop)], source_name)
    have = set(frame.columns) - set(drop)
    _check_lost([c.name for c in plan.used if c.name not in have], source_name)
    if id is not None and id in {column.name for column in plan.used}:
        raise ValueError(f"--id {id}: the model was fitted on this column; name another.")
    if id is None and plan.id in have and frame[plan.id].is_unique:
        id = plan.id
    others = [column for column in plan.columns if column.use != "id" and column.name != id]
    named = [] if id is None else [ColumnPlan(id, "id", "id", user_decided=True)]
    missing = columns.missing_rule() or plan.missing
    plan = replace(plan, columns=(*others, *named), missing=missing)
    return TablePreparer.from_plan(plan, fitted.measures_)


def _by_position(plan: TablePlan, names: Sequence[str], source_name: str) -> TablePlan:
    """Return the plan of an array for a table whose columns have these names."""
    if len(names) != len(plan.used):
        raise ValueError(
            f"{source_name} has {len(names)} columns to use; the model was fitted on "
            f"{len(plan.used)}."
        )
    pairs = zip(plan.used, names, strict=True)
    return replace(plan, columns=tuple(replace(column, name=name) for column, name in pairs))


def preparer_of_numbers(
    features: Sequence[str] | None, frame: pd.DataFrame, columns: ReadOptions, source_name: str
) -> TablePreparer:
    """Return one for a model that the library saved: its columns, as the numbers they are."""
    id, drop = _checked_choice(frame, columns, source_name)
    left = [name for name in frame.columns if name != id and name not in drop]
    if features is not None:
        have = set(left)
        _check_lost([name for name in features if name not in have], source_name)
        left = list(features)
    _check_numbers(frame[left], source_name)
    plans = [ColumnPlan(name, "number", "number", user_decided=True) for name in left]
    plans += [] if id is None else [ColumnPlan(id, "id", "id", user_decided=True)]
    plan = TablePlan(tuple(plans), missing="drop", n_rows=len(frame))
    if columns.missing_rule() is None and plan.read(frame).lost.any():
        raise ValueError(
            f"{source_name} has missing values, and the model has no column means of its fit; use "
            "--drop-missing."
        )
    return TablePreparer.from_plan(plan)


def _checked_choice(
    frame: pd.DataFrame, columns: ReadOptions, source_name: str
) -> tuple[str | None, list[str]]:
    """Return the column that names the rows and those to leave out; raise if one is missing."""
    choice = columns.choice(list(frame.columns))
    id, drop = choice["id"], choice["drop"]
    check_there(list(frame.columns), source_name, id=[] if id is None else [id], drop=drop)
    return id, drop


def _check_lost(lost: Sequence[str], source_name: str) -> None:
    if lost:
        raise ValueError(
            f"{source_name} lacks columns that the model was fitted on: {listed(lost)}. Add them, "
            "or rename yours."
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
