"""One process fits many models of random shapes and methods: does its memory stay flat?

The first models compile and fill caches. The memory that the process holds, once what is free has
been handed back to the system, is noted model by model. Its median in the last quarter is set
against that in the second, and a line is fitted to the second half.

    python -m benchmarks.soak [MODELS]
"""

from __future__ import annotations

import csv
import ctypes
import gc
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sklearn

from benchmarks.common import HERE, Row, resident
from clustertrust import CAKE

MODELS = 100  # the long form fits a thousand
AT_MOST = 1.05  # of the median memory of the second quarter, in the last
METHODS = ("kmeans", "kmeans", "minibatch-kmeans", "gmm", "kmedoids", "birch")
GEOMETRIES = ("auto", "exact", "rms", "centroid", "kernel")


def fit_one(rng: np.random.Generator, folder: Path) -> None:
    """Fit, judge new points, save and load; every tenth from a file in blocks."""
    n, d, k, R = (
        int(rng.integers(low, high)) for low, high in ((20, 1500), (1, 20), (2, 7), (2, 9))
    )
    X = rng.normal(size=(n, d)) + 4 * rng.integers(0, k, n)[:, None]
    how: dict[str, Any] = {
        "n_runs": R,
        "random_state": int(rng.integers(2**31)),
        "clusterer": str(rng.choice(METHODS)),
    }
    if rng.random() < 0.1:
        np.save(folder / "x.npy", X)
        with sklearn.config_context(working_memory=0.01):
            cake = CAKE(k, **how).fit(folder / "x.npy")
    else:
        cake = CAKE(k, geometry=str(rng.choice(GEOMETRIES)), **how).fit(X)
    new = cake.score_samples(X[:50])
    assert ((new >= 0) & (new <= 1)).all()
    cake.save(folder / "model")
    assert np.array_equal(CAKE.load(folder / "model").predict(X[:50]), cake.predict(X[:50]))


def held() -> float:
    """MiB that this process holds on to."""
    gc.collect()
    if sys.platform == "linux":
        # The allocator keeps freed pieces, more or fewer, of which nothing follows.
        ctypes.CDLL(None).malloc_trim(0)
    return resident("VmRSS")


def climb(mib: list[float]) -> float:
    """Slope of the second half, in MiB a hundred models."""
    tail = np.array(mib[len(mib) // 2 :])
    return float(100 * np.polyfit(np.arange(tail.size), tail, 1)[0])


def run(models: int = MODELS) -> Iterator[Row]:
    """Yield two rows: memory late and early, and the slope of the line."""
    rng = np.random.default_rng(0)
    mib = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of random data there is much to say
        for _ in range(models):
            fit_one(rng, Path(folder))
            mib.append(held())
    with (HERE / "soak.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "resident_mib"])
        writer.writerows([i, round(value, 1)] for i, value in enumerate(mib, 1))
    second, last = (
        float(np.median(part)) for part in (mib[models // 4 : models // 2], mib[3 * models // 4 :])
    )
    yield Row.within(
        f"{models} models: MiB held in the last quarter", last, "in the second", second, AT_MOST
    )
    spread = f"{np.std(mib[models // 2 :]):.0f} MiB around it"
    what = f"{models} models: MiB that a hundred of them add, by a line through the second half ({spread})"
    yield Row.within(what, climb(mib), "MiB held", last, None)


if __name__ == "__main__":
    for row in run(*(int(text) for text in sys.argv[1:2])):
        print(f"{row.work}: {row.ours:.3g}, {row.peer_name} {row.peer:.3g} {row.met}", flush=True)
