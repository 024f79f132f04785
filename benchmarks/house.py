"""How large and how tangled is the package? The counts that say whether it can be kept.

`python -m benchmarks.house` prints them; `--rooms` adds the lines of code of each room.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "clustertrust"
MANY = 6  # parameters of a function


def modules() -> dict[str, Path]:
    """Return the files of the package by their dotted names."""
    names = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


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


def imports() -> dict[str, set[str]]:
    """Return which modules each module imports, inside of functions too; types are left out."""
    names = modules()
    edges: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for_types = {
            id(inner)
            for outer in ast.walk(tree)
            if isinstance(outer, ast.If) and ast.unparse(outer.test) == "TYPE_CHECKING"
            for inner in ast.walk(outer)
        }
        for node in ast.walk(tree):
            if id(node) in for_types:
                continue
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clustertrust"):
                for alias in node.names:
                    inner_name = f"{node.module}.{alias.name}"
                    edges[name].add(inner_name if inner_name in names else str(node.module))
            elif isinstance(node, ast.Import):
                edges[name] |= {alias.name for alias in node.names if alias.name in names}
        edges[name].discard(name)
    return edges


def cycles() -> list[list[str]]:
    """Return the groups of modules that import each other (Tarjan's strong components)."""
    edges, order = imports(), {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(edges[name]):
            if other not in order:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for name in edges:
        if name not in order:
            visit(name)
    return groups


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


def reference_names() -> int:
    """Count the public names on the pages of the reference: those of `__all__` that it shows."""
    names = set()
    for page in sorted((ROOT / "docs" / "api").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        for home in re.findall(r"automodule:: (\S+)", text):
            listed = getattr(importlib.import_module(home), "__all__", [])
            names |= {f"{home}.{name}" for name in listed}
        names |= set(re.findall(r"auto(?:class|function|data|exception):: (\S+)", text))
    return len(names)


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
    groups = cycles()
    print(f"modules in an import cycle: {sum(map(len, groups))}")
    for group in groups:
        print(f"  {', '.join(group)}")
    print(f"public names: {len(package.__all__)} at top level, {reference_names()} in reference")
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
