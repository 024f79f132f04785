"""Spectral clusters of few points: scikit-learn's `SpectralClustering`, in fewer calls.

The graph of nearest neighbours, its normalised Laplacian and k-means of the first eigenvectors are
the same. A graph in as many pieces as there are clusters needs no eigenvectors: all points of a
piece have the same place among them. With more pieces than clusters any of them could be merged, as
far as eigenvectors tell; here it is those that are closest. Other eigenvectors come from a dense
solver, which finds equal eigenvalues for certain, and takes as long for any graph of this size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans, SpectralClustering

from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust._validation.arguments import check_count
from clustertrust.distances.dissimilarity import squared_distances
from clustertrust.distances.metrics import Metric
from clustertrust.distances.neighbors import drop_self
from clustertrust.ensemble.lloyd import prepare_data
from clustertrust.ensemble.starts import Starts


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


# Points at most: with more the iterative solver is faster.
MOST_POINTS = 500
_DEFAULTS = {
    "affinity": "nearest_neighbors",
    "assign_labels": "kmeans",
    "eigen_solver": None,
    "eigen_tol": "auto",
    "n_components": None,
    "n_init": 1,
}


def _neighbors(squares: Floats, n_neighbors: int) -> Bools:
    """Return which points are the nearest of each point, (n, n), not counting itself."""
    last = np.partition(squares, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    near = squares <= last[:, None]
    # Of ties the first, on every processor
    for i in np.flatnonzero(np.count_nonzero(near, axis=1) > n_neighbors):
        near[i] = False
        near[i, np.argsort(squares[i], kind="stable")[:n_neighbors]] = True
    np.fill_diagonal(near, val=False)
    return np.asarray(near)


def _pieces(near: Bools) -> tuple[int, Ints]:
    """Return the number of pieces of the graph, and in which one each point is."""
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(near, axis=1))])
    links = np.flatnonzero(near) % len(near)
    graph = sparse.csr_array((np.ones(len(links)), links, starts), shape=near.shape)
    count, labels = connected_components(graph, connection="weak")
    return int(count), np.asarray(labels)


def _joined(labels: Ints, count: int, k: int, squares: Floats) -> Ints:
    """Return labels of `count` pieces joined to k, always the two with the closest points."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(count))
    apart = np.minimum.reduceat(squares[np.ix_(order, order)], starts, axis=0)
    apart = np.minimum.reduceat(apart, starts, axis=1)
    np.fill_diagonal(apart, np.inf)
    names = np.arange(count)
    for _ in range(count - k):
        one, other = np.unravel_index(apart.argmin(), apart.shape)
        names[names == other] = one
        apart[one] = apart[:, one] = np.minimum(apart[one], apart[other])
        apart[one, one] = apart[other] = apart[:, other] = np.inf
    return np.unique(names, return_inverse=True)[1][labels]


def _embed(near: Bools, k: int) -> Floats:
    """Return the first k eigenvectors of the normalised Laplacian of the graph, (n, k)."""
    # A link counts half from either side. Few points are linked, and LAPACK goes by column.
    i, j = np.nonzero(near | near.T)
    links = 0.5 * near[i, j] + 0.5 * near[j, i]
    roots = np.sqrt(np.bincount(j, links, len(near)))
    laplacian = np.zeros(near.shape, order="F")
    laplacian[i, j] = links / -roots[j] / roots[i]
    np.fill_diagonal(laplacian, 1.0)
    vectors = eigh(laplacian, subset_by_index=(0, k - 1), overwrite_a=True, check_finite=False)[1]
    return np.ascontiguousarray(vectors / roots[:, None])


def spectral_labels(model: Any, X: Array) -> Ints | None:
    """Return the labels of the model's own `fit` but for rounding and ties; None: not for these."""
    is_plain = type(model) is SpectralClustering and all(
        getattr(model, name) == value for name, value in _DEFAULTS.items()
    )
    n = X.shape[0]
    if not is_plain or sparse.issparse(X) or getattr(X, "dtype", None) != np.float64:
        return None
    k, n_neighbors = model.n_clusters, model.n_neighbors
    if not (1 <= k < n and 2 <= n_neighbors < n <= MOST_POINTS):
        return None
    squares = squared_distances(X, X)
    near = _neighbors(squares, n_neighbors)
    count, labels = _pieces(near)
    if count >= k:
        return labels if count == k else _joined(labels, count, k, squares)
    data = prepare_data(_embed(near, k))
    kmeans = KMeans(k, n_init=1, random_state=model.random_state)
    if data is None or not data.suits(kmeans):
        return None
    # scikit-learn draws the start of its solver before that of k-means.
    starts = Starts(data.X, data.middle, data.squares, drawn_before=n, rounding_may_decide=True)
    _, run = next(data.fit([kmeans], starts=starts))
    return None if run is None else run.labels
