"""What a whole profile over k costs, in ensembles."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.common import Row, blobs, processor_seconds
from clustertrust import CAKE, choose_k


def run() -> Iterator[Row]:
    """Yield the rows: `choose_k` from 2 to 12 at n = 2,000 against one `CAKE.fit` of 20 runs.

    In seconds of the processor, on one thread each.
    """
    for d in (2, 20):
        X = blobs(2000, d=d)
        profile, fit = processor_seconds(
            lambda X=X: choose_k(X, cake=CAKE(n_runs=10, random_state=0, n_jobs=1)),
            lambda X=X: CAKE(8, random_state=0, n_jobs=1).fit(X),
            times=5,
        )
        work = f"choose_k, k from 2 to 12, n=2,000, d={d}, quick null"
        yield Row.within(
            work, profile.median, "one CAKE.fit, k=8, R=20", fit.median, 10, profile.spread
        )
