"""What can be typed to ask a person, and to decide by the answers. The work is in `answering`."""

from __future__ import annotations

import click

from clustertrust._interrupts import loaded
from clustertrust.cli.kinds import Between
from clustertrust.cli.options import Columns, Sections, column_options
from clustertrust.cli.outputs import check_outputs
from clustertrust.cli.shared import (
    INPUT,
    OUTPUT,
    STORED,
    check_column_options,
    check_streams,
    debug_option,
    json_option,
)

__all__ = ["ANSWERING"]

KINDS = ["auto", "classes", "labels"]


@click.command(
    cls=Sections,
    short_help="Choose rows to ask a person about.",
    epilog="""\b
    clustertrust ask data.csv scores.csv --n 60 --out questions.csv
    clustertrust ask data.csv scores.csv --answers questions.csv --n 40 --out more.csv""",
)
@click.argument("data", type=INPUT)
@click.argument("scores", type=STORED)
@click.option(
    "--n",
    "-n",
    "n",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    metavar="N",
    help="Number of questions.",
)
@click.option(
    "--random",
    "n_random",
    type=click.IntRange(min=0),
    metavar="N",
    help="How many of them are drawn at random: a guarantee rests on these.  [default: two thirds]",
)
@click.option(
    "--answers",
    type=STORED,
    multiple=True,
    metavar="FILE",
    help="What was answered before; repeat it for several files.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="S",
    help="Of draws.",
)
@click.option(
    "--out",
    type=OUTPUT,
    required=True,
    metavar="FILE",
    help="Write the questions, a table to fill in; - prints it as CSV.",
)
@column_options
@debug_option
def ask(
    data: str,
    scores: str,
    n: int,
    n_random: int | None,
    answers: tuple[str, ...],
    seed: int,
    out: str,
    columns: Columns,
) -> None:
    """Choose rows of DATA to ask a person about, given SCORES of `clustertrust score --out`.

    Some rows are drawn at random: they say how many of all rows are right. The others are chosen
    where an answer teaches most. Fill in the column answer of the table: right, wrong or skip; or
    the class of the row; or, in should_be, the cluster it should be in. Then `clustertrust decide`.
    Columns are used as `clustertrust score` used them, if its plan is beside SCORES.
    """
    inputs = {"DATA": data, "SCORES": scores, **{f"--answers {path}": path for path in answers}}
    paths = check_outputs({"--out": out}, inputs)
    check_column_options(columns)
    if n_random is not None and n_random > n:
        raise click.UsageError(f"--random {n_random} is more than --n {n}.")
    from clustertrust.cli import answering
    from clustertrust.cli.checks import check_tools

    loaded()
    check_tools(data, columns, paths)
    answering.ask_questions(
        answering.Asking(
            data=data,
            scores=scores,
            columns=columns,
            paths=paths,
            n=n,
            n_random=n_random,
            answers=answers,
            seed=seed,
            to_stdout=out == "-",
        )
    )


@click.command(
    cls=Sections,
    short_help="Find which rows can be kept, by a person's answers.",
    epilog="""\b
    clustertrust decide scores.csv questions.csv --risk 0.05 --out kept.csv
    clustertrust decide scores.csv questions.csv more.csv --report learned.html""",
)
@click.argument("scores", type=STORED)
@click.argument("answers", type=STORED, nargs=-1, required=True)
@click.option(
    "--risk",
    type=Between(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    metavar="P",
    help="Largest share of wrong rows among those kept.",
)
@click.option(
    "--confidence",
    type=Between(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    metavar="P",
    help="Probability that this holds.",
)
@click.option(
    "--out",
    type=OUTPUT,
    metavar="FILE",
    help="Write the rows kept, labels corrected; - prints them as CSV.",
)
@click.option("--all-rows", is_flag=True, help="Write all rows, with a column kept.")
@click.option(
    "--report", type=OUTPUT, metavar="FILE", help="Write a page (.html) of the learned scores."
)
@click.option(
    "--answers-are",
    "kind",
    type=click.Choice(KINDS),
    default="auto",
    show_default=True,
    help="What names in the column answer are; auto: clusters if all of them are.",
)
@click.option(
    "--drawn-at-random",
    "drawn",
    is_flag=True,
    help="Rows of ANSWERS were drawn at random where the table does not say how they were asked.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Believe --drawn-at-random even if the scores of these rows speak against it.",
)
@column_options
@json_option
@debug_option
def decide(
    scores: str,
    answers: tuple[str, ...],
    risk: float,
    confidence: float,
    out: str | None,
    all_rows: bool,
    report: str | None,
    kind: str,
    drawn: bool,
    force: bool,
    as_json: bool,
    columns: Columns,
) -> None:
    """Find which rows of SCORES can be kept with few errors, by ANSWERS to `clustertrust ask`.

    ANSWERS are tables with the column answer: questions that a person filled in, or the download of
    a report's review. The error of the rows kept is guaranteed by the rows drawn at random; all
    answers teach the scores. Rows that were drawn and skipped count as wrong. Columns are used as
    `clustertrust score` used them, if its plan is beside SCORES.
    """
    inputs = {"SCORES": scores, **{f"ANSWERS {path}": path for path in answers}}
    paths = check_outputs({"--out": out, "--report": report}, inputs)
    check_column_options(columns)
    check_streams(out, as_json)
    if all_rows and out is None:
        raise click.UsageError("--all-rows is about the table that is written; add --out.")
    if force and not drawn:
        raise click.UsageError("--force is about --drawn-at-random; add it, or leave out --force.")
    from clustertrust.cli import answering

    loaded()
    answering.decide_rows(
        answering.Deciding(
            scores=scores,
            answers=answers,
            columns=columns,
            paths=paths,
            risk=risk,
            confidence=confidence,
            kind=kind,
            drawn=drawn,
            force=force,
            all_rows=all_rows,
            as_json=as_json,
            to_stdout=out == "-",
        )
    )


ANSWERING = {"ask": ask, "decide": decide}
