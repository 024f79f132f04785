"""A file → points: which columns are features, what names the rows, what happens to missing values."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clustertrust._validation import check_whole_numbers
from clustertrust.cli.options import Columns
from clustertrust.files.delimited import is_number
from clustertrust.files.tables import Reading, Table, read_table

__all__ = ["Points", "Preparation", "read_file", "read_points", "spread"]

ROW = "row"  # what rows are called where nothing names them
RESULTS = (  # columns that are written
    *("label", "score", "standard_error", "stability", "geometry", "persistence"),
    *("silhouette_mean", "silhouette_std", "consensus_strength", "rival", "margin", "reason"),
)


@dataclass(frozen=True)
class Preparation:
    """What was done to the columns before the fit, to be done to new rows as well.

    Attributes
    ----------
    means : (d,) means of the columns over the known values
    scales : (d,) their standard deviations where columns were standardised, else None
    impute : whether missing values become the means
    """

    means: NDArray[np.float64]
    scales: NDArray[np.float64] | None
    impute: bool

    def scale(self, X: Any) -> Any:
        """Values as they were clustered."""
        return X if self.scales is None else (X - self.means) / self.scales

    def to_json(self) -> dict[str, Any]:
        """What a model's file keeps."""
        scales = None if self.scales is None else self.scales.tolist()
        return {"means": self.means.tolist(), "scales": scales, "impute": self.impute}

    @classmethod
    def from_json(cls, kept: Any) -> Preparation | None:
        """What a model's file kept; None where it was saved without."""
        if kept is None:
            return None
        scales = None if kept["scales"] is None else np.array(kept["scales"])
        return cls(np.array(kept["means"]), scales, kept["impute"])


@dataclass(frozen=True)
class Points:
    """The points of a file.

    Attributes
    ----------
    X : frame or CSR array of the rows that are used, as they are clustered
    unscaled : the same as the file has them: filled in, but not standardised
    ids : names of all rows of the file, in its order
    kept : (rows,) which of them are used
    preparation : what happened to the columns; None for sparse data
    adata : the AnnData object, where the file is one
    """

    X: Any
    unscaled: Any
    ids: pd.Index
    kept: NDArray[np.bool_]
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
    reserved: Sequence[str] = (),
) -> Points:
    """Read points; `known` and `fitted` are the features and the preparation of a model that shall judge them."""
    table = read_file(path, columns)
    told = "The input" if path == "-" else path
    if table.data.shape[0] == 0:
        raise ValueError(f"{told} has column names but no rows.")
    if sparse.issparse(table.data):
        if fitted is not None and fitted.scales is not None:
            raise ValueError(f"{told} is a sparse matrix, and the model standardises columns; give a dense table.")
        return _sparse_points(table, columns, standardize)
    if table.names is not None and columns.id == table.names.name and columns.id not in table.data:
        columns = replace(columns, id=None)  # the index that a file of pandas' carries names the rows anyway
    ids = _ids(table, columns, told, reserved)
    frame = _features(table.data, columns, told) if known is None else _known(table.data, columns, told, known)
    try:
        check_whole_numbers(frame)
    except ValueError as error:
        raise ValueError(f"{told}: {error}") from error
    frame = _numbers(frame, told)
    values = frame.to_numpy()
    if fitted is not None and values.shape[1] != len(fitted.means):
        raise ValueError(f"{told} has {values.shape[1]} columns to use; the model was fitted on {len(fitted.means)}.")
    finite = np.isfinite(values)
    preparation = fitted or _prepare(frame, finite, standardize, columns.impute is not None)
    kept = finite.all(axis=1)
    if not kept.all():
        if columns.impute is not None or (preparation.impute and not columns.drop_missing):
            values = np.where(finite, values, preparation.means.astype(values.dtype))
            kept[:] = True
        elif columns.drop_missing:
            values = values[kept]
        else:
            raise ValueError(_told_missing(told, list(frame.columns), finite))
    if not kept.any():
        raise ValueError(f"{told} has no row without missing values; try --impute mean, or --drop columns.")
    filled = pd.DataFrame(values, index=ids[kept], columns=frame.columns)
    return Points(preparation.scale(filled), filled, ids, kept, preparation, table.adata)


def spread(table: pd.DataFrame, points: Points) -> pd.DataFrame:
    """A table of the used rows as one of all rows: names first, the rows that were left out empty and unassigned."""
    if not points.kept.all():
        whole = {name: "Int64" for name in table if pd.api.types.is_integer_dtype(table[name].dtype)}
        table = table.astype(whole).set_axis(np.flatnonzero(points.kept), axis=0).reindex(range(len(points.kept)))
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
        raise ValueError(f"A sparse matrix has no named columns and stays sparse; leave out {', '.join(refused)}.")
    n = table.data.shape[0]
    ids = _carried(table)
    return Points(table.data, table.data, ids, np.ones(n, dtype=bool), None, table.adata)


def _ids(table: Table, columns: Columns, told: str, reserved: Sequence[str]) -> pd.Index:
    """What names the rows: the column asked for, else what the file carries, else positions from 0."""
    if columns.id is not None:
        found = _match(table.data, [columns.id], "--id", told)
        if len(found) > 1:
            raise ValueError(f"--id {columns.id} names {len(found)} columns; one names the rows, leave out the others.")
        (name,) = found
        ids = pd.Index(table.data[name], name=str(name))
    else:
        ids = _carried(table)
    if ids.name in reserved:
        raise ValueError(f"The column {ids.name!r} of {told} has the name of a result; rename it to use it as --id.")
    return ids


def _carried(table: Table) -> pd.Index:
    if table.names is None:
        return pd.RangeIndex(table.data.shape[0], name=ROW)
    return table.names.rename(str(table.names.name or "id"))


def _match(frame: pd.DataFrame, given: Sequence[str], option: str, told: str) -> list[Any]:
    """Columns by the names that were typed: one name, or several with commas between."""
    known = {str(name): name for name in frame.columns}
    found = []
    for text in given:
        for name in [text] if text in known else text.split(","):
            if name not in known:
                some = ", ".join(list(known)[:20]) + (", …" if len(known) > 20 else "")
                raise ValueError(f"{option} {name}: {told} has no such column; it has {some}.")
            found.append(known[name])
    return found


def _features(frame: pd.DataFrame, columns: Columns, told: str) -> pd.DataFrame:
    """The columns to cluster."""
    apart = _match(frame, [columns.id] if columns.id is not None else [], "--id", told)
    drop = _match(frame, columns.drop, "--drop", told)
    use = _match(frame, columns.use, "--use", told)
    both = [name for name in use if name in drop or name in apart]
    if both:
        raise ValueError(f"The column {both[0]!r} is named by --use and left out by --drop or --id; decide for one.")
    unnamed = [name for name in frame.columns if str(name).startswith("Unnamed: ") and name not in [*apart, *drop]]
    if unnamed and not use:
        raise ValueError(
            f"{told} has a column without a name, {unnamed[0]!r}, often row numbers that a program added. Say what it "
            f"is: --drop '{unnamed[0]}', --id '{unnamed[0]}', or list the columns to use with --use."
        )
    chosen = use or [name for name in frame.columns if name not in [*apart, *drop]]
    if not chosen:
        raise ValueError(f"{told} has no column left to cluster; name fewer with --drop and --id.")
    return frame[list(dict.fromkeys(chosen))]


def _known(frame: pd.DataFrame, columns: Columns, told: str, known: Sequence[str]) -> pd.DataFrame:
    """The columns that a model knows, in its order; nothing may be missing or left over."""
    apart = _match(frame, [columns.id] if columns.id is not None else [], "--id", told)
    apart += _match(frame, columns.drop, "--drop", told)
    left = dict.fromkeys(name for name in frame.columns if name not in apart)  # known by a glance, also 10⁵ of them
    missing = [name for name in known if name not in left]
    if missing:
        raise ValueError(
            f"{told} lacks columns that the model was fitted on: {_listed(missing)}. Give them their names."
        )
    surplus = [name for name in left if name not in set(known)]
    if surplus:
        raise ValueError(
            f"{told} has columns that the model was not fitted on: {_listed(surplus)}. Leave them out with --drop, or "
            "name the rows by one with --id."
        )
    return frame[list(known)]


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _numbers(frame: pd.DataFrame, told: str) -> pd.DataFrame:
    """The columns as floats; text is an error that says where."""
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
            f"{told} has columns that are not numbers: {_listed(text)}. Name the one that identifies rows with --id, "
            "leave others out with --drop, or list the columns to use with --use."
            + (" Numbers need a decimal point: 1.5, not 1,5." if commas else "")
        )
    single = all(dtype == np.float32 for dtype in frame.dtypes)
    values = frame.to_numpy(np.float32 if single else np.float64, na_value=np.nan)
    return pd.DataFrame(values, columns=frame.columns)


def _is_finite(text: str) -> bool:
    """Whether a text is a number. pandas.to_numeric dies of 1e99999999999."""
    return is_number(text) and bool(np.isfinite(float(text)))


def _prepare(frame: pd.DataFrame, finite: NDArray[np.bool_], standardize: bool, impute: bool) -> Preparation:
    """Means and spreads over the values that will be clustered."""
    values = np.where(finite, frame.to_numpy(np.float64), np.nan)
    if not impute:
        values = values[finite.all(axis=1)]
    counts = np.isfinite(values).sum(axis=0)
    empty = [name for name, count in zip(frame.columns, counts, strict=True) if count == 0]
    if impute and empty:
        raise ValueError(f"The column {str(empty[0])!r} has no known value and so no mean; leave it out with --drop.")
    means = np.nansum(values, axis=0) / np.maximum(counts, 1)
    scales = None
    if standardize:
        filled = np.where(np.isfinite(values), values, means)
        scales = np.sqrt(((filled - means) ** 2).mean(axis=0)) if len(filled) else np.ones(len(means))
        # A column of equal values stays; its spread may be a rounding error of its mean.
        scales[scales <= 1e-12 * np.abs(means)] = 1.0
    return Preparation(means, scales, impute)


def _told_missing(told: str, names: Sequence[Any], finite: NDArray[np.bool_]) -> str:
    counts = [f"{name} {count}" for name, count in zip(names, (~finite).sum(axis=0), strict=True) if count]
    rows = int((~finite.all(axis=1)).sum())
    return (
        f"{told} has missing or infinite values in {rows} of {len(finite)} rows, by column: {_listed(counts)}. Choose "
        "--impute mean (the column's mean in their place) or --drop-missing (such rows get no score)."
    )
