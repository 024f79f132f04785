"""Runs of k-means on the GPU, all in step."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from clustertrust.ensemble.checkpoints import Checkpoint
from clustertrust.ensemble.fitting import Drawing, Method, Run
from clustertrust.ensemble.placing import Nearest
from clustertrust.kernels._cupy import holding
from clustertrust.kernels._cupy_kmeans import KMeansRuns


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


@holding()
def fit_on_gpu(
    X: Any,
    methods: Sequence[Method],
    numbered: Sequence[tuple[int, int]],
    kept: Checkpoint | None = None,
) -> list[Run]:
    """Fit the runs (r, seed), each on its own, but those that a checkpoint keeps."""
    loaded = {} if kept is None else {r: kept.load(r, X) for r, _ in numbered}
    runs = {r: run for r, run in loaded.items() if run is not None}
    for position, method in enumerate(methods):
        mine = [(r, s) for r, s in numbered if r % len(methods) == position and r not in runs]
        if mine:
            runs |= _fit(X, method, mine)
    if kept is not None:
        for r, run in runs.items():
            kept.save(r, run)
    return [runs[r] for r, _ in numbered]


def _fit(X: Any, method: Method, numbered: list[tuple[int, int]]) -> dict[int, Run]:
    estimator = method.estimator
    began = time.perf_counter()
    job = KMeansRuns(X, estimator.n_clusters, [seed for _, seed in numbered], tol=estimator.tol)
    fitted = job.fit(estimator.init, estimator.max_iter)
    seconds = (time.perf_counter() - began) / len(numbered)
    return {
        r: Run(
            labels=one.labels,
            placer=Nearest(one.centers, np.arange(len(one.centers))),
            centers=one.centers,
            method=method.name,
            seed=seed,
            params={},
            objective=one.inertia,
            iterations=float(one.n_iter),
            seconds=seconds,
        )
        for (r, seed), one in zip(numbered, fitted, strict=True)
    }
