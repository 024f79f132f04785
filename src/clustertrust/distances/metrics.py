"""Distances between rows: a metric with all that it takes from the training data.

Runs, silhouettes and the placing of unseen points all ask the same `Metric`, so that they speak of
the same distance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS, pairwise_distances
from sklearn.preprocessing import normalize

from clustertrust._errors import ParameterError, ParameterTypeError
from clustertrust._parallel import blocks, count_threads, map_blocks, one_thread
from clustertrust._types import Array, Floats, Ints
from clustertrust.distances.neighbors import smallest
from clustertrust.kernels import backend
from clustertrust.records import Record

# Means of clusters, or mean directions, give these mean distances.
CLOSED = ("sqeuclidean", "cosine")
# Metrics that take a parameter from the data.
FROM_DATA = {"mahalanobis": "VI", "seuclidean": "V"}


def unit_rows(X: Any) -> Any:
    """Return the rows scaled to length 1, of the same type; rows of zeros stay as they are."""
    return normalize(X)


def is_name(value: Any, name: str) -> bool:
    """Return whether a metric or kernel, which may be a callable, is this name."""
    return isinstance(value, str) and value == name


def as_truths(X: Any, metric: Any) -> Any:
    """X for a metric of booleans: not 0 is true, as in scikit-learn, which would say so for
    every block.
    """
    return X.astype(bool) if isinstance(metric, str) and metric in PAIRWISE_BOOLEAN_FUNCTIONS else X


def fixed_parameters(X: Any, metric: Any) -> dict[str, Any]:
    """Parameters that scikit-learn would otherwise take from each block of rows alone."""
    if is_name(metric, "seuclidean"):
        return {"V": np.var(X, axis=0, ddof=1, dtype=np.float64)}
    if is_name(metric, "mahalanobis"):
        covariance = np.atleast_2d(np.cov(X.T))
        if np.linalg.matrix_rank(covariance) < len(covariance):
            raise ParameterError(
                "metric",
                metric,
                "needs an invertible covariance, which X lacks",
                "give Metric('mahalanobis', {{'VI': …}}), or reduce the columns of X first (for "
                "example with sklearn.decomposition.PCA)",
            )
        return {"VI": np.linalg.inv(covariance).T}
    return {}


@dataclass(frozen=True)
class Metric(Record):
    """A distance between rows of points, with its parameters.

    Attributes
    ----------
    name : a name that `sklearn.metrics.pairwise_distances` knows, "gower", "precomputed", or a
        function of two rows
    params : its parameters, with those that come from the training data

    With "precomputed" a row holds the distances of a point to the training points. With "gower"
    rows are encoded by `clustertrust.distances.mixed`.

    Examples
    --------
    >>> from clustertrust import CAKE, Metric
    >>> cake = CAKE(3, clusterer="kmedoids", metric=Metric("minkowski", {"p": 3}))
    """

    name: Any = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def is_precomputed(self) -> bool:
        """Return whether rows are distances already."""
        return is_name(self.name, "precomputed")

    @property
    def is_mixed(self) -> bool:
        """Return whether rows are those of a table of numbers and categories."""
        return is_name(self.name, "gower")

    @property
    def is_coordinate_free(self) -> bool:
        """Return whether rows are not coordinates: given distances, or tables with categories."""
        return self.is_precomputed or self.is_mixed

    @property
    def is_default(self) -> bool:
        """Return whether it is the default, the Euclidean distance."""
        return self.is_euclidean and not self.params

    @property
    def is_closed(self) -> bool:
        """Return whether means of clusters give mean distances to their members."""
        return isinstance(self.name, str) and self.name in CLOSED and not self.params

    @property
    def is_cosine(self) -> bool:
        """Return whether only directions count, so that rows may be scaled to unit length."""
        return self.is_closed and is_name(self.name, "cosine")

    @property
    def given(self) -> Any:
        """The metric as users write it: its name, or the object if it has parameters."""
        return self if self.params else self.name

    def check(self) -> None:
        """Raise for what is not a metric, and for parameters that would not be used."""
        if not (callable(self.name) or isinstance(self.name, str)):
            raise ParameterTypeError(
                "metric",
                self.name,
                "must be a name, such as 'manhattan', or a function of two rows",
                "for parameters give Metric('minkowski', {{'p': 3}})",
            )
        if not isinstance(self.params, dict):
            raise ParameterTypeError(
                "metric", self, "must have a dict of parameters", "such as {{'p': 3}}"
            )
        if self.params and (self.is_euclidean or self.is_precomputed):
            raise ParameterError("metric", self, "takes no parameters", "give its name alone")

    def equals(self, other: Metric) -> bool:
        """Return whether both are the same distance."""
        return (
            self.name is other.name or (isinstance(self.name, str) and self.name == other.name)
        ) and repr(self.params) == repr(other.params)

    def fit(self, X: Any) -> Metric:
        """Return the metric, with what it takes from the training points X."""
        params = {} if self.is_mixed else dict(self.params)
        is_complete = isinstance(self.name, str) and FROM_DATA.get(self.name) in params
        return Metric(self.name, params if is_complete else fixed_parameters(X, self.name) | params)

    @property
    def is_euclidean(self) -> bool:
        """Return whether it is the Euclidean distance, for which there are faster ways."""
        return is_name(self.name, "euclidean")

    def between(self, X: Any, points: Any) -> Array:
        """Return the distances (b, n) of each row of X to each of the points. O(b n d)."""
        if self.is_mixed:
            return np.asarray(
                backend().gower_distances(np.ascontiguousarray(X), np.ascontiguousarray(points))
            )
        X, points = as_truths(X, self.name), as_truths(points, self.name)
        distances = np.asarray(pairwise_distances(X, points, metric=self.name, **self.params))
        if callable(self.name):
            self._check(distances)
        return distances

    def _check(self, distances: Array) -> None:
        """Raise for what is not a distance, which a user's function may return."""
        bad = ~(distances >= 0) | np.isinf(distances)
        if bad.any():
            name = self.name if isinstance(self.name, str) else getattr(self.name, "__name__", "")
            raise ParameterError(
                "metric",
                name,
                f"gives {distances[bad][0]} for two rows of X",
                "a distance is a finite number that is not below 0. Check the metric, or leave "
                "such rows out",
            )

    def among(self, X: Any, n_jobs: int | None = None) -> Floats:
        """Return the distances (n, n) among the points, 0 from each to itself, in blocks of rows.

        The upper triangle serves both, so that the matrix is exactly symmetric.
        """
        n = X.shape[0]
        out = np.empty((n, n))

        def fill(rows: slice) -> None:
            block = self.between(X[rows], X[rows.start :])
            # Libraries may give copies a distance of -1e-16; NaN stays NaN.
            out[rows, rows.start :] = np.maximum(block, 0.0)
            self._check(out[rows, rows.start :])

        with one_thread():
            for _ in map_blocks(fill, blocks(n, 24 * n), count_threads(n_jobs)):
                pass
        for rows in blocks(n, 24 * n):
            low = rows.start
            square = out[rows, rows]
            upper = np.triu(square, 1)
            out[rows, rows] = upper + upper.T
            out[rows, :low] = out[:low, rows].T
        return out

    def nearest(self, X: Any, points: Any, k: int) -> tuple[Floats, Ints]:
        """Return the distances to the k nearest points and their positions: (b, k).

        Ties go to the first. Given distances are rows of X, and the points are not looked at.
        """

        def of(rows: slice) -> tuple[Floats, Ints]:
            block = X[rows]
            distances = np.asarray(block) if self.is_precomputed else self.between(block, points)
            if k > 1:
                return smallest(distances, k)
            near = distances.argmin(axis=1)[:, None]
            return np.take_along_axis(distances, near, axis=1), near

        with one_thread():
            parts = [of(rows) for rows in blocks(X.shape[0], 24 * points.shape[0])]
        away, near = zip(*parts, strict=True)
        return np.concatenate(away), np.concatenate(near)


EUCLIDEAN = Metric()


def as_metric(metric: Any) -> Metric:
    """Return a metric as an object; a name or a function has no parameters."""
    return metric if isinstance(metric, Metric) else Metric(metric)
