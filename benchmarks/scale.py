"""Time and memory of whole jobs against the number of points: in memory, out of core, and on Dask,
from files on disk.

d = 20, k = 10, R = 20 runs of k-means, rms silhouettes. Each job is a process of its own. Out of
core it has a small `working_memory` for its blocks and, in the last job, a hard limit on its memory
well below the size of the data.

    python -m benchmarks.scale --points 10000000 --how "out of core" "Dask, 1 worker" "Dask, 2
    workers"

measures some jobs alone and keeps what scale.csv has of the others. On Dask ten million points are
measured only so: with the other two jobs of the command some ten minutes on two cores that do
nothing else.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import HERE, Row, run_apart, save

SIZES = (100_000, 1_000_000, 10_000_000)
LIMIT = 640  # MiB that a process may take for data of 1,526 MiB
LIMITED = f"out of core, at most {LIMIT} MiB"
TABLE = HERE / "scale.csv"
WORKERS = {"Dask, 1 worker": 1, "Dask, 2 workers": 2}
ON_CLUSTER = 1_000_000  # points at most, unless more are asked for: the workers share this machine
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


def job(path: Path, how: str) -> dict[str, Any]:
    """One whole job in a process apart: seconds, peak memory in MiB (of a worker), passes over the
    data, mean score.
    """
    if how in WORKERS:
        code = ON_DASK.format(path=str(path), workers=WORKERS[how], rows=50_000)
    else:
        data = f"np.load({str(path)!r})" if how == "in memory" else repr(str(path))
        # Out of core a quarter of this, the most that is loaded, is less than the data.
        memory = 1024 if how == "in memory" else min(256, path.stat().st_size // 2**19)
        code = JOB.format(data=data, limit=LIMIT if how == LIMITED else 0, working_memory=memory)
    return json.loads(run_apart(code).splitlines()[-1])


def exponent(sizes: list[int], values: list[float]) -> float:
    """Slope in log-log."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


Table = dict[tuple[int, str], dict[str, Any]]  # by points and way


def recorded() -> Table:
    """What scale.csv has."""
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = [{name: _value(text) for name, text in row.items()} for row in rows]
    return {(row["n"], row["how"]): row for row in found}


def _value(text: str) -> Any:
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        return text


def measure(jobs: dict[int, list[str]]) -> None:
    """Run jobs, ways by the number of points, and put each into scale.csv when it is done."""
    for n, ways in jobs.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "points.npy"
            write_blobs(path, n)
            size = round(path.stat().st_size / 2**20)
            for how in ways:
                found = recorded() if TABLE.exists() else {}
                found[n, how] = {"n": n, "how": how, "data_mib": size, **job(path, how)}
                order = [*HOW, LIMITED]
                with TABLE.open("w", newline="") as file:
                    writer = csv.DictWriter(file, list(found[n, how]))
                    writer.writeheader()
                    writer.writerows(
                        found[key] for key in sorted(found, key=lambda k: (k[0], order.index(k[1])))
                    )


def rows() -> Iterator[Row]:
    """What scale.csv says, as rows of the table of results."""
    found = recorded()
    for n in sorted({n for n, _ in found}):
        here = {how: row for (points, how), row in found.items() if points == n}
        if {"out of core", "in memory"} <= set(here):
            ours, peer = here["out of core"], here["in memory"]
            name = f"n={n:,}: out of core ({ours['passes']} passes), seconds"
            yield Row.within(name, ours["seconds"], "in memory", peer["seconds"], None)
            yield Row.within(
                f"n={n:,}: out of core, peak MiB", ours["peak"], "in memory", peer["peak"], None
            )
        if {"out of core", *WORKERS} <= set(here):
            single, one, two = (here[how]["seconds"] for how in ("out of core", *WORKERS))
            yield Row.within(
                f"n={n:,}: Dask with 1 worker, seconds", one, "out of core", single, None
            )
            yield Row.within(f"n={n:,}: Dask with 2 workers, seconds", two, "with 1", one, None)
        if LIMITED in here:
            size = here[LIMITED]["data_mib"]
            yield Row.within(
                f"n={n:,}: under a hard limit, MiB allowed", LIMIT, "data, MiB", size, 0.5
            )
    for how in HOW:
        measured = [row for (_, way), row in found.items() if way == how]
        for what in ("seconds", "peak") if len(measured) > 1 else ():
            slope = exponent([row["n"] for row in measured], [row[what] for row in measured])
            yield Row.within(f"{how}: exponent of {what} against n", slope, "linear", 1.0, None)


def run() -> Iterator[Row]:
    """Each size each way, then the largest under a limit."""
    jobs = {n: list(HOW if n <= ON_CLUSTER else HOW[:2]) for n in SIZES}
    jobs[SIZES[-1]].append(LIMITED)
    measure(jobs)
    yield from rows()


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("--points", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument(
        "--how", nargs="+", choices=[*HOW, LIMITED], default=list(HOW), metavar="WAY"
    )
    arguments = parser.parse_args()
    measure(dict.fromkeys(arguments.points, arguments.how))
    save({"scale": list(rows())})


if __name__ == "__main__":
    main()
