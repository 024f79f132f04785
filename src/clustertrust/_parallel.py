"""Blocks of rows, threads to work on them, and one thread each for the libraries below us."""

from __future__ import annotations

import functools
import itertools
import numbers
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

import joblib
import numpy as np
import sklearn
from joblib.parallel import SequentialBackend, ThreadingBackend
from threadpoolctl import ThreadpoolController

from clustertrust._errors import ParameterError
from clustertrust._types import Result

Part = TypeVar("Part")


_MOST_THREADS = 10_000


def check_jobs(n_jobs: int | None) -> None:
    """Raise unless `n_jobs` is one of joblib's."""
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0 or abs(int(n_jobs)) > _MOST_THREADS):
        raise ParameterError(
            "n_jobs",
            n_jobs,
            f"must be None or an integer other than 0, at most {_MOST_THREADS}",
            "-1 means every core",
        )


def count_threads(n_jobs: int | None) -> int:
    """Return the number of threads: one per core for None, else as in joblib."""
    check_jobs(n_jobs)
    if n_jobs is None:
        # What `joblib.parallel_config(n_jobs=…)` asks for
        _, n_jobs = joblib.parallel.get_active_backend()
    return int(joblib.cpu_count() if n_jobs is None else max(1, joblib.effective_n_jobs(n_jobs)))


def has_own_threads() -> bool:
    """Return whether work is for threads of this process: no other backend of joblib is chosen."""
    backend, _ = joblib.parallel.get_active_backend(prefer="threads")
    return isinstance(backend, ThreadingBackend | SequentialBackend)


def memory_budget() -> int:
    """Return the bytes for blocks in use: a quarter of scikit-learn's `working_memory`."""
    return int(sklearn.get_config()["working_memory"] * 2**20 / 4)


# Blocks in use or waiting; on more cores than this, one for each.
AT_ONCE = 8
# Columns of a large array that a thread fills at a time
_COLUMNS = 2**15


def blocks(n: int, bytes_per_row: int, *, largest: int = 1024) -> Iterator[slice]:
    """Cut range(n) into slices of at most `largest` rows, `AT_ONCE` of them within the budget.

    Their size does not depend on the number of threads: matrix products of other sizes may round
    differently.
    """
    size = int(max(1, min(largest, memory_budget() // max(1, AT_ONCE * bytes_per_row))))
    return (slice(low, min(low + size, n)) for low in range(0, n, size))


class _Kept(threading.local):
    """The pools that the calling thread keeps, by their number of threads; None: it keeps none."""

    pools: dict[int, ThreadPoolExecutor] | None = None

    def forget(self) -> None:
        """In a forked child the threads of a pool are dead."""
        if self.pools is not None:
            self.pools = {}


_kept = _Kept()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.forget)


@contextmanager
def kept_threads() -> Iterator[None]:
    """Let all that the caller does inside share its threads, which end with it.

    To start sixteen threads and to wait for their ends takes several milliseconds.
    """
    if _kept.pools is not None:  # inside a larger piece of work
        yield
        return
    _kept.pools = {}
    try:
        yield
    finally:
        pools, _kept.pools = _kept.pools, None
        for pool in pools.values():
            pool.shutdown(cancel_futures=True)


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads: one that is kept, or one for this work alone."""
    if _kept.pools is None:
        with ThreadPoolExecutor(threads) as pool:
            yield pool
    else:
        if threads not in _kept.pools:
            _kept.pools[threads] = ThreadPoolExecutor(threads)
        yield _kept.pools[threads]


def _finish(futures: Iterable[Future[Any]]) -> None:
    """Wait for what has begun, and leave out what has not."""
    wait([future for future in futures if not future.cancel()])


def map_blocks(
    function: Callable[[Part], Result], parts: Iterator[Part], threads: int
) -> Iterator[Result]:
    """Yield function(part) for each part, in order, computed by `threads` threads."""
    first = list(itertools.islice(parts, 2))
    parts = itertools.chain(first, parts)
    # One block alone is done here: to start a thread takes longer than little data.
    if threads == 1 or len(first) < 2:
        yield from map(function, parts)
        return
    with _pool(threads) as pool:
        ahead = itertools.islice(parts, max(threads, AT_ONCE))
        waiting = [pool.submit(function, part) for part in ahead]
        try:
            while waiting:
                yield waiting.pop(0).result()
                following = next(parts, None)
                if following is not None:
                    waiting.append(pool.submit(function, following))
        finally:
            _finish(waiting)


@dataclass(frozen=True)
class Order:
    """Parts that are taken in order where they have an item in common, and in any order otherwise.

    Attributes
    ----------
    waits : for how many others each part waits: the last one before it with each of its items
    after : the parts that wait for each one
    """

    waits: list[int]
    after: list[list[int]]

    @classmethod
    def of(cls, parts: Iterable[Iterable[int]]) -> Order:
        """Return the order of parts, each given by its items."""
        waits: list[int] = []
        after: list[list[int]] = []
        last: dict[int, int] = {}
        for i, part in enumerate(parts):
            items = set(part)
            before = {last[item] for item in items if item in last}
            waits.append(len(before))
            after.append([])
            for one in before:
                after[one].append(i)
            last.update(dict.fromkeys(items, i))
        return cls(waits, after)


class Team:
    """Threads that work through parts together, the caller's among them.

    Each takes the next part when it is done with one.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._open = ExitStack()
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Team:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def run(self, function: Callable[[Part], Any], parts: Sequence[Part]) -> None:
        """Call function(part) for each part, in any order."""
        waiting = iter(parts)

        def work() -> None:
            for part in waiting:
                function(part)

        def end() -> None:
            for _ in waiting:
                pass

        self._share(work, len(parts), end)

    def _share(self, work: Callable[[], None], parts: int, end: Callable[[], None]) -> None:
        """Call work() here and in other threads; each call ends when no part is left.

        After an error end() leaves no part to the others, who finish those that they have begun.
        """
        others = min(self.threads, parts) - 1
        if others < 1:
            work()
            return
        if self._pool is None:
            self._pool = self._open.enter_context(_pool(self.threads))
        futures: list[Future[None]] = []

        def guarded() -> None:
            try:
                work()
            except BaseException:
                end()
                raise

        try:
            futures.extend(self._pool.submit(guarded) for _ in range(others))
            work()
        except BaseException:
            end()
            raise
        finally:
            _finish(futures)
        for future in futures:
            if not future.cancelled():
                future.result()

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """Return function(part) for each part, in order."""
        out: list[Any] = [None] * len(parts)

        def work(i: int) -> None:
            out[i] = function(parts[i])

        self.run(work, range(len(parts)))
        return out

    def shares(self, n: int) -> list[slice]:
        """Cut range(n) into a few slices for each thread, so that no thread waits long at the end.

        For parts that take long enough to be worth a call of their own, use `run` alone.
        """
        size = -(-n // (2 * self.threads))
        return [slice(low, low + size) for low in range(0, n, size)]

    def run_in_order(self, function: Callable[[int], Any], order: Order) -> None:
        """Call function(i) for each part i, some at a time: only those that wait for no other."""
        waits, left = list(order.waits), len(order.waits)
        if self.threads == 1 or left < 2:
            self.run(function, range(left))
            return
        lock, ready = threading.Lock(), SimpleQueue[int | None]()
        for i, others in enumerate(waits):
            if others == 0:
                ready.put(i)

        is_over = False

        def end() -> None:
            nonlocal is_over
            is_over = True
            for _ in range(self.threads):
                ready.put(None)

        def done(i: int) -> int | None:
            """Return a part that waited for part i, for the same thread: its data are there."""
            nonlocal left
            with lock:
                left -= 1
                begin = []
                for following in order.after[i]:
                    waits[following] -= 1
                    if waits[following] == 0:
                        begin.append(following)
            if left == 0:
                end()
            for following in begin[1:]:
                ready.put(following)
            if is_over:
                return None
            return begin[0] if begin else ready.get()

        def work() -> None:
            i = ready.get()
            while i is not None:
                function(i)
                i = done(i)

        self._share(work, left, end)

    def full(self, shape: tuple[int, int], value: float, dtype: Any = None) -> Any:
        """Return `np.full`, whose memory is handed over by the system to all threads at once."""
        out = np.empty(shape, dtype=dtype)

        def fill(columns: slice) -> None:
            out[:, columns] = value

        self.run(fill, [slice(low, low + _COLUMNS) for low in range(0, shape[1], _COLUMNS)])
        return out


def run_blocks(function: Callable[[Part], None], parts: Iterable[Part], threads: int) -> None:
    """Call function(part) for each part by `threads` threads, in any order."""
    parts = list(parts)
    with Team(threads) as team:
        team.run(function, parts)


def stack_columns(columns: Sequence[Any], threads: int) -> Any:
    """Return `np.column_stack` of vectors by several threads."""
    n = len(columns[0])
    out = np.empty((n, len(columns)), dtype=np.result_type(*columns))

    def write(rows: slice) -> None:
        for r, column in enumerate(columns):
            out[rows, r] = column[rows]

    # Few enough rows to stay in the cache
    parts = (slice(low, low + _COLUMNS // 4) for low in range(0, n, _COLUMNS // 4))
    run_blocks(write, parts, threads)
    return out


@functools.cache
def _controller() -> ThreadpoolController:
    """Return the thread pools of loaded libraries; cached, since finding them is slow."""
    return ThreadpoolController()


class _OneThread:
    """Holds BLAS to one thread while anyone is inside.

    threadpoolctl remembers the limit it found and restores it. If two threads enter one after the
    other, the second finds the limit of the first and restores that for ever. So only the first to
    enter sets the limit, and only the last to leave lifts it. Newer versions accept limits only
    from the first thread that set one, while it lives, so separate threads do both.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                _in_another_thread(self._set)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _in_another_thread(self._limits.restore_original_limits)

    def _set(self) -> None:
        self._limits = _controller().limit(limits=1, user_api="blas")


def _in_another_thread(function: Callable[[], Any]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


one_blas_thread = _OneThread()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the libraries below us on one thread: the same bits for any `n_jobs`, and safe after a
    fork.

    OpenMP's limit belongs to the calling thread, BLAS's to the process.
    """
    with one_blas_thread, _controller().limit(limits=1, user_api="openmp"):
        yield


def stop(results: Any) -> None:
    """End the jobs of a joblib generator that are left, without joblib's warning that there were
    some.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results.close()
