"""Commands and files of experiments and benchmarks that are named anywhere are there."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KINDS = {".md", ".py", ".txt", ".toml", ".R", ".csv"}
FOLDERS = ("src", "tests", "docs", "examples", "experiments", "benchmarks")
TEXTS = [
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and path.suffix in KINDS and not {"_build", "quick"} & set(path.parts)
] + [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tasks.py")]
ROOMS = "(?:experiments|benchmarks)"


@pytest.fixture(scope="module")
def texts():
    return {path: path.read_text() for path in TEXTS if path != Path(__file__)}


def test_modules_that_are_run_are_there(texts):
    named = {
        (module.rstrip("."), str(path.relative_to(ROOT)))
        for path, text in texts.items()
        for module in re.findall(rf"python -m\s+({ROOMS}[\w.]*+)(?!\{{)", text)
    }
    assert len(named) > 50
    assert [one for one in sorted(named) if "QUESTION" not in one[0] and not is_run(one[0])] == []


def is_run(module):
    """Whether `python -m` takes a module: a file, or a package with a `__main__`."""
    found = importlib.util.find_spec(module)
    if found is not None and found.submodule_search_locations is not None:
        found = importlib.util.find_spec(f"{module}.__main__")
    return found is not None


def test_files_that_are_named_are_there(texts):
    named = {
        (name.rstrip("."), str(path.relative_to(ROOT)))
        for path, text in texts.items()
        for name in re.findall(rf"(?<![\w/.]){ROOMS}/[\w/.*-]*", text)
    }
    assert len(named) > 40
    assert [one for one in sorted(named) if not list(ROOT.glob(one[0].rstrip("/")))] == []
