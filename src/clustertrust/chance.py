"""A fit → the score that data without clusters rarely exceed: the default threshold.

Half of the median, the rule without it, keeps most points of any data, of noise too. Here data
without clusters are drawn that have the covariance of the points, clustered and scored as the fit
was; what 95 % of their points do not exceed is chance. Of the two kinds of such data, a Gaussian
with columns as skewed as those of the data and a box along the principal axes, the one that scores
higher counts. Bent shapes score higher than both: see experiments/research/chance.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from clustertrust._caught import collected_warnings
from clustertrust._parallel import one_blas_thread
from clustertrust._types import Array
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.runs import Runs
from clustertrust.fusion import Fusion
from clustertrust.reasons import Chance, NullScores
from clustertrust.scoring.model import Model
from clustertrust.scoring.settings import Settings
from clustertrust.surrogates.drawn import SAMPLE, Surrogates, score_surrogates, seeded
from clustertrust.surrogates.families import DEFAULT, build_draws
from clustertrust.surrogates.skewed import skewed_gaussian

# The share of points of data without clusters that chance is not exceeded by
LEVEL = 0.95
# Points of each: these, or more for many clusters, up to a limit
POINTS, POINTS_A_CLUSTER, MOST_POINTS = 1000, 20, 2000
# Of the scores, for pictures
QUANTILES = 101
# Data sets drawn of each kind, runs on each, and of each clusterer of a list. More of them barely
# change the level.
DRAWS, RUNS, RUNS_A_METHOD = 3, 10, 2
# The same where a run takes long: clusterers other than k-means. With second opinions one of each
# kind keeps as little of noise, and as much of clusters. Fewer opinions of each method than a fit
# has have a larger spread, which raises the level a little; one of each raises it much.
FEW_POINTS, FEW_DRAWS, FEW_RUNS = 700, 2, 4
DRAWS_WITH_OPINIONS, FEW_OPINIONS = 1, 2
# Of small data more are drawn, up to a limit: a level needs some hundred points of each kind.
FEWEST_POINTS, MOST_DRAWS = 450, 15


def chance_of(X: Any, recipe: Recipe, model: Model) -> Chance | None:
    """Return what data without clusters rarely exceed, computed when it is first asked for.

    X are the checked points of a fit, or the sample that was kept of them. None: there are no
    points to draw others like, or only one cluster.
    """
    geometry, ensemble = model.geometry, model.ensemble
    if geometry is None or geometry.used_metric.is_coordinate_free or geometry.has_weights:
        return None
    k = max(map(len, model.clusters.names), default=0)
    # The first seed makes it follow from `random_state`, as the runs do.
    entropy = (ensemble.seeds or (None,))[0]
    if sparse.issparse(X) or k < 2 or entropy is None:
        return None
    n = len(X)
    is_fast = all(method.clusterer.in_step for method in recipe.methods)
    size = min(MOST_POINTS, max(POINTS if is_fast else FEW_POINTS, POINTS_A_CLUSTER * k))
    if n > size:
        X = X[np.sort(seeded(entropy, SAMPLE, 0).choice(n, size, replace=False))]
    most = max(RUNS if is_fast else FEW_RUNS, RUNS_A_METHOD * len(recipe.methods))
    runs = Runs(
        min(ensemble.n_runs, most),
        left_out=recipe.runs.left_out,
        on_failure=recipe.runs.on_failure,
    )
    recipe = replace(recipe, runs=runs, verbose=False)
    fusion = _with_few_opinions(model.scoring.fusion)
    settings = Settings(recipe, replace(model.scoring, geometry=geometry, fusion=fusion))
    draws = DRAWS if is_fast else FEW_DRAWS
    if fusion.uses_opinions:
        draws = DRAWS_WITH_OPINIONS
    draws = max(draws, min(MOST_DRAWS, -(-FEWEST_POINTS // len(X))))
    return Chance(partial(chance_level, X, settings, entropy, draws))


def _with_few_opinions(fusion: Fusion) -> Fusion:
    """Return the fusion, with fewer runs of other methods if it asks for a number of them."""
    n_runs = fusion.get_params(deep=False).get("n_runs")
    if not fusion.uses_opinions or n_runs is None:
        return fusion
    few: Fusion = clone(fusion).set_params(n_runs=min(n_runs, FEW_OPINIONS))
    return few


def chance_level(X: Array, settings: Settings, entropy: int, n_draws: int) -> NullScores | None:
    """Return the level, rounded up to two digits, and quantiles of the scores of the kind that it
    comes from; None if surrogates cannot be clustered.
    """
    try:
        # Warnings would be about data that nobody has seen.
        with collected_warnings, one_blas_thread:
            draws, _ = build_draws(X, DEFAULT)
            draws["gaussian"] = skewed_gaussian(X)
            scored = score_surrogates(Surrogates(X, draws, n_draws, entropy), [settings])
    except Exception:
        # The clusterer may be anybody's, and made for their data alone.
        return None
    # A point without a score reaches none.
    kinds = [
        np.nan_to_num(np.concatenate([one.scores for (one,) in kind])) for kind in scored.values()
    ]
    scores = max(kinds, key=lambda kind: float(np.quantile(kind, LEVEL)))
    # A hair less, because 0.07 * 100 is more than 7 in binary; max, because -1e-9 rounds to -0
    level = max(0.0, float(np.ceil(100 * np.quantile(scores, LEVEL) - 1e-9) / 100))
    return NullScores(level, tuple(np.quantile(scores, np.linspace(0, 1, QUANTILES)).tolist()))
