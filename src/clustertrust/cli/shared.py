"""What several commands share: files that they take, options, checks of what was typed.

Nothing heavy is imported here, so help and shell completion stay fast.
"""

from __future__ import annotations

import os
from typing import Any

import click

from clustertrust.cli.kinds import Between
from clustertrust.cli.options import Columns

__all__ = [
    "INPUT",
    "OUTPUT",
    "STORED",
    "TABLES",
    "check_column_options",
    "check_streams",
    "debug_option",
    "distances_option",
    "json_option",
    "only_scores_option",
    "save_plan_option",
    "threshold_option",
]


class OneFile(click.Path):
    """An existing file; the error for a folder says what to do."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if os.path.isdir(value):
            self.fail(
                f"{value!r} is a folder; name one file (`clustertrust score` alone takes folders).",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


TABLES = click.Path(exists=True, allow_dash=True)


INPUT = OneFile(exists=True, allow_dash=True)


STORED = OneFile(exists=True)


OUTPUT = click.Path()


def _debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().obj["debug"] = True


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_debug,
    help="Show the traceback of an error.",
)


distances_option = click.option(
    "--distances",
    is_flag=True,
    help="DATA is a square table of distances, with or without names; k-medoids by default.",
)


threshold_option = click.option(
    "--threshold",
    type=Between(0, 1),
    default=None,
    metavar="T",
    help="Scores above this are kept; counts and reasons depend on it. Without it: half of the "
    "median score.",
)


only_scores_option = click.option(
    "--only-scores",
    is_flag=True,
    help="Write the names of the rows and the results, without the other columns of DATA.",
)


save_plan_option = click.option(
    "--save-plan",
    type=OUTPUT,
    metavar="FILE",
    help="Write what is done with each column (.json), to be edited and given to --plan.",
)


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the summary as JSON and nothing else."
)


def check_column_options(columns: Columns) -> None:
    """Raise for options of columns that exclude each other."""
    if columns.impute is not None and columns.drop_missing:
        raise click.UsageError(
            "--impute and --drop-missing are two ways to treat missing values; choose one."
        )
    if columns.standardize and columns.scale not in ("auto", "standard"):
        raise click.UsageError(
            f"--standardize is --scale standard, and --scale {columns.scale} another; choose one."
        )
    if columns.plan is not None and (columns.use or columns.drop or columns.keep or columns.id):
        raise click.UsageError(
            "--plan says what is done with each column; edit it, and leave out --id, --use, --drop "
            "and --keep."
        )


def check_streams(out: str | None, as_json: bool) -> None:
    """Raise if two outputs would be printed."""
    if out == "-" and as_json:
        raise click.UsageError(
            "--out - and --json would both print to standard output; choose one."
        )
