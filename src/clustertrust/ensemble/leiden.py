"""Leiden communities of a nearest-neighbour graph (Traag, Waltman and van Eck, 2019), by the
package leidenalg.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

__all__ = ["Leiden"]


class Leiden(ClusterMixin, BaseEstimator):
    """Communities of the nearest-neighbour graph; the method finds their number.

    Needs the packages igraph and leidenalg (`pip install "clustertrust[leiden]"`).

    Parameters
    ----------
    n_neighbors : int
        Neighbours of each point in the graph; at most n - 1 are used.
    resolution : float
        Higher values give more and smaller communities.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (n,) communities, the largest first
    quality_ : float, the modularity reached
    """

    def __init__(
        self, *, n_neighbors: int = 15, resolution: float = 1.0, random_state: Any = None
    ) -> None:
        self.n_neighbors, self.resolution, self.random_state = n_neighbors, resolution, random_state

    def fit(self, X: Any, y: Any = None) -> Leiden:
        """Find the communities of X (n, d); y is ignored."""
        try:
            import igraph
            import leidenalg
        except ImportError as error:
            raise ImportError(
                'clusterer="leiden" needs igraph and leidenalg: pip install "clustertrust[leiden]"'
            ) from error
        X = validate_data(self, X, accept_sparse="csr", ensure_min_samples=2)
        near = kneighbors_graph(X, min(self.n_neighbors, X.shape[0] - 1))
        source, target = near.maximum(near.T).nonzero()
        links = np.column_stack([source, target])[source < target]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = leidenalg.find_partition(
            igraph.Graph(X.shape[0], links.tolist()),
            leidenalg.RBConfigurationVertexPartition,
            resolution_parameter=self.resolution,
            seed=seed,
        )
        self.labels_ = np.asarray(found.membership, dtype=np.int32)
        self.quality_ = float(found.quality())
        return self
