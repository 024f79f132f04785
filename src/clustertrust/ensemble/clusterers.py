"""Names and estimators → one run: a fitted clustering of some rows, and how it places other points.

`CLUSTERERS` is the one table of names. A name stands for an estimator with a number of clusters;
from there on every clusterer is an estimator, or a function `(X, rng) -> labels`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import (
    AgglomerativeClustering,
    Birch,
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
    SpectralClustering,
)
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from clustertrust._parallel import collected_warnings, one_thread
from clustertrust._types import Ints
from clustertrust._validation import check_choice, check_label_vector
from clustertrust.distances.metrics import is_name
from clustertrust.ensemble.by_distance import BY_DISTANCE, Measured, wants_distances
from clustertrust.ensemble.hdbscan import PortableHDBSCAN
from clustertrust.ensemble.kmedoids import KMedoids
from clustertrust.ensemble.leiden import Leiden
from clustertrust.ensemble.lloyd import Ready
from clustertrust.ensemble.placing import STORED_MODELS, Nearest, Placer, Predict, Training
from clustertrust.records import Record, can_be_stored

__all__ = [
    "CLUSTERERS",
    "Run",
    "ShuffledBirch",
    "fit_run",
    "prepare",
    "runs_can_be_stored",
    "with_data",
]


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
        self.subcluster_centers_, self.subcluster_labels_ = (
            model.subcluster_centers_,
            model.subcluster_labels_,
        )
        self.labels_ = np.empty(X.shape[0], dtype=model.labels_.dtype)
        self.labels_[order] = model.labels_
        return self


# One start per run: the ensemble repeats it.
CLUSTERERS: dict[str, Callable[[int], Any]] = {
    "agglomerative": lambda k: AgglomerativeClustering(k),
    "birch": lambda k: ShuffledBirch(k),
    "bisecting-kmeans": lambda k: BisectingKMeans(k, n_init=1),
    "gmm": lambda k: GaussianMixture(k, n_init=1),
    "hdbscan": lambda k: PortableHDBSCAN(),
    "kmeans": lambda k: KMeans(k, init="k-means++", n_init=1),
    "kmeans-random": lambda k: KMeans(k, init="random", n_init=1),
    "kmedoids": lambda k: KMedoids(k),
    "leiden": lambda k: Leiden(),
    "minibatch-kmeans": lambda k: MiniBatchKMeans(k, n_init=1),
    "spectral": lambda k: SpectralClustering(k, affinity="nearest_neighbors", n_init=1),
}
DEFAULT_CLUSTERS = 8  # for named clusterers, as in scikit-learn


@dataclass(frozen=True)
class Run(Record):
    """The record of one fit.

    Attributes
    ----------
    labels : (n,) -1 where the point is not assigned
    placer : places unseen points; None if the method cannot
    centers : (k, d) centre of each label, if the method has centres
    method, seed, params : which clusterer, its seed, and the parameters drawn for this run
    objective, iterations, seconds : of the fit, NaN if the method does not report it
    warnings : warnings of the method
    """

    labels: Annotated[Ints, "i n"]
    placer: Placer | None = field(repr=False)
    centers: Annotated[NDArray, "f! k d"] | None = field(repr=False)
    method: str
    seed: int | None
    params: dict[str, Any]
    objective: float = np.nan
    iterations: float = np.nan
    seconds: float = np.nan
    warnings: tuple[str, ...] = ()

    def _to_stored(self) -> dict[str, Any]:
        """Return its fields; a placer that cannot be stored is left out, parameters are text."""
        params = {
            name: value if can_be_stored(value) else repr(value)
            for name, value in self.params.items()
        }
        placer = self.placer if can_be_stored(self.placer) else None
        return super()._to_stored() | {"placer": placer, "params": params}


def with_data(run: Run, X: Any) -> Run:
    """Return the run with these training data, if it needs them to place points; None: without."""
    if not isinstance(run.placer, Training):
        return run
    return replace(run, placer=run.placer.on(X))


def cluster_parameter(estimator: Any) -> str | None:
    """Return the name of the parameter for the number of clusters: n_clusters or n_components.

    In a Pipeline it is that of the last step.
    """
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    known = estimator.get_params()
    return next(
        (prefix + name for name in ("n_clusters", "n_components") if prefix + name in known), None
    )


def parameter(estimator: Any, name: str) -> str | None:
    """Return the estimator's name for a parameter to vary, or None.

    The last step of a Pipeline needs no prefix.
    """
    if name == "n_clusters":
        return cluster_parameter(estimator)
    known = estimator.get_params()
    if name in known:
        return name
    prefixed = f"{estimator.steps[-1][0]}__{name}" if isinstance(estimator, Pipeline) else name
    return prefixed if prefixed in known else None


def prepare(clusterer: Any, n_clusters: int | None, metric: Any = "euclidean") -> tuple[str, Any]:
    """Return the method's name, and the estimator or function with its number of clusters set.

    A name stands for an estimator by distance where the metric is not the Euclidean and there is
    one.
    """
    if isinstance(clusterer, str):
        check_choice("clusterer", clusterer, CLUSTERERS)
        straight = isinstance(metric, str) and metric in ("euclidean", "l2")
        known = CLUSTERERS if straight else CLUSTERERS | BY_DISTANCE
        k = DEFAULT_CLUSTERS if n_clusters is None else n_clusters
        name, estimator = clusterer, known[clusterer](k)
    elif isinstance(clusterer, type) or not (hasattr(clusterer, "fit") or callable(clusterer)):
        raise TypeError(
            f"clusterer={clusterer!r} must be a name, an estimator (an instance, not a class), a "
            "function (X, rng) -> labels, or a list of these."
        )
    elif not hasattr(clusterer, "fit"):
        if n_clusters is not None:
            raise ValueError(
                f"n_clusters={n_clusters} cannot be passed to the function {clusterer!r}; leave it "
                "out."
            )
        return getattr(clusterer, "__name__", type(clusterer).__name__), clusterer
    else:
        last = clusterer.steps[-1][1] if isinstance(clusterer, Pipeline) else clusterer
        name, estimator = type(last).__name__, clone(clusterer)
    if n_clusters is not None:
        key = cluster_parameter(estimator)
        if key is None:
            raise ValueError(
                f"n_clusters={n_clusters} cannot be set: {name} has no n_clusters or n_components."
            )
        estimator.set_params(**{key: n_clusters})
    return name, estimator


def is_random(estimator: Any) -> bool:
    """Return whether the seed of a run can change its result."""
    return not hasattr(estimator, "get_params") or bool(_seed_parameters(estimator))


def _seed_parameters(estimator: Any) -> list[str]:
    return [
        name
        for name in estimator.get_params()
        if name == "random_state" or name.endswith("__random_state")
    ]


def draw_params(estimator: Any, vary: Mapping[str, Sequence[Any]], seed: int) -> dict[str, Any]:
    """Draw a value of each varied parameter that the estimator has."""
    if not vary:
        return {}
    rng = np.random.default_rng([seed, 1])  # a stream of its own, apart from the sample's
    drawn = {}
    for name, values in vary.items():
        value = values[
            int(rng.integers(len(values)))
        ]  # drawn even if not used, so that runs do not shift each other
        key = parameter(estimator, name) if hasattr(estimator, "get_params") else None
        if key is not None:
            drawn[key] = value
    return drawn


def fit_run(
    X: Any,
    method: str,
    estimator: Any,
    seed: int,
    *,
    vary: Mapping[str, Sequence[Any]],
    resample: float | str | None,
    left_out: str,
    shared: Ready | None = None,
    measured: Measured | None = None,
) -> Run:
    """Fit one run; all its randomness follows from `seed`.

    `shared` is X prepared for k-means, `measured` X with its distances, if those are not the
    Euclidean ones.
    """
    began = time.perf_counter()
    is_function = not hasattr(estimator, "fit")
    rng = np.random.default_rng(seed) if is_function or resample is not None else None
    n = X.shape[0]
    sample = _sample(n, resample, rng)
    params = draw_params(estimator, vary, seed)
    with one_thread(), collected_warnings as caught:
        model: Any = None
        placer: Placer | None = None
        centers: NDArray | None = None
        found: Ints
        if is_function:
            rows = _rows(X, sample, measured)
            found, _ = check_label_vector(f"what {method} returned", estimator(rows, rng))
        else:
            model = _seeded(estimator, params, seed)
            if measured is not None and wants_distances(model):
                found, placer = measured.fit(model, sample)
            else:
                rows = _rows(X, sample, measured)
                found, placer, centers = _fit(model, rows, shared if sample is None else None)
        size = n if sample is None else len(sample)
        if len(found) != size:
            raise ValueError(f"{method} returned {len(found)} labels for {size} points.")
        if placer is None:
            training = Training(X, sample, found)
            placer = training if measured is None else measured.placer(sample, found)
        labels = found
        if sample is not None:
            labels = placer(X) if left_out == "predict" else np.full(n, -1)
            drawn, first = np.unique(sample, return_index=True)
            labels[drawn] = found[first]  # if drawn twice, the first, as the placer does
    return Run(
        labels=np.asarray(labels, dtype=np.int32),
        placer=placer,
        centers=centers,
        method=method,
        seed=seed,
        params=params,
        objective=_attribute(model, "inertia_", "lower_bound_", "quality_"),
        iterations=_attribute(model, "n_iter_"),
        seconds=time.perf_counter() - began,
        warnings=tuple(dict.fromkeys(str(warning.message) for warning in caught)),
    )


def _rows(X: Any, sample: Ints | None, measured: Measured | None) -> Any:
    """Return the rows to fit on; of given distances the columns too."""
    if measured is not None and measured.metric.is_precomputed:
        return measured.among(sample)
    return X if sample is None else X[sample]


def _seeded(estimator: Any, params: dict[str, Any], seed: int) -> Any:
    """Copy the estimator with the parameters of this run, and its seed wherever it takes one."""
    if (
        type(estimator) is KMeans
    ):  # it holds only parameters; `clone` and `set_params` take as long as clustering
        model = copy(estimator)
        vars(model).update(params, random_state=seed)
        return model
    model = clone(estimator).set_params(**params)
    return model.set_params(**dict.fromkeys(_seed_parameters(model), seed))


def _sample(n: int, resample: float | str | None, rng: np.random.Generator | None) -> Ints | None:
    """Draw the rows to fit on: a share without replacement, or n with; None: all, without `rng`."""
    if resample is None or rng is None:
        return None
    if resample == "bootstrap":
        return np.sort(rng.integers(n, size=n))
    return np.sort(rng.choice(n, int(np.floor(float(resample) * n + 1e-9)), replace=False))


def _is_round(model: Any) -> bool:
    """Return whether a cluster is what is nearest to its centre."""
    by_distance = isinstance(model, KMedoids) and is_name(model.metric, "euclidean")
    return by_distance or isinstance(model, KMeans | MiniBatchKMeans)


def runs_can_be_stored(estimator: Any) -> bool:
    """Return whether runs of an estimator or function, fitted or not, can be stored.

    All can that place points by centres or by the nearest training point; those that place them by
    a model of their own can if files can hold that model.
    """
    if _is_round(estimator) or isinstance(estimator, Birch | ShuffledBirch):
        return True
    by_model = hasattr(estimator, "predict") and not wants_distances(estimator)
    return not by_model or type(estimator) in STORED_MODELS


def _fit(model: Any, X: Any, shared: Ready | None) -> tuple[Ints, Placer | None, NDArray | None]:
    """Fit; return labels, the placer of unseen points (None: the method has none), and centres.

    If our own rule places points, it labels the training points too, so they get their labels back.
    It agrees with the fit except for points that are equally far from two centres, to the last
    digit.
    """
    if shared is not None and shared.fit(model):
        centers = np.asarray(model.cluster_centers_, dtype=np.float64)
        return shared.nearest(centers), Nearest(centers, np.arange(len(centers))), centers
    if _is_round(model):
        centers = np.asarray(model.fit(X).cluster_centers_, dtype=np.float64)
        by_center = Nearest(centers, np.arange(len(centers)))
        return by_center(X), by_center, centers
    if isinstance(model, Birch | ShuffledBirch):
        model.fit(X)
        by_center = Nearest(
            np.asarray(model.subcluster_centers_, dtype=np.float64),
            np.asarray(model.subcluster_labels_),
        )
        return by_center(X), by_center, None
    if hasattr(model, "predict"):
        model.fit(X)
        labels = np.asarray(model.labels_ if hasattr(model, "labels_") else model.predict(X))
        means = getattr(model, "means_", None)
        return (
            labels,
            Predict(model, X.dtype),
            None if means is None else np.asarray(means, dtype=np.float64),
        )
    return np.asarray(model.fit_predict(X)), None, None


def _attribute(model: Any, *names: str) -> float:
    model = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return next((float(getattr(model, name)) for name in names if hasattr(model, name)), np.nan)
