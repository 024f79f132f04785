"""What an audit takes: time by the clock and of the processor, and memory."""

from __future__ import annotations

from collections.abc import Iterator

import sklearn

from benchmarks.common import Row, run_apart

CORES = 2
# Points, classes, and the seconds that an audit on two cores may take
CASES = ((10_000, 100, 10.0), (100_000, 10, 60.0))
# Blobs with one label in twenty changed; a first audit compiles.
AUDIT = """
import time
import numpy as np
from sklearn.datasets import make_blobs
from benchmarks.common import resident
from clustertrust import audit

audit(*make_blobs(300, 20, centers=4, random_state=0), random_state=0, n_jobs={cores})
X, y = make_blobs({n}, 20, centers={k}, random_state=0)
rng = np.random.default_rng(0)
wrong = rng.choice({n}, {n} // 20, replace=False)
y[wrong] = (y[wrong] + rng.integers(1, {k}, wrong.size)) % {k}
held, clock, processor = resident("VmRSS"), time.perf_counter(), time.process_time()
audit(X, y, random_state=0, n_jobs={cores})
print(time.perf_counter() - clock, time.process_time() - processor, resident("VmHWM") - held)
"""


def run() -> Iterator[Row]:
    """Yield the rows: each audit in a process of its own.

    Where the machine is busy with other work, seconds of the processor say more than the clock's.
    """
    for n, k, limit in CASES:
        told = run_apart(AUDIT.format(n=n, k=k, cores=CORES))
        seconds, processor, peak = map(float, told.split())
        work = f"audit, n={n:,}, d=20, {k} classes, {CORES} threads"
        yield Row.within(f"{work}: by the clock", seconds, f"{limit:g} s", limit, 1)
        both = f"{CORES} cores for {limit:g} s"
        yield Row.within(f"{work}: CPU", processor, both, CORES * limit, 1)
        memory = float(sklearn.get_config()["working_memory"])
        yield Row.within(f"{work}: MiB beyond its data", peak, "working_memory", memory, 1)
