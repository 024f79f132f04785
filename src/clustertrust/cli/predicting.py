"""`clustertrust predict`: read a model and a table, label and score its rows, write, print."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import pandas as pd
from scipy import sparse

from clustertrust import CAKE, __version__
from clustertrust.cli.checks import check_tools
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.outputs import staged
from clustertrust.cli.points import on_all_rows, read_points, source_name
from clustertrust.cli.printing import (
    Outcome,
    left_out_of,
    print_json,
    print_summary,
    print_table,
    unscored,
)
from clustertrust.cli.request import PredictRequest
from clustertrust.cli.squares import check_square_options, read_new_distances
from clustertrust.cli.writing import write_scores
from clustertrust.files.columns import check_there
from clustertrust.files.formats import known_format
from clustertrust.model_files import read_about
from clustertrust.summary import summary_of
from clustertrust.tables import ColumnPlan, TablePlan, TablePreparer
from clustertrust.tables.column import warn_of_unread
from clustertrust.tables.rows import odd_rows
from clustertrust.tables.values import listed


def predict(request: PredictRequest) -> None:
    """Label and score new points with a stored model."""
    _check_order(request.model)
    check_tools(request.data, request.columns, request.paths)
    data, columns, paths, model = request.data, request.columns, request.paths, request.model
    cake, fitted = _load_model(model)
    at = cake.confidence_.cut(request.threshold)
    if cake.metric == "precomputed":
        check_square_options(columns)
        points = read_new_distances(data, columns, cake)
    else:
        _check_impute(columns, model, fitted)
        points = read_points(data, columns, prepare=fitted.preparer_of)
        if sparse.issparse(points.X) and fitted.preparer.measures_.is_scaled:
            raise ValueError(
                f"{source_name(data)} is a sparse matrix, and the model standardises columns; give "
                "a dense table."
            )
    if points.X.shape[1] != cake.n_features_in_:
        raise ValueError(
            f"{data} has {points.X.shape[1]} columns; the model was fitted on "
            f"{cake.n_features_in_}."
        )
    results = cake.judge(points.X, threshold=at.threshold)
    results = results.set_axis(points.ids[points.kept], axis=0)
    table = on_all_rows(results, points, only_scores=request.only_scores)
    with staged(paths) as drafts:
        if "--out" in drafts:
            write_scores(
                drafts["--out"],
                table,
                points,
                {"model": Path(model).name, "clustertrust": __version__},
            )
    # Runs and clusters are judged by the points that they were made of, not by these.
    summary = replace(summary_of(results, at=at), verdict=None, notes=())
    left_out, rows = left_out_of(points), len(points.kept)
    outcome = Outcome(request, points, cake.confidence_, summary, left_out, rows)
    if request.as_json:
        print_json(outcome.to_json(), paths)
        return
    if request.to_stdout:
        print_table(table, points.dialect)
    text = summary.text(f"{outcome.headline()}; scored by {model}")
    filled = [f"{name} {count}" for name, count in points.n_filled.items()]
    if filled:
        text += f"\n\nMissing values: {listed(filled)}; they take the means that the model stored."
    print_summary(request, text, None, unscored(left_out, rows))


def _check_impute(columns: ReadOptions, model: str, fitted: FittedTable) -> None:
    """Raise if means are asked for that a model has not."""
    if columns.impute is None:
        return
    if not fitted.has_means:
        raise ValueError(f"--impute: {model} has no column means of its fit; use --drop-missing.")
    if fitted.preparer.plan_.is_mixed:
        raise ValueError(f"--impute: the distances of {model} skip missing values; leave it out.")


def _check_order(model: str) -> None:
    """Raise if a table was given in place of the model."""
    if known_format(model) is not None and not zipfile.is_zipfile(model):
        raise click.UsageError(
            f"{model} is a table; give MODEL, which `clustertrust score --model` wrote, and then "
            "DATA."
        )


def _load_model(path: str) -> tuple[CAKE, FittedTable]:
    """Read a model, and what it knows of the table that it was fitted on."""
    with warnings.catch_warnings():
        # They are scaled here.
        warnings.filterwarnings("ignore", "This model was fitted on standardised columns")
        cake = CAKE.load(path)
    return cake, FittedTable.of(cake, read_about(path).get("preparation"))


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
        plan = replace(TablePlan.of_numbers(features), missing="drop")
        return cls(TablePreparer.from_plan(plan), names is not None, False)

    def preparer_of(self, frame: pd.DataFrame, columns: ReadOptions, data: str) -> TablePreparer:
        """Return what prepares a table for the model to score; other columns are ignored."""
        plan = self.preparer.plan_
        id, drop = _checked_choice(frame, columns, data)
        have = dict.fromkeys(name for name in frame.columns if name not in drop)
        if not self.has_names:
            plan = _by_position(plan, [name for name in have if name != id], data)
        used = [column.name for column in plan.used]
        _check_lost([name for name in used if name not in have], [*have], data)
        if id is not None and id in used:
            raise ValueError(f"--id {id}: the model was fitted on this column; name another.")
        if id is None and plan.id in have and frame[plan.id].is_unique:
            id = plan.id
        others = [column for column in plan.columns if column.use != "id" and column.name != id]
        named = [] if id is None else [ColumnPlan(id, "id", "id", user_decided=True)]
        missing = columns.missing_rule() or plan.missing
        plan = replace(plan, columns=(*others, *named), missing=missing)
        if not self.has_means:
            _check_numbers(frame[used], data)
            if columns.missing_rule() is None and plan.read(frame).lost.any():
                raise ValueError(
                    f"{data} has missing values, and the model has no column means of its "
                    "fit; use --drop-missing."
                )
            return TablePreparer.from_plan(plan)
        plan = replace(plan, rows=tuple(odd_rows(frame, plan)))
        points = frame.drop(index=frame.index[[row for row, _ in plan.rows]])
        for column in plan.used:
            if column.use == "number":
                warn_of_unread(points[column.name], column, plan)
        return TablePreparer.from_plan(plan, self.preparer.measures_)


def _by_position(plan: TablePlan, names: Sequence[str], data: str) -> TablePlan:
    """Return the plan of an array for a table whose columns have these names."""
    if len(names) != len(plan.used):
        raise ValueError(
            f"{data} has {len(names)} columns to use; the model was fitted on {len(plan.used)}."
        )
    pairs = zip(plan.used, names, strict=True)
    return replace(plan, columns=tuple(replace(column, name=name) for column, name in pairs))


def _checked_choice(
    frame: pd.DataFrame, columns: ReadOptions, data: str
) -> tuple[str | None, list[str]]:
    """Return the column that names the rows and those to leave out; raise if one is missing."""
    choice = columns.choice(list(frame.columns))
    id, drop = choice["id"], choice["drop"]
    check_there(list(frame.columns), data, id=[] if id is None else [id], drop=drop)
    return id, drop


def _check_lost(lost: Sequence[str], have: Sequence[str], data: str) -> None:
    if lost:
        raise ValueError(
            f"{data} lacks columns that the model was fitted on: {listed(lost)}; it has "
            f"{listed(have)}. Add them, or rename yours."
        )


def _check_numbers(frame: pd.DataFrame, data: str) -> None:
    text = [
        f"{name} ({str(frame[name].dropna().iloc[0])!r})"
        for name, kind in frame.dtypes.items()
        if not pd.api.types.is_numeric_dtype(kind) and not frame[name].isna().all()
    ]
    if text:
        raise ValueError(
            f"{data} has columns that are not numbers: {listed(text)}. Leave them out with "
            "--drop, or name the rows by one with --id."
        )
