"""How a run places points that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from clustertrust._parallel import blocks, one_thread
from clustertrust._types import Floats, Ints
from clustertrust._validation import as_type
from clustertrust.distances.dissimilarity import squared_distances
from clustertrust.distances.tiles import by_feature, in_fours
from clustertrust.kernels import backend

__all__ = ["Nearest", "Placer", "Predict", "Training", "place"]


class Placer(Protocol):
    """A rule that labels points: (n, d) → (n,)."""

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""


def nearest_point(points: Any, X: Any) -> Ints:
    """Return the position in `points` nearest to each row of X, the first on ties. O(n n' d).

    It uses differences, so that data far from the origin lose no digits, except for sparse X.
    """
    points = points.toarray() if sparse.issparse(points) else np.asarray(points, dtype=np.float64)
    if X.shape[1] != points.shape[1]:  # compiled loops would read beyond the end
        raise ValueError(f"X has {X.shape[1]} columns; the runs were fitted on {points.shape[1]}.")
    padded = in_fours(points)

    def of(rows: slice) -> Ints:
        if sparse.issparse(X):
            return squared_distances(points, X[rows]).argmin(axis=0)
        block = np.asarray(X[rows], dtype=np.float64)
        return np.asarray(
            backend().nearest_row(padded, len(points), by_feature(block))[: len(block)]
        )

    return np.concatenate([of(rows) for rows in blocks(X.shape[0], 24 * len(points))])


@dataclass(frozen=True)
class Nearest:
    """The label of the nearest centre; a label may have several."""

    centers: Floats
    labels: Ints

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""
        return self.labels[nearest_point(self.centers, X)]


@dataclass(frozen=True)
class Training:
    """The label of the nearest training point, for methods without a model.

    `X` are the data of all runs, `rows` those of this run (None: all), `labels` their labels.
    """

    X: Any
    rows: Ints | None
    labels: Ints

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""
        return self.labels[nearest_point(self.X if self.rows is None else self.X[self.rows], X)]


@dataclass(frozen=True)
class Predict:
    """The prediction of the fitted model.

    `dtype` is the type of the data that it was fitted on; None: it accepts any.
    """

    model: Any
    dtype: Any = None

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""
        X = (
            X if self.dtype is None else as_type(X, self.dtype)
        )  # compiled loops of some models accept no other
        with one_thread():
            return np.asarray(self.model.predict(X))


def place(placers: list[Placer], X: Any) -> Ints:
    """Return the label of each row of X in each run, (n, R).

    Runs that use all training points share one search.
    """
    found: Ints | None = None
    columns = []
    for placer in placers:
        if isinstance(placer, Training) and placer.rows is None:
            found = nearest_point(placer.X, X) if found is None else found
            columns.append(placer.labels[found])
        else:
            columns.append(placer(X))
    return np.column_stack(columns).astype(np.int32)
