"""The layers of the package: each imports from those below it, and never from one above."""

import ast
import subprocess
import sys

import pytest
from structure import SOURCE, cycles, imports

# From the ground up. Rooms of one layer do not import each other.
LAYERS = (
    ("_errors", "_html", "_interrupts", "_palette", "_shares", "_types", "columns"),
    ("_caught", "_dask", "_parallel", "_progress", "_validation", "kernels", "notes", "storage"),
    (
        "_devices",
        "_mixtures",
        "_views",
        "cells",
        "datasets",
        "reasons",
        "records",
        "tables",
        "theory",
    ),
    ("_balls", "_notebook", "distances", "files", "fusion", "matching", "report"),
    ("consensus", "totals"),
    ("ensemble",),
    ("geometry", "opinions", "persistence", "stability", "summary"),
    ("evaluation", "results", "selection"),
    ("calibration", "scoring"),
    ("surrogates",),
    ("chance",),
    ("answers", "auditing", "streaming"),
    ("building", "model_files"),
    ("_fitted",),
    ("baselines", "estimator"),
    ("anndata", "null"),
    ("k_profile",),
    ("displays",),
    ("topics",),
    ("cli",),
    ("__main__",),
)
# The package itself imports its names when they are first used; only its version is for all.
PACKAGE = "clustertrust"


def room(module):
    """The module or folder at the top level that a module belongs to."""
    return module.split(".")[1]


def upwards(edges):
    """The imports from one room of another that is not below it."""
    height = {name: level for level, layer in enumerate(LAYERS) for name in layer}
    return [
        (one, other)
        for one, others in edges.items()
        for other in sorted(others - {PACKAGE})
        if one != PACKAGE and room(one) != room(other) and height[room(other)] >= height[room(one)]
    ]


@pytest.fixture(scope="module")
def of_package():
    return imports()


def test_every_room_has_a_layer(of_package):
    listed = [name for layer in LAYERS for name in layer]
    assert sorted(listed) == sorted({room(module) for module in of_package if module != PACKAGE})


def test_no_layer_imports_a_higher_one(of_package):
    assert upwards(of_package) == []


def test_no_module_is_in_an_import_cycle(of_package):
    assert cycles(of_package) == []


def test_lazy_imports_and_cycles_are_seen(tmp_path, monkeypatch):
    files = {
        "__init__": "_HOMES = {'cells': ('Cells',)}\n",
        "cells": "def meet():\n    from clustertrust.cli import main\n",
        "cli": "import importlib\nimportlib.import_module('clustertrust.matching')\n",
        "matching": "from clustertrust import Cells, __version__\n",
        "storage": "if TYPE_CHECKING:\n    from clustertrust.cli import main\n",
    }
    source = tmp_path / "clustertrust"
    source.mkdir()
    for name, text in files.items():
        (source / f"{name}.py").write_text(text)
    monkeypatch.setattr("structure.SOURCE", source)
    edges = imports()
    assert edges["clustertrust.matching"] == {"clustertrust", "clustertrust.cells"}
    assert edges["clustertrust.storage"] == set()
    assert upwards(edges) == [("clustertrust.cells", "clustertrust.cli")]
    assert cycles(edges) == [["clustertrust.cells", "clustertrust.cli", "clustertrust.matching"]]


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_no_module_reads_a_private_attribute_of_another_class(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    own = {"self", "cls"} | {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    defined = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    defined |= {
        target.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        for target in [node]
        if isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id in own
    }
    read = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        if not (isinstance(node.value, ast.Name) and node.value.id in own)
    }
    public = {"_replace", "_asdict", "_fields", "_exit"}  # in spite of their names
    guarded = {"_init_centroids"}  # scikit-learn's, looked for before it is used
    numba = {"_cache", "_locator_classes"}  # where machine code is kept: Numba has no other way
    assert read - defined - public - guarded - numba == set()


def test_importing_cake_leaves_out_what_few_fits_need():
    code = "import sys; from clustertrust import CAKE; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = done.stdout.split()
    assert "clustertrust.scoring.model" in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("clustertrust.")}
    assert rooms.isdisjoint({"cli", "displays", "files", "model_files", "report", "streaming"})
    assert rooms.isdisjoint({"auditing", "null", "tables", "topics"})
    assert {"dask", "matplotlib", "numba", "polars"}.isdisjoint(loaded)
