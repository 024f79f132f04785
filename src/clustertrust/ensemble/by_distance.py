"""Clusterers that need only distances: those by any metric, or given in place of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.utils import get_tags

from clustertrust._errors import InputError
from clustertrust._types import Ints
from clustertrust.distances.metrics import Metric, is_name
from clustertrust.distances.precomputed import among
from clustertrust.ensemble.placing import Nearest, NearestTrainingPoint, Placer, PrecomputedNearest

GIVEN = Metric("precomputed")


def wants_distances(estimator: Any) -> bool:
    """Return whether an estimator is fitted on a matrix of distances."""
    if not hasattr(estimator, "fit"):
        return False
    # Not all say so in their tags.
    if is_name(getattr(estimator, "metric", None), "precomputed"):
        return True
    return hasattr(estimator, "__sklearn_tags__") and get_tags(estimator).input_tags.pairwise


def is_piecewise(estimator: Any) -> bool:
    """Return whether an estimator of ours asks for some distances at a time, never for all."""
    return getattr(estimator, "takes_distances_piecewise", False)


@dataclass(frozen=True)
class DistanceData:
    """The training data of runs by distance.

    Attributes
    ----------
    X : the points, or their distances (n, n) if those are given
    metric : the distance, with all that it takes from the data
    cached : all distances (n, n), shared by the runs; None: each run makes those that it needs
    """

    X: Any
    metric: Metric
    cached: Any = None

    @property
    def _matrix(self) -> Any:
        return self.X if self.metric.is_precomputed else self.cached

    def among(self, rows: Ints | None) -> Any:
        """Return the distances among some of the points; None: all."""
        if self._matrix is not None:
            return among(self._matrix, rows)
        return self.metric.among(self.X if rows is None else self.X[rows], n_jobs=1)

    def fit(self, model: Any, rows: Ints | None, shared: Any = None) -> tuple[Ints, Placer]:
        """Fit a model on some of the points; return their labels, and what places others.

        `shared` is what runs on all points share, if anything.
        """
        own = is_piecewise(model)
        if self._matrix is None and own:
            data = self.X if rows is None else self.X[rows]
            model.set_params(metric=self.metric)
        else:
            # As a record: the distances are checked already.
            if own:
                model.set_params(metric=GIVEN)
            data = self.among(rows)
        if shared is None:
            model.fit(data)
        else:
            shared.fit(model, data)
        labels = np.asarray(model.labels_)
        if not hasattr(model, "medoid_indices_"):
            return labels, self.placer(rows, labels)
        medoids = model.medoid_indices_
        positions = medoids if rows is None else rows[medoids]
        placer = self.placer(positions, np.arange(len(medoids)), by_center=True)
        return placer(self.X if rows is None else self.X[rows]), placer

    def placer(self, rows: Ints | None, labels: Ints, *, by_center: bool = False) -> Placer:
        """Return what gives points the label of the nearest of the points at `rows`."""
        if self.metric.is_precomputed:
            return PrecomputedNearest(rows, labels, self.X.shape[0])
        if by_center:
            centers = self.X[rows]
            dense = centers.toarray() if sparse.issparse(centers) else centers
            return Nearest(dense, labels, self.metric)
        return NearestTrainingPoint(self.X, rows, labels, self.metric)


def cached_distances(X: Any, metric: Metric, n_jobs: int | None) -> Any:
    """Return all distances among the points (n, n) where they fit into memory, else None."""
    return metric.among(X, n_jobs) if _fits(X.shape[0]) else None


def _fits(n: int) -> bool:
    """Return whether n² distances are within scikit-learn's working memory."""
    return bool(8 * n * n <= sklearn.get_config()["working_memory"] * 2**20)


def check_memory(estimators: list[Any], n: int) -> None:
    """Raise if some need all distances among n points at once, and these exceed the memory.

    Called before the runs: their threads do not see what the caller's thread has configured.
    """
    if not _fits(n) and not all(map(is_piecewise, estimators)):
        needed = int(np.ceil(8 * n * n / 2**20))
        raise InputError(
            f"All distances of {n} points take {needed} MiB, more than scikit-learn's "
            f"working_memory. Allow it with sklearn.set_config(working_memory={needed}), fit on "
            "fewer points with {resample}, or choose {clusterer='kmedoids'}, 'leiden' or "
            "'spectral'."
        )
