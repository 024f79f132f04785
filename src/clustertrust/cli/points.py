"""A file → points: its feature columns, the names of its rows, its missing values."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Bools
from clustertrust._validation import check_whole_numbers
from clustertrust.cli.options import Columns
from clustertrust.cli.scaling import Preparation, measure, moments_of
from clustertrust.files import Reading, Table, read_table
from clustertrust.files.columns import check_there, choose_features, listed
from clustertrust.files.delimited import is_number
from clustertrust.results import COLUMNS

__all__ = ["ROW", "Points", "check_free", "on_all_rows", "read_file", "read_points"]

ROW = "row"  # name of the index, if nothing else names the rows


@dataclass(frozen=True)
class Points:
    """The points of a file.

    Attributes
    ----------
    X : frame or CSR array of the used rows, as they are clustered
    unscaled : the same rows as in the file: filled in, but not standardised
    ids : names of all rows of the file, in its order
    kept : (rows,) which of them are used
    preparation : what was done to the columns; None for sparse data
    adata : the AnnData object, if the file is one
    """

    X: Any
    unscaled: Any
    ids: pd.Index
    kept: Bools
    preparation: Preparation | None
    adata: Any = None


def read_file(path: str, columns: Columns) -> Table:
    """Read a file, or standard input (-)."""
    reading = Reading(
        text=() if columns.id is None else (columns.id,),
        separator="\t" if columns.separator == r"\t" else columns.separator,
        header=columns.header,
        array=columns.array,
        use_rep=columns.use_rep or Reading.use_rep,
    )
    if path == "-":
        return read_table(sys.stdin.buffer.read(), reading, format=columns.format or "csv")
    return read_table(path, reading, format=columns.format)


def read_points(
    path: str,
    columns: Columns,
    *,
    standardize: bool = False,
    known: Sequence[str] | None = None,
    fitted: Preparation | None = None,
    to_score: bool = False,
) -> Points:
    """Read points; `known` and `fitted` are features and preparation of the model to score them.

    `to_score`: results are written beside the names of the rows, so the column of names may not be
    called like a result.
    """
    table = read_file(path, columns)
    source_name = "The input" if path == "-" else path
    if table.data.shape[0] == 0:
        raise ValueError(f"{source_name} has column names but no rows.")
    if sparse.issparse(table.data):
        if fitted is not None and fitted.scales is not None:
            raise ValueError(
                f"{source_name} is a sparse matrix, and the model standardises columns; give a "
                "dense table."
            )
        return _sparse_points(table, columns, standardize)
    if table.names is not None and columns.id == table.names.name and columns.id not in table.data:
        columns = replace(columns, id=None)  # the index in a pandas file names the rows anyway
    frame = (
        _features(table.data, columns, source_name)
        if known is None
        else _known(table.data, columns, source_name, known)
    )
    ids = _ids(table, columns)
    if to_score:
        check_free(ids.name, source_name)
    try:
        check_whole_numbers(frame)
    except ValueError as error:
        raise ValueError(f"{source_name}: {error}") from error
    frame = _numbers(frame, source_name)
    values = frame.to_numpy()
    if fitted is not None and values.shape[1] != len(fitted.means):
        raise ValueError(
            f"{source_name} has {values.shape[1]} columns to use; the model was fitted on "
            f"{len(fitted.means)}."
        )
    finite = np.isfinite(values)
    kept = finite.all(axis=1)
    impute = columns.impute is not None or (
        fitted is not None and fitted.impute and not columns.drop_missing
    )
    if not impute and not columns.drop_missing and not kept.all():
        raise ValueError(_missing_text(source_name, list(frame.columns), finite))
    if not impute and not kept.any():
        raise ValueError(
            f"{source_name} has no row without missing values; try --impute mean, or --drop "
            "columns."
        )
    preparation = fitted
    if preparation is None:
        parts = [moments_of(values if impute else values[kept])]
        preparation = measure(parts, list(frame.columns), standardize=standardize, impute=impute)
    if not kept.all():
        values, kept = (
            (preparation.fill(values), np.ones_like(kept)) if impute else (values[kept], kept)
        )
    filled = pd.DataFrame(values, index=ids[kept], columns=frame.columns)
    return Points(preparation.scale(filled), filled, ids, kept, preparation, table.adata)


def on_all_rows(table: pd.DataFrame, points: Points) -> pd.DataFrame:
    """Extend a table of the used rows to all rows: names first, empty where rows were left out."""
    if not points.kept.all():
        whole = {
            name: "Int64" for name in table if pd.api.types.is_integer_dtype(table[name].dtype)
        }
        table = (
            table.astype(whole)
            .set_axis(np.flatnonzero(points.kept), axis=0)
            .reindex(range(len(points.kept)))
        )
        table["reason"] = table["reason"].fillna("unassigned")
    table = table.reset_index(drop=True)
    table.insert(0, str(points.ids.name), points.ids.to_numpy())
    return table


def _sparse_points(table: Table, columns: Columns, standardize: bool) -> Points:
    given: dict[str, Any] = {
        "--id": columns.id,
        "--use": columns.use,
        "--drop": columns.drop,
        "--impute": columns.impute,
    }
    given |= {"--drop-missing": columns.drop_missing, "--standardize": standardize}
    refused = [option for option, value in given.items() if value]
    if refused:
        raise ValueError(
            "A sparse matrix has no named columns and stays sparse; leave out "
            f"{', '.join(refused)}."
        )
    n = table.data.shape[0]
    ids = _carried(table)
    return Points(table.data, table.data, ids, np.ones(n, dtype=bool), None, table.adata)


def _ids(table: Table, columns: Columns) -> pd.Index:
    """Return row names: the column asked for, else the file's own, else positions from 0."""
    if columns.id is None:
        return _carried(table)
    return pd.Index(table.data[_by_text(table.data)[columns.id]], name=columns.id)


def check_free(name: Any, source_name: str) -> None:
    """Raise if the column that names the rows is called like a result."""
    if name in COLUMNS:
        raise ValueError(
            f"The column {name!r} of {source_name} has the name of a result; rename it to use it "
            "as --id."
        )


def _by_text(frame: pd.DataFrame) -> dict[str, Any]:
    """Return columns by their names as text, as users type them."""
    return {str(name): name for name in frame.columns}


def _carried(table: Table) -> pd.Index:
    if table.names is None:
        return pd.RangeIndex(table.data.shape[0], name=ROW)
    return table.names.rename(str(table.names.name or "id"))


def _features(frame: pd.DataFrame, columns: Columns, source_name: str) -> pd.DataFrame:
    """Return the columns to cluster."""
    named = _by_text(frame)
    chosen = choose_features(list(named), source_name, **columns.choice(list(named)))
    return frame[[named[name] for name in chosen]]


def _known(
    frame: pd.DataFrame, columns: Columns, source_name: str, known: Sequence[str]
) -> pd.DataFrame:
    """Return the columns that a model knows, in its order; raise if some are missing or extra."""
    named = _by_text(frame)
    choice = columns.choice(list(named))
    given = {"id": [] if choice["id"] is None else [choice["id"]], "drop": choice["drop"]}
    check_there(list(named), source_name, **given)
    apart = {named[name] for name in (*given["id"], *given["drop"])}
    left = dict.fromkeys(
        name for name in frame.columns if name not in apart
    )  # a dict, for fast lookup of 10⁵ columns
    missing = [name for name in known if name not in left]
    if missing:
        raise ValueError(
            f"{source_name} lacks columns that the model was fitted on: {listed(missing)}. Give "
            "them their names."
        )
    surplus = [name for name in left if name not in set(known)]
    if surplus:
        raise ValueError(
            f"{source_name} has columns that the model was not fitted on: {listed(surplus)}. Leave "
            "them out with --drop, or name the rows by one with --id."
        )
    return frame[list(known)]


def _numbers(frame: pd.DataFrame, source_name: str) -> pd.DataFrame:
    """Return the columns as floats; raise for text, with its place."""
    text = []
    for name in frame.columns:
        column = frame[name]
        if not pd.api.types.is_numeric_dtype(column.dtype) and not column.isna().all():
            known = column.dropna()
            odd = next((value for value in known if not _is_finite(str(value))), known.iloc[0])
            text.append(f"{name} ({str(odd)!r})")
        elif pd.api.types.is_complex_dtype(column.dtype):
            text.append(f"{name} (complex)")
    if text:
        commas = any(re.search(r"\('-?\d+,\d+'\)$", shown) for shown in text)
        raise ValueError(
            f"{source_name} has columns that are not numbers: {listed(text)}. Name the one that "
            "identifies rows with --id, leave others out with --drop, or list the columns to use "
            "with --use." + (" Numbers need a decimal point: 1.5, not 1,5." if commas else "")
        )
    single = all(dtype == np.float32 for dtype in frame.dtypes)
    values = frame.to_numpy(np.float32 if single else np.float64, na_value=np.nan)
    return pd.DataFrame(values, columns=frame.columns)


def _is_finite(text: str) -> bool:
    """Return whether a text is a number. pandas.to_numeric crashes on 1e99999999999."""
    return is_number(text) and bool(np.isfinite(float(text)))


def _missing_text(source_name: str, names: Sequence[Any], finite: Bools) -> str:
    counts = [
        f"{name} {count}" for name, count in zip(names, (~finite).sum(axis=0), strict=True) if count
    ]
    rows = int((~finite.all(axis=1)).sum())
    return (
        f"{source_name} has missing or infinite values in {rows} of {len(finite)} rows, by column: "
        f"{listed(counts)}. Choose --impute mean (replace them by the column's mean) or "
        "--drop-missing (such rows get no score)."
    )
