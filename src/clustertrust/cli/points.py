"""A file → points: a look at its table, and what the plan says is done with it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clustertrust._validation import check_whole_numbers, tell
from clustertrust.cli.options import Columns
from clustertrust.cli.scaling import Preparation, fit_preparation
from clustertrust.files import Reading, Table, read_table
from clustertrust.files.columns import check_there, listed
from clustertrust.files.formats import FORMATS, format_of
from clustertrust.results import COLUMNS
from clustertrust.tables import ColumnPlan, TablePlan, Wishes, look
from clustertrust.tables.looking import odd_rows
from clustertrust.tables.values import known_texts

__all__ = ["ROW", "Points", "TableProblem", "check_free", "read_file", "read_points", "spread"]

ROW = "row"  # what rows are called where nothing names them


class TableProblem(ValueError):  # noqa: N818  (all of them in one)
    """All that stands against clustering a table.

    Attributes
    ----------
    add, swap : parameters that help, and pairs of names of which the second was meant
    """

    def __init__(
        self, text: str, add: Sequence[str] = (), swap: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(text)
        self.add, self.swap = tuple(add), tuple(swap)


@dataclass(frozen=True)
class Points:
    """The points of a file.

    Attributes
    ----------
    X : frame or CSR array of the rows that are used, as they are clustered
    unscaled : the same as the file has them: filled in, but not scaled
    ids : names of all rows of the file, in its order
    kept : (rows,) which of them are used
    preparation : what happened to the columns; None for sparse data
    adata : the AnnData object, where the file is one
    plan : what was decided for each column; None where there are no named columns
    why : (rows,) why a row is left out, an empty text where it is used
    original : the table as it is written, where its columns have names
    """

    X: Any
    unscaled: Any
    ids: pd.Index
    kept: NDArray[np.bool_]
    preparation: Preparation | None
    adata: Any = None
    plan: TablePlan | None = None
    why: pd.Series | None = None
    original: pd.DataFrame | None = None


def read_file(path: str, columns: Columns, *, as_written: bool = False) -> Table:
    """Read a file, or standard input (-); `as_written`: all as the text it is, where it is text."""
    reading = Reading(
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
        as_written=as_written,
    )
    if path == "-":
        return read_table(_standard_input(), reading, format=columns.format or "csv")
    return read_table(path, reading, format=columns.format)


_READ: list[tuple[Any, bytes]] = []  # standard input, which can be read once


def _standard_input() -> bytes:
    """All that standard input has, also when it is asked for again."""
    if not _READ or _READ[0][0] is not sys.stdin:
        _READ[:] = [(sys.stdin, sys.stdin.buffer.read())]
    return _READ[0][1]


def read_points(
    path: str,
    columns: Columns,
    *,
    known: Sequence[str] | None = None,
    fitted: Preparation | None = None,
    plan: TablePlan | None = None,
    to_score: bool = False,
) -> Points:
    """Read points; `known`, `fitted` and `plan` are the features, the preparation and the plan of a
    model that shall judge them.

    `to_score`: results go beside the names of the rows, so that no column of results may have that
    name.
    """
    table = read_file(path, columns)
    told = "The input" if path == "-" else path
    if table.data.shape[0] == 0:
        raise ValueError(f"{told} has column names but no rows.")
    if sparse.issparse(table.data):
        if fitted is not None and fitted.scales is not None:
            raise ValueError(
                f"{told} is a sparse matrix, and the model standardises columns; give a dense "
                "table."
            )
        return _sparse_points(table, columns)
    if table.names is not None and columns.id == table.names.name and columns.id not in table.data:
        columns = replace(
            columns, id=None
        )  # the index that a file of pandas' carries names the rows anyway
    frame = table.data.set_axis([str(name) for name in table.data.columns], axis=1)
    by_model = known is not None or plan is not None or fitted is not None
    if plan is not None:
        plan = _for_new_rows(plan, frame, columns, told)
    elif by_model:
        plan = _of_model(frame, columns, told, known, fitted)
    else:
        plan = _planned(table, frame, columns, told)
    used = frame[[column.name for column in plan.used]]
    try:
        check_whole_numbers(used)
    except ValueError as error:
        raise ValueError(f"{told}: {error}") from error
    ids = _ids(table, frame, plan)
    if to_score:
        check_free(ids.name, told)
    X = plan.apply(frame)
    if fitted is not None and X.shape[1] != len(fitted.means):
        raise ValueError(
            f"{told} has {X.shape[1]} columns to use; the model was fitted on {len(fitted.means)}."
        )
    why = plan.rows_out(X, odd_rows(frame, plan) if by_model else plan.rows)
    kept = (why == "").to_numpy()
    if not kept.any():
        raise ValueError(
            f"{told} has no row without missing values; try --impute mean, or --drop columns."
        )
    values = X.to_numpy()[kept]
    preparation = fit_preparation(plan, values) if fitted is None else fitted
    if not np.isfinite(values).all():
        if plan.missing == "drop" or (by_model and fitted is None):
            raise ValueError(
                f"{told} has missing values, and the model keeps no means of the columns it was "
                "fitted on; use --drop-missing."
            )
        values = preparation.fill(values)
    # columns of arrays have no names that a model could ask for
    plain = _is_unnamed(table) and X.shape[1] == table.data.shape[1]
    names = table.data.columns if plain else X.columns
    filled = pd.DataFrame(values, index=ids[kept], columns=names)
    return Points(
        preparation.scale(filled),
        filled,
        ids,
        kept,
        preparation,
        table.adata,
        plan,
        why,
        None if _is_unnamed(table) else _as_written(path, columns, table, frame),
    )


def _as_written(path: str, columns: Columns, table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """The table with its text as it is in the file, which numbers would lose: 007, 5.10."""
    format = columns.format or ("csv" if path == "-" else format_of(path))
    if "as_written" not in FORMATS[format].options:
        return frame if table.names is None else frame.set_axis(table.names, axis=0)
    texts = read_file(path, columns, as_written=True).data
    return texts.set_axis([str(name) for name in texts.columns], axis=1)


# Plans


def _planned(table: Table, frame: pd.DataFrame, columns: Columns, told: str) -> TablePlan:
    """The plan that the user gave, or what one look at the table says."""
    if columns.plan is not None:
        return _given(columns, frame, told)
    choice = columns.choice(list(frame.columns))
    if _is_unnamed(table) and not any(choice.values()):
        return _as_it_is(list(frame.columns), columns, len(frame))
    scale = "standard" if columns.standardize else columns.scale
    wishes = Wishes(
        id=choice["id"],
        use=tuple(choice["use"]),
        drop=tuple(choice["drop"]),
        keep=tuple(choice["keep"]),
        scale="none" if scale == "auto" and _is_unnamed(table) else scale,
        encode=columns.encode,
        missing=columns.missing_rule() or "auto",
        na=columns.missing_texts(),
        decimal=columns.decimal,
        thousands=columns.thousands,
    )
    plan = look(frame, wishes, reading=table.notes)
    check_plan(plan, told)
    return plan


def check_plan(plan: TablePlan, told: str) -> None:
    """Raise one error with all problems of a plan; warn of what should not be overlooked."""
    if plan.problems:
        texts = [problem.text for problem in plan.problems]
        numbered = (
            texts[0]
            if len(texts) == 1
            else " ".join(f"({at}) {text}" for at, text in enumerate(texts, 1))
        )
        raise TableProblem(
            f"{told}: {numbered}",
            [problem.add for problem in plan.problems if problem.add],
            [problem.swap for problem in plan.problems if problem.swap is not None],
        )
    for warning in plan.warnings:
        tell(warning)


def _is_unnamed(table: Table) -> bool:
    """Whether the columns of a table have no names of their own: those of arrays and AnnData."""
    return table.adata is not None or isinstance(table.data.columns, pd.RangeIndex)


def _as_it_is(names: Sequence[str], columns: Columns, n_rows: int) -> TablePlan:
    """All columns as the numbers they are."""
    scale = "standard" if columns.standardize else columns.scale
    return TablePlan(
        tuple(ColumnPlan(str(name), "number", "number", said=True) for name in names),
        scale="none" if scale == "auto" else scale,
        missing=columns.missing_rule() or "auto",
        na=columns.missing_texts(),
        n_rows=n_rows,
    )


def _given(columns: Columns, frame: pd.DataFrame, told: str) -> TablePlan:
    """The plan of a file that was edited, perhaps."""
    assert columns.plan is not None
    try:
        plan = TablePlan.from_json(json.loads(Path(columns.plan).read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"--plan {columns.plan} cannot be used: {error}") from error
    have = set(frame.columns)
    lost = [c.name for c in plan.columns if c.use != "aside" and c.name not in have]
    if lost:
        raise ValueError(f"{told} lacks columns of --plan {columns.plan}: {listed(lost)}.")
    if not plan.used:
        raise ValueError(f"--plan {columns.plan} uses no column; set the use of some to number.")
    rows = tuple((at, why) for at, why in plan.rows if at < len(frame))
    fixed = [_with_values(c, frame, plan) if c.use == "category" else c for c in plan.columns]
    return replace(plan, columns=tuple(fixed), rows=rows)


def _with_values(column: ColumnPlan, frame: pd.DataFrame, plan: TablePlan) -> ColumnPlan:
    """A category with its values, where the plan does not list them."""
    if column.levels:
        return column
    return replace(
        column,
        levels=tuple(
            sorted(known_texts(frame[column.name], plan.na, words=True).dropna().unique())
        ),
    )


def _for_new_rows(plan: TablePlan, frame: pd.DataFrame, columns: Columns, told: str) -> TablePlan:
    """The plan of a model for a table that it shall judge; other columns stay aside."""
    choice = columns.choice(list(frame.columns))
    given = {"id": [] if choice["id"] is None else [choice["id"]], "drop": choice["drop"]}
    check_there(list(frame.columns), told, **given)
    have = set(frame.columns) - set(choice["drop"])
    missing = [column.name for column in plan.used if column.name not in have]
    if missing:
        raise ValueError(
            f"{told} lacks columns that the model was fitted on: {listed(missing)}. Give them "
            "their names."
        )
    asked = [column.name for column in plan.used if column.name in given["id"]]
    if asked:
        raise ValueError(f"--id {asked[0]}: the model was fitted on this column; name another.")
    names = [column for column in plan.columns if column.use != "id"]
    id = choice["id"] or (plan.id if plan.id in have and frame[plan.id].is_unique else None)
    if id is not None:
        names = [c for c in names if c.name != id] + [ColumnPlan(id, "id", "id", said=True)]
    return replace(plan, columns=tuple(names), missing=columns.missing_rule() or plan.missing)


def _of_model(
    frame: pd.DataFrame,
    columns: Columns,
    told: str,
    known: Sequence[str] | None,
    fitted: Preparation | None,
) -> TablePlan:
    """A plan for a model that the library saved: its columns, as the numbers they are."""
    choice = columns.choice(list(frame.columns))
    given = {"id": [] if choice["id"] is None else [choice["id"]], "drop": choice["drop"]}
    check_there(list(frame.columns), told, **given)
    apart = {*given["id"], *given["drop"]}
    left = [name for name in frame.columns if name not in apart]
    if known is not None:
        missing = [str(name) for name in known if str(name) not in left]
        if missing:
            raise ValueError(
                f"{told} lacks columns that the model was fitted on: {listed(missing)}. Give them "
                "their names."
            )
        left = [str(name) for name in known]
    _check_numbers(frame[left], told)
    plans = [ColumnPlan(name, "number", "number", said=True) for name in left]
    plans += [ColumnPlan(name, "id", "id", said=True) for name in given["id"]]
    kept = fitted is not None and fitted.impute
    rule = columns.missing_rule() or ("mean" if kept else "auto")
    return TablePlan(tuple(plans), missing=rule, n_rows=len(frame))


def _check_numbers(frame: pd.DataFrame, told: str) -> None:
    text = [
        f"{name} ({str(frame[name].dropna().iloc[0])!r})"
        for name in frame
        if not pd.api.types.is_numeric_dtype(frame[name].dtype) and not frame[name].isna().all()
    ]
    if text:
        raise ValueError(
            f"{told} has columns that are not numbers: {listed(text)}. Leave them out with --drop, "
            "or name the rows by one with --id."
        )


# Rows


def spread(table: pd.DataFrame, points: Points, *, only_scores: bool = False) -> pd.DataFrame:
    """A table of the used rows as one of all rows: the original columns first, or the names alone;
    rows that were left out are empty, with the reason.
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


def _sparse_points(table: Table, columns: Columns) -> Points:
    given: dict[str, Any] = {
        "--id": columns.id,
        "--use": columns.use,
        "--drop": columns.drop,
        "--keep": columns.keep,
        "--impute": columns.impute,
        "--plan": columns.plan,
    }
    given |= {
        "--drop-missing": columns.drop_missing,
        "--standardize": columns.standardize,
        "--scale": columns.scale not in ("auto", "none"),
    }
    refused = [option for option, value in given.items() if value]
    if refused:
        raise ValueError(
            "A sparse matrix has no named columns and stays sparse; leave out "
            f"{', '.join(refused)}."
        )
    n = table.data.shape[0]
    ids = _carried(table)
    return Points(table.data, table.data, ids, np.ones(n, dtype=bool), None, table.adata)


def _ids(table: Table, frame: pd.DataFrame, plan: TablePlan) -> pd.Index:
    """What names the rows: the column of the plan, else what the file carries, else positions."""
    if plan.id is None or (table.names is not None and not _said(plan)):
        return _carried(table)
    return pd.Index(frame[plan.id], name=plan.id)


def _said(plan: TablePlan) -> bool:
    return any(column.use == "id" and column.said for column in plan.columns)


def check_free(name: Any, told: str) -> None:
    """Raise where rows are named by a column that has the name of a result."""
    if name in COLUMNS:
        raise ValueError(
            f"The column {name!r} of {told} has the name of a result; rename it to use it as --id."
        )


def _carried(table: Table) -> pd.Index:
    if table.names is None:
        return pd.RangeIndex(table.data.shape[0], name=ROW)
    return table.names.rename(str(table.names.name or "id"))
