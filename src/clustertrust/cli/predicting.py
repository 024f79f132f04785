"""`clustertrust predict`: read a model and a table, label and score its rows, write, print."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

from clustertrust import CAKE, __version__
from clustertrust.cli.checks import check_tools
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.outputs import staged
from clustertrust.cli.planning import FittedTable
from clustertrust.cli.points import on_all_rows, read_points
from clustertrust.cli.printing import (
    Outcome,
    left_out_of,
    print_json,
    print_summary,
    print_table,
    unscored,
)
from clustertrust.cli.request import PredictRequest
from clustertrust.cli.squares import (
    check_square_options,
    read_new_distances,
)
from clustertrust.cli.writing import write_scores
from clustertrust.model_files import read_about
from clustertrust.summary import summary_of
from clustertrust.tables.values import listed


def predict(request: PredictRequest) -> None:
    """Label and score new points with a stored model."""
    check_tools(request.data, request.columns, request.paths)
    data, columns, paths, model = request.data, request.columns, request.paths, request.model
    cake, fitted = _load_model(model)
    at = cake.confidence_.cut(request.threshold)
    if cake.metric == "precomputed":
        check_square_options(columns)
        points = read_new_distances(data, columns, cake)
    else:
        _check_impute(columns, model, fitted)
        points = read_points(data, columns, fitted=fitted)
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


def _load_model(path: str) -> tuple[CAKE, FittedTable]:
    """Read a model, and what it knows of the table that it was fitted on."""
    with warnings.catch_warnings():
        # They are scaled here.
        warnings.filterwarnings("ignore", "This model was fitted on standardised columns")
        cake = CAKE.load(path)
    return cake, FittedTable.of(cake, read_about(path).get("preparation"))
