"""A file → points: one look at its table, and what the plan says is done with it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Bools
from clustertrust._validation import check_whole_numbers
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.planning import FittedTable, is_unnamed, plan_table, read_plan
from clustertrust.cli.scaling import Preparation, fit_preparation
from clustertrust.columns import COLUMNS
from clustertrust.files import Reading, Table, read_table
from clustertrust.files.columns import UNNAMED
from clustertrust.files.formats import FORMATS, format_of
from clustertrust.files.reading import Dialect
from clustertrust.tables import TablePlan, choose_scale
from clustertrust.tables.looking import odd_rows

ROW = "row"  # name of the index, if nothing else names the rows
ID = "id"  # name of names of the rows that have none


@dataclass(frozen=True)
class Points:
    """The points of a file.

    Attributes
    ----------
    X : frame or CSR array of the used rows, as they are clustered
    unscaled : the same rows as in the file: filled in, but not scaled
    ids : names of all rows of the file, in its order
    kept : (rows,) which of them are used
    preparation : what was done to the columns; None for sparse data
    adata : the AnnData object, if the file is one
    plan : what was decided for each column; None for sparse data
    why : (rows,) why a row is left out, an empty text if it is used
    original : the table as written, if its columns have names and it is wanted
    folder : where the file is; None for standard input
    sampled : whether these are some rows of a larger file
    n_filled : how many values were filled in, by column
    drawn : numbers to draw the points by, if X holds texts too
    view : where to draw the points, if X holds distances
    dialect : how the file is written, if it is text
    """

    X: Any
    unscaled: Any
    ids: pd.Index
    kept: Bools
    preparation: Preparation | None
    adata: Any = None
    plan: TablePlan | None = None
    why: pd.Series | None = None
    original: pd.DataFrame | None = None
    folder: Path | None = None
    sampled: bool = False
    n_filled: Mapping[str, int] = field(default_factory=dict)
    drawn: Any = None
    view: Any = None
    dialect: Dialect | None = None


def read_file(path: str, columns: ReadOptions, *, as_written: bool = False) -> Table:
    """Read a file, or standard input (-); `as_written` keeps the fields of text as text."""
    reading = replace(reading_of(columns), as_written=as_written)
    if path == "-":
        return read_table(_standard_input(), reading, format=columns.format or "csv")
    return read_table(path, reading, format=columns.format)


def reading_of(columns: ReadOptions) -> Reading:
    """Return how to read a file."""
    return Reading(
        text=() if columns.id is None else (columns.id,),
        separator=columns.separator,
        header=columns.header,
        array=columns.array,
        use_rep=columns.use_rep or Reading.use_rep,
        encoding=columns.encoding,
        decimal=columns.decimal,
        thousands=columns.thousands,
        na=columns.missing_texts(),
        skip_rows=columns.skip_rows,
        sheet=columns.sheet,
    )


_READ: list[tuple[Any, bytes]] = []  # standard input, which can be read only once


def _standard_input() -> bytes:
    """Return all of standard input, also when it is asked for again."""
    if not _READ or _READ[0][0] is not sys.stdin:
        _READ[:] = [(sys.stdin, sys.stdin.buffer.read())]
    return _READ[0][1]


def read_points(
    path: str,
    columns: ReadOptions,
    *,
    fitted: FittedTable | None = None,
    to_score: bool = False,
    own: bool = True,
) -> Points:
    """Read points; `fitted` is what a model that shall score them knows of its table.

    `to_score`: results are written beside the names of the rows, so the column of names may not be
    called like a result. `own`: the table as written is wanted too, which takes a second reading.
    """
    table = read_file(path, columns)
    source_name = "The input" if path == "-" else path
    if table.data.shape[0] == 0:
        raise ValueError(f"{source_name} has column names but no rows.")
    if sparse.issparse(table.data):
        return _sparse_points(table, columns, fitted, source_name)
    if table.names is not None and columns.id == table.names.name and columns.id not in table.data:
        columns = replace(columns, id=None)  # the index in a pandas file names the rows anyway
    frame = table.data.set_axis(_names(table.data), axis=1)
    if _has_nameless_ids(frame, columns):
        frame = frame.rename(columns={frame.columns[0]: ID})
        note = f"the first column, which has no name, is called {ID}"
        table = replace(table, notes=(*table.notes, note))
    plan = plan_table(table, frame, columns, source_name, fitted)
    try:
        check_whole_numbers(frame[[column.name for column in plan.used]])
    except ValueError as error:
        raise ValueError(f"{source_name}: {error}") from error
    ids = _ids(table, frame, plan)
    if to_score:
        check_free(ids.name, source_name)
    X = plan.apply(frame)
    why = plan.rows_out(X, plan.rows if fitted is None else odd_rows(frame, plan))
    kept = (why == "").to_numpy()
    if not kept.any():
        raise ValueError(
            f"{source_name} has no row without missing values; try --impute mean, or --drop "
            "columns."
        )
    has_own = own and not is_unnamed(table)
    original = _as_written(path, columns, table, frame) if has_own else None
    home = None if path == "-" else Path(path).parent
    points = Points(
        *(X, X, ids, kept, None, table.adata, plan, why, original, home), dialect=table.dialect
    )
    if plan.is_mixed:
        return _mixed_points(points, None if fitted is not None else frame)
    lost = np.isnan(X.to_numpy()[kept]).sum(axis=0)
    values, preparation = _filled(X.to_numpy()[kept], plan, fitted, source_name)
    # Columns of arrays have no names that a model could ask for.
    plain = is_unnamed(table) and X.shape[1] == table.data.shape[1]
    names = table.data.columns if plain else X.columns
    filled = pd.DataFrame(values, index=ids[kept], columns=names)
    gaps = {plan.used[at].name: int(n) for at, n in zip(plan.sources, lost, strict=True) if n}
    return replace(
        points,
        X=preparation.scale(filled),
        unscaled=filled,
        preparation=preparation,
        n_filled=gaps,
    )


def _mixed_points(points: Points, frame: pd.DataFrame | None) -> Points:
    """Return points for Gower's distance: texts and gaps stay; page and plot show numbers.

    `frame` is the table, if the points are to be shown.
    """
    plan = points.plan
    assert plan is not None
    X = points.X[points.kept].set_axis(points.ids[points.kept], axis=0)
    nothing = Preparation(np.zeros(X.shape[1]), None, False)
    points = replace(points, X=X, unscaled=X, preparation=nothing)
    if frame is None:
        return points
    plan = replace(plan, encode="onehot", missing="mean")
    numbers = plan.apply(frame)[points.kept].set_axis(points.ids[points.kept], axis=0)
    plan = replace(plan, scale=choose_scale(plan, numbers)[0])
    preparation = fit_preparation(plan, numbers.to_numpy())
    filled = numbers.fillna(dict(zip(numbers.columns, preparation.means, strict=True)))
    return replace(points, unscaled=filled, drawn=preparation.scale(filled))


def _filled(
    values: Any, plan: TablePlan, fitted: FittedTable | None, source_name: str
) -> tuple[Any, Preparation]:
    """Return the values without gaps, and what is done to the columns."""
    known = None if fitted is None else fitted.preparation
    if known is not None and values.shape[1] != len(known.means):
        raise ValueError(
            f"{source_name} has {values.shape[1]} columns to use; the model was fitted on "
            f"{len(known.means)}."
        )
    preparation = fit_preparation(plan, values) if known is None else known
    if np.isfinite(values).all():
        return values, preparation
    if plan.missing == "drop" or (fitted is not None and known is None):
        raise ValueError(
            f"{source_name} has missing values, and the model has no column means of its fit; use "
            "--drop-missing."
        )
    return preparation.fill(values), preparation


def _as_written(path: str, columns: ReadOptions, table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with its text as in the file, which numbers would lose: 007, 5.10."""
    format = columns.format or ("csv" if path == "-" else format_of(path))
    if "as_written" not in FORMATS[format].options:
        return frame if table.names is None else frame.set_axis(table.names, axis=0)
    texts: pd.DataFrame = read_file(path, columns, as_written=True).data
    return texts.set_axis(frame.columns, axis=1)


def _names(frame: pd.DataFrame) -> list[str]:
    """Return the names of the columns as text, without blanks around them if they still differ."""
    names = [str(name) for name in frame.columns]
    short = [name.strip() for name in names]
    return short if len(set(short)) == len(names) and all(short) else names


def _has_nameless_ids(frame: pd.DataFrame, columns: ReadOptions) -> bool:
    """Return whether the first column names the rows and has no name itself, as pandas writes it.

    Not where its place is taken, or the user calls it as pandas does.
    """
    first, name = frame.iloc[:, 0], str(frame.columns[0])
    if not name.startswith(UNNAMED) or ID in frame:
        return False
    if not first.is_unique or pd.api.types.is_float_dtype(first.dtype):
        return False
    said = (columns.id, *columns.use, *columns.drop, *columns.keep, *columns.category)
    if columns.plan is not None:
        said += tuple(column.name for column in read_plan(columns).columns)
    return name not in said


def on_all_rows(table: pd.DataFrame, points: Points, *, only_scores: bool = False) -> pd.DataFrame:
    """Extend a table of the used rows to all rows, after the original columns or the names alone.

    Rows that were left out are empty, except for the reason.
    """
    if not points.kept.all():
        whole = {
            name: "Int64" for name in table if pd.api.types.is_integer_dtype(table[name].dtype)
        }
        table = (
            table.astype(whole)
            .set_axis(np.flatnonzero(points.kept), axis=0)
            .reindex(range(len(points.kept)))
        )
        assert points.why is not None
        table["reason"] = table["reason"].astype(object).where(points.kept, points.why.to_numpy())
    table = table.reset_index(drop=True)
    if only_scores or points.original is None:
        table.insert(0, str(points.ids.name), points.ids.to_numpy())
        return table
    original = points.original
    if not isinstance(original.index, pd.RangeIndex):
        original = original.rename_axis(str(points.ids.name)).reset_index()
    taken = {name: f"{name}_input" for name in original.columns if name in table.columns}
    return pd.concat([original.rename(columns=taken).reset_index(drop=True), table], axis=1)


def _sparse_points(
    table: Table, columns: ReadOptions, fitted: FittedTable | None, source_name: str
) -> Points:
    if fitted is not None and fitted.preparation is not None and fitted.preparation.is_scaled:
        raise ValueError(
            f"{source_name} is a sparse matrix, and the model standardises columns; give a dense "
            "table."
        )
    refused = ["--id"] * bool(columns.id) + columns.changes()
    if refused:
        raise ValueError(
            "A sparse matrix has no named columns and stays sparse; leave out "
            f"{', '.join(refused)}."
        )
    n = table.data.shape[0]
    ids = _carried(table)
    return Points(table.data, table.data, ids, np.ones(n, dtype=bool), None, table.adata)


def _ids(table: Table, frame: pd.DataFrame, plan: TablePlan) -> pd.Index:
    """Return row names: the plan's column, else the file's own, else positions from 0."""
    asked = any(column.use == "id" and column.user_decided for column in plan.columns)
    if plan.id is None or (table.names is not None and not asked):
        return _carried(table)
    names: pd.Index = pd.Index(frame[plan.id], name=plan.id)
    return names


def check_free(name: Any, source_name: str) -> None:
    """Raise if the column that names the rows is called like a result."""
    if name in COLUMNS:
        raise ValueError(
            f"The column {name!r} of {source_name} has the name of a result; rename it to use it "
            "as --id."
        )


def _carried(table: Table) -> pd.Index:
    if table.names is None:
        return pd.RangeIndex(table.data.shape[0], name=ROW)
    names: pd.Index = table.names.rename(str(table.names.name or ID))
    return names
