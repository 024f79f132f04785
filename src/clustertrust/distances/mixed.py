"""Tables of numbers and categories, encoded for Gower's distance.

Gower's distance of two rows is the mean, over the columns that both have, of |a - b| / range for
numbers and of 0 or 1 for categories, the same or not. Here numbers are divided by their range and
categories numbered 0, 1, …: both are then min(1, |a - b|), so one plain matrix holds any table, NaN
where a value is missing.

References
----------
J. C. Gower: A general coefficient of similarity and some of its properties. Biometrics 27 (1971)
857-871. https://doi.org/10.2307/2528823
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import validate_data

from clustertrust._errors import ParameterError
from clustertrust._types import Array, Floats
from clustertrust._validation.frames import is_frame

# The code of a category that the training data do not have: at least 1 from all.
UNSEEN = -1.0


@dataclass(frozen=True)
class MixedColumns:
    """How the columns of a table are encoded.

    Attributes
    ----------
    names : of the columns; positions for arrays
    lowest, ranges : (d,) of numbers in the training data; 0 for categories
    categories : for each column the values of its categories by code, None for numbers
    """

    names: tuple[Any, ...]
    lowest: Floats
    ranges: Floats
    categories: tuple[tuple[Any, ...] | None, ...]

    @classmethod
    def from_table(cls, X: Any, categorical: Sequence[Any] | None = None) -> MixedColumns:
        """Read the columns of a table; those in `categorical` are always categories."""
        names, columns = read_columns(X)
        forced = _check_categorical(categorical, names)
        lowest, ranges = np.zeros(len(names)), np.zeros(len(names))
        categories: list[tuple[Any, ...] | None] = []
        for j, (name, column) in enumerate(zip(names, columns, strict=True)):
            if name in forced or is_category(name, column):
                categories.append(tuple(_plain(value) for value in pd.unique(column.dropna())))
                continue
            categories.append(None)
            values = _numbers(name, column)
            present = values[~np.isnan(values)]
            if present.size:
                lowest[j], ranges[j] = present.min(), present.max() - present.min()
        return cls(tuple(names), lowest, ranges, tuple(categories))

    def encode(self, X: Any) -> Floats:
        """Return rows as numbers (n, d), NaN where a value is missing."""
        names, columns = read_columns(X)
        if len(names) != len(self.names):
            raise ValueError(f"X has {len(names)} columns; the fit had {len(self.names)}.")
        if is_frame(X) and tuple(names) != self.names:
            raise ValueError(
                f"X has columns {names}; the fit had {list(self.names)}, in this order."
            )
        out = np.empty((len(columns[0]) if columns else 0, len(names)))
        for j, (column, categories) in enumerate(zip(columns, self.categories, strict=True)):
            if categories is None:
                values, scale = _numbers(self.names[j], column), self.ranges[j]
                out[:, j] = (values - self.lowest[j]) / scale if scale > 0 else values * 0.0
            else:
                codes = {value: float(code) for code, value in enumerate(categories)}
                missing = column.isna().to_numpy()
                out[:, j] = [
                    np.nan if gone else codes.get(_plain(value), UNSEEN)
                    for value, gone in zip(column.tolist(), missing, strict=True)
                ]
        empty = np.flatnonzero(np.isnan(out).all(axis=1))
        if empty.size:
            raise ValueError(
                f"X has {empty.size} row(s) without any value; the first is row {empty[0]}. Drop "
                "them: they have no distance to others."
            )
        return out

    def to_json(self) -> dict[str, Any]:
        """Return the columns as plain values."""
        return {
            "names": [_storable(name) for name in self.names],
            "lowest": self.lowest.tolist(),
            "ranges": self.ranges.tolist(),
            "categories": [
                None if values is None else [_storable(value) for value in values]
                for values in self.categories
            ],
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> MixedColumns:
        """Put together what `to_json` wrote; raise if its parts do not fit."""
        lowest, ranges = (np.array(stored[name], dtype=float) for name in ("lowest", "ranges"))
        names, categories = tuple(stored["names"]), stored["categories"]
        shape = (len(names),)
        if not lowest.shape == ranges.shape == (len(categories),) == shape:
            raise ValueError("its columns have different numbers of names, ranges and categories")
        if not (np.isfinite(lowest) & np.isfinite(ranges) & (ranges >= 0)).all():
            raise ValueError("its columns have ranges that are not finite or below 0")
        values_by_column = tuple(None if values is None else tuple(values) for values in categories)
        return cls(names, lowest, ranges, values_by_column)


def read_columns(X: Any) -> tuple[list[Any], list[pd.Series]]:
    """Return the names of the columns of a table and the columns themselves."""
    if sparse.issparse(X):
        raise ParameterError("metric", "gower", "needs dense data or a frame", "use X.toarray()")
    names: list[Any]
    if isinstance(X, pd.DataFrame):
        names = list(X.columns)
        columns = [X.iloc[:, j] for j in range(X.shape[1])]
    elif is_frame(X):  # polars
        names = list(X.columns)
        columns = [_from_polars(column) for column in X]
    else:
        table = np.asarray(X, dtype=object if isinstance(X, list | tuple) else None)
        if table.ndim != 2:
            raise ValueError(
                f"X has shape {table.shape}; give a table: a frame or an (n, d) array."
            )
        names = list(range(table.shape[1]))
        columns = [pd.Series(column).infer_objects() for column in table.T]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"X has more than one column named {next(iter(twice))!r}; rename them.")
    if not names:
        raise ValueError("X has no columns.")
    return names, columns


def check_table(X: Any, estimator: Any, *, reset: bool = True) -> None:
    """Let an estimator learn the number and names of the columns, or compare them."""
    table = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    validate_data(estimator, table, reset=reset, skip_check_array=True)


def _from_polars(column: Any) -> pd.Series:
    kind = str(column.dtype).lower()
    if kind.startswith(("str", "utf8", "categor", "enum", "bool")):
        return pd.Series(column.to_list(), dtype=object)
    if kind.startswith(("date", "time", "duration")):
        return pd.Series(column.to_list(), dtype="datetime64[ns]")
    return pd.Series(column.to_list(), dtype=np.float64)


def is_category(name: Any, column: pd.Series) -> bool:
    """Return whether a column holds categories: text, categories or booleans."""
    if isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(column.dtype):
        return True
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        raise ValueError(
            f"X has dates in column {name!r}; make it a number (for example its year, or "
            ".astype('int64')) or leave it out."
        )
    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return kind not in {"integer", "floating", "mixed-integer-float", "decimal", "empty"}


def _numbers(name: Any, column: pd.Series) -> Floats:
    try:
        values = column.astype(object).where(column.notna(), np.nan).to_numpy(dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X has {error} in column {name!r}, which held numbers in the fit; give numbers there."
        ) from error
    if np.isinf(values).any():
        raise ValueError(f"X has infinite values in column {name!r}; make them missing or finite.")
    return np.asarray(values, dtype=np.float64)


def _check_categorical(categorical: Any, names: list[Any]) -> set[Any]:
    """Return the columns that are categories by request."""
    if categorical is None:
        return set()
    if isinstance(categorical, str) or not isinstance(categorical, Sequence | np.ndarray):
        raise TypeError(
            f"metric_params['categorical']={categorical!r} must be a list of columns of X."
        )
    unknown = [name for name in categorical if name not in names]
    if unknown:
        raise ValueError(
            f"metric_params['categorical'] names {unknown[0]!r}, which is not a column of X: "
            f"{names}."
        )
    return set(categorical)


def _plain(value: Any) -> Any:
    """Return a category as a plain value, so that 1 and numpy's 1 are the same."""
    return value.item() if isinstance(value, np.generic) else value


def _storable(value: Any) -> Any:
    if isinstance(value, str | bool | int | float):
        return value
    raise ValueError(
        f"This model cannot be stored: the category or column {value!r} is neither text nor a "
        "number. Convert it to text first."
    )


def as_mixed(X: Any, params: dict[str, Any] | None) -> tuple[MixedColumns, Array]:
    """Return how a table is encoded by the parameters of the metric, and the table encoded."""
    params = params or {}
    unknown = sorted(set(params) - {"categorical"})
    if unknown:
        raise ValueError(
            f"metric_params has {unknown[0]!r}, which metric='gower' does not take; it takes "
            "'categorical', a list of columns."
        )
    columns = MixedColumns.from_table(X, params.get("categorical"))
    return columns, columns.encode(X)
