"""Rows and their names: the frame that came in, kept empty, and where a named row stands."""

from __future__ import annotations

import difflib
import importlib
import operator
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Array, Ints
from clustertrust._validation.frames import is_dask, is_frame
from clustertrust._validation.rows import check_same_length, only_counts


def frame_of(X: Any) -> Any:
    """Return an empty frame of the same kind and index as X, for `to_frame`."""
    if not is_frame(X):
        return None
    return X[[]] if isinstance(X, pd.DataFrame) else X.clear()


def stored_frame(frame: Any) -> Any:
    """Return what a file holds of an empty frame: the index of pandas, else that it is polars."""
    if isinstance(frame, pd.DataFrame):
        index, name = frame.index.to_numpy(), frame.index.name
        rows = index if index.dtype.kind in "iuf" else index.astype(str)
        return {"rows": rows, "name": name} if isinstance(name, str) else rows
    return None if frame is None or is_dask(frame) else "polars"


def unstored_frame(stored: Any, scores: Array) -> Any:
    """Return the frame that `stored_frame` took apart; raise if it has not a row for each score."""
    name = None
    if isinstance(stored, dict):
        stored, name = stored.get("rows"), stored.get("name")
        if not isinstance(stored, np.ndarray) or not isinstance(name, str):
            raise ValueError(f"it names its rows by {stored!r:.40} and {name!r:.40}")
    if isinstance(stored, np.ndarray):
        check_same_length("frame", stored, "scores", scores)
        return pd.DataFrame(index=pd.Index(stored, name=name))
    return None if stored is None else importlib.import_module("polars").DataFrame()


def packed_frame(frame: Any) -> Any:
    """Return an empty frame to be pickled; its names as an array, since skops stores no index."""
    if not isinstance(frame, pd.DataFrame):
        return frame
    index = frame.index
    if isinstance(index, pd.RangeIndex):
        return {"rows": [index.start, index.stop, index.step], "name": index.name}
    if isinstance(index.dtype, np.dtype) and type(index) is pd.Index:
        return {"rows": index.to_numpy(), "name": index.name}
    return frame


def unpacked_frame(packed: Any) -> Any:
    """Return the frame that `packed_frame` took apart."""
    if not isinstance(packed, dict):
        return packed
    rows = packed["rows"]
    index: Any = pd.RangeIndex(*rows) if isinstance(rows, list) else pd.Index(rows)
    index.name = packed["name"]
    return pd.DataFrame(index=index)


def name_of(i: int, rows: pd.Index) -> Any:
    """Return a point's name in the index; None if that only counts rows."""
    return None if only_counts(rows) else rows[i : i + 1].tolist()[0]


def position_of(point: Any, rows: pd.Index) -> tuple[int, bool]:
    """Return the position of a point, and whether the point was given by its index label."""
    n = len(rows)
    try:
        i = operator.index(point)
    except TypeError:
        return _position_of_name(point, rows), True
    if not only_counts(rows) and _positions(i, rows).size:
        return _position_of_name(i, rows), True
    if not -n <= i < n:
        raise IndexError(
            f"point={point} is out of range for {n} points; positions run from 0 to {n - 1}."
        )
    return i % n, False


def _position_of_name(name: Any, rows: pd.Index) -> int:
    """Return where the row of this name stands; raise if there is none, or more than one."""
    if only_counts(rows) or isinstance(name, float):
        raise TypeError(
            f"point={name!r} must be an integer, the position of a point"
            + ("; the rows of X have no names." if only_counts(rows) else ", or the name of a row.")
        )
    positions = _positions(name, rows)
    if positions.size == 1:
        return int(positions[0])
    if positions.size > 1:
        raise ValueError(
            f"point={name!r} names {positions.size} rows, at positions {positions[:3].tolist()}"
            f"{' and more' if positions.size > 3 else ''}; "
            + (
                "score X.reset_index(drop=True) to explain rows by their position."
                if isinstance(name, int)
                else "give the position."
            )
        )
    near = difflib.get_close_matches(str(name), [str(row) for row in rows[:100_000]], 1)
    hint = f"did you mean {near[0]!r}?" if near else f"they look like {str(rows[0])!r}."
    raise ValueError(f"point={name!r} is not the name of a row of X; {hint}")


def _positions(name: Any, rows: pd.Index) -> Ints:
    """Return the positions of the rows of this name."""
    try:
        same = [row == name for row in rows] if isinstance(rows, pd.MultiIndex) else rows == name
        return np.flatnonzero(same)
    except (TypeError, ValueError):
        return np.array([], dtype=int)
