"""X, a clusterer and seeds → an ensemble: R runs, each a labelling of the same n points."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from clustertrust._parallel import blocks, collected_warnings, count_threads, map_blocks, one_thread
from clustertrust._validation import check_choice, check_count, check_label_vector, check_matrix, is_frame, tell
from clustertrust.dissimilarity import squared_distances

__all__ = ["CLUSTERERS", "Ensemble", "as_ensemble", "build_ensemble"]

Ints = NDArray[np.integer]


@dataclass(frozen=True)
class Ensemble:
    """R runs on the same n points.

    Attributes
    ----------
    labels : (n, R) int array
        Labels as the runs gave them; -1: not assigned in that run. Labels that are not whole numbers are
        numbered by first appearance, see `label_names`.
    label_names : tuple of R arrays or None
        For run r the name of each label, or None where the labels are their own names.
    centers : tuple of R arrays, or None
        Centre of each cluster; row ℓ belongs to label ℓ.
    seeds : tuple of R ints, or None
        The seed of each run; `random_state=ensemble.seeds` builds the same runs again.
    """

    labels: Ints
    label_names: tuple[NDArray | None, ...] = field(repr=False)
    centers: tuple[NDArray, ...] | None = field(default=None, repr=False)
    seeds: tuple[int, ...] | None = None

    @classmethod
    def from_labels(cls, labels: Any, *, centers: Sequence[NDArray] | None = None) -> Ensemble:
        """Make an ensemble of partitions that are there already.

        Parameters
        ----------
        labels : list of R label vectors, or array or DataFrame of shape (n, R)
            Labels of any kind. Negative numbers and missing values mean that the point is not assigned.
        centers : sequence of R arrays, optional
            Centres of each run; row ℓ belongs to label ℓ, so labels are then whole numbers 0, 1, ….

        Examples
        --------
        >>> from clustertrust import Ensemble
        >>> Ensemble.from_labels([["a", "a", "b"], ["x", "y", "y"]]).n_clusters.tolist()
        [2, 2]
        """
        if isinstance(labels, np.ndarray) and labels.ndim == 2 and labels.dtype.kind == "i" and labels.size:
            stacked, names = np.maximum(labels, -1), (None,) * labels.shape[1]  # whole numbers are their own names
        else:
            columns, names = zip(*(_column(name, run) for name, run in _runs(labels)), strict=True)
            widths = {len(column) for column in columns}
            if len(widths) > 1:
                raise ValueError(
                    f"labels is ragged: its runs have {sorted(widths)} points; every run must label the same points."
                )
            stacked = np.column_stack(columns)
        if len(stacked) < 2:
            raise ValueError(f"labels has {len(stacked)} point(s); there must be at least 2.")
        ensemble = cls(np.ascontiguousarray(stacked, np.int32 if stacked.max() < 2**31 else np.int64), names)
        return ensemble if centers is None else ensemble.with_centers(centers)

    def with_centers(self, centers: Sequence[NDArray]) -> Ensemble:
        """Return the same runs with these centres, one array a run."""
        if not isinstance(centers, Sequence | np.ndarray):
            raise TypeError(f"centers={centers!r} must be a sequence of arrays, one a run.")
        if len(centers) != self.n_runs:
            raise ValueError(f"centers has {len(centers)} arrays for {self.n_runs} runs; give one array a run.")
        checked = []
        for r, (run_centers, names) in enumerate(zip(centers, self.label_names, strict=True)):
            try:
                array = np.asarray(run_centers, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(f"centers[{r}] must be a (k, d) array of finite numbers: {error}.") from error
            if array.ndim != 2 or not np.isfinite(array).all():
                raise ValueError(f"centers[{r}] must be a (k, d) array of finite numbers; its shape is {array.shape}.")
            largest = self.labels[:, r].max(initial=-1)
            if names is not None or largest >= len(array):
                raise ValueError(
                    f"centers[{r}] has {len(array)} rows, so the labels of run {r} must be whole numbers from 0 to "
                    f"{len(array) - 1}; row ℓ belongs to label ℓ."
                )
            checked.append(array)
        if len({array.shape[1] for array in checked}) > 1:
            raise ValueError("centers differ in their number of columns; each must have the d columns of X.")
        return Ensemble(self.labels, self.label_names, tuple(checked), self.seeds)

    @property
    def n_runs(self) -> int:
        """R."""
        return self.labels.shape[1]

    @property
    def n_clusters(self) -> Ints:
        """(R,) number of non-empty clusters of each run."""
        return np.array([np.unique(run[run >= 0]).size for run in self.labels.T], dtype=np.int64)

    def place(self, X: Any, *, n_jobs: int | None = None) -> Ints:
        """Label that each run gives to unseen points: (n_new, R). Needs centres: the nearest one decides."""
        if self.centers is None:
            raise ValueError("These runs have no centres, so unseen points cannot be placed in them.")
        return np.column_stack([_nearest_center(X, centers, count_threads(n_jobs)) for centers in self.centers])


def _runs(labels: Any) -> list[tuple[str, Any]]:
    """Take `labels` apart into (name for messages, label vector)."""
    if is_frame(labels):
        columns = labels.items() if isinstance(labels, pd.DataFrame) else zip(labels.columns, labels, strict=True)
        runs = [(f"labels[{name!r}]", column) for name, column in columns]
    elif isinstance(labels, list | tuple):
        runs = [(f"labels[{r}]", run) for r, run in enumerate(labels)]
    else:
        array = np.asarray(labels)
        if array.ndim not in {1, 2}:
            raise ValueError(f"labels has shape {array.shape}; give an (n, R) array or a list of R label vectors.")
        runs = [(f"labels[:, {r}]", run) for r, run in enumerate((array[:, None] if array.ndim == 1 else array).T)]
    if not runs:
        raise ValueError("labels is empty; give at least one run.")
    return runs


def _column(name: str, run: Any) -> tuple[NDArray[np.int64], NDArray | None]:
    """Labels of one run as whole numbers, and their names where they are something else."""
    codes, names = check_label_vector(name, run)
    if names.size == 0:
        return codes, None
    if names.dtype.kind in "iu" and names.max() < 2**63:
        return np.append(names.astype(np.int64), -1)[codes], None
    return codes, names


def as_ensemble(labels: Any, *, at_least: int = 1) -> Ensemble:
    """Return `labels`, in any of the forms that public functions take, as an Ensemble of enough runs."""
    ensemble = labels if isinstance(labels, Ensemble) else Ensemble.from_labels(labels)
    if ensemble.n_runs < at_least:
        raise ValueError(
            f"labels holds {ensemble.n_runs} run; at least {at_least} are needed to compare runs. Give a list of "
            "label vectors or an (n, R) array."
        )
    return ensemble


def _nearest_center(X: Any, centers: NDArray, threads: int) -> Ints:
    """Index of the nearest centre, the first on ties."""

    def nearest(rows: slice) -> Ints:
        return squared_distances(centers, X[rows]).argmin(axis=0)

    parts = map_blocks(nearest, blocks(X.shape[0], 8 * len(centers)), threads)
    return np.concatenate(list(parts)).astype(np.int32)


def _kmeans(n_clusters: int, seed: int) -> KMeans:
    return KMeans(n_clusters, init="k-means++", n_init=1, random_state=seed)


def _kmeans_random(n_clusters: int, seed: int) -> KMeans:
    return KMeans(n_clusters, init="random", n_init=1, random_state=seed)


# The one table of names: how to make the estimator of one run.
CLUSTERERS: dict[str, Callable[[int, int], Any]] = {"kmeans": _kmeans, "kmeans-random": _kmeans_random}


def _seeds(random_state: Any, n_runs: int) -> tuple[int, ...]:
    """Seed of run r from (random_state, r) alone, so that more runs begin with the same runs."""
    if isinstance(random_state, Sequence | np.ndarray) and not isinstance(random_state, str):
        if len(random_state) != n_runs:
            raise ValueError(f"random_state has {len(random_state)} seeds for n_runs={n_runs}; give one seed a run.")
        return tuple(check_count("random_state", seed, at_least=0) for seed in random_state)
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    elif random_state is not None:
        random_state = check_count("random_state", random_state, at_least=0)
    entropy = np.random.SeedSequence(random_state).entropy  # drawn here where random_state is None
    return tuple(int(np.random.SeedSequence(entropy, spawn_key=(r,)).generate_state(1)[0]) for r in range(n_runs))


@dataclass(frozen=True)
class _Run:
    """What one fit leaves behind."""

    labels: Ints
    centers: NDArray
    warnings: tuple[str, ...]
    seconds: float


def _fit_run(X: Any, clusterer: str, n_clusters: int, seed: int) -> _Run:
    began = time.perf_counter()
    with one_thread(), collected_warnings as caught:
        model = CLUSTERERS[clusterer](n_clusters, seed).fit(X)
    centers = np.asarray(model.cluster_centers_, dtype=np.float64)
    # Labels come from the same rule that places unseen points, so that predict() gives training points their
    # labels back. They are the fit's own but for points as far from one centre as from another to the last digit.
    labels = _nearest_center(X, centers, threads=1)
    told = tuple(str(w.message) for w in caught if not issubclass(w.category, ConvergenceWarning))
    return _Run(labels, centers, told, time.perf_counter() - began)


def build_ensemble(
    X: Any,
    clusterer: str = "kmeans",
    *,
    n_clusters: int | None = None,
    n_runs: int = 20,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Ensemble:
    """Cluster the same data R times.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    clusterer : {"kmeans", "kmeans-random"}
        k-means started by k-means++ or from random points; one start a run.
    n_clusters : int, optional
        Clusters of each run; None: 8.
    n_runs : int
        R, at least 2.
    random_state : int, RandomState, sequence of R seeds or None
        The seed of run r depends on `random_state` and r alone. None draws entropy once; `Ensemble.seeds`
        records what came of it.
    n_jobs : int, optional
        Runs at a time, each on one thread; None: every core. The runs are the same for any number.

    Returns
    -------
    Ensemble

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import build_ensemble
    >>> build_ensemble(load_iris().data, n_clusters=3, n_runs=5, random_state=0).labels.shape
    (150, 5)
    """
    X = check_matrix(X)
    check_choice("clusterer", clusterer, CLUSTERERS)
    k = 8 if n_clusters is None else check_count("n_clusters", n_clusters, at_least=1)
    R = check_count("n_runs", n_runs, at_least=2)
    if k > X.shape[0]:
        raise ValueError(f"n_clusters={k} is more than the {X.shape[0]} points of X; ask for at most that many.")
    seeds = _seeds(random_state, R)
    fit = joblib.delayed(_fit_run)
    threads = count_threads(n_jobs)
    runs = joblib.Parallel(n_jobs=threads, prefer="threads")(fit(X, clusterer, k, seed) for seed in seeds)
    _tell(runs, k)
    return Ensemble(
        labels=np.column_stack([run.labels for run in runs]),
        label_names=(None,) * R,
        centers=tuple(run.centers for run in runs),
        seeds=seeds,
    )


def _tell(runs: Sequence[_Run], k: int) -> None:
    """Say once, for all runs, what went less than well."""
    fewer = [r for r, run in enumerate(runs) if np.unique(run.labels).size < k]
    if fewer:
        tell(
            f"{len(fewer)} of {len(runs)} runs found fewer than the {k} clusters asked for (run {fewer[0]} found "
            f"{np.unique(runs[fewer[0]].labels).size}); the data may hold too few distinct points.",
            ConvergenceWarning,
        )
    for message in dict.fromkeys(message for run in runs for message in run.warnings):
        concerned = [r for r, run in enumerate(runs) if message in run.warnings]
        tell(f"{message} (runs {concerned})")
