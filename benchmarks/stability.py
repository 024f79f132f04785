"""Pairwise stability and consensus against the authors' package."""

from __future__ import annotations

from collections.abc import Iterator

import cake_ensemble
import numpy as np

from benchmarks.common import Row, blobs, clock, uneven
from clustertrust import build_ensemble, confidence
from clustertrust.cells import meet
from clustertrust.consensus import count_votes, medoid
from clustertrust.matching import match_runs
from clustertrust.stability import pairwise_stability


def consensus(labels: np.ndarray) -> np.ndarray:
    """Consensus labels alone, as a user of the modules would compute them."""
    cells = meet(labels)
    matchings = match_runs(cells)
    runs = cells.assigned_runs()
    return count_votes(cells, matchings, medoid(cells, matchings, runs), cells.rows, runs).labels[
        cells.cell_of
    ]


def run() -> Iterator[Row]:
    """Yield the rows."""
    ensemble = build_ensemble(
        blobs(10_000), "kmeans-random", n_clusters=10, n_runs=100, random_state=0
    )
    some = ensemble.labels[uneven(10_000), :20]
    assert np.allclose(
        pairwise_stability(some), cake_ensemble.pairwise_stability(list(some.T)), atol=1e-9
    )
    for R, goal in ((20, 300), (100, 200)):
        labels = np.ascontiguousarray(ensemble.labels[:, :R])
        columns = list(labels.T.copy())
        ours = clock(lambda labels=labels: pairwise_stability(labels), times=9)
        theirs = clock(lambda columns=columns: cake_ensemble.pairwise_stability(columns), times=3)
        yield Row.faster(f"stability, n=10,000, k=10, R={R}", ours, "cake-ensemble", theirs, goal)
    X = blobs(30_000)
    labels = build_ensemble(X, "kmeans-random", n_clusters=10, random_state=0).labels
    columns = list(labels.T.copy())
    assert (consensus(labels) == confidence(X, labels, geometry="rms").labels).all()
    ours = clock(lambda: consensus(labels), times=9)
    theirs = clock(lambda: cake_ensemble.consensus_labels(columns), times=3)
    yield Row.faster("consensus (medoid), n=30,000, k=10, R=20", ours, "cake-ensemble", theirs, 100)
