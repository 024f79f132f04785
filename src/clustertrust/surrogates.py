"""Surrogates: data like the given ones without clusters, drawn and scored as the data are.

References
----------
R. Tibshirani, G. Walther and T. Hastie, "Estimating the number of clusters in a data set via the gap statistic",
Journal of the Royal Statistical Society B 63 (2001): a box along the principal axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from clustertrust._parallel import count_threads, stop
from clustertrust._progress import progress
from clustertrust._validation import MOST, check_choice, check_count, check_matrix
from clustertrust.ensemble import Ensemble, assemble
from clustertrust.estimator import CAKE
from clustertrust.geometry import Options, check_options, is_precomputed
from clustertrust.persistence import check_coordinates
from clustertrust.recipe import ON_FAILURE, Recipe, draw_seeds, run_all
from clustertrust.results import Confidence, frame_of
from clustertrust.scoring import Scoring, score_ensemble

__all__ = [
    "FAMILIES",
    "VERDICT",
    "Plan",
    "Surrogate",
    "check_families",
    "cluster_means",
    "draw_entropy",
    "draw_sample",
    "far_out",
    "mean_score",
    "score_surrogates",
]

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator], NDArray]
ROUNDS, NEAR = 8, 1e-3  # corrections of the sides of a box, and how near its spread must come to that of the data
FEWEST, NEIGHBOURS, FAR = 20, 7, 2.0  # points that are far out: least size of a data set, neighbours, radii
_SAMPLE = 0  # first number of the spawn key of the sample; those of families follow. Runs have keys of length one.


# Data → a function that draws as many points without clusters


class _Axes(NamedTuple):
    """Mean (d,), principal axes (rank, d), and the data along each (n, rank), centred."""

    mean: Floats
    axes: Floats
    along: Floats


def _principal_axes(X: Floats) -> _Axes:
    """Axes along which the data have no spread are left out."""
    mean = X.mean(axis=0)
    along, size, axes = np.linalg.svd(X - mean, full_matrices=False)
    rank = int((size > size.max(initial=0.0) * max(X.shape) * np.finfo(np.float64).eps).sum())
    return _Axes(mean, axes[:rank], along[:, :rank] * size[:rank])


def box(X: Floats) -> Draw:
    """Uniform in a box, with the mean of the data and their spread along the principal axes.

    The principal axes of a sample lie askew in its box, so that ranges along them are not its sides: the short ones
    come out too long, and a box with these sides is less elongated than the data's own, and scores lower. So each
    surrogate is measured as the data were, along its own principal axes, and has the sides for which it shows the same
    standard deviations. Uniform data are made alike: from a uniform U, and the sides for which U shows theirs.
    """
    at = _principal_axes(X)
    size = np.linalg.norm(at.along, axis=0)

    def draw(rng: np.random.Generator) -> Floats:
        return np.asarray(at.mean + _with_sizes(rng.uniform(size=at.along.shape), size) @ at.axes)

    return draw


def _with_sizes(U: Floats, size: Floats) -> Floats:
    """U·sides, centred, along its own principal axes, with sides for which its singular values are as given.

    The sides are corrected by the ratio of the values until that is 1. Where values are nearly equal there may be no
    sides that fit, since the axes turn with them; the nearest that were found are taken then.
    """
    U = U - U.mean(axis=0)
    R = np.linalg.qr(U, mode="r")  # it has the singular values and axes of U, and d rows instead of n
    sides, best, nearest = size / np.linalg.norm(U, axis=0), U, np.inf
    for step in range(ROUNDS):
        found, axes = np.linalg.svd(R * sides, full_matrices=False)[1:]
        ratio = size / found
        off = float(np.linalg.norm(found - size) / np.linalg.norm(size))
        if off < nearest:
            best, nearest = (U * sides) @ axes.T, off
        if off < NEAR:
            break
        sides = -np.sort(-sides * (ratio if step < ROUNDS // 2 else np.sqrt(ratio)))  # as the axes are sorted
    return best


def gaussian(X: Floats) -> Draw:
    """One Gaussian, with exactly the mean and the covariance of the data.

    X - mean = P S Vᵀ, P (n, rank) orthonormal. Where X is Gaussian, P is uniform among such matrices with columns of
    mean 0, whatever S and V are. A surrogate has a P of its own, and S and V of the data: which of them are the data
    is then chance alone, and the p-value is exact.
    """
    at = _principal_axes(X)
    size = np.linalg.norm(at.along, axis=0)

    def draw(rng: np.random.Generator) -> Floats:
        Z = rng.standard_normal(at.along.shape)
        P, R = np.linalg.qr(Z - Z.mean(axis=0))
        return np.asarray(at.mean + (P * np.sign(np.diag(R)) * size) @ at.axes)

    return draw


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


def far_out(X: NDArray) -> Ints:
    """Positions of points that have fewer than seven others near: beyond the usual gap by two radii of the cloud.

    The gap is the distance to the seventh neighbour, its usual size the median, and the radius the median distance from
    the column-wise median. A group of eight points or more is not far out, however far it lies: it may be a cluster.
    """
    if len(X) < FEWEST:
        return np.zeros(0, dtype=np.int64)
    X = np.asarray(X, dtype=np.float64)
    gap = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(X).kneighbors()[0][:, -1]
    radius = np.median(np.linalg.norm(X - np.median(X, axis=0), axis=1))
    return np.flatnonzero(gap > np.median(gap) + FAR * radius)


def draw_entropy(random_state: Any) -> int:
    """The number that all seeds come from; a list of seeds has none for surrogates."""
    if isinstance(random_state, Sequence | np.ndarray):
        raise ValueError(f"random_state={random_state!r} must be a number or None: surrogates need seeds of their own.")
    entropy, _ = draw_seeds(random_state, 1)
    assert entropy is not None
    return entropy


# Scoring: the data's settings, for the data and for surrogates alike


@dataclass(frozen=True)
class Plan:
    """How an ensemble is made and scored: a checked `CAKE`."""

    recipe: Recipe
    n_runs: int
    on_failure: str
    geometry: str
    options: Options
    scoring: Scoring

    @classmethod
    def of(cls, cake: CAKE, n_points: int) -> Plan:
        """Check the settings of an estimator."""
        options, scoring = Options.of(cake), Scoring.of(cake)
        check_options(cake.geometry, options)
        if is_precomputed(cake.geometry, options):
            raise ValueError("A precomputed matrix will not do here: give the points, and another metric or kernel.")
        if scoring.refines:  # told before a fit, not after all of them
            check_coordinates(cake.geometry, cake.metric, None)
        check_choice("on_failure", cake.on_failure, ON_FAILURE)
        recipe = Recipe.of(cake.clusterer, cake.n_clusters, cake.vary, cake.resample, cake.left_out, n_points)
        n_runs = check_count("n_runs", cake.n_runs, at_least=2, at_most=MOST)
        return cls(recipe, n_runs, cake.on_failure, cake.geometry, options, scoring)

    def build(self, X: Any, seeds: Sequence[int], *, n_jobs: int | None, verbose: bool = False) -> Ensemble:
        """Cluster X once a seed."""
        runs = run_all(X, self.recipe, list(enumerate(seeds)), self.on_failure, n_jobs, verbose, None)
        if len(runs) < 2:
            raise ValueError(f"Only {len(runs)} of {len(seeds)} runs succeeded; at least 2 are needed.")
        return assemble(runs)

    def alone(self) -> Plan:
        """The same on one thread, for surrogates that are worked on side by side."""
        return replace(self, options=replace(self.options, n_jobs=1))

    def score(self, X: Any, ensemble: Ensemble, frame: Any = None, *, quiet: bool = False) -> Confidence:
        """Score an ensemble; its clusters are called 0, 1, …, as by `CAKE`."""
        scored = score_ensemble(X, ensemble, self.geometry, self.options, self.scoring, frame, quiet=quiet)[1]
        return replace(scored, label_names=np.arange(len(scored.label_names)))


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


def _work(
    draw: Draw, like: NDArray, plans: Sequence[Plan], entropy: int, key: tuple[int, int]
) -> list[Surrogate] | Exception:
    """One surrogate, scored under each plan, or its failure. All that is random in it follows from its own key."""
    try:
        return _score_one(draw, like, plans, entropy, key)
    except Exception as error:  # raised where results come in order, so that it is the same from call to call
        return error


def _score_one(draw: Draw, like: NDArray, plans: Sequence[Plan], entropy: int, key: tuple[int, int]) -> list[Surrogate]:
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))
    X = draw(rng).astype(like.dtype, copy=False)
    seeds = [int(seed) for seed in rng.integers(2**32, size=max(plan.n_runs for plan in plans))]
    kept = []
    for plan in plans:
        scored = plan.score(X, plan.build(X, seeds[: plan.n_runs], n_jobs=1), quiet=True)
        largest = cluster_means(scored.scores, scored.labels)
        known = largest[~np.isnan(largest)]
        kept.append(Surrogate(mean_score(scored.scores), float(known.max(initial=0.0)), scored.scores))
    return kept


def score_surrogates(
    X: NDArray,
    plans: Sequence[Plan],
    families: Sequence[str],
    n_surrogates: int,
    entropy: int,
    *,
    n_jobs: int | None,
    verbose: bool,
) -> dict[str, list[list[Surrogate]]]:
    """For each family, surrogate and plan what `Surrogate` keeps. The same surrogate serves all plans.

    Surrogate b of a family depends on the data, the entropy, the family and b alone, so that more surrogates begin
    with the same ones.
    """
    plans = [plan.alone() for plan in plans]
    draws = {name: FAMILIES[name](np.asarray(X, dtype=np.float64)) for name in families}
    first = {name: at for at, name in enumerate(FAMILIES, _SAMPLE + 1)}
    jobs = [(name, b) for name in families for b in range(n_surrogates)]
    work = joblib.delayed(_work)
    parallel = joblib.Parallel(n_jobs=count_threads(n_jobs), prefer="threads", return_as="generator")
    results = parallel(work(draws[name], X, plans, entropy, (first[name], b)) for name, b in jobs)
    done: list[list[Surrogate]] = []
    for result in progress(results, len(jobs), "surrogates", verbose=verbose):
        if isinstance(result, Exception):
            stop(results)
            raise result
        done.append(result)
    return {name: done[at * n_surrogates : (at + 1) * n_surrogates] for at, name in enumerate(families)}
