"""How far a fit in blocks, on Dask, is from the fit in memory: the ARI of the labels, and
differences of the scores.

Beside each figure stands what another seed makes of the fit in memory. The runs in blocks begin on
a sample of 100,000 rows, so that they are other runs, as those of another seed are.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import Row
from clustertrust import CAKE

POINTS, COLUMNS, K, R = 300_000, 20, 10, 20
SPREADS = {"apart": 1.0, "touching": 4.0, "overlapping": 6.0}


def run() -> Iterator[Row]:
    """Yield three rows for each spread of the blobs."""
    dask, array = importlib.import_module("dask"), importlib.import_module("dask.array")
    for name, spread in SPREADS.items():
        X = make_blobs(POINTS, COLUMNS, centers=K, cluster_std=spread, random_state=0)[0]
        memory, other = (
            CAKE(K, n_runs=R, geometry="rms", random_state=seed).fit(X) for seed in (0, 1)
        )
        blocks = CAKE(K, n_runs=R, geometry="rms", random_state=0).fit(
            array.from_array(X, chunks=(50_000, COLUMNS))
        )
        labels, scores = dask.compute(blocks.labels_, blocks.scores_)
        what = f"blobs {name}, n={POINTS:,}: on Dask and in memory"
        ari, peer = (
            adjusted_rand_score(memory.labels_, found) for found in (labels, other.labels_)
        )
        yield Row.within(f"{what}, ARI of the labels", ari, "in memory, another seed", peer, None)
        ours, theirs = (np.abs(found - memory.scores_) for found in (scores, other.scores_))
        for measure, of in (("mean", np.mean), ("largest", np.max)):
            row = f"{what}, {measure} difference of scores"
            yield Row.within(
                row, float(of(ours)), "in memory, another seed", float(of(theirs)), None
            )
