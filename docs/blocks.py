"""Run the code on a page, and compare what it prints with what the page says.

The blocks of one page share a namespace and a folder. A `python` block is run as it stands, an `sh`
block by bash, with the command `clustertrust` of this checkout. A `text` block says what the block
before it prints. `console` blocks (installing, `make`) are for reading alone, and so is a block
below a comment `<!-- not run: why -->`.

`python docs/blocks.py PAGE …` writes what is printed now into the `text` blocks of pages.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RUN = ("python", "sh")
NUMBER = re.compile(r"(\d+\.\d+|\d+)")
FENCE = re.compile(
    r"^(?P<mark><!-- not run: .+ -->\n+)?```(?P<language>\w+)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `start` and `end` are where its body is in the text."""

    language: str
    body: str
    line: int
    start: int
    end: int
    is_run: bool


@dataclass(frozen=True)
class Difference:
    """A `text` block that does not say what was printed."""

    block: Block
    printed: str


def blocks_of(text: str) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    return [
        Block(
            language=found["language"],
            body=found["body"],
            line=text.count("\n", 0, found.start("body")) + 1,
            start=found.start("body"),
            end=found.end("body"),
            is_run=found["language"] in RUN and found["mark"] is None,
        )
        for found in FENCE.finditer(text)
    ]


def run_page(page: Path, folder: Path) -> list[Difference]:
    """Run the blocks of a page in a folder.

    Return the `text` blocks that say something else than was printed.
    """
    environment = _environment(folder)
    names: dict[str, Any] = {"__name__": "__main__"}
    differences, printed = [], None
    for block in blocks_of(page.read_text()):
        if block.is_run:
            printed = (
                _run_python(block, page, folder, names)
                if block.language == "python"
                else _run_shell(block, page, folder, environment)
            )
        elif block.language == "text":
            if printed is None:
                raise AssertionError(
                    f"{page.name}:{block.line}: no block before this text prints it."
                )
            if not says(block.body, printed):
                differences.append(Difference(block, printed))
            printed = None
        else:
            printed = None
    return differences


def says(told: str, printed: str) -> bool:
    """Whether both are the same, numbers up to one in the last digit shown or 1e-9 of their
    size.

    Other machines and versions round sums otherwise; whole numbers have to be equal.
    """
    words, others = NUMBER.split(_plain(told)), NUMBER.split(_plain(printed))
    if len(words) != len(others) or words[::2] != others[::2]:
        return False
    return all(
        _near(word, other) for word, other in zip(words[1::2], others[1::2], strict=True)
    )


def _near(told: str, printed: str) -> bool:
    if "." not in told:
        return told == printed
    last_digit = 10.0 ** -len(told.partition(".")[2])
    return abs(float(told) - float(printed)) <= max(
        1.01 * last_digit, 1e-9 * abs(float(told))
    )


def _plain(text: str) -> str:
    """Without blanks at the ends of lines, which editors remove."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def _environment(folder: Path) -> dict[str, str]:
    """Put a command `clustertrust` that runs this checkout on the path, and return the environment
    that finds it.
    """
    commands = folder / ".commands"
    commands.mkdir()
    command = commands / "clustertrust"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m clustertrust "$@"\n')
    command.chmod(0o755)
    path = os.pathsep.join([str(commands), os.environ.get("PATH", "")])
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return os.environ | {
        "PATH": path,
        "PYTHONPATH": source,
        "COLUMNS": "200",
        "MPLBACKEND": "agg",
    }


def _run_python(block: Block, page: Path, folder: Path, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.chdir(folder):
        try:
            # Blank lines first, so that a traceback names the line of the page.
            exec(compile("\n" * (block.line - 1) + block.body, str(page), "exec"), names)  # noqa: S102
        except Exception as error:
            raise AssertionError(
                f"{page.name}:{block.line} fails:\n{traceback.format_exc()}"
            ) from error
    return out.getvalue()


def _run_shell(block: Block, page: Path, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(  # noqa: S603
        ["bash", "-euo", "pipefail", "-c", block.body],  # noqa: S607
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise AssertionError(
            f"{page.name}:{block.line} ends with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout.replace("python -m clustertrust", "clustertrust")


def update(page: Path) -> int:
    """Write what is printed now into the `text` blocks of a page; return how many changed."""
    text = page.read_text()
    with tempfile.TemporaryDirectory() as folder:
        differences = run_page(page, Path(folder))
    for difference in reversed(
        differences
    ):  # from the end, so that places before stay where they are
        block = difference.block
        text = text[: block.start] + _plain(difference.printed) + "\n" + text[block.end :]
    page.write_text(text)
    return len(differences)


def main() -> None:
    """Update the pages named."""
    for name in sys.argv[1:]:
        print(f"{name}: {update(Path(name))} blocks changed")  # noqa: T201


if __name__ == "__main__":
    main()
