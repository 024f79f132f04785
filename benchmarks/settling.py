"""How many runs `n_runs="auto"` takes on the paper's small data sets, and whether they rank points
as 200 runs do.
"""

from __future__ import annotations

from collections.abc import Iterator

from scipy.stats import spearmanr

from benchmarks.common import Row, load
from clustertrust import CAKE


def run() -> Iterator[Row]:
    """Yield the rows: numbers of runs against the paper's 30 to 40, and rank correlations, not
    seconds.
    """
    for name in ("S1", "S2", "S4", "S5", "S6", "S7", "Ir", "Bc", "Dg"):
        X, y = load(name)
        k = len(set(y.tolist()))
        auto = CAKE(k, clusterer="kmeans-random", n_runs="auto", random_state=0).fit(X)
        many = CAKE(k, clusterer="kmeans-random", n_runs=200, random_state=1).fit(X)  # other seeds
        agreement = float(spearmanr(auto.scores_, many.scores_).statistic)
        yield Row(
            f"runs taken by n_runs='auto', {name}",
            auto.n_runs_,
            "paper: by 30 to 40",
            40,
            auto.n_runs_ / 40,
            "",
            "",
        )
        yield Row.within(
            f"1 - rank correlation with 200 other runs, {name}", 1 - agreement, "0.05", 0.05, 1
        )
