"""Clusterers that need only distances: those by any metric, or given in place of points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering
from sklearn.utils import get_tags

from clustertrust._types import Ints
from clustertrust._validation import warn_user
from clustertrust.distances.metrics import Metric, is_coordinate_free, is_name
from clustertrust.distances.precomputed import among
from clustertrust.ensemble.graphs import NeighbourSpectral
from clustertrust.ensemble.hdbscan import PortableHDBSCAN
from clustertrust.ensemble.kmedoids import KMedoids
from clustertrust.ensemble.leiden import Leiden
from clustertrust.ensemble.placing import Columns, Nearest, Placer, Training

__all__ = [
    "BY_DISTANCE",
    "TAKES_GRAPH",
    "Measured",
    "check_methods",
    "check_room",
    "hold",
    "wants_distances",
    "warn_of_coordinates",
]

# The named clusterers that take any distance: estimators that are fitted on distances.
BY_DISTANCE: dict[str, Callable[[int], Any]] = {
    "agglomerative": lambda k: AgglomerativeClustering(k, metric="precomputed", linkage="average"),
    "hdbscan": lambda k: PortableHDBSCAN(metric="precomputed"),
    "kmedoids": lambda k: KMedoids(k, metric="precomputed"),
    "leiden": lambda k: Leiden(metric="precomputed"),
    "spectral": lambda k: NeighbourSpectral(k),
}
TAKES_GRAPH = ("hdbscan", "leiden", "spectral")
# Those that need only some distances at a time, and so no matrix of all of them.
_PIECEWISE = (KMedoids, Leiden, NeighbourSpectral)
GIVEN = Metric("precomputed")
_STRAIGHT = ("euclidean", "l2", "sqeuclidean")  # what k-means and the like cluster by


def wants_distances(estimator: Any) -> bool:
    """Return whether an estimator is fitted on a matrix of distances."""
    if not hasattr(estimator, "fit"):
        return False
    if is_name(getattr(estimator, "metric", None), "precomputed"):  # not all say so in their tags
        return True
    return hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).input_tags.pairwise


def check_methods(methods: tuple[tuple[str, Any], ...], metric: Any) -> None:
    """Raise for a clusterer that cannot use the distances.

    Distances that are given, and Gower's, are no coordinates: a clusterer that needs points cannot
    go with them. Functions get what `fit` gets.
    """
    no_points = is_coordinate_free(metric)
    for name, estimator in methods:
        if wants_distances(estimator):
            if getattr(estimator, "affinity", None) == "precomputed":
                raise ValueError(
                    f"clusterer={estimator!r} takes similarities, and metric={metric!r} gives "
                    "distances; clusterer='spectral' makes a graph of them."
                )
        elif no_points and hasattr(estimator, "fit"):
            raise ValueError(
                f"clusterer={name!r} needs points with coordinates, which metric={metric!r} does "
                f"not give; choose one of {sorted(BY_DISTANCE)}, a scikit-learn estimator with "
                "metric='precomputed', or a function (distances, rng) -> labels."
            )


def warn_of_coordinates(methods: tuple[tuple[str, Any], ...], metric: Any) -> None:
    """Warn of clusterers that do not use the metric of the silhouettes."""
    if isinstance(metric, str) and metric in _STRAIGHT:
        return
    for name, estimator in methods:
        if (
            hasattr(estimator, "fit")
            and not wants_distances(estimator)
            and getattr(estimator, "metric", None) != metric
        ):
            warn_user(
                f"clusterer={name!r} clusters by coordinates; only the silhouettes use "
                f"metric={metric!r}. {sorted(BY_DISTANCE)} cluster by the metric too."
            )


@dataclass(frozen=True)
class Measured:
    """The training data of runs by distance.

    Attributes
    ----------
    X : the points, or their distances (n, n) if those are given
    metric : the distance, with all that it takes from the data
    held : all distances (n, n), shared by the runs; None: each run makes those that it needs
    """

    X: Any
    metric: Metric
    held: Any = None

    @property
    def _matrix(self) -> Any:
        return self.X if self.metric.is_precomputed else self.held

    def among(self, rows: Ints | None) -> Any:
        """Return the distances among some of the points; None: all."""
        if self._matrix is not None:
            return among(self._matrix, rows)
        return self.metric.among(self.X if rows is None else self.X[rows], n_jobs=1)

    def fit(self, model: Any, rows: Ints | None) -> tuple[Ints, Placer]:
        """Fit a model on some of the points; return their labels, and what places others."""
        own = isinstance(model, _PIECEWISE)
        if self._matrix is None and own:
            points = self.X if rows is None else self.X[rows]
            model.set_params(metric=self.metric).fit(points)
        else:
            if own:  # as a record: the distances are checked already
                model.set_params(metric=GIVEN)
            model.fit(self.among(rows))
        labels = np.asarray(model.labels_)
        if not isinstance(model, KMedoids):
            return labels, self.placer(rows, labels)
        medoids = model.medoid_indices_
        positions = medoids if rows is None else rows[medoids]
        placer = self.placer(positions, np.arange(len(medoids)), by_center=True)
        return placer(self.X if rows is None else self.X[rows]), placer

    def placer(self, rows: Ints | None, labels: Ints, *, by_center: bool = False) -> Placer:
        """Return what gives points the label of the nearest of the points at `rows`."""
        if self.metric.is_precomputed:
            return Columns(rows, labels, self.X.shape[0])
        if by_center:
            centers = self.X[rows]
            dense = centers.toarray() if sparse.issparse(centers) else centers
            return Nearest(dense, labels, self.metric)
        return Training(self.X, rows, labels, self.metric)


def hold(X: Any, metric: Metric, n_jobs: int | None) -> Any:
    """Return all distances among the points (n, n) where they fit into memory, else None."""
    return metric.among(X, n_jobs) if _fits(X.shape[0]) else None


def _fits(n: int) -> bool:
    """Return whether n² distances are within scikit-learn's working memory."""
    return bool(8 * n * n <= sklearn.get_config()["working_memory"] * 2**20)


def check_room(estimators: list[Any], n: int) -> None:
    """Raise if some need all distances among n points at once, and these exceed the memory.

    Called before the runs: their threads do not see what the caller's thread has configured.
    """
    if not _fits(n) and not all(isinstance(one, _PIECEWISE) for one in estimators):
        needed = int(np.ceil(8 * n * n / 2**20))
        raise ValueError(
            f"All distances of {n} points take {needed} MiB, more than scikit-learn's "
            f"working_memory. Allow it with sklearn.set_config(working_memory={needed}), fit on "
            "fewer points with resample, or choose clusterer='kmedoids', 'leiden' or 'spectral'."
        )
