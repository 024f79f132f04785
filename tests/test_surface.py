"""What users can rely on: the names of the reference, documented, and none lost by accident."""

import ast
import importlib
import inspect
import re

import pytest
from structure import (
    PUBLIC,
    ROOT,
    SOURCE,
    gone,
    members,
    public_lines,
    public_object,
    reference_names,
)

import clustertrust

REFERENCE = sorted(reference_names())


def test_the_reference_has_every_name_of_the_package_and_stays_small():
    at_top = {f"clustertrust.{name}" for name in clustertrust.__all__}
    assert at_top == {name for name in REFERENCE if name.count(".") == 1}
    assert len(at_top) <= 45
    assert len(REFERENCE) <= 125


def test_no_name_has_two_entries():
    objects = [public_object(name) for name in REFERENCE]
    assert len({id(one) for one in objects}) == len(objects)


def test_no_module_has_the_name_of_a_public_name():
    modules = {path.stem for path in SOURCE.iterdir()}
    assert modules & set(clustertrust.__all__) == set()


@pytest.mark.parametrize("name", REFERENCE)
def test_a_public_name_is_in_all_of_its_module_and_has_a_docstring(name):
    home, _, own = name.rpartition(".")
    assert own in importlib.import_module(home).__all__
    thing = public_object(name)
    # Of the object itself: a dataclass without one gets its signature, a subclass its parent's.
    text = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    assert text
    assert not text.startswith(f"{own}(")
    undocumented = [
        member
        for member, value in (members(thing) if inspect.isclass(thing) else {}).items()
        if not member.startswith("_")
        and (inspect.isfunction(value) or isinstance(value, classmethod | property))
        and not inspect.getdoc(value)
    ]
    assert undocumented == []


def described(thing):
    """Return the names of parameters and attributes that a docstring describes."""
    lines = re.findall(r"^(\w+(?:, \w+)*|\*\*\w+)(?= :|$)", inspect.getdoc(thing), re.MULTILINE)
    return {name.strip("*") for line in lines for name in line.split(", ")}


@pytest.mark.parametrize("name", REFERENCE)
def test_a_docstring_describes_every_parameter_the_result_and_an_example(name):
    thing = public_object(name)
    text, signature = inspect.getdoc(thing), inspect.signature(thing)
    parameters = signature.parameters.values()
    taken = {one.name for one in parameters if one.kind is not one.VAR_KEYWORD}
    if not inspect.isclass(thing):
        assert ">>>" in text
        assert "Returns\n-------" in text or signature.return_annotation == "None"
    elif "Parameters\n---" not in text:  # a record, which lists its attributes
        taken = set()
    assert taken - described(thing) == set()


def test_no_public_name_or_parameter_vanishes_by_accident():
    # A new parameter or method may wait for the next writing of the list; a new name may not.
    listed = PUBLIC.read_text(encoding="utf-8").splitlines()
    new = [name for name in REFERENCE if name not in listed]
    assert (gone(public_lines()), new) == ([], []), (
        "Public names have changed. docs/public.md says how they may; then write the list anew: "
        "python tests/structure.py"
    )


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_pages_import_public_names_alone(page):
    public = {id(public_object(name)) for name in REFERENCE}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("clustertrust"):
                for alias in node.names:
                    thing = getattr(importlib.import_module(node.module), alias.name)
                    assert inspect.ismodule(thing) or id(thing) in public, alias.name
