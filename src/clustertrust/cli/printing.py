"""What commands print: a summary for a person, or JSON for a machine."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust import Audit, Confidence, __version__
from clustertrust._errors import rendered
from clustertrust.cli.options import BUILDING, SCORING, audited
from clustertrust.cli.points import Points
from clustertrust.cli.request import Request, ScoreRequest
from clustertrust.cli.terminal import echo
from clustertrust.cli.wording import current_wording
from clustertrust.files.reading import Dialect
from clustertrust.notes import noise_text
from clustertrust.summary import Summary


def score_settings(request: ScoreRequest, scored: Confidence, points: Points) -> dict[str, Any]:
    """Return all settings that are needed to make the scores again, as JSON."""
    method, labels = request.method, request.labels
    if isinstance(scored, Audit):
        source = Path(labels).name if labels else f"column {request.labels_column}"
        made = {"labels": source} | method.settings(audited(request.typed))
        made |= {} if scored.classifier is None else {"classifier": scored.classifier}
    elif labels is None:
        made = method.settings((*BUILDING, *SCORING))
    else:
        made = {"labels": Path(labels).name} | method.settings(SCORING)
    settings: dict[str, Any] = {"input": name_of(request.data), "rows": len(points.kept)}
    if not sparse.issparse(points.X) and not request.distances:
        names = [str(name) for name in points.X.columns]
        settings["columns"] = ", ".join(names) if len(names) <= 50 else f"{len(names)}"
    settings |= planned_settings(points) | made
    noise = scored.ensemble.noise
    settings |= {"taken as noise": noise_text(noise)} if noise else {}
    return settings | {
        "geometry": scored.geometry_method,
        "n_runs": scored.n_runs,
        "clustertrust": __version__,
    }


def with_options(summary: Summary) -> Summary:
    """Return a summary whose verdict and notes name options of the command."""
    wording = current_wording()
    verdict = None if summary.verdict is None else rendered(summary.verdict, wording)
    notes = tuple(rendered(note, wording) for note in summary.notes)
    return replace(summary, verdict=verdict, notes=notes)


def summary_fields(summary: Summary) -> dict[str, Any]:
    """Return the numbers of a summary, as JSON."""
    cut = summary.cut
    return {
        "verdict": summary.verdict,
        "above_chance": None if summary.verdict is None else cut.share,
        "chance": cut.chance,
        "threshold": cut.threshold,
        "threshold_rule": cut.rule,
        "quantiles": summary.scores.to_dict(),
        "clusters": records(summary.clusters, "label"),
        "reasons": summary.reasons.to_dict(),
        "ambiguous": records(summary.ambiguous, "id"),
        "notes": list(summary.notes),
    }


def records(table: pd.DataFrame, name: str) -> list[dict[str, Any]]:
    """Return rows as JSON, the index under this name; `up to 0.5` becomes `up_to_threshold`."""
    names = {
        old: "up_to_threshold" if old.startswith("up to ") else old.replace(" ", "_")
        for old in table.columns
    }
    rows = table.rename(columns=names).rename_axis(name).reset_index().to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in rows]


def is_interactive() -> bool:
    """Return whether there is a terminal for steps and progress."""
    return sys.stderr.isatty()


def say(what: str) -> None:
    """Print the current step, if somebody is watching."""
    if is_interactive():
        echo(what, err=True)


def print_json(printed: Mapping[str, Any], paths: Mapping[str, Path]) -> None:
    """Print the results as JSON."""
    click.echo(as_json(printed, paths))


def as_json(printed: Mapping[str, Any], paths: Mapping[str, Path]) -> str:
    """Return the results as JSON text."""
    files = {option.removeprefix("--"): str(path) for option, path in paths.items()}
    printed = _jsonable(dict(printed) | {"files": files, "version": __version__})
    # default=str: names of rows may be dates.
    return json.dumps(printed, indent=2, ensure_ascii=False, default=str)


def _jsonable(value: Any) -> Any:
    """Replace NumPy numbers by plain ones, and missing values by null."""
    if isinstance(value, dict):
        return {str(name): _jsonable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def planned_settings(points: Points) -> dict[str, Any]:
    """Return what was done with the table before it was clustered, in a few words each."""
    plan, left = points.plan, int((~points.kept).sum())
    if plan is None:
        return {"scale": "none", "rows_left_out": left}
    done: dict[str, Any] = {"scale": plan.scale, "missing": plan.missing, "rows_left_out": left}
    aside = [
        f"{c.name} ({c.reason})" for c in plan.columns if c.use == "ignored" and not c.user_decided
    ]
    wording = current_wording()
    words = {
        "read": plan.read_as(wording),
        "names_rows": plan.id or "",
        "categories": ", ".join(c.name for c in plan.used if c.use == "category"),
        "set_aside": "; ".join(aside[:50]),
        "missing_values": ", ".join(f"{c.name} {c.n_missing}" for c in plan.used if c.n_missing),
        "please_check": " ".join(plan.to_check(wording=wording)).replace("Please check ", ""),
    }
    return done | {name: text for name, text in words.items() if text}


def plan_of(points: Points) -> dict[str, Any]:
    """Return the plan as JSON, if there is one."""
    return {} if points.plan is None else {"plan": points.plan.to_json()}


def print_summary(request: Request, text: str, points: Points) -> None:
    """Print the plan and the summary, on standard error if standard output has the table."""
    if points.plan is not None:
        echo(f"{points.plan.summary(wording=current_wording())}\n", err=request.to_stdout)
    echo(text, err=request.to_stdout)
    if points.why is not None and not points.kept.all():
        n = len(points.kept)
        for why, count in Counter(points.why[~points.kept]).most_common():
            echo(f"\n{unscored(int(count), n, str(why))}", err=request.to_stdout)
    if request.paths:
        written = ", ".join(str(path) for path in request.paths.values())
        echo(f"\nWrote {written}.", err=request.to_stdout)


def unscored(count: int, of: int, why: str) -> str:
    """Return how many rows have no score, and why."""
    return f"{count} of {of} rows {'has' if count == 1 else 'have'} no score ({why})."


def print_table(table: pd.DataFrame, dialect: Dialect | None = None) -> None:
    """Print a table as CSV, in the dialect that was read."""
    marks = {} if dialect is None else dialect.options("csv", ",")
    table.to_csv(sys.stdout, index=False, lineterminator="\n", **marks)


def name_of(data: str) -> str:
    """Return the name of the input for texts and pages, without its folder."""
    return "standard input" if data == "-" else Path(data).name
