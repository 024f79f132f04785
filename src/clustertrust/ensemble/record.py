"""R runs on the same n points: the record, from fits or from given labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd

from clustertrust._parallel import count_threads, stack_columns
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_floats
from clustertrust._validation.frames import is_dask
from clustertrust._validation.labels import is_auto
from clustertrust._validation.points import check_matrix
from clustertrust.cells import Clusters, meet
from clustertrust.ensemble.fitting import Run
from clustertrust.ensemble.labels import read_labels
from clustertrust.ensemble.placing import Placer, place
from clustertrust.matching import contingency_tables
from clustertrust.records import Record, load_record, save_record
from clustertrust.totals import total_of_labels

# Stands for the labels of a run.
_A_COLUMN = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Ensemble(Record):
    """R runs on the same n points.

    Attributes
    ----------
    labels : (n, R) int array
        Labels as the runs gave them; -1: not assigned in that run. Labels that are not
        integers are numbered by first appearance, see `label_names`. For Dask data it is a Dask
        array, so a method that counts reads the data once; `compute` loads the labels into memory.
    label_names : tuple of R arrays or None
        For run r the name of each label, or None where the labels are their own names.
    centers : tuple of R arrays, or None
        Centre of each cluster; row ℓ belongs to label ℓ.
    runs : tuple of R records, or None
        The record of each fit, if the runs were made here.
    noise : dict
        How often each given label that was taken as noise occurs.
    """

    labels: Annotated[Ints, "i n R"]
    label_names: tuple[Array | None, ...] = field(repr=False)
    centers: tuple[Array, ...] | None = field(default=None, repr=False)
    runs: tuple[Run, ...] | None = field(default=None, repr=False)
    noise: Mapping[str, int] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        """Return one line: the labels would fill a screen."""
        n, n_runs = self.labels.shape
        return f"<Ensemble: {n} points, {n_runs} runs; labels, n_clusters, summary(), …>"

    @classmethod
    def from_labels(
        cls, labels: Any, *, centers: Sequence[Array] | None = None, noise: Any = "auto"
    ) -> Ensemble:
        """Make an ensemble of partitions that you already have.

        Parameters
        ----------
        labels : list of R label vectors, or array or DataFrame of shape (n, R)
            Labels of any kind, or one label vector as an array or Series. Noise and missing values
            mean that the point is not assigned. A Dask array must hold integers.
        centers : sequence of R arrays, optional
            Centres of each run; row ℓ belongs to label ℓ, so labels are then integers 0, 1, ….
        noise : "auto", label, list of labels, or None
            Labels that mean noise. "auto": numbers below 0, the same as text, and text such as
            "-1_the_of", as topic tools write it. None: every label is a cluster; one that "auto"
            would take as noise is called "cluster -1" then. The other functions that take labels
            take an `Ensemble` too, :func:`clustertrust.audit` one with a single run.

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
            if not is_auto(noise):
                raise ValueError(
                    f"noise={noise!r} needs labels in memory; give labels.compute(), or leave it "
                    "out: negative numbers are noise in a Dask array."
                )
            ensemble = _of_dask(cls, labels)
        else:
            stacked, names, counts = read_labels(labels, noise)
            kind = np.int32 if stacked.max() < 2**31 else np.int64
            ensemble = cls(np.ascontiguousarray(stacked, kind), names, noise=counts)
        return ensemble if centers is None else ensemble.with_centers(centers)

    def with_centers(self, centers: Sequence[Array]) -> Ensemble:
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
            raise TypeError(f"centers={centers!r} must be a sequence of arrays, one per run.")
        if len(centers) != self.n_runs:
            raise ValueError(
                f"centers has {len(centers)} arrays for {self.n_runs} runs; give one array per run."
            )
        checked = []
        highest = np.asarray(self.labels.max(axis=0))
        for r, (run_centers, names) in enumerate(zip(centers, self.label_names, strict=True)):
            array = check_floats(f"centers[{r}]", run_centers, "a (k, d) array of finite numbers")
            if array.ndim != 2 or not np.isfinite(array).all():
                raise ValueError(
                    f"centers[{r}] must be a (k, d) array of finite numbers; its shape is "
                    f"{array.shape}."
                )
            if names is not None or highest[r] >= len(array):
                raise ValueError(
                    f"centers[{r}] has {len(array)} rows, so the labels of run {r} must be "
                    f"integers from 0 to {len(array) - 1}; row ℓ belongs to label ℓ."
                )
            checked.append(array)
        if len({array.shape[1] for array in checked}) > 1:
            raise ValueError(
                "centers differ in their number of columns; each must have the d columns of X."
            )
        return replace(self, centers=tuple(checked))

    @property
    def n_runs(self) -> int:
        """R."""
        return int(self.labels.shape[1])

    @cached_property
    def _clusters(self) -> Clusters:
        """The clusters of all runs and their contingencies."""
        return total_of_labels(self.labels) if is_dask(self.labels) else meet(self.labels)

    @property
    def n_clusters(self) -> Ints:
        """(R,) number of non-empty clusters of each run."""
        if is_dask(self.labels):
            return self._clusters.n_clusters
        return np.array([np.unique(run[run >= 0]).size for run in self.labels.T], dtype=np.int64)

    @property
    def seeds(self) -> tuple[int | None, ...] | None:
        """The seed of each run; `random_state=ensemble.seeds` builds the same runs again.

        None for given labels.
        """
        return None if self.runs is None else tuple(run.seed for run in self.runs)

    @property
    def placers(self) -> list[Placer]:
        """How each run places unseen points."""
        placers = [None] * self.n_runs if self.runs is None else [run.placer for run in self.runs]
        unknown = [r for r, placer in enumerate(placers) if placer is None]
        if unknown:
            raise ValueError(
                f"Runs {unknown} cannot place unseen points: their labels were given, or their "
                "model could not be stored."
            )
        return [placer for placer in placers if placer is not None]

    def place(self, X: Any) -> Ints:
        """Return the label that each run gives to unseen points.

        Parameters
        ----------
        X : (n_new, d) array or CSR matrix

        Returns
        -------
        (n_new, R) int array

        Raises
        ------
        ValueError
            If labels were given, or the model of a run could not be stored.
        """
        return place(self.placers, check_matrix(X, reset=False))

    def diversity(self) -> float:
        """1 - mean NMI (arithmetic mean of entropies) over the pairs of runs.

        Only points assigned in both runs count.
        """
        values = [
            nmi for _, _, tables in contingency_tables(self._clusters) for nmi in _nmi(tables)
        ]
        return 1.0 - float(np.mean(values)) if values else 0.0

    def summary(self) -> pd.DataFrame:
        """Return a table with one row per run.

        Its columns are method, seed, drawn parameters, number of clusters, objective, iterations
        and seconds.
        """
        table = pd.DataFrame({"run": np.arange(self.n_runs)})
        if self.runs is not None:
            names = list(dict.fromkeys(name for run in self.runs for name in run.params))
            table["method"] = [run.method for run in self.runs]
            table["seed"] = [run.seed for run in self.runs]
            for name in names:
                table[name] = pd.Series(
                    [run.params.get(name) for run in self.runs], dtype=object
                ).infer_objects()
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
            Labels of other points, or the same labels in another form.

        Returns
        -------
        Ensemble
        """
        if getattr(labels, "ndim", None) != 2 or labels.shape[1] != self.n_runs:
            what = (
                f"shape {labels.shape}"
                if hasattr(labels, "shape")
                else f"type {type(labels).__name__}"
            )
            raise ValueError(
                f"labels has {what}; give an (n, {self.n_runs}) array, one column for each of the "
                "runs."
            )
        runs = self.runs and tuple(
            replace(run, labels=labels[:, r]) for r, run in enumerate(self.runs)
        )
        return replace(self, labels=labels, runs=runs)

    def compute(self) -> Ensemble:
        """Return the same runs with their labels in memory, not in a Dask array."""
        return self.with_labels(np.asarray(self.labels)) if is_dask(self.labels) else self

    def save(self, path: str | Path) -> None:
        """Write the ensemble to one file of arrays and JSON (.npz), completely or not at all.

        Runs of methods whose model cannot be stored keep their labels, but cannot place unseen
        points after loading.

        Parameters
        ----------
        path : the file to write; an existing file is replaced
        """
        if is_dask(self.labels):
            raise ValueError(
                "The labels are in a Dask array; ensemble.compute().save(path) loads them into "
                "memory first."
            )
        save_record(path, self)

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
            If the file is damaged, of another version, or not an ensemble.
        """
        return load_record(path, Ensemble, lambda ensemble: ensemble)

    def _to_stored(self) -> dict[str, Any]:
        """Return its fields, without the labels of its runs, which are columns of `labels`."""
        runs = self.runs and tuple(replace(run, labels=_A_COLUMN) for run in self.runs)
        names = tuple(None if names is None else plain_names(names) for names in self.label_names)
        labels = np.asarray(self.labels)
        return super()._to_stored() | {"labels": labels, "label_names": names, "runs": runs}

    def _from_stored(self) -> Ensemble:
        """Return it with the labels of its runs; raise if its parts misfit."""
        R = self.n_runs
        if not self.labels.size or len(self.label_names) != R or len(self.runs or range(R)) != R:
            raise ValueError(
                f"it has labels {self.labels.shape}, names of {len(self.label_names)} runs and "
                f"records of {len(self.runs or ())}"
            )
        for names, highest in zip(self.label_names, self.labels.max(axis=0), strict=True):
            if names is not None and (names.ndim != 1 or len(names) <= highest):
                raise ValueError(f"a run has labels up to {highest}, and names {names.tolist()}")
        ensemble = self.with_labels(self.labels)
        return ensemble if self.centers is None else ensemble.with_centers(self.centers)


def plain_names(names: Array) -> Array:
    """Return names of clusters or rows as numbers or text; files hold no Python objects."""
    plain = np.array(names.tolist()) if names.dtype.hasobject else names
    return np.array([str(name) for name in names]) if plain.dtype.hasobject else plain


def _nmi(tables: Ints) -> Floats:
    """Normalised mutual information by table (t, k, k'); 1 where both runs have one cluster."""
    share = tables / np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1)
    a, b = share.sum(axis=2, keepdims=True), share.sum(axis=1, keepdims=True)

    def entropy(p: Floats) -> Floats:
        return np.asarray(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=(1, 2)))

    mean = (entropy(a) + entropy(b)) / 2
    mutual = entropy(a) + entropy(b) - entropy(share)
    shared = np.divide(mutual, mean, out=np.ones_like(mean), where=mean > 1e-15)
    return np.clip(shared, 0.0, 1.0)


def as_ensemble(labels: Any, *, at_least: int = 1, of_dask: bool = False) -> Ensemble:
    """Return labels in any form as an Ensemble of enough runs; `of_dask` allows Dask labels."""
    ensemble = labels if isinstance(labels, Ensemble) else Ensemble.from_labels(labels)
    if is_dask(ensemble.labels) and not of_dask:
        raise ValueError(
            "labels are in a Dask array, and are needed in memory here: give ensemble.compute() or "
            "labels.compute(). confidence takes Dask labels if X is a Dask array or frame too."
        )
    if ensemble.n_runs < at_least:
        raise ValueError(
            f"labels holds {ensemble.n_runs} run; at least {at_least} are needed to compare runs. "
            "Give a list of label vectors or an (n, R) array. For one labelling, "
            "clustertrust.audit(X, labels) says how much to trust each label."
        )
    return ensemble


def _of_dask(kind: type[Ensemble], labels: Any) -> Ensemble:
    """Return an ensemble of labels in a Dask array."""
    dtype = getattr(labels, "dtype", None)
    if dtype is None or labels.ndim != 2 or dtype.kind not in "iu" or not labels.shape[1]:
        what = "columns" if dtype is None else f"shape {labels.shape} and type {dtype}"
        raise ValueError(
            f"labels has {what}; Dask labels must be one (n, R) array of integers, such as "
            "dask.array.stack(runs, axis=1). Other labels can be scored in memory: "
            "labels.compute()."
        )
    return kind(labels.astype(np.int64), (None,) * labels.shape[1])


def _side_by_side(columns: Sequence[Ints], threads: int) -> Ints:
    """Return the columns as one array (n, R): the one that they are views of, else a new one."""
    whole = columns[0].base
    if isinstance(whole, np.ndarray) and whole.shape == (len(columns[0]), len(columns)):
        views = [column.__array_interface__ for column in columns]
        if views == [column.__array_interface__ for column in whole.T]:
            return whole
    stacked: Ints = stack_columns(columns, threads)
    return stacked


def assemble(runs: Sequence[Run], n_jobs: int | None = 1) -> Ensemble:
    """Put runs side by side."""
    centers = tuple(
        run.centers
        for run in runs
        if run.centers is not None and len(run.centers) > run.labels.max(initial=-1)
    )
    return Ensemble(
        labels=_side_by_side([run.labels for run in runs], count_threads(n_jobs)),
        label_names=(None,) * len(runs),
        centers=centers if len(centers) == len(runs) else None,
        runs=tuple(runs),
    )
