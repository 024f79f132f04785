"""A progress bar on standard error, for people: it is drawn where somebody asked for it and there is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Result = TypeVar("Result")
WIDTH = 30


def progress(results: Iterable[Result], total: int, what: str, *, verbose: bool) -> Iterator[Result]:
    """Yield the results, and tell after each how many of `total` are there."""
    if not verbose or not sys.stderr.isatty():
        yield from results
        return
    for done, result in enumerate(results, 1):
        filled = WIDTH * done // total
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r{what} [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total}{end}")
        sys.stderr.flush()
        yield result
