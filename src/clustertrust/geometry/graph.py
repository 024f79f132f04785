"""Silhouettes along a graph of nearest neighbours, for clusters of any shape."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from clustertrust._errors import ParameterError
from clustertrust._validation.arguments import MOST, check_count, check_flag
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity
from clustertrust.distances.graph_shares import N_NEIGHBORS, N_STEPS, GraphShares
from clustertrust.distances.links import DistanceWalk, NearestWalk, Walk, WeightWalk
from clustertrust.ensemble.record import Ensemble
from clustertrust.geometry.base import Compute, MetricGeometry


class Graph(MetricGeometry):
    """Silhouettes by shares of short random walks along nearest neighbours that end in a cluster.

    X may be a sparse graph of distances to neighbours, with ``metric="precomputed"``.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbours that each point is linked to; None: 15. Not for X that is a graph itself.
    n_steps : int
        Steps of a walk.
    metric : str, function or :class:`~clustertrust.Metric`, optional
        None: the metric of :class:`~clustertrust.CAKE`.
    weights : bool
        For :func:`~clustertrust.confidence` and :func:`~clustertrust.audit`: X holds the weights
        of all links, such as connectivities.
    paths : bool
        Multiply by silhouettes of mean path lengths along the links. Without them scores are
        higher, for wrong labels too; single cells are ranked better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.geometry import Graph
    >>> cake = CAKE(3, geometry=Graph(n_neighbors=10), random_state=0).fit(load_iris().data)
    >>> cake.geometry_method_
    'graph'
    """

    name = "graph"
    has_coordinates = False

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        n_steps: int = N_STEPS,
        metric: Any = None,
        weights: bool = False,
        paths: bool = True,
    ) -> None:
        super().__init__(metric=metric)
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.weights = weights
        self.paths = paths

    @property
    def has_weights(self) -> bool:  # type: ignore[override]
        """Whether X holds the weights of links."""
        return bool(self.weights)

    @property
    def is_precomputed(self) -> bool:
        """Whether X holds weights or distances in place of points."""
        return self.has_weights or self.used_metric.is_precomputed

    def check(self) -> None:
        """Raise for numbers below 1, and for options that are not used with given weights."""
        super().check()
        check_flag("weights", self.weights)
        check_flag("paths", self.paths)
        check_count("n_steps", self.n_steps, at_least=1, at_most=MOST)
        if self.n_neighbors is not None:
            check_count("n_neighbors", self.n_neighbors, at_least=1, at_most=MOST)
        if self.weights and self.metric is not None:
            raise ParameterError(
                "metric",
                self.used_metric.given,
                "is not used where X holds weights ({weights=True})",
                "leave one of the two out",
            )
        if self.weights:
            self._refuse_neighbors("X holds the weights of all links ({weights=True})")

    def check_fit(self) -> None:
        """Raise for weights: the runs need points or distances."""
        self.check()
        if self.weights:
            raise ParameterError(
                "weights",
                self.weights,
                "is only for confidence(X, labels): CAKE clusters the points",
                "give the points, or their distances with {metric='precomputed'}",
            )

    def check_precomputed(self, X: Any) -> None:
        """Raise for a number of neighbours, which a sparse graph does not use."""
        if sparse.issparse(X):
            self._refuse_neighbors("X is a sparse graph, all of whose links count")

    def _refuse_neighbors(self, why: str) -> None:
        if self.n_neighbors is not None:
            raise ParameterError(
                "n_neighbors", self.n_neighbors, f"is not used where {why}", "leave it out"
            )

    def measure(self, X: Any, cells: Cells, ensemble: Ensemble, compute: Compute) -> Dissimilarity:
        """Return the shares of walks that end outside of each cluster."""
        return GraphShares(
            cells,
            self._walk(X, compute),
            n_steps=self.n_steps,
            paths=self.paths,
            n_jobs=compute.n_jobs,
        )

    def _walk(self, X: Any, compute: Compute) -> Walk:
        if self.has_weights:
            return WeightWalk(X)
        if self.is_precomputed and sparse.issparse(X):
            return DistanceWalk(X)
        k = N_NEIGHBORS if self.n_neighbors is None else self.n_neighbors
        return NearestWalk(X, k, metric=self.used_metric.fit(X), n_jobs=compute.n_jobs)
