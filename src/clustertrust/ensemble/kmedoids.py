"""K-medoids by FasterPAM (Schubert and Rousseeuw, 2021), from a random start.

This is the published algorithm. Euclidean distances are computed when needed instead of kept in an
n × n matrix: memory stays O(n), and a sweep over all candidates costs O(n² d). Distances by another
metric come in blocks of rows, which are kept where they fit into memory; given ones are used as
they are.

References
----------
E. Schubert, P. J. Rousseeuw: Fast and eager k-medoids clustering: O(k) runtime improvement of the
PAM, CLARA, and CLARANS algorithms. Information Systems 101 (2021) 101804.
https://doi.org/10.1016/j.is.2021.101804
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from clustertrust._errors import ParameterError
from clustertrust._parallel import blocks, memory_budget
from clustertrust._types import Array, Ints
from clustertrust._validation.arguments import check_count
from clustertrust.distances.dissimilarity import squared_distances
from clustertrust.distances.metrics import Metric, is_name
from clustertrust.distances.precomputed import among, check_distances, check_new_distances
from clustertrust.kernels import backend

__all__ = ["KMedoids"]


class KMedoids(ClusterMixin, BaseEstimator):
    """Clusters around k of the points, such that the sum of distances to the nearest one is small.

    Parameters
    ----------
    n_clusters : int
    max_iter : int
        Largest number of sweeps over all candidates; a handful is usually enough.
    sample_size : int
        With more than twice as many points, the medoids are found on a random sample of this size
        (as in CLARA), and every point goes to the nearest one.
    metric, metric_params : str, callable or Metric; dict, optional
        The distance between points, as in :func:`sklearn.metrics.pairwise_distances`.
        "precomputed": X holds the distances, (n, n).
    random_state : int, RandomState or None
        For the random start and the sample.

    Attributes
    ----------
    cluster_centers_ : (k, d) the medoids; missing if X holds distances
    medoid_indices_ : (k,) their positions
    labels_ : (n,) the nearest medoid of each point, 0 to k - 1
    inertia_ : float, sum of the distances to the nearest medoid
    n_iter_ : int, sweeps made

    Examples
    --------
    >>> from clustertrust.ensemble.kmedoids import KMedoids
    >>> model = KMedoids(2, random_state=0).fit([[0.0], [1.0], [2.0], [8.0], [9.0]])
    >>> sorted(model.cluster_centers_.ravel().tolist()), model.inertia_
    ([1.0, 8.0], 3.0)
    """

    # A metric of the user's is asked for the distances that are needed, a block at a time.
    takes_distances_piecewise = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_iter: int = 100,
        sample_size: int = 5000,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.sample_size = sample_size
        self.metric = metric
        self.metric_params = metric_params
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> KMedoids:
        """Find the medoids of X, points (n, d) or distances (n, n); y is ignored."""
        X = self._check(X)
        n = X.shape[0]
        k = check_count("n_clusters", self.n_clusters, at_least=1)
        if k > n:
            raise ParameterError(
                "n_clusters", k, f"must be between 1 and the number of points, n_samples={n}"
            )
        max_iter = check_count("max_iter", self.max_iter, at_least=1, at_most=2**31 - 1)
        sample_size = check_count("sample_size", self.sample_size, at_least=1)
        rng = check_random_state(self.random_state)
        size = max(sample_size if n > 2 * sample_size else n, k)
        sample = None if size == n else np.sort(rng.choice(n, size, replace=False))
        start = rng.choice(size, k, replace=False)
        medoids, self.n_iter_ = self._find(X, sample, start, max_iter)
        self.medoid_indices_ = medoids if sample is None else sample[medoids]
        if not self._metric.is_precomputed:
            self.cluster_centers_ = X[self.medoid_indices_]
        self.labels_, distances = self._nearest(X)
        self.inertia_ = float(distances.sum())
        return self

    def _check(self, X: Any) -> Any:
        """Return the data checked, and settle the metric."""
        # Data with a `Metric` are checked, and may have gaps.
        if isinstance(self.metric, Metric):
            self._metric, self.n_features_in_ = self.metric, X.shape[1]
            return X if sparse.issparse(X) else np.asarray(X)
        if is_name(self.metric, "precomputed"):
            X = validate_data(self, X, dtype=[np.float64, np.float32])
            self._metric = Metric("precomputed")
            return check_distances(X)
        X = validate_data(self, X, dtype=np.float64, order="C")
        self._metric = Metric(self.metric, dict(self.metric_params or {})).fit(X)
        return X

    def _find(self, X: Any, sample: Ints | None, start: Ints, max_iter: int) -> tuple[Ints, int]:
        """Return the medoids, as positions in the sample, and the number of sweeps."""
        metric, matrix = self._metric, None
        if metric.is_precomputed:
            matrix = points = np.asarray(among(X, sample))
        else:
            points = X if sample is None else X[sample]
        if metric.is_euclidean:
            medoids, sweeps = backend().fasterpam(np.ascontiguousarray(points), start, max_iter)
            return medoids, int(sweeps)
        n = points.shape[0]
        if matrix is None and 8 * n * n <= memory_budget():
            matrix = metric.among(points, n_jobs=1)

        def rows_of(rows: slice) -> Array:
            return metric.between(points[rows], points) if matrix is None else matrix[rows]

        return swap_medoids(rows_of, n, start, max_iter)

    def predict(self, X: Any) -> Ints:
        """Return the cluster of the nearest medoid.

        For given distances, X are rows of distances to the points of the fit.
        """
        check_is_fitted(self)
        if not isinstance(self.metric, Metric):
            precomputed = self._metric.is_precomputed
            kind = [np.float64, np.float32] if precomputed else np.float64
            X = validate_data(self, X, dtype=kind, order="C", reset=False)
            X = check_new_distances(X, self.n_features_in_) if precomputed else X
        return self._nearest(X)[0]

    def _nearest(self, X: Any) -> tuple[Ints, Array]:
        """Return the nearest medoid of each row, and how far away it is."""
        if self._metric.is_euclidean:
            squares = squared_distances(self.cluster_centers_, X)
            labels = squares.argmin(axis=0)
            return labels, np.sqrt(squares[labels, np.arange(len(X))])
        to_medoid = (
            X[:, self.medoid_indices_]
            if self._metric.is_precomputed
            else self._metric.between(X, self.cluster_centers_)
        )
        labels = to_medoid.argmin(axis=1)
        return labels, to_medoid[np.arange(len(labels)), labels]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        are_distances = is_name(self.metric, "precomputed")
        tags.input_tags.pairwise = tags.input_tags.positive_only = are_distances
        return tags


def swap_medoids(
    rows_of: Callable[[slice], Array], n: int, start: Ints, max_iter: int
) -> tuple[Ints, int]:
    """Return medoids (k,) from eager swaps, and the number of sweeps; distances come in blocks."""
    medoids = np.array(start, dtype=np.int64)
    to_medoid = np.vstack([rows_of(slice(m, m + 1)) for m in medoids]).astype(np.float64)
    without = 0
    for sweep in range(max_iter):
        for rows in blocks(n, 8 * n):
            without = backend().try_swaps(rows_of(rows), rows.start, medoids, to_medoid, without)
            if without >= n:
                return medoids, sweep + 1
    return medoids, max_iter
