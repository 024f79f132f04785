"""Labels in any accepted form → integers (n, R) and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._errors import ParameterError
from clustertrust._types import Array, Ints
from clustertrust._validation.frames import is_frame
from clustertrust._validation.labels import is_auto, noise_labels, read_label_vector
from clustertrust._validation.rows import order_by_rows


def read_labels(
    labels: Any, noise: Any = "auto"
) -> tuple[Ints, tuple[Array | None, ...], dict[str, int]]:
    """Return labels (n, R), -1 where not assigned, the names of each run's labels, and noise.

    The names of a run are None if its labels are integers. Noise is how often each label that
    means it occurs; see :func:`clustertrust._validation.labels.read_label_vector`.
    """
    counts: Counter[str] = Counter()
    if (
        isinstance(labels, np.ndarray)
        and labels.ndim == 2
        and labels.dtype.kind == "i"
        and labels.size
        and is_auto(noise)
    ):
        # integers are their own names
        stacked, names = np.maximum(labels, -1), (None,) * labels.shape[1]
        below, times = np.unique(labels[labels < 0], return_counts=True)
        counts.update(dict(zip(below.astype(str).tolist(), times.tolist(), strict=True)))
    else:
        read = [_column(name, run, noise) for name, run in _runs(labels)]
        columns, names, by_run = zip(*read, strict=True)
        for of_run in by_run:
            counts.update(of_run)
        widths = {len(column) for column in columns}
        if len(widths) > 1:
            raise ValueError(
                f"labels is ragged: its runs have {sorted(widths)} points; every run must label "
                "the same points."
            )
        stacked = np.column_stack(columns)
    if len(stacked) < 2:
        raise ValueError(f"labels has {len(stacked)} point(s); there must be at least 2.")
    check_noise(noise, counts)
    return stacked, names, dict(counts)


def check_noise(noise: Any, counts: Mapping[str, int]) -> None:
    """Raise for a label of noise that no point has."""
    for label in noise_labels(noise):
        if str(label) not in counts:
            raise ParameterError(
                "noise",
                label,
                "is not one of the labels",
                "name labels that mean noise, or leave it out",
            )


def in_order_of(X: Any, labels: Any, name: str = "labels") -> Any:
    """Return pandas labels in the order of the rows of X; raise if only some of the rows match."""
    if not isinstance(X, pd.DataFrame):
        return labels
    if isinstance(labels, list | tuple):
        return [_in_order(f"labels[{r}]", run, X.index) for r, run in enumerate(labels)]
    return _in_order(name, labels, X.index)


def _in_order(name: str, labels: Any, rows: pd.Index) -> Any:
    is_indexed = isinstance(labels, pd.Series | pd.DataFrame)
    # A later check reports other lengths.
    if not is_indexed or len(labels) != len(rows):
        return labels
    order = order_by_rows(name, labels.index, "X", rows)
    return labels if order is None else labels.iloc[order]


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
        # One labelling.
        runs = [("labels", labels)]
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


def _column(name: str, run: Any, noise: Any) -> tuple[Ints, Array | None, dict[str, int]]:
    """Return one run as integers, the names of its labels if they are none, and its noise."""
    codes, names, counts = read_label_vector(name, run, noise)
    if names.size == 0:
        return codes, None, counts
    if names.dtype.kind in "iu" and names.max() < 2**63:
        return np.append(names.astype(np.int64), -1)[codes], None, counts
    return codes, names, counts
