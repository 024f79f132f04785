"""`clustertrust score` and `audit`: read, call the library once, write, print."""

from __future__ import annotations

import warnings
from dataclasses import replace

import click
import pandas as pd
import sklearn

from clustertrust import CAKE, Confidence
from clustertrust.cli.cells import for_cells, graph_of, is_h5ad, score_graph
from clustertrust.cli.checks import check_matrix, check_method, check_tools
from clustertrust.cli.given import score_given
from clustertrust.cli.large import large_source, score_large
from clustertrust.cli.outputs import staged
from clustertrust.cli.planning import for_metric
from clustertrust.cli.points import Points, name_of, on_all_rows, read_points
from clustertrust.cli.printing import (
    Outcome,
    is_interactive,
    left_out_of,
    print_scores,
    print_table,
    say,
    score_settings,
    with_options,
)
from clustertrust.cli.quoting import quoted, read_tests
from clustertrust.cli.request import ScoreRequest
from clustertrust.cli.sidecar_plan import with_sidecar_plan
from clustertrust.cli.squares import for_distances, for_gower, read_square
from clustertrust.cli.writing import write_scores, write_shown
from clustertrust.notes import note_on_noise
from clustertrust.summary import summary_of


def score(request: ScoreRequest) -> None:
    """Score points, or given partitions, or audit one labelling."""
    check_tools(request.data, request.columns, request.paths)
    method = request.method
    if request.distances:
        why = "With --distances every column is a point, and --labels takes labels from a file"
        request.refuse(("labels_column", "save_plan", "scheduler"), why)
        method = for_distances(request)
    if not request.has_labels:
        check_matrix(method, request.distances)
        if is_h5ad(request.data, request.columns):
            method = for_cells(method, request.typed)
        method = for_gower(method, request.typed)
        check_method(method, for_model=request.model is not None)
    memory = request.columns.memory
    with sklearn.config_context(**({} if memory is None else {"working_memory": memory})):
        _score(replace(request, method=method))


def _score(request: ScoreRequest) -> None:
    """Score a table in blocks, or whole."""
    source = None if request.has_labels or request.distances else large_source(request)
    if source is not None:
        score_large(request, source)
        return
    if request.scheduler is not None:
        raise click.UsageError(
            "--scheduler needs CSV, Parquet or Arrow files that every worker can read, without "
            "--labels."
        )
    request, points = _read(request)
    paths, n = request.paths, int(points.kept.sum())
    if n < 2:
        raise ValueError(
            f"{name_of(request.data)} has {n} row to cluster; there must be at least 2."
        )
    read_tests(request, n)
    say(f"Scoring {n:,} points of {name_of(request.data)}.")
    cake = _estimator_of(request)
    scored = _scored(request, points, cake)
    settings = score_settings(request, scored, points)
    settings |= {} if request.has_labels else {"vary": cake.vary}
    at = scored.cut(request.threshold)
    results = scored.to_frame(at.threshold)
    table = on_all_rows(results, points, only_scores=request.only_scores)
    if paths:
        say(f"Writing {', '.join(str(path) for path in paths.values())}.")
    with staged(paths) as drafts:
        if "--out" in drafts:
            write_scores(drafts["--out"], table, points, settings)
        if "--model" in drafts:
            # Progress was for this run of the command.
            cake.set_params(verbose=False)
            preparation = None if points.preparer is None else points.preparer.to_json()
            cake.save(drafts["--model"], preparation=preparation)
        write_shown(drafts, scored, points, request, settings)
    if request.to_stdout and not request.as_json:
        print_table(table, points.dialect)
    notes = note_on_noise(scored.ensemble.noise)
    summary = with_options(summary_of(results, at=at, notes=notes))
    summary = replace(summary, quoted=quoted(request, scored))
    rows = len(points.kept)
    print_scores(Outcome(request, points, scored, summary, left_out_of(points), rows), settings)


def _read(request: ScoreRequest) -> tuple[ScoreRequest, Points]:
    """Read the points; the plan of their columns may be one more output of the request."""
    if request.distances:
        return request, read_square(request.data, request.columns)
    columns, labels = for_metric(request.columns, request.method.metric), request.labels_column
    if labels is not None and not is_h5ad(request.data, columns):
        columns = replace(columns, drop=(*columns.drop, labels))  # no feature
    own = bool(request.paths) or request.to_stdout
    points = read_points(request.data, columns, labels=labels, own=own)
    return replace(request, paths=with_sidecar_plan(request.paths, columns, points)), points


def _estimator_of(request: ScoreRequest) -> CAKE:
    """Return the settings of a request as an estimator."""
    runs = request.method.building(request.checkpoint)
    if is_h5ad(request.data, request.columns):
        from clustertrust.anndata.data import with_variation

        runs = with_variation(runs)
    return CAKE(**runs, **request.method.scoring(), verbose=is_interactive())


def _scored(request: ScoreRequest, points: Points, cake: CAKE) -> Confidence:
    """Cluster and score points, or score given labels; the estimator may be fitted then."""
    graph = graph_of(request, points, cake)
    if request.has_labels:
        scored = score_given(request, points, graph)
    elif graph is not None:
        scored = score_graph(request, graph, cake)
    else:
        with warnings.catch_warnings():
            # The plan says so.
            warnings.filterwarnings("ignore", r".*looks like an id")
            cake.fit(points.X)
        scored = cake.confidence_
    return replace(scored, frame=pd.DataFrame(index=points.ids[points.kept]))
