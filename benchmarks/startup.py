"""Import, the first score of all (with and without compiled code on disk), and a warm one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from benchmarks.common import Row, clock_in_turn, run_apart
from clustertrust import CAKE

# In seconds of the processor, which other work on the machine hardly changes.
IMPORT = "import time; t = time.process_time(); {what}; print(time.process_time() - t)"
FIRST = (
    "import time; t = time.process_time(); from clustertrust import CAKE; from sklearn.datasets "
    "import load_iris; "
    "CAKE(3, random_state=0).fit(load_iris().data); print(time.process_time() - t)"
)


def run() -> Iterator[Row]:
    """Yield the rows."""
    peers, ours = [], []
    for _ in range(7):  # by turns
        peers.append(float(run_apart(IMPORT.format(what="import sklearn.cluster, pandas"))))
        ours.append(float(run_apart(IMPORT.format(what="from clustertrust import CAKE"))))
    peer = float(np.median(peers))
    yield Row.within(
        "import CAKE: CPU", float(np.median(ours)), "import sklearn.cluster, pandas", peer, 1.15
    )

    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        cold = float(run_apart(FIRST))
        second = float(np.median([float(run_apart(FIRST)) for _ in range(5)]))
        del os.environ["NUMBA_CACHE_DIR"]
    yield Row.within(
        "import and first score of Iris, compiling: CPU",
        cold,
        "import sklearn.cluster, pandas",
        peer,
        None,
    )
    yield Row.within(
        "import and first score of Iris, compiled before: CPU",
        second,
        "import sklearn.cluster, pandas",
        peer,
        None,
    )

    X = load_iris().data
    fit, fits = clock_in_turn(
        lambda: CAKE(3, random_state=0).fit(X),
        lambda: [KMeans(3, n_init=1, random_state=seed).fit(X) for seed in range(20)],
        times=15,
    )
    over = fit.median - fits.median
    yield Row.within(
        "warm fit of Iris less 20 × KMeans.fit",
        over,
        "50 ms",
        0.05,
        1,
        f"{fit.spread}; {fits.spread}",
    )
