"""Leiden communities of a nearest-neighbour graph (Traag, Waltman and van Eck, 2019), by the
package leidenalg.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from clustertrust._types import Floats, Ints
from clustertrust.distances.metrics import Metric, is_name
from clustertrust.ensemble.graphs import neighbor_links

__all__ = ["Leiden"]


class Leiden(ClusterMixin, BaseEstimator):
    """Communities of the nearest-neighbour graph; the method finds their number.

    Needs the packages igraph and leidenalg (`pip install "clustertrust[leiden]"`).

    Parameters
    ----------
    n_neighbors : int or None
        Neighbours of each point in the graph; at most n - 1 are used. None: all that a sparse graph
        has.
    resolution : float
        Higher values give more and smaller communities.
    metric, metric_params : str, callable or Metric; dict, optional
        The distance between points, as in :func:`sklearn.metrics.pairwise_distances`.
        "precomputed": X holds distances, (n, n) or a sparse graph of neighbours, of which at most
        `n_neighbors` in each row are used, the nearest.
    weighted : bool
        Whether the links of a sparse graph weigh exp(-d²); otherwise all weigh the same.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (n,) communities, the largest first
    quality_ : float, the modularity reached
    """

    # A metric of the user's is asked for the distances that are needed, a block at a time.
    takes_distances_piecewise = True

    def __init__(
        self,
        *,
        n_neighbors: int | None = 15,
        resolution: float = 1.0,
        metric: Any = "euclidean",
        metric_params: dict[str, Any] | None = None,
        weighted: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_neighbors, self.resolution, self.random_state = n_neighbors, resolution, random_state
        self.metric, self.metric_params, self.weighted = metric, metric_params, weighted

    @staticmethod
    def check_packages() -> tuple[Any, Any]:
        """Return igraph and leidenalg; raise with the line that installs them if one is missing."""
        try:
            return importlib.import_module("igraph"), importlib.import_module("leidenalg")
        except ImportError as error:
            raise ImportError(
                'leiden needs igraph and leidenalg: pip install "clustertrust[leiden]"'
            ) from error

    def fit(self, X: Any, y: Any = None) -> Leiden:
        """Find the communities of X, points (n, d) or distances (n, n); y is ignored."""
        igraph, leidenalg = self.check_packages()
        # Otherwise checked, and perhaps with gaps.
        if not isinstance(self.metric, Metric):
            X = validate_data(self, X, accept_sparse="csr", ensure_min_samples=2)
        if not sparse.issparse(X) and (self.weighted or self.n_neighbors is None):
            raise ValueError(
                f"weighted={self.weighted} with n_neighbors={self.n_neighbors} needs a sparse "
                "graph of distances; give n_neighbors a number and leave weighted out."
            )
        near = self._neighbors(X)
        source, target = sparse.triu(near.maximum(near.T), 1).nonzero()
        links = np.column_stack([source, target])
        weights = _gaussian(X, source, target).tolist() if self.weighted else None
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        partition = leidenalg.find_partition(
            igraph.Graph(X.shape[0], links.tolist()),
            leidenalg.RBConfigurationVertexPartition,
            resolution_parameter=self.resolution,
            weights=weights,
            seed=seed,
        )
        self.labels_ = np.asarray(partition.membership, dtype=np.int32)
        self.quality_ = float(partition.quality())
        return self

    def _neighbors(self, X: Any) -> Any:
        """Return the graph of nearest neighbours."""
        if is_name(self.metric, "euclidean"):
            return kneighbors_graph(X, min(self.n_neighbors, X.shape[0] - 1))
        metric = self.metric
        if not isinstance(metric, Metric):
            metric = Metric(metric, dict(self.metric_params or {})).fit(X)
        return neighbor_links(X, self.n_neighbors or X.shape[0], metric)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_name(self.metric, "precomputed")
        return tags


def _gaussian(graph: Any, source: Ints, target: Ints) -> Floats:
    """Return exp(-d²) for each link of a sparse graph of distances.

    A link that is stored in one direction serves both; missing entries read as 0 are not taken for
    a distance of 0.
    """
    there = sparse.csr_array(graph, copy=True)
    there.data = np.exp(-(np.asarray(there.data, dtype=np.float64) ** 2))
    forth, back = (np.asarray(there[ends]).ravel() for ends in ((source, target), (target, source)))
    return np.asarray(np.maximum(forth, back))
