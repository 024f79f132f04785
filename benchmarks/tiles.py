"""Where a sum for each point and cell stops paying: symmetric tiles against sums straight to the
clusters, by m / n.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import numpy as np

from benchmarks.common import Row, blobs, processor_seconds
from clustertrust import Ensemble
from clustertrust.distances import dissimilarity
from clustertrust.geometry import silhouettes


def run() -> Iterator[Row]:
    """Yield a row a share of cells: seconds of both ways.

    The library takes the first while m ≤ n / 20.
    """
    n = 10_000
    X = blobs(n)
    for cells in (100, 500, 1000, 2500, 5000, 10_000):
        rng = np.random.default_rng(0)
        labels = rng.integers(10, size=(cells, 20))[
            rng.integers(cells, size=n) if cells < n else np.arange(n)
        ]
        ensemble = Ensemble.from_labels(labels)

        def forced(share: float, ensemble: Ensemble = ensemble) -> None:
            with mock.patch.object(dissimilarity.Euclidean, "few_cells", share):
                silhouettes(X, ensemble, geometry="exact", n_jobs=1)

        by_cell, direct = processor_seconds(lambda: forced(2.0), lambda: forced(0.0), times=3)
        what = f"exact silhouettes, n={n:,}, R=20, m={cells:,}: sums by cell"
        yield Row.within(what, by_cell.median, "straight to clusters", direct.median, None)
