"""What can be typed: a command fills in a record and hands it to the function that does the work.

A record declares the options of its command, and its docstring is the help.
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import click
from click.core import ParameterSource

from clustertrust._interrupts import loaded
from clustertrust.cli.declaring import filled, parameters
from clustertrust.cli.options import Sections
from clustertrust.cli.request import (
    AuditRequest,
    ChooseRequest,
    DemoRequest,
    PredictRequest,
    Request,
    ScoreRequest,
)
from clustertrust.cli.reviews import AskRequest, DecideRequest, ExplainRequest, ReportRequest

DEFAULTS = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
HELP = {"help_option_names": ["-h", "--help"]}


def debug_option() -> click.Option:
    """Return the option that every command has."""

    def remember(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            context.find_root().obj["debug"] = True

    text = "Show the traceback of an error."
    how: dict[str, Any] = {"is_flag": True, "expose_value": False, "is_eager": True}
    return click.Option(["--debug"], callback=remember, help=text, **how)


def _command(record: type[Request], work: str, **settings: Any) -> click.Command:
    """Return a command; `work` is imported when it starts, so that help stays fast."""

    def run(**values: Any) -> None:
        context = click.get_current_context()
        typed = (name for name in values if context.get_parameter_source(name) not in DEFAULTS)
        request = filled(record, values | {"typed": frozenset(typed)}).checked()
        module, _, function = work.partition(":")
        start = getattr(importlib.import_module(module), function)
        loaded()
        start(request)

    return Sections(
        None,
        params=[*parameters(record), debug_option()],
        callback=run,
        help=inspect.getdoc(record),
        context_settings=HELP,
        **settings,
    )


COMMANDS: dict[str, click.Command] = {
    "score": _command(
        ScoreRequest,
        "clustertrust.cli.scoring:score",
        short_help="Cluster a table and score how much to trust each assignment.",
        epilog="""\b
        clustertrust score data.csv -k 3 --id name --out scores.csv --report report.html
        clustertrust score data.csv --labels runs.csv --out scores.parquet
        clustertrust score data.csv --labels-column species --report report.html""",
    ),
    "audit": _command(
        AuditRequest,
        "clustertrust.cli.scoring:score",
        short_help="Score labels that a table has, and flag those that look wrong.",
        epilog="""\b
        clustertrust audit data.csv --labels-column species --out audited.csv --report report.html
        clustertrust audit data.csv --labels mine.csv --json""",
    ),
    "predict": _command(
        PredictRequest,
        "clustertrust.cli.predicting:predict",
        short_help="Label and score new rows with a saved model.",
        epilog="""\b
        clustertrust predict model new.csv --id name --out labels.csv""",
    ),
    "report": _command(
        ReportRequest,
        "clustertrust.cli.reporting:report",
        short_help="Make a page to explore from a file of scores.",
        epilog="""\b
        clustertrust report scores.csv --data data.csv --id name --out report.html""",
    ),
    "explain": _command(
        ExplainRequest,
        "clustertrust.cli.explaining:explain",
        short_help="Explain the score of one row.",
        epilog="""\b
        clustertrust explain data.csv scores.csv 17
        clustertrust explain data.csv scores.csv B042 --id name""",
    ),
    "choose-k": _command(
        ChooseRequest,
        "clustertrust.cli.choosing:choose",
        short_help="Find how many clusters a table supports.",
        epilog="""\b
        clustertrust choose-k data.csv --k 2:12 --plot k.png
        clustertrust choose-k data.csv --k 2,3,5,8 --no-null --out k.csv""",
    ),
    "demo": _command(
        DemoRequest,
        "clustertrust.cli.example:demo",
        short_help="See it at work on the Iris flowers.",
    ),
    "ask": _command(
        AskRequest,
        "clustertrust.cli.answering:ask_questions",
        short_help="Choose rows to ask a person about.",
        epilog="""\b
        clustertrust ask data.csv scores.csv --n 120 --out questions.csv
        clustertrust ask data.csv scores.csv --answers questions.csv --n 40 --out more.csv""",
    ),
    "decide": _command(
        DecideRequest,
        "clustertrust.cli.answering:decide_rows",
        short_help="Find which rows can be kept, by a person's answers.",
        epilog="""\b
        clustertrust decide scores.csv questions.csv --risk 0.1 --out kept.csv
        clustertrust decide scores.csv questions.csv more.csv --report learned.html""",
    ),
}
