"""HDBSCAN (Campello, Moulavi and Sander, 2013) with ties broken the same way on every processor.

Many edges of its spanning tree weigh the same: a point's distance to its k-th neighbour is the
weight of several of them. scikit-learn orders the edges with an unstable sort, which orders ties
differently with AVX-512, AVX2 and plain code; one tree can give 4, 5 or 6 clusters. Here the tree
is built with an order that has no ties. scikit-learn gets it as a matrix of distances between the
ends of its edges, with weights made distinct in that order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix, issparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import HDBSCAN
from sklearn.utils.validation import validate_data

from clustertrust._types import Array
from clustertrust._validation.arguments import check_choice
from clustertrust.kernels import backend

__all__ = ["PortableHDBSCAN"]

# Differences between values of a sparse matrix, a few seconds a run. Such data have thousands of
# columns, and nothing is gained from their zeros.
MOST_WORK = 5_000_000_000


class PortableHDBSCAN(ClusterMixin, BaseEstimator):
    """Dense regions as clusters, the rest as noise; the method finds the number of clusters.

    The result is that of scikit-learn's HDBSCAN with the same distances, except for ties:
    distances that agree in nine digits count as equal, and edges of equal weight are ordered by the
    distance of their ends and then by the order of the rows. The result does not depend on the
    processor; it depends on the order of the rows only where distances are equal.

    Parameters
    ----------
    min_cluster_size : int
    min_samples : int or None
        Neighbours, the point itself among them, that make a point's surroundings dense; None:
        `min_cluster_size`.
    cluster_selection_epsilon : float
    max_cluster_size : int or None
    cluster_selection_method : {"eom", "leaf"}
        These three are scikit-learn's.
    metric : {"euclidean", "precomputed"}
        "precomputed": X holds distances, (n, n) or a sparse graph of neighbours. Points whose
        distance a graph does not store are farther apart than any that it does: twice as far as
        the farthest.

    Attributes
    ----------
    labels_ : (n,) clusters, -1 for noise
    probabilities_ : (n,) how deep in its cluster's density a point is

    Examples
    --------
    >>> from clustertrust.ensemble.hdbscan import PortableHDBSCAN
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [20.0]]
    >>> PortableHDBSCAN(min_cluster_size=3).fit(X).labels_.tolist()
    [0, 0, 0, 1, 1, 1, -1]
    """

    def __init__(
        self,
        min_cluster_size: int = 5,
        *,
        min_samples: int | None = None,
        cluster_selection_epsilon: float = 0.0,
        max_cluster_size: int | None = None,
        cluster_selection_method: str = "eom",
        metric: str = "euclidean",
    ) -> None:
        self.min_cluster_size, self.min_samples = min_cluster_size, min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.max_cluster_size = max_cluster_size
        self.cluster_selection_method = cluster_selection_method
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> PortableHDBSCAN:
        """Find the clusters of X, points (n, d) or distances (n, n); y is ignored."""
        check_choice("metric", self.metric, ("euclidean", "precomputed"))
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        k = self.min_cluster_size if self.min_samples is None else self.min_samples
        if not 1 <= k <= X.shape[0]:
            raise ValueError(
                f"min_samples={k} must be between 1 and the number of points, "
                f"n_samples={X.shape[0]}."
            )
        self._check_work(X)
        ends, weights, lengths = self._tree(X, k)
        if not np.isfinite(weights).all():
            raise ValueError(
                "X has values whose squared distances are too large for float64; divide X first."
            )
        model = HDBSCAN(
            self.min_cluster_size,
            min_samples=1,
            cluster_selection_epsilon=self.cluster_selection_epsilon,
            max_cluster_size=self.max_cluster_size,
            cluster_selection_method=self.cluster_selection_method,
            metric="precomputed",
            algorithm="brute",
            copy=False,
        ).fit(tree_as_distances(ends, weights, lengths))
        self.labels_, self.probabilities_ = model.labels_, model.probabilities_
        return self

    def _check_work(self, X: Any) -> None:
        """Raise for a sparse matrix with so many columns that distances take too long."""
        n, d = X.shape
        if self.metric == "euclidean" and issparse(X) and n * n * d > MOST_WORK:
            raise ValueError(
                f"X is sparse and has {n} rows and {d} columns: HDBSCAN compares all pairs of rows "
                "in all columns, which would take minutes. Reduce the columns first, such as by "
                "sklearn.decomposition.TruncatedSVD(50).fit_transform(X)."
            )

    def _tree(self, X: Any, k: int) -> tuple[Array, Array, Array]:
        """Return the ends, weights and lengths of the edges of the spanning tree."""
        if self.metric == "euclidean":
            columns = np.ascontiguousarray((X.toarray() if issparse(X) else X).T)
            ends, weights, lengths = backend().reachability_tree(columns, k, False)
        elif issparse(X):
            ends, weights, lengths = tree_of_graph(csr_array(X), k)
        else:
            ends, weights, lengths = backend().reachability_tree(X, k, True)
        return ends, weights, lengths

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def tree_of_graph(graph: csr_array, k: int) -> tuple[Array, Array, Array]:
    """Return the least spanning tree of a symmetric sparse graph under mutual reachability.

    A distance that is not stored is twice the largest that is; so are a point's distance to its
    k-th neighbour if fewer are stored, and the edges that join parts without a link.
    """
    n = graph.shape[0]
    # To 33 bits, as the kernels do.
    wide = graph.data.astype(np.float64) * 1048577.0
    graph = csr_array((wide - (wide - graph.data), graph.indices, graph.indptr), shape=(n, n))
    far = 2 * float(graph.data.max(initial=0.0)) or 1.0
    row = np.repeat(np.arange(n), np.diff(graph.indptr))
    link = row < graph.indices
    ends = np.column_stack([row[link], graph.indices[link]]).astype(np.int64)
    lengths = graph.data[link]
    core = np.full(n, 0.0 if k == 1 else far)
    for i in range(n if k > 1 else 0):
        stored = graph.data[graph.indptr[i] : graph.indptr[i + 1]]
        # The point itself is the first.
        if stored.size >= k - 1:
            core[i] = np.partition(stored, k - 2)[k - 2]
    weights = np.maximum(np.maximum(core[ends[:, 0]], core[ends[:, 1]]), lengths)
    # Ranks instead of weights: no ties are left for a sort to decide.
    order = np.lexsort((ends[:, 1], ends[:, 0], lengths, weights))
    ends, weights, lengths = ends[order], weights[order], lengths[order]
    ranks = csr_array((np.arange(1.0, len(ends) + 1), (ends[:, 0], ends[:, 1])), shape=(n, n))
    kept = np.sort(minimum_spanning_tree(ranks).data.astype(np.int64)) - 1
    count, part = connected_components(ranks, directed=False)
    first = np.unique(part, return_index=True)[1]
    bridges = np.column_stack([np.full(count - 1, first[0]), first[1:]]).astype(np.int64)
    apart = np.full(count - 1, far)
    return (
        np.concatenate([ends[kept], np.sort(bridges, axis=1)]),
        np.concatenate([weights[kept], apart]),
        np.concatenate([lengths[kept], apart]),
    )


def tree_as_distances(ends: Array, weights: Array, lengths: Array) -> csr_matrix:
    """Return distances (n, n) of the edges of a tree, all distinct, by (weight, length, ends).

    Weights have 33 bits, so there is room for a million ties between one and the next. The two
    directions of an edge differ as well, or the sort would choose their order. The diagonal is the
    smallest, so that with `min_samples=1` every distance is its own mutual reachability.
    """
    order = np.lexsort((ends[:, 1], ends[:, 0], lengths, weights))
    low, high, sorted_weights = ends[order, 0], ends[order, 1], weights[order]
    positive = sorted_weights[sorted_weights > 0]
    least = positive[0] if len(positive) else 1.0
    # Copies of a point: as dense as possible, but with a finite reciprocal.
    sorted_weights = np.where(sorted_weights > 0, sorted_weights, least * 2.0**-200)
    first_of_its_weight = np.searchsorted(sorted_weights, sorted_weights)
    steps = 2 * (np.arange(len(order)) - first_of_its_weight)
    there = _next_floats(sorted_weights, steps)
    back = _next_floats(sorted_weights, steps + 1)
    n = len(order) + 1
    diagonal = np.full(n, sorted_weights[0] / 2)
    rows = np.concatenate([low, high, np.arange(n)])
    columns = np.concatenate([high, low, np.arange(n)])
    return csr_matrix(
        csr_array((np.concatenate([there, back, diagonal]), (rows, columns)), shape=(n, n))
    )


def _next_floats(numbers: Array, steps: Array) -> Array:
    """Return the float `steps` above each positive number: floats are ordered as their bits."""
    return (np.ascontiguousarray(numbers, dtype=np.float64).view(np.int64) + steps).view(np.float64)
