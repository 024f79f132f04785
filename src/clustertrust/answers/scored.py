"""A fitted CAKE, its results, or their table → one record that answers are joined to."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_flat, check_scores
from clustertrust._validation.frames import is_dask
from clustertrust._validation.labels import with_nothing
from clustertrust._validation.points import check_matrix
from clustertrust._validation.rows import check_same_length
from clustertrust.ensemble.record import plain_names
from clustertrust.records import Record, check_fields
from clustertrust.results import Confidence

# Components of a score: the column, and whether it is a share whose logit is taken.
COMPONENTS = {
    "stability": True,
    "silhouette_mean": False,
    "silhouette_std": False,
    "persistence": True,
    "second_opinions": True,
    "margin": False,
}

# Code of a value that is no cluster
UNKNOWN = -2
# The decimals of an integer
_ZEROS = re.compile(r"(?<=\d)\.0*$")


@dataclass(frozen=True)
class Scored(Record):
    """Scored points.

    Attributes
    ----------
    columns : "label" and "rival" as codes from 0, -1: none; "score" and its components
    names : (k,) name of each code
    index : names of the rows
    X : (n, d) the points; None where they are not known
    """

    columns: dict[str, Array]
    names: Annotated[Array, "iufbUM k"]
    index: Annotated[pd.Index, "U n"]
    X: Floats | None = None

    def _to_stored(self) -> dict[str, Any]:
        """Return its fields without the points; names of rows are text."""
        index = np.array([str(name) for name in self.index], dtype=str)
        names = plain_names(self.names)
        return super()._to_stored() | {"names": names, "index": index, "X": None}

    def _from_stored(self) -> Self:
        """Return it with its index; raise if its columns do not go together."""
        kinds = {name: "i" if name in ("label", "rival") else "f" for name in self.columns}
        wanted = {name: f"{kind} n" for name, kind in kinds.items()}
        check_fields("columns", self.columns, {"label": "i n", "score": "f n"} | wanted)
        check_same_length("index", self.index, "label", self.labels)
        if self.labels.max(initial=-1) >= len(self.names):
            raise ValueError("its labels are of clusters that it does not have")
        return replace(self, index=pd.Index(self.index))

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

    def named(self, codes: Ints) -> Array:
        """Return the names of clusters; -1 is -1 for numbers and None for other names."""
        return with_nothing(self.names)[codes]

    def codes_of(self, values: Any, name: str) -> Ints:
        """Return the codes of clusters by name, -1 where the value is missing."""
        clusters = np.asarray(values, dtype=object)
        check_flat(name, clusters, "clusters")
        codes = self.find_codes(clusters)
        unknown = np.flatnonzero(codes == UNKNOWN)
        if unknown.size:
            i = unknown[0]
            raise ValueError(
                f"{name} has {clusters[i]!r} at position {i}, which is not a cluster; clusters are "
                f"{_listed(self.names.tolist())}."
            )
        return codes

    def find_codes(self, values: Any) -> Ints:
        """Return the codes of clusters by name, -1 where one is missing, `UNKNOWN` if it is none.

        Text may be written otherwise than the name: " 1" or "1.0", which spreadsheets and pandas
        make of integers in a column with empty cells.
        """
        clusters = np.asarray(values, dtype=object)
        by_name = {cluster: code for code, cluster in enumerate(self.names.tolist())}
        by_text = {str(cluster): code for cluster, code in by_name.items()}
        out = np.full(len(clusters), -1)
        for i in np.flatnonzero(~np.asarray(pd.isna(clusters), dtype=bool)):
            text = str(clusters[i]).strip()
            code = by_name.get(clusters[i], by_text.get(text, by_text.get(_ZEROS.sub("", text))))
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
        confidence = source
    elif hasattr(source, "confidence_") or hasattr(source, "fit"):
        check_is_fitted(source)
        confidence = source.confidence_
        own = getattr(source, "X_fit_", None)
        if X is None and own is not None and getattr(source, "metric", "") != "precomputed":
            # Where it is shorter, it is a sample of the points.
            X = own if own.shape[0] == len(confidence.scores) else None
    else:
        raise TypeError(
            f"{type(source).__name__} is not a result: give a fitted CAKE, its confidence_, an "
            "Audit, or a table with the columns label and score."
        )
    whole = confidence.compute()
    columns = {"label": whole.labels, "rival": whole.rival, "score": whole.scores}
    parts = {name: getattr(whole, name) for name in COMPONENTS}
    columns |= {name: part for name, part in parts.items() if part is not None}
    return Scored(columns, whole.label_names, whole.row_names(), _points(X, whole.scores))


def _of_table(table: pd.DataFrame, X: Any) -> Scored:
    """Read a table with the columns of `to_frame`."""
    missing = [name for name in ("label", "score") if name not in table]
    if missing:
        raise ValueError(
            f"The table has no column {missing[0]!r}; give what to_frame() or the command "
            "`clustertrust score` wrote."
        )
    clusters = table["label"].dropna()
    if pd.api.types.is_float_dtype(clusters.dtype) and (clusters == clusters.round()).all():
        # Integers in a column with empty cells
        clusters = clusters.astype(np.int64)
    if pd.api.types.is_numeric_dtype(clusters.dtype):
        clusters = clusters[clusters >= 0]
    names = np.array(sorted(set(clusters.tolist()), key=lambda name: (str(type(name)), name)))
    empty = Scored({}, names, table.index)
    columns: dict[str, Array] = {"score": check_scores(table["score"])}
    for name in ("label", "rival"):
        if name in table:
            # A rival that no point has as its label is none.
            columns[name] = np.maximum(empty.find_codes(table[name].tolist()), -1)
    columns |= {
        name: pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64)
        for name in COMPONENTS
        if name in table
    }
    return Scored(columns, names, table.index, _points(X, columns["score"]))


def _points(X: Any, scores: Floats) -> Floats | None:
    """Return points as an array; None for sparse ones, whose places are not used."""
    if X is None or sparse.issparse(X):
        return None
    if is_dask(X):
        raise TypeError("X must be in memory; give X.compute(), or leave it out.")
    values = np.asarray(check_matrix(X), dtype=np.float64)
    check_same_length("X", values, "scores", scores)
    return values


def _listed(names: list[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")
