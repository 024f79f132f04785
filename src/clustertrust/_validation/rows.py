"""Rows of two tables: as many, and named alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Ints
from clustertrust._validation.arguments import warn_user


def check_same_length(name_a: str, a: Any, name_b: str, b: Any) -> None:
    """Raise unless both have the same number of points; a sparse matrix has no length."""
    n, m = (x.shape[0] if sparse.issparse(x) else len(x) for x in (a, b))
    if n != m:
        raise ValueError(
            f"{name_a} has {n} points and {name_b} has {m}; both must describe the same points."
        )


def check_same_points(name: str, value: Any, of: str, row_names: pd.Index) -> None:
    """Raise unless these are as many points, and, in a pandas frame, are named in the same way."""
    check_same_length(name, value, of, row_names)
    if isinstance(value, pd.DataFrame):
        check_same_rows(name, value.index, of, row_names)


def only_counts(index: pd.Index) -> bool:
    """Return whether an index is 0, 1, 2, …, as in frames whose rows have no names."""
    return index.equals(pd.RangeIndex(len(index)))


def check_same_rows(name: str, index: pd.Index, of: str, row_names: pd.Index) -> None:
    """Raise if two frames of equal length name their rows differently or in another order."""
    counted = only_counts(index) or only_counts(row_names)
    if index.equals(row_names) or (counted and not _same_names(index, row_names)):
        # Rows without names are known by their position.
        return
    _raise_of_rows(name, index, of, row_names)


def order_by_rows(name: str, index: pd.Index, of: str, row_names: pd.Index) -> Ints | None:
    """Return where the rows of `of` are in `name`; None if they go by position.

    They do if both have the same index, or if one only counts its rows and they share no label. The
    same labels in another order are put in order, with a warning. Raise if only some are shared.
    """
    if index.equals(row_names):
        return None
    if _same_names(index, row_names):
        order = pd.Index(index.map(str)).get_indexer(pd.Index(row_names.map(str)))
        if (order == np.arange(len(order))).all():
            return None
        warn_user(
            f"{name} has the index of {of} in another order; it is put into the order of {of}. "
            f"{name}.to_numpy() would go by position."
        )
        return np.asarray(order, dtype=np.int64)
    if (only_counts(index) or only_counts(row_names)) and not index.isin(row_names).any():
        return None
    _raise_of_rows(name, index, of, row_names)
    return None


def _same_names(index: pd.Index, row_names: pd.Index) -> bool:
    """Return whether two indexes hold the same labels, each once, in any order."""
    whole = [pd.api.types.is_integer_dtype(names.dtype) for names in (index, row_names)]
    if any(whole) and not all(whole):
        # Text that looks like a number is no position.
        return False
    theirs, ours = (pd.Index(names.map(str)) for names in (index, row_names))
    return bool(theirs.is_unique and ours.is_unique and theirs.isin(ours).all())


def _raise_of_rows(name: str, index: pd.Index, of: str, row_names: pd.Index) -> None:
    """Raise if rows are named differently, with the first that is."""
    theirs, ours = (names.map(str).to_numpy(dtype=object) for names in (index, row_names))
    differ = np.flatnonzero(theirs != ours)
    if differ.size:
        i = int(differ[0])
        raise ValueError(
            f"Row {i} of {name} is {theirs[i]!r} and row {i} of {of} is {ours[i]!r}; both must "
            f"list the same points in the same order. {name}.loc[{of}.index] puts them in order; "
            f"{name}.to_numpy() declares that they already are."
        )
