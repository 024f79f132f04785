"""The layers of the package: each imports from those below it, and never from one above."""

import ast
from pathlib import Path

import pytest

import clustertrust

ROOT = Path(clustertrust.__file__).parent

# From the ground up. Modules of one layer do not import each other, unless they share a folder.
LAYERS = (
    ("_types", "_shares"),
    (
        "_validation",
        "_parallel",
        "_progress",
        "_dask",
        "_interrupts",
        "_palette",
        "kernels",
        "storage",
        "fusion",
    ),
    ("records",),
    (
        "_devices",
        "_mixtures",
        "_views",
        "cells",
        "notes",
        "reasons",
        "datasets",
        "tables",
        "theory",
    ),
    ("matching", "distances"),
    ("ensemble", "consensus"),
    ("stability", "geometry", "persistence", "results"),
    ("scoring", "_notebook", "summary", "selection", "files", "baselines", "report"),
    ("streaming", "evaluation", "calibration"),
    ("model_files", "answers"),
    ("estimator", "auditing"),
    ("cell_data",),
    ("anndata", "null"),
    ("k_profile",),
    ("displays",),
    ("cli",),
    ("__init__", "__main__"),
)

# Imports against the arrows, made when they are needed, each with its reason.
UPWARDS = {
    (
        "ensemble",
        "streaming",
    ): "runs and contingencies of Dask data come from passes over their blocks",
    ("files", "anndata"): "an H5AD file is read by the module that knows AnnData",
    ("results", "report"): "Confidence.report writes the page, as a method where users look for it",
    ("results", "summary"): "Confidence.summary, likewise",
}
# The version is the package's own, and stands in what is written.
VERSION = {("anndata", "__init__"), ("cli", "__init__"), ("report", "__init__")}


def room(path):
    """The module or folder at the top level that a file belongs to."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports():
    """Pairs (from, to) of rooms that one imports the other, with whether that happens inside of a
    function.
    """
    for path in sorted(ROOT.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lazy = {
            id(inner)
            for outer in ast.walk(tree)
            if isinstance(outer, ast.FunctionDef)
            for inner in ast.walk(outer)
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module
                and node.module.split(".")[0] == "clustertrust"
            ):
                parts = node.module.split(".")[1:]
                names = [parts[0]] if parts else [at_top(alias.name) for alias in node.names]
                for name in names:
                    yield room(path), name, id(node) in lazy, path.relative_to(ROOT)


def at_top(name):
    """The room that a name of the package itself comes from."""
    homes = {public: home for home, names in clustertrust._HOMES.items() for public in names}
    return homes.get(
        name, name if (ROOT / name).exists() or (ROOT / f"{name}.py").exists() else "__init__"
    )


def test_every_room_has_a_layer():
    rooms = {room(path) for path in ROOT.rglob("*.py")}
    listed = [name for layer in LAYERS for name in layer]
    assert sorted(listed) == sorted(rooms)


def test_no_layer_imports_a_higher_one():
    height = {name: at for at, layer in enumerate(LAYERS) for name in layer}
    upwards = {
        (one, other): str(path)
        for one, other, _, path in imports()
        if one != other
        and height[other] >= height[one]
        and (one, other) not in VERSION
        and one != "__init__"
    }
    assert {pair: path for pair, path in upwards.items() if pair not in UPWARDS} == {}


def test_what_is_excused_is_still_there_and_lazy():
    found = {(one, other): lazy for one, other, lazy, _ in imports()}
    assert all(found[pair] for pair in UPWARDS), (
        "an excuse that nobody needs, or an import at the top of a module"
    )


@pytest.mark.parametrize(
    "path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT))
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
    assert read - defined - public - guarded == set()
