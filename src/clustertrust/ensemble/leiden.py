"""Leiden communities of a nearest-neighbour graph (Traag, Waltman and van Eck, 2019), by the
package igraph, or by leidenalg.
"""

from __future__ import annotations

import importlib
import random
import threading
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from clustertrust._errors import ParameterError
from clustertrust._types import Floats, Ints
from clustertrust.distances.metrics import Metric, is_name
from clustertrust.ensemble.spectral import neighbor_links

__all__ = ["Leiden", "SharedGraph"]

FLAVORS = ("igraph", "leidenalg")
# As in scanpy: more of them barely raise the modularity (experiments/research/leiden/flavors.py).
N_ITERATIONS = 2

# igraph has one source of random numbers for the whole process.
_one_at_a_time = threading.Lock()


class Leiden(ClusterMixin, BaseEstimator):
    """Communities of the nearest-neighbour graph; the method finds their number.

    Needs the package igraph (`pip install "clustertrust[leiden]"`).

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
    flavor : {"igraph", "leidenalg"}
        The package that finds the communities. leidenalg is slower, and as good; it is installed
        by its own name.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : (n,) communities, the largest first
    quality_ : float, the modularity reached, at this resolution

    Examples
    --------
    >>> from clustertrust.ensemble.leiden import Leiden
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
    >>> Leiden(n_neighbors=1, random_state=0).fit(X).labels_.tolist()
    [0, 0, 0, 1, 1]
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
        flavor: str = "igraph",
        random_state: Any = None,
    ) -> None:
        self.n_neighbors, self.resolution, self.random_state = n_neighbors, resolution, random_state
        self.metric, self.metric_params, self.weighted = metric, metric_params, weighted
        self.flavor = flavor

    def check_packages(self) -> None:
        """Raise for a flavor that is not known, or whose package is missing."""
        if self.flavor not in FLAVORS:
            raise ParameterError("flavor", self.flavor, "is not known", f"choose one of {FLAVORS}")
        for name in dict.fromkeys(("igraph", self.flavor)):
            try:
                importlib.import_module(name)
            except ImportError as error:
                line = "clustertrust[leiden]" if name == "igraph" else name
                raise ImportError(f'leiden needs {name}: pip install "{line}"') from error

    def fit(self, X: Any, y: Any = None) -> Leiden:
        """Find the communities of X, points (n, d) or distances (n, n); y is ignored."""
        self.check_packages()
        return self.fit_graph(self.graph(X))

    def graph(self, X: Any) -> Any:
        """Return the graph of nearest neighbours of X, with the weight of each link."""
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
        weights = _gaussian(X, source, target) if self.weighted else np.ones(source.size)
        # 64-bit positions in rows are what igraph reads without a list of each.
        links = np.column_stack([source, target]).astype(np.int64)
        igraph = importlib.import_module("igraph")
        return igraph.Graph(X.shape[0], links, edge_attrs={"weight": weights.tolist()})

    def fit_graph(self, graph: Any) -> Leiden:
        """Find the communities of a graph of igraph's whose links have a `weight`."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        find = _by_igraph if self.flavor == "igraph" else _by_leidenalg
        found = np.asarray(find(graph, float(self.resolution), seed), dtype=np.int64)
        # The largest first; of equal ones that of the first point.
        _, first, label, size = np.unique(
            found, return_index=True, return_inverse=True, return_counts=True
        )
        rank = np.empty(size.size, dtype=np.int32)
        rank[np.lexsort((first, -size))] = np.arange(size.size)
        self.labels_ = rank[label.ravel()]
        self.quality_ = float(
            graph.modularity(found.tolist(), weights="weight", resolution=self.resolution)
        )
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


class SharedGraph:
    """The graph of all points, made once for runs that differ in seed and resolution alone.

    It is that of the latest run: where runs draw their number of neighbours, each makes its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made_by: tuple[Any, ...] = ()
        self._graph: Any = None

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """Pickle as None: runs in another process make the graph themselves."""
        return type(None), ()

    def fit(self, model: Leiden, X: Any) -> Leiden:
        """Fit the model on the graph of X, the same data at every call."""
        makes = (model.n_neighbors, model.weighted, model.metric, model.metric_params)
        with self._lock:
            if self._graph is None or any(
                a is not b for a, b in zip(makes, self._made_by, strict=True)
            ):
                self._graph, self._made_by = model.graph(X), makes
            graph = self._graph
        return model.fit_graph(graph)


def _by_igraph(graph: Any, resolution: float, seed: int) -> list[int]:
    """Return the community of each point, by igraph's own Leiden."""
    igraph = importlib.import_module("igraph")
    with _one_at_a_time:
        igraph.set_random_number_generator(random.Random(seed))  # noqa: S311
        try:
            found = graph.community_leiden(
                objective_function="modularity",
                weights="weight",
                resolution=resolution,
                n_iterations=N_ITERATIONS,
            )
        finally:
            # What igraph starts with; it does not tell what was set before.
            igraph.set_random_number_generator(random)
    membership: list[int] = found.membership
    return membership


def _by_leidenalg(graph: Any, resolution: float, seed: int) -> list[int]:
    """Return the community of each point, by leidenalg."""
    leidenalg = importlib.import_module("leidenalg")
    found = leidenalg.find_partition(
        graph,
        leidenalg.RBConfigurationVertexPartition,
        resolution_parameter=resolution,
        weights="weight",
        seed=seed,
    )
    membership: list[int] = found.membership
    return membership


def _gaussian(graph: Any, source: Ints, target: Ints) -> Floats:
    """Return exp(-d²) for each link of a sparse graph of distances.

    A link that is stored in one direction serves both; missing entries read as 0 are not taken for
    a distance of 0.
    """
    there = sparse.csr_array(graph, copy=True)
    there.data = np.exp(-(np.asarray(there.data, dtype=np.float64) ** 2))
    forth, back = (np.asarray(there[ends]).ravel() for ends in ((source, target), (target, source)))
    return np.asarray(np.maximum(forth, back))
