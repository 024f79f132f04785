"""The command `clustertrust`: each of its commands reads, makes one library call, and writes.

Exit codes: 0 done, 1 failure, 2 wrong use, 130 stopped by Ctrl-C, 143 by a request to end.
"""

from __future__ import annotations

import click

from clustertrust.cli.commands import COMMANDS, HELP, debug_option
from clustertrust.cli.running import Commands

__all__ = ["cli", "main"]


def _version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        from clustertrust import __version__

        click.echo(f"clustertrust {__version__}")
        ctx.exit()


@click.group(
    cls=Commands,
    commands=COMMANDS,
    invoke_without_command=True,
    context_settings=HELP,
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_version,
            help="Show the version.",
        ),
        debug_option(),
    ],
    epilog="""\b
    clustertrust demo
    clustertrust score data.csv -k 3 --out scores.csv --report report.html

    Shell completion: put this line into ~/.bashrc (zsh and fish: zsh_source and fish_source).

    \b
    eval "$(_CLUSTERTRUST_COMPLETE=bash_source clustertrust)"
    """,
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Which of these cluster assignments can you trust? A score between 0 and 1 for every point.

    The data are clustered many times. A point scores high where the runs agree on it and it lies
    well inside its cluster; low scores are the points to look at, drop, or ask a person about.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line."""
    cli()
