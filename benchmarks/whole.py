"""A whole fit beside what a user would run otherwise: KMeans with twenty starts on the same data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris

from benchmarks.common import Row, blobs
from clustertrust import CAKE

# Points, and at most how many times as long a fit may take.
GOALS = {1_000: 0.9, 10_000: 0.45, 50_000: 0.45, 100_000: 0.45, 1_000_000: 0.45}


def run() -> Iterator[Row]:
    """Yield the rows."""
    yield compare("Iris, k=3", load_iris().data, 3, 1.2, times=41)
    yield compare("digits, k=10", load_digits().data, 10, 1.2, times=21)
    for n, goal in GOALS.items():
        what = f"blobs, n={n:,}, d=20, k=10"
        yield compare(what, blobs(n), 10, goal, times=max(3, min(41, 200_000 // n)))


def compare(what: str, X: np.ndarray, k: int, at_most: float | None, *, times: int) -> Row:
    """Fit by turns.

    The ratio is the median of the ratios of neighbours, which see the same load on the machine.
    """
    fits: list[Callable[[], Any]] = [
        lambda: CAKE(k, random_state=0).fit(X),
        lambda: KMeans(k, n_init=20, random_state=0).fit(X),
    ]
    method = fits[0]().geometry_method_
    fits[1]()
    seconds = np.array([[_seconds(fit) for fit in fits] for _ in range(times)])
    ours, theirs = np.median(seconds, axis=0)
    ratios = seconds[:, 0] / seconds[:, 1]
    ratio = float(np.median(ratios))
    goal, met = (
        ("", "") if at_most is None else (f"≤ {at_most:g}×", "yes" if ratio <= at_most else "no")
    )
    spread = f"ratios {ratios.min():.2f} to {ratios.max():.2f} in {times}"
    work = f"CAKE.fit, {what}, R=20, {method}"
    return Row(work, ours, "KMeans(n_init=20).fit", theirs, ratio, goal, met, spread)


def _seconds(fit: Callable[[], Any]) -> float:
    time.sleep(
        0.05
    )  # the threads of a matrix product keep a core busy for a while after it has ended
    began = time.perf_counter()
    fit()
    return time.perf_counter() - began
