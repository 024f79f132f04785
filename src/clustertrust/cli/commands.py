"""What can be typed: commands, their options and help.

The work is in other modules, imported when a command starts.
"""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from clustertrust._interrupts import loaded
from clustertrust.cli.kinds import Between, Numbers, TableChoice, TableOption
from clustertrust.cli.options import (
    AUDITING,
    BUILDING,
    SCORING,
    Columns,
    Method,
    Sections,
    column_options,
    method_options,
    profile_options,
)
from clustertrust.cli.outputs import check_outputs
from clustertrust.cli.request import Request, ScoreRequest
from clustertrust.cli.shared import (
    INPUT,
    OUTPUT,
    STORED,
    TABLES,
    check_column_options,
    check_streams,
    debug_option,
    distances_option,
    json_option,
    only_scores_option,
    save_plan_option,
    threshold_option,
)

__all__ = ["COMMANDS"]


@click.command(
    cls=Sections,
    short_help="Cluster a table and score how far to trust each assignment.",
    epilog="""\b
    clustertrust score data.csv -k 3 --id name --out scores.csv --report report.html
    clustertrust score data.csv --labels runs.csv --out scores.parquet
    clustertrust score data.csv --labels-column species --report report.html""",
)
@click.argument("data", type=TABLES)
@click.option(
    "--out",
    type=OUTPUT,
    metavar="FILE",
    help="Write the scores, one row per point; - prints them as CSV.",
)
@click.option(
    "--report", type=OUTPUT, metavar="FILE", help="Write a page (.html) to explore the scores."
)
@click.option("--plot", type=OUTPUT, metavar="FILE", help="Draw the scores (.png, .svg, .pdf).")
@click.option(
    "--model",
    type=OUTPUT,
    metavar="FILE",
    help="Save the fitted model, for `clustertrust predict`.",
)
@only_scores_option
@save_plan_option
@click.option(
    "--labels",
    type=STORED,
    metavar="FILE",
    help="Score these partitions instead: one column per run. A single column is audited.",
)
@click.option(
    "--labels-column",
    metavar="COL",
    help="Audit the labels in this column of DATA: how far can each be trusted?",
)
@click.option(
    "--noise",
    multiple=True,
    metavar="LABEL",
    help="Label of rows in no cluster; repeat it for several. none: every label is a cluster."
    "  [default: negative numbers, and text such as -1_the_of]",
)
@distances_option
@click.option(
    "--memory",
    type=click.IntRange(min=1),
    metavar="MIB",
    help="Memory for the data in use. Files larger than a quarter of it are read in blocks."
    "  [default: 1024]",
)
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Keep finished runs there, and resume from them.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Do the work on a Dask cluster that reads the same files.",
)
@method_options
@column_options
@threshold_option
@json_option
@debug_option
@click.pass_context
def score(
    ctx: click.Context,
    data: str,
    out: str | None,
    report: str | None,
    plot: str | None,
    model: str | None,
    only_scores: bool,
    save_plan: str | None,
    labels: str | None,
    labels_column: str | None,
    noise: tuple[str, ...],
    distances: bool,
    memory: int | None,
    checkpoint: str | None,
    scheduler: str | None,
    threshold: float | None,
    as_json: bool,
    method: Method,
    columns: Columns,
) -> None:
    """Cluster the rows of DATA many times and score how far each assignment can be trusted.

    DATA is CSV, TSV (both also .gz, .bz2, .xz), TXT, JSON, JSONL, XLSX, ODS, Parquet, Arrow or
    Feather, NPY, NPZ, H5AD, - for standard input, or a folder of CSV, TSV, Parquet or Arrow files.
    Folders, and files larger than --memory allows, are read in blocks. One look at the table
    decides what is done with each column: ids, dates and constant columns are set aside, categories
    become numbers, columns of different ranges are scaled. What was decided is printed. The suffix
    of FILE sets the format of --out and --report. DATA and --labels are never overwritten. With
    --distances, DATA holds the distances of all pairs of points instead.
    """
    outputs = {"--out": out, "--report": report, "--plot": plot, "--model": model}
    outputs |= {"--save-plan": save_plan}
    paths = check_outputs(outputs, {"DATA": data, "--labels": labels, "--plan": columns.plan})
    check_column_options(columns)
    check_streams(out, as_json)
    typed = frozenset(name for name in (*BUILDING, *SCORING) if _is_given(ctx, name))
    if labels is not None and labels_column is not None:
        raise click.UsageError("--labels and --labels-column both give labels; choose one.")
    if noise and labels is None and labels_column is None:
        raise click.UsageError("--noise is for given labels; add --labels or --labels-column.")
    if labels is not None or labels_column is not None:
        # What an audit takes is checked later, when the number of labellings is known.
        others = [name for name in (*BUILDING, "checkpoint") if name not in AUDITING]
        refused = [_typed(ctx, name) for name in others if _is_given(ctx, name)]
        refused += ["--model"] * (model is not None)
        if refused:
            named = "--labels" if labels_column is None else "--labels-column"
            raise click.UsageError(
                f"With {named} nothing is clustered; leave out {', '.join(refused)}."
            )
    import sklearn

    from clustertrust.cli import jobs
    from clustertrust.cli.cells import for_cells, is_h5ad
    from clustertrust.cli.checks import check_method, check_tools
    from clustertrust.cli.squares import check_square_options, for_distances, for_gower

    loaded()
    check_tools(data, columns, paths)
    if distances:
        if labels_column is not None or save_plan is not None or scheduler is not None:
            raise click.UsageError(
                "With --distances every column is a point; leave out --labels-column, --save-plan "
                "and --scheduler. --labels takes labels from a file of their own."
            )
        check_square_options(columns)
        method = for_distances(method, typed)
    if labels is None and labels_column is None:
        _check_given(method, distances)
        method = for_cells(method, typed) if is_h5ad(data, columns) else method
        method = for_gower(method, typed)
        check_method(method, for_model=model is not None)
    with sklearn.config_context(**({} if memory is None else {"working_memory": memory})):
        jobs.score(
            ScoreRequest(
                data=data,
                columns=columns,
                paths=paths,
                threshold=threshold,
                as_json=as_json,
                to_stdout=out == "-",
                only_scores=only_scores,
                method=method,
                labels=labels,
                labels_column=labels_column,
                noise=(None if noise == ("none",) else noise) if noise else "auto",
                typed=typed,
                checkpoint=checkpoint,
                scheduler=scheduler,
                distances=distances,
            )
        )


def _check_given(method: Method, distances: bool) -> None:
    """Raise for a matrix in place of points where something is clustered."""
    if method.metric == "precomputed" and not distances:
        raise click.UsageError(
            "--metric precomputed: to cluster a square table of distances, give --distances."
        )
    if method.kernel == "precomputed":
        raise click.UsageError(
            "--kernel precomputed is for given partitions: clusterers need the points. Add "
            "--labels."
        )


@click.command(
    cls=Sections,
    short_help="Label and score new rows with a saved model.",
    epilog="""\b
    clustertrust predict model new.csv --id name --out labels.csv""",
)
@click.argument("model", type=STORED)
@click.argument("data", type=INPUT)
@click.option(
    "--out", type=OUTPUT, metavar="FILE", help="Write labels, scores and reasons; - prints CSV."
)
@only_scores_option
@column_options
@threshold_option
@json_option
@debug_option
@click.pass_context
def predict(
    ctx: click.Context,
    model: str,
    data: str,
    out: str | None,
    only_scores: bool,
    threshold: float | None,
    as_json: bool,
    columns: Columns,
) -> None:
    """Label and score the rows of DATA with a MODEL that `clustertrust score --model` saved.

    DATA must have the columns that the model was fitted on, in any order; others are carried along.
    Columns are read, encoded and scaled, and missing values filled in, as they were for the fit. A
    row that the model was fitted on counts as new, so its score may differ a little from the first.
    """
    paths = check_outputs({"--out": out}, {"DATA": data, "MODEL": model})
    check_column_options(columns)
    check_streams(out, as_json)
    planned = ("use", "keep", "category", "scale", "standardize", "encode", "plan")
    given = [_typed(ctx, name) for name in planned if _is_given(ctx, name)]
    if given:
        raise click.UsageError(
            f"{given[0]}: the model knows its columns and what was done with them; leave it out."
        )
    from clustertrust.cli import jobs
    from clustertrust.cli.checks import check_tools

    loaded()
    check_tools(data, columns, paths)
    request = Request(
        data=data,
        columns=columns,
        paths=paths,
        threshold=threshold,
        as_json=as_json,
        to_stdout=out == "-",
        only_scores=only_scores,
    )
    jobs.predict(model, request)


@click.command(
    cls=Sections,
    short_help="Make a page to explore from a file of scores.",
    epilog="""\b
    clustertrust report scores.csv --data data.csv --id name --out report.html""",
)
@click.argument("scores", type=STORED)
@click.option(
    "--data", type=INPUT, required=True, metavar="FILE", help="The table that was scored."
)
@click.option(
    "--out", type=OUTPUT, required=True, metavar="FILE", help="The page to write (.html)."
)
@click.option("--title", metavar="TEXT", help="Headline of the page.")
@column_options
@threshold_option
@debug_option
def report(
    scores: str, data: str, out: str, title: str | None, threshold: float | None, columns: Columns
) -> None:
    """Make a page to explore, from SCORES that `clustertrust score --out` wrote, and the data.

    Rows are matched by name if --id says which column of the data has the names, otherwise by
    position.
    """
    paths = {
        "--out": check_outputs({"--report": out}, {"SCORES": scores, "--data": data})["--report"]
    }
    check_column_options(columns)
    from clustertrust.cli import reporting
    from clustertrust.cli.checks import check_tools

    loaded()
    check_tools(data, columns, {})
    reporting.report(
        scores, Request(data=data, columns=columns, paths=paths, threshold=threshold), title
    )


@click.command(
    "choose-k",
    cls=Sections,
    short_help="Find how many clusters a table supports.",
    epilog="""\b
    clustertrust choose-k data.csv --k 2:12 --plot k.png
    clustertrust choose-k data.csv --k 2,3,5,8 --no-null --out k.csv""",
)
@click.argument("data", type=INPUT)
@click.option(
    "-k",
    "--k",
    "ks",
    type=Numbers(),
    default="2:12",
    show_default=True,
    help="Numbers of clusters to try.",
)
@click.option(
    "--out",
    type=OUTPUT,
    metavar="FILE",
    help="Write the table, one row per number; - prints it as CSV.",
)
@click.option("--plot", type=OUTPUT, metavar="FILE", help="Draw the profile (.png, .svg, .pdf).")
@save_plan_option
@distances_option
@click.option(
    "--null/--no-null",
    default=True,
    show_default=True,
    help="Compare with data without clusters. With --no-null, --distances or --metric gower the "
    "answer is never 1.",
)
@click.option(
    "--effort",
    cls=TableOption,
    metavar="NAME",
    type=TableChoice("k_profile.null_test:EFFORTS"),
    default="quick",
    show_default=True,
    help="How they are compared. full: scored as the data are, which takes some forty times as"
    " long.",
)
@click.option(
    "--surrogates",
    "n_surrogates",
    type=click.IntRange(min=2),
    default=19,
    show_default=True,
    metavar="B",
    help="Data sets without clusters, of each of three kinds.",
)
@click.option(
    "--level",
    type=Between(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    metavar="P",
    help="Largest p-value at which some number of clusters stands out.",
)
@click.option(
    "--max-points",
    type=click.IntRange(min=2),
    default=2000,
    show_default=True,
    metavar="N",
    help="From more rows, a random sample of this size is used.",
)
@profile_options
@column_options
@json_option
@debug_option
@click.pass_context
def choose_k(
    ctx: click.Context,
    data: str,
    ks: tuple[int, ...],
    out: str | None,
    plot: str | None,
    save_plan: str | None,
    distances: bool,
    null: bool,
    effort: str,
    n_surrogates: int,
    level: float,
    max_points: int,
    as_json: bool,
    method: Method,
    columns: Columns,
) -> None:
    """Cluster the rows of DATA with each number of clusters, and recommend one.

    Each number gets a probability from two signals, likelihood and stability; separation counts
    where one of them is missing. The recommendation is 1 if no number stands out from one cloud of
    points. DATA is read as by
    `clustertrust score`, but not in blocks. With --distances, DATA holds the distances of all pairs
    of points. The suffix of FILE sets the format of --out and --plot; .json holds what --json
    prints.
    """
    outputs = {"--out": out, "--plot": plot, "--save-plan": save_plan}
    paths = check_outputs(outputs, {"DATA": data, "--plan": columns.plan})
    check_column_options(columns)
    check_streams(out, as_json)
    from clustertrust.cli import choosing
    from clustertrust.cli.checks import check_tools
    from clustertrust.cli.squares import check_square_options, for_distances, for_gower

    loaded()
    typed = frozenset(name for name in ("clusterer", "metric") if _is_given(ctx, name))
    if distances:
        if save_plan is not None:
            raise click.UsageError("With --distances every column is a point; leave --save-plan.")
        check_square_options(columns)
        method = for_distances(method, typed)
    _check_given(method, distances)
    method = for_gower(method, typed)
    null = choosing.check_null(method, null, typed=_is_given(ctx, "null"))
    refused = [
        _typed(ctx, name)
        for name in ("effort", "n_surrogates", "level")
        if not null and _is_given(ctx, name)
    ]
    if refused:
        why = "With --no-null" if _is_given(ctx, "null") else f"With {_instead(distances)}"
        raise click.UsageError(f"{why} there are no surrogates; leave out {', '.join(refused)}.")
    choosing.check_choosing_method(method)
    choosing.check_table(paths.get("--out"))
    check_tools(
        data, columns, {option: path for option, path in paths.items() if option != "--out"}
    )
    asked = choosing.Asked(ks, null, effort, n_surrogates, level, max_points, distances)
    request = Request(
        data=data, columns=columns, paths=paths, as_json=as_json, to_stdout=out == "-"
    )
    choosing.choose(request, method, asked)


def _instead(distances: bool) -> str:
    """Return the option by which there are no points."""
    return "--distances" if distances else "--metric gower"


@click.command(short_help="See it at work on the Iris flowers.")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Write the example's files there too.",
)
@debug_option
def demo(out: str | None) -> None:
    """Score three clusters of the 150 Iris flowers, and explain the least sure flower.

    --out FOLDER writes the data as CSV, the scores, a page to explore and the model, so that you
    can try the commands.
    """
    from clustertrust.cli import example

    loaded()
    example.demo(out)


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) not in {
        ParameterSource.DEFAULT,
        ParameterSource.DEFAULT_MAP,
    }


def _typed(ctx: click.Context, name: str) -> str:
    """Return the option that a user types for a parameter."""
    return next(param.opts[0] for param in ctx.command.params if param.name == name)


COMMANDS: dict[str, Any] = {
    "score": score,
    "predict": predict,
    "report": report,
    "choose-k": choose_k,
    "demo": demo,
}
