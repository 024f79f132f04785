"""Labels in any accepted form → whole numbers (n, R) and names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._types import Ints
from clustertrust._validation import (
    check_label_vector,
    check_same_rows,
    is_frame,
    warn_of_text_numbers,
)

__all__ = ["check_rows", "read_labels"]


def read_labels(labels: Any) -> tuple[Ints, tuple[NDArray | None, ...]]:
    """Return labels (n, R), -1 where not assigned, and the names of each run's labels.

    The names of a run are None if its labels are whole numbers.
    """
    if (
        isinstance(labels, np.ndarray)
        and labels.ndim == 2
        and labels.dtype.kind == "i"
        and labels.size
    ):
        stacked, names = (
            np.maximum(labels, -1),
            (None,) * labels.shape[1],
        )  # whole numbers are their own names
    else:
        columns, names = zip(*(_column(name, run) for name, run in _runs(labels)), strict=True)
        widths = {len(column) for column in columns}
        if len(widths) > 1:
            raise ValueError(
                f"labels is ragged: its runs have {sorted(widths)} points; every run must label "
                "the same points."
            )
        stacked = np.column_stack(columns)
        warn_of_text_numbers(
            "labels", (name for of in names if of is not None for name in of.tolist())
        )
    if len(stacked) < 2:
        raise ValueError(f"labels has {len(stacked)} point(s); there must be at least 2.")
    return stacked, names


def check_rows(X: Any, labels: Any) -> None:
    """Raise if pandas labels have an index that differs from that of X."""
    if not isinstance(X, pd.DataFrame):
        return
    if isinstance(labels, pd.DataFrame):
        named = [("labels", labels.index)]
    else:
        runs = enumerate(labels) if isinstance(labels, list | tuple) else ()
        named = [(f"labels[{r}]", run.index) for r, run in runs if isinstance(run, pd.Series)]
    for name, index in named:
        if len(index) == len(X):  # a later check reports other lengths
            check_same_rows(name, index, "X", X.index)


def _runs(labels: Any) -> list[tuple[str, Any]]:
    """Split `labels` into pairs (name for messages, label vector)."""
    if hasattr(labels, "fit"):
        kind = type(labels).__name__
        raise TypeError(
            f"labels is a clusterer, {kind}, not labels of points. "
            f"CAKE(clusterer={kind}(…)).fit(X) makes several runs of it and scores them; "
            "clustertrust.audit(X, clusterer.labels_) scores the one labelling of a fitted one."
        )
    if is_frame(labels):
        columns = (
            labels.items()
            if isinstance(labels, pd.DataFrame)
            else zip(labels.columns, labels, strict=True)
        )
        runs = [(f"labels[{name!r}]", column) for name, column in columns]
    elif isinstance(labels, list | tuple) and labels and all(map(_is_label, labels)):
        runs = [("labels", labels)]  # one labelling
    elif isinstance(labels, list | tuple):
        runs = [(f"labels[{r}]", run) for r, run in enumerate(labels)]
    elif isinstance(labels, Mapping):
        raise TypeError(
            "labels is a mapping; give its label vectors in a list: list(labels.values())."
        )
    else:
        array = np.asarray(labels)
        if array.ndim not in {1, 2}:
            raise ValueError(
                f"labels has shape {array.shape}; give an (n, R) array or a list of R label "
                "vectors."
            )
        runs = [
            (f"labels[:, {r}]", run)
            for r, run in enumerate((array[:, None] if array.ndim == 1 else array).T)
        ]
    if not runs:
        raise ValueError("labels is empty; give at least one run.")
    return runs


def _is_label(value: Any) -> bool:
    """Return whether a value is the label of one point, missing ones included."""
    return value is None or value is pd.NA or np.isscalar(value)


def _column(name: str, run: Any) -> tuple[Ints, NDArray | None]:
    """Return labels of one run as whole numbers, and their names if they are something else."""
    codes, names = check_label_vector(name, run, quiet=True)
    if names.size == 0:
        return codes, None
    if names.dtype.kind in "iu" and names.max() < 2**63:
        return np.append(names.astype(np.int64), -1)[codes], None
    return codes, names
