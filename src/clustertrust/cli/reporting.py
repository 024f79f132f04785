"""A page from scores that were written before, and the data that they belong to."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Ints
from clustertrust.cli.checks import check_tools
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.outputs import staged
from clustertrust.cli.points import ROW, Points, name_of, read_points
from clustertrust.cli.reviews import ReportRequest
from clustertrust.cli.sidecar_plan import as_scored, how_read
from clustertrust.cli.terminal import echo
from clustertrust.cli.wording import score_wording
from clustertrust.cli.writing import KEY, read_names, title_of, write_page
from clustertrust.columns import COLUMNS, beside_results
from clustertrust.files import Reading, format_of, read_table

NO_VERDICT = (
    "A file of scores does not say what data without clusters reach. For a verdict on the page, "
    "add --chance with the number that clustertrust score printed."
)


def read_scored_points(
    scores: str, data: str, columns: ReadOptions
) -> tuple[Points, pd.DataFrame, Ints]:
    """Read the rows of a table and their scores, in the order of the table.

    Returns the points, the scores of all rows of the table, and the place of each in the file of
    scores.
    """
    points = read_points(data, columns)
    detected = None if points.plan is None else points.plan.id
    id = columns.id or detected
    table = _read_scores(scores, id)
    places = np.arange(len(table))
    # A file of scores may lack the names that the table was found to have.
    if columns.id is not None or (id and table.index.name in (beside_results(id), id)):
        # Raises if names occur twice.
        by_name = _by_name(table, points.ids, scores, data)
        places = table.index.map(str).get_indexer(points.ids.map(str))
        table = by_name
    elif len(table) != len(points.ids):
        raise ValueError(
            f"{scores} has {len(table)} rows and {data} has {len(points.ids)}; give the data that "
            "were scored, or name the column that both have with --id."
        )
    elif detected:
        table = table.set_axis(points.ids, axis=0)
    return points, table, places


def report(request: ReportRequest) -> None:
    """Make a page from scores and the data they belong to."""
    check_tools(request.data, request.columns, {})
    scores, data, paths = request.scores, request.data, request.paths
    columns = as_scored(scores, request.columns)
    points, table, places = read_scored_points(scores, data, columns)
    table = table[points.kept]
    # Rows that scoring left out are not shown.
    shown = (table["score"].notna() | table["label"].notna()).to_numpy()
    settings = {"scores": Path(scores).name, "data": Path(data).name, "rows": len(points.ids)}
    with staged(paths) as drafts:
        write_page(
            drafts["--out"],
            table[shown],
            points,
            shown,
            settings=settings,
            title=request.title or title_of(name_of(data)),
            threshold=_core_above(table) if request.threshold is None else request.threshold,
            chance=request.chance,
            quoted=() if request.chance is not None else (NO_VERDICT,),
            rows=places[points.kept][shown],
            names=read_names(request.names),
            wording=score_wording(),
        )
    for line in how_read(request.columns, columns, None):
        echo(line)
    if request.chance is None:
        echo(NO_VERDICT)
    echo(f"Wrote {paths['--out']}: {shown.sum()} points.")


def _core_above(table: pd.DataFrame) -> float | None:
    """Return a threshold that keeps the rows that are core in the table, with two digits if one
    does; None if it does not say which are.
    """
    if "reason" not in table:
        return None
    core = table["reason"] == "core"
    if not core.any():
        return 1.0
    others = table["score"][~core & table["label"].notna()]
    highest, lowest = others.max(), table["score"][core].min()
    highest = 0.0 if np.isnan(highest) else float(highest)
    rounded = float(np.ceil(100 * highest) / 100)
    return rounded if rounded < lowest else highest


def _read_scores(path: str, id: str | None = None) -> pd.DataFrame:
    """Read the results in a table that `score --out` wrote.

    The column `id`, or the first if all others are results, or cell names become the index.
    """
    if format_of(path) == "h5ad":
        obs = importlib.import_module("anndata").read_h5ad(path, backed="r").obs
        results = obs.filter(regex=f"^{KEY}_")
        table = results.rename(columns=lambda name: name.removeprefix(f"{KEY}_"))
    else:
        table = read_table(path).data
        if isinstance(table, pd.DataFrame):
            names = [str(name) for name in table.columns]
            ids = [] if id is None else [beside_results(id), id]
            first = next((name for name in ids if name in names), None) or _lone_name(names)
            # Again, with the names as text.
            if first is not None:
                text = () if first == ROW else (first,)
                table = read_table(path, Reading(text=text)).data.set_index(first)
            table = table[[name for name in table.columns if name in COLUMNS]]
    return checked_scores(path, table)


def checked_scores(path: str, table: Any) -> pd.DataFrame:
    """Return a table of scores; raise if it has none."""
    if not isinstance(table, pd.DataFrame) or not {"label", "score"} <= set(table.columns):
        raise ValueError(
            f"{path} lacks the columns label and score; give a file that `clustertrust score "
            "--out` wrote."
        )
    return table


def _lone_name(names: list[str]) -> str | None:
    """Return the first column if it alone is no result: the names of the rows."""
    return names[0] if names[0] not in COLUMNS and set(names[1:]) <= set(COLUMNS) else None


def _by_name(table: pd.DataFrame, ids: pd.Index, scores: str, data: str) -> pd.DataFrame:
    """Return rows of scores in the order of the data."""
    theirs = table.set_axis(table.index.map(str), axis=0)
    ours = ids.map(str)
    if not theirs.index.is_unique or not ours.is_unique:
        raise ValueError(
            f"--id {ids.name}: some of its values occur more than once, so it does not identify "
            "the rows; name another column."
        )
    missing = ours[~ours.isin(theirs.index)]
    if len(missing):
        raise ValueError(
            f"{scores} has no scores for {len(missing)} rows of {data}, such as "
            f"{str(missing[0])!r}."
        )
    return theirs.loc[ours].set_axis(ids, axis=0)
