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

from benchmarks.common import HERE, Row, Timing, blobs, clock_in_turn
from clustertrust import CAKE, build_ensemble, choose_k, confidence
from clustertrust._parallel import run_blocks
from clustertrust.cells import meet
from clustertrust.distances.tiles import by_feature, by_point
from clustertrust.kernels import backend

THREADS = (1, 2, 4, 8, 16)


def run() -> Iterator[Row]:
    """Yield the rows: seconds of the clock with t threads beside those with one; write cores.png
    where there are more than two.
    """
    counts = [count for count in THREADS if count <= joblib.cpu_count()]
    yield from _with_kmeans()
    gains: dict[str, list[float]] = {}
    for work, (job, times, goal) in _jobs().items():
        one, *others = clock_in_turn(*(lambda t=t, job=job: job(t) for t in counts), times=times)
        gains[work] = [1.0, *(one.median / taken.median for taken in others)]
        for count, taken in zip(counts[1:], others, strict=True):
            at_least = goal if count == THREADS[-1] else None
            yield Row.faster(f"{work}: {count} threads", taken, "one thread", one, at_least)
    yield from _whole_profile(counts[-1])
    if len(counts) > 2:
        draw(counts, gains)


def _jobs() -> dict[str, tuple[Callable[[int], Any], int, float | None]]:
    """Return work for any number of threads, how often it is timed, and how much it must gain."""
    huge, large, middle, small = (blobs(n) for n in (1_000_000, 100_000, 30_000, 2_000))
    of_large, of_middle = (
        build_ensemble(X, n_clusters=10, random_state=0) for X in (large, middle)
    )

    def fit(threads: int) -> Any:
        return CAKE(10, geometry="rms", random_state=0, n_jobs=threads).fit(huge)

    def ensemble(name: str) -> Callable[[int], Any]:
        return lambda threads: build_ensemble(
            large, name, n_clusters=10, random_state=0, n_jobs=threads
        )

    def score(X: np.ndarray, runs: Any, geometry: str) -> Callable[[int], Any]:
        return lambda threads: confidence(X, runs, geometry=geometry, n_jobs=threads)

    def profile(threads: int) -> Any:
        return choose_k(small, cake=CAKE(n_runs=10, random_state=0, n_jobs=threads))

    return {
        "the machine: work that shares nothing": (_independent(), 5, None),
        "fit, rms, n=1,000,000, d=20": (fit, 2, None),
        "20 runs of kmeans, n=100,000, d=20": (ensemble("kmeans"), 5, None),
        "20 runs of kmeans-random, n=100,000, d=20": (ensemble("kmeans-random"), 5, None),
        "exact score, n=30,000, d=20": (score(middle, of_middle, "exact"), 5, 10),
        "rms score, n=100,000, d=20": (score(large, of_large, "rms"), 5, None),
        "choose_k, n=2,000, d=20": (profile, 3, None),
    }


def _whole_profile(threads: int) -> Iterator[Row]:
    """Yield the row of `choose_k` with all surrogates, timed once."""
    X = blobs(2_000)
    taken = []
    for count in (threads, 1):
        began = time.perf_counter()
        choose_k(X, cake=CAKE(n_runs=10, random_state=0, n_jobs=count), effort="full")
        taken.append(Timing((time.perf_counter() - began,)))
    work = f"choose_k, n=2,000, d=20, effort=full: {threads} threads"
    yield Row.faster(work, taken[0], "one thread", taken[1], None)


def draw(counts: list[int], gains: dict[str, list[float]]) -> None:
    """How many times faster than one thread, against the number of threads."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    ax = figure.subplots()
    for work, gained in gains.items():
        of_machine = work.startswith("the machine")
        ax.plot(counts, gained, "k--" if of_machine else "o-", label=work)
    ax.set(xlabel="threads", ylabel="times faster than one thread", xscale="log", yscale="log")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(counts, [str(count) for count in counts])
        axis.set_minor_locator(NullLocator())
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8)
    figure.savefig(HERE / "cores.png", dpi=110)


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
