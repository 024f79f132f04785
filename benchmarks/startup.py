"""Import, the first score of all (with and without compiled code on disk), and a warm one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def _compiled_files() -> Iterator[None]:
    """Keep bytecode and machine code in a folder: pip compiles the files of what it installs."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"PYTHONPYCACHEPREFIX": folder, "NUMBA_CACHE_DIR": folder}
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def run() -> Iterator[Row]:
    """Yield the rows."""
    with _compiled_files():
        yield from _first()
    yield _warm()


def _first() -> Iterator[Row]:
    """Yield the rows of processes that have just begun."""
    peers, ours = [], []
    for _ in range(12):  # by turns; the first compile to bytecode
        peers.append(float(run_apart(IMPORT.format(what="import sklearn.cluster, pandas"))))
        ours.append(float(run_apart(IMPORT.format(what="from clustertrust import CAKE"))))
    peers, ours = peers[1:], ours[1:]
    peer = float(np.median(peers))
    yield Row.within(
        "import CAKE: CPU", float(np.median(ours)), "import sklearn.cluster, pandas", peer, 1.15
    )

    cold = float(run_apart(FIRST))
    second = float(np.median([float(run_apart(FIRST)) for _ in range(5)]))
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


def _warm() -> Row:
    X = load_iris().data
    fit, fits = clock_in_turn(
        lambda: CAKE(3, random_state=0).fit(X),
        lambda: [KMeans(3, n_init=1, random_state=seed).fit(X) for seed in range(20)],
        times=15,
    )
    over = fit.median - fits.median
    return Row.within(
        "warm fit of Iris less 20 × KMeans.fit",
        over,
        "50 ms",
        0.05,
        1,
        f"{fit.spread}; {fits.spread}",
    )
