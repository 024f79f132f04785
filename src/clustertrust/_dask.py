"""Tasks on the workers of a Dask client.

A task holds everything needed to repeat it, so a worker that dies costs only time: the scheduler
has its tasks done again elsewhere. Scattered data exist only on workers and are lost with the last
of them, so here data are a task too. Nothing waits for ever for workers: the scheduler is asked at
intervals whether it has some. That it finishes what they can do is left to it.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import joblib

# Seconds between two looks at the scheduler.
LOOK = 5.0
# Seconds to wait without a worker, or without an answer of the scheduler.
PATIENCE = 300.0
# A result that is lost with its worker is made again.
_UNFINISHED = ("pending", "lost")


def open_client() -> Any:
    """Return the open `dask.distributed` client; None if there is none, or inside a task.

    A task that waited for others would occupy the thread that they need.
    """
    # Whoever opened a client has imported it.
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    chosen = importlib.import_module("dask").config.get("scheduler", None)
    if chosen not in (None, "dask.distributed", "distributed"):
        return None
    try:
        distributed.get_worker()
    except ValueError:
        pass
    else:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def client_of_joblib() -> Any:
    """Return the client of `joblib.parallel_config(backend="dask")` where that is in force, else
    None.
    """
    backend = joblib.parallel.get_active_backend()[0]
    if type(backend).__name__ != "DaskDistributedBackend" or open_client() is None:
        return None
    return backend.client


@dataclass(frozen=True)
class _Kept:
    """A task that gives these data: the scheduler repeats it if they are lost."""

    data: Any

    def __call__(self) -> Any:
        return self.data


def run_on_workers(
    client: Any, function: Callable[..., Any], data: Any, jobs: Sequence[tuple[Any, ...]]
) -> Iterator[Any]:
    """Yield function(data, *job) for each job, in order, computed by the workers."""
    delayed = importlib.import_module("dask").delayed

    # It travels once to each worker.
    shared = delayed(_Kept(data), pure=False)()
    return results(client, [delayed(function, pure=False)(shared, *job) for job in jobs])


def results(client: Any, tasks: Sequence[Any]) -> Iterator[Any]:
    """Yield the results of Dask tasks, in order.

    Without a client Dask computes them where its settings say.
    """
    dask = importlib.import_module("dask")
    if client is None:
        yield from dask.compute(*tasks)
        return
    # What is large here is meant to be in the graph.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        futures = client.compute(list(tasks))
    try:
        # What was taken need not be held by workers any longer.
        while futures:
            yield _result(client, futures.pop(0))
    finally:
        # What nobody wants any longer is not worked on.
        futures.clear()


def _result(client: Any, future: Any) -> Any:
    """Return the result of a future, or raise the error of its task."""
    distributed = importlib.import_module("distributed")
    while True:
        _wait(client, future)
        try:
            return future.result(timeout=PATIENCE)
        except distributed.scheduler.KilledWorker as error:
            raise RuntimeError(
                "Several workers died, one after the other, at the same task, usually because they "
                f"ran out of memory: {error}"
            ) from error
        except TimeoutError:
            # The worker that had the result may have died before it could give it away.
            if future.status not in _UNFINISHED:
                raise


def _wait(client: Any, future: Any) -> None:
    """Wait for a future; raise if no worker is left to compute it."""
    distributed = importlib.import_module("distributed")
    last_worker_seen = time.monotonic()
    while future.status in _UNFINISHED:
        try:
            distributed.wait([future], timeout=LOOK)
        except TimeoutError:
            workers = _count_workers(client)
            if workers:
                last_worker_seen = time.monotonic()
            elif time.monotonic() - last_worker_seen > PATIENCE:
                silent = "Dask's scheduler has not answered"
                missing = silent if workers is None else "Dask has had no worker"
                raise TimeoutError(
                    f"{missing} for {PATIENCE:g} seconds ({client.scheduler.address}). Start "
                    "workers, or wait for those on their way with client.wait_for_workers(1), and "
                    "call again."
                ) from None


def _count_workers(client: Any) -> int | None:
    """Return the scheduler's number of workers; None if it does not answer in time."""
    try:
        return len(client.sync(client.scheduler.ncores, callback_timeout=LOOK))
    except (OSError, TimeoutError):
        # A connection that breaks is an OSError; the client opens it again.
        return None
