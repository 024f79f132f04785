"""What second opinions cost beside the paper's score: small data, and 100,000 points."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.common import Row, blobs, clock_in_turn
from clustertrust import CAKE


def run() -> Iterator[Row]:
    """Yield a row for each size: a fit with `fusion="combined"` against one with "harmonic"."""
    for n, goal in ((500, 5.0), (2_000, 5.0), (100_000, 2.0)):
        X = blobs(n)

        def fit(fusion: str, X: object = X) -> CAKE:
            return CAKE(10, clusterer="kmeans-random", fusion=fusion, random_state=0, n_jobs=1).fit(
                X
            )

        ours, paper = clock_in_turn(
            lambda fit=fit: fit("combined"), lambda fit=fit: fit("harmonic"), times=5
        )
        what = f'fit with fusion="combined", n={n:,}, d=20, k=10, R=20'
        yield Row.within(what, ours.median, "harmonic", paper.median, goal, ours.spread)
