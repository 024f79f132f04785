"""What second opinions cost beside the paper's score, and the cut at chance beside a fit.

In seconds of the processor, on one thread: other work on the machine hardly changes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.common import Row, blobs, processor_seconds
from clustertrust import CAKE

# The dearest kinds of surrogates, and the paper's
CUTS: tuple[dict[str, str], ...] = ({}, {"fusion": "combined"}, {"clusterer": "gmm"})


def run() -> Iterator[Row]:
    """Yield a row for each size with `fusion="combined"`, and for each kind of cut."""
    for n, goal in ((500, 5.0), (2_000, 5.0), (100_000, 2.0)):
        X = blobs(n)

        def combined(X: object = X) -> CAKE:
            return _fit(X, clusterer="kmeans-random", fusion="combined")

        def harmonic(X: object = X) -> CAKE:
            return _fit(X, clusterer="kmeans-random")

        ours, paper = processor_seconds(combined, harmonic, times=7)
        what = f'fit with fusion="combined", n={n:,}, d=20, k=10, R=20: CPU'
        yield Row.within(what, ours.median, "harmonic", paper.median, goal, ours.spread)
    X = blobs(10_000)
    for how in CUTS:

        def alone(how: dict[str, str] = how) -> CAKE:
            return _fit(X, **how)

        def cut(how: dict[str, str] = how) -> Any:
            return _fit(X, **how).confidence_.cut()

        both, fitted = processor_seconds(cut, alone, times=5)
        named = ", ".join(f"{name}={value}" for name, value in how.items()) or "k-means, harmonic"
        what = f"fit and cut at chance, n=10,000, d=20, k=10, R=20, {named}: CPU"
        yield Row.within(what, both.median, "the fit alone", fitted.median, 2.0, both.spread)


def _fit(X: object, **how: Any) -> CAKE:
    return CAKE(10, random_state=0, n_jobs=1, **how).fit(X)
