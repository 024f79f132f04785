"""Surrogates: data like the given ones without clusters, drawn and scored as the data are.

References
----------
R. Tibshirani, G. Walther and T. Hastie, "Estimating the number of clusters in a data set via the gap statistic",
Journal of the Royal Statistical Society B 63 (2001): the box along the principal axes.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clustertrust._parallel import count_threads
from clustertrust._progress import progress
from clustertrust._validation import check_choice, check_count, check_matrix
from clustertrust.ensemble import Ensemble, assemble
from clustertrust.ensemble.building import check_enough
from clustertrust.ensemble.recipe import draw_seeds, run_all
from clustertrust.estimator import CAKE
from clustertrust.results import frame_of
from clustertrust.scoring.model import build_model
from clustertrust.scoring.settings import Settings

__all__ = [
    "FAMILIES",
    "VERDICT",
    "Surrogate",
    "build_seeded",
    "check_families",
    "check_template",
    "cluster_means",
    "draw_entropy",
    "draw_sample",
    "mean_score",
    "score_surrogates",
]

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator], NDArray]
_SAMPLE = 0  # first number of the spawn key of the sample; those of families follow. Runs have keys of length one.


# Data → a function that draws as many points without clusters


class _Axes(NamedTuple):
    """Mean, principal axes (rank, d), and standard deviation and range of the data along each."""

    mean: Floats
    axes: Floats
    std: Floats
    low: Floats
    high: Floats


def _principal_axes(X: Floats) -> _Axes:
    """Axes along which the data have no spread are left out."""
    mean = X.mean(axis=0)
    along, size, axes = np.linalg.svd(X - mean, full_matrices=False)
    rank = int((size > size.max(initial=0.0) * max(X.shape) * np.finfo(np.float64).eps).sum())
    along = along[:, :rank] * size[:rank]
    return _Axes(mean, axes[:rank], size[:rank] / np.sqrt(len(X) - 1), along.min(axis=0), along.max(axis=0))


def box(X: Floats) -> Draw:
    """Uniform in the box that the data fill along their principal axes."""
    at = _principal_axes(X)
    return lambda rng: at.mean + rng.uniform(at.low, at.high, (len(X), len(at.axes))) @ at.axes


def gaussian(X: Floats) -> Draw:
    """One Gaussian with the mean and covariance of the data."""
    at = _principal_axes(X)
    return lambda rng: at.mean + (rng.standard_normal((len(X), len(at.axes))) * at.std) @ at.axes


def permuted(X: Floats) -> Draw:
    """Each column shuffled on its own: the marginals stay, and with them any clusters that they show."""
    return lambda rng: rng.permuted(X, axis=0)


FAMILIES: dict[str, Callable[[Floats], Draw]] = {"box": box, "gaussian": gaussian, "permuted": permuted}
VERDICT = ("box", "gaussian")  # permuted columns test dependence, which is another question


def check_families(argument: str, families: Any) -> tuple[str, ...]:
    """Return the names, each once, one of the verdict's at least."""
    if isinstance(families, str) or not isinstance(families, Iterable):
        raise TypeError(f"{argument}={families!r} must be a sequence of names, such as {VERDICT}.")
    given = tuple(families)
    for name in given:
        check_choice(argument, name, FAMILIES)
    if not set(given) & set(VERDICT):
        raise ValueError(f"{argument}={families!r} leaves the verdict to nothing; add one of {list(VERDICT)}, or both.")
    return tuple(dict.fromkeys(given))


# What surrogates are drawn from


def draw_sample(X: Any, max_points: int | None, entropy: int) -> tuple[NDArray, Any, Ints]:
    """Check X, draw the sample, and return it with what its table shall look like, and the positions of its points."""
    frame = frame_of(X)
    X = check_matrix(X)
    if sparse.issparse(X):
        raise ValueError("X is sparse, and surrogates are dense; reduce it first (sklearn.decomposition.TruncatedSVD).")
    if not np.ptp(X, axis=0).any():
        raise ValueError("X has no spread: all its rows are equal, so that there is nothing to compare with.")
    n = len(X)
    points = np.arange(n)
    if max_points is not None and n > check_count("max_points", max_points, at_least=2):
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_SAMPLE, 0)))
        points = np.sort(rng.choice(n, max_points, replace=False))
    if len(points) < n and isinstance(frame, pd.DataFrame):
        frame = frame.iloc[points]
    return X[points] if len(points) < n else X, frame, points


def draw_entropy(random_state: Any) -> int:
    """The number that all seeds come from; a list of seeds has none for surrogates."""
    if isinstance(random_state, Sequence | np.ndarray):
        raise ValueError(f"random_state={random_state!r} must be a number or None: surrogates need seeds of their own.")
    entropy, _ = draw_seeds(random_state, 1)
    assert entropy is not None
    return entropy


# Scoring: the data's settings, for the data and for surrogates alike


def check_template(cake: Any) -> CAKE:
    """Return the estimator whose settings are used, from an estimator or a number of clusters."""
    if cake is None or isinstance(cake, numbers.Integral):
        cake = CAKE(cake if cake is None else int(cake))
    if not isinstance(cake, CAKE):
        raise TypeError(f"cake={cake!r} must be a number of clusters or a CAKE, such as CAKE(3, clusterer='gmm').")
    if isinstance(cake.n_runs, str):
        raise ValueError(f"n_runs={cake.n_runs!r}: surrogates need a number of runs; give one, such as 20.")
    if cake.checkpoint is not None:
        raise ValueError("checkpoint keeps the runs of one fit, and here many data sets are fitted; leave it out.")
    return cake


def build_seeded(X: Any, settings: Settings, seeds: Sequence[int]) -> Ensemble:
    """Cluster X once a seed; what the runs have to say is left to the caller."""
    runs = run_all(X, settings.recipe, list(enumerate(seeds)))
    check_enough(runs, len(seeds))
    return assemble(runs)


def mean_score(scores: Floats) -> float:
    """Mean over the points that have a score; 0 where none has."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if known.size else 0.0


def cluster_means(scores: Floats, labels: Ints) -> Floats:
    """Mean score of the members of each cluster 0, 1, …; NaN where there are none."""
    known = (labels >= 0) & ~np.isnan(scores)
    size = np.bincount(labels[known], minlength=labels.max(initial=-1) + 1)
    total = np.bincount(labels[known], scores[known], minlength=len(size))
    return np.divide(total, size, out=np.full(len(size), np.nan), where=size > 0)


class Surrogate(NamedTuple):
    """What is kept of a scored surrogate: its mean score, the largest mean of a cluster, and all scores."""

    mean: float
    largest: float
    scores: Floats


def _work(draw: Draw, like: NDArray, plans: Sequence[Settings], entropy: int, key: tuple[int, int]) -> list[Surrogate]:
    """One surrogate, scored under each of the settings. All that is random in it follows from its own key."""
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))
    X = draw(rng).astype(like.dtype, copy=False)
    seeds = [int(seed) for seed in rng.integers(2**32, size=max(plan.recipe.count() for plan in plans))]
    kept = []
    for plan in plans:
        ensemble = build_seeded(X, plan, seeds[: plan.recipe.count()])
        scored = build_model(X, ensemble, plan.scoring, quiet=True).judge_training(X, quiet=True)
        largest = cluster_means(scored["scores"], scored["labels"])
        known = largest[~np.isnan(largest)]
        kept.append(Surrogate(mean_score(scored["scores"]), float(known.max(initial=0.0)), scored["scores"]))
    return kept


def score_surrogates(
    X: NDArray, plans: Sequence[Settings], families: Sequence[str], n_surrogates: int, entropy: int
) -> dict[str, list[list[Surrogate]]]:
    """For each family, surrogate and settings what `Surrogate` keeps. The same surrogate serves all settings.

    Surrogate b of a family depends on the data, the entropy, the family and b alone, so that more surrogates begin
    with the same ones.
    """
    recipe = plans[0].recipe
    plans = [plan.alone() for plan in plans]
    draws = {name: FAMILIES[name](np.asarray(X, dtype=np.float64)) for name in families}
    first = {name: at for at, name in enumerate(FAMILIES, _SAMPLE + 1)}
    jobs = [(name, b) for name in families for b in range(n_surrogates)]
    work = joblib.delayed(_work)
    parallel = joblib.Parallel(n_jobs=count_threads(recipe.n_jobs), prefer="threads", return_as="generator")
    results = parallel(work(draws[name], X, plans, entropy, (first[name], b)) for name, b in jobs)
    done = list(progress(results, len(jobs), "surrogates", verbose=recipe.verbose))
    return {name: done[at * n_surrogates : (at + 1) * n_surrogates] for at, name in enumerate(families)}
