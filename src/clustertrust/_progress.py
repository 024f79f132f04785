"""Progress of slow work, shown if the user asked for it, in the way that suits where they look.

A bar in a terminal, tqdm's bar in a notebook that has tqdm and ipywidgets, and else a plain line on
standard error now and then, which logs and notebooks can show.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from clustertrust._types import Result

WIDTH = 30
# Seconds without a line: quick work needs none.
FIRST_LINE = 1.0
# Each pause between lines is this many times the last.
SLOWER = 1.5


def progress(
    results: Iterable[Result],
    total: int | None,
    what: str,
    *,
    verbose: bool,
    size: Callable[[Result], int] = lambda result: 1,
) -> Iterator[Result]:
    """Yield the results, and show the progress after each.

    `total` None: the amount of work is unknown. `size` is the part of `total` that a result covers.
    """
    if not verbose:
        yield from results
        return
    show = _shower(total, what)
    done = 0
    for result in results:
        yield result
        done += size(result)
        show(done, False)
    show(done, True)


def _shower(total: int | None, what: str) -> Callable[[int, bool], None]:
    """Return what shows how much is done, and at the end that it is over."""
    if sys.stderr.isatty():
        return _Bar(total, what)
    notebook_bar = _notebook_tqdm()
    return _Lines(total, what) if notebook_bar is None else _Notebook(notebook_bar, total, what)


def in_notebook() -> bool:
    """Return whether this code runs in the kernel of a notebook."""
    if "ipykernel" not in sys.modules or "IPython" not in sys.modules:
        return False
    return sys.modules["IPython"].get_ipython() is not None


def _notebook_tqdm() -> Any:
    """Return tqdm's bar for notebooks; None where it cannot be shown."""
    if not in_notebook() or any(
        importlib.util.find_spec(name) is None for name in ("tqdm", "ipywidgets")
    ):
        return None
    return importlib.import_module("tqdm.notebook").tqdm


class _Bar:
    """A bar that a terminal draws over itself."""

    def __init__(self, total: int | None, what: str) -> None:
        self.total, self.what = total, what

    def __call__(self, done: int, over: bool) -> None:
        if over:
            sys.stderr.write("\n")
            return
        filled = WIDTH if not self.total else WIDTH * min(done, self.total) // self.total
        bar = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{self.total}"
        sys.stderr.write(f"\r{self.what} {done if self.total is None else bar}")
        sys.stderr.flush()


class _Notebook:
    """The bar of tqdm, which a notebook draws as a widget."""

    def __init__(self, tqdm: Any, total: int | None, what: str) -> None:
        self.bar, self.done = tqdm(total=total, desc=what), 0

    def __call__(self, done: int, over: bool) -> None:
        self.bar.update(done - self.done)
        self.done = done
        if over:
            self.bar.close()


class _Lines:
    """Lines, the first after a second and then ever fewer; quick work prints none."""

    def __init__(self, total: int | None, what: str) -> None:
        self.total, self.what = total, what
        self.pause, self.last, self.printed = FIRST_LINE, time.monotonic(), 0

    def __call__(self, done: int, over: bool) -> None:
        due = time.monotonic() - self.last >= self.pause
        if (over and self.printed in (0, done)) or not (over or due):
            return
        of = "" if self.total is None else f" of {self.total}"
        sys.stderr.write(f"{self.what}: {done}{of}\n")
        sys.stderr.flush()
        self.pause, self.last, self.printed = self.pause * SLOWER, time.monotonic(), done
