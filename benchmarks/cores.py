"""How the work of a fit gains from threads: one, two, four … as many as there are, up to sixteen.

By the clock. The first rows say what the machine itself gains: threads that share a core, a slower
clock under load or a busy neighbour leave less than the number of cores.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import joblib
import numpy as np
from sklearn.cluster import KMeans

from benchmarks.common import Row, blobs, clock_in_turn
from clustertrust import CAKE, build_ensemble, choose_k, confidence
from clustertrust._parallel import run_blocks
from clustertrust.cells import meet
from clustertrust.distances.tiles import by_feature, by_point
from clustertrust.kernels import backend

THREADS = (1, 2, 4, 8, 16)


def run() -> Iterator[Row]:
    """Yield the rows: seconds of the clock with t threads beside those with one."""
    counts = [count for count in THREADS if count <= joblib.cpu_count()]
    large, middle, small = blobs(100_000), blobs(30_000), blobs(2_000)
    of_large, of_middle = (
        build_ensemble(X, n_clusters=10, random_state=0) for X in (large, middle)
    )
    tiles = _independent()
    jobs: dict[str, Callable[[int], Any]] = {
        "the machine: pairs of points in the cache of each core": tiles,
        "fit, rms, n=100,000": lambda t: CAKE(10, geometry="rms", random_state=0, n_jobs=t).fit(
            large
        ),
        "20 runs of kmeans, n=100,000": lambda t: build_ensemble(
            large, n_clusters=10, random_state=0, n_jobs=t
        ),
        "20 runs of kmeans-random, n=100,000": lambda t: build_ensemble(
            large, "kmeans-random", n_clusters=10, random_state=0, n_jobs=t
        ),
        "exact score, n=30,000": lambda t: confidence(
            middle, of_middle, geometry="exact", n_jobs=t
        ),
        "rms score, n=100,000": lambda t: confidence(large, of_large, geometry="rms", n_jobs=t),
        "choose_k, n=2,000": lambda t: choose_k(
            small, cake=CAKE(n_runs=10, random_state=0, n_jobs=t)
        ),
    }
    yield from _alone()
    yield from _with_kmeans()
    for work, job in jobs.items():
        times = 3 if work.startswith("choose_k") else 5
        one, *others = clock_in_turn(*(lambda t=t, job=job: job(t) for t in counts), times=times)
        for count, taken in zip(counts[1:], others, strict=True):
            yield Row.faster(f"{work}, d=20: {count} threads", taken, "one thread", one, None)


def _alone() -> Iterator[Row]:
    """Yield the CPU seconds in which the main thread works alone, beside those of all threads.

    The others wait meanwhile, so a share q bounds the gain from t threads by 1 / (q + (1 - q) / t).
    """
    large, middle = blobs(1_000_000), blobs(30_000)
    of_large, of_middle = (
        build_ensemble(X, n_clusters=10, random_state=0) for X in (large, middle)
    )
    jobs: dict[str, Callable[[], Any]] = {
        "fit, rms, n=1,000,000": lambda: CAKE(10, geometry="rms", random_state=0, n_jobs=2).fit(
            large
        ),
        "rms score, n=1,000,000": lambda: confidence(large, of_large, geometry="rms", n_jobs=2),
        "exact score, n=30,000": lambda: confidence(middle, of_middle, geometry="exact", n_jobs=2),
    }
    for work, job in jobs.items():
        job()
        taken = []
        for _ in range(3):
            began = time.process_time(), time.thread_time()
            job()
            taken.append((time.process_time() - began[0], time.thread_time() - began[1]))
        every, main = min(taken)
        yield Row.within(f"{work}, d=20: CPU of the main thread", main, "of all", every, None)


def _independent() -> Callable[[int], Any]:
    """Return work in many equal parts that share nothing, each one long call of a kernel."""
    X = np.random.default_rng(0).normal(size=(1024, 20))
    cells = meet(np.zeros((len(X), 1), dtype=np.int64))
    known = (by_point(X), len(X), by_feature(X), cells.bounds, cells.rows, cells.start)

    def work(_: int) -> None:
        backend().cluster_distances(*known)

    return lambda threads: run_blocks(work, range(256), threads)


def _with_kmeans() -> Iterator[Row]:
    """Yield our runs and whole fits beside `KMeans(n_init=20)`, each with all threads."""
    for n, times in ((100_000, 5), (1_000_000, 3)):
        X = blobs(n)
        for name, init in (("kmeans", "k-means++"), ("kmeans-random", "random")):
            ours, whole, theirs = clock_in_turn(
                lambda X=X, name=name: build_ensemble(X, name, n_clusters=10, random_state=0),
                lambda X=X, name=name: CAKE(10, clusterer=name, geometry="rms", random_state=0).fit(
                    X
                ),
                lambda X=X, init=init: KMeans(10, init=init, n_init=20, random_state=0).fit(X),
                times=times,
            )
            count, what = joblib.cpu_count(), f"n={n:,}, d=20, k=10"
            peer = f"KMeans({init}, n_init=20), all threads"
            work = f"20 runs of {name}, {what}: {count} threads"
            yield Row.faster(work, ours, peer, theirs, 4 if count >= 16 else 3)
            work = f"CAKE.fit with {name}, {what}, rms: {count} threads"
            goal = 0.3 if count >= 16 and n == 1_000_000 else 0.45
            yield Row.within(work, whole.median, peer, theirs.median, goal, whole.spread)
