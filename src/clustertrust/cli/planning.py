"""What is done with the columns of a table: what the user's plan says, or a look decides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from clustertrust._errors import InputError, Message, literal, rendered
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.wording import current_wording
from clustertrust.columns import beside_results
from clustertrust.tables import ColumnChoices, ColumnPlan, TablePlan, TablePreparer
from clustertrust.tables.looking import unknown_column, unknown_columns
from clustertrust.tables.preparer import Blocks
from clustertrust.tables.problems import TablePlanError


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
    with named_problems(source_name, notes):
        preparer = preparer_for(columns, names)
        unknown = unknown_columns(names, ColumnChoices(**columns.choice(names)))
        if unknown and columns.plan is None:
            raise TablePlanError(unknown)
        return preparer.fit_blocks(blocks, notes, has_names=has_names)


@contextmanager
def named_problems(source_name: str, notes: Sequence[str | Message] = ()) -> Iterator[None]:
    """Let errors about a table name it, how it was read, and the options of the command."""
    try:
        yield
    except TablePlanError as error:
        wording = current_wording()
        read = "; ".join(rendered(note, wording) for note in notes)
        *problems, last = error.problems
        template = last.text.template + literal(f" Read: {read}." * bool(read))
        problems.append(last._replace(text=replace(last.text, template=template)))
        raise TablePlanError(problems, f"{source_name}: ", wording) from error
    except InputError as error:
        raise InputError(error.message.after(f"{source_name}: ")) from error


def for_metric(columns: ReadOptions, metric: str) -> ReadOptions:
    """Return how to read a table for a metric: Gower's takes categories and gaps as they are."""
    if metric != "gower":
        return columns
    is_typed = {
        "--scale": columns.scale != "auto" and columns.scale,
        "--standardize": columns.standardize,
        "--impute": columns.impute,
        "--encode": columns.encode == "onehot",
    }
    refused = [option for option, value in is_typed.items() if value]
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
