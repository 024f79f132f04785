"""The data at each k and surrogates without clusters: does any k score higher?

Two efforts. "full" scores every surrogate as the data are: all runs, all points. "quick" clusters a
part of the data, and as many points of each surrogate, once for each k, and compares mean
silhouettes; those of all k come from one pass over the distances. Of many k, six are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from clustertrust._errors import InputError
from clustertrust._types import Array, Floats, Ints
from clustertrust.cells import meet
from clustertrust.distances.dissimilarity import Euclidean
from clustertrust.ensemble import assemble
from clustertrust.ensemble.running import run_all
from clustertrust.geometry.measuring import measure
from clustertrust.null.reference import p_value
from clustertrust.scoring.settings import Settings
from clustertrust.surrogates.drawn import (
    Made,
    Surrogates,
    mean_score,
    score_surrogates,
    seeded,
)
from clustertrust.surrogates.families import VERDICT, build_draws
from clustertrust.surrogates.stacked import stacked_silhouettes

# Of a quick comparison: points, and numbers of clusters
QUICK_POINTS, QUICK_KS = 400, 6
# Bytes of surrogates that are clustered together
_STACKED = 2**20
# First number of the spawn keys here; those of the null reference are below
_KEY = 100


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
class NullTest:
    """The data compared with surrogates without clusters.

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
        highest = means.argmax(axis=0), np.arange(means.shape[1])
        return means[highest], stds[highest]

    @property
    def n_surrogates(self) -> int:
        """B, number of surrogates of each family."""
        return len(next(iter(self.means.values())))

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
        return np.asarray(self._rivals()[1] * np.sqrt(1 + 1 / self.n_surrogates))

    @property
    def adjusted(self) -> Floats:
        """(q,) excess / (1 - null): 0 as in data without clusters, 1 for a perfect value."""
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
    # (q,) mean scores of the data
    scores: Floats
    families: Sequence[str]
    n_surrogates: int
    entropy: int

    def surrogates(self, X: Array) -> tuple[Surrogates, dict[str, str]]:
        """Return surrogates of these points, and by family why it is not drawn."""
        draws, left_out = build_draws(X, self.families)
        return Surrogates(X, draws, self.n_surrogates, self.entropy), left_out


def compare_in_full(comparison: Comparison) -> NullTest:
    """Score every surrogate as the data are."""
    surrogates, left_out = comparison.surrogates(comparison.X)
    means = {
        name: np.array([[one.mean for one in by_k] for by_k in family])
        for name, family in score_surrogates(surrogates, comparison.plans).items()
    }
    X, ks, _, scores, *_ = comparison
    return NullTest("full", ks, "mean score", scores, means, len(X), left_out)


def spread_out(ks: Ints, most: int = QUICK_KS) -> Ints:
    """Return positions of at most `most` numbers, the first, the last, and even ratios between.

    Silhouettes change slowly with k where it is large: clusters that show at 9 show at 8 too. With
    four numbers from 2 to 12, clear clusters at 3 could be missed.
    """
    if len(ks) <= most:
        return np.arange(len(ks))
    wanted = np.geomspace(ks[0], ks[-1], most)
    return np.unique(np.abs(np.log(ks)[:, None] - np.log(wanted)).argmin(axis=0))


def compare_quickly(comparison: Comparison) -> NullTest:
    """Cluster a part of the data, and surrogates of its size, once for some of the k."""
    entropy, n = comparison.entropy, len(comparison.X)
    X = comparison.X
    if n > QUICK_POINTS:
        rng = seeded(entropy, _KEY, 0)
        X = X[np.sort(rng.choice(n, QUICK_POINTS, replace=False))]
    chosen = spread_out(comparison.ks)
    plans = [comparison.plans[position].alone() for position in chosen]
    surrogates, left_out = comparison.surrogates(X)
    recipe = comparison.plans[0].recipe
    data, can_stack = _mean_silhouettes(plans, X, _seeds(plans, seeded(entropy, _KEY + 1, 0)))

    def work(made: Sequence[Made]) -> list[Floats]:
        sets, seeds = [one for one, _ in made], [_seeds(plans, rng) for _, rng in made]
        models = [plan.recipe.method(0).estimator for plan in plans]
        means = stacked_silhouettes(sets, models, seeds) if can_stack else [None] * len(sets)
        return [
            _mean_silhouettes(plans, one, own)[0] if found is None else found
            for one, own, found in zip(sets, seeds, means, strict=True)
        ]

    size = max(1, _STACKED // X.nbytes) if can_stack else 1
    by_family = surrogates.map_parts(work, recipe, _KEY + 2, size=size)
    means = {name: np.array(family) for name, family in by_family.items()}
    ks = comparison.ks[chosen]
    return NullTest("quick", ks, "mean silhouette", data, means, len(X), left_out)


def _seeds(plans: Sequence[Settings], rng: np.random.Generator) -> list[int]:
    return [int(seed) for seed in rng.integers(2**32, size=len(plans))]


def _mean_silhouettes(
    plans: Sequence[Settings], X: Array, seeds: Sequence[int]
) -> tuple[Floats, bool]:
    """Return the mean silhouette of one run for each k, (q,), and whether data may be stacked.

    They may if each run is of k-means by the Euclidean distance, and so are silhouettes.
    """
    # As runs of one recipe they share what is prepared of the data.
    methods = tuple(plan.recipe.method(0) for plan in plans)
    recipe = replace(plans[0].recipe, methods=methods)
    runs = run_all(X, recipe, list(enumerate(seeds)))
    if len(runs) < len(plans):
        raise InputError(
            f"{len(plans) - len(runs)} of {len(plans)} runs of a surrogate failed; use "
            "{effort='full'}, which takes several runs for each k, or {null=None}."
        )
    ensemble = assemble(runs)
    cells = meet(ensemble.labels)
    scoring = plans[0].scoring
    _, dissimilarity = measure(X, ensemble, cells, scoring.geometry, scoring.compute)
    s = dissimilarity.silhouettes()[0]
    can_stack = type(dissimilarity) is Euclidean and recipe.is_plain_kmeans(X, seeds)
    return np.array([mean_score(run) for run in s.T]), can_stack


EFFORTS: dict[str, Callable[[Comparison], NullTest]] = {
    "full": compare_in_full,
    "quick": compare_quickly,
}
