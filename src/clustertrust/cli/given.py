"""Labels that are given, in a file or a column: partitions to score, or one labelling to audit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
import numpy as np
import pandas as pd

from clustertrust import Confidence, Ensemble, audit, confidence
from clustertrust.cli.cells import is_h5ad
from clustertrust.cli.options import AUDITING, NOT_AUDITING, ReadOptions
from clustertrust.cli.points import Points, read_file
from clustertrust.cli.printing import is_interactive, name_of
from clustertrust.cli.request import AuditRequest, ScoreRequest
from clustertrust.files import Reading, read_table
from clustertrust.files.columns import check_there


def without_labels(request: ScoreRequest) -> tuple[ReadOptions, pd.DataFrame | None]:
    """Return how to read the data, and their column of labels, which is no feature; else None.

    The labels of cells are in obs.
    """
    name = request.labels_column
    if name is None or is_h5ad(request.data, request.columns):
        return request.columns, None
    if request.data == "-":
        raise click.UsageError("--labels-column reads the data twice; give DATA as a file.")
    table = read_file(request.data, request.columns).data
    if not isinstance(table, pd.DataFrame):
        raise ValueError(f"{request.data} holds a sparse matrix, which has no column of labels.")
    dropped = (*request.columns.drop, name)
    return replace(request.columns, drop=dropped), _column_of(table, name, request)


def with_labels_noted(points: Points, name: str | None) -> Points:
    """Return the points with a plan that says which column holds the labels, if one does."""
    if points.plan is None:
        return points
    columns = (
        replace(one, reason="it holds the labels") if one.name == name else one
        for one in points.plan.columns
    )
    return replace(points, plan=replace(points.plan, columns=tuple(columns)))


def score_given(
    request: ScoreRequest, points: Points, column: pd.DataFrame | None, graph: Any
) -> Confidence:
    """Score given partitions, or audit one labelling."""
    if request.labels is not None:
        runs = _read_partitions(request.labels, request.columns.id, points)
    else:
        assert request.labels_column is not None
        if column is None:
            column = _column_of(points.adata.obs, request.labels_column, request)
        runs = column[points.kept].reset_index(drop=True)
    typed, method = request.typed, request.method
    is_one = runs.shape[1] == 1
    why = "one labelling is audited" if is_one else "nothing is clustered"
    request.refuse(NOT_AUDITING if is_one else AUDITING, f"With --labels {why}")
    X, params = points.X, method.auditing(typed) if is_one else method.scoring()
    if graph is not None:
        X, params = graph.X, params | {"geometry": graph.geometry}
    labels = Ensemble.from_labels(runs, noise=request.noise_rule)
    if is_one:
        return audit(X, labels, **params, **_classifier(request, points), verbose=is_interactive())
    if isinstance(request, AuditRequest):
        raise ValueError(
            f"{request.labels} has {runs.shape[1]} columns of labels; an audit takes one. Score "
            "several runs with clustertrust score --labels."
        )
    return confidence(X, labels, **params)


def _classifier(request: ScoreRequest, points: Points) -> dict[str, Any]:
    """Return what votes besides the runs, as parameters of `audit`."""
    if not isinstance(request, AuditRequest):
        return {}
    if request.pred_probs is None:
        return {"classifier": None if request.classifier == "none" else request.classifier}
    table = read_table(request.pred_probs, Reading(header=True)).data
    if not isinstance(table, pd.DataFrame) or len(table) != len(points.kept):
        raise ValueError(
            f"{request.pred_probs} must be a table with {len(points.kept)} rows, as the data have; "
            "it holds one column for each label."
        )
    return {"pred_probs": table[points.kept].reset_index(drop=True)}


def _column_of(table: pd.DataFrame, name: str, request: ScoreRequest) -> pd.DataFrame:
    """Return the column of labels of a table, by its name as the user typed it."""
    names = {str(column): column for column in table.columns}
    check_there(list(names), name_of(request.data), labels_column=[name])
    return table[[names[name]]]


def _read_partitions(path: str, id: str | None, points: Points) -> pd.DataFrame:
    """Read partitions of the used points: one column per run, and perhaps one of row names."""
    runs = read_table(path, Reading(text=() if id is None else (id,))).data
    if not isinstance(runs, pd.DataFrame):
        raise ValueError(f"{path} holds a sparse matrix; give a table with one column per run.")
    if len(runs) != len(points.kept):
        raise ValueError(
            f"{path} has {len(runs)} rows and the data have {len(points.kept)}; partitions label "
            "the same rows in the same order."
        )
    if id is not None and id in runs:
        names = runs.pop(id).map(str).to_numpy()
        differ = np.flatnonzero(names != points.ids.map(str).to_numpy())
        if differ.size:
            raise ValueError(
                f"{path} names row {differ[0]} {names[differ[0]]!r}, and the data "
                f"{points.ids[differ[0]]!r}; partitions label the same rows in the same order."
            )
    if runs.shape[1] == 0:
        raise ValueError(f"{path} has no column of labels besides the names of the rows.")
    distinct = [name for name in runs if len(runs) > 2 and runs[name].nunique() == len(runs)]
    if distinct:
        raise ValueError(
            f"{path}: the column {str(distinct[0])!r} has a different value in every row, so it is "
            "not a partition. Remove it from the file, or name the rows by it with --id."
        )
    return runs[points.kept].reset_index(drop=True)
