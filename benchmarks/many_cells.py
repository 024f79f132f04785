"""Exact silhouettes where cells are many: Letter (some thousands) and random labels (one a point)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.metrics import silhouette_samples

from benchmarks.common import Row, Timing, blobs, load, processor_seconds
from clustertrust import Ensemble, build_ensemble, confidence
from clustertrust.cells import meet

R = 20


def run() -> Iterator[Row]:
    """Yield the rows. The peer is timed on one run and multiplied: it does the same work for each."""
    letter, _ = load("letter")
    cases = {
        "Letter, k=26": (
            letter,
            build_ensemble(letter, "kmeans-random", n_clusters=26, n_runs=R, random_state=0),
        ),
        "random labels, k=10": (
            blobs(20_000, d=16),
            Ensemble.from_labels(np.random.default_rng(0).integers(10, size=(20_000, R))),
        ),
    }
    for name, (X, ensemble) in cases.items():
        m = len(meet(ensemble.labels).counts)
        ours, one = processor_seconds(
            lambda X=X, ensemble=ensemble: confidence(X, ensemble, geometry="exact", n_jobs=1),
            lambda X=X, ensemble=ensemble: silhouette_samples(X, ensemble.labels[:, 0]),
            times=3,
        )
        peer = Timing(tuple(R * seconds for seconds in one.seconds))
        yield Row.faster(
            f"exact score, {name}, n=20,000, m={m:,}", ours, "R × silhouette_samples", peer, 10
        )
