"""What second opinions cost beside the paper's score, and the cut at chance beside a fit.

In seconds of the processor, on one thread: other work on the machine hardly changes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.datasets import make_blobs

from benchmarks.common import Row, blobs, processor_seconds
from clustertrust import CAKE

# The dearest kinds of surrogates, and the paper's
CUTS: tuple[dict[str, str], ...] = ({}, {"fusion": "combined"}, {"clusterer": "gmm"})


def run() -> Iterator[Row]:
    """Yield a row for each size with `fusion="combined"`, and for each kind of cut."""
    overlapping = make_blobs(100_000, 20, centers=10, cluster_std=6, random_state=0)[0]
    sizes = [(blobs(500), 5.0, ""), (blobs(2_000), 5.0, ""), (blobs(100_000), 2.0, "")]
    for X, goal, kind in [*sizes, (overlapping, 2.0, " of blobs six times as wide")]:

        def combined(X: object = X) -> CAKE:
            return _fit(X, clusterer="kmeans-random", fusion="combined")

        def harmonic(X: object = X) -> CAKE:
            return _fit(X, clusterer="kmeans-random")

        ours, paper = processor_seconds(combined, harmonic, times=7)
        what = f'fit with fusion="combined", n={len(X):,}{kind}, d=20, k=10, R=20: CPU'
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
