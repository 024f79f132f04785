"""Do the scores that one half of the data gets from a model of the other half match those of a fit
on all?
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.stats import spearmanr

from benchmarks.common import Row, load
from clustertrust import CAKE


def run() -> Iterator[Row]:
    """Yield the rows: Pearson and rank correlations on the second half, not seconds."""
    for name in ("S1", "S2", "S3", "S4", "S5", "S6", "S7"):
        X, y = load(name)
        k = len(set(y.tolist()))
        order = np.random.default_rng(0).permutation(len(X))
        first, second = order[::2], order[1::2]
        everything = CAKE(k, clusterer="kmeans-random", random_state=0).fit(X).scores_[second]
        unseen = (
            CAKE(k, clusterer="kmeans-random", random_state=0)
            .fit(X[first])
            .score_samples(X[second])
        )
        pearson = float(np.corrcoef(everything, unseen)[0, 1])
        rank = float(spearmanr(everything, unseen).statistic)
        yield Row(
            f"correlation of unseen with fitted scores, {name}",
            pearson,
            "rank correlation",
            rank,
            pearson,
            "",
            "",
        )
