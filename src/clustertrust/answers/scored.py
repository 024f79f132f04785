"""A fitted CAKE, its results, or their table → one record that answers are put beside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from clustertrust._types import Floats, Ints
from clustertrust._validation import check_matrix, check_scores, is_dask, with_nothing
from clustertrust.answers.features import COMPONENTS
from clustertrust.results import Confidence

__all__ = ["UNKNOWN", "Scored", "scored"]

UNKNOWN = -2  # code of a value that is no cluster
_ZEROS = re.compile(r"(?<=\d)\.0*$")  # the decimals of a whole number


@dataclass(frozen=True)
class Scored:
    """Scored points.

    Attributes
    ----------
    columns : "label" and "rival" as codes from 0, -1: none; "score" and its components
    names : (k,) name of each code
    index : names of the rows
    X : (n, d) the points; None where they are not known
    """

    columns: dict[str, NDArray]
    names: NDArray
    index: pd.Index
    X: Floats | None = None

    @property
    def labels(self) -> Ints:
        """(n,) cluster of each point as a code, -1: none."""
        return self.columns["label"]

    @property
    def scores(self) -> Floats:
        """(n,) scores before any answer, NaN: none."""
        return self.columns["score"]

    def __len__(self) -> int:
        return len(self.columns["score"])

    def named(self, codes: Ints) -> NDArray:
        """Return the names of clusters; -1 is -1 for numbers and None for other names."""
        return with_nothing(self.names)[codes]

    def codes_of(self, values: Any, name: str) -> Ints:
        """Return the codes of clusters by name, -1 where the value is missing."""
        given = np.asarray(values, dtype=object)
        if given.ndim != 1:
            raise ValueError(f"{name} must be one flat sequence of clusters; {given.shape}.")
        codes = self.find_codes(given)
        unknown = np.flatnonzero(codes == UNKNOWN)
        if unknown.size:
            i = unknown[0]
            raise ValueError(
                f"{name} has {given[i]!r} at position {i}, which is not a cluster; clusters are "
                f"{_listed(self.names.tolist())}."
            )
        return codes

    def find_codes(self, values: Any) -> Ints:
        """Return the codes of clusters by name, -1 where one is missing, `UNKNOWN` if it is none.

        Text may be written otherwise than the name: " 1" or "1.0", which spreadsheets and pandas
        make of whole numbers in a column with empty cells.
        """
        given = np.asarray(values, dtype=object)
        known = {cluster: code for code, cluster in enumerate(self.names.tolist())}
        by_text = {str(cluster): code for cluster, code in known.items()}
        out = np.full(len(given), -1)
        for i in np.flatnonzero(~np.asarray(pd.isna(given), dtype=bool)):
            value = given[i]
            text = str(value).strip()
            short = text[: -len(found[0])] if (found := _ZEROS.search(text)) else text
            code = known[value] if value in known else by_text.get(text, by_text.get(short))
            out[i] = UNKNOWN if code is None else code
        return out


def scored(source: Any, X: Any = None) -> Scored:
    """Return the record of a fitted CAKE, a Confidence or Audit, or a table like theirs.

    `X` are the points, if they are to be used; a CAKE knows its own.
    """
    if isinstance(source, Scored):
        return source
    if isinstance(source, pd.DataFrame):
        return _of_table(source, X)
    if isinstance(source, Confidence):
        found = source
    elif hasattr(source, "confidence_") or hasattr(source, "fit"):
        check_is_fitted(source)
        found = source.confidence_
        own = getattr(source, "X_fit_", None)
        if X is None and own is not None and getattr(source, "metric", "") != "precomputed":
            X = own if own.shape[0] == len(found.scores) else None  # else it is a sample of them
    else:
        raise TypeError(
            f"{type(source).__name__} is not a result: give a fitted CAKE, its confidence_, an "
            "Audit, or a table with the columns label and score."
        )
    found = found.compute()
    columns = {"label": found.labels, "rival": found.rival, "score": found.scores}
    parts = {name: getattr(found, name) for name in COMPONENTS}
    columns |= {name: part for name, part in parts.items() if part is not None}
    return Scored(columns, found.label_names, found.row_names(), _points(X, len(found.scores)))


def _of_table(table: pd.DataFrame, X: Any) -> Scored:
    """Read a table with the columns of `to_frame`."""
    missing = [name for name in ("label", "score") if name not in table]
    if missing:
        raise ValueError(
            f"The table has no column {missing[0]!r}; give what to_frame() or the command "
            "`clustertrust score` wrote."
        )
    named = table["label"]
    given = named.dropna()
    if pd.api.types.is_float_dtype(named.dtype) and (given == given.round()).all():
        named = named.astype("Int64")  # whole numbers beside empty cells
    assigned = named.notna().to_numpy()
    if pd.api.types.is_numeric_dtype(named.dtype):
        assigned = assigned & (named.fillna(-1) >= 0).to_numpy()  # pandas' arrays are read-only
    names = np.array(
        sorted(set(named[assigned].tolist()), key=lambda name: (str(type(name)), name))
    )
    empty = Scored({}, names, table.index)
    labels = np.full(len(table), -1)
    labels[assigned] = empty.codes_of(named[assigned].tolist(), "label")
    columns: dict[str, NDArray] = {"label": labels, "score": check_scores(table["score"])}
    if "rival" in table:
        columns["rival"] = _rivals(table["rival"], names)
    columns |= {
        name: pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64)
        for name in COMPONENTS
        if name in table
    }
    return Scored(columns, names, table.index, _points(X, len(table)))


def _rivals(rivals: pd.Series, names: NDArray) -> Ints:
    """Return codes of rivals; one that no point has as its label is none."""
    known = {str(name): code for code, name in enumerate(names.tolist())}
    if pd.api.types.is_float_dtype(rivals.dtype):
        rivals = rivals.astype("Int64")
    return np.array([known.get(str(rival), -1) for rival in rivals.tolist()], dtype=np.int64)


def _points(X: Any, n: int) -> Floats | None:
    """Return points as an array; None for sparse ones, whose places are not used."""
    if X is None or sparse.issparse(X):
        return None
    if is_dask(X):
        raise TypeError("X must be in memory; give X.compute(), or leave it out.")
    values = np.asarray(check_matrix(X), dtype=np.float64)
    if len(values) != n:
        raise ValueError(
            f"X has {len(values)} points and there are {n} scores; both must describe the same "
            "points."
        )
    return values


def _listed(names: list[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
