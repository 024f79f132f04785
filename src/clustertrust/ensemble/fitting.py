"""One run: an estimator with its clusterer, seeded and fitted on some rows."""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import Pipeline

from clustertrust._caught import collected_warnings
from clustertrust._errors import ParameterError, ParameterTypeError
from clustertrust._parallel import one_thread
from clustertrust._types import Array, Ints
from clustertrust._validation.arguments import check_choice
from clustertrust._validation.labels import check_label_vector
from clustertrust.distances.metrics import Metric
from clustertrust.ensemble.by_distance import DistanceData, wants_distances
from clustertrust.ensemble.clusterers import (
    CLUSTERERS,
    Clusterer,
    FittedRun,
    clusterer_of,
    last_step,
)
from clustertrust.ensemble.placing import Nearest, NearestTrainingPoint, Placer
from clustertrust.records import Record, can_be_stored

# For named clusterers, as in scikit-learn.
DEFAULT_CLUSTERS = 8
# Estimators whose parameters are all that they hold before a fit
_PLAIN = (KMeans, GaussianMixture, SpectralClustering)


@dataclass(frozen=True)
class RunWarning(Record):
    """A warning that a clusterer gave during a run.

    `kind` names its category. Nothing is imported because a file names it: a category that nobody
    has defined by now is a UserWarning.
    """

    message: str
    kind: str

    @property
    def category(self) -> type[Warning]:
        """The category, if it is known."""
        module, _, name = self.kind.partition(":")
        category = getattr(sys.modules.get(module), name, None)
        if isinstance(category, type) and issubclass(category, Warning):
            return category
        return UserWarning


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
    centers: Annotated[Array, "f! k d"] | None = field(repr=False)
    method: str
    seed: int | None
    params: dict[str, Any]
    objective: float = np.nan
    iterations: float = np.nan
    seconds: float = np.nan
    warnings: tuple[RunWarning, ...] = ()

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
    if not isinstance(run.placer, NearestTrainingPoint):
        return run
    return replace(run, placer=run.placer.on(X))


def on_directions(run: Run) -> Run:
    """Return a run that was fitted on rows of unit length, as one of the rows themselves.

    Its centres are none of theirs.
    """
    assert isinstance(run.placer, Nearest)
    placer = replace(run.placer, of_directions=True)
    return replace(run, placer=placer, centers=None, method=f"{run.method} on unit rows")


@dataclass(frozen=True)
class Method:
    """A clusterer with its estimator, or a function `(X, rng) -> labels`.

    Attributes
    ----------
    name : of the clusterer, the estimator or the function
    estimator : the estimator with its number of clusters, or the function
    clusterer : how it is fitted
    has_default_k : whether it took the default number of clusters
    """

    name: str
    estimator: Any
    clusterer: Clusterer
    has_default_k: bool = False

    @property
    def is_function(self) -> bool:
        """Whether it is a function, which has nothing to set."""
        return not hasattr(self.estimator, "fit")

    @property
    def k(self) -> tuple[str | None, Any]:
        """The parameter for the number of clusters, and that number; else None, 0."""
        if not hasattr(self.estimator, "get_params"):
            return None, 0
        key = parameter(self.estimator, "n_clusters")
        return (key, _params(self.estimator)[key]) if key else (None, 0)

    def with_k(self, k: int) -> Method:
        """Return the method with another number of clusters, if it takes one."""
        key, _ = self.k
        if key is None:
            return self
        return replace(self, estimator=_with_params(self.estimator, {key: k}))

    @property
    def is_round(self) -> bool:
        """Whether its clusters gather around a centre."""
        last = last_step(self.estimator)
        return not self.is_function and clusterer_of(last).is_round(last)

    def takes_directions(self, metric: Metric) -> bool:
        """Return whether it clusters rows of unit length, because of this metric."""
        return metric.is_cosine and self.clusterer.takes_directions


def _params(estimator: Any) -> Mapping[str, Any]:
    """Return the parameters of an estimator that is not fitted, those of its parts included."""
    # `get_params` reads the signature anew each time.
    own: Mapping[str, Any] = (
        vars(estimator) if type(estimator) in _PLAIN else estimator.get_params()
    )
    return own


def parameter(estimator: Any, name: str) -> str | None:
    """Return the estimator's name for a parameter to vary, or None.

    "n_clusters" is n_components in some. The last step of a Pipeline needs no prefix.
    """
    prefix = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    names = [name, f"{prefix}{name}"]
    if name == "n_clusters":
        names = [f"{prefix}n_clusters", f"{prefix}n_components"]
    params = _params(estimator)
    return next((one for one in names if one in params), None)


def prepare(clusterer: Any, n_clusters: int | None, metric: Metric) -> Method:
    """Return the method, with its number of clusters set.

    A name stands for an estimator by distance where the metric is not the Euclidean and there is
    one.
    """
    if isinstance(clusterer, str):
        check_choice("clusterer", clusterer, CLUSTERERS)
        clusterer = CLUSTERERS[clusterer]
    if isinstance(clusterer, Clusterer):
        k = DEFAULT_CLUSTERS if n_clusters is None else n_clusters
        is_straight = metric.is_euclidean or metric.name == "l2"
        estimator = None if is_straight else clusterer.by_distance(k)
        method = Method(
            clusterer.name,
            estimator or clusterer.estimator(k),
            clusterer,
            has_default_k=n_clusters is None and clusterer.takes_k,
        )
    elif isinstance(clusterer, type) or not (hasattr(clusterer, "fit") or callable(clusterer)):
        raise ParameterTypeError(
            "clusterer",
            clusterer,
            "must be a name, an estimator (an instance, not a class), a function (X, rng) -> "
            "labels, or a list of these",
            f"choose one of {sorted(CLUSTERERS)}",
        )
    elif not hasattr(clusterer, "fit"):
        name = getattr(clusterer, "__name__", type(clusterer).__name__)
        if n_clusters is not None:
            raise ParameterError(
                "n_clusters",
                n_clusters,
                f"cannot be passed to the function {name}",
                "leave it out, and choose it in the function",
            )
        return Method(name, clusterer, clusterer_of(clusterer))
    elif not _clusters(last_step(clusterer)):
        raise ParameterTypeError(
            "clusterer", clusterer, "is not a clusterer", "give one, such as 'kmeans' or KMeans()"
        )
    else:
        name = type(last_step(clusterer)).__name__
        method = Method(name, clone(clusterer), clusterer_of(clusterer))
    if n_clusters is not None:
        key, _ = method.k
        if key is None:
            raise ParameterError(
                "n_clusters",
                n_clusters,
                f"cannot be set: {method.name} has no n_clusters or n_components",
                "leave it out",
            )
        method.estimator.set_params(**{key: n_clusters})
    last = last_step(method.estimator)
    # A package that is missing would fail all runs.
    if hasattr(last, "check_packages"):
        last.check_packages()
    return method


def _clusters(estimator: Any) -> bool:
    """Return whether an estimator gives labels without being given some, as classifiers are."""
    if hasattr(estimator, "fit_predict") or not hasattr(estimator, "predict"):
        return hasattr(estimator, "fit_predict")
    y = inspect.signature(estimator.fit).parameters.get("y")
    return y is None or y.default is not y.empty


def _as_record(warning: warnings.WarningMessage) -> RunWarning:
    kind = f"{warning.category.__module__}:{warning.category.__name__}"
    return RunWarning(str(warning.message), kind)


def is_random(estimator: Any) -> bool:
    """Return whether the seed of a run can change its result."""
    return not hasattr(estimator, "get_params") or bool(seed_parameters(estimator))


def seed_parameters(estimator: Any) -> list[str]:
    """Return the names of the parameters that hold a seed, those of its parts included."""
    return [
        name
        for name in _params(estimator)
        if name == "random_state" or name.endswith("__random_state")
    ]


def draw_params(estimator: Any, vary: Mapping[str, Sequence[Any]], seed: int) -> dict[str, Any]:
    """Draw a value of each varied parameter that the estimator has."""
    if not vary:
        return {}
    # A separate stream from the sample's.
    rng = np.random.default_rng([seed, 1])
    drawn = {}
    for name, values in vary.items():
        # Drawn even if it is not used, so that runs do not shift each other.
        value = values[int(rng.integers(len(values)))]
        key = parameter(estimator, name) if hasattr(estimator, "get_params") else None
        if key is not None:
            drawn[key] = value
    return drawn


@dataclass(frozen=True)
class Drawing:
    """What each run draws: values of parameters, and the rows that it is fitted on.

    `vary`, `resample` and `left_out` are as in `build_ensemble`.
    """

    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    resample: float | str | None = None
    left_out: str = "skip"


def fit_run(
    X: Any,
    method: Method,
    seed: int,
    drawing: Drawing,
    *,
    shared: Any = None,
    measured: DistanceData | None = None,
) -> Run:
    """Fit one run; all its randomness follows from `seed`.

    `shared` is what the runs of its method on all of X share, `measured` X with its distances, if
    those are not the Euclidean ones.
    """
    began = time.perf_counter()
    estimator, name = method.estimator, method.name
    needs_rng = method.is_function or drawing.resample is not None
    rng = np.random.default_rng(seed) if needs_rng else None
    n = X.shape[0]
    sample = _sample(n, drawing.resample, rng)
    params = draw_params(estimator, drawing.vary, seed)
    with one_thread(), collected_warnings as caught:
        model = None if method.is_function else seeded(estimator, params, seed)
        prepared = shared if sample is None else None
        if measured is not None and wants_distances(model):
            run = FittedRun(*measured.fit(model, sample, prepared))
        elif model is not None:
            run = method.clusterer.fit(model, _rows(X, sample, measured), prepared)
        else:
            returned = estimator(_rows(X, sample, measured), rng)
            run = FittedRun(check_label_vector(f"what {name} returned", returned)[0])
        fitted, placer, centers = run
        size = n if sample is None else len(sample)
        if len(fitted) != size:
            raise ValueError(f"{name} returned {len(fitted)} labels for {size} points.")
        if placer is None:
            training = NearestTrainingPoint(X, sample, fitted)
            placer = training if measured is None else measured.placer(sample, fitted)
        labels = fitted
        if sample is not None:
            labels = placer(X) if drawing.left_out == "predict" else np.full(n, -1)
            drawn, first = np.unique(sample, return_index=True)
            # If drawn twice, the first, as the placer does.
            labels[drawn] = fitted[first]
    return Run(
        labels=np.asarray(labels, dtype=np.int32),
        placer=placer,
        centers=centers,
        method=name,
        seed=seed,
        params=params,
        objective=_attribute(model, "inertia_", "lower_bound_", "quality_"),
        iterations=_attribute(model, "n_iter_"),
        seconds=time.perf_counter() - began,
        warnings=tuple(dict.fromkeys(_as_record(one) for one in caught)),
    )


def _rows(X: Any, sample: Ints | None, measured: DistanceData | None) -> Any:
    """Return the rows to fit on; of given distances the columns too."""
    if measured is not None and measured.metric.is_precomputed:
        return measured.among(sample)
    return X if sample is None else X[sample]


def seeded(estimator: Any, params: dict[str, Any], seed: int) -> Any:
    """Copy the estimator with the parameters of this run, and its seed wherever it takes one."""
    model = _with_params(estimator, params)
    return _with_params(model, dict.fromkeys(seed_parameters(model), seed), in_place=True)


def _with_params(estimator: Any, params: Mapping[str, Any], *, in_place: bool = False) -> Any:
    """Return the estimator, or a copy of it, with these parameters."""
    # They hold only parameters; `clone` and `set_params` take as long as clustering.
    kind: Any = type(estimator)
    if kind in _PLAIN and not params.keys() - vars(estimator).keys():
        model = estimator if in_place else kind.__new__(kind)
        vars(model).update(vars(estimator), **params)
        return model
    return (estimator if in_place else clone(estimator)).set_params(**params)


def _sample(n: int, resample: float | str | None, rng: np.random.Generator | None) -> Ints | None:
    """Draw the rows to fit on: a share without replacement, or n with; None: all, without `rng`."""
    if resample is None or rng is None:
        return None
    if resample == "bootstrap":
        return np.sort(rng.integers(n, size=n))
    return np.sort(rng.choice(n, int(np.floor(float(resample) * n + 1e-9)), replace=False))


def _attribute(model: Any, *names: str) -> float:
    model = last_step(model)
    return next((float(getattr(model, name)) for name in names if hasattr(model, name)), np.nan)
