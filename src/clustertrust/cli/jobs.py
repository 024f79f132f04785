"""What `score` and `predict` do: read, call the library once, write, print."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

from clustertrust import CAKE, Audit, Confidence, __version__
from clustertrust.cli.cells import graph_of, runs_of, score_graph
from clustertrust.cli.given import score_given, without_labels
from clustertrust.cli.large import large_source, score_large
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.outputs import staged
from clustertrust.cli.planning import for_metric
from clustertrust.cli.points import FittedTable, Points, on_all_rows, read_points
from clustertrust.cli.printing import (
    is_interactive,
    name_of,
    plan_of,
    print_json,
    print_summary,
    print_table,
    say,
    score_settings,
    summary_fields,
    with_options,
)
from clustertrust.cli.request import PredictRequest, ScoreRequest
from clustertrust.cli.sidecar_plan import BESIDE, with_plan_beside
from clustertrust.cli.squares import (
    check_square_options,
    read_new_distances,
    read_square,
)
from clustertrust.cli.writing import (
    draw_scores,
    save,
    write_page,
    write_plan,
    write_scores,
)
from clustertrust.files.columns import listed
from clustertrust.model_files import read_about
from clustertrust.notes import note_on_noise
from clustertrust.summary import headline, summary_of
from clustertrust.tables import TablePreparer


def score(request: ScoreRequest) -> None:
    """Score points, or given partitions, or audit one labelling."""
    has_labels = request.has_labels
    source = None if has_labels or request.distances else large_source(request)
    if source is not None:
        score_large(request, source)
        return
    if request.scheduler is not None:
        raise click.UsageError(
            "--scheduler needs CSV or Parquet files that every worker can read, without --labels."
        )
    data, paths, method = request.data, request.paths, request.method
    if request.distances:
        labels, points = None, read_square(data, request.columns)
    else:
        columns, labels = without_labels(request)
        written = bool(paths) or request.to_stdout
        columns = for_metric(columns, method.metric)
        points = read_points(data, columns, to_score=True, own=written)
        paths = with_plan_beside(paths, columns, points)
        request = replace(request, paths=paths)
    if points.kept.sum() < 2:
        raise ValueError(
            f"{name_of(data)} has {points.kept.sum()} row to cluster; there must be at least 2."
        )
    say(f"Scoring {points.kept.sum():,} points of {name_of(data)}.")
    cake = None
    graph = graph_of(request, points)
    if graph is not None and not has_labels:
        scored = score_graph(request, graph)
    elif not has_labels:
        params = runs_of(request) | method.scoring()
        cake = CAKE(**params, verbose=is_interactive())
        with warnings.catch_warnings():
            # The plan says so.
            warnings.filterwarnings("ignore", r".*looks like an id")
            cake.fit(points.X)
        scored = cake.confidence_
    else:
        scored = score_given(request, points, labels, graph)
    scored = replace(scored, frame=pd.DataFrame(index=points.ids[points.kept]))
    settings = score_settings(request, scored, points)
    settings |= {} if has_labels else {"vary": runs_of(request).get("vary")}
    at = scored.cut(request.threshold)
    results = scored.to_frame(at.threshold)
    table = on_all_rows(results, points, only_scores=request.only_scores)
    if paths:
        say(f"Writing {', '.join(str(path) for path in paths.values())}.")
    with staged(paths) as drafts:
        if "--out" in drafts:
            write_scores(drafts["--out"], table, points, settings)
        if "--model" in drafts:
            assert cake is not None
            save(drafts["--model"], cake, points)
        if "--plot" in drafts:
            draw_scores(drafts["--plot"], scored, points)
        for option in {"--save-plan", BESIDE} & drafts.keys():
            write_plan(drafts[option], points)
        if "--report" in drafts:
            write_page(drafts["--report"], scored, points, request, settings)
    notes = note_on_noise(scored.ensemble.noise)
    summary = with_options(summary_of(results, at=at, notes=notes))
    if request.as_json:
        printed = _fields(request, points, scored) | summary_fields(summary)
        if isinstance(scored, Audit):
            printed |= {"verdicts": [vars(verdict) for verdict in scored.verdicts]}
            printed |= {"wrong_labels": scored.wrong_labels._asdict()}
        print_json(printed | {"settings": settings} | plan_of(points), paths)
        return
    if request.to_stdout:
        print_table(table, points.dialect)
    text = summary.text(_headline(points, scored))
    if isinstance(scored, Audit):
        text += f"\n\n{scored.verdicts_as_text()}"
    print_summary(request, text, points)


def predict(request: PredictRequest) -> None:
    """Label and score new points with a stored model."""
    data, columns, paths, model = request.data, request.columns, request.paths, request.model
    cake, fitted = _load_model(model)
    at = cake.confidence_.cut(request.threshold)
    if cake.metric == "precomputed":
        check_square_options(columns)
        points = read_new_distances(data, columns, cake)
    else:
        _check_impute(columns, model, fitted)
        points = read_points(data, columns, fitted=fitted, to_score=True)
    if points.X.shape[1] != cake.n_features_in_:
        raise ValueError(
            f"{data} has {points.X.shape[1]} columns; the model was fitted on "
            f"{cake.n_features_in_}."
        )
    scored = cake.confidence_
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
    if request.as_json:
        print_json(_fields(request, points, scored) | summary_fields(summary), paths)
        return
    if request.to_stdout:
        print_table(table, points.dialect)
    text = summary.text(f"{_headline(points, scored)}; scored by {model}")
    filled = [f"{name} {count}" for name, count in points.n_filled.items()]
    if filled:
        text += f"\n\nMissing values: {listed(filled)}; they take the means that the model stored."
    print_summary(request, text, replace(points, plan=None))


def _fields(
    request: ScoreRequest | PredictRequest, points: Points, scored: Confidence
) -> dict[str, Any]:
    """Return what was scored, and by what runs, as JSON."""
    by_model = {"model": request.model} if isinstance(request, PredictRequest) else {}
    return {"input": request.data, **by_model, "rows": len(points.kept)} | {
        "scored": int(points.kept.sum()),
        "runs": scored.n_runs,
        "geometry": scored.geometry_method,
    }


def _headline(points: Points, scored: Confidence) -> str:
    n = int(points.kept.sum())
    return headline(n, scored.n_clusters, scored.ensemble, scored.geometry_method)


def _check_impute(columns: ReadOptions, model: str, fitted: FittedTable) -> None:
    """Raise if means are asked for that a model has not."""
    if columns.impute is None:
        return
    if fitted.preparer is None:
        raise ValueError(f"--impute: {model} has no column means of its fit; use --drop-missing.")
    if fitted.preparer.plan_.is_mixed:
        raise ValueError(f"--impute: the distances of {model} skip missing values; leave it out.")


def _load_model(path: str) -> tuple[CAKE, FittedTable]:
    """Read a model, and what it knows of the table that it was fitted on."""
    with warnings.catch_warnings():
        # They are scaled here.
        warnings.filterwarnings("ignore", "This model was fitted on standardised columns")
        cake = CAKE.load(path)
    kept = read_about(path).get("preparation")
    names = getattr(cake, "feature_names_in_", None)
    features = None if names is None else tuple(str(name) for name in names)
    preparer = None if kept is None else TablePreparer.from_json(kept)
    return cake, FittedTable(features, preparer)
