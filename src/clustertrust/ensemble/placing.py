"""How a run places points that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from clustertrust._parallel import blocks, one_thread
from clustertrust._types import Floats, Ints
from clustertrust._validation import as_type
from clustertrust.distances.dissimilarity import squared_distances
from clustertrust.distances.metrics import EUCLIDEAN, Metric
from clustertrust.distances.precomputed import check_new_distances, nearest_column
from clustertrust.distances.tiles import by_feature, in_fours
from clustertrust.kernels import backend

__all__ = [
    "Nearest",
    "NearestTrainingPoint",
    "Placer",
    "PrecomputedNearest",
    "Predict",
    "place",
]


class Placer(Protocol):
    """A rule that labels points: (n, d) → (n,)."""

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""


def nearest_point(points: Any, X: Any, metric: Metric = EUCLIDEAN) -> Ints:
    """Return the position in `points` nearest to each row of X, the first on ties. O(n n' d).

    The Euclidean distance comes from differences, so that data far from the origin lose no digits,
    except for sparse X.
    """
    if not metric.is_euclidean:
        return metric.nearest(X, points, 1)[1][:, 0]
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
    metric: Metric = field(default=EUCLIDEAN)

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""
        return self.labels[nearest_point(self.centers, X, self.metric)]


@dataclass(frozen=True)
class PrecomputedNearest:
    """The label of the nearest training point, by rows of given distances to them.

    `columns` are positions among the n training points (None: all), `labels` their labels.
    """

    columns: Ints | None
    labels: Ints
    n: int

    def __call__(self, X: Any) -> Ints:
        """Label each row of distances (n_new, n); -1 where a sparse row has none to the columns."""
        found = nearest_column(check_new_distances(X, self.n), self.columns)
        return np.where(found < 0, -1, self.labels[found])


@dataclass(frozen=True)
class NearestTrainingPoint:
    """The label of the nearest training point, for methods without a model.

    `X` are the data of all runs, `rows` those of this run (None: all), `labels` their labels.
    """

    X: Any
    rows: Ints | None
    labels: Ints
    metric: Metric = field(default=EUCLIDEAN)

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""
        points = self.X if self.rows is None else self.X[self.rows]
        return self.labels[nearest_point(points, X, self.metric)]


@dataclass(frozen=True)
class Predict:
    """The prediction of the fitted model.

    `dtype` is the type of the data that it was fitted on; None: it accepts any.
    """

    model: Any
    dtype: Any = None

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""
        # Compiled loops of some models accept no other type.
        X = X if self.dtype is None else as_type(X, self.dtype)
        with one_thread():
            return np.asarray(self.model.predict(X))


def place(placers: list[Placer], X: Any) -> Ints:
    """Return the label of each row of X in each run, (n, R).

    Runs that use all training points share one search.
    """
    found: dict[bool, Ints] = {}  # an ensemble has at most one metric besides the Euclidean
    columns = []
    for placer in placers:
        if isinstance(placer, NearestTrainingPoint) and placer.rows is None:
            metric = placer.metric
            if metric.is_euclidean not in found:
                found[metric.is_euclidean] = nearest_point(placer.X, X, metric)
            columns.append(placer.labels[found[metric.is_euclidean]])
        else:
            columns.append(placer(X))
    return np.column_stack(columns).astype(np.int32)
