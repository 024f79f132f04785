"""How far `rms`, `centroid` and `sampled` silhouettes are from the exact ones, averaged over points
and runs; costs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits, load_iris, make_blobs

from benchmarks.common import Row, blobs, clock_in_turn
from clustertrust import build_ensemble
from clustertrust.geometry import silhouettes

POINTS = 30_000  # of the data on which `sampled` is tried: it takes some 2,000 of them


def run() -> Iterator[Row]:
    """Yield the rows: mean absolute errors, then seconds."""
    data = {
        "blobs": (blobs(5000), 10),
        "Iris": (load_iris().data, 3),
        "digits": (load_digits().data, 10),
    }
    for name, (X, k) in data.items():
        ensemble = build_ensemble(X, n_clusters=k, random_state=0)
        exact = silhouettes(X, ensemble, geometry="exact")
        rms, centroid = (
            float(np.abs(silhouettes(X, ensemble, geometry=geometry) - exact).mean())
            for geometry in ("rms", "centroid")
        )
        yield Row.within(
            f"mean error of rms silhouettes, {name}, k={k}, R=20",
            rms,
            "of centroid ones",
            centroid,
            1,
        )
    wide = make_blobs(POINTS, 20, centers=10, cluster_std=6.0, random_state=0)[0]
    for name, X in {"blobs": blobs(POINTS), "overlapping blobs": wide}.items():
        yield from sampled(f"{name}, n={POINTS:,}, k=10, R=20", X)


def sampled(name: str, X: np.ndarray) -> Iterator[Row]:
    """Error and cost of `sampled` beside those of `exact` and `rms`."""
    ensemble = build_ensemble(X, n_clusters=10, random_state=0)
    found: dict[str, np.ndarray] = {}

    def measure(geometry: str) -> None:
        found[geometry] = silhouettes(X, ensemble, geometry=geometry)

    names = ("exact", "sampled", "rms")
    exact, ours, rms = clock_in_turn(
        *(lambda geometry=geometry: measure(geometry) for geometry in names), times=5
    )
    errors = {
        geometry: float(np.abs(found[geometry] - found["exact"]).mean()) for geometry in names[1:]
    }
    yield Row.within(
        f"mean error of sampled silhouettes, {name}",
        errors["sampled"],
        "of rms ones",
        errors["rms"],
        None,
    )
    yield Row.faster(f"sampled silhouettes, {name}: seconds", ours, "exact", exact, None)
    yield Row.within(f"sampled silhouettes, {name}: seconds", ours.median, "rms", rms.median, None)
