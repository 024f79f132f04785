"""What is done with the columns of a table: the user's plan, a model's, or what a look decides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

from clustertrust._validation import warn_user
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.scaling import Preparation
from clustertrust.cli.wording import current_wording
from clustertrust.columns import COLUMNS
from clustertrust.files import Table
from clustertrust.files.columns import check_there, listed
from clustertrust.tables import ColumnChoices, ColumnPlan, TablePlan, look
from clustertrust.tables.values import as_categories, in_order


class TablePlanError(ValueError):
    """All that stands against clustering a table.

    Attributes
    ----------
    suggested_options : parameters that help, with their values
    renames : pairs of names of which the second was meant
    """

    def __init__(
        self,
        text: str,
        suggested_options: Sequence[tuple[str, Any]] = (),
        renames: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(text)
        self.suggested_options, self.renames = tuple(suggested_options), tuple(renames)


@dataclass(frozen=True)
class FittedTable:
    """What a model knows of the table that it was fitted on.

    Attributes
    ----------
    features : names of its features; None: they have none
    preparation : what was done to them; None: nothing is known of it
    plan : what was done with each column; None for models that the library saved
    """

    features: tuple[str, ...] | None
    preparation: Preparation | None
    plan: TablePlan | None


def plan_table(
    table: Table,
    frame: pd.DataFrame,
    columns: ReadOptions,
    source_name: str,
    fitted: FittedTable | None = None,
) -> TablePlan:
    """Return the plan of the model, or of the user, or what one look at the table decides."""
    if fitted is not None:
        by_model = _plan_of_numbers if fitted.plan is None else _plan_for_new_rows
        return by_model(fitted, frame, columns, source_name)
    if columns.plan is not None:
        return given_plan(columns, frame, source_name)
    choice = columns.choice(list(frame.columns))
    wishes = wishes_of(columns, choice)
    if is_unnamed(table):
        scale = "none" if wishes.scale == "auto" else wishes.scale
        wishes = replace(wishes, scale=scale)
        if not any(choice.values()):
            return _plan_as_is(frame, wishes)
    plan = look(frame, wishes, reading=table.notes)
    check_plan(plan, source_name)
    return plan


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


def is_unnamed(table: Table) -> bool:
    """Return whether the columns have no names of their own, as in arrays and AnnData."""
    return table.adata is not None or isinstance(table.data.columns, pd.RangeIndex)


def wishes_of(columns: ReadOptions, choice: Mapping[str, Any]) -> ColumnChoices:
    """Return what the user said about the columns; `choice` has their names by option."""
    return ColumnChoices(
        id=choice["id"],
        use=tuple(choice["use"]),
        drop=tuple(choice["drop"]),
        keep=tuple(choice["keep"]),
        category=tuple(choice["category"]),
        scale="standard" if columns.standardize else columns.scale,
        encode=columns.encode,
        missing=columns.missing_rule() or "auto",
        na=columns.missing_texts(),
        decimal=columns.decimal,
        thousands=columns.thousands,
    )


def check_plan(plan: TablePlan, source_name: str) -> None:
    """Raise one error with all problems of a plan, or give its warnings."""
    if plan.problems:
        texts = [problem.text.render(current_wording()) for problem in plan.problems]
        numbered = (
            texts[0]
            if len(texts) == 1
            else " ".join(f"({at}) {text}" for at, text in enumerate(texts, 1))
        )
        raise TablePlanError(
            f"{source_name}: {numbered}",
            [p.suggested_option for p in plan.problems if p.suggested_option is not None],
            [problem.rename for problem in plan.problems if problem.rename is not None],
        )
    for warning in plan.warnings:
        warn_user(warning)


def _plan_as_is(frame: pd.DataFrame, wishes: ColumnChoices) -> TablePlan:
    """Return a plan that takes all columns as the numbers they are."""
    return TablePlan(
        tuple(
            ColumnPlan(str(name), "number", "number", user_decided=True) for name in frame.columns
        ),
        scale=wishes.scale,
        missing=wishes.missing,
        na=wishes.na,
        n_rows=len(frame),
    )


def given_plan(columns: ReadOptions, frame: pd.DataFrame, source_name: str) -> TablePlan:
    """Read the plan that the user gave, perhaps edited, or that lay beside scores."""
    plan = _named_by(_in_scores(read_plan(columns), frame), columns.id)
    have = set(frame.columns)
    if plan.id is not None and plan.id not in have:  # rows have no names then
        unnamed = [c for c in plan.columns if c.use != "id"]
        plan = replace(plan, columns=tuple(unnamed))
    lost = [c.name for c in plan.used if c.name not in have]
    if lost:
        raise ValueError(f"{source_name} lacks columns of --plan {columns.plan}: {listed(lost)}.")
    if not plan.used:
        raise ValueError(f"--plan {columns.plan} uses no column; set the use of some to number.")
    if columns.encode == "match" and not plan.is_mixed:
        plan = replace(plan, encode="match", scale="none", missing="skip")
    elif plan.is_mixed and columns.encode != "match":
        plan = replace(plan, encode="auto", missing="auto")
    rows = tuple((at, why) for at, why in plan.rows if at < len(frame))
    fixed = [_with_values(c, frame, plan) if c.use == "category" else c for c in plan.columns]
    return replace(plan, columns=tuple(fixed), rows=rows)


def read_plan(columns: ReadOptions) -> TablePlan:
    """Read the plan in the file of --plan."""
    assert columns.plan is not None
    try:
        return TablePlan.from_json(json.loads(Path(columns.plan).read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"--plan {columns.plan} cannot be used: {error}") from error


def _in_scores(plan: TablePlan, frame: pd.DataFrame) -> TablePlan:
    """Return the plan with names as in a file of scores, if the frame comes from one.

    There a column of the user that has the name of a result is called `score_input`.
    """
    have = set(frame.columns)
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


def _with_values(column: ColumnPlan, frame: pd.DataFrame, plan: TablePlan) -> ColumnPlan:
    """Return a category with its values, if the plan does not list them."""
    if column.levels:
        return column
    texts = as_categories(frame[column.name], plan.na)
    return replace(column, levels=tuple(sorted(texts.dropna().unique(), key=in_order)))


def _plan_for_new_rows(
    fitted: FittedTable, frame: pd.DataFrame, columns: ReadOptions, source_name: str
) -> TablePlan:
    """Return the plan of a model for a table that it shall score; other columns stay aside."""
    plan = fitted.plan
    assert plan is not None
    id, drop = _checked_choice(frame, columns, source_name)
    have = set(frame.columns) - set(drop)
    _check_lost([c.name for c in plan.used if c.name not in have], source_name)
    if id is not None and id in {column.name for column in plan.used}:
        raise ValueError(f"--id {id}: the model was fitted on this column; name another.")
    if id is None and plan.id in have and frame[plan.id].is_unique:
        id = plan.id
    others = [column for column in plan.columns if column.use != "id" and column.name != id]
    named = [] if id is None else [ColumnPlan(id, "id", "id", user_decided=True)]
    return replace(plan, columns=(*others, *named), missing=columns.missing_rule() or plan.missing)


def _plan_of_numbers(
    fitted: FittedTable, frame: pd.DataFrame, columns: ReadOptions, source_name: str
) -> TablePlan:
    """Return a plan for a model that the library saved: its columns, as the numbers they are."""
    id, drop = _checked_choice(frame, columns, source_name)
    left = [name for name in frame.columns if name != id and name not in drop]
    if fitted.features is not None:
        have = set(left)
        _check_lost([name for name in fitted.features if name not in have], source_name)
        left = list(fitted.features)
    _check_numbers(frame[left], source_name)
    plans = [ColumnPlan(name, "number", "number", user_decided=True) for name in left]
    plans += [] if id is None else [ColumnPlan(id, "id", "id", user_decided=True)]
    fills = fitted.preparation is not None and fitted.preparation.impute
    rule = columns.missing_rule() or ("mean" if fills else "auto")
    return TablePlan(tuple(plans), missing=rule, n_rows=len(frame))


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
