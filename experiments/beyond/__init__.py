"""Experiments that go past the paper: what a number of ours means, and how often it is right.

Each module is a script, `python -m experiments.beyond.NAME`; `--full` is the form whose results are committed.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from experiments.results import write

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parents[2] / "docs" / "howto"


def command(name: str, about: str | None, full: str) -> argparse.ArgumentParser:
    """Make the command line of a module, with `--full`; `full` says what that takes."""
    first = (about or "").split("\n", maxsplit=1)[0]
    parser = argparse.ArgumentParser(prog=f"python -m experiments.beyond.{name}", description=first)
    parser.add_argument("--full", action="store_true", help=full)
    return parser


def folder(*, full: bool) -> Path:
    """Where results go: those of the full form are committed beside the code."""
    return RESULTS if full else RESULTS / "quick"


def into_page(page: str, name: str, text: str) -> None:
    """Put a table into a page of the docs, between the comments `begin NAME` and `end NAME`."""
    path = DOCS / page
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    old = path.read_text()
    if old.count(begin) != 1 or old.count(end) != 1:
        raise ValueError(f"{path} must have {begin} and {end} once each.")
    between = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    write(path, between.sub(lambda _: f"{begin}\n{text.strip()}\n{end}", old))
