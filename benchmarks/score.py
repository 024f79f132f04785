"""The whole score of a given ensemble against the authors' package and one NumPy pass over the
pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import cake_ensemble
import numpy as np
from sklearn.metrics import silhouette_samples

from benchmarks.common import Row, blobs, clock, clock_in_turn, numpy_pass, run_apart, uneven
from clustertrust import Ensemble, build_ensemble, confidence

MEMORY = """
from benchmarks.common import blobs, resident
from clustertrust import build_ensemble, confidence
confidence(blobs(300), build_ensemble(blobs(300), n_clusters=10, random_state=0))
X = blobs({n})
ensemble = build_ensemble(X, "kmeans-random", n_clusters=10, random_state=0)
before = resident("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
confidence(X, ensemble, geometry="exact")
print(resident("VmHWM") - before)
"""


def authors(X: np.ndarray, ensemble: Ensemble, *, approximation: bool) -> np.ndarray:
    """The authors' score of the same ensemble."""
    columns = [np.ascontiguousarray(run) for run in ensemble.labels.T]
    centers = list(ensemble.centers) if approximation else None
    return cake_ensemble.cake(X, columns, "harmonic_mean", approximation, centers_list=centers)[0]


def run() -> Iterator[Row]:
    """Yield the rows."""
    X = blobs(10_000)
    ensemble = build_ensemble(X, "kmeans-random", n_clusters=10, random_state=0)
    what = "given ensemble, n=10,000, d=20, k=10, R=20"

    theirs = clock(lambda: authors(X, ensemble, approximation=True), times=3)
    for geometry in ("centroid", "rms"):
        ours = clock(lambda geometry=geometry: confidence(X, ensemble, geometry=geometry), times=9)
        yield Row.faster(f"{geometry} score, {what}", ours, "cake-ensemble, proxy", theirs, 30)

    some = uneven(len(X))
    part = Ensemble.from_labels(ensemble.labels[some])
    assert np.allclose(
        confidence(X[some], part).scores, authors(X[some], part, approximation=False), atol=1e-9
    )
    theirs = clock(lambda: authors(X, ensemble, approximation=False), times=1)
    ours, numpy = clock_in_turn(
        lambda: confidence(X, ensemble, geometry="exact"), lambda: numpy_pass(X), times=9
    )
    yield Row.faster(f"exact score, {what}", ours, "cake-ensemble, exact", theirs, 150)
    yield Row.within(
        f"exact score, {what}", ours.median, "one NumPy pass", numpy.median, 0.25, ours.spread
    )
    one = clock(lambda: silhouette_samples(X, ensemble.labels[:, 0]), times=3)
    yield Row(
        f"exact score, {what}",
        ours.median,
        "R × silhouette_samples",
        20 * one.median,
        20 * one.median / ours.median,
        "",
        "",
    )

    X = blobs(30_000)
    ensemble = build_ensemble(X, "kmeans-random", n_clusters=10, random_state=0)
    theirs = clock(lambda: authors(X, ensemble, approximation=False), times=1)
    ours = clock(lambda: confidence(X, ensemble, geometry="exact"))
    yield Row.faster(
        "exact score, the same with n=30,000", ours, "cake-ensemble, exact", theirs, 150
    )
    mib = float(run_apart(MEMORY.format(n=30_000)))
    yield Row.within("exact score, n=30,000: MiB above the data", mib, "1 GiB", 1024, 1)
