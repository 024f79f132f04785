"""What the commands do: read, call the library once, write, print."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from clustertrust import CAKE, Audit, Confidence, __version__, audit, confidence
from clustertrust.cli.cells import graph_of, is_h5ad, runs_of
from clustertrust.cli.flags import as_typed
from clustertrust.cli.large import large_source, score_large
from clustertrust.cli.options import AUDITING, NOT_AUDITING, Columns, Method
from clustertrust.cli.outputs import staged
from clustertrust.cli.planning import FittedTable, for_metric
from clustertrust.cli.points import ROW, Points, on_all_rows, read_file, read_points
from clustertrust.cli.printing import (
    name_of,
    plan_of,
    print_json,
    print_summary,
    print_table,
    say,
    score_settings,
    summary_fields,
    watched,
    with_options,
)
from clustertrust.cli.request import Request, ScoreRequest
from clustertrust.cli.scaling import Preparation
from clustertrust.cli.squares import (
    check_square_options,
    for_distances,
    for_gower,
    read_new_distances,
    read_square,
)
from clustertrust.cli.writing import (
    KEY,
    draw_scores,
    own_columns,
    save,
    votes_of,
    write_page,
    write_plan,
    write_scores,
)
from clustertrust.files import FORMATS, Reading, format_of, read_table, write_table
from clustertrust.files.columns import listed
from clustertrust.files.formats import need
from clustertrust.model_files import read_about
from clustertrust.reasons import first_threshold
from clustertrust.results import COLUMNS
from clustertrust.summary import headline, summary_of
from clustertrust.tables import TablePlan

__all__ = [
    "check_method",
    "check_square_options",
    "check_tools",
    "demo",
    "for_distances",
    "for_gower",
    "predict",
    "report",
    "score",
]


def check_tools(data: str, columns: Columns, paths: Mapping[str, Path]) -> None:
    """Raise for a file whose format is unknown, unsuitable, or needs a missing package."""
    if data != "-" and Path(data).is_dir():  # its files show the format
        return
    try:
        given = columns.format or ("csv" if data == "-" else format_of(data))
    except ValueError as error:
        if Path(data).suffix.lower() in {".xls", ".numbers"}:
            raise click.UsageError(
                f"{data} is a spreadsheet; save the sheet as .xlsx, .ods or CSV."
            ) from error
        raise click.UsageError(f"{error} Name it with --format.") from error
    need(given)
    out = paths.get("--out")
    if out is not None:
        try:
            wanted = format_of(out)
        except ValueError as error:
            raise click.UsageError(f"--out {error} Choose one.") from error
        need(wanted)
        if FORMATS[wanted].write is None and given != wanted:
            raise click.UsageError(
                f"--out {out}: scores go into the obs of AnnData; DATA must be an H5AD file too."
            )
    if "--plot" in paths and importlib.util.find_spec("matplotlib") is None:
        raise ImportError('--plot needs matplotlib: pip install "clustertrust[plot]"')


def check_method(method: Method, *, for_model: bool) -> None:
    """Raise if a number of clusters is missing or unwanted, or if a model cannot be saved."""
    from clustertrust.ensemble.clusterers import CLUSTERERS, cluster_parameter, fit_run
    from clustertrust.ensemble.run_files import can_be_stored

    takes = [
        name for name in method.clusterer if cluster_parameter(CLUSTERERS[name](2)) is not None
    ]
    if takes and method.n_clusters is None:
        raise click.UsageError(f"{takes[0]} needs a number of clusters: add -k, such as -k 3.")
    finds = [name for name in method.clusterer if name not in takes]
    if finds and method.n_clusters is not None:
        raise click.UsageError(f"{finds[0]} finds the number of clusters; leave out -k.")
    if not for_model:
        return
    sample = np.random.default_rng(0).normal(
        size=(24, 2)
    )  # what a run can store does not depend on the data
    for name in method.clusterer:
        run = fit_run(sample, name, CLUSTERERS[name](2), 0, vary={}, resample=None, left_out="skip")
        if not can_be_stored(run.placer):
            raise click.UsageError(
                f"--model: runs of {name} cannot be saved; use another --clusterer."
            )


def score(request: ScoreRequest) -> None:
    """Score points, or given partitions, or audit one labelling."""
    has_labels = request.labels is not None or request.labels_column is not None
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
        columns, labels = _without_labels(request)
        written = bool(paths) or request.to_stdout
        columns = for_metric(columns, method.metric)
        points = read_points(data, columns, to_score=True, own=written)
    if points.kept.sum() < 2:
        raise ValueError(
            f"{name_of(data)} has {points.kept.sum()} row to cluster; there must be at least 2."
        )
    say(f"Scoring {points.kept.sum():,} points of {name_of(data)}.")
    cake = None
    graph = graph_of(request, points)
    if graph is not None and not has_labels:
        scored = _score_graph(request, graph)
    elif not has_labels:
        params = runs_of(request) | method.scoring()
        cake = CAKE(**params, verbose=watched(), checkpoint=request.checkpoint)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r".*looks like an id")  # the plan says so
            cake.fit(points.X)
        scored = cake.confidence_
    else:
        scored = _score_given(request, points, labels, graph)
    scored = replace(scored, frame=pd.DataFrame(index=points.ids[points.kept]))
    settings = score_settings(request, scored, points)
    settings |= {} if has_labels else {"vary": runs_of(request).get("vary")}
    threshold = request.threshold_for(scored.scores)
    found = scored.to_frame(threshold)
    table = on_all_rows(found, points, only_scores=request.only_scores)
    if paths:
        say(f"Writing {', '.join(str(path) for path in paths.values())}.")
    with staged(paths) as at:
        if "--out" in at:
            write_scores(at["--out"], table, points, settings)
        if "--model" in at:
            assert cake is not None
            save(at["--model"], cake, points)
        if "--plot" in at:
            draw_scores(at["--plot"], scored, points)
        if "--save-plan" in at:
            write_plan(at["--save-plan"], points)
        if "--report" in at:
            shown = settings | (scored.verdicts_by_name() if isinstance(scored, Audit) else {})
            write_page(at["--report"], scored, points, shown, request.threshold, name_of(data))
    summary = with_options(summary_of(found, threshold=threshold, fitted=request.threshold is None))
    if request.as_json:
        printed = {
            "input": data,
            "rows": len(points.kept),
            "scored": len(found),
            "runs": scored.n_runs,
        }
        printed |= {"geometry": scored.geometry_method} | summary_fields(summary)
        if isinstance(scored, Audit):
            printed |= {"verdicts": [vars(verdict) for verdict in scored.verdicts]}
        print_json(printed | {"settings": settings} | plan_of(points), paths)
        return
    if request.to_stdout:
        print_table(table)
    line = headline(len(found), len(scored.label_names), scored.ensemble, scored.geometry_method)
    text = summary.text(line)
    if isinstance(scored, Audit):
        text += f"\n\n{scored.verdicts_as_text()}"
    print_summary(request, text, points)


def predict(model: str, request: Request) -> None:
    """Label and score new points with a stored model."""
    data, columns, paths = request.data, request.columns, request.paths
    cake, fitted = _load_model(model)
    threshold = request.threshold_for(cake.scores_)
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
    found = cake.judge(points.X, threshold=threshold).set_axis(points.ids[points.kept], axis=0)
    table = on_all_rows(found, points, only_scores=request.only_scores)
    with staged(paths) as at:
        if "--out" in at:
            write_scores(
                at["--out"], table, points, {"model": Path(model).name, "clustertrust": __version__}
            )
    # Runs are judged by the points that they were made of, not by these.
    summary = replace(
        summary_of(found, threshold=threshold, fitted=request.threshold is None), notes=()
    )
    if request.as_json:
        printed = {
            "input": data,
            "model": model,
            "rows": len(points.kept),
            "scored": len(found),
            "runs": cake.n_runs_,
        }
        print_json(printed | {"geometry": cake.geometry_method_} | summary_fields(summary), paths)
        return
    if request.to_stdout:
        print_table(table)
    line = headline(len(found), cake.votes_.shape[1], cake.ensemble_, cake.geometry_method_)
    text = summary.text(f"{line}; scored by {model}")
    filled = [f"{name} {count}" for name, count in points.n_filled.items()]
    if filled:
        text += f"\n\nMissing values: {listed(filled)}; they take the means that the model stored."
    print_summary(request, text, replace(points, plan=None))


def report(scores: str, request: Request, title: str | None) -> None:
    """Make a page from scores and the data they belong to."""
    from clustertrust.report import write_report

    data, columns, paths = request.data, request.columns, request.paths
    points = read_points(data, columns)
    table = _read_scores(scores, columns.id)
    places = np.arange(len(table))
    if columns.id is not None:
        by_name = _by_name(table, points.ids, scores, data)  # raises if names occur twice
        places = table.index.map(str).get_indexer(points.ids.map(str))
        table = by_name
    elif len(table) != len(points.ids):
        raise ValueError(
            f"{scores} has {len(table)} rows and {data} has {len(points.ids)}; give the data that "
            "were scored, or name the column that both have with --id."
        )
    elif points.plan is not None and points.plan.id:
        table = table.set_axis(points.ids, axis=0)
    table = table[points.kept]
    unscored = (
        table["score"].isna().to_numpy() & table["label"].isna().to_numpy()
    )  # rows that scoring left out
    values = points.unscaled[~unscored]
    own = own_columns(points)
    if isinstance(values, pd.DataFrame):
        values = values.set_axis(table.index[~unscored], axis=0)  # matched by name or by position
    settings = {"scores": Path(scores).name, "data": Path(data).name, "rows": len(points.ids)}
    with staged(paths) as at:
        write_report(
            at["--out"],
            table[~unscored],
            values,
            settings=settings,
            title=title or f"How far can the clusters of {name_of(data)} be trusted?",
            threshold=request.threshold,
            original=None if own is None else own[~unscored],
            folder=points.folder,
            rows=places[points.kept][~unscored],
        )
    click.echo(f"Wrote {paths['--out']}: {len(table) - unscored.sum()} points.")


def demo(folder: str | None) -> None:
    """Score Iris, and explain the least sure point."""
    from sklearn.datasets import load_iris

    from clustertrust.report import write_report

    files = {} if folder is None else _demo_files(Path(folder))
    iris = load_iris(as_frame=True)
    names = pd.Index([f"flower-{i:03}" for i in range(1, len(iris.data) + 1)], name="flower")
    X = iris.data.set_axis(
        [name.removesuffix(" (cm)").replace(" ", "_") for name in iris.data.columns], axis=1
    )
    X = X.set_axis(names, axis=0)
    cake = CAKE(n_clusters=3, random_state=0).fit(X)
    worst = int(cake.scores_.argmin())
    threshold = first_threshold(cake.scores_)
    table = cake.to_frame(threshold)
    shown = summary_of(table, threshold=threshold, fitted=True)
    click.echo("How far can each assignment of 150 Iris flowers to 3 clusters be trusted?\n")
    click.echo(shown.text(headline(150, 3, cake.ensemble_, cake.geometry_method_)))
    why = str(cake.explain(worst, threshold)).replace(
        f"Point {worst} ({names[worst]}):", f"{names[worst]}:", 1
    )
    click.echo(f"\nWhy did {names[worst]} score as it did?\n{why}\n")
    if not files:
        click.echo(
            "clustertrust demo --out FOLDER writes this example as files to try the commands on."
        )
        return
    with staged(files) as at:
        write_table(X.assign(species=iris.target_names[iris.target]).reset_index(), at["data"])
        write_table(table.reset_index(), at["--out"])
        cake.save(at["--model"])
        write_report(
            at["--report"],
            table,
            X,
            votes=votes_of(cake.confidence_),
            settings={"n_clusters": 3, "random_state": 0},
            title="Iris: which flowers can be trusted to belong to their cluster?",
        )
    click.echo(
        f"Wrote {', '.join(str(path) for path in files.values())}. The same from the command "
        "line:\n"
    )
    outputs = " ".join(f"{option} {path}" for option, path in files.items() if option != "data")
    how = "-k 3 --id flower --drop species --only-scores"
    click.echo(f"  clustertrust score {files['data']} {how} {outputs}")


def _demo_files(folder: Path) -> dict[str, Path]:
    """Return the paths of the example's files; raise if one exists."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "data": "iris.csv",
        "--out": "scores.csv",
        "--model": "iris.model",
        "--report": "report.html",
    }
    for name in files.values():
        if (folder / name).exists():
            raise click.UsageError(
                f"--out {folder}: the file {name} exists already; name another folder."
            )
    return {option: folder / name for option, name in files.items()}


def _without_labels(request: ScoreRequest) -> tuple[Columns, pd.DataFrame | None]:
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


def _column_of(table: pd.DataFrame, name: str, request: ScoreRequest) -> pd.DataFrame:
    """Return the column of labels of a table, by its name as the user typed it."""
    names = {str(column): column for column in table.columns}
    if name not in names:
        problem = f"{name_of(request.data)} has no such column; it has {listed(list(names), 20)}."
        raise ValueError(f"--labels-column {name}: {problem}")
    return table[[names[name]]]


def _score_graph(request: ScoreRequest, graph: Any) -> Confidence:
    """Cluster and score the graph of neighbours of cells."""
    refused = ["--model"] * ("--model" in request.paths) + ["--checkpoint"] * bool(
        request.checkpoint
    )
    if refused:
        raise click.UsageError(
            f"{refused[0]} needs coordinates, and the graph of neighbours of the cells is "
            "clustered; add --use-rep X_pca."
        )
    method = request.method
    found: Confidence = graph.cluster(
        runs_of(request), graph.scoring(_of_graph(method.scoring(), request)), watched()
    )
    return found


def _of_graph(params: Mapping[str, Any], request: ScoreRequest) -> dict[str, Any]:
    """Return parameters of scoring for a graph, which has a geometry and weights of its own."""
    geometry = params["geometry"] if "geometry" in request.typed else None
    return {name: value for name, value in params.items() if name != "kernel"} | {
        "geometry": geometry
    }


def _score_given(
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
    refused = [name for name in (NOT_AUDITING if is_one else AUDITING) if name in typed]
    if refused:
        why = "one labelling is audited" if is_one else "nothing is clustered"
        options = as_typed(", ".join(f"{name}=…" for name in refused))
        raise click.UsageError(f"With --labels {why}; leave out {options}.")
    X, how = points.X, method.auditing(typed) if is_one else method.scoring()
    if graph is not None:
        X, how = graph.X, graph.scoring(_of_graph(how, request))
    if is_one:
        return audit(X, runs.iloc[:, 0], **how, verbose=watched())
    return confidence(X, runs, **how)


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
        raise ValueError(f"{path} has no column of labels beside the names of the rows.")
    distinct = [name for name in runs if len(runs) > 2 and runs[name].nunique() == len(runs)]
    if distinct:
        raise ValueError(
            f"{path}: the column {str(distinct[0])!r} has a different value in every row, so it is "
            "not a partition. Remove it from the file, or name the rows by it with --id."
        )
    return runs[points.kept].reset_index(drop=True)


def _read_scores(path: str, id: str | None = None) -> pd.DataFrame:
    """Read the results in a table that `score --out` wrote.

    The column `id`, or the first if all others are results, or cell names become the index.
    """
    if format_of(path) == "h5ad":
        found = importlib.import_module("anndata").read_h5ad(path, backed="r").obs
        table = found.filter(regex=f"^{KEY}_").rename(
            columns=lambda name: name.removeprefix(f"{KEY}_")
        )
    else:
        table = read_table(path).data
        if isinstance(table, pd.DataFrame):
            names = [str(name) for name in table.columns]
            first = id if id in names else _lone_name(names)
            if first is not None:  # again, with the names as text
                text = () if first == ROW else (first,)
                table = read_table(path, Reading(text=text)).data.set_index(first)
            table = table[[name for name in table.columns if name in COLUMNS]]
    if not isinstance(table, pd.DataFrame) or not {"label", "score"} <= set(table.columns):
        raise ValueError(
            f"{path} lacks the columns label and score; give a file that `clustertrust score "
            "--out` wrote."
        )
    return table


def _lone_name(names: list[str]) -> str | None:
    """Return the first column if it alone is no result: the names of the rows."""
    return names[0] if names[0] not in COLUMNS and set(names[1:]) <= set(COLUMNS) else None


def _by_name(table: pd.DataFrame, ids: pd.Index, scores: str, data: str) -> pd.DataFrame:
    """Return rows of scores in the order of the data."""
    theirs = table.set_axis(table.index.map(str), axis=0)
    ours = ids.map(str)
    if not theirs.index.is_unique or not ours.is_unique:
        raise ValueError(
            f"--id {ids.name}: some of its values occur more than once, so it does not identify "
            "the rows; name another column."
        )
    missing = ours[~ours.isin(theirs.index)]
    if len(missing):
        raise ValueError(
            f"{scores} has no scores for {len(missing)} rows of {data}, such as "
            f"{str(missing[0])!r}."
        )
    return theirs.loc[ours].set_axis(ids, axis=0)


def _check_impute(columns: Columns, model: str, fitted: FittedTable) -> None:
    """Raise if means are asked for that a model has not."""
    if columns.impute is None:
        return
    if fitted.preparation is None:
        raise ValueError(f"--impute: {model} has no column means of its fit; use --drop-missing.")
    if fitted.plan is not None and fitted.plan.is_mixed:
        raise ValueError(f"--impute: the distances of {model} skip missing values; leave it out.")


def _load_model(path: str) -> tuple[CAKE, FittedTable]:
    """Read a model, and what it knows of the table that it was fitted on."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "This model was fitted on standardised columns"
        )  # which is done here
        cake = CAKE.load(path)
    kept = read_about(path).get("preparation")
    names = getattr(cake, "feature_names_in_", None)
    features = None if names is None else tuple(str(name) for name in names)
    stored = None if kept is None or features is None else kept.get("plan")
    plan = None if stored is None else TablePlan.from_json(stored)
    return cake, FittedTable(features, Preparation.from_json(kept), plan)
