"""X, a clusterer and seeds → an ensemble: R runs, each a labelling of the same n points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._validation import MOST, check_choice, check_count, check_flag, check_floats, check_matrix, is_dask
from clustertrust.cells import Clusters, meet
from clustertrust.clusterers import Run
from clustertrust.labels import read_labels
from clustertrust.matching import contingency_tables
from clustertrust.placing import Placer, place
from clustertrust.recipe import ON_FAILURE, Recipe, draw_seeds, run_all, spawn_seeds
from clustertrust.run_files import Checkpoint
from clustertrust.storage import hash_data

__all__ = ["Ensemble", "as_ensemble", "build_ensemble"]

Ints = NDArray[np.integer]


@dataclass(frozen=True)
class Ensemble:
    """R runs on the same n points.

    Attributes
    ----------
    labels : (n, R) int array
        Labels as the runs gave them; -1: not assigned in that run. Labels that are not whole numbers are
        numbered by first appearance, see `label_names`. Runs of Dask data have a Dask array here, and so a method that
        counts goes over the data once; `compute` brings the labels into memory.
    label_names : tuple of R arrays or None
        For run r the name of each label, or None where the labels are their own names.
    centers : tuple of R arrays, or None
        Centre of each cluster; row ℓ belongs to label ℓ.
    runs : tuple of R records, or None
        What each fit left behind, where the runs were made here.
    """

    labels: Ints
    label_names: tuple[NDArray | None, ...] = field(repr=False)
    centers: tuple[NDArray, ...] | None = field(default=None, repr=False)
    runs: tuple[Run, ...] | None = field(default=None, repr=False)

    @classmethod
    def from_labels(cls, labels: Any, *, centers: Sequence[NDArray] | None = None) -> Ensemble:
        """Make an ensemble of partitions that are there already.

        Parameters
        ----------
        labels : list of R label vectors, or array or DataFrame of shape (n, R)
            Labels of any kind. Negative numbers and missing values mean that the point is not assigned. A Dask array
            holds whole numbers.
        centers : sequence of R arrays, optional
            Centres of each run; row ℓ belongs to label ℓ, so labels are then whole numbers 0, 1, ….

        Returns
        -------
        Ensemble

        Examples
        --------
        >>> from clustertrust import Ensemble
        >>> Ensemble.from_labels([["a", "a", "b"], ["x", "y", "y"]]).n_clusters.tolist()
        [2, 2]
        """
        if is_dask(labels):
            return _of_dask(cls, labels) if centers is None else _of_dask(cls, labels).with_centers(centers)
        stacked, names = read_labels(labels)
        ensemble = cls(np.ascontiguousarray(stacked, np.int32 if stacked.max() < 2**31 else np.int64), names)
        return ensemble if centers is None else ensemble.with_centers(centers)

    def with_centers(self, centers: Sequence[NDArray]) -> Ensemble:
        """Return the same runs with these centres.

        Parameters
        ----------
        centers : sequence of R arrays (k, d)
            Row ℓ belongs to label ℓ; rows of labels that do not occur are not used.

        Returns
        -------
        Ensemble
        """
        if not isinstance(centers, Sequence | np.ndarray):
            raise TypeError(f"centers={centers!r} must be a sequence of arrays, one a run.")
        if len(centers) != self.n_runs:
            raise ValueError(f"centers has {len(centers)} arrays for {self.n_runs} runs; give one array a run.")
        checked = []
        highest = np.asarray(self.labels.max(axis=0))
        for r, (run_centers, names) in enumerate(zip(centers, self.label_names, strict=True)):
            array = check_floats(f"centers[{r}]", run_centers, "a (k, d) array of finite numbers")
            if array.ndim != 2 or not np.isfinite(array).all():
                raise ValueError(f"centers[{r}] must be a (k, d) array of finite numbers; its shape is {array.shape}.")
            if names is not None or highest[r] >= len(array):
                raise ValueError(
                    f"centers[{r}] has {len(array)} rows, so the labels of run {r} must be whole numbers from 0 to "
                    f"{len(array) - 1}; row ℓ belongs to label ℓ."
                )
            checked.append(array)
        if len({array.shape[1] for array in checked}) > 1:
            raise ValueError("centers differ in their number of columns; each must have the d columns of X.")
        return replace(self, centers=tuple(checked))

    @property
    def n_runs(self) -> int:
        """R."""
        return self.labels.shape[1]

    @cached_property
    def _clusters(self) -> Clusters:
        """The clusters of all runs and their contingencies."""
        if not is_dask(self.labels):
            return meet(self.labels)
        from clustertrust.dask_passes import total_of_labels  # here: it reads this module

        return total_of_labels(self.labels)

    @property
    def n_clusters(self) -> Ints:
        """(R,) number of non-empty clusters of each run."""
        if is_dask(self.labels):
            return self._clusters.n_clusters
        return np.array([np.unique(run[run >= 0]).size for run in self.labels.T], dtype=np.int64)

    @property
    def seeds(self) -> tuple[int | None, ...] | None:
        """The seed of each run; `random_state=ensemble.seeds` builds the same runs again. None for given labels."""
        return None if self.runs is None else tuple(run.seed for run in self.runs)

    @property
    def placers(self) -> list[Placer]:
        """How each run places unseen points."""
        placers = [None] * self.n_runs if self.runs is None else [run.placer for run in self.runs]
        unknown = [r for r, placer in enumerate(placers) if placer is None]
        if unknown:
            raise ValueError(
                f"How runs {unknown} place unseen points is not known: their labels were given, or their model could "
                "not be stored."
            )
        return [placer for placer in placers if placer is not None]

    def place(self, X: Any) -> Ints:
        """Label that each run gives to unseen points.

        Parameters
        ----------
        X : (n_new, d) array or CSR matrix

        Returns
        -------
        (n_new, R) int array

        Raises
        ------
        ValueError
            Where labels were given, or the model of a run could not be stored.
        """
        return place(self.placers, check_matrix(X, reset=False))

    def diversity(self) -> float:
        """1 - mean NMI (arithmetic mean of entropies) over the pairs of runs; points assigned in both runs count."""
        values = [nmi for _, _, tables in contingency_tables(self._clusters) for nmi in _nmi(tables)]
        return 1.0 - float(np.mean(values)) if values else 0.0

    def summary(self) -> pd.DataFrame:
        """One row a run: method, seed, drawn parameters, number of clusters, objective, iterations, seconds."""
        table = pd.DataFrame({"run": np.arange(self.n_runs)})
        if self.runs is not None:
            names = list(dict.fromkeys(name for run in self.runs for name in run.params))
            table["method"] = [run.method for run in self.runs]
            table["seed"] = [run.seed for run in self.runs]
            for name in names:
                table[name] = pd.Series([run.params.get(name) for run in self.runs], dtype=object).infer_objects()
        table["k"] = self.n_clusters
        table["assigned"] = np.asarray((self.labels >= 0).mean(axis=0))
        if self.runs is not None:
            for name in ("objective", "iterations", "seconds"):
                table[name] = [getattr(run, name) for run in self.runs]
        return table

    def with_labels(self, labels: Any) -> Ensemble:
        """Return the same runs with other labels.

        Parameters
        ----------
        labels : (n, R) array or Dask array
            Of other points, or in another form.

        Returns
        -------
        Ensemble
        """
        if getattr(labels, "ndim", None) != 2 or labels.shape[1] != self.n_runs:
            told = f"shape {labels.shape}" if hasattr(labels, "shape") else f"type {type(labels).__name__}"
            raise ValueError(f"labels has {told}; give an (n, {self.n_runs}) array, one column for each of the runs.")
        runs = self.runs and tuple(replace(run, labels=labels[:, r]) for r, run in enumerate(self.runs))
        return replace(self, labels=labels, runs=runs)

    def compute(self) -> Ensemble:
        """Return the same runs with their labels in memory, where they are in a Dask array."""
        return self.with_labels(np.asarray(self.labels)) if is_dask(self.labels) else self

    def save(self, path: str | Path) -> None:
        """Write the ensemble to one file of arrays and JSON (.npz), whole or not at all.

        Runs of methods whose model cannot be stored keep their labels, but place no unseen points when they are back.

        Parameters
        ----------
        path : where to; a file that is there is replaced
        """
        from clustertrust.ensemble_files import save_ensemble  # here: it reads this module

        if is_dask(self.labels):
            raise ValueError("The labels are in a Dask array; ensemble.compute().save(path) brings them into memory.")
        save_ensemble(path, self)

    @classmethod
    def load(cls, path: str | Path) -> Ensemble:
        """Read what `save` wrote.

        Parameters
        ----------
        path : path of the file

        Returns
        -------
        Ensemble

        Raises
        ------
        ValueError
            Where the file is damaged, of another version, or no ensemble.
        """
        from clustertrust.ensemble_files import load_ensemble

        return load_ensemble(path)


def _nmi(tables: Ints) -> NDArray[np.float64]:
    """Normalised mutual information of each table (t, k, k'); 1 where both runs have one cluster."""
    share = tables / np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1)
    a, b = share.sum(axis=2, keepdims=True), share.sum(axis=1, keepdims=True)

    def entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
        return -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=(1, 2))

    mean = (entropy(a) + entropy(b)) / 2
    mutual = entropy(a) + entropy(b) - entropy(share)
    return np.where(mean > 1e-15, np.clip(mutual / np.where(mean > 1e-15, mean, 1.0), 0.0, 1.0), 1.0)


def as_ensemble(labels: Any, *, at_least: int = 1, of_dask: bool = False) -> Ensemble:
    """Return `labels`, in any of the forms that public functions take, as an Ensemble of enough runs.

    `of_dask`: whether the labels may be in a Dask array.
    """
    ensemble = labels if isinstance(labels, Ensemble) else Ensemble.from_labels(labels)
    if is_dask(ensemble.labels) and not of_dask:
        raise ValueError(
            "labels are in a Dask array, and are needed in memory here: give ensemble.compute() or labels.compute(). "
            "confidence takes them as they are where X is Dask's too."
        )
    if ensemble.n_runs < at_least:
        raise ValueError(
            f"labels holds {ensemble.n_runs} run; at least {at_least} are needed to compare runs. Give a list of "
            "label vectors or an (n, R) array."
        )
    return ensemble


def _of_dask(kind: type[Ensemble], labels: Any) -> Ensemble:
    """An ensemble of labels in a Dask array."""
    if labels.ndim != 2 or getattr(labels, "dtype", np.dtype(object)).kind not in "iu" or not labels.shape[1]:
        told = f"shape {labels.shape} and type {labels.dtype}" if hasattr(labels, "dtype") else "columns"
        raise ValueError(
            f"labels has {told}; in Dask's hands labels are one (n, R) array of whole numbers, such as "
            "dask.array.stack(runs, axis=1). Other labels can be scored in memory: labels.compute()."
        )
    return kind(labels.astype(np.int64), (None,) * labels.shape[1])


def _told_state(random_state: Any) -> Any:
    """A random state as JSON, to know it again."""
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
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    checkpoint: str | Path | None = None,
) -> Ensemble:
    """Cluster the same data R times.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame; Dask array or frame
        Of Dask data a sample of rows is drawn, the runs are fitted on it, k-means goes on over all blocks, and
        `labels` is a Dask array (see :mod:`clustertrust.streaming`). Where a `dask.distributed` client is open, its
        workers fit the runs and go through the blocks.
    clusterer : str, estimator, function, or a list of these
        A name of `clustertrust.clusterers.CLUSTERERS`; any scikit-learn clusterer, mixture or Pipeline, which is cloned
        and gets a new seed for each run; a function `(X, rng) -> labels` with rng a `numpy.random.Generator`. From a
        list runs are dealt in turn.
    n_clusters : int, optional
        Clusters of each run, set as `n_clusters` or `n_components`. None: 8 for names, and an estimator's own value.
    n_runs : int
        R, at least 2.
    vary : dict, optional
        Values of parameters from which each run draws one, such as ``{"n_neighbors": range(10, 16)}``; "n_clusters"
        also means n_components, and stands in place of `n_clusters`. In a list of clusterers a key applies to those
        that have it.
    resample : float or "bootstrap", optional
        Fit each run on this share of the points, drawn without replacement, or on n drawn with replacement.
    left_out : {"skip", "predict"}
        Points that a resampled run left out are not assigned in it, or placed by its model.
    on_failure : {"raise", "drop"}
        Whether a run that fails ends the build or is left out of the ensemble.
    random_state : int, RandomState, sequence of R seeds or None
        The seed of run r depends on `random_state` and r alone. None draws entropy once; `Ensemble.seeds` records what
        came of it.
    n_jobs : int, optional
        Runs at a time, each on one thread; None: every core. The runs are the same for any number. Workers of Dask
        take as many as they have threads.
    verbose : bool
        Show a progress bar, where there is a terminal.
    checkpoint : path, optional
        A folder that keeps each finished run. A build with the same data and settings goes on where another stopped.
        Workers of Dask must all see it under the same path.

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
    if is_dask(X):
        how = {"clusterer": clusterer, "n_clusters": n_clusters, "vary": vary, "resample": resample}
        how |= {"left_out": left_out, "on_failure": on_failure, "n_jobs": n_jobs, "verbose": verbose}
        return _build_on_dask(X, how | {"checkpoint": checkpoint}, n_runs, random_state)
    X = check_matrix(X)
    check_flag("verbose", verbose)
    recipe = Recipe.of(clusterer, n_clusters, vary, resample, left_out, X.shape[0])
    check_choice("on_failure", on_failure, ON_FAILURE)
    R = check_count("n_runs", n_runs, at_least=2, at_most=MOST)
    entropy, seeds = draw_seeds(random_state, R)
    kept = None
    if checkpoint is not None:
        settings = recipe.settings() | {
            "data": hash_data(X),
            "random_state": _told_state(random_state),
            "entropy": entropy,
        }
        kept = Checkpoint(checkpoint, settings)
        if random_state is None:  # go on with the entropy of the first build
            seeds = spawn_seeds(kept.settings["entropy"], R)
    runs = run_all(X, recipe, list(enumerate(seeds)), on_failure, n_jobs, verbose, kept)
    if len(runs) < 2:
        raise ValueError(f"Only {len(runs)} of {R} runs succeeded; at least 2 are needed.")
    recipe.tell(runs)
    return assemble(runs)


def _build_on_dask(X: Any, how: dict[str, Any], n_runs: Any, random_state: Any) -> Ensemble:
    """`build_ensemble` of Dask data; `how` are its other parameters."""
    from clustertrust.dask_passes import DaskPasses, build_on_dask  # here: both read this module
    from clustertrust.streaming import check_left_out

    passes = DaskPasses(X)
    recipe = {name: how[name] for name in ("clusterer", "n_clusters", "vary", "resample", "left_out")}
    Recipe.of(**recipe, n_points=passes.n_rows or 0)  # what is wrong is told before a pass
    check_choice("on_failure", how["on_failure"], ON_FAILURE)
    check_left_out(how["resample"], how["left_out"])
    if how["checkpoint"] is not None and random_state is None:
        raise ValueError(
            "random_state=None draws another sample each time, and the runs of a checkpoint belong to one sample; give "
            "a number."
        )
    return build_on_dask(passes, partial(build_ensemble, **how), n_runs, random_state)


def assemble(runs: Sequence[Run]) -> Ensemble:
    """Put runs side by side."""
    has_centers = all(run.centers is not None and len(run.centers) > run.labels.max(initial=-1) for run in runs)
    return Ensemble(
        labels=np.column_stack([run.labels for run in runs]),
        label_names=(None,) * len(runs),
        centers=tuple(run.centers for run in runs if run.centers is not None) if has_centers else None,
        runs=tuple(runs),
    )
