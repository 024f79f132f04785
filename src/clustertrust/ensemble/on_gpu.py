"""Runs of k-means on the GPU, all in step."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from clustertrust.ensemble.checkpoints import Checkpoint
from clustertrust.ensemble.clusterers import Run
from clustertrust.ensemble.placing import Nearest
from clustertrust.ensemble.recipe import Recipe

__all__ = ["fit_on_gpu", "suits_gpu"]


def suits_gpu(X: Any, recipe: Recipe) -> bool:
    """Whether all runs are plain k-means on all points of dense data, which is what the card's
    kernels do.
    """
    return (
        isinstance(X, np.ndarray)
        and recipe.resample is None
        and not recipe.vary
        and all(map(_plain, recipe.methods))
    )


def _plain(method: tuple[str, Any]) -> bool:
    _, estimator = method
    if type(estimator) is not KMeans or estimator.algorithm != "lloyd":
        return False
    return isinstance(estimator.init, str) and estimator.init in {"k-means++", "random"}


def fit_on_gpu(
    X: Any, recipe: Recipe, numbered: Sequence[tuple[int, int]], kept: Checkpoint | None = None
) -> list[Run]:
    """Fit the runs (r, seed), but those that a checkpoint keeps.

    Each depends on the data, its clusterer and its seed alone, not on the other runs.
    """
    runs: dict[int, Run] = {}
    for r, _ in numbered:
        run = None if kept is None else kept.load(r, X)
        if run is not None:
            runs[r] = run
    for at, (method, estimator) in enumerate(recipe.methods):
        mine = [(r, s) for r, s in numbered if r % len(recipe.methods) == at and r not in runs]
        if mine:
            runs |= _fit(X, method, estimator, mine)
    for r, _ in numbered:
        if kept is not None:
            kept.save(r, runs[r])
    return [runs[r] for r, _ in numbered]


def _fit(X: Any, method: str, estimator: KMeans, numbered: list[tuple[int, int]]) -> dict[int, Run]:
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
            method=method,
            seed=seed,
            params={},
            objective=one.inertia,
            iterations=one.n_iter,
            seconds=seconds,
        )
    return runs
