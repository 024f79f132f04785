"""K-medoids of a given matrix of distances beside the package of the algorithm's authors."""

from __future__ import annotations

from collections.abc import Iterator

import kmedoids
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from benchmarks.common import Row, blobs, clock_in_turn
from clustertrust.ensemble.kmedoids import KMedoids

N = 5000
SAME = 0.01  # how far the two losses may differ: eager swaps end in one of several optima


def _loss(distances: np.ndarray, medoids: np.ndarray) -> float:
    return float(distances[:, medoids].min(axis=1).sum())


def _noisy_digits() -> np.ndarray:
    """Digits, copied with noise up to N rows: clusters that overlap, and so more sweeps."""
    rng = np.random.default_rng(0)
    X = load_digits().data[rng.integers(1797, size=N)]
    return X + rng.normal(0, 2, X.shape)


def run() -> Iterator[Row]:
    """Yield the rows: the whole fit, checks of the matrix included, from random starts.

    Both take one thread: our ensembles run several fits at a time.
    """
    cases = {
        "blobs, k=10": (blobs(N), 10),
        "digits, k=10": (_noisy_digits(), 10),
        "digits, k=50": (_noisy_digits(), 50),
    }
    for name, (X, k) in cases.items():
        D = cdist(X, X)
        model = KMedoids(k, metric="precomputed", random_state=0)
        start = np.random.RandomState(0).choice(N, k, replace=False)
        theirs = kmedoids.fasterpam(D, start.astype(np.uint64), n_cpu=1)
        ours = _loss(D, model.fit(D).medoid_indices_)
        assert abs(ours / theirs.loss - 1) < SAME, f"losses {ours} and {theirs.loss}"

        def fit(model: KMedoids = model, D: np.ndarray = D) -> None:
            model.fit(D)

        def peer(D: np.ndarray = D, start: np.ndarray = start) -> None:
            kmedoids.fasterpam(D, start.astype(np.uint64), n_cpu=1)

        mine, other = clock_in_turn(fit, peer)
        work = f"k-medoids of given distances, n=5,000, {name} (loss {ours / theirs.loss:.4f} of theirs)"
        yield Row.faster(work, mine, "kmedoids.fasterpam", other, 0.5)
