"""Run the code on a page, and compare what it prints with what the page says.

The blocks of one page share a namespace and a folder. A `python` block is run as it stands, an `sh`
block by bash, with the command `clustertrust` of this checkout. A `text` block says what the block
before it prints. `console` blocks (installing, `make`) are for reading alone, and so is a block
below a comment `<!-- not run: why -->`. The cells of a notebook (`{code-cell}`) are run like `python`
blocks; what they print is shown by the build of the docs, and so is on no page.

`python docs/blocks.py PAGE …` writes what is printed now into the `text` blocks of pages.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parent.parent
RUN = ("python", "sh")
ENVIRONMENT = {"COLUMNS": "200", "MPLBACKEND": "agg"}
# What stands for the command in a shell asks the process that runs the page, which has loaded the
# library already: to start it anew for each command takes longer than all that pages compute.
COMMAND = """#!{python} -IS
import json, os, socket, sys
with socket.create_connection(("127.0.0.1", {port})) as server, server.makefile("rw") as stream:
    print(json.dumps([os.getcwd(), sys.argv[1:]]), file=stream, flush=True)
    code, out, err = json.loads(stream.readline())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""
NUMBER = re.compile(r"(\d+\.\d+|\d+)")
FENCE = re.compile(
    r"^(?P<mark><!-- not run: .+ -->\n+)?```(?P<language>\w+|\{code-cell\} ipython3)\n(?P<body>.*?)^```$",
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
            language=found["language"].replace("{code-cell} ipython3", "python"),
            body=found["body"],
            line=text.count("\n", 0, found.start("body")) + 1,
            start=found.start("body"),
            end=found.end("body"),
            is_run=found["language"] in (*RUN, "{code-cell} ipython3")
            and found["mark"] is None,
        )
        for found in FENCE.finditer(text)
    ]


def run_page(page: Path, folder: Path) -> list[Difference]:
    """Run the blocks of a page in a folder.

    Return the `text` blocks that say something else than was printed.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    differences, printed = [], None
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.is_run:
            printed = (
                _run_python(block, page, folder, names)
                if block.language == "python"
                else _run_shell(block, page, folder)
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

    Other machines and versions round sums otherwise; integers have to be equal.
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


def _run_python(block: Block, page: Path, folder: Path, names: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.chdir(folder):
        try:
            # Blank lines first, so that a traceback names the line of the page.
            # The options of a cell come first, such as `:tags: [remove-cell]`.
            code = re.sub(r"\A(:.*\n)+", "\n", block.body)
            exec(compile("\n" * (block.line - 1) + code, str(page), "exec"), names)  # noqa: S102
        except Exception as error:
            raise AssertionError(
                f"{page.name}:{block.line} fails:\n{traceback.format_exc()}"
            ) from error
    return out.getvalue()


def _run_shell(block: Block, page: Path, folder: Path) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        server.settimeout(0.02)
        commands = folder / ".commands"
        commands.mkdir(exist_ok=True)
        command = commands / "clustertrust"
        command.write_text(
            COMMAND.format(python=sys.executable, port=server.getsockname()[1])
        )
        command.chmod(0o755)
        path = os.pathsep.join([str(commands), os.environ.get("PATH", "")])
        shell = pool.submit(
            subprocess.run,
            ["bash", "-euo", "pipefail", "-c", block.body],
            cwd=folder,
            env=os.environ | ENVIRONMENT | {"PATH": path},
            capture_output=True,
            text=True,
        )
        while not shell.done():
            with contextlib.suppress(TimeoutError):
                _run_command(server.accept()[0])
    done = shell.result()
    if done.returncode != 0:
        raise AssertionError(
            f"{page.name}:{block.line} ends with {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def _run_command(connection: socket.socket) -> None:
    """Run the command that a shell asks for, in this process."""
    import sklearn

    from clustertrust.cli import cli

    printed = [io.BytesIO(), io.BytesIO()]
    out, err = (
        io.TextIOWrapper(raw, encoding="utf-8", write_through=True) for raw in printed
    )
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(stack.enter_context(connection).makefile("rw"))
        folder, arguments = json.loads(stream.readline())
        stack.enter_context(contextlib.chdir(folder))
        stack.enter_context(mock.patch.dict(os.environ, ENVIRONMENT))
        # --memory is a setting of the whole process
        stack.enter_context(sklearn.config_context())
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = 0
            try:
                cli.main(arguments, prog_name="clustertrust")
            except SystemExit as end:
                code = end.code
        reply = [code, *(raw.getvalue().decode() for raw in printed)]
        print(json.dumps(reply), file=stream, flush=True)


def update(page: Path) -> int:
    """Write what is printed now into the `text` blocks of a page; return how many changed."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        differences = run_page(page, Path(folder))
    # From the end, so that places before stay where they are.
    for difference in reversed(differences):
        block = difference.block
        text = text[: block.start] + _plain(difference.printed) + "\n" + text[block.end :]
    page.write_text(text, encoding="utf-8")
    return len(differences)


def main() -> None:
    """Update the pages named."""
    for name in sys.argv[1:]:
        print(f"{name}: {update(Path(name))} blocks changed")  # noqa: T201


if __name__ == "__main__":
    main()
