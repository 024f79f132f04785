"""What commands print: a summary for a person, or JSON for a machine."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust import Audit, Confidence, __version__
from clustertrust._errors import rendered
from clustertrust.cli.options import BUILDING, SCORING, audited
from clustertrust.cli.points import Points, name_of
from clustertrust.cli.request import PredictRequest, ScoreRequest, TableRequest
from clustertrust.cli.terminal import data_stream, echo
from clustertrust.cli.wording import current_wording
from clustertrust.files.reading import Dialect
from clustertrust.notes import noise_text
from clustertrust.summary import Summary, headline
from clustertrust.tables import TablePlan


def score_settings(request: ScoreRequest, scored: Confidence, points: Points) -> dict[str, Any]:
    """Return all settings that are needed to make the scores again, as JSON."""
    method, labels = request.method, request.labels
    if isinstance(scored, Audit):
        source = Path(labels).name if labels else f"column {request.labels_column}"
        of_scores = {"labels": source} | method.settings(audited(request.typed))
        of_scores |= {} if scored.classifier is None else {"classifier": scored.classifier}
    elif labels is None:
        of_scores = method.settings((*BUILDING, *SCORING))
    else:
        of_scores = {"labels": Path(labels).name} | method.settings(SCORING)
    settings: dict[str, Any] = {"input": name_of(request.data), "rows": len(points.kept)}
    if not sparse.issparse(points.X) and not request.distances:
        names = [str(name) for name in points.X.columns]
        settings["columns"] = ", ".join(names) if len(names) <= 50 else f"{len(names)}"
    settings |= planned_settings(points) | of_scores
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
        "verdict": None if cut.verdict is None else summary.verdict,
        "above_chance": cut.share,
        "chance": cut.chance,
        "threshold": cut.threshold,
        "threshold_rule": cut.rule,
        "quantiles": summary.scores.to_dict(),
        "clusters": records(summary.clusters, "label"),
        "reasons": summary.reasons.to_dict(),
        "ambiguous": records(summary.ambiguous, "id"),
        "notes": list(summary.notes),
        "tests": list(summary.quoted),
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
    text = as_json(printed, paths)
    click.echo(text if sys.stdout.isatty() else text.encode())


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
    ignored = [
        f"{c.name} ({c.reason})" for c in plan.columns if c.use == "ignored" and not c.user_decided
    ]
    wording = current_wording()
    words = {
        "read": plan.read_as(wording),
        "names_rows": plan.id or "",
        "categories": ", ".join(c.name for c in plan.used if c.use == "category"),
        "set_aside": "; ".join(ignored[:50]),
        "missing_values": ", ".join(f"{c.name} {c.n_missing}" for c in plan.used if c.n_missing),
        "please_check": " ".join(plan.to_check(wording=wording)).replace("Please check ", ""),
    }
    return done | {name: text for name, text in words.items() if text}


def plan_of(points: Points) -> dict[str, Any]:
    """Return the plan as JSON, if there is one."""
    return {} if points.plan is None else {"plan": points.plan.to_json()}


@dataclass(frozen=True)
class Outcome:
    """What a command found.

    Attributes
    ----------
    request : what was typed
    points : the points, or a sample of them
    scored : their scores, with the runs
    summary : of all rows
    left_out : rows without a score, by reason
    rows : rows of the data
    passes : over data that are read in blocks; None: they were read whole
    """

    request: ScoreRequest | PredictRequest
    points: Points
    scored: Confidence
    summary: Summary
    left_out: Mapping[str, int]
    rows: int
    passes: int | None = None

    @property
    def n_scored(self) -> int:
        """Rows that have a score."""
        return self.rows - sum(self.left_out.values())

    def headline(self) -> str:
        """Return what was scored, and by what runs, as text."""
        scored, data = self.scored, name_of(self.request.data)
        line = headline(self.n_scored, scored.n_clusters, scored.ensemble, scored.geometry_method)
        return line if self.passes is None else f"{line}; {self.passes} passes over {data}"

    def to_json(self) -> dict[str, Any]:
        """Return what was scored, by what runs, and the summary, as JSON."""
        return {
            "input": self.request.data,
            **({"model": self.request.model} if isinstance(self.request, PredictRequest) else {}),
            "rows": self.rows,
            "scored": self.n_scored,
            "runs": self.scored.n_runs,
            "geometry": self.scored.geometry_method,
            **({} if self.passes is None else {"passes": self.passes}),
            **summary_fields(self.summary),
        }


def print_scores(outcome: Outcome, settings: Mapping[str, Any]) -> None:
    """Print what `score` found, as JSON or for a person."""
    request, points, scored = outcome.request, outcome.points, outcome.scored
    if request.as_json:
        printed = outcome.to_json()
        if isinstance(scored, Audit):
            printed |= {"verdicts": [vars(verdict) for verdict in scored.verdicts]}
            printed |= {"wrong_labels": scored.wrong_labels._asdict()}
        print_json(printed | {"settings": settings} | plan_of(points), request.paths)
        return
    text = outcome.summary.text(outcome.headline())
    if isinstance(scored, Audit):
        text += f"\n\n{scored.verdicts_as_text()}"
    print_summary(request, text, points.plan, unscored(outcome.left_out, outcome.rows))


def print_summary(
    request: TableRequest, text: str, plan: TablePlan | None, notes: Sequence[str]
) -> None:
    """Print the plan and the summary, on standard error if standard output has the table."""
    if plan is not None:
        echo(f"{plan.summary(wording=current_wording())}\n", err=request.to_stdout)
    echo(text, err=request.to_stdout)
    for note in notes:
        echo(f"\n{note}", err=request.to_stdout)
    if request.paths:
        written = ", ".join(str(path) for path in request.paths.values())
        echo(f"\nWrote {written}.", err=request.to_stdout)


def left_out_of(points: Points) -> Counter[str]:
    """Return how many rows were left out, by reason."""
    return Counter(() if points.why is None else points.why[~points.kept].tolist())


def unscored(left_out: Mapping[str, int], rows: int) -> list[str]:
    """Return how many rows have no score, and why."""
    return [
        f"{count} of {rows} rows {'has' if count == 1 else 'have'} no score ({why})."
        for why, count in Counter(left_out).most_common()
    ]


def print_table(table: pd.DataFrame, dialect: Dialect | None = None) -> None:
    """Print a table as CSV, in the dialect that was read."""
    marks = {} if dialect is None else dialect.options("csv", ",")
    table.to_csv(data_stream(), index=False, lineterminator="\n", encoding="utf-8", **marks)
