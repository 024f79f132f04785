"""What is published: complete, light, and with the same version and addresses everywhere."""

import ast
import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import clustertrust

ROOT = Path(__file__).parents[1]
LEFT_OUT = {"benchmarks", "experiments"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REPOSITORY = PROJECT["project"]["urls"]["Source"]
in_a_checkout = pytest.mark.skipif(
    not (ROOT / ".github").is_dir(), reason="the source distribution has no workflows"
)


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def tasks():
    spec = importlib.util.spec_from_file_location("tasks", ROOT / "tasks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_results_and_pictures_are_left_out():
    sdist = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]
    assert sdist["exclude"] == ["/docs/images"]
    included = {path.strip("/") for path in sdist["include"]}
    assert {"src", "tests", "docs", "examples", "tasks.py"} <= included
    assert [path for path in included if not (ROOT / path).exists()] == []
    assert not included & LEFT_OUT


def test_no_test_imports_what_is_left_out():
    imported = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {(path.name, alias.name.partition(".")[0]) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add((path.name, node.module.partition(".")[0]))
    assert ("test_distribution.py", "tomllib") in imported
    assert [found for found in sorted(imported) if found[1] in LEFT_OUT] == []


# Other systems


def test_text_has_an_encoding():
    """Without one it is that of the system, which is not UTF-8 on Windows."""
    tests = [path for path in tasks().CORE if (ROOT / path).exists()]
    found, seen = [], 0
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / path for path in tests)]:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
                continue
            of, name = ast.unparse(call.func.value), call.func.attr
            modes = [a.value for a in call.args[:1] if isinstance(a, ast.Constant)]
            is_text = name in {"read_text", "write_text"} and of != "formatter"
            is_text |= name == "open" and modes in (["r"], ["w"], ["a"], ["x"], ["wt"], ["rt"])
            seen += is_text
            given = [keyword.arg for keyword in call.keywords] + [ast.unparse(a) for a in call.args]
            if is_text and not {"encoding", "'utf-8'"} & set(given):
                found.append(f"{path.relative_to(ROOT)}:{call.lineno}")
    assert seen > 20
    assert found == []


# The package page


def test_the_package_page_has_no_link_that_only_works_in_a_checkout():
    page = text_of("README.md")
    hook = PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    for change in hook["substitutions"]:
        page = re.sub(change["pattern"], change["replacement"], page)
    page = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r'\]\(([^)\s]+)|\bsrc(?:set)?="([^"]+)', page)
    assert len(links) > 15
    assert [link for link in map("".join, links) if not link.startswith("https://")] == []
    tag = "/v$HFPR_VERSION/"  # the plugin writes the version: pages of main will move
    own = [link for link in map("".join, links) if tag in link]
    paths = [link.partition(tag)[2].partition("#")[0] for link in own]
    assert len(paths) > 15
    if (ROOT / "benchmarks").exists():
        assert [path for path in paths if not (ROOT / path).exists()] == []


@in_a_checkout
def test_addresses_and_versions_are_the_same_everywhere():
    for name in (
        "SECURITY.md",
        "CODE_OF_CONDUCT.md",
        "pyproject.toml",
        "conda/recipe.yaml",
        ".github/ISSUE_TEMPLATE/config.yml",
    ):
        found = re.findall(r"https://github\.com/[\w-]+/[\w-]+", text_of(name))
        assert set(found) == {REPOSITORY}, name
    version = clustertrust.__version__
    dated = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert dated[1] == version
    assert f"version: {version}\ndate-released: {dated[2]}\n" in text_of("CITATION.cff")
    assert f'version: "{version}"' in text_of("conda/recipe.yaml")


@in_a_checkout
def test_the_recipe_for_conda_needs_what_the_package_needs():
    recipe = text_of("conda/recipe.yaml")
    oldest = re.search(r'python_min: "(.+)"', recipe)[1]
    recipe = recipe.replace("${{ python_min }}", oldest)
    listed = re.search(r"^  run:\n((?:    - .*\n)+)", recipe, re.MULTILINE)[1]
    needs = [one.replace(">=", " >=") for one in PROJECT["project"]["dependencies"]]
    assert re.findall(r"- (.+)", listed) == [
        f"python {PROJECT['project']['requires-python']}",
        *needs,
    ]


# The workflows


@in_a_checkout
def test_each_step_of_a_workflow_is_a_task_and_each_task_a_make_target():
    known, used = tasks(), set()
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        steps = re.findall(r"^\s+(?:- )?run: (.*)$", text, re.MULTILINE)
        steps = [step for step in steps if not step.startswith("sudo apt-get")]
        assert [step for step in steps if not step.startswith("python tasks.py ")] == []
        used |= {step.split()[2] for step in steps} - {"${{"}
        for listed in re.findall(r"task: \[(.*)\]", text):
            used |= set(listed.split(", "))
    assert used - known.TASKS.keys() == set()
    assert {"test-plain", "test-lowest", "test-sdist", "docs"} <= used
    make = re.search(r"^TASKS := (.*?)\n\n", text_of("Makefile"), re.MULTILINE | re.DOTALL)[1]
    targets = {*make.replace("\\", "").split(), "test-fuzz"}
    assert targets == known.TASKS.keys() - {"check-tag"}
    assert [path for path in known.CORE if not (ROOT / path).exists()] == []
