"""Time and memory of whole jobs against the number of points: in memory, out of core, and on Dask, from files on disk.

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
WORKERS = {"Dask, 1 worker": 1, "Dask, 2 workers": 2}
ON_CLUSTER = 1_000_000  # points at most: the workers share this machine
HOW = ("in memory", "out of core", *WORKERS)

JOB = """
import json, resource, time
import numpy as np, sklearn
from benchmarks.common import resident
from clustertrust import CAKE
if __name__ == "__main__":
    CAKE(3, n_runs=3, geometry="rms", random_state=0).fit(np.random.default_rng(0).normal(size=(300, 20)))  # compiled
    if {limit}:
        resource.setrlimit(resource.RLIMIT_DATA, ({limit} * 2**20, {limit} * 2**20))
    sklearn.set_config(working_memory={working_memory})
    began = time.perf_counter()
    cake = CAKE(10, n_runs=20, geometry="rms", random_state=0).fit({data})
    seconds = time.perf_counter() - began
    found = {{"seconds": seconds, "peak": resident("VmHWM"), "passes": getattr(cake, "n_passes_", 0)}}
    print(json.dumps(found | {{"mean": float(np.mean(cake.scores_))}}))
"""

ON_DASK = """
import json, time
import dask, dask.array as da, numpy as np
from dask.distributed import Client, LocalCluster
from benchmarks.common import resident
from benchmarks.scale import read
from clustertrust import CAKE
if __name__ == "__main__":
    cluster = LocalCluster(n_workers={workers}, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        n = len(np.load({path!r}, mmap_mode="r"))
        parts = [dask.delayed(read)({path!r}, low, low + {rows}) for low in range(0, n, {rows})]  # by the workers
        X = da.concatenate([da.from_delayed(part, ({rows}, 20), float) for part in parts])
        CAKE(3, n_runs=3, random_state=0).fit(X[:{rows}, :]).scores_.compute()  # compiled on the workers
        began = time.perf_counter()
        cake = CAKE(10, n_runs=20, random_state=0).fit(X)
        mean = float(cake.scores_.mean().compute())
        seconds = time.perf_counter() - began
        peak = max(client.run(lambda: resident("VmHWM")).values())
        print(json.dumps({{"seconds": seconds, "peak": peak, "passes": cake.n_passes_, "mean": mean}}))
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


def read(path: str, low: int, high: int) -> np.ndarray:
    """Some rows of a file."""
    return np.array(np.load(path, mmap_mode="r")[low:high])


def job(path: Path, how: str, limit: int = 0) -> dict[str, Any]:
    """One whole job in a process apart: seconds, peak memory in MiB (of a worker), passes over the data, mean score."""
    if how in WORKERS:
        code = ON_DASK.format(path=str(path), workers=WORKERS[how], rows=50_000)
    else:
        data = f"np.load({str(path)!r})" if how == "in memory" else repr(str(path))
        # Out of core a quarter of this, the most that is loaded, is less than the data.
        memory = 1024 if how == "in memory" else min(256, path.stat().st_size // 2**19)
        code = JOB.format(data=data, limit=limit, working_memory=memory)
    return json.loads(run_apart(code).splitlines()[-1])


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope in log-log."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def run() -> Iterator[Row]:
    """Each size each way, then the largest under a limit."""
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.npy"
        for n in SIZES:
            write_blobs(path, n)
            size = path.stat().st_size / 2**20
            ways = HOW if n <= ON_CLUSTER else HOW[:2]
            here = {how: {"n": n, "how": how, "data_mib": round(size), **job(path, how)} for how in ways}
            found += here.values()
            ours, peer = here["out of core"], here["in memory"]
            name = f"n={n:,}: out of core ({ours['passes']} passes), seconds"
            yield Row.within(name, ours["seconds"], "in memory", peer["seconds"], None)
            yield Row.within(f"n={n:,}: out of core, peak MiB", ours["peak"], "in memory", peer["peak"], None)
            if n <= ON_CLUSTER:
                one, two = (here[how]["seconds"] for how in WORKERS)
                yield Row.within(f"n={n:,}: Dask with 1 worker, seconds", one, "out of core", ours["seconds"], None)
                yield Row.within(f"n={n:,}: Dask with 2 workers, seconds", two, "with 1", one, None)
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
