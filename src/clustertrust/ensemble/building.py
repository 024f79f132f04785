"""X, a clusterer and seeds → the runs of an ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clustertrust._devices import check_device, refuse_gpu, resolve_device, to_host
from clustertrust._validation import is_dask
from clustertrust.ensemble.checkpoints import Checkpoint
from clustertrust.ensemble.clusterers import Run
from clustertrust.ensemble.recipe import Recipe, draw_seeds, run_all, spawn_seeds
from clustertrust.ensemble.record import Ensemble, assemble
from clustertrust.storage import hash_data

__all__ = ["build_ensemble", "build_runs", "check_enough"]


def _as_json(random_state: Any) -> Any:
    """Return a random state as JSON, to recognise it later."""
    if isinstance(random_state, Sequence | np.ndarray):
        return [int(seed) for seed in random_state]
    return None if random_state is None else repr(random_state)


def build_ensemble(
    X: Any,
    clusterer: Any = "kmeans",
    *,
    n_clusters: int | None = None,
    n_runs: int = 20,
    vary: Mapping[str, Sequence[Any]] | None = None,
    resample: float | str | None = None,
    left_out: str = "skip",
    on_failure: str = "raise",
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    checkpoint: str | Path | None = None,
    device: str = "auto",
) -> Ensemble:
    """Cluster the same data R times.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame; (n, n) distances; Dask array or frame
        For Dask data, the runs are fitted on a sample of rows, k-means continues over all blocks,
        and `labels` is a Dask array (see :mod:`clustertrust.streaming`). If a `dask.distributed`
        client is open, its workers fit the runs and read the blocks.
    clusterer : str, estimator, function, or a list of these
        A name of `clustertrust.ensemble.clusterers.CLUSTERERS`; any scikit-learn clusterer, mixture
        or Pipeline, which is cloned and gets a new seed for each run; a function `(X, rng) ->
        labels` with rng a `numpy.random.Generator`. The runs take the clusterers of a list in turn.
    n_clusters : int, optional
        Number of clusters of each run, set as `n_clusters` or `n_components`. None: 8 for a named
        clusterer, the estimator's own value otherwise.
    n_runs : int
        R, at least 2.
    vary : dict, optional
        Values of parameters, of which each run draws one, such as ``{"n_neighbors": range(10,
        16)}``; "n_clusters" also means n_components, and replaces `n_clusters`. In a list of
        clusterers, a key applies to those that have it.
    resample : float or "bootstrap", optional
        Fit each run on this share of the points, drawn without replacement, or on n drawn with
        replacement.
    left_out : {"skip", "predict"}
        What happens to points that a resampled run left out: the run does not assign them, or its
        model places them.
    on_failure : {"raise", "drop"}
        Whether a failing run stops the build or is left out of the ensemble.
    metric, metric_params : str or callable, dict, optional
        The distance for "kmedoids", "agglomerative", "hdbscan", "spectral" and "leiden"; see
        :class:`clustertrust.CAKE`. With "precomputed", X holds the distances.
    random_state : int, RandomState, sequence of R seeds or None
        The seed of run r depends only on `random_state` and r. None draws entropy once;
        `Ensemble.seeds` records the seeds.
    n_jobs : int, optional
        Runs at a time, each on one thread; None: one per core. It does not change the runs. Dask
        workers take as many as they have threads.
    verbose : bool
        Show the progress: a bar in a terminal or a notebook, else a line now and then.
    checkpoint : path, optional
        A folder that keeps each finished run. A build with the same data and settings resumes where
        the last one stopped. All Dask workers must see the folder under the same path.
    device : {"auto", "cpu", "cuda"}
        Where runs of k-means are fitted; see :class:`clustertrust.CAKE`. Others run on the CPU.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import build_ensemble
    >>> X = load_iris().data
    >>> build_ensemble(X, n_clusters=3, n_runs=5, random_state=0).labels.shape
    (150, 5)
    >>> mixed = build_ensemble(X, ["kmeans", "gmm"], n_clusters=3, n_runs=4, random_state=0)
    >>> mixed.summary()["method"].tolist()
    ['kmeans', 'gmm', 'kmeans', 'gmm']
    """
    check_device(device, "single")
    recipe = Recipe.of(
        {
            "clusterer": clusterer,
            "n_clusters": n_clusters,
            "n_runs": n_runs,
            "vary": vary,
            "resample": resample,
            "left_out": left_out,
            "on_failure": on_failure,
            "metric": metric,
            "metric_params": metric_params,
            "random_state": random_state,
            "n_jobs": n_jobs,
            "verbose": verbose,
            "checkpoint": checkpoint,
            "device": device,
        }
    )
    recipe.check_place(X)
    if is_dask(X):
        from clustertrust.streaming.dask_passes import build_on_dask  # here: it reads this module

        refuse_gpu(device)
        return build_on_dask(X, recipe)
    if isinstance(recipe.n_runs, str):
        raise TypeError(
            f"n_runs={n_runs!r} must be a whole number here; only CAKE can find how many runs it "
            "needs."
        )
    recipe = replace(recipe, device=resolve_device(device, X))
    return build_runs(recipe.check_points(to_host(X)), recipe)


def build_runs(X: Any, recipe: Recipe) -> Ensemble:
    """Cluster checked data `n_runs` times; load runs that a checkpoint has."""
    recipe.check_size(X.shape[0])
    R = recipe.count()
    entropy, seeds = draw_seeds(recipe.random_state, R)
    kept = None
    if recipe.checkpoint is not None:
        settings = recipe.settings() | {
            "data": hash_data(X),
            "random_state": _as_json(recipe.random_state),
            "entropy": entropy,
        }
        kept = Checkpoint(recipe.checkpoint, settings)
        if recipe.random_state is None:  # continue with the entropy of the first build
            seeds = spawn_seeds(kept.settings["entropy"], R)
    runs = run_all(X, recipe, list(enumerate(seeds)), kept)
    check_enough(runs, R)
    recipe.warn_of(runs)
    return assemble(runs)


def check_enough(runs: Sequence[Run], tried: int) -> None:
    """Raise if too few runs are left to compare."""
    if len(runs) < 2:
        raise ValueError(f"Only {len(runs)} of {tried} runs succeeded; at least 2 are needed.")
