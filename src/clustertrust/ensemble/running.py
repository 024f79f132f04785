"""Checked data and a recipe → the runs of an ensemble, fitted in one loop."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import joblib
import numpy as np
from sklearn.cluster import KMeans

from clustertrust._dask import client_of_joblib, run_on_workers
from clustertrust._devices import GPU
from clustertrust._errors import Message, literal, worded
from clustertrust._parallel import (
    check_jobs,
    count_threads,
    has_own_threads,
    map_blocks,
    one_blas_thread,
    stop,
)
from clustertrust._progress import progress
from clustertrust._validation.arguments import warn_user
from clustertrust.ensemble.checkpoints import Checkpoint
from clustertrust.ensemble.fitting import Run, on_directions, with_data
from clustertrust.ensemble.in_step import fit_in_step
from clustertrust.ensemble.on_gpu import fit_on_gpu, suits_gpu
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.record import Ensemble, assemble
from clustertrust.ensemble.runs import draw_seeds, spawn_seeds
from clustertrust.ensemble.warn import warn_of_runs
from clustertrust.kernels import backend
from clustertrust.storage import hash_data

# Runs after a failed one: if these fail too, all are taken to fail.
_LOOK_ON = 3


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


def run_all(
    X: Any,
    recipe: Recipe,
    numbered: Sequence[tuple[int, int]],
    kept: Checkpoint | None = None,
    *,
    what: str = "runs",
) -> list[Run]:
    """Fit the runs (r, seed) on one thread each; return those that succeeded, in order."""
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
        text = failed[0].removesuffix(".")
        warn_user(f"{len(failed)} of {len(numbered)} {what} failed and were left out. {text}.")
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


def _as_json(random_state: Any) -> Any:
    """Return a random state as JSON, to recognise it later."""
    if isinstance(random_state, Sequence | np.ndarray):
        return [int(seed) for seed in random_state]
    return None if random_state is None else repr(random_state)


def build_runs(X: Any, recipe: Recipe) -> Ensemble:
    """Cluster checked data `n_runs` times; load runs that a checkpoint has."""
    recipe.check_size(X.shape[0])
    R = recipe.count()
    entropy, seeds = draw_seeds(recipe.random_state, R)
    kept = None
    if recipe.runs.checkpoint is not None:
        settings = recipe.settings() | {
            "data": hash_data(X),
            "random_state": _as_json(recipe.random_state),
            "entropy": entropy,
        }
        kept = Checkpoint(recipe.runs.checkpoint, settings)
        # Continue with the entropy of the first build.
        if recipe.random_state is None:
            seeds = spawn_seeds(kept.settings["entropy"], R)
    runs = run_all(X, recipe, list(enumerate(seeds)), kept)
    check_enough(runs, R)
    warn_of_runs(recipe, runs)
    return assemble(runs, recipe.n_jobs)


def check_enough(runs: Sequence[Run], tried: int) -> None:
    """Raise if too few runs are left to compare."""
    if len(runs) < 2:
        raise ValueError(f"Only {len(runs)} of {tried} runs succeeded; at least 2 are needed.")
