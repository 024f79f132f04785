"""Clusterers as objects: one for each name, which owns all that is special about it.

`CLUSTERERS` is the one table of names. A clusterer makes an estimator, fits it, and says how the
runs place unseen points; any other scikit-learn estimator is an `EstimatorClusterer`. Your own
subclass of `Clusterer` is passed as ``CAKE(clusterer=Mine())``.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import (
    AgglomerativeClustering,
    Birch,
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
    SpectralClustering,
)
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from clustertrust._types import Array, Floats, Ints
from clustertrust.distances.metrics import is_name
from clustertrust.ensemble.hdbscan import PortableHDBSCAN
from clustertrust.ensemble.kmedoids import KMedoids
from clustertrust.ensemble.leiden import Leiden, SharedGraph
from clustertrust.ensemble.lloyd import PreparedData, prepare_data
from clustertrust.ensemble.mixture import fit_mixture
from clustertrust.ensemble.placing import Nearest, Placer, Predict
from clustertrust.ensemble.spectral import NeighborSpectral, spectral_labels


class ShuffledBirch(ClusterMixin, BaseEstimator):
    """BIRCH on rows in random order.

    BIRCH is deterministic, but its clusters depend on the order of the rows.
    """

    def __init__(
        self, n_clusters: int | None = 8, *, threshold: float = 0.5, random_state: Any = None
    ) -> None:
        self.n_clusters, self.threshold, self.random_state = n_clusters, threshold, random_state

    def fit(self, X: Any, y: Any = None) -> ShuffledBirch:
        """Cluster X; y is ignored."""
        order = check_random_state(self.random_state).permutation(X.shape[0])
        model = Birch(n_clusters=self.n_clusters, threshold=self.threshold).fit(X[order])
        self.subcluster_centers_ = model.subcluster_centers_
        self.subcluster_labels_ = model.subcluster_labels_
        self.labels_ = np.empty(X.shape[0], dtype=model.labels_.dtype)
        self.labels_[order] = model.labels_
        return self


class FittedRun(NamedTuple):
    """What a fit returns.

    Attributes
    ----------
    labels : (n,) labels of the rows that were fitted; -1: not assigned
    placer : function that labels other points (n, d); None: they take the label of the nearest
        training point
    centers : (k, d) centre of each cluster, or None
    """

    labels: Ints
    placer: Placer | None = None
    centers: Floats | None = None


class Clusterer:
    """One way to make runs; base class of the named clusterers and of your own.

    A subclass needs `name` and `estimator`; the rest has defaults that suit any scikit-learn
    clusterer. `fit` may return its own placer: a function of points (n, d) that gives labels
    (n,).

    Attributes
    ----------
    name : what `Ensemble.summary` says
    takes_k : whether the estimator takes a number of clusters; otherwise it finds one
    takes_graph : whether runs by distance work on a sparse graph of neighbours
    in_blocks : how runs on a sample continue over all rows of data larger than memory: "" (they do
        not), "lloyd" or "mini-batches"
    in_step : whether runs on the same rows are those of k-means, and are fitted all at once
    storable : whether a model of its runs can be saved
    takes_directions : whether `metric="cosine"` clusters rows that are scaled to unit length;
        `fit` returns a `Nearest` then
    """

    name: ClassVar[str] = "own"
    takes_k: ClassVar[bool] = True
    takes_graph: ClassVar[bool] = False
    in_blocks: ClassVar[str] = ""
    in_step: ClassVar[bool] = False
    storable: ClassVar[bool] = True
    takes_directions: ClassVar[bool] = False
    # Estimators, given in place of a name, that are clustered in the same way.
    kinds: ClassVar[tuple[type[Any], ...]] = ()

    def estimator(self, k: int) -> Any:
        """Return the estimator with k clusters; it is cloned and seeded for each run."""
        raise NotImplementedError(f"{type(self).__name__} needs a method estimator.")

    def by_distance(self, k: int) -> Any:
        """Return the estimator that is fitted on distances; None if there is none."""
        return None

    @property
    def takes_distances(self) -> bool:
        """Whether runs can be made by any metric, or of given distances."""
        return self.by_distance(2) is not None

    def fewest_points(self, k: int) -> int:
        """Return the fewest points on which the estimator finds k clusters."""
        return k

    def is_round(self, estimator: Any) -> bool:
        """Return whether clusters gather around a centre, as the components of a mixture do."""
        return False

    def prepare(self, estimator: Any, X: Any, threads: int = 1) -> Any:
        """Return what runs on all of X share, made once by so many threads; None if there is
        nothing.
        """
        return None

    def fit(self, model: Any, X: Any, shared: Any = None) -> FittedRun:
        """Fit a seeded estimator; `shared` is what `prepare` made of X, or None."""
        if not hasattr(model, "predict"):
            return FittedRun(np.asarray(model.fit_predict(X)))
        model.fit(X)
        labels = np.asarray(model.labels_ if hasattr(model, "labels_") else model.predict(X))
        means = getattr(model, "means_", None)
        centers = None if means is None else np.asarray(means, dtype=np.float64)
        return FittedRun(labels, Predict(model, X.dtype), centers)


class EstimatorClusterer(Clusterer):
    """Any scikit-learn clusterer, mixture or Pipeline for which there is no special clusterer."""

    storable = False


def _by_centers(centers: Array, labels: Ints, X: Any) -> tuple[Ints, Nearest]:
    """Label points by the nearest centre, as unseen ones will be, so that they agree."""
    placer = Nearest(np.asarray(centers, dtype=np.float64), labels)
    return placer(X), placer


class _Round(Clusterer):
    """Clusters that gather around a centre."""

    def is_round(self, estimator: Any) -> bool:
        return True


class _Centered(_Round):
    """Clusters around centres; a point belongs to the nearest.

    The rule that places unseen points labels the training points too, so they get their labels
    back. It agrees with the fit but for points that are equally far from two centres, to the last
    digit.
    """

    def fit(self, model: Any, X: Any, shared: Any = None) -> FittedRun:
        centers = model.fit(X).cluster_centers_
        labels, placer = _by_centers(centers, np.arange(len(centers)), X)
        return FittedRun(labels, placer, placer.centers)


class GivenKMeans(_Centered):
    """scikit-learn's `KMeans`, given as an estimator: its own fit, to the last bit."""

    name, in_blocks, kinds, takes_directions = "KMeans", "lloyd", (KMeans,), True


class _KMeans(_Centered):
    """k-means of our own, from scikit-learn's starts."""

    name, in_blocks, in_step, takes_directions = "kmeans", "lloyd", True, True
    init = "k-means++"

    def estimator(self, k: int) -> Any:
        return KMeans(k, init=self.init, n_init=1)

    def prepare(self, estimator: Any, X: Any, threads: int = 1) -> PreparedData | None:
        return prepare_data(X, threads=threads) if type(estimator) is KMeans else None

    def fit(self, model: Any, X: Any, shared: Any = None) -> FittedRun:
        data = self.prepare(model, X) if shared is None else shared
        if data is None or not data.suits(model):
            return super().fit(model, X)
        _, run = next(data.fit([model]))
        if run is None:
            return super().fit(model, X)
        model.inertia_, model.n_iter_ = run.inertia, run.n_iter
        placer = Nearest(run.centers, np.arange(len(run.centers)))
        return FittedRun(run.labels, placer, run.centers)


class _RandomKMeans(_KMeans):
    name, init = "kmeans-random", "random"


class _MiniBatchKMeans(_Centered):
    name, in_blocks, kinds = "minibatch-kmeans", "mini-batches", (MiniBatchKMeans,)
    takes_directions = True

    def estimator(self, k: int) -> Any:
        return MiniBatchKMeans(k, n_init=1)


class _KMedoids(_Centered):
    name, kinds = "kmedoids", (KMedoids,)

    def estimator(self, k: int) -> Any:
        return KMedoids(k)

    def by_distance(self, k: int) -> Any:
        return KMedoids(k, metric="precomputed")

    def fit(self, model: Any, X: Any, shared: Any = None) -> FittedRun:
        # Medoids of another metric are nearest by that metric alone.
        own = _Centered if is_name(model.metric, "euclidean") else Clusterer
        return own.fit(self, model, X)


class _Birch(_Round):
    name, kinds = "birch", (Birch, ShuffledBirch)

    def estimator(self, k: int) -> Any:
        return ShuffledBirch(k)

    def fit(self, model: Any, X: Any, shared: Any = None) -> FittedRun:
        model.fit(X)
        labels = np.asarray(model.subcluster_labels_)
        return FittedRun(*_by_centers(model.subcluster_centers_, labels, X))


class _BisectingKMeans(_Round):
    name, storable, kinds = "bisecting-kmeans", False, (BisectingKMeans,)

    def estimator(self, k: int) -> Any:
        return BisectingKMeans(k, n_init=1)


class GivenMixture(_Round):
    """scikit-learn's mixtures, given as estimators: their own fit, to the last bit."""

    name = "gmm"
    kinds: ClassVar[tuple[type[Any], ...]] = (GaussianMixture, BayesianGaussianMixture)

    def fit(self, model: Any, X: Any, shared: Any = None) -> FittedRun:
        """Fit the model itself."""
        model.fit(X)
        return self._place(model, X)

    def _place(self, model: Any, X: Any) -> FittedRun:
        # By the rule for unseen points, so that they agree.
        placer = Predict(model, X.dtype)
        return FittedRun(placer(X), placer, np.asarray(model.means_, dtype=np.float64))


class _Mixture(GivenMixture):
    """A mixture of our own, equal to scikit-learn's but for rounding."""

    kinds = ()

    def estimator(self, k: int) -> Any:
        return GaussianMixture(k, n_init=1)

    def fit(self, model: Any, X: Any, shared: Any = None) -> FittedRun:
        """Fit it in double precision: in single, covariances of few directions are singular."""
        X = np.asarray(X, dtype=np.float64) if isinstance(X, np.ndarray) else X
        return self._place(model, X) if fit_mixture(model, X) else super().fit(model, X)


class _Agglomerative(Clusterer):
    name, kinds = "agglomerative", (AgglomerativeClustering,)

    def estimator(self, k: int) -> Any:
        return AgglomerativeClustering(k)

    def by_distance(self, k: int) -> Any:
        return AgglomerativeClustering(k, metric="precomputed", linkage="average")

    def is_round(self, estimator: Any) -> bool:
        return bool(estimator.linkage == "ward")


class _HDBSCAN(Clusterer):
    name, takes_k, takes_graph = "hdbscan", False, True

    def estimator(self, k: int) -> Any:
        return PortableHDBSCAN()

    def by_distance(self, k: int) -> Any:
        return PortableHDBSCAN(metric="precomputed")


class _Leiden(Clusterer):
    name, takes_k, takes_graph = "leiden", False, True
    kinds: ClassVar[tuple[type[Any], ...]] = (Leiden,)

    def estimator(self, k: int) -> Any:
        return Leiden()

    def by_distance(self, k: int) -> Any:
        return Leiden(metric="precomputed")

    def prepare(self, estimator: Any, X: Any, threads: int = 1) -> SharedGraph:
        return SharedGraph()

    def fit(self, model: Any, X: Any, shared: Any = None) -> FittedRun:
        fitted = model.fit(X) if shared is None else shared.fit(model, X)
        return FittedRun(np.asarray(fitted.labels_))


class _Spectral(Clusterer):
    name, takes_graph = "spectral", True

    def estimator(self, k: int) -> Any:
        return SpectralClustering(k, affinity="nearest_neighbors", n_init=1)

    def by_distance(self, k: int) -> Any:
        return NeighborSpectral(k)

    def fewest_points(self, k: int) -> int:
        # Each point is linked to ten, itself among them; SciPy's solver finds fewer eigenvectors
        # than points.
        return max(10, k + 1)

    def fit(self, model: Any, X: Any, shared: Any = None) -> FittedRun:
        labels = spectral_labels(model, X)
        return super().fit(model, X) if labels is None else FittedRun(labels)


# One start per run: the ensemble repeats it. A clusterer of your own can be added under a name.
CLUSTERERS: dict[str, Clusterer] = {
    "agglomerative": _Agglomerative(),
    "birch": _Birch(),
    "bisecting-kmeans": _BisectingKMeans(),
    "gmm": _Mixture(),
    "hdbscan": _HDBSCAN(),
    "kmeans": _KMeans(),
    "kmeans-random": _RandomKMeans(),
    "kmedoids": _KMedoids(),
    "leiden": _Leiden(),
    "minibatch-kmeans": _MiniBatchKMeans(),
    "spectral": _Spectral(),
}
# Those of estimators that are given, apart from the named ones
_GIVEN = (GivenKMeans(), GivenMixture(), EstimatorClusterer())


def last_step(estimator: Any) -> Any:
    """Return the estimator, or the last step of a Pipeline."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def clusterer_of(estimator: Any) -> Clusterer:
    """Return the clusterer that knows a given estimator; any other is fitted as it is."""
    known = (*CLUSTERERS.values(), *_GIVEN)
    return next((own for own in known if isinstance(estimator, own.kinds)), _GIVEN[-1])


def names_by_distance(*, cosine: bool = False) -> list[str]:
    """Return the names of the clusterers that take any distance, or that take the cosine."""
    return sorted(
        name
        for name, own in CLUSTERERS.items()
        if own.takes_distances or (cosine and own.takes_directions)
    )
