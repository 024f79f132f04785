"""Blocks of rows, threads to work on them, and one thread each for the libraries below us."""

from __future__ import annotations

import functools
import itertools
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib
import sklearn
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")


def count_threads(n_jobs: int | None) -> int:
    """Threads to use: every core for None (as scikit-learn's compiled loops do), else joblib's meaning."""
    context = joblib.parallel.get_active_backend()[1]  # what `joblib.parallel_config(n_jobs=…)` asks for
    wanted = n_jobs if n_jobs is not None else context
    return joblib.cpu_count() if wanted is None else max(1, joblib.effective_n_jobs(wanted))


def memory_budget() -> int:
    """Bytes that the blocks under work may take: a quarter of scikit-learn's `working_memory`."""
    return int(sklearn.get_config()["working_memory"] * 2**20 / 4)


def blocks(n: int, bytes_per_row: int, *, largest: int = 1024, threads: int = 1) -> Iterator[slice]:
    """Cut range(n) into slices of at most `largest` rows that keep `threads` of them within the budget."""
    size = int(max(1, min(largest, memory_budget() // max(1, threads * bytes_per_row))))
    return (slice(low, min(low + size, n)) for low in range(0, n, size))


def map_blocks(function: Callable[[slice], Result], slices: Iterator[slice], threads: int) -> Iterator[Result]:
    """Yield function(s) for each slice, in order, worked on by `threads` threads.

    The pool lives for this call alone: a pool kept between calls would be dead in a forked child. At most
    2 * threads results wait to be taken, so that memory stays within what `blocks` planned.
    """
    if threads == 1:
        yield from map(function, slices)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(function, s) for s in itertools.islice(slices, 2 * threads)]
        while waiting:
            yield waiting.pop(0).result()
            following = next(slices, None)
            if following is not None:
                waiting.append(pool.submit(function, following))


@functools.cache
def _controller() -> ThreadpoolController:
    """The thread pools of the loaded libraries; kept, since finding them takes milliseconds."""
    return ThreadpoolController()


class _OneThread:
    """Holds BLAS to one thread while anyone is inside.

    threadpoolctl remembers the limit it found and puts it back. Of two threads that enter one after the
    other the second would find, and for ever put back, the first one's limit; so only the first to enter
    sets the limit and only the last to leave lifts it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._limits = _controller().limit(limits=1, user_api="blas")

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._limits is not None:
                self._limits.restore_original_limits()
                self._limits = None


_one_blas_thread = _OneThread()


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the libraries below us on one thread: the same bits for any `n_jobs`, and safe after a fork.

    OpenMP's limit belongs to the calling thread, BLAS's to the process.
    """
    with _one_blas_thread, _controller().limit(limits=1, user_api="openmp"):
        yield


class _Collector:
    """Collects the warnings of each thread apart.

    `warnings.catch_warnings` swaps state of the whole process, so that two threads inside it can leave each
    other's filters behind. Here the first to enter swaps, the last to leave swaps back, and in between each
    warning goes to the list of the thread that gave it; those of other threads go where they went before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._local = threading.local()
        self._swap: warnings.catch_warnings | None = None
        self._show: Any = None

    def __enter__(self) -> list[warnings.WarningMessage]:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._swap = warnings.catch_warnings()
                self._swap.__enter__()
                self._show = warnings.showwarning
                warnings.simplefilter("always")
                warnings.showwarning = self._take  # type: ignore[assignment]
        caught: list[warnings.WarningMessage] = []
        self._local.caught = caught
        return caught

    def _take(self, message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
        caught = getattr(self._local, "caught", None)
        if caught is None:
            self._show(message, category, filename, lineno, *rest)
        else:
            caught.append(warnings.WarningMessage(message, category, filename, lineno, *rest))

    def __exit__(self, *error: Any) -> None:
        self._local.caught = None
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._swap is not None:
                self._swap.__exit__(*error)
                self._swap = None


collected_warnings = _Collector()
