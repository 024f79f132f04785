"""Files of scores, read again: with the data that they belong to, or on their own."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Floats, Ints
from clustertrust.answers.scored import Scored, scored
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.points import ROW, Points, read_points
from clustertrust.cli.writing import KEY
from clustertrust.columns import COLUMNS, beside_results
from clustertrust.files import Reading, format_of, read_table
from clustertrust.files.columns import check_there
from clustertrust.files.reading import Dialect


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
    places: Ints = np.arange(len(table))
    # A file of scores may lack the names that the table was found to have.
    if columns.id is not None or (id and table.index.name in (beside_results(id), id)):
        places = _places_by_name(table.index, points.ids, scores, data)
        table = table.reset_index(drop=True).reindex(places).set_axis(points.ids, axis=0)
    elif len(table) != len(points.ids):
        raise ValueError(
            f"{scores} has {len(table)} rows and {data} has {len(points.ids)}; give the data that "
            "were scored, or name the column that both have with --id."
        )
    elif detected:
        table = table.set_axis(points.ids, axis=0)
    return points, table, places


def _read_scores(path: str, id: str | None) -> pd.DataFrame:
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


def _places_by_name(theirs: pd.Index, ids: pd.Index, scores: str, data: str) -> Ints:
    """Return where the rows of the data are in the scores; -1 where a row has no name, as units."""
    theirs, ours = (texts_of(names) for names in (theirs, ids))
    known = ours != ""
    if not (theirs[theirs != ""].is_unique and ours[known].is_unique):
        raise ValueError(
            f"--id {ids.name}: some of its values occur more than once, so it does not identify "
            "the rows; name another column."
        )
    places = pd.Series(np.arange(len(theirs)), index=theirs)[theirs != ""].reindex(ours)
    lost = places.isna().to_numpy() & known
    if lost.any():
        rows = "1 row" if lost.sum() == 1 else f"{lost.sum()} rows"
        raise ValueError(f"{scores} has no scores for {rows} of {data}, such as {ours[lost][0]!r}.")
    return places.fillna(-1).to_numpy(np.int64)


def texts_of(names: pd.Index) -> pd.Index:
    """Return names of rows as text, an empty one where a row has none."""
    return pd.Index(["" if pd.isna(name) else str(name) for name in names], dtype=object)


@dataclass(frozen=True)
class ScoredFile:
    """A file of scores.

    Attributes
    ----------
    table : all of its columns
    source : what was scored
    names : names of the rows, under the name of their column; None: they have none
    points : its own columns as points; None where it has none that can be used
    dialect : how it is written, if it is text
    """

    table: pd.DataFrame
    source: Scored
    names: pd.Series | None
    points: Points | None
    dialect: Dialect | None


def read_scored_file(path: str, columns: ReadOptions, points: Points | None) -> ScoredFile:
    """Read scores; without the points of the data, the file's own columns are the points."""
    text = () if columns.id is None else (columns.id,)
    read = read_table(path, Reading(text=text))
    table = checked_scores(path, read.data)
    check_there([str(name) for name in table], path, id=[] if columns.id is None else [columns.id])
    if points is None:
        points = _own_points(path, columns, table)
    elif len(points.kept) != len(table):
        raise ValueError(
            f"{path} has {len(table)} rows and the data have {len(points.kept)}; give the data "
            "that were scored."
        )
    else:
        _check_order(path, table, points.ids)
    names = None if columns.id is None else table[columns.id]
    if names is None and points is not None and points.plan is not None and points.plan.id:
        names = pd.Series(points.ids.map(str), name=str(points.ids.name))
    source = scored(table, None if points is None else _places(points))
    return ScoredFile(table, source, names, points, read.dialect)


def _check_order(path: str, table: pd.DataFrame, ids: pd.Index) -> None:
    """Raise if scores and data have the same rows, but in another order."""
    if ids.name not in table:
        return
    theirs, ours = (np.array([*map(str, names)], dtype=object) for names in (table[ids.name], ids))
    differ = np.flatnonzero(theirs != ours)
    if differ.size and {*theirs} == {*ours}:
        i = differ[0]
        raise ValueError(
            f"{path} names row {i} {theirs[i]!r}, and the data {ours[i]!r}; give the data in the "
            "order in which they were scored."
        )


def _own_points(path: str, columns: ReadOptions, table: pd.DataFrame) -> Points | None:
    """Return the columns that are no results as points; None if there are none, or none to use."""
    results = tuple(name for name in table if name in (*COLUMNS, "row"))
    if len(results) + (columns.id is not None) >= table.shape[1]:
        return None
    try:
        return read_points(path, replace(columns, drop=(*columns.drop, *results)))
    except ValueError:
        return None


def _places(points: Points) -> Floats:
    """Return points of all rows; rows that were left out have no score, and lie anywhere."""
    # Of texts, `drawn` holds the numbers to draw.
    X = points.X if points.drawn is None else points.drawn
    values = np.asarray(X if not hasattr(X, "toarray") else X.toarray())
    out = np.zeros((len(points.kept), values.shape[1]))
    out[points.kept] = values
    return out
