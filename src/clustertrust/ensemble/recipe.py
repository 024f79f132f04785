"""The checked settings of a build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy import sparse

from clustertrust._devices import GPU
from clustertrust._errors import ParameterError
from clustertrust._parallel import count_threads
from clustertrust._validation.arguments import check_count, check_flag, check_list
from clustertrust._validation.frames import is_dask
from clustertrust._validation.points import check_matrix
from clustertrust.distances.metrics import EUCLIDEAN, Metric, as_metric, unit_rows
from clustertrust.distances.mixed import as_mixed
from clustertrust.distances.precomputed import check_precomputed
from clustertrust.ensemble.by_distance import (
    DistanceData,
    cached_distances,
    check_memory,
    wants_distances,
)
from clustertrust.ensemble.clusterers import CLUSTERERS, names_by_distance
from clustertrust.ensemble.fitting import (
    Drawing,
    Method,
    Run,
    draw_params,
    fit_run,
    on_directions,
    parameter,
    prepare,
    seeded,
)
from clustertrust.ensemble.lloyd import prepare_data
from clustertrust.ensemble.runs import Runs, as_runs

DEFAULTS: dict[str, Any] = {
    "clusterer": "kmeans",
    "n_clusters": None,
    "n_runs": 20,
    "metric": "euclidean",
    "vary": None,
    "resample": None,
    "random_state": None,
    "n_jobs": None,
    "verbose": False,
    "device": "auto",
}


@dataclass(frozen=True)
class Recipe:
    """The checked settings of a build.

    Attributes
    ----------
    methods : the clusterers, assigned to the runs round-robin
    drawing : what each run draws: parameters and rows
    runs : their number, or "auto"; what happens to failures; where finished ones are kept
    random_state : source of the seeds
    n_jobs, verbose : runs at a time, and whether to show a progress bar
    device : where runs of k-means are fitted, once that is settled
    metric : the distance between points
    shared : what runs of each kind of estimator share, if runs are fitted in this process
    directions : the rows scaled to unit length, for runs of k-means by the cosine distance
    fitted_metric : the metric with all that it takes from the data, if it is not the Euclidean
    cached : all distances by it, for runs in this process, where they fit into memory
    """

    methods: tuple[Method, ...]
    drawing: Drawing
    runs: Runs
    random_state: Any
    n_jobs: int | None
    verbose: bool
    device: str = "auto"
    metric: Metric = EUCLIDEAN
    shared: Mapping[type[Any], Any] = field(default_factory=dict, repr=False)
    directions: Any = field(default=None, repr=False)
    fitted_metric: Metric | None = None
    cached: Any = field(default=None, repr=False)

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Recipe:
        """Check the parameters of `build_ensemble`, given by name; ignore others."""
        params = DEFAULTS | dict(params)
        clusterer, n_clusters = params["clusterer"], params["n_clusters"]
        several = list(clusterer) if isinstance(clusterer, list | tuple) else [clusterer]
        if not several:
            raise ParameterError("clusterer", [], "is empty", "give at least one")
        if n_clusters is not None:
            n_clusters = check_count("n_clusters", n_clusters, at_least=1)
        metric = as_metric(params["metric"])
        metric.check()
        methods = tuple(prepare(one, n_clusters, metric) for one in several)
        _check_metric(methods, metric)
        vary = _check_vary(params["vary"], methods)
        if n_clusters is not None and n_clusters not in vary.get("n_clusters", [n_clusters]):
            raise ParameterError(
                "n_clusters",
                n_clusters,
                f"is not among vary['n_clusters']={list(vary['n_clusters'])}, from which each run "
                "draws its own",
                "leave one of the two out",
            )
        _check_resample(params["resample"])
        runs = as_runs(params["n_runs"])
        runs.check(params["resample"])
        check_flag("verbose", params["verbose"])
        drawing = Drawing(vary, params["resample"], runs.left_out)
        names = ("random_state", "n_jobs", "verbose", "device")
        return cls(methods, drawing, runs, **{name: params[name] for name in names}, metric=metric)

    def count(self, remedy: str = "") -> int:
        """Return R, which must be a number here; `remedy` ends the error message."""
        n_runs = self.runs.n_runs
        if isinstance(n_runs, str):
            raise ParameterError(
                "n_runs", n_runs, "needs all points at once", f"give a number. {remedy}".strip(" .")
            )
        return n_runs

    def with_k(self, k: int) -> Recipe:
        """Return the recipe with another number of clusters of the methods that take one."""
        return replace(self, methods=tuple(method.with_k(k) for method in self.methods))

    @property
    def is_precomputed(self) -> bool:
        """Return whether X holds distances instead of points."""
        return self.metric.is_precomputed

    @property
    def needs_all(self) -> bool:
        """Return whether rows are read all at once: of distances, and of tables with categories."""
        return self.metric.is_coordinate_free

    def check_place(self, X: Any) -> None:
        """Raise if X is where runs by this metric cannot be fitted: Dask, a file, a GPU."""
        if self.metric.is_euclidean:
            return
        name = self.metric.name
        if self.needs_all and is_dask(X):
            raise TypeError(
                f"metric={name!r} needs all rows at once, and X is a Dask collection; give "
                "X.compute()."
            )
        if self.needs_all and isinstance(X, str | Path):
            load = "np.load(path, mmap_mode='r')" if self.is_precomputed else "pd.read_csv(path)"
            raise TypeError(
                f"metric={name!r} takes an array or a frame, and X is a path; give {load}."
            )
        if self.device in GPU and self.is_precomputed:
            raise ParameterError(
                "device",
                self.device,
                "computes distances from points, and {metric=} has none",
                "leave {device} out",
                metric=name,
            )

    def check_points(self, X: Any) -> Any:
        """Return X as the runs need it: points, encoded rows of a table, or distances."""
        if self.is_precomputed:
            X = check_precomputed(X)
            self.check_graph(X)
            return X
        if self.metric.is_mixed:
            return as_mixed(X, self.metric.params)[1]
        return check_matrix(X)

    def check_graph(self, X: Any) -> None:
        """Raise for a sparse graph of distances and a clusterer that needs all of them."""
        lost = [
            method.name
            for method in self.methods
            if method.clusterer.takes_distances and not method.clusterer.takes_graph
        ]
        if lost and sparse.issparse(X):
            able = sorted(name for name, own in CLUSTERERS.items() if own.takes_graph)
            raise ParameterError(
                "clusterer",
                lost[0],
                "needs all distances, and X is a sparse graph",
                f"choose one of {able}, or give the dense matrix",
            )

    def _size(self, n: int) -> int:
        """Return the number of points that a run is fitted on."""
        share = self.drawing.resample
        return n if share is None or isinstance(share, str) else int(np.floor(share * n + 1e-9))

    def check_size(self, n: int) -> None:
        """Raise if there are fewer points to fit on than clusters asked for."""
        size = self._size(n)
        if size < 2:
            raise ParameterError(
                "resample",
                self.drawing.resample,
                f"leaves {size} of {n} points",
                "give a larger share",
            )
        for method in self.methods:
            key, own_k = method.k
            for k in self.drawing.vary.get("n_clusters", [own_k]) if key else []:
                if isinstance(k, int | np.integer) and k > size:
                    raise ParameterError(
                        "n_clusters",
                        int(k),
                        f"is more than the {size} points to cluster",
                        "ask for at most that many",
                    )

    def settings(self) -> dict[str, Any]:
        """Return the recipe as JSON, to recognise it later."""
        drawing = self.drawing
        described = {
            "clusterer": [
                method.name if method.is_function else f"{method.name}: {method.estimator!r}"
                for method in self.methods
            ],
            "vary": {name: [repr(one) for one in values] for name, values in drawing.vary.items()},
            "resample": drawing.resample,
            "left_out": drawing.left_out,
        }
        if self.metric.is_euclidean:
            return described
        # A function by its name, which is the same in another process.
        name = getattr(self.metric.name, "__qualname__", self.metric.name)
        return described | {"metric": f"{name} {self.metric.params or ''}".strip()}

    def method(self, r: int) -> Method:
        """Return the method of run r."""
        return self.methods[r % len(self.methods)]

    def fit(self, X: Any, r: int, seed: int) -> Run:
        """Fit run r."""
        method, by = self.method(r), self.fitted_metric
        shared = self.shared.get(type(method.estimator))
        if method.takes_directions(self.metric):
            rows = unit_rows(X) if self.directions is None else self.directions
            return on_directions(fit_run(rows, method, seed, self.drawing, shared=shared))
        measured = None if by is None else DistanceData(X, by, self.cached)
        return fit_run(X, method, seed, self.drawing, shared=shared, measured=measured)

    @property
    def takes_directions(self) -> bool:
        """Return whether some runs cluster rows of unit length."""
        return any(method.takes_directions(self.metric) for method in self.methods)

    def is_plain_kmeans(self, X: Any, seeds: Sequence[int]) -> bool:
        """Return whether the first runs on X are k-means of our own, of all rows as they are."""
        drawing, data = self.drawing, prepare_data(X)
        is_whole = drawing.resample is None and not drawing.vary and not self.takes_directions
        if data is None or not is_whole or self.device in GPU:
            return False
        # Runs of one method differ in their seeds alone.
        methods = {id(one): one for one in map(self.method, range(len(seeds)))}
        return all(
            method.clusterer.in_step and data.suits(seeded(method.estimator, {}, seeds[0]))
            for method in methods.values()
        )

    def for_data(self, X: Any) -> Recipe:
        """Settle the metric and make what runs in this process share: prepared data, distances."""
        backend_of_joblib = joblib.parallel.get_active_backend(prefer="threads")[0]
        here = getattr(backend_of_joblib, "supports_sharedmem", False)
        directions = unit_rows(X) if here and self.takes_directions else None
        recipe = replace(self, directions=directions)
        if here and self.drawing.resample is None:
            prepared: dict[type[Any], Any] = {}
            threads = count_threads(self.n_jobs)
            for method in self.methods:
                kind = type(method.estimator)
                rows = directions if method.takes_directions(self.metric) else X
                if prepared.get(kind) is None:
                    prepared[kind] = method.clusterer.prepare(method.estimator, rows, threads)
            recipe = replace(recipe, shared=prepared)
        if self.metric.is_euclidean or self.fitted_metric is not None:
            return recipe
        fitted = self.metric.fit(X)
        recipe = replace(recipe, fitted_metric=fitted)
        estimators = [method.estimator for method in self.methods]
        by_distance = [one for one in estimators if wants_distances(one)]
        if self.is_precomputed or not by_distance:
            return recipe
        cached = cached_distances(X, fitted, self.n_jobs) if here else None
        if cached is None:
            check_memory(by_distance, self._size(X.shape[0]))
        return replace(recipe, cached=cached)

    def describe(self, r: int, seed: int, error: Exception) -> str:
        """Return a text: which run failed and why."""
        method = self.method(r)
        drawn = draw_params(method.estimator, self.drawing.vary, seed)
        chosen = "".join(f", {name}={value!r}" for name, value in drawn.items())
        return (
            f"Run {r} ({method.name}, seed {seed}{chosen}) failed: {type(error).__name__}: {error}"
        )


def _check_metric(methods: tuple[Method, ...], metric: Metric) -> None:
    """Raise for a clusterer that cannot use the distances.

    Distances that are given, and Gower's, are not coordinates: a clusterer that needs points cannot
    go with them. Functions get what `fit` gets.
    """
    for method in methods:
        if wants_distances(method.estimator):
            if getattr(method.estimator, "affinity", None) == "precomputed":
                raise ParameterError(
                    "clusterer",
                    method.estimator,
                    "takes similarities, and {metric=} gives distances",
                    "{clusterer='spectral'} makes a graph of them",
                    metric=metric.given,
                )
        elif metric.is_coordinate_free and not method.is_function:
            raise ParameterError(
                "clusterer",
                method.name,
                "needs points with coordinates, which {metric=} does not give",
                f"choose one of {names_by_distance()}, or give an estimator or a function that "
                "takes distances",
                metric=metric.name,
            )


def _check_vary(vary: Any, methods: tuple[Method, ...]) -> dict[str, Sequence[Any]]:
    if vary is None:
        return {}
    if not isinstance(vary, Mapping):
        raise TypeError(
            f"vary={vary!r} must be a dict of parameter names and the values to draw from."
        )
    checked: dict[str, Sequence[Any]] = {}
    for name, values in vary.items():
        checked[name] = check_list(f"vary[{name!r}]", values, "range(10, 16)")
        if not checked[name]:
            raise ValueError(f"vary[{name!r}] is empty; give at least one value.")
        if name == "n_clusters":
            for position, k in enumerate(checked[name]):
                # With None some estimators find the number themselves.
                if k is not None:
                    check_count(f"vary['n_clusters'][{position}]", k, at_least=1)
        settable = [one.estimator for one in methods if hasattr(one.estimator, "get_params")]
        if not any(parameter(one, name) for one in settable):
            raise ValueError(
                f"vary[{name!r}] names a parameter that none of {[one.name for one in methods]} "
                "has; check its name."
            )
    return checked


def _check_resample(resample: Any) -> None:
    if resample is None or (isinstance(resample, str) and resample == "bootstrap"):
        return
    if isinstance(resample, float | np.floating) and 0 < resample < 1:
        return
    raise ParameterError(
        "resample",
        resample,
        "is not known",
        "give a share between 0 and 1, 'bootstrap' or None",
    )
