"""Surrogates: data like the given ones, but without clusters, drawn and scored as the data are."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from clustertrust._devices import to_host
from clustertrust._errors import InputError, ParameterError
from clustertrust._parallel import count_threads, stop
from clustertrust._progress import progress
from clustertrust._types import Array, Floats, Ints, Result
from clustertrust._validation import check_count
from clustertrust.distances.metrics import as_metric
from clustertrust.distances.precomputed import among
from clustertrust.ensemble import assemble
from clustertrust.ensemble.building import check_enough
from clustertrust.ensemble.recipe import Recipe, draw_seeds, run_all
from clustertrust.ensemble.runs import as_runs
from clustertrust.estimator import CAKE
from clustertrust.null.families import FAMILIES, Draw
from clustertrust.results import frame_of
from clustertrust.scoring.model import Model, build_model
from clustertrust.scoring.settings import Settings

# For points far out: smallest data set, neighbors, radii
FEWEST, NEIGHBORS, FAR = 20, 7, 2.0
# First number of the spawn key of the sample; those of families follow. Runs have keys of length 1.
_SAMPLE = 0


# What surrogates are drawn from


def check_has_coordinates(cake: CAKE, remedy: str) -> None:
    """Raise if the metric of a template leaves no points to draw surrogates from."""
    if as_metric(cake.metric).is_coordinate_free:
        raise InputError(
            "Surrogates are points without clusters, and there are no points with coordinates "
            f"where {{metric=}}; {remedy}.",
            metric=cake.metric,
        )


def draw_sample(
    X: Any, max_points: int | None, entropy: int, cake: CAKE
) -> tuple[Array, Any, Ints]:
    """Check X and draw the sample; return it, the frame for its table, and its positions."""
    frame = frame_of(X)
    recipe = Settings.from_estimator(cake).recipe
    recipe.check_place(X)
    X = recipe.check_points(to_host(X))
    if sparse.issparse(X):
        raise ValueError(
            "X is sparse, and surrogates are dense; reduce it first "
            "(sklearn.decomposition.TruncatedSVD)."
        )
    if not np.ptp(X, axis=0).any():
        raise ValueError(
            "X has no spread: all its rows are equal, so there is nothing to compare with."
        )
    n = len(X)
    points = np.arange(n)
    if max_points is not None and n > check_count("max_points", max_points, at_least=2):
        rng = seeded(entropy, _SAMPLE, 0)
        points = np.sort(rng.choice(n, max_points, replace=False))
    if len(points) < n and isinstance(frame, pd.DataFrame):
        frame = frame.iloc[points]
    if recipe.is_precomputed:
        return among(X, points if len(points) < n else None), frame, points
    return X[points] if len(points) < n else X, frame, points


def far_out(X: Array) -> Ints:
    """Return positions of points whose seventh neighbour is unusually far.

    Unusual is more than the median of such distances plus two radii of the cloud; the radius is the
    median distance from the column-wise median. A group of eight points or more is never far out:
    it may be a cluster.
    """
    if len(X) < FEWEST:
        return np.zeros(0, dtype=np.int64)
    X = np.asarray(X, dtype=np.float64)
    gap = NearestNeighbors(n_neighbors=NEIGHBORS).fit(X).kneighbors()[0][:, -1]
    radius = np.median(np.linalg.norm(X - np.median(X, axis=0), axis=1))
    return np.flatnonzero(gap > np.median(gap) + FAR * radius)


def draw_entropy(random_state: Any) -> int:
    """Return the number behind all seeds; raise for a list, which has no seeds for surrogates."""
    if isinstance(random_state, Sequence | np.ndarray):
        raise ValueError(
            f"random_state={random_state!r} must be a number or None: surrogates need seeds of "
            "their own."
        )
    entropy, _ = draw_seeds(random_state, 1)
    assert entropy is not None
    return entropy


# Scoring: the data's settings, for the data and for surrogates alike


def check_template(cake: Any) -> CAKE:
    """Return the estimator whose settings are used, from an estimator or a number of clusters."""
    if cake is None or isinstance(cake, numbers.Integral):
        cake = CAKE(cake if cake is None else int(cake))
    if not isinstance(cake, CAKE):
        raise TypeError(
            f"cake={cake!r} must be a number of clusters or a CAKE, such as CAKE(3, "
            "clusterer='gmm')."
        )
    runs = as_runs(cake.n_runs)
    if isinstance(runs.n_runs, str):
        raise ParameterError(
            "n_runs", runs.n_runs, "does not suit surrogates", "give a number, such as 20"
        )
    if runs.checkpoint is not None:
        raise ParameterError(
            "checkpoint",
            runs.checkpoint,
            "keeps the runs of one fit, but here many data sets are fitted",
            "leave it out",
        )
    return cake


def build_seeded(X: Any, settings: Settings, seeds: Sequence[int], *, quiet: bool = False) -> Model:
    """Cluster X once per seed, and return the model; `quiet` leaves out warnings."""
    runs = run_all(X, settings.recipe, list(enumerate(seeds)))
    check_enough(runs, len(seeds))
    if not quiet:
        settings.recipe.warn_of(runs)
    return build_model(X, assemble(runs), settings.scoring, quiet=quiet)


def mean_score(scores: Floats) -> float:
    """Return the mean over the points that have a score; 0 if none has."""
    scored = scores[~np.isnan(scores)]
    return float(scored.mean()) if scored.size else 0.0


def mean_by_cluster(scores: Floats, labels: Ints) -> Floats:
    """Return the mean score of each cluster 0, 1, …; NaN for one without members."""
    counted = (labels >= 0) & ~np.isnan(scores)
    size = np.bincount(labels[counted], minlength=labels.max(initial=-1) + 1)
    total = np.bincount(labels[counted], scores[counted], minlength=len(size))
    return np.asarray(np.divide(total, size, out=np.full(len(size), np.nan), where=size > 0))


class Surrogate(NamedTuple):
    """The scores of a surrogate: their mean, the largest cluster mean, and all of them."""

    mean: float
    largest: float
    scores: Floats


def seeded(entropy: int, *key: int) -> np.random.Generator:
    """Return the random numbers of one job, which depend on its key alone."""
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))


@dataclass(frozen=True)
class Surrogates:
    """Data like X, without clusters.

    Surrogate b of a family depends only on the data, the entropy, the family and b, so more
    surrogates start with the same ones.

    Attributes
    ----------
    X : (n, d) the data
    draws : by family, what draws one
    n_surrogates : of each family
    entropy : the number behind all seeds
    """

    X: Array
    draws: Mapping[str, Draw]
    n_surrogates: int
    entropy: int

    def map(
        self, work: Callable[[Array, np.random.Generator], Result], recipe: Recipe, first_key: int
    ) -> dict[str, list[Result]]:
        """Return work(X, rng) of each surrogate, by family, on the threads of the recipe.

        `first_key` is the first number of the keys of the first family. Of several failures the
        first in order is raised, so that it is the same in each call.
        """
        keys = {name: key for key, name in enumerate(FAMILIES, first_key)}
        jobs = [(name, b) for name in self.draws for b in range(self.n_surrogates)]

        def attempt(name: str, b: int) -> Result | Exception:
            try:
                rng = seeded(self.entropy, keys[name], b)
                return work(self.draws[name](rng).astype(self.X.dtype, copy=False), rng)
            except Exception as error:
                return error

        parallel = joblib.Parallel(
            n_jobs=count_threads(recipe.n_jobs), prefer="threads", return_as="generator"
        )
        results = parallel(joblib.delayed(attempt)(*job) for job in jobs)
        by_family: dict[str, list[Result]] = {name: [] for name in self.draws}
        bar = progress(results, len(jobs), "surrogates", verbose=recipe.verbose)
        for (name, _), result in zip(jobs, bar, strict=True):
            if isinstance(result, Exception):
                stop(results)
                raise result
            by_family[name].append(result)
        return by_family


def score_surrogates(
    surrogates: Surrogates, plans: Sequence[Settings]
) -> dict[str, list[list[Surrogate]]]:
    """Score the surrogates of each family with each of the settings.

    The same surrogate serves all settings.
    """
    alone = [plan.alone() for plan in plans]
    most = max(plan.recipe.count() for plan in alone)

    def score(X: Array, rng: np.random.Generator) -> list[Surrogate]:
        seeds = rng.integers(2**32, size=most).tolist()
        return [_score_one(X, plan, seeds[: plan.recipe.count()]) for plan in alone]

    return surrogates.map(score, plans[0].recipe, _SAMPLE + 1)


def _score_one(X: Array, plan: Settings, seeds: Sequence[int]) -> Surrogate:
    fields = build_seeded(X, plan, seeds, quiet=True).training_fields(X, quiet=True)
    scores = fields["scores"]
    means = mean_by_cluster(scores, fields["labels"])
    return Surrogate(mean_score(scores), float(np.nanmax(means, initial=0.0)), scores)
