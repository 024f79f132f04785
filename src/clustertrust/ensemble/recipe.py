"""The checked settings of a build, and the loop that fits the runs."""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import joblib
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from clustertrust._dask import client_of_joblib, run_on_workers
from clustertrust._devices import GPU
from clustertrust._errors import Message, ParameterError, literal, worded
from clustertrust._parallel import (
    check_jobs,
    count_threads,
    has_own_threads,
    map_blocks,
    one_blas_thread,
    stop,
)
from clustertrust._progress import progress
from clustertrust._types import Ints
from clustertrust._validation import (
    check_count,
    check_flag,
    check_list,
    check_matrix,
    is_dask,
    warn_user,
)
from clustertrust.distances.metrics import EUCLIDEAN, Metric, as_metric, unit_rows
from clustertrust.distances.mixed import as_mixed
from clustertrust.distances.precomputed import check_precomputed
from clustertrust.ensemble.by_distance import (
    DistanceData,
    cached_distances,
    check_memory,
    wants_distances,
)
from clustertrust.ensemble.checkpoints import Checkpoint
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.ensemble.fitting import (
    DEFAULT_CLUSTERS,
    Drawing,
    Method,
    Run,
    draw_params,
    fit_run,
    is_random,
    on_directions,
    parameter,
    prepare,
    with_data,
)
from clustertrust.ensemble.in_step import fit_in_step
from clustertrust.ensemble.on_gpu import fit_on_gpu, suits_gpu
from clustertrust.ensemble.runs import Runs, as_runs
from clustertrust.kernels import backend

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
# What k-means and the like cluster by.
_STRAIGHT = ("euclidean", "l2", "sqeuclidean")
# Runs after a failed one: if these fail too, all are taken to fail.
_LOOK_ON = 3


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

    def for_data(self, X: Any) -> Recipe:
        """Return the recipe with the metric settled, and with what runs in this process share.

        That is what clusterers prepare for runs on all of X, and the distances for runs by
        distance.
        """
        backend_of_joblib = joblib.parallel.get_active_backend(prefer="threads")[0]
        here = getattr(backend_of_joblib, "supports_sharedmem", False)
        directions = unit_rows(X) if here and self.takes_directions else None
        recipe = replace(self, directions=directions)
        if here and self.drawing.resample is None:
            prepared: dict[type[Any], Any] = {}
            for method in self.methods:
                kind = type(method.estimator)
                rows = directions if method.takes_directions(self.metric) else X
                if prepared.get(kind) is None:
                    prepared[kind] = method.clusterer.prepare(method.estimator, rows)
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

    def _warn_of_copies(self, runs: Sequence[Run], scored: bool) -> None:
        """Warn of runs that are the same by construction, or that leave out the same points."""
        noise = _of_noise(runs) if scored else ""
        remedy = "vary their data ({resample=0.8}) or their parameters to make them differ."
        same_rows = not self.drawing.vary and self.drawing.resample is None
        repeated = self.methods if same_rows and len(self.methods) < len(runs) else ()
        fixed = [method.name for method in repeated if not is_random(method.estimator)]
        if fixed:
            what = f"{' and '.join(fixed)} is deterministic, so all its runs are the same and agree"
            warn_user(Message(f"{what} by construction{noise}; {remedy}"))
        elif noise:
            warn_user(Message(f"All {len(runs)} runs are the same{noise}; {remedy}"))

    def _warn_of_default_k(self) -> None:
        """Warn of clusterers whose number of clusters nobody chose."""
        names = dict.fromkeys(one.name for one in self.methods if one.has_default_k)
        if names and "n_clusters" not in self.drawing.vary:
            warn_user(
                Message(
                    f"{{n_clusters}} is not given, so {' and '.join(names)} took k = "
                    f"{DEFAULT_CLUSTERS}. Set {{n_clusters}}; clustertrust.choose_k(X) recommends "
                    "one."
                )
            )

    def warn_of(self, runs: Sequence[Run], *, scored: bool = True) -> None:
        """Warn once, for all runs, of what did not go well; `scored`: points will have scores."""
        _warn_of_coordinates(self.methods, self.metric)
        self._warn_of_default_k()
        self._warn_of_copies(runs, scored)
        asked = [method.k for method in self.methods]
        wanted = [_wanted(run, *asked[r % len(asked)]) for r, run in enumerate(runs)]
        # Hashing is faster than sorting.
        counts = [int((pd.unique(run.labels) >= 0).sum()) for run in runs]
        fewer = [r for r, k in enumerate(counts) if wanted[r] > k]
        if fewer:
            r = fewer[0]
            what = (
                f"{len(fewer)} of {len(runs)} runs found fewer than the {wanted[r]} clusters asked "
                f"for (run {r} found {counts[r]})"
            )
            warn_user(f"{what}; the data may hold too few distinct points.", ConvergenceWarning)
        for warning in dict.fromkeys(warning for run in runs for warning in run.warnings):
            # scikit-learn's own of the same
            if "distinct clusters" in warning.message and fewer:
                continue
            where = [r for r, run in enumerate(runs) if warning in run.warnings]
            warn_user(f"{warning.message} (runs {where})", warning.category)


def _check_metric(methods: tuple[Method, ...], metric: Metric) -> None:
    """Raise for a clusterer that cannot use the distances.

    Distances that are given, and Gower's, are no coordinates: a clusterer that needs points cannot
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
                f"choose one of {_by_distance()}, or give an estimator or a function that takes "
                "distances",
                metric=metric.name,
            )


def _by_distance() -> list[str]:
    """Return the names of the clusterers that take any distance."""
    return sorted(name for name, own in CLUSTERERS.items() if own.takes_distances)


def _warn_of_coordinates(methods: tuple[Method, ...], metric: Metric) -> None:
    """Warn of clusterers that do not use the metric of the silhouettes."""
    if isinstance(metric.name, str) and metric.name in _STRAIGHT:
        return
    for method in methods:
        by_metric = wants_distances(method.estimator) or method.takes_directions(metric)
        by_points = not (method.is_function or by_metric)
        if by_points and getattr(method.estimator, "metric", None) != metric.name:
            text = "clusters by coordinates; only the silhouettes use {metric=}. "
            values = {"clusterer": method.name, "metric": metric.given}
            others = f"{_by_distance()} cluster by the metric too."
            warn_user(Message(text + others, values, "clusterer"))


def _of_noise(runs: Sequence[Run]) -> str:
    """Return what happens to points that no run assigns, if all runs are the same; else nothing."""
    none = runs[0].labels < 0
    if not none.any() or not all_identical([run.labels for run in runs]):
        return ""
    return (
        f", and {none.sum()} of {none.size} points are noise in all of them, so that they have no "
        "score, or 0 with {unassigned='disagree'}"
    )


def all_identical(columns: Iterable[Ints]) -> bool:
    """Return whether all labellings are the same, label by label."""
    first, *others = columns
    return all(np.array_equal(first, other) for other in others)


def _wanted(run: Run, key: str | None, value: Any) -> int:
    """Return the number of clusters that the run should find; 0 if the method chooses it."""
    value = value if key is None else run.params.get(key, value)
    return int(value) if isinstance(value, numbers.Integral) else 0


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


def draw_seeds(random_state: Any, n_runs: int) -> tuple[int | None, tuple[int, ...]]:
    """Return the entropy behind the seeds (None if seeds were given), and the seeds."""
    if isinstance(random_state, Sequence | np.ndarray) and not isinstance(random_state, str):
        if len(random_state) != n_runs:
            raise ValueError(
                f"random_state has {len(random_state)} seeds for n_runs={n_runs}; give one seed "
                "per run."
            )
        return None, tuple(_check_seed(seed) for seed in random_state)
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    elif random_state is not None:
        random_state = _check_seed(random_state)
    # Drawn here if random_state is None.
    entropy = np.random.SeedSequence(random_state).entropy
    assert isinstance(entropy, int)
    return entropy, spawn_seeds(entropy, n_runs)


def spawn_seeds(entropy: int, n_runs: int, first: int = 0) -> tuple[int, ...]:
    """Return the seeds of the runs from `first` on.

    Each depends only on (entropy, r), so more runs start with the same ones.
    """
    spawned = (
        np.random.SeedSequence(entropy, spawn_key=(r,)) for r in range(first, first + n_runs)
    )
    return tuple(int(sequence.generate_state(1)[0]) for sequence in spawned)


def _check_seed(seed: Any) -> int:
    if isinstance(seed, np.random.Generator):
        raise TypeError(
            "random_state is a Generator, which is not accepted; give int(rng.integers(2**32))."
        )
    return check_count("random_state", seed, at_least=0, at_most=2**32 - 1)


def run_all(
    X: Any, recipe: Recipe, numbered: Sequence[tuple[int, int]], kept: Checkpoint | None = None
) -> list[Run]:
    """Fit the runs (r, seed), each on one thread; return those that succeeded, in order."""
    # Loaded here, so that its own warnings are not taken for those of a run.
    backend()
    by_rows = recipe.device in GPU and not recipe.takes_directions
    if by_rows and suits_gpu(X, recipe.methods, recipe.drawing):
        return fit_on_gpu(X, recipe.methods, numbered, kept)
    recipe = recipe.for_data(X)
    done: dict[int, Run | Failure] = {}
    # Once for all runs: setting it for each takes longer than clustering small data.
    with one_blas_thread:
        results = _results(X, recipe, numbered, kept)
        for r, result in progress(results, len(numbered), "runs", verbose=recipe.verbose):
            if isinstance(result, Failure) and recipe.runs.on_failure == "raise":
                following = (other for _, other in itertools.islice(results, _LOOK_ON))
                others = itertools.chain(done.values(), following)
                some_run = any(isinstance(other, Run) for other in others)
                stop(results)
                result.throw(can_drop=some_run)
            done[r] = result
    in_order = [done[r] for r, _ in numbered]
    failed = [result.what for result in in_order if isinstance(result, Failure)]
    if failed:
        warn_user(f"{len(failed)} of {len(numbered)} runs failed and were left out. {failed[0]}.")
    return [with_data(run, X) for run in in_order if isinstance(run, Run)]


def _results(
    X: Any, recipe: Recipe, numbered: Sequence[tuple[int, int]], kept: Checkpoint | None
) -> Iterator[tuple[int, Run | Failure]]:
    """Yield the runs (r, seed): first those of k-means, all in step, then the others in order."""
    finished = set()
    for r, run in _in_step(X, recipe, numbered, kept):
        finished.add(r)
        yield r, run
    jobs = [(recipe, r, seed, kept) for r, seed in numbered if r not in finished]
    client = client_of_joblib()
    if client is None and has_own_threads():
        # joblib waits without end for a thread that ran out of memory.
        results = map_blocks(lambda job: _work(X, *job), iter(jobs), count_threads(recipe.n_jobs))
    elif client is None:
        work = joblib.delayed(_work)
        parallel = joblib.Parallel(
            n_jobs=count_threads(recipe.n_jobs), prefer="threads", return_as="generator"
        )
        results = parallel(work(X, *job) for job in jobs)
    else:
        # joblib's Dask backend loses the data together with the worker that holds them.
        check_jobs(recipe.n_jobs)
        results = run_on_workers(client, _work, X, jobs)
    yield from zip((r for _, r, _, _ in jobs), results, strict=True)


def _in_step(
    X: Any, recipe: Recipe, numbered: Sequence[tuple[int, int]], kept: Checkpoint | None
) -> Iterator[tuple[int, Run]]:
    """Yield the runs of k-means of our own that a checkpoint has, then the others as they end."""
    data = recipe.shared.get(KMeans)
    if data is None:
        return
    jobs = []
    for r, seed in numbered:
        method = recipe.method(r)
        run = None if kept is None or not method.clusterer.in_step else kept.load(r, X)
        if run is not None:
            yield r, run
        elif method.clusterer.in_step:
            jobs.append((r, method, seed))
    threads = count_threads(recipe.n_jobs)
    for r, run in fit_in_step(data, jobs, recipe.drawing.vary, threads):
        if recipe.method(r).takes_directions(recipe.metric):
            run = on_directions(run)
        if kept is not None:
            kept.save(r, run)
        yield r, run


@dataclass(frozen=True)
class Failure:
    """A run that failed.

    It is returned, not raised: results come in order, so the error names the first failed run.
    """

    what: str
    error: Exception

    def throw(self, *, can_drop: bool) -> NoReturn:
        """Raise it, as the same kind of error if that is one of ours.

        `can_drop`: some other run did not fail, so that the build can go on without this one.
        """
        kinds = (ValueError, TypeError, ImportError)
        kind = next((kind for kind in kinds if isinstance(self.error, kind)), RuntimeError)
        remedy = " {on_failure='drop'} leaves such runs out." if can_drop else ""
        message = Message(f"{literal(self.what.removesuffix('.'))}.{remedy}")
        raise worded(kind, message) from self.error


def _work(X: Any, recipe: Recipe, r: int, seed: int, kept: Checkpoint | None) -> Run | Failure:
    """Fit run r, or return its failure. X is not sent back from another process."""
    # Outside of the try: a full disk or a damaged file is not a failure of the run.
    run = None if kept is None else kept.load(r, X)
    if run is not None:
        return with_data(run, None)
    try:
        run = recipe.fit(X, r, seed)
    except Exception as error:  # whatever a clusterer may raise
        return Failure(recipe.describe(r, seed, error), error)
    if kept is not None:
        kept.save(r, run)
    return with_data(run, None)
