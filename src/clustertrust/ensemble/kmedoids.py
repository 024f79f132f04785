"""K-medoids by FasterPAM (Schubert and Rousseeuw, 2021), from a random start.

This is the published algorithm for Euclidean distances, which are computed when needed instead of
kept in an n × n matrix: memory stays O(n), and a sweep over all candidates costs O(n² d).

References
----------
E. Schubert, P. J. Rousseeuw: Fast and eager k-medoids clustering: O(k) runtime improvement of the
PAM, CLARA, and CLARANS algorithms. Information Systems 101 (2021) 101804.
https://doi.org/10.1016/j.is.2021.101804
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from clustertrust._types import Ints
from clustertrust._validation import check_count
from clustertrust.distances.dissimilarity import squared_distances
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
    random_state : int, RandomState or None
        For the random start and the sample.

    Attributes
    ----------
    cluster_centers_ : (k, d) the medoids
    medoid_indices_ : (k,) their positions
    labels_ : (n,)
    inertia_ : float, sum of the distances to the nearest medoid
    n_iter_ : int, sweeps made
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        max_iter: int = 100,
        sample_size: int = 5000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.sample_size = sample_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> KMedoids:
        """Find the medoids of X (n, d); y is ignored."""
        X = validate_data(self, X, dtype=np.float64, order="C")
        n = len(X)
        k = check_count("n_clusters", self.n_clusters, at_least=1)
        if k > n:
            raise ValueError(
                f"n_clusters={k} must be between 1 and the number of points, n_samples={n}."
            )
        max_iter = check_count("max_iter", self.max_iter, at_least=1, at_most=2**31 - 1)
        sample_size = check_count("sample_size", self.sample_size, at_least=1)
        rng = check_random_state(self.random_state)
        size = max(sample_size if n > 2 * sample_size else n, k)
        sample = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
        start = rng.choice(size, k, replace=False)
        found, self.n_iter_ = backend().fasterpam(np.ascontiguousarray(X[sample]), start, max_iter)
        self.medoid_indices_ = sample[found]
        self.cluster_centers_ = X[self.medoid_indices_]
        self.labels_, distances = self._nearest(X)
        self.inertia_ = float(distances.sum())
        return self

    def predict(self, X: Any) -> Ints:
        """Return the cluster of the nearest medoid."""
        check_is_fitted(self)
        return self._nearest(validate_data(self, X, dtype=np.float64, order="C", reset=False))[0]

    def _nearest(self, X: NDArray) -> tuple[Ints, NDArray]:
        squares = squared_distances(self.cluster_centers_, X)
        labels = squares.argmin(axis=0)
        return labels, np.sqrt(squares[labels, np.arange(len(X))])
