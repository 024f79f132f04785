"""Time and memory of whole jobs against the number of points, in memory and out of core, from files on disk.

d = 20, k = 10, R = 20 runs of k-means, rms silhouettes. Each job is a process of its own. Out of core it has a small
`working_memory` for its blocks and, in the last job, a hard limit on its memory well below the size of the data.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import HERE, Row, run_apart

SIZES = (100_000, 1_000_000, 10_000_000)
LIMIT = 640  # MiB that a process may take for data of 1,526 MiB
WORKING_MEMORY = {"in memory": 1024, "out of core": 32}  # MiB; a quarter of it is the most that is loaded
HOW = tuple(WORKING_MEMORY)

JOB = """
import json, resource, sys, time
import numpy as np, sklearn
from benchmarks.common import resident
path, how, limit = {path!r}, {how!r}, {limit!r}
from clustertrust import CAKE
CAKE(3, n_runs=3, geometry="rms", random_state=0).fit(np.random.default_rng(0).normal(size=(300, 20)))  # compiled
if limit:
    resource.setrlimit(resource.RLIMIT_DATA, (limit * 2**20, limit * 2**20))
before = resident("VmRSS")
sklearn.set_config(working_memory={working_memory})
began = time.perf_counter()
cake = CAKE(10, n_runs=20, geometry="rms", random_state=0).fit(np.load(path) if how == "in memory" else path)
seconds = time.perf_counter() - began
print(json.dumps({{
    "seconds": seconds,
    "peak": resident("VmHWM"),
    "before": before,
    "passes": getattr(cake, "n_passes_", 0),
    "mean": float(np.mean(cake.scores_)),
}}))
"""


def write_blobs(path: Path, n: int) -> None:
    """Blobs around ten centres, a block at a time."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10, 10, (10, 20))
    out = np.lib.format.open_memmap(path, "w+", np.float64, (n, 20))
    for low in range(0, n, 100_000):
        size = min(100_000, n - low)
        out[low : low + size] = centers[rng.integers(0, 10, size)] + rng.normal(0, 3.0, (size, 20))
    out.flush()


def job(path: Path, how: str, limit: int = 0) -> dict[str, float]:
    """One whole job in a process apart: seconds, peak memory in MiB, passes over the data, mean score."""
    code = JOB.format(path=str(path), how=how, limit=limit, working_memory=WORKING_MEMORY[how])
    return json.loads(run_apart(code))


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope in log-log."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def run() -> Iterator[Row]:
    """Each size both ways, then the largest under a limit."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npy"
        for n in SIZES:
            write_blobs(path, n)
            size = path.stat().st_size / 2**20
            here = {how: {"n": n, "how": how, "data_mib": round(size), **job(path, how)} for how in HOW}
            found += here.values()
            ours, peer = here["out of core"], here["in memory"]
            name = f"n={n:,}: out of core ({ours['passes']} passes), seconds"
            yield Row.within(name, ours["seconds"], "in memory", peer["seconds"], None)
            yield Row.within(f"n={n:,}: out of core, peak MiB", ours["peak"], "in memory", peer["peak"], None)
        limited = job(path, "out of core", LIMIT)
        found.append({"n": n, "how": f"out of core, at most {LIMIT} MiB", "data_mib": round(size), **limited})
        yield Row.within(f"n={n:,}: under a hard limit, MiB allowed", LIMIT, "data, MiB", size, 0.5)
    with (HERE / "scale.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(found)
    for how in HOW:
        rows = [row for row in found if row["how"] == how]
        for what in ("seconds", "peak"):
            slope = exponent([row["n"] for row in rows], [row[what] for row in rows])
            yield Row.within(f"{how}: exponent of {what} against n", slope, "linear", 1.0, None)
