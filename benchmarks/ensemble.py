"""Twenty k-means runs against twenty fits of scikit-learn's KMeans on the same cores."""

from __future__ import annotations

from collections.abc import Iterator

from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.common import Row, blobs, clock_in_turn
from clustertrust import build_ensemble

SEEDS = list(range(20))


def run() -> Iterator[Row]:
    """Yield the rows."""
    X = blobs(100_000)
    for name, init in (("kmeans", "k-means++"), ("kmeans-random", "random")):

        def theirs(init: str = init) -> list[KMeans]:
            return [KMeans(10, init=init, n_init=1, random_state=seed).fit(X) for seed in SEEDS]

        def ours(name: str = name) -> object:
            return build_ensemble(X, name, n_clusters=10, random_state=SEEDS)

        labels = build_ensemble(X, name, n_clusters=10, random_state=SEEDS).labels
        assert all(
            adjusted_rand_score(model.labels_, run) == 1
            for model, run in zip(theirs(), labels.T, strict=True)
        )
        mine, peer = clock_in_turn(ours, theirs, times=3)
        yield Row.faster(
            f"20 runs of {name}, n=100,000, d=20, k=10", mine, "20 × KMeans.fit", peer, 1
        )
