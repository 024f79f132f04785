"""Kill -9 of Dask workers at random moments of the fits and of the passes, twenty times: is the
result undisturbed?

python -m benchmarks.dask_kill [KILLS]
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.common import Row
from clustertrust import CAKE
from clustertrust.streaming import stream

KILLS = 20
ROWS, COLUMNS, BLOCKS, SAMPLE = 5_000, 8, 8, 10_000
RUNS, CLUSTERS = 16, 8
WORKERS, ENOUGH = 3, 2  # a fit begins when enough are there: others may still be starting
LONGEST = 180.0  # seconds; a fit that takes longer is counted as a hang
PHASES = {"fits": "_work", "passes": "_call"}  # what the names of their tasks begin with


def numbers(block_id: tuple[int, ...]) -> np.ndarray:
    """A block of points, made where it is worked on."""
    rng = np.random.default_rng(block_id[0])
    centers = np.random.default_rng(99).normal(size=(CLUSTERS, COLUMNS)) * 2
    return centers[rng.integers(0, CLUSTERS, ROWS)] + rng.normal(size=(ROWS, COLUMNS))


def fit() -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores of all points."""
    import dask
    import dask.array as da

    chunks = ((ROWS,) * BLOCKS, (COLUMNS,))
    X = da.map_blocks(numbers, chunks=chunks, dtype=float, meta=np.empty((0, 0)))
    cake = CAKE(CLUSTERS, n_runs=RUNS, random_state=0).fit(X)
    return dask.compute(cake.labels_, cake.scores_)


def phase_of(client: Any) -> str | None:
    """What the workers are at."""
    at_work = [str(key) for keys in client.processing().values() for key in keys]
    return next(
        (name for name, start in PHASES.items() if any(key.startswith(start) for key in at_work)),
        None,
    )


def kill_in(phase: str, client: Any, pid: int, fitted: Any, rng: random.Random) -> str | None:
    """Kill a worker some time after a phase has begun.

    The phase in which it died, None where the fit was over.
    """
    while phase_of(client) != phase and not fitted.done():
        time.sleep(0.01)
    time.sleep(rng.uniform(0.0, 0.6))
    found = phase_of(client)
    if fitted.done() or found is None:
        return None
    os.kill(pid, signal.SIGKILL)
    return found


def disturbed(phase: str, client: Any, cluster: Any, rng: random.Random) -> tuple[str | None, Any]:
    """A fit with a kill in a phase: when it was, and labels and scores.

    Or the error that came of it.
    """
    cluster.scale(WORKERS)  # where one died while it was starting, Dask does not start another
    client.wait_for_workers(ENOUGH, timeout=LONGEST)
    pid = rng.choice(list(client.run(os.getpid).values()))
    pool = ThreadPoolExecutor(1)  # not in a `with`, which would wait for a fit that hangs
    fitted = pool.submit(fit)
    when = kill_in(phase, client, pid, fitted, rng)
    try:
        return when, fitted.result(timeout=LONGEST)
    except Exception as error:  # whatever became of it is what is measured
        return when, error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def fate_of(found: Any, labels: np.ndarray, scores: np.ndarray) -> str:
    """What became of a fit."""
    if isinstance(found, Exception):
        return f"{type(found).__name__}: {found}"
    return (
        "the same"
        if np.array_equal(found[0], labels) and np.array_equal(found[1], scores)
        else "another result"
    )


def run(kills: int = KILLS) -> Iterator[Row]:
    """Yield one row: fits that differ from an undisturbed one, failed or hung."""
    from dask.distributed import Client, LocalCluster

    rng = random.Random(0)  # noqa: S311
    before, stream.SAMPLE_POINTS = stream.SAMPLE_POINTS, SAMPLE
    done = dict.fromkeys(PHASES, 0)
    bad, slowest = 0, 0.0
    try:
        with (
            LocalCluster(
                n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=50
            ) as cluster,
            Client(cluster) as client,
        ):
            labels, scores = fit()
            while sum(done.values()) < kills:
                began = time.monotonic()
                when, found = disturbed(
                    min(done, key=lambda name: done[name]), client, cluster, rng
                )
                if when is None:  # the fit was quicker
                    continue
                done[when] += 1
                seconds = time.monotonic() - began
                slowest = max(slowest, seconds)
                fate = fate_of(found, labels, scores)
                bad += fate != "the same"
                print(
                    f"kill {sum(done.values())}, in {when}: {fate}, {seconds:.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
    finally:
        stream.SAMPLE_POINTS = before
    told = " and ".join(f"{count} of {name}" for name, count in done.items())
    what = f"Dask workers killed in the middle of {told}: results that differ, failures and hangs"
    spread = f"the slowest took {slowest:.3g} s"
    yield Row(what, bad, "kills", kills, bad / kills, "0", "yes" if bad == 0 else "no", spread)


if __name__ == "__main__":
    for row in run(*(int(text) for text in sys.argv[1:2])):
        print(f"{row.work}: {row.ours:g} of {row.peer:g} ({row.met}); {row.spread}", flush=True)
