"""Surrogates: data like the given ones, but without clusters, drawn and scored as the data are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import joblib
import numpy as np

from clustertrust._caught import collected_warnings
from clustertrust._parallel import count_threads, stop
from clustertrust._progress import progress
from clustertrust._types import Array, Floats, Ints, Result
from clustertrust.ensemble import assemble
from clustertrust.ensemble.fitting import Run
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.running import check_enough, run_all
from clustertrust.ensemble.warn import warn_of_runs
from clustertrust.scoring.model import Model, build_model
from clustertrust.scoring.settings import Settings
from clustertrust.surrogates.families import FAMILIES, Draw

# A surrogate, and the random numbers that follow
Made = tuple[Array, np.random.Generator]
# First number of the spawn key of the sample; those of families follow. Runs have keys of length 1.
SAMPLE = 0


def build_seeded(X: Any, settings: Settings, seeds: Sequence[int], *, quiet: bool = False) -> Model:
    """Cluster X once per seed, and return the model; `quiet` leaves out warnings."""
    runs = run_all(X, settings.recipe, list(enumerate(seeds)))
    return _model_of(X, settings, runs, len(seeds), quiet=quiet)


def build_each(X: Any, plans: Sequence[Settings], seeds: Sequence[int]) -> Iterator[Model]:
    """Yield the model of each of the settings, with the same seeds.

    They differ in the number of clusters alone. If all runs are of k-means, they are made together,
    and share what is prepared of the data.
    """
    R, first = len(seeds), plans[0].recipe
    methods = tuple(plan.recipe.method(r) for plan in plans for r in range(R))
    together, all_seeds = replace(first, methods=methods), [*seeds] * len(plans)
    if not together.is_plain_kmeans(X, all_seeds):
        yield from (build_seeded(X, plan, seeds) for plan in plans)
        return
    runs = run_all(X, together, list(enumerate(all_seeds)))
    for i, plan in enumerate(plans):
        yield _model_of(X, plan, runs[i * R : (i + 1) * R], R)


def _model_of(
    X: Any, settings: Settings, runs: list[Run], asked: int, *, quiet: bool = False
) -> Model:
    check_enough(runs, asked)
    if not quiet:
        warn_of_runs(settings.recipe, runs)
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
        """Return work(X, rng) of each surrogate, by family; see `map_parts`."""
        return self.map_parts(
            lambda made: [work(X, rng) for X, rng in made], recipe, first_key, size=1
        )

    def map_parts(
        self,
        work: Callable[[Sequence[Made]], list[Result]],
        recipe: Recipe,
        first_key: int,
        *,
        size: int,
    ) -> dict[str, list[Result]]:
        """Return work(surrogates) by family, up to `size` at a time, on the threads of the recipe.

        The result of a surrogate may not depend on the others. `first_key` is the first number of
        the keys of the first family. Of several failures the first in order is raised, so that it
        is the same in each call.
        """
        keys = {name: key for key, name in enumerate(FAMILIES, first_key)}
        jobs = [(name, b) for name in self.draws for b in range(self.n_surrogates)]
        threads = count_threads(recipe.n_jobs)
        size = max(1, min(size, -(-len(jobs) // threads)))
        parts = [jobs[low : low + size] for low in range(0, len(jobs), size)]

        def attempt(part: list[tuple[str, int]]) -> list[Result] | Exception:
            # Warnings would be about data that nobody has seen.
            with collected_warnings:
                try:
                    made = []
                    for name, b in part:
                        rng = seeded(self.entropy, keys[name], b)
                        made.append((self.draws[name](rng).astype(self.X.dtype, copy=False), rng))
                    return work(made)
                except Exception as error:
                    return error

        parallel = joblib.Parallel(n_jobs=threads, prefer="threads", return_as="generator")
        results = parallel(joblib.delayed(attempt)(part) for part in parts)
        by_family: dict[str, list[Result]] = {name: [] for name in self.draws}
        bar = progress(
            results,
            len(jobs),
            "surrogates",
            verbose=recipe.verbose,
            size=lambda done: 1 if isinstance(done, Exception) else len(done),
        )
        for part, found in zip(parts, bar, strict=True):
            if isinstance(found, Exception):
                stop(results)
                raise found
            for (name, _), result in zip(part, found, strict=True):
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

    return surrogates.map(score, plans[0].recipe, SAMPLE + 1)


def _score_one(X: Array, plan: Settings, seeds: Sequence[int]) -> Surrogate:
    model = build_seeded(X, plan, seeds, quiet=True)
    scores, labels, *_ = model.training_scores(X, model.silhouettes()[0])
    means = mean_by_cluster(scores, labels)
    return Surrogate(mean_score(scores), float(np.nanmax(means, initial=0.0)), scores)
