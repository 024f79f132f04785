"""The checked settings of a build, and the loop that fits the runs."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping, Sequence
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
from clustertrust._parallel import check_jobs, count_threads, one_blas_thread, stop
from clustertrust._progress import progress
from clustertrust._types import Ints
from clustertrust._validation import (
    MOST,
    check_choice,
    check_count,
    check_flag,
    check_list,
    check_matrix,
    is_dask,
    warn_user,
)
from clustertrust.distances.metrics import Metric, fitted_metric, has_no_points, is_name
from clustertrust.distances.mixed import as_mixed
from clustertrust.distances.precomputed import check_given
from clustertrust.ensemble.by_distance import (
    BY_DISTANCE,
    TAKES_GRAPH,
    Measured,
    check_methods,
    check_room,
    hold,
    wants_distances,
    warn_of_coordinates,
)
from clustertrust.ensemble.checkpoints import Checkpoint
from clustertrust.ensemble.clusterers import (
    Run,
    cluster_parameter,
    draw_params,
    fit_run,
    is_random,
    parameter,
    prepare,
    with_data,
)
from clustertrust.ensemble.lloyd import Ready, ready
from clustertrust.kernels import backend

__all__ = ["LEFT_OUT", "ON_FAILURE", "Recipe", "draw_seeds", "run_all", "spawn_seeds"]

LEFT_OUT = ("predict", "skip")
ON_FAILURE = ("drop", "raise")
DEFAULTS: dict[str, Any] = {
    "clusterer": "kmeans",
    "n_clusters": None,
    "n_runs": 20,
    "metric": "euclidean",
    "metric_params": None,
    "vary": None,
    "resample": None,
    "left_out": "skip",
    "on_failure": "raise",
    "random_state": None,
    "n_jobs": None,
    "verbose": False,
    "checkpoint": None,
    "device": "auto",
}
_LITTLE = 30_000  # numbers in X


@dataclass(frozen=True)
class Recipe:
    """The checked settings of a build.

    Attributes
    ----------
    methods : (name, estimator or function), dealt to the runs in turn
    vary, resample, left_out, on_failure : as in `build_ensemble`
    n_runs : R, or "auto"
    random_state : source of the seeds
    n_jobs, verbose : runs at a time, and whether to show a progress bar
    checkpoint : folder that keeps finished runs
    device : where runs of k-means are fitted: "cpu" or "cuda", once that is settled
    metric, metric_params : the distance between points
    shared : the data prepared once for all runs of k-means, if that was done
    measure : the metric with all that it takes from the data, if it is not the Euclidean
    held : all distances by it, for runs in this process, where they fit into memory
    """

    methods: tuple[tuple[str, Any], ...]
    vary: Mapping[str, Sequence[Any]]
    resample: float | str | None
    left_out: str
    on_failure: str
    n_runs: int | str
    random_state: Any
    n_jobs: int | None
    verbose: bool
    checkpoint: Any
    device: str = "auto"
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None
    shared: Ready | None = None
    measure: Metric | None = None
    held: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Recipe:
        """Check the parameters of `build_ensemble`, given by name; ignore others."""
        params = DEFAULTS | dict(params)
        clusterer, n_clusters = params["clusterer"], params["n_clusters"]
        given = list(clusterer) if isinstance(clusterer, list | tuple) else [clusterer]
        if not given:
            raise ValueError("clusterer=[] is empty; give at least one.")
        if n_clusters is not None:
            n_clusters = check_count("n_clusters", n_clusters, at_least=1)
        metric = params["metric"]
        methods = tuple(prepare(one, n_clusters, metric) for one in given)
        check_methods(methods, metric)
        vary = _check_vary(params["vary"], methods)
        if n_clusters is not None and n_clusters not in vary.get("n_clusters", [n_clusters]):
            raise ValueError(
                f"n_clusters={n_clusters} is not among "
                f"vary['n_clusters']={list(vary['n_clusters'])}, from which each run draws its "
                "own; leave one of the two out."
            )
        resample, left_out = params["resample"], params["left_out"]
        _check_resample(resample)
        check_choice("left_out", left_out, LEFT_OUT)
        if resample is None and left_out != "skip":
            raise ValueError(
                f"left_out={left_out!r} is used only with resample; set resample or leave left_out "
                "out."
            )
        check_choice("on_failure", params["on_failure"], ON_FAILURE)
        n_runs = params["n_runs"]
        if not (isinstance(n_runs, str) and n_runs == "auto"):
            n_runs = check_count("n_runs", n_runs, at_least=2, at_most=MOST)
        check_flag("verbose", params["verbose"])
        names = ["on_failure", "random_state", "n_jobs", "verbose", "checkpoint", "device"]
        names += ["metric", "metric_params"]
        rest = {name: params[name] for name in names}
        return cls(methods, vary, resample, left_out, n_runs=n_runs, **rest)

    def count(self, remedy: str = "") -> int:
        """Return R, which must be a number here; `remedy` ends the error message."""
        if isinstance(self.n_runs, str):
            raise ValueError(
                f"n_runs={self.n_runs!r} needs all points at once; give a number. {remedy}".strip()
            )
        return self.n_runs

    @property
    def is_precomputed(self) -> bool:
        """Return whether X holds distances instead of points."""
        return is_name(self.metric, "precomputed")

    @property
    def needs_all(self) -> bool:
        """Return whether rows are read all at once: of distances, and of tables with categories."""
        return has_no_points(self.metric)

    def check_place(self, X: Any) -> None:
        """Raise if X is where runs by this metric cannot be fitted: Dask, a file, a GPU."""
        if is_name(self.metric, "euclidean"):
            return
        if self.needs_all and is_dask(X):
            raise TypeError(
                f"metric={self.metric!r} needs all rows at once, and X is a Dask collection; give "
                "X.compute()."
            )
        if self.needs_all and isinstance(X, str | Path):
            how = "np.load(path, mmap_mode='r')" if self.is_precomputed else "pd.read_csv(path)"
            raise TypeError(
                f"metric={self.metric!r} takes an array or a frame, and X is a path; give {how}."
            )
        if self.device == "cuda" and self.is_precomputed:
            raise ValueError(
                "device='cuda' computes distances from points, and metric='precomputed' has none; "
                "leave device out."
            )

    def check_points(self, X: Any) -> Any:
        """Return X as the runs need it: points, encoded rows of a table, or distances."""
        if self.is_precomputed:
            X = check_given(X)
            self.check_graph(X)
            return X
        if is_name(self.metric, "gower"):
            return as_mixed(X, self.metric_params)[1]
        return check_matrix(X)

    def check_graph(self, X: Any) -> None:
        """Raise for a sparse graph of distances and a clusterer that needs all of them."""
        lost = [name for name, _ in self.methods if name in BY_DISTANCE and name not in TAKES_GRAPH]
        if lost and sparse.issparse(X):
            raise ValueError(
                f"clusterer={lost[0]!r} needs all distances, and X is a sparse graph; choose one "
                f"of {list(TAKES_GRAPH)}, or give the dense matrix."
            )

    def _size(self, n: int) -> int:
        """Return the number of points that a run is fitted on."""
        if self.resample is None or isinstance(self.resample, str):
            return n
        return int(np.floor(self.resample * n + 1e-9))

    def check_size(self, n: int) -> None:
        """Raise if there are fewer points to fit on than clusters asked for."""
        size = self._size(n)
        if size < 2:
            raise ValueError(
                f"resample={self.resample!r} leaves {size} of {n} points; give a larger share."
            )
        for _, estimator in self.methods:
            key = cluster_parameter(estimator) if hasattr(estimator, "get_params") else None
            asked = self.vary.get("n_clusters", [estimator.get_params()[key]]) if key else []
            for k in asked:
                if isinstance(k, int | np.integer) and k > size:
                    raise ValueError(
                        f"n_clusters={k} is more than the {size} points of X to cluster; ask for "
                        "at most that many."
                    )

    def settings(self) -> dict[str, Any]:
        """Return the recipe as JSON, to recognise it later."""
        return {
            "clusterer": [
                f"{name}: {estimator!r}" if hasattr(estimator, "fit") else name
                for name, estimator in self.methods
            ],
            "vary": {name: [repr(value) for value in values] for name, values in self.vary.items()},
            "resample": self.resample,
            "left_out": self.left_out,
        } | self._metric_settings()

    def _metric_settings(self) -> dict[str, Any]:
        """Return the metric as JSON; functions by name, which is the same in another process."""
        if is_name(self.metric, "euclidean"):
            return {}
        name = getattr(self.metric, "__qualname__", self.metric)
        return {"metric": f"{name} {self.metric_params or ''}".strip()}

    def fit(self, X: Any, r: int, seed: int) -> Run:
        """Fit run r."""
        method, estimator = self.methods[r % len(self.methods)]
        return fit_run(
            X,
            method,
            estimator,
            seed,
            vary=self.vary,
            resample=self.resample,
            left_out=self.left_out,
            shared=self.shared,
            measured=None if self.measure is None else Measured(X, self.measure, self.held),
        )

    def for_data(self, X: Any) -> Recipe:
        """Return the recipe with the metric settled, and with what runs in this process share.

        That is X prepared for k-means runs on all of X, and the distances for runs by distance.
        """
        wanted = self.resample is None and any(
            type(estimator) is KMeans for _, estimator in self.methods
        )
        backend_of_joblib = joblib.parallel.get_active_backend(prefer="threads")[0]
        here = getattr(backend_of_joblib, "supports_sharedmem", False)
        recipe = replace(self, shared=ready(X)) if wanted and here else self
        if is_name(self.metric, "euclidean") or self.measure is not None:
            return recipe
        measure = fitted_metric(self.metric, self.metric_params, X)
        recipe = replace(recipe, measure=measure)
        by_distance = [one for _, one in self.methods if wants_distances(one)]
        if self.is_precomputed or not by_distance:
            return recipe
        held = hold(X, measure, self.n_jobs) if here else None
        if held is None:
            check_room(by_distance, self._size(X.shape[0]))
        return replace(recipe, held=held)

    def describe(self, r: int, seed: int, error: Exception) -> str:
        """Return a text: which run failed and why."""
        method, estimator = self.methods[r % len(self.methods)]
        drawn = draw_params(estimator, self.vary, seed)
        chosen = "".join(f", {name}={value!r}" for name, value in drawn.items())
        return f"Run {r} ({method}, seed {seed}{chosen}) failed: {type(error).__name__}: {error}"

    def _warn_of_copies(self, runs: Sequence[Run], scored: bool) -> None:
        """Warn of runs that are the same by construction, or that leave out the same points."""
        noise = _of_noise(runs) if scored else ""
        plain = not self.vary and self.resample is None and len(self.methods) < len(runs)
        fixed = [name for name, one in self.methods if plain and not is_random(one)]
        if fixed:
            what = f"{' and '.join(fixed)} is deterministic, so all its runs are the same and agree"
            warn_user(f"{what} by construction{noise}; set vary or resample to make them differ.")
        elif noise:
            warn_user(
                f"All {len(runs)} runs are the same{noise}; set vary or resample to make them "
                "differ."
            )

    def warn_of(self, runs: Sequence[Run], *, scored: bool = True) -> None:
        """Warn once, for all runs, of what did not go well; `scored`: points will have scores."""
        warn_of_coordinates(self.methods, self.metric)
        self._warn_of_copies(runs, scored)
        asked = [_clusters_asked(estimator) for _, estimator in self.methods]
        wanted = [_wanted(run, *asked[r % len(asked)]) for r, run in enumerate(runs)]
        found_k = [_count_clusters(run) for run in runs]
        fewer = [
            (r, k, found)
            for r, (k, found) in enumerate(zip(wanted, found_k, strict=True))
            if k > found
        ]
        if fewer:
            r, k, found = fewer[0]
            what = (
                f"{len(fewer)} of {len(runs)} runs found fewer than the {k} clusters asked for "
                f"(run {r} found {found})"
            )
            warn_user(f"{what}; the data may hold too few distinct points.", ConvergenceWarning)
        for message in dict.fromkeys(message for run in runs for message in run.warnings):
            if "distinct clusters" in message and fewer:  # scikit-learn's own warning of the same
                continue
            warn_user(
                f"{message} (runs {[r for r, run in enumerate(runs) if message in run.warnings]})",
                ConvergenceWarning,
            )


def _of_noise(runs: Sequence[Run]) -> str:
    """Return what happens to points that no run assigns, if all runs are the same; else nothing."""
    none = runs[0].labels < 0
    if not none.any() or not all_alike([run.labels for run in runs]):
        return ""
    return (
        f", and {none.sum()} of {none.size} points are noise in all of them, so that they have no "
        "score, or 0 with unassigned='disagree'"
    )


def all_alike(columns: Iterable[Ints]) -> bool:
    """Return whether all labellings are the same, label by label."""
    first, *others = columns
    return all(np.array_equal(first, other) for other in others)


def _clusters_asked(estimator: Any) -> tuple[str | None, Any]:
    """Return the parameter that holds the number of clusters, and that number; else None, 0."""
    key = cluster_parameter(estimator) if hasattr(estimator, "get_params") else None
    return (key, estimator.get_params()[key]) if key else (None, 0)


def _wanted(run: Run, key: str | None, value: Any) -> int:
    """Return the number of clusters that the run should find; 0 if the method chooses it."""
    value = value if key is None else run.params.get(key, value)
    return int(value) if isinstance(value, numbers.Integral) else 0


def _count_clusters(run: Run) -> int:
    found = pd.unique(run.labels)  # hashing is faster than sorting
    return int((found >= 0).sum())


def _check_vary(vary: Any, methods: tuple[tuple[str, Any], ...]) -> dict[str, Sequence[Any]]:
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
            for at, k in enumerate(checked[name]):
                if k is not None:  # some estimators then find the number themselves
                    check_count(f"vary['n_clusters'][{at}]", k, at_least=1)
        if not any(hasattr(one, "get_params") and parameter(one, name) for _, one in methods):
            raise ValueError(
                f"vary[{name!r}] names a parameter that none of {[name for name, _ in methods]} "
                "has; check its name."
            )
    return checked


def _check_resample(resample: Any) -> None:
    if resample is None or (isinstance(resample, str) and resample == "bootstrap"):
        return
    if isinstance(resample, float | np.floating) and 0 < resample < 1:
        return
    raise ValueError(f"resample={resample!r} must be a share between 0 and 1, 'bootstrap' or None.")


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
    entropy = np.random.SeedSequence(random_state).entropy  # drawn here if random_state is None
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
    from clustertrust.ensemble.on_gpu import fit_on_gpu, suits_gpu  # here: it imports this module

    backend()  # loaded here, so that its own warnings are not taken for those of a run
    if recipe.device == "cuda" and suits_gpu(X, recipe):
        return fit_on_gpu(X, recipe, numbered, kept)
    recipe = recipe.for_data(X)
    jobs = [(recipe, r, seed, kept) for r, seed in numbered]
    client = client_of_joblib()
    done: list[Run | Failure] = []
    with (
        one_blas_thread
    ):  # once for all runs: setting it for each takes longer than clustering small data
        if client is None:
            work = joblib.delayed(_work)
            parallel = joblib.Parallel(
                n_jobs=_threads(X, recipe), prefer="threads", return_as="generator"
            )
            results = parallel(work(X, *job) for job in jobs)
        else:  # joblib's Dask backend loses the data together with the worker that holds them
            check_jobs(recipe.n_jobs)
            results = run_on_workers(client, _work, X, jobs)
        for result in progress(results, len(numbered), "runs", verbose=recipe.verbose):
            if isinstance(result, Failure) and recipe.on_failure == "raise":
                stop(results)
                result.throw()
            done.append(result)
    failed = [result.what for result in done if isinstance(result, Failure)]
    if failed:
        warn_user(f"{len(failed)} of {len(numbered)} runs failed and were left out. {failed[0]}.")
    return [with_data(run, X) for run in done if isinstance(run, Run)]


def _threads(X: Any, recipe: Recipe) -> int:
    """Return the number of runs at a time: one if the data are too small for threads to pay."""
    threads = count_threads(recipe.n_jobs)
    only_kmeans = all(type(estimator) is KMeans for _, estimator in recipe.methods)
    return 1 if recipe.shared is not None and only_kmeans and X.size < _LITTLE else threads


@dataclass(frozen=True)
class Failure:
    """A run that failed.

    It is returned, not raised: results come in order, so the error names the first failed run.
    """

    what: str
    error: Exception

    def throw(self) -> NoReturn:
        """Raise it, as the same kind of error if that is one of ours."""
        kinds = (ValueError, TypeError, ImportError)
        kind = next((kind for kind in kinds if isinstance(self.error, kind)), RuntimeError)
        raise kind(f"{self.what}. on_failure='drop' leaves such runs out.") from self.error


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
