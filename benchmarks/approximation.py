"""How far `rms` and `centroid` silhouettes are from the exact ones, averaged over points and runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits, load_iris

from benchmarks.common import Row, blobs
from clustertrust import build_ensemble
from clustertrust.geometry import silhouettes


def run() -> Iterator[Row]:
    """Yield the rows: mean absolute errors, not seconds."""
    data = {"blobs": (blobs(5000), 10), "Iris": (load_iris().data, 3), "digits": (load_digits().data, 10)}
    for name, (X, k) in data.items():
        ensemble = build_ensemble(X, n_clusters=k, random_state=0)
        exact = silhouettes(X, ensemble, geometry="exact")
        rms, centroid = (
            float(np.abs(silhouettes(X, ensemble, geometry=geometry) - exact).mean())
            for geometry in ("rms", "centroid")
        )
        yield Row.within(f"mean error of rms silhouettes, {name}, k={k}, R=20", rms, "of centroid ones", centroid, 1)
