"""Questions that the paper leaves open, a folder each: its script `run.py`, its results, and what came of it.

`python -m experiments.research.QUESTION.run` is a trial where there is an option `--full`, and the whole thing otherwise.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from experiments.paper.results import write

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "evidence"


def command(question: str, about: str | None, full: str) -> argparse.ArgumentParser:
    """Make the command line of a question, with `--full`; `full` says what that takes."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.research.{question}.run",
        description=(about or "").split("\n", maxsplit=1)[0],
    )
    parser.add_argument("--full", action="store_true", help=full)
    return parser


def folder(question: str, *, full: bool = True) -> Path:
    """Where the results of a question go: those of the full form are committed, those of a trial are not."""
    results = HERE / question / "results"
    return results if full else results / "quick"


def publish(
    tables: Mapping[str, str], path: Path, page: str | None = None, *, full: bool = True
) -> None:
    """Print tables and write them to a file; those of the full form also into a page of the docs, by their names.

    Without a page their names are headings in the file.
    """
    named = page is None and len(tables) > 1
    text = "\n\n".join(f"## {name}\n\n{of}" if named else of for name, of in tables.items())
    write(path, text + "\n")
    if full and page is not None:
        for name, table in tables.items():
            into_page(page, name, table)
    print(text)


def into_page(page: str, name: str, text: str) -> None:
    """Put a table into a page of the docs, between the comments `begin NAME` and `end NAME`."""
    path = DOCS / page
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    old = path.read_text()
    if old.count(begin) != 1 or old.count(end) != 1:
        raise ValueError(f"{path} must have {begin} and {end} once each.")
    between = re.compile(f"{re.escape(begin)}.*{re.escape(end)}", re.DOTALL)
    write(path, between.sub(lambda _: f"{begin}\n{text.strip()}\n{end}", old))
