"""The plan next to a file of scores, so that later commands treat the columns as `score` did."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clustertrust.cli.options import ReadOptions
from clustertrust.cli.outputs import LAST, is_special, same_file
from clustertrust.cli.terminal import quote
from clustertrust.cli.wording import current_wording

if TYPE_CHECKING:
    from clustertrust.cli.points import Points

SIDECAR = "plan"  # among the outputs


def sidecar_path(scores: str | Path) -> Path:
    """Return where the plan of a file of scores is kept."""
    return Path(f"{scores}.plan.json")


def check_sidecar_plan(
    paths: Mapping[str, Path], inputs: Mapping[str, str], plan: str | None
) -> None:
    """Raise if the plan next to the scores would replace an input, or a file that is not a plan."""
    if LAST not in paths or is_special(paths[LAST]):
        return
    beside = sidecar_path(paths[LAST])
    written = [path for option, path in paths.items() if option != LAST]
    written += [] if plan is None else [Path(plan)]
    if not os.path.lexists(beside) or any(same_file(beside, other) for other in written):
        return
    what = next((what for what, path in inputs.items() if same_file(beside, Path(path))), None)
    if what is not None:
        problem = f"is {what}"
    elif not _is_plan(beside):
        problem = "exists already and is not a plan"
    else:
        return
    raise click.UsageError(
        f"--out {paths[LAST]}: {beside}, where the plan of its columns is kept, {problem}; "
        "name another file."
    )


def _is_plan(path: Path) -> bool:
    """Return whether a file looks like a plan that was written next to scores, edited or not."""
    try:
        plan = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(plan, dict) and isinstance(plan.get("columns"), list) and "scale" in plan


def with_sidecar_plan(
    paths: Mapping[str, Path], columns: ReadOptions, points: Points
) -> dict[str, Path]:
    """Return the outputs, with a plan next to the scores if the user chose columns.

    A plan that is there already is of earlier scores, so it is replaced in any case, unless it is
    the one that was given, or is written anyway.
    """
    out = paths.get("--out")
    if out is None or is_special(out) or points.plan is None or points.adata is not None:
        return dict(paths)
    beside = sidecar_path(out)
    others = [*paths.values(), *([] if columns.plan is None else [Path(columns.plan)])]
    is_there = beside.resolve() in {path.resolve() for path in others}
    if is_there or not (columns.chooses() or beside.exists()):
        return dict(paths)
    return {**paths, SIDECAR: beside}


def read_as_scored(scores: str, columns: ReadOptions) -> ReadOptions:
    """Return how to read the data of some scores: as `score` did, unless options say otherwise."""
    beside = sidecar_path(scores)
    if replace(columns, id=None).chooses() or not beside.is_file():
        return columns
    from clustertrust.cli.planning import read_plan  # loads pandas

    columns = replace(columns, plan=str(beside))
    return replace(columns, encode="match") if read_plan(columns).is_mixed else columns


def notes_on_columns(typed: ReadOptions, used: ReadOptions, points: Points | None) -> list[str]:
    """Return what to print about columns: which plan is used, or what to check without one."""
    if typed != used:
        return [f"Columns are used as {used.plan} says, which was written with the scores."]
    if used.chooses() or points is None or points.plan is None:
        return []
    return points.plan.to_check(wording=current_wording())


def retyped(columns: ReadOptions) -> str:
    """Return the options that chose columns as they may be typed again, after a blank."""
    names = ("id", "use", "drop", "keep", "category", "na", "impute", "plan")
    options = [(name, value) for name in names for value in _listed(getattr(columns, name))]
    options += [("scale", columns.scale)] * (columns.scale != "auto")
    options += [("encode", columns.encode)] * (columns.encode not in ("auto", "match"))
    flags = ["--standardize"] * columns.standardize + ["--drop-missing"] * columns.drop_missing
    words = [f"--{name} {quote(str(value))}" for name, value in options]
    return "".join(f" {word}" for word in (*words, *flags))


def _listed(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value
