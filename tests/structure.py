"""What the source says about itself: who imports whom, and which names the reference shows."""

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "clustertrust"
REFERENCE = ROOT / "docs" / "api"
PUBLIC = ROOT / "tests" / "public.txt"


def modules() -> dict[str, Path]:
    """Return the files of the package by their dotted names."""
    names = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports() -> dict[str, set[str]]:
    """Return which modules each module imports, inside of functions too.

    Names of the package itself count for the module that they come from. Imports for type checkers
    alone are left out, and so is the package, which imports its names when they are first used.
    """
    names = modules()
    homes = _homes(names)
    edges: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        if name == "clustertrust":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        edges[name] = {
            other
            for full in _imported(tree)
            if (other := homes.get(full) or _module_of(full, names)) and other != name
        }
    return edges


def _homes(names: Mapping[str, Path]) -> dict[str, str]:
    """Return the module that each public name of the package comes from."""
    for node in ast.parse(names["clustertrust"].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOMES":
            return {
                f"clustertrust.{name}": f"clustertrust.{home}"
                for home, public in ast.literal_eval(node.value).items()
                for name in public
            }
    raise AssertionError("src/clustertrust/__init__.py has no _HOMES")


def _module_of(full: str, names: Mapping[str, Path]) -> str | None:
    """Return the module in which a dotted name is found, if it is one of ours."""
    if full in names:
        return full
    parent = full.rpartition(".")[0]
    return parent if parent in names else None


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names that are imported, by `import_module` too."""
    for_types = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.If) and ast.unparse(outer.test) == "TYPE_CHECKING"
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            name = node.args[0]
            first = name.values[0] if isinstance(name, ast.JoinedStr) else name
            if isinstance(first, ast.Constant):
                yield first.value


def cycles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other (Tarjan's strong components)."""
    order: dict[str, int] = {}
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


ENTRY = re.compile(r"^\.\. auto(\w+):: (\S+)\n(   :members:)?", re.MULTILINE)


def reference_names() -> set[str]:
    """Return the dotted names that the pages of the reference show.

    Of a module a page shows the introduction alone; its names are listed one by one.
    """
    names = set()
    for page in sorted(REFERENCE.glob("*.md")):
        for kind, name, members in ENTRY.findall(page.read_text(encoding="utf-8")):
            if kind == "module":
                assert not members, (
                    f"{page.name} shows all of {name}; list the names that are public"
                )
            else:
                names.add(name)
    return names


def public_object(name: str) -> Any:
    """Return what a dotted name of the reference stands for."""
    home, _, own = name.rpartition(".")
    return getattr(importlib.import_module(home), own)


def public_lines() -> list[str]:
    """Return the lines of the list of public names: one per name, parameter and public method."""
    lines = []
    for name in sorted(reference_names()):
        thing = public_object(name)
        lines += [name, *_parameters(name, thing)]
        if inspect.isclass(thing):
            for own, member in sorted(members(thing).items()):
                function = getattr(member, "__func__", member)  # of a class method
                if not own.startswith("_") and inspect.isfunction(function):
                    lines += [f"{name}.{own}", *_parameters(f"{name}.{own}", function)]
    return lines


def members(kind: type) -> dict[str, Any]:
    """Return what a class defines, and what it has from classes in private modules of ours."""
    private = [base for base in kind.__mro__[1:] if base.__module__.startswith("clustertrust._")]
    return {name: value for base in (*private[::-1], kind) for name, value in vars(base).items()}


def _parameters(name: str, thing: Any) -> list[str]:
    """Return a line for each parameter; none for what cannot be called, and for errors.

    It has the default, and the position of one that can be passed by it: both are public.
    """
    if not callable(thing) or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return []
    found = inspect.signature(thing).parameters.values()
    found = [one.replace(annotation=one.empty) for one in found if one.name not in ("cls", "self")]
    places = ["" if one.kind is one.KEYWORD_ONLY else f"{i}: " for i, one in enumerate(found)]
    texts = [re.sub(" at 0x[0-9a-f]+", "", str(one)) for one in found]
    return [f"{name}({place}{text})" for place, text in zip(places, texts, strict=True)]


def gone(lines: list[str]) -> list[str]:
    """Return what is in the list of public names and not among these lines."""
    return sorted(set(PUBLIC.read_text(encoding="utf-8").splitlines()) - set(lines))


if __name__ == "__main__":
    lost = gone(public_lines())
    if lost and sys.argv[1:] != ["--removed"]:
        told = "docs/public.md says how these may change; after that, add --removed:"
        sys.exit("\n  ".join([told, *lost]))
    PUBLIC.write_text("\n".join(public_lines()) + "\n", encoding="utf-8")
