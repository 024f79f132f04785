"""A million points, the whole job: ensemble and rms score."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.common import Row, run_apart

CODE = """
import resource, time
from benchmarks.common import blobs
from clustertrust import CAKE
CAKE(10, random_state=0, geometry="rms").fit(blobs(300))
X = blobs(1_000_000)
began, before = time.perf_counter(), time.process_time()
CAKE(10, random_state=0, geometry="rms").fit(X)
print(time.perf_counter() - began, time.process_time() - before)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def run() -> Iterator[Row]:
    """Yield the rows."""
    seconds, of_processor, gib = map(float, run_apart(CODE).split())
    what = "CAKE.fit, rms, n=1,000,000, d=20, k=10, R=20"
    yield Row.within(f"{what}: GiB in all", gib, "4 GiB", 4, 1)
    yield Row.within(f"{what}: CPU seconds", of_processor, "a minute", 60, None)
    yield Row.within(f"{what}: seconds by the clock", seconds, "a minute", 60, None)
