"""What the source distribution leaves out is needed by none of its tests."""

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"benchmarks", "experiments"}


def test_benchmarks_and_experiments_are_left_out():
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    included = {path.strip("/") for path in targets["targets"]["sdist"]["include"]}
    assert {"src", "tests", "docs", "examples"} <= included
    assert not included & LEFT_OUT


def test_no_test_imports_what_is_left_out():
    imported = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {(path.name, alias.name.partition(".")[0]) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add((path.name, node.module.partition(".")[0]))
    assert ("test_distribution.py", "tomllib") in imported
    assert [found for found in sorted(imported) if found[1] in LEFT_OUT] == []
