"""Tasks on the workers of a Dask client, watched until each has its result.

A task holds everything needed to repeat it, so a worker that dies costs only time. Scattered data
exist only on workers and are lost with the last of them, so here data are a task too. Nothing waits
for ever: the scheduler is asked at intervals whether it still knows the tasks and has workers.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import joblib

__all__ = ["client_of_joblib", "open_client", "results", "run_on_workers"]

# Seconds between two looks at the scheduler.
LOOK = 5.0
# Seconds to wait without a worker, or without an answer of the scheduler.
PATIENCE = 300.0
# Seconds after which a task unknown to the scheduler counts as lost: sending a graph takes time
FORGOTTEN = 60.0
# At a task that the scheduler has lost.
ATTEMPTS = 3
_LOST = ("cancelled", "lost")


def open_client() -> Any:
    """Return the open `dask.distributed` client; None if there is none, or inside a task.

    A task that waited for others would occupy the thread that they need.
    """
    distributed = sys.modules.get("distributed")  # whoever opened a client has imported it
    if distributed is None:
        return None
    chosen = importlib.import_module("dask").config.get("scheduler", None)
    if chosen not in (None, "dask.distributed", "distributed"):  # threads, say
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
    """A task that gives these data: the scheduler has it done again where they are lost."""

    data: Any

    def __call__(self) -> Any:
        return self.data


def run_on_workers(
    client: Any, function: Callable[..., Any], data: Any, jobs: Sequence[tuple[Any, ...]]
) -> Iterator[Any]:
    """Yield function(data, *job) for each job, in order, worked on by the workers."""
    delayed = importlib.import_module("dask").delayed

    def make() -> list[Any]:
        shared = delayed(_Kept(data), pure=False)()  # travels once to each worker
        return [delayed(function, pure=False)(shared, *job) for job in jobs]

    return results(client, make)


def results(client: Any, make: Callable[[], Sequence[Any]]) -> Iterator[Any]:
    """Yield what the Dask tasks come to, in order; `make` makes them, under new names each time.

    Without a client Dask computes them wherever its settings say.
    """
    if client is None:
        yield from importlib.import_module("dask").compute(*make())
        return
    futures = _submit(client, make())
    try:
        for position in range(len(futures)):
            yield _result(client, make, futures, position)
            # Workers need not hold it any longer.
            futures[position] = None
    finally:
        # What nobody wants any longer is not worked on.
        futures.clear()


def _result(
    client: Any, make: Callable[[], Sequence[Any]], futures: list[Any], position: int
) -> Any:
    """Return the result of a future, or raise the error of its task.

    New futures take the place of those that were lost.
    """
    distributed = importlib.import_module("distributed")
    lost = 0
    while True:
        _wait(client, futures[position])
        if futures[position].status in _LOST:
            lost += 1
            if lost == ATTEMPTS:
                raise RuntimeError(
                    f"Dask's scheduler lost a task {lost} times; see its log for the reason."
                )
            futures[position:] = _again(client, make, futures, position)
            continue
        try:
            return futures[position].result(timeout=PATIENCE)
        except distributed.scheduler.KilledWorker as error:
            raise RuntimeError(
                "Several workers died, one after the other, at the same task, usually because they "
                f"ran out of memory: {error}"
            ) from error
        except (distributed.CancelledError, TimeoutError):
            # The worker that had the result died before it could give it away: the task is done
            # again.
            if futures[position].status not in ("pending", *_LOST):
                raise


def _submit(client: Any, tasks: Sequence[Any]) -> list[Any]:
    """Return the futures of the tasks."""
    # What is large here is meant to be in the graph.
    with importlib.import_module("dask").config.set(
        {"distributed.admin.large-graph-warning-threshold": "1TB"}
    ):
        return list(client.compute(list(tasks)))


def _again(
    client: Any, make: Callable[[], Sequence[Any]], futures: list[Any], low: int
) -> list[Any]:
    """Return the futures from `low` on, new ones in place of those that were lost."""
    positions = range(low, len(futures))
    lost = [position for position in positions if futures[position].status in _LOST]
    tasks = make()
    new = dict(zip(lost, _submit(client, [tasks[position] for position in lost]), strict=True))
    return [new.get(position, futures[position]) for position in positions]


def _wait(client: Any, future: Any) -> None:
    """Return when a future has come to an end, whatever end.

    Raise where nobody is left to bring it about.
    """
    distributed = importlib.import_module("distributed")
    last_worker_seen = last_known = time.monotonic()
    while future.status == "pending":
        with suppress(TimeoutError, distributed.CancelledError):  # its status shows the outcome
            distributed.wait([future], timeout=LOOK)
        if future.status != "pending":
            return
        state, workers = _look(client, future.key)
        now = time.monotonic()
        last_worker_seen = now if workers else last_worker_seen
        last_known = last_known if state == "unknown" else now
        if now - last_known > FORGOTTEN:
            future.cancel()
        elif now - last_worker_seen > PATIENCE:
            silent = workers is None
            missing = "Dask's scheduler has not answered" if silent else "Dask has had no worker"
            raise TimeoutError(
                f"{missing} for {PATIENCE:g} seconds ({client.scheduler.address}). Start workers, "
                "or wait for those on their way with client.wait_for_workers(1), and call again."
            )


def _look(client: Any, key: Any) -> tuple[str | None, int | None]:
    """Return the scheduler's state of a task, and its number of workers.

    None, None where it does not answer in time.
    """

    async def ask() -> tuple[str, int]:
        states = await client.scheduler.get_task_status(keys=[key])
        return states.get(key) or "unknown", len(await client.scheduler.ncores())

    try:
        state, workers = client.sync(ask, callback_timeout=LOOK)
    except OSError:
        # Time is up, or the connection broke, which the client opens again.
        return None, None
    return state, workers
