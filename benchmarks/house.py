"""How large and how tangled is the package? The counts that say whether it can be kept.

`python -m benchmarks.house` prints them; `--rooms` adds the lines of code of each room.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.structure import ROOT, SOURCE, cycles, imports, modules, reference_names

MANY = 6  # parameters of a function


def lines_of_code(path: Path) -> int:
    """Count the lines that are no docstring, comment or blank."""
    text = path.read_text(encoding="utf-8")
    docs = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docs |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    code = set()
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in silent | {tokenize.ENCODING, tokenize.ENDMARKER}:
                code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - docs)


def functions() -> Iterator[tuple[str, int]]:
    """Yield each function with its number of parameters, `self` and `cls` not counted."""
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                count = sum(argument.arg not in {"self", "cls"} for argument in arguments)
                yield f"{name}.{node.name}", count


def parameters(dotted: str) -> int:
    """Count the parameters of a public callable."""
    home, name = dotted.rsplit(".", 1)
    signature = inspect.signature(getattr(importlib.import_module(home), name))
    return len(signature.parameters)


def strict_errors() -> str:
    """Return the last line of `mypy --strict`."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(SOURCE)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    """Print the counts."""
    package = importlib.import_module("clustertrust")
    paths = modules()
    counts = {name: lines_of_code(path) for name, path in paths.items()}
    print(f"lines of code: {sum(counts.values()):,} in {len(paths)} modules")
    for dotted in ("CAKE", "confidence", "audit", "anndata.score"):
        print(f"parameters of {dotted}: {parameters(f'clustertrust.{dotted}')}")
    many = [(count, name) for name, count in functions() if count > MANY]
    print(f"functions with more than {MANY} parameters: {len(many)}")
    groups = cycles(imports())
    print(f"modules in an import cycle: {sum(map(len, groups))}")
    for group in groups:
        print(f"  {', '.join(group)}")
    print(
        f"public names: {len(package.__all__)} at top level, "
        f"{len(reference_names())} in the whole reference"
    )
    print(f"mypy --strict: {strict_errors()}")
    if "--rooms" in sys.argv:
        rooms: dict[str, int] = {}
        for name, count in counts.items():
            room = [*name.split("."), "__init__"][1]
            rooms[room] = rooms.get(room, 0) + count
        for room, count in sorted(rooms.items(), key=lambda item: -item[1]):
            print(f"  {count:6,} {room}")
        for count, name in sorted(many, reverse=True):
            print(f"  {count:6} parameters: {name}")


if __name__ == "__main__":
    main()
