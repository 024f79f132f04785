"""A progress bar on standard error, drawn if the user asked for it and there is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator

from clustertrust._types import Result

WIDTH = 30


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
    if not verbose or not sys.stderr.isatty():
        yield from results
        return
    done = 0
    for result in results:
        yield result
        done += size(result)
        filled = WIDTH if not total else WIDTH * min(done, total) // total
        bar = (
            f"{done}"
            if total is None
            else f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total}"
        )
        sys.stderr.write(f"\r{what} {bar}")
        sys.stderr.flush()
    sys.stderr.write("\n")
