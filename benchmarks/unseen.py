"""Do the scores that one half of the data gets from a model of the other half match those of a fit on all?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import make_blobs
from tests.papersets import NAMES, paper_set

from benchmarks.common import Row
from clustertrust import CAKE


def synthetic() -> Iterator[tuple[str, np.ndarray, int]]:
    """S1 to S7. The noise of S3 was never seeded, so that a draw of its own stands for it."""
    for name in [name for name in NAMES if name.startswith("S")]:
        X, y = paper_set(name)
        yield name, X, len(set(y.tolist()))
        if name == "S2":
            blobs = make_blobs(3000, centers=[(0, 0), (5, 5), (10, 0)], cluster_std=1.0, random_state=10)[0]
            yield "S3", np.vstack([blobs, np.random.default_rng(0).uniform(-10, 15, (1500, 2))]), 4


def run() -> Iterator[Row]:
    """Yield the rows: Pearson and rank correlations on the second half, not seconds."""
    for name, X, k in synthetic():
        order = np.random.default_rng(0).permutation(len(X))
        first, second = order[::2], order[1::2]
        everything = CAKE(k, clusterer="kmeans-random", random_state=0).fit(X).scores_[second]
        unseen = CAKE(k, clusterer="kmeans-random", random_state=0).fit(X[first]).score_samples(X[second])
        pearson = float(np.corrcoef(everything, unseen)[0, 1])
        rank = float(spearmanr(everything, unseen).statistic)
        yield Row(
            f"correlation of unseen with fitted scores, {name}", pearson, "rank correlation", rank, pearson, "", ""
        )
