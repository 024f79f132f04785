"""`clustertrust score` and `audit`: read, call the library once, write, print."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import sklearn
from sklearn.base import clone

from clustertrust import CAKE, Confidence, Ensemble, audit, confidence
from clustertrust.cli.checks import check_matrix, check_method, check_tools
from clustertrust.cli.large import large_source, score_large
from clustertrust.cli.options import AUDITING, NOT_AUDITING, CakeOptions, ReadOptions
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
from clustertrust.cli.request import AuditRequest, ScoreRequest
from clustertrust.cli.sidecar_plan import with_sidecar_plan
from clustertrust.cli.squares import for_distances, for_gower, read_square
from clustertrust.cli.writing import quoted, read_tests, write_scores, write_shown
from clustertrust.files import FORMATS, Reading, format_of, read_table
from clustertrust.summary import notes_of, summary_of


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
    notes = notes_of(scored, results["label"])
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


def score_given(request: ScoreRequest, points: Points, graph: Any) -> Confidence:
    """Score given partitions, or audit one labelling."""
    if request.labels is not None:
        runs = _read_partitions(request.labels, request.columns.id, points)
    else:
        assert points.labels is not None
        runs = points.labels[points.kept].reset_index(drop=True)
    typed, method = request.typed, request.method
    is_one = runs.shape[1] == 1
    if isinstance(request, AuditRequest) and not is_one:
        raise ValueError(
            f"{request.labels} has {runs.shape[1]} columns; an audit takes one, of labels. Score "
            "several runs with clustertrust score --labels."
        )
    why = "one labelling is audited" if is_one else "nothing is clustered"
    request.refuse(NOT_AUDITING if is_one else AUDITING, f"With --labels {why}")
    X, params = points.X, method.auditing(typed) if is_one else method.scoring()
    if graph is not None:
        X, params = graph.X, params | {"geometry": graph.geometry}
    labels = Ensemble.from_labels(runs, noise=request.noise_rule)
    if is_one:
        return audit(X, labels, **params, **_classifier(request, points), verbose=is_interactive())
    return confidence(X, labels, **params)


def _classifier(request: ScoreRequest, points: Points) -> dict[str, Any]:
    """Return what votes besides the runs, as parameters of `audit`."""
    if not isinstance(request, AuditRequest):
        return {}
    if request.pred_probs is None:
        return {"classifier": None if request.classifier == "none" else request.classifier}
    # Labels may be numbers, and names of columns then look like values.
    kind = FORMATS[format_of(request.pred_probs)]
    header = True if "header" in kind.options else None
    shares = _read_rows(request.pred_probs, request.columns.id, points, header)
    # A file of an array has no names: its columns are in the order of the labels.
    has_names = kind not in (FORMATS["npy"], FORMATS["npz"])
    return {"pred_probs": shares if has_names else shares.to_numpy()}


def _read_partitions(path: str, id: str | None, points: Points) -> pd.DataFrame:
    """Read partitions of the used points: one column per run, and perhaps one of row names."""
    runs = _read_rows(path, id, points)
    if runs.shape[1] == 0:
        raise ValueError(f"{path} has no column of labels besides the names of the rows.")
    distinct = [name for name in runs if len(runs) > 2 and runs[name].nunique() == len(runs)]
    if distinct:
        raise ValueError(
            f"{path}: the column {str(distinct[0])!r} has a different value in every row, so it is "
            "not a partition. Remove it from the file, or name the rows by it with --id."
        )
    return runs


def _read_rows(
    path: str, id: str | None, points: Points, header: bool | None = None
) -> pd.DataFrame:
    """Read a table about the rows of the data that are used; names, which must match, drop out."""
    table = read_table(path, Reading(text=() if id is None else (id,), header=header)).data
    if not isinstance(table, pd.DataFrame):
        raise ValueError(f"{path} holds a sparse matrix; give a table.")
    if len(table) != len(points.kept):
        raise ValueError(
            f"{path} has {len(table)} rows and the data have {len(points.kept)}; give the same "
            "rows in the same order."
        )
    if id is not None and id in table:
        names = table.pop(id).map(str).to_numpy()
        differ = np.flatnonzero(names != points.ids.map(str).to_numpy())
        if differ.size:
            raise ValueError(
                f"{path} names row {differ[0]} {names[differ[0]]!r}, and the data "
                f"{points.ids[differ[0]]!r}; give the same rows in the same order."
            )
    return table[points.kept].reset_index(drop=True)


def is_h5ad(data: str, columns: ReadOptions) -> bool:
    """Return whether the file is AnnData."""
    # A folder has no format of its own.
    if data == "-" or Path(data).is_dir():
        return False
    return columns.format_of(data) == "h5ad"


def for_cells(method: CakeOptions, typed: Collection[str]) -> CakeOptions:
    """Return the method with the default for cells: Leiden, unless -k or --clusterer is typed."""
    if "clusterer" in typed or method.n_clusters is not None:
        return method
    from clustertrust.anndata.data import SCORED_BY

    scored_by: Any = {name: value for name, value in SCORED_BY.items() if name not in typed}
    return replace(method, clusterer=("leiden",), **scored_by)


def graph_of(request: ScoreRequest, points: Points, cake: CAKE) -> Any:
    """Return the graph of neighbours of the cells, as :class:`clustertrust.anndata.data.CellData`.

    None where there is none, or where coordinates are needed.
    """
    if points.adata is None:
        return None
    from clustertrust.anndata.data import cells_of

    if request.has_labels and "clusterer" not in request.typed:
        # Nothing is clustered, or by what suits the data.
        cake = clone(cake).set_params(clusterer=None)
    cells = cells_of(points.adata, cake, request.columns.use_rep)
    if not cells.is_graph:
        return None
    return cells.rows(points.kept)


def score_graph(request: ScoreRequest, graph: Any, cake: CAKE) -> Confidence:
    """Cluster and score the graph of neighbours of cells."""
    refused = ["--model"] * ("--model" in request.paths) + ["--checkpoint"] * bool(
        request.checkpoint
    )
    if refused:
        raise click.UsageError(
            f"{refused[0]} needs coordinates, and the graph of neighbours of the cells is "
            "clustered; add --use-rep X_pca."
        )
    scored: Confidence = graph.cluster(cake)
    return scored
