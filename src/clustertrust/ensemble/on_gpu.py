"""Runs of k-means on the GPU, all in step."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from clustertrust.ensemble.checkpoints import Checkpoint
from clustertrust.ensemble.fitting import Drawing, Method, Run
from clustertrust.ensemble.placing import Nearest


def suits_gpu(X: Any, methods: Sequence[Method], drawing: Drawing) -> bool:
    """Whether all runs are plain k-means on all points of dense data, as the GPU's kernels are."""
    return (
        isinstance(X, np.ndarray)
        and drawing.resample is None
        and not drawing.vary
        and all(map(_plain, methods))
    )


def _plain(method: Method) -> bool:
    estimator = method.estimator
    if type(estimator) is not KMeans or estimator.algorithm != "lloyd":
        return False
    return isinstance(estimator.init, str) and estimator.init in {"k-means++", "random"}


def fit_on_gpu(
    X: Any,
    methods: Sequence[Method],
    numbered: Sequence[tuple[int, int]],
    kept: Checkpoint | None = None,
) -> list[Run]:
    """Fit the runs (r, seed), but those that a checkpoint keeps.

    Each depends on the data, its clusterer and its seed alone, not on the other runs.
    """
    runs: dict[int, Run] = {}
    for r, _ in numbered:
        run = None if kept is None else kept.load(r, X)
        if run is not None:
            runs[r] = run
    for position, method in enumerate(methods):
        mine = [(r, s) for r, s in numbered if r % len(methods) == position and r not in runs]
        if mine:
            runs |= _fit(X, method, mine)
    for r, _ in numbered:
        if kept is not None:
            kept.save(r, runs[r])
    return [runs[r] for r, _ in numbered]


def _fit(X: Any, method: Method, numbered: list[tuple[int, int]]) -> dict[int, Run]:
    estimator = method.estimator
    card = importlib.import_module("clustertrust.kernels._cupy_kmeans")
    began = time.perf_counter()
    how = {"init": estimator.init, "max_iter": estimator.max_iter, "tol": estimator.tol}
    found = card.kmeans_runs(X, estimator.n_clusters, [seed for _, seed in numbered], **how)
    seconds = (time.perf_counter() - began) / len(numbered)
    runs = {}
    for (r, seed), one in zip(numbered, found, strict=True):
        placer = Nearest(one.centers, np.arange(len(one.centers)))
        runs[r] = Run(
            labels=one.labels,
            placer=placer,
            centers=one.centers,
            method=method.name,
            seed=seed,
            params={},
            objective=one.inertia,
            iterations=float(one.n_iter),
            seconds=seconds,
        )
    return runs
