"""A file → points: one look at its table, and what the plan says is done with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._errors import Message
from clustertrust._types import Array, Bools
from clustertrust.cli.options import ReadOptions
from clustertrust.cli.planning import fit_preparer, read_plan
from clustertrust.columns import beside_results
from clustertrust.files import Reading, Table, read_table
from clustertrust.files.columns import NAMELESS, UNNAMED, check_there, stripped
from clustertrust.files.reading import Dialect
from clustertrust.tables import ColumnPlan, TablePlan, TablePreparer
from clustertrust.tables.units import with_scale

ROW = "row"  # name of the index, if nothing else names the rows
ID = "id"  # name of names of the rows that have none


@dataclass(frozen=True)
class Points:
    """The points of a file.

    Attributes
    ----------
    X : frame or CSR array of the used rows, as they are clustered
    unscaled : the same rows as in the file: not scaled, and NaN where a value is missing
    ids : names of all rows of the file, in its order
    kept : (rows,) which of them are used
    preparer : what made them of the table; None for sparse data and distances
    adata : the AnnData object, if the file is one
    labels : (rows,) the column that holds labels, if one was named
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
    preparer: TablePreparer | None
    adata: Any = None
    labels: pd.DataFrame | None = None
    why: Array | None = None
    original: pd.DataFrame | None = None
    folder: Path | None = None
    sampled: bool = False
    n_filled: Mapping[str, int] = field(default_factory=dict)
    drawn: Any = None
    view: Any = None
    dialect: Dialect | None = None

    @property
    def plan(self) -> TablePlan | None:
        """What was decided for each column; None for sparse data and distances."""
        return None if self.preparer is None else self.preparer.plan_

    @property
    def categories(self) -> list[ColumnPlan]:
        """The columns that became several of 0 and 1, if the table as written is at hand."""
        used = [] if self.plan is None or self.original is None else self.plan.used
        return [column for column in used if column.use == "category"]

    @property
    def encoded(self) -> set[str]:
        """The columns of 0 and 1 that these became."""
        return {name for column in self.categories for name in column.features}


def name_of(data: str) -> str:
    """Return the name of the input for texts and pages, without its folder."""
    return "standard input" if data == "-" else Path(data).name


def source_name(path: str) -> str:
    """Return what messages call the input."""
    return "The input" if path == "-" else path


def source_of(path: str) -> str | bytes:
    """Return what to read, perhaps twice: a path, or the bytes of standard input (-)."""
    return sys.stdin.buffer.read() if path == "-" else path


def read_file(source: str | bytes, columns: ReadOptions, *, as_written: bool = False) -> Table:
    """Read a file, or bytes; `as_written` keeps the fields of text as text."""
    reading = replace(reading_of(columns), as_written=as_written)
    return read_table(
        source, reading, format=columns.format or ("csv" if isinstance(source, bytes) else None)
    )


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


def read_points(
    path: str,
    columns: ReadOptions,
    *,
    prepare: Callable[[pd.DataFrame, ReadOptions, str], TablePreparer] | None = None,
    labels: str | None = None,
    own: bool = True,
) -> Points:
    """Read points.

    Parameters
    ----------
    path : the file, or - for standard input
    columns : how to read it
    prepare : what makes numbers of a table for a model; None: a look at the table
    labels : the column that holds labels
    own : whether the table as written is wanted too, which takes a second reading
    """
    source = source_of(path)
    table = read_file(source, columns)
    label_column = None if labels is None else _labels_of(table, labels, path)
    called = source_name(path)
    if table.data.shape[0] == 0:
        raise ValueError(f"{called} has column names but no rows.")
    if sparse.issparse(table.data):
        return replace(_sparse_points(table, columns), labels=label_column)
    if table.names is not None and columns.id == table.names.name and columns.id not in table.data:
        columns = replace(columns, id=None)  # the index in a pandas file names the rows anyway
    frame, notes = _named(table, columns)
    # Columns of arrays and AnnData have no names of their own.
    has_names = table.adata is None and not isinstance(table.data.columns, pd.RangeIndex)
    if prepare is not None:
        preparer = prepare(frame, columns, called)
    else:
        names, one_block = list(frame.columns), (frame,)
        preparer = fit_preparer(
            columns, names, lambda: one_block, called, notes=notes, has_names=has_names
        )
    plan = preparer.plan_ = _with_labels_noted(preparer.plan_, labels)
    plan.check_whole_numbers(frame, called)
    rows = preparer.rows_of(frame)
    ids, kept = _ids(table, frame, plan), rows.why == ""
    if not kept.any():
        raise ValueError(
            f"{called} has no row without missing values; try --impute mean, or --drop columns."
        )
    # Columns of arrays have no names that a model could ask for.
    plain = not has_names and rows.X.shape[1] == table.data.shape[1]
    features = table.data.columns if plain else plan.features
    points = Points(
        X=_as_frame(rows.X, ids[kept], features),
        unscaled=_as_frame(rows.unscaled, ids[kept], features),
        ids=ids,
        kept=kept,
        preparer=preparer,
        adata=table.adata,
        labels=label_column,
        why=rows.why,
        original=_as_written(source, columns, table, frame) if own and has_names else None,
        folder=None if path == "-" else Path(path).parent,
        n_filled={} if plan.is_mixed else rows.n_missing,
        dialect=table.dialect,
    )
    return _with_numbers(points, frame[kept]) if plan.is_mixed and prepare is None else points


def _labels_of(table: Table, name: str, path: str) -> pd.DataFrame:
    """Return the column of labels, by its name as the user typed it; those of cells are in obs."""
    frame = table.data if table.adata is None else table.adata.obs
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"{path} holds a sparse matrix, which has no column of labels.")
    names = {str(column): column for column in frame.columns}
    check_there(list(names), name_of(path), labels_column=[name])
    return frame[[names[name]]]


def _with_labels_noted(plan: TablePlan, name: str | None) -> TablePlan:
    """Return the plan, which says of the column of labels why it is not clustered."""
    columns = (
        replace(one, reason="it holds the labels") if one.name == name else one
        for one in plan.columns
    )
    return replace(plan, columns=tuple(columns))


def _as_frame(values: Any, index: pd.Index, columns: Any) -> pd.DataFrame:
    """Return numbers with names; a frame, of which some columns are texts, has those of columns."""
    if isinstance(values, pd.DataFrame):
        return values.set_axis(index, axis=0)
    return pd.DataFrame(values, index=index, columns=columns)


def _named(table: Table, columns: ReadOptions) -> tuple[pd.DataFrame, Sequence[str | Message]]:
    """Return a table with names for all of its columns, and notes on how it was read."""
    frame = table.data.set_axis(stripped([str(name) for name in table.data]), axis=1)
    if not _has_nameless_ids(frame, columns):
        return frame, table.notes
    note = f"the first column, which has no name, is called {ID}"
    return frame.rename(columns={frame.columns[0]: ID}), (*table.notes, note)


def _with_numbers(points: Points, frame: pd.DataFrame) -> Points:
    """Return points for Gower's distance, of this table, with the numbers that pages show."""
    assert points.plan is not None
    plan = replace(points.plan, encode="onehot", missing="mean", rows=())
    plan = with_scale(plan, plan.read(frame).numbers, "auto")
    shown = TablePreparer(plan=plan).fit(frame)
    rows, named = shown.rows_of(frame), (points.X.index, shown.plan_.features)
    return replace(
        points, unscaled=_as_frame(rows.unscaled, *named), drawn=_as_frame(rows.X, *named)
    )


def _as_written(
    source: str | bytes, columns: ReadOptions, table: Table, frame: pd.DataFrame
) -> pd.DataFrame:
    """Return the table with its text as in the file, which numbers would lose: 007, 5.10."""
    # Text has a dialect.
    if table.dialect is None:
        return frame if table.names is None else frame.set_axis(table.names, axis=0)
    texts: pd.DataFrame = read_file(source, columns, as_written=True).data
    return texts.set_axis(frame.columns, axis=1)


def _has_nameless_ids(frame: pd.DataFrame, columns: ReadOptions) -> bool:
    """Return whether the first column names the rows and has no name itself, as pandas writes it.

    Not where its place is taken, or the user calls it as pandas does.
    """
    first, name = frame.iloc[:, 0], str(frame.columns[0])
    if not name.startswith(UNNAMED) or ID in frame:
        return False
    if not first.is_unique or pd.api.types.is_float_dtype(first.dtype):
        return False
    named = (columns.id, *columns.use, *columns.drop, *columns.keep, *columns.category)
    if columns.plan is not None:
        named += tuple(column.name for column in read_plan(columns).columns)
    return name not in named


def on_all_rows(table: pd.DataFrame, points: Points, *, only_scores: bool) -> pd.DataFrame:
    """Extend a table of the used rows to all rows, next to the original columns or the names."""
    table = table.reset_index(drop=True)
    if not points.kept.all():
        assert points.why is not None
        table = with_left_out(table, points.why)
    if only_scores or points.original is None:
        table.insert(0, str(points.ids.name), points.ids.to_numpy())
        return table
    original = points.original
    if not isinstance(original.index, pd.RangeIndex):
        original = original.rename_axis(str(points.ids.name)).reset_index()
    taken = {name: beside_results(name) for name in original.columns if name in table.columns}
    return pd.concat([original.rename(columns=taken).reset_index(drop=True), table], axis=1)


def with_left_out(table: pd.DataFrame, why: Array) -> pd.DataFrame:
    """Add rows that were left out, by why each row was: they are empty, except for the reason."""
    kept = why == ""
    whole = {name: "Int64" for name in table if pd.api.types.is_integer_dtype(table[name].dtype)}
    table = table.astype(whole).set_axis(np.flatnonzero(kept), axis=0).reindex(range(len(kept)))
    return table.assign(reason=table["reason"].astype(object).where(kept, why))


def _sparse_points(table: Table, columns: ReadOptions) -> Points:
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
    names: pd.Index = pd.Index(frame[plan.id], name=beside_results(plan.id))
    return names


def row_name(name: Any) -> str:
    """Return what the column that names the rows is called next to results."""
    is_nameless = name is None or str(name).startswith(NAMELESS)
    return ID if is_nameless else beside_results(str(name))


def _carried(table: Table) -> pd.Index:
    if table.names is None:
        return pd.RangeIndex(table.data.shape[0], name=ROW)
    names: pd.Index = table.names.rename(row_name(table.names.name))
    return names
