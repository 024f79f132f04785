"""A whole fit beside what a user would run otherwise: KMeans with twenty starts on the same data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris

from benchmarks.common import Row, blobs, processor_seconds
from clustertrust import CAKE
from clustertrust._parallel import one_thread

# Points, and at most how many times as long a fit may take.
GOALS = {1_000: 0.9, 10_000: 0.45, 50_000: 0.45, 100_000: 0.45, 1_000_000: 0.45}


def run() -> Iterator[Row]:
    """Yield the rows, in seconds of the processor on one thread each; see `ensemble` for why."""
    yield compare("Iris, k=3", load_iris().data, 3, 1.2, times=41)
    yield compare("digits, k=10", load_digits().data, 10, 1.2, times=21)
    for n, goal in GOALS.items():
        what = f"blobs, n={n:,}, d=20, k=10"
        yield compare(what, blobs(n), 10, goal, times=max(2, min(41, 200_000 // n)))
    yield compare("blobs, n=10,000, d=20, k=10", blobs(10_000), 10, 0.45, times=20, geometry="rms")


def compare(
    what: str, X: np.ndarray, k: int, at_most: float | None, *, times: int, geometry: str = "auto"
) -> Row:
    """Fit by turns."""
    used = CAKE(k, geometry=geometry, random_state=0, n_jobs=1).fit(X).geometry_method_

    def theirs() -> Any:
        with one_thread():
            return KMeans(k, n_init=20, random_state=0).fit(X)

    ours, peer = processor_seconds(
        lambda: CAKE(k, geometry=geometry, random_state=0, n_jobs=1).fit(X), theirs, times=times
    )
    return Row.within(
        f"CAKE.fit, {what}, R=20, {used}: CPU, one thread",
        ours.median,
        "KMeans(n_init=20).fit",
        peer.median,
        at_most,
        f"{ours.spread}; {peer.spread}",
    )
