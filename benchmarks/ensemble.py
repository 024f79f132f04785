"""Twenty runs of k-means against `KMeans(n_init=20)`, and how often they end at its inertia."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine

from benchmarks.common import Row, blobs, processor_seconds
from clustertrust import build_ensemble
from clustertrust._parallel import one_thread

INITS = {"kmeans": "k-means++", "kmeans-random": "random"}
# Points, and the number of runs and of measurements
SIZES = {10_000: (20, 7), 100_000: (20, 3), 1_000_000: (5, 1)}
# A run may end elsewhere where rounding decides; so many must not.
SAME, MOST = 1e-5, 0.95


def run() -> Iterator[Row]:
    """Yield the rows.

    In seconds of the processor, on one thread each: by the clock the threads of `KMeans` wait for
    each other without end where others use the cores. `cores` shows what threads gain.
    """
    for n, (runs, times) in SIZES.items():
        X = blobs(n)
        for name, init in INITS.items():
            peer = f"KMeans(n_init={runs}).fit"
            work = f"{runs} runs of {name}, n={n:,}, d=20, k=10"
            jobs = [partial(_ours, X, name, runs), partial(_theirs, X, init, runs)]
            ours, theirs = processor_seconds(*jobs, times=times)
            yield Row.faster(f"{work}: CPU, one thread", ours, peer, theirs, 3)
    yield from _inertias()


def _ours(X: np.ndarray, name: str, runs: int) -> Any:
    seeds = list(range(runs))
    return build_ensemble(X, name, n_clusters=10, n_runs=runs, random_state=seeds, n_jobs=1)


def _theirs(X: np.ndarray, init: str, runs: int) -> Any:
    with one_thread():
        return KMeans(10, init=init, n_init=runs, random_state=0).fit(X)


def _inertias() -> Iterator[Row]:
    """Yield the share of runs that end within 1e-5 of the inertia of `KMeans` from the same start.

    Digits are integers, so that many points are as far from one start as from another.
    """
    noise = np.random.default_rng(0).normal(size=(5_000, 20))
    sets = {
        "Iris": (load_iris().data, 3),
        "Wine": (load_wine().data, 3),
        "digits": (load_digits().data, 10),
        "blobs": (blobs(10_000), 10),
        "blobs + 1,000": (blobs(10_000) + 1_000, 10),
        "noise": (noise, 10),
    }
    seeds = list(range(20))
    shares, means = [], []
    for name, init in INITS.items():
        for X, k in sets.values():
            runs = build_ensemble(X, name, n_clusters=k, random_state=seeds).runs
            with one_thread():
                theirs = np.array(
                    [KMeans(k, init=init, n_init=1, random_state=s).fit(X).inertia_ for s in seeds]
                )
            ours = np.array([run.objective for run in runs])
            shares.append(np.abs(ours / theirs - 1) < SAME)
            means.append(abs(ours.mean() / theirs.mean() - 1))
    share = float(np.mean(shares))
    work = (
        f"share of {np.size(shares)} runs on {len(sets)} sets within 1e-5 of the inertia of KMeans"
    )
    met = "yes" if share >= MOST else "no"
    spread = f"{min(one.mean() for one in shares):.2f} to 1 by set"
    yield Row(work, share, "all", 1.0, share, f"≥ {MOST:g}", met, spread)
    yield Row.within(
        "largest difference of the mean inertia of 20 runs from that of KMeans",
        max(means),
        "0.1 %",
        0.001,
        1,
    )
