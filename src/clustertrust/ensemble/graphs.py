"""Distances or points → the graph of nearest neighbours, and spectral clusters of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import SpectralClustering

from clustertrust._types import Ints
from clustertrust._validation.arguments import check_count
from clustertrust.distances.metrics import Metric
from clustertrust.distances.neighbors import drop_self


def neighbor_links(X: Any, k: int, metric: Metric) -> sparse.csr_array:
    """Return which points are among the k nearest of each other point, (n, n) of 0 and 1.

    X are points, or distances where the metric says so. Ties go to the first. In a sparse graph at
    most k of the stored entries of a row count, the nearest.
    """
    n = X.shape[0]
    if sparse.issparse(X):
        source, target = _of_graph(sparse.csr_array(X), k)
    else:
        _, near = drop_self(*metric.nearest(X, X, min(k, n - 1) + 1))
        source, target = np.repeat(np.arange(n), near.shape[1]), near.ravel()
    return sparse.csr_array((np.ones(source.size), (source, target)), shape=(n, n))


def _of_graph(graph: sparse.csr_array, k: int) -> tuple[Ints, Ints]:
    """Return the ends of the links to the k nearest stored neighbours of each point."""
    row = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    order = np.lexsort((graph.indices, graph.data, row))
    # Rows stay together in the new order.
    rank = np.arange(row.size) - graph.indptr[row]
    keep = order[(rank < k) & (row[order] != graph.indices[order])]
    return row[keep], np.asarray(graph.indices[keep], dtype=np.int64)


class NeighborSpectral(ClusterMixin, BaseEstimator):
    """Spectral clusters of the nearest-neighbour graph of given distances.

    The same as scikit-learn's with `affinity="nearest_neighbors"`, which takes points, except for
    ties: those go to the first point.

    Parameters
    ----------
    n_clusters : int
    n_neighbors : int
        Neighbours of each point in the graph, the point itself among them.
    metric : "precomputed" or Metric
        Whether X are distances, dense or a sparse graph, or points with their metric.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (n,)
    """

    # A metric of the user's is asked for the distances that are needed, a block at a time.
    takes_distances_piecewise = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 10,
        metric: Any = "precomputed",
        random_state: Any = None,
    ) -> None:
        self.n_clusters, self.n_neighbors = n_clusters, n_neighbors
        self.metric, self.random_state = metric, random_state

    def fit(self, X: Any, y: Any = None) -> NeighborSpectral:
        """Find the clusters of distances X (n, n); y is ignored."""
        metric = self.metric if isinstance(self.metric, Metric) else Metric(self.metric)
        k = check_count("n_neighbors", self.n_neighbors, at_least=2)
        links = neighbor_links(X, k - 1, metric) + sparse.eye_array(X.shape[0])
        model = SpectralClustering(
            self.n_clusters, affinity="precomputed", n_init=1, random_state=self.random_state
        )
        # Matrices, not arrays, with 32-bit positions: what scikit-learn's solver takes.
        affinity = sparse.csr_matrix((links + links.T) / 2)
        affinity.indices, affinity.indptr = (
            part.astype(np.int32) for part in (affinity.indices, affinity.indptr)
        )
        self.labels_ = model.fit(affinity).labels_
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = not isinstance(self.metric, Metric)
        return tags
