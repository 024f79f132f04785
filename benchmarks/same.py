"""Has a change moved a number? Results over all options, saved before it and compared after.

`python -m benchmarks.same save FILE` before, `python -m benchmarks.same compare FILE` after, on one
machine. Everything must be equal to the bit.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_iris, load_wine, make_moons

from clustertrust import CAKE, choose_k, confidence, null_reference
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.geometry import silhouettes
from clustertrust.results import FIELDS

IRIS, WINE = load_iris().data, load_wine().data
MOONS = make_moons(150, noise=0.1, random_state=0)[0]
GEOMETRIES = ("exact", "centroid", "rms", "sampled", "kernel", "graph")
SCORING = {
    "fusion": ("harmonic", "product", "refined"),
    "agreement": ("matching", "jaccard"),
    "unassigned": ("skip", "disagree"),
    "normalization": ("clip", "affine"),
    "consensus": ("medoid", "best-reference"),
}


def fitted(X: Any, new: Any, **settings: Any) -> dict[str, np.ndarray]:
    """All that a fit gives: fields, labels of the runs, and what it says of unseen points."""
    cake = CAKE(random_state=0, **settings).fit(X)
    found = {name: getattr(cake, f"{name}_") for name in FIELDS}
    found |= {"runs": cake.ensemble_.labels, "predict": cake.predict(new)}
    return found | {"score_samples": cake.score_samples(new), "reference": cake.reference_run_}


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Names, and arrays by name."""
    for name in CLUSTERERS:
        k = None if name in {"hdbscan", "leiden"} else 3
        yield (
            f"clusterer {name}",
            fitted(IRIS, WINE[:9, :4], n_clusters=k, clusterer=name, n_runs=4),
        )
    for geometry in GEOMETRIES:
        yield f"geometry {geometry}", fitted(WINE, WINE[:9] + 1, n_clusters=3, geometry=geometry)
    for metric in ("manhattan", "cosine", "sqeuclidean", "correlation"):
        yield f"metric {metric}", fitted(WINE, WINE[:9], n_clusters=3, metric=metric, n_runs=5)
    for kernel in ("rbf", "linear", "polynomial"):
        how = {"geometry": "kernel", "kernel": kernel}
        yield f"kernel {kernel}", fitted(IRIS, IRIS[:9], n_clusters=3, n_runs=5, **how)
    for values in itertools.product(*SCORING.values()):
        how = dict(zip(SCORING, values, strict=True))
        more = {"resample": 0.7, "left_out": "skip", "n_runs": 6}
        yield f"scoring {values}", fitted(IRIS, IRIS[::9], n_clusters=3, **how, **more)
    yield "auto", fitted(MOONS, MOONS[:9], n_clusters=2, n_runs="auto", geometry="kernel")
    yield "bootstrap", fitted(IRIS, IRIS[:9], n_clusters=3, resample="bootstrap", n_runs=5)
    many = {"clusterer": ["kmeans", "gmm"], "vary": {"n_clusters": [2, 3, 4]}}
    yield "vary", fitted(IRIS, IRIS[:9], **many, n_runs=6)
    yield "sparse", fitted(sparse.csr_array(IRIS), sparse.csr_array(IRIS[:9]), n_clusters=3)
    runs = np.random.default_rng(0).integers(-1, 3, size=(150, 4))
    for geometry in GEOMETRIES:
        yield f"silhouettes {geometry}", {"s": silhouettes(IRIS, runs, geometry=geometry)}
        record = confidence(IRIS, runs, geometry=geometry)
        yield f"confidence {geometry}", {name: getattr(record, name) for name in FIELDS}
    with tempfile.TemporaryDirectory() as folder:
        mapped = np.lib.format.open_memmap(Path(folder, "x.npy"), "w+", np.float64, (400_000, 4))
        mapped[:] = np.random.default_rng(0).normal(size=mapped.shape)
        cake = CAKE(3, n_runs=3, random_state=0).fit(Path(folder, "x.npy"))
        names = ("scores", "stability", "geometry", "labels")
        yield "blocks", {name: np.array(getattr(cake, f"{name}_")) for name in names}
    null = null_reference(IRIS, CAKE(3, n_runs=4, random_state=0), n_surrogates=19)
    yield "null", {**null.means, "scores": null.confidence.scores}
    profile = choose_k(IRIS, range(2, 5), CAKE(n_runs=4, random_state=0))
    yield "profile", {"table": profile.to_frame().to_numpy(), "best": profile.best}


def arrays() -> dict[str, np.ndarray]:
    """Every result under its name; persistence is there for one fusion only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            f"{case}/{name}": np.asarray(value)
            for case, found in cases()
            for name, value in found.items()
            if value is not None
        }


def main() -> None:
    """Save, or compare and exit with 1 where a number moved."""
    what, path = sys.argv[1:]
    found = arrays()
    if what == "save":
        np.savez_compressed(path, **found)
        print(f"{len(found)} arrays saved")
        return
    with np.load(path) as before:
        both = sorted(set(found) & set(before.files))
        moved = [
            name
            for name in both
            if not np.array_equal(
                found[name], before[name], equal_nan=found[name].dtype.kind == "f"
            )
        ]
        missing = sorted(set(found) ^ set(before.files))
    print(f"{len(both)} arrays compared, {len(moved)} moved, {len(missing)} on one side only")
    for name in [*moved, *missing]:
        print(f"  {name}")
    sys.exit(bool(moved or missing))


if __name__ == "__main__":
    main()
