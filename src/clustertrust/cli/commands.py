"""What can be typed: commands, their help, and checks of what was typed.

The options are in `request`; the work is in other modules, imported when a command starts.
"""

from __future__ import annotations

from dataclasses import replace

import click

from clustertrust._interrupts import loaded
from clustertrust.cli.declaring import debug_option, takes
from clustertrust.cli.options import AUDITING, BUILDING, CakeOptions, Sections
from clustertrust.cli.outputs import PAGES, check_suffix
from clustertrust.cli.request import (
    AskRequest,
    AuditRequest,
    ChooseRequest,
    DecideRequest,
    ExplainRequest,
    PredictRequest,
    ReportRequest,
    ScoreRequest,
)


@click.command(
    cls=Sections,
    short_help="Cluster a table and score how much to trust each assignment.",
    epilog="""\b
    clustertrust score data.csv -k 3 --id name --out scores.csv --report report.html
    clustertrust score data.csv --labels runs.csv --out scores.parquet
    clustertrust score data.csv --labels-column species --report report.html""",
)
@takes(ScoreRequest)
def score(request: ScoreRequest) -> None:
    """Cluster the rows of DATA many times and score how much each assignment can be trusted.

    DATA is CSV, TSV (both also .gz, .bz2, .xz), TXT, JSON, JSONL, XLSX, ODS, Parquet, Arrow or
    Feather, NPY, NPZ, H5AD, - for standard input, or a folder of CSV, TSV, Parquet or Arrow files.
    Folders and large files (--memory) are read in blocks. The command inspects the table and
    prints what it does with each column: ids, dates and constants are left out, categories become
    numbers, columns of different ranges are scaled. The suffix of FILE sets the format of --out.
    DATA and --labels are never overwritten. With --distances, DATA holds the distances of all
    pairs of points instead.
    """
    _score(request)


def _score(request: ScoreRequest) -> None:
    """Check what was typed, and score points or given labels."""
    _check_labels(request)
    import sklearn

    from clustertrust.cli import jobs
    from clustertrust.cli.cells import for_cells, is_h5ad
    from clustertrust.cli.checks import check_method, check_tools
    from clustertrust.cli.squares import for_distances, for_gower

    loaded()
    check_tools(request.data, request.columns, request.paths)
    method = request.method
    if request.distances:
        why = "With --distances every column is a point, and --labels takes labels from a file"
        request.refuse(("labels_column", "save_plan", "scheduler"), why)
        method = for_distances(request)
    if not request.has_labels:
        _check_matrix(method, request.distances)
        if is_h5ad(request.data, request.columns):
            method = for_cells(method, request.typed)
        method = for_gower(method, request.typed)
        check_method(method, for_model=request.model is not None)
    memory = request.columns.memory
    with sklearn.config_context(**({} if memory is None else {"working_memory": memory})):
        jobs.score(replace(request, method=method))


@click.command(
    cls=Sections,
    short_help="Score labels that a table has, and flag those that look wrong.",
    epilog="""\b
    clustertrust audit data.csv --labels-column species --out audited.csv --report report.html
    clustertrust audit data.csv --labels mine.csv --json""",
)
@takes(AuditRequest)
def audit(request: AuditRequest) -> None:
    """Score how much each label in a column of DATA can be trusted, and flag those that look wrong.

    Runs propagate the labels of neighbours and cluster the rows again; classifiers that have not
    seen a row's label predict it. Each row gets a score, a suggested label, and whether the given
    one looks wrong (the column issue); each label gets a verdict: kept together, split, merged with
    another, dissolved or unclear. DATA is read as in `clustertrust score`, and never overwritten.
    """
    _score(request)


def _check_labels(request: ScoreRequest) -> None:
    """Raise for options that do not go with given labels, or only with them."""
    if request.labels is not None and request.labels_column is not None:
        raise click.UsageError("--labels and --labels-column both give labels; choose one.")
    if request.noise and not request.has_labels:
        raise click.UsageError("--noise is for given labels; add --labels or --labels-column.")
    if request.has_labels:
        # What an audit takes is checked later, when the number of labellings is known.
        others = [name for name in (*BUILDING, "checkpoint", "model") if name not in AUDITING]
        named = "--labels" if request.labels_column is None else "--labels-column"
        request.refuse(others, f"With {named} nothing is clustered")


def _check_matrix(method: CakeOptions, distances: bool) -> None:
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
@takes(PredictRequest)
def predict(request: PredictRequest) -> None:
    """Label and score the rows of DATA with a MODEL that `clustertrust score --model` saved.

    DATA must have the columns that the model was fitted on, in any order; other columns are copied
    to the output. Columns are read, encoded, scaled and filled in as they were for the fit. Rows of
    the fit are treated as new, so their scores may differ a little.
    """
    planned = ("use", "keep", "category", "scale", "standardize", "encode", "plan")
    request.refuse(planned, "The model knows its columns and what was done with them")
    from clustertrust.cli import jobs
    from clustertrust.cli.checks import check_tools

    loaded()
    check_tools(request.data, request.columns, request.paths)
    jobs.predict(request)


@click.command(
    cls=Sections,
    short_help="Make a page to explore from a file of scores.",
    epilog="""\b
    clustertrust report scores.csv --data data.csv --id name --out report.html""",
)
@takes(ReportRequest)
def report(request: ReportRequest) -> None:
    """Make a page to explore, from SCORES that `clustertrust score --out` wrote, and the data.

    Rows are matched by name if --id says which column of the data has the names, otherwise by
    position.
    """
    check_suffix("--out", request.paths["--out"], PAGES)
    from clustertrust.cli import reporting
    from clustertrust.cli.checks import check_tools

    loaded()
    check_tools(request.data, request.columns, {})
    reporting.report(request)


@click.command(
    "choose-k",
    cls=Sections,
    short_help="Find how many clusters a table supports.",
    epilog="""\b
    clustertrust choose-k data.csv --k 2:12 --plot k.png
    clustertrust choose-k data.csv --k 2,3,5,8 --no-null --out k.csv""",
)
@takes(ChooseRequest)
def choose_k(request: ChooseRequest) -> None:
    """Cluster the rows of DATA with each number of clusters, and recommend one.

    Each number gets a probability from two signals, likelihood and stability; separation counts if
    one of them is missing. The recommendation is 1 if no number fits better than it does in data
    without clusters. DATA is read as in `clustertrust score`, but not in blocks. With --distances,
    DATA holds the distances of all pairs of points. The suffix of FILE sets the format of --out and
    --plot; .json holds what --json prints.
    """
    from clustertrust.cli import choosing
    from clustertrust.cli.checks import check_tools
    from clustertrust.cli.squares import for_distances, for_gower

    loaded()
    method = request.method
    if request.distances:
        request.refuse(("save_plan",), "With --distances every column is a point")
        method = for_distances(request)
    _check_matrix(method, request.distances)
    method = for_gower(method, request.typed)
    null = choosing.check_null(method, request.null, typed="null" in request.typed)
    if not null:
        without_points = "--distances" if request.distances else "--metric gower"
        why = "--no-null" if "null" in request.typed else without_points
        unused = ("effort", "n_surrogates", "level")
        request.refuse(unused, f"With {why} there are no surrogates")
    choosing.check_choosing_method(method)
    choosing.check_table(request.paths.get("--out"))
    others = {option: path for option, path in request.paths.items() if option != "--out"}
    check_tools(request.data, request.columns, others)
    choosing.choose(replace(request, method=method, null=null))


@click.command(
    cls=Sections,
    short_help="Choose rows to ask a person about.",
    epilog="""\b
    clustertrust ask data.csv scores.csv --n 60 --out questions.csv
    clustertrust ask data.csv scores.csv --answers questions.csv --n 40 --out more.csv""",
)
@takes(AskRequest)
def ask(request: AskRequest) -> None:
    """Choose rows of DATA to ask a person about, given SCORES from `clustertrust score --out`.

    Some rows are drawn at random: they show how many of all rows are right. The others are chosen
    where an answer teaches most. Fill in the column answer of the table: right, wrong, skip, or
    the class of the row; or, in should_be, the cluster that it should be in. Then run
    `clustertrust decide`. Columns are used as in `clustertrust score`, if its plan is next to
    SCORES.
    """
    if request.n_random is not None and request.n_random > request.n:
        raise click.UsageError(f"--random {request.n_random} is more than --n {request.n}.")
    from clustertrust.cli import answering
    from clustertrust.cli.checks import check_tools

    loaded()
    check_tools(request.data, request.columns, request.paths)
    answering.ask_questions(request)


@click.command(
    cls=Sections,
    short_help="Find which rows can be kept, by a person's answers.",
    epilog="""\b
    clustertrust decide scores.csv questions.csv --risk 0.05 --out kept.csv
    clustertrust decide scores.csv questions.csv more.csv --report learned.html""",
)
@takes(DecideRequest)
def decide(request: DecideRequest) -> None:
    """Find which rows of SCORES can be kept with few errors, from ANSWERS to `clustertrust ask`.

    ANSWERS are tables with the column answer: questions that a person filled in, or the answers
    downloaded from a report. All answers train the scores; the rows drawn at random guarantee the
    error rate of the rows kept. Random rows that were skipped count as wrong. Columns are used as
    in `clustertrust score`, if its plan is next to SCORES.
    """
    if request.all_rows and request.out is None:
        raise click.UsageError("--all-rows needs a table to write; add --out FILE.")
    if request.force and not request.drawn:
        raise click.UsageError("--force needs --drawn-at-random; add that, or leave out --force.")
    from clustertrust.cli import answering

    loaded()
    answering.decide_rows(request)


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


@click.command(
    cls=Sections,
    short_help="Explain the score of one row.",
    epilog="""\b
    clustertrust explain data.csv scores.csv 17
    clustertrust explain data.csv scores.csv B042 --id name""",
)
@takes(ExplainRequest)
def explain(request: ExplainRequest) -> None:
    """Explain the score of ROW: its parts, and its values next to those of its cluster and rival.

    SCORES is what `clustertrust score --out` wrote. ROW is the name of a row, or its number,
    counted from 0, where rows have no names.
    """
    from clustertrust.cli import explaining
    from clustertrust.cli.checks import check_tools

    loaded()
    check_tools(request.data, request.columns, {})
    explaining.explain(request)


COMMANDS: dict[str, click.Command] = {
    "score": score,
    "audit": audit,
    "predict": predict,
    "report": report,
    "explain": explain,
    "choose-k": choose_k,
    "demo": demo,
    "ask": ask,
    "decide": decide,
}
