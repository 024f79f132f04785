"""Ensembles of the paper: which clusterer, which seeds, scored once and kept in memory for the next experiment."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from clustertrust import Ensemble, build_ensemble, confidence
from clustertrust._parallel import one_thread
from clustertrust.ensemble.kmedoids import KMedoids
from clustertrust.fusion import harmonic
from clustertrust.results import Confidence
from experiments.paper import authors
from experiments.paper.protocols import Protocol

# All with one start a run, and scikit-learn's settings for the rest.
METHODS: dict[str, Any] = {
    "kmeans": KMeans(n_init=1),
    "kmeans-random": KMeans(init="random", n_init=1),
    "minibatch": MiniBatchKMeans(n_init=1),
    "minibatch-random": MiniBatchKMeans(init="random", n_init=1),
    "gmm-diag": GaussianMixture(covariance_type="diag"),
    "gmm-full": GaussianMixture(),
    "kmedoids": KMedoids(),
    "kmedoids-sampled": authors.KMedoids(),
}


class TooCostly(Exception):  # noqa: N818
    """Many hours on two cores; the text has the measured cost of a part."""


def check_cost(X: NDArray, method: str, k: int) -> None:
    """Refuse mixtures of many points in hundreds of dimensions, with the time of the first steps of one fit."""
    if not method.startswith("gmm") or X.size < 2e7:
        return
    steps = {"gmm-full": 1, "gmm-diag": 10}[method]
    began = time.perf_counter()
    with hushed():
        clone(METHODS[method]).set_params(n_components=k, max_iter=steps, random_state=0).fit(
            X.astype("float64")
        )
    raise TooCostly(
        f"{len(X)} points in {X.shape[1]} dimensions ({method}); the first {steps} of up to 100 steps of one of some "
        f"100 fits took {time.perf_counter() - began:.0f} s"
    )


@contextmanager
def hushed() -> Iterator[None]:
    """Without the warnings of fits that end at max_iter or with fewer clusters: the authors' runs had them too."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        yield


def build(X: NDArray, method: str, k: int, seeds: Sequence[int]) -> Ensemble:
    """One run a seed."""
    check_cost(X, method, k)
    with hushed():
        return build_ensemble(
            X, METHODS[method], n_clusters=k, n_runs=len(seeds), random_state=list(seeds)
        )


@lru_cache(maxsize=3)
def scored(
    name: str,
    method: str,
    seeds: Sequence[int],
    protocol: Protocol,
    *,
    geometry: str = "exact",
    dtype: str | None = None,
) -> Confidence:
    """Harmonic scores of an ensemble on a whole set; `centroid` takes the fitted centres.

    Under `printed` stability, consensus and labels are those of the authors' code.
    """
    case = protocol.load(name, dtype)
    ensemble = build(case.X, method, case.k, seeds)
    with hushed():
        found = confidence(case.X, ensemble, geometry=geometry)
    return under(protocol, found)


def under(protocol: Protocol, found: Confidence) -> Confidence:
    """Put the authors' stability, consensus and harmonic scores in the place of the library's under `printed`."""
    if protocol.name == "fair":
        return found
    labels = found.ensemble.labels
    c, chosen = authors.stability(labels), authors.consensus(labels)
    return replace(
        found,
        stability=c,
        scores=harmonic(c, found.geometry),
        labels=chosen.labels,  # in the medoid run's own numbering
        consensus_strength=chosen.strength,
    )


def subsampled(
    X: NDArray, method: str, k: int, *, size: int, seed: int, n_runs: int = 20
) -> Ensemble:
    """Runs on subsamples, drawn in the authors' order: one legacy generator gives points, then a seed, in turn."""
    check_cost(X, method, k)
    stream = np.random.RandomState(seed)
    drawn = [
        (stream.choice(len(X), size, replace=False), stream.randint(10**9)) for _ in range(n_runs)
    ]

    def fit(points: NDArray, seed: int) -> NDArray:
        model = clone(METHODS[method]).set_params(random_state=seed)
        model.set_params(**{"n_components" if hasattr(model, "n_components") else "n_clusters": k})
        with one_thread():
            return model.fit_predict(X[points])

    labels = np.full((len(X), n_runs), -1)
    with hushed():
        found = joblib.Parallel(n_jobs=-1, prefer="threads")(
            joblib.delayed(fit)(*one) for one in drawn
        )
    for r, (points, _) in enumerate(drawn):
        labels[points, r] = found[r]
    return Ensemble.from_labels(labels)
