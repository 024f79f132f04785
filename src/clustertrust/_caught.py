"""Warnings of each thread, collected apart."""

from __future__ import annotations

import threading
import warnings
from typing import Any


class _Show:
    """Stands in for `warnings.showwarning`: to the list of the thread that warns where it has one,
    else to `before`.
    """

    def __init__(self, before: Any, local: threading.local) -> None:
        self.before, self._local = before, local

    def __call__(self, message: Any, category: Any, filename: str, lineno: int, *rest: Any) -> None:
        caught = getattr(self._local, "caught", None)
        if caught is None:
            self.before(message, category, filename, lineno, *rest)
        else:
            caught.append(warnings.WarningMessage(message, category, filename, lineno, *rest))


class _Collector:
    """Collects the warnings of each thread apart.

    `warnings.catch_warnings` swaps the filters of the whole process, so that two threads inside it
    can leave each other's behind. Here one filter is added to the list in force and taken out of
    that same list again, and each warning goes to the thread that gave it; those of other threads
    go where they went before. A `catch_warnings` of another thread that begins while someone is
    inside and ends later puts our stand-in back, where it does no harm; the next to enter looks
    behind it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._local = threading.local()
        self._show: Any = None

    def __enter__(self) -> list[warnings.WarningMessage]:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                # It matches all, and equals no other.
                warnings.filterwarnings("always", message="(?#clustertrust collects)")
                self._filters: Any = warnings.filters
                self._filter = self._filters[0]
                before: Any = warnings.showwarning
                while isinstance(before, _Show):
                    before = before.before
                self._show = _Show(before, self._local)
                warnings.showwarning = self._show
        caught: list[warnings.WarningMessage] = []
        outer = getattr(self._local, "outer", [])
        self._local.outer = [*outer, getattr(self._local, "caught", None)]
        self._local.caught = caught
        return caught

    def __exit__(self, *_: object) -> None:
        *self._local.outer, self._local.caught = self._local.outer
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                current: Any = warnings.filters
                for filters in (self._filters, current):
                    if self._filter in filters:
                        filters.remove(self._filter)
                before = self._show.before
                if warnings.showwarning is self._show:
                    warnings.showwarning = before


collected_warnings = _Collector()
