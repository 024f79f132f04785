"""Frames of pandas, polars and Dask: what they are, and whether their columns are numbers."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Array

# How the names of types begin, in lower case, whose columns may hold something else than numbers.
MAYBE_TEXT = ("object", "str", "utf8", "categor", "enum", "date", "time", "duration", "period")

# Python converts no longer texts to numbers.
MOST_DIGITS = 4000


def named_columns(X: Any, names: Sequence[str] | Array) -> pd.DataFrame:
    """Return points, dense or sparse, as a frame with these columns."""
    if sparse.issparse(X):
        accessor: Any = pd.DataFrame.sparse
        X = accessor.from_spmatrix(sparse.csr_matrix(X))
    return pd.DataFrame(X).set_axis(list(names), axis=1)


def is_source(X: Any) -> bool:
    """Return whether X is a source of blocks; whoever has one has loaded its module."""
    module = sys.modules.get("clustertrust.files.sources")
    return module is not None and isinstance(X, module.Source)


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas or polars frame, without importing polars."""
    return _package(X) in {"pandas", "polars"} and type(X).__name__ == "DataFrame"


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or frame, without importing Dask."""
    return _package(X) in {"dask", "dask_expr"} and type(X).__name__ in {"Array", "DataFrame"}


def _package(X: Any) -> str:
    """Return the package that defines the type of X."""
    return type(X).__module__.split(".")[0]


def check_columns(X: Any, remedy: str = "") -> None:
    """Raise for columns of a frame that are not numbers or that share a name.

    `remedy` is what to do about text, where that is not to drop or to encode it.
    """
    if type(X).__name__ == "LazyFrame" and _package(X) == "polars":
        raise TypeError("X is a polars LazyFrame, which has no rows yet; give X.collect().")
    if type(X).__name__ == "AnnData" and _package(X) == "anndata":
        raise TypeError(
            "X is an AnnData object; give clustertrust.anndata.score the object, or a matrix of "
            "it, such as adata.obsm['X_pca']."
        )
    if not is_frame(X):
        return
    if not len(X.columns):
        raise ValueError("X has no columns; give at least one.")
    twice = [name for name, times in Counter(X.columns).items() if times > 1]
    if twice:
        raise ValueError(f"X has more than one column named {twice[0]!r}; rename them.")
    text = [str(name) for name, column in _columns_of(X, MAYBE_TEXT) if not _holds_numbers(column)]
    if text:
        index = "make them the index, " if isinstance(X, pd.DataFrame) else ""
        encode = (
            f"Drop them, {index}or encode them as numbers (clustertrust.TablePreparer, or "
            "sklearn.preprocessing.OneHotEncoder)."
        )
        raise ValueError(f"X has columns that are not numbers: {text}. {remedy or encode}")


def _columns_of(frame: Any, types: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Names and values of the columns of some types.

    Only those are taken out of the frame: it may have 100,000 columns, of one or two types.
    """
    wanted = {kind for kind in set(frame.dtypes) if str(kind).lower().startswith(types)}
    for j, (name, kind) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if kind in wanted:
            yield name, frame.iloc[:, j] if isinstance(frame, pd.DataFrame) else frame.to_series(j)


def _holds_numbers(column: Any) -> bool:
    kind = pd.api.types.infer_dtype(column.to_numpy(), skipna=True)
    return kind in {"integer", "floating", "mixed-integer-float", "boolean", "empty"}


def check_whole_numbers(X: Any, source_name: str = "") -> None:
    """Raise for integers that are no longer the same as floats: beyond 2**53 neighbours become
    one. The message begins with the name of the table.
    """
    where = f"{source_name}: " if source_name else ""
    for name, values in _whole_columns(X):
        lost = _first_lost(values) if values.dtype == object else _first_lost_of(values)
        if lost is not None:
            raise ValueError(
                f"{where}X has integers beyond 2**53 in column {name!r}, such as {lost}, which "
                "64-bit floats cannot distinguish from their neighbours. Subtract the column's "
                "smallest from it, or leave it out if it names the rows."
            )


def _first_lost(values: Array) -> int | None:
    """Return the first integer, in Python's own or as text, that is another one as a float."""
    # Only what can be a number: other objects need not have a hash.
    candidates = [value for value in values if isinstance(value, int | str)]
    for value in dict.fromkeys(candidates):
        text = value.strip() if isinstance(value, str) else value
        if isinstance(text, str) and not (
            text.lstrip("+-").isdecimal() and len(text) < MOST_DIGITS
        ):
            continue
        number = int(text)
        # Those beyond all floats are refused by another check.
        if 2**53 < abs(number) < 10**308 and int(float(number)) != number:
            return number
    return None


def _first_lost_of(values: Array) -> int | None:
    """Return the same for an array of integers of 64 bits."""
    if not values.size or max(abs(int(values.max())), abs(int(values.min()))) <= 2**53:
        return None
    rounded = values.astype(np.float64)
    # Rounded up to where the type ends: no way back.
    beyond = rounded >= float(np.iinfo(values.dtype).max)
    lost = beyond | (np.where(beyond, 0, rounded).astype(values.dtype) != values)
    return int(values[lost][0]) if lost.any() else None


def _whole_columns(X: Any) -> Iterator[tuple[Any, Array]]:
    """Names and values of the columns that hold integers of 64 bits, or may hold longer."""
    if is_frame(X):
        for name, column in _columns_of(X, ("object", "str")):
            yield name, column.to_numpy().astype(object)
        for name, column in _columns_of(X, ("int64", "uint64")):
            present = column.dropna() if isinstance(X, pd.DataFrame) else column.drop_nulls()
            unsigned = str(column.dtype).lower().startswith("u")
            yield name, present.to_numpy().astype("u8" if unsigned else "i8")
        return
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError:  # ragged; a later check reports it
            return
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == object:
        yield from enumerate(X.T)
    elif (
        isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu" and X.dtype.itemsize == 8
    ):
        wide = np.abs(X.astype(np.float64)) >= 2.0**53
        for j in np.flatnonzero(wide.any(axis=0)):
            yield int(j), X[:, j]
