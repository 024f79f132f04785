"""The data at each k beside surrogates without clusters: does any k stand out from one cloud?

Two efforts. "full" scores every surrogate as the data are: all runs, all points. "quick" clusters a
part of the data, and as many points of each surrogate, once for each k, and compares mean
silhouettes; those of all k come from one pass over the distances. Of many k, four are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import joblib
import numpy as np

from clustertrust._parallel import count_threads, one_blas_thread, stop
from clustertrust._progress import progress
from clustertrust._types import Array, Floats, Ints
from clustertrust.cells import meet
from clustertrust.ensemble import assemble
from clustertrust.ensemble.recipe import run_all
from clustertrust.geometry import build_geometry
from clustertrust.null.families import FAMILIES, VERDICT, Draw, build_draws
from clustertrust.null.reference import p_value
from clustertrust.null.surrogates import mean_score, score_surrogates
from clustertrust.scoring.settings import Settings

__all__ = ["EFFORTS", "Chance", "Comparison", "any_k_p_value"]

QUICK_POINTS, QUICK_KS = 400, 4  # of a quick comparison: points, and numbers of clusters
_KEY = 100  # first number of the spawn keys here; those of the null reference are below


def any_k_p_value(data: Floats, null: Floats) -> float:
    """Return the p-value of the largest adjusted value over all k.

    `data` is (q,), `null` (B, q). All B + 1 are adjusted by their common mean at each k, so under
    the null they are exchangeable, and the search over k keeps the level. They are not divided by
    their spread: with few surrogates, an outlier inflates the spread that it is measured by, and
    one lucky surrogate at an unlikely k would hide any structure.
    """
    together = np.vstack([data, null])
    mean = together.mean(axis=0)
    room = np.where(mean < 1, 1 - mean, 1.0)
    highest = ((together - mean) / room).max(axis=1)
    return float(p_value(highest[0], highest[1:]))


@dataclass(frozen=True)
class Chance:
    """The data beside surrogates without clusters.

    Attributes
    ----------
    effort : "quick" or "full"
    n_clusters : (q,) the numbers of clusters compared
    of : what is compared, "mean silhouette" or "mean score"
    data : (q,) of the data
    means : by family, (B, q) of each surrogate
    n_points : points of the data and of each surrogate
    left_out : by family, why it was not drawn
    """

    effort: str
    n_clusters: Ints
    of: str
    data: Floats = field(repr=False)
    means: Mapping[str, Floats] = field(repr=False)
    n_points: int
    left_out: Mapping[str, str] = field(default_factory=dict, repr=False)

    def _rivals(self) -> tuple[Floats, Floats]:
        """Return mean and standard deviation (q,) of the surrogates, best family at each k."""
        families = [values for name, values in self.means.items() if name in VERDICT]
        means = np.array([values.mean(axis=0) for values in families])
        stds = np.array([values.std(axis=0, ddof=1) for values in families])
        higher, at = means.argmax(axis=0), np.arange(means.shape[1])
        return means[higher, at], stds[higher, at]

    @property
    def null(self) -> Floats:
        """(q,) mean of the surrogates of the family whose mean is highest at this k."""
        return self._rivals()[0]

    @property
    def excess(self) -> Floats:
        """(q,) the data minus `null`."""
        return self.data - self.null

    @property
    def excess_error(self) -> Floats:
        """(q,) s √(1 + 1/B), s the spread over surrogates: error of the data and the mean of B."""
        B = len(next(iter(self.means.values())))
        return np.asarray(self._rivals()[1] * np.sqrt(1 + 1 / B))

    @property
    def adjusted(self) -> Floats:
        """(q,) excess / (1 - null): 0 for one cloud, 1 for a perfect value."""
        return self.excess / (1 - self.null)

    @property
    def adjusted_error(self) -> Floats:
        """(q,) standard error of `adjusted`, from that of the excess."""
        return self.excess_error / (1 - self.null)

    @property
    def p_value(self) -> float:
        """How often surrogates stand out as far at *some* k, the largest over the families."""
        return max(
            any_k_p_value(self.data, null) for name, null in self.means.items() if name in VERDICT
        )


class Comparison(NamedTuple):
    """What a comparison needs: checked points, settings at each k, and how many surrogates."""

    X: Array
    ks: Ints
    plans: Sequence[Settings]
    scores: Floats  # (q,) mean scores of the data
    families: Sequence[str]
    n_surrogates: int
    entropy: int


def compare_in_full(given: Comparison) -> Chance:
    """Score every surrogate as the data are."""
    draws, left_out = build_draws(given.X, given.families)
    found = score_surrogates(given.X, given.plans, draws, given.n_surrogates, given.entropy)
    means = {
        name: np.array([[of.mean for of in by_k] for by_k in by]) for name, by in found.items()
    }
    return Chance("full", given.ks, "mean score", given.scores, means, len(given.X), left_out)


def spread_out(ks: Ints, most: int = QUICK_KS) -> Ints:
    """Return positions of at most `most` numbers, the first, the last, and even ratios between.

    Silhouettes change slowly with k: clusters that show at 6 show at 5 too.
    """
    wanted = np.geomspace(ks[0], ks[-1], min(most, len(ks)))
    return np.unique(np.abs(np.log(ks)[:, None] - np.log(wanted)).argmin(axis=0))


def compare_quickly(given: Comparison) -> Chance:
    """Cluster a part of the data, and surrogates of its size, once for some of the k."""
    rng = np.random.default_rng(np.random.SeedSequence(given.entropy, spawn_key=(_KEY, 0)))
    n = len(given.X)
    part = np.sort(rng.choice(n, QUICK_POINTS, replace=False)) if n > QUICK_POINTS else slice(None)
    X = given.X[part]
    chosen = spread_out(given.ks)
    plans = [given.plans[at].alone() for at in chosen]
    draws, left_out = build_draws(X, given.families)
    first = {name: at for at, name in enumerate(FAMILIES, _KEY + 2)}
    jobs: list[tuple[Draw | None, tuple[int, int]]] = [(None, (_KEY + 1, 0))]
    jobs += [(draws[name], (first[name], b)) for name in draws for b in range(given.n_surrogates)]
    recipe = given.plans[0].recipe
    parallel = joblib.Parallel(
        n_jobs=count_threads(recipe.n_jobs), prefer="threads", return_as="generator"
    )
    work = joblib.delayed(_cut)
    results = parallel(work(draw, X, plans, given.entropy, key) for draw, key in jobs)
    done: list[Floats] = []
    with one_blas_thread:  # set once for all of them: each run alone would set and lift it
        for result in progress(results, len(jobs), "surrogates", verbose=recipe.verbose):
            if isinstance(result, Exception):
                stop(results)
                raise result
            done.append(result)
    B = given.n_surrogates
    means = {name: np.array(done[1 + at * B : 1 + (at + 1) * B]) for at, name in enumerate(draws)}
    return Chance("quick", given.ks[chosen], "mean silhouette", done[0], means, len(X), left_out)


def _cut(
    draw: Draw | None,
    like: Array,
    plans: Sequence[Settings],
    entropy: int,
    key: tuple[int, int],
) -> Any:
    """Return the mean silhouette of one run for each k, (q,); or the failure, to raise in order.

    Of a surrogate, or of the data themselves if there is no `draw`.
    """
    try:
        rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=key))
        X = like if draw is None else draw(rng).astype(like.dtype, copy=False)
        seeds = rng.integers(2**32, size=len(plans))
        runs = [
            run
            for plan, seed in zip(plans, seeds, strict=True)
            for run in run_all(X, plan.recipe, [(0, int(seed))])
        ]
        if len(runs) < len(plans):
            raise ValueError(
                f"{len(plans) - len(runs)} of {len(plans)} runs of a surrogate failed; use "
                "effort='full', which takes several runs for each k, or null=None."
            )
        ensemble = assemble(runs)
        cells = meet(ensemble.labels)
        _, dissimilarity = build_geometry(X, ensemble, cells, plans[0].scoring.geometry)
        s = dissimilarity.silhouettes(cells.rows[cells.of], None)[0]
        return np.array([mean_score(run) for run in s.T])
    except Exception as error:
        return error


EFFORTS: dict[str, Callable[[Comparison], Chance]] = {
    "full": compare_in_full,
    "quick": compare_quickly,
}
