"""X, a clusterer and seeds → an ensemble, in memory or on Dask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from clustertrust._devices import check_device, refuse_gpu, resolve_device, to_host
from clustertrust._errors import ParameterTypeError
from clustertrust._parallel import kept_threads
from clustertrust._validation.frames import is_dask
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.record import Ensemble
from clustertrust.ensemble.running import build_runs
from clustertrust.ensemble.runs import Runs
from clustertrust.streaming.dask_passes import build_on_dask


@kept_threads()
def build_ensemble(
    X: Any,
    clusterer: Any = "kmeans",
    *,
    n_clusters: int | None = None,
    n_runs: int | Runs = 20,
    vary: Mapping[str, Sequence[Any]] | None = None,
    resample: float | str | None = None,
    metric: Any = "euclidean",
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
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
    n_runs : int or Runs
        R, at least 2; :class:`~clustertrust.Runs` has more options.
    vary : dict, optional
        Values of parameters, of which each run draws one, such as ``{"n_neighbors": range(10,
        16)}``; "n_clusters" also means n_components, and replaces `n_clusters`. In a list of
        clusterers, a key applies to those that have it.
    resample : float or "bootstrap", optional
        Fit each run on this share of the points, drawn without replacement, or on n drawn with
        replacement.
    metric : str, function or Metric
        The distance between points, for clusterers that take one; see :class:`clustertrust.CAKE`.
    random_state : int, RandomState, sequence of R seeds or None
        The seed of run r depends only on `random_state` and r. None draws entropy once;
        `Ensemble.seeds` records the seeds.
    n_jobs : int, optional
        Runs at a time, each on one thread; None: one per core. It does not change the runs. Dask
        workers take as many as they have threads.
    verbose : bool
        Show the progress: a bar in a terminal or a notebook, else a line now and then.
    device : {"auto", "cpu", "cuda", "cuda-double"}
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
    check_device(device)
    # All parameters by name.
    recipe = Recipe.from_params(locals())
    recipe.check_place(X)
    if is_dask(X):
        refuse_gpu(device)
        return build_on_dask(X, recipe)
    if isinstance(recipe.runs.n_runs, str):
        raise ParameterTypeError(
            "n_runs",
            recipe.runs.n_runs,
            "must be an integer here",
            "only CAKE can find how many runs it needs",
        )
    recipe = replace(recipe, device=resolve_device(device, X))
    return build_runs(recipe.check_points(to_host(X)), recipe)
