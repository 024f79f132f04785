"""A fit → the score that data without clusters hardly reach: the default threshold.

Half of the median, the rule without it, keeps most points of any data, of noise too. Here data
without clusters are drawn that have the covariance of the points, clustered and scored as the fit
was; what 95 % of their points do not exceed is chance. Of the two kinds of such data, a Gaussian
and a box along the principal axes, the one that scores higher counts. Skewed and bent shapes score
higher than both: see experiments/research/chance.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from clustertrust._parallel import one_blas_thread
from clustertrust._types import Array
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.runs import Runs
from clustertrust.reasons import Chance, NullScores
from clustertrust.scoring.model import Model
from clustertrust.scoring.settings import Settings
from clustertrust.surrogates.drawn import SAMPLE, Surrogates, score_surrogates, seeded
from clustertrust.surrogates.families import DEFAULT, build_draws

# Data sets drawn of each kind, and the share of their points that chance is not exceeded by
DRAWS, LEVEL = 3, 0.95
# Points of each: these, or more for many clusters, up to a limit
POINTS, POINTS_A_CLUSTER, MOST_POINTS = 1000, 20, 2000
# Of the scores, for pictures
QUANTILES = 101
# Runs on each, and of each clusterer of a list. More of them hardly change the level.
RUNS, RUNS_A_METHOD = 10, 2


def chance_of(X: Any, recipe: Recipe, model: Model) -> Chance | None:
    """Return what data without clusters hardly reach, computed when it is first asked for.

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
    size = min(MOST_POINTS, max(POINTS, POINTS_A_CLUSTER * k))
    if n > size:
        X = X[np.sort(seeded(entropy, SAMPLE, 0).choice(n, size, replace=False))]
    count = min(ensemble.n_runs, max(RUNS, RUNS_A_METHOD * len(recipe.methods)))
    runs = Runs(count, left_out=recipe.runs.left_out, on_failure=recipe.runs.on_failure)
    recipe = replace(recipe, runs=runs, verbose=False)
    settings = Settings(recipe, replace(model.scoring, geometry=geometry))
    return Chance(partial(_level, X, settings, entropy))


def _level(X: Array, settings: Settings, entropy: int) -> NullScores | None:
    """Return the level, rounded up to two digits, and quantiles of the scores of the kind that it
    comes from; None if surrogates cannot be clustered.
    """
    try:
        with warnings.catch_warnings(), one_blas_thread:
            # They would be about data that nobody has seen.
            warnings.simplefilter("ignore")
            draws, _ = build_draws(X, DEFAULT)
            scored = score_surrogates(Surrogates(X, draws, DRAWS, entropy), [settings])
    except Exception:
        # The clusterer may be anybody's, and made for their data alone.
        return None
    # A point without a score reaches none.
    kinds = [
        np.nan_to_num(np.concatenate([one.scores for (one,) in kind])) for kind in scored.values()
    ]
    scores = max(kinds, key=lambda kind: float(np.quantile(kind, LEVEL)), default=np.zeros(1))
    # A hair less, because 0.07 * 100 is more than 7 in binary
    level = float(np.ceil(100 * np.quantile(scores, LEVEL) - 1e-9) / 100)
    return NullScores(level, tuple(np.quantile(scores, np.linspace(0, 1, QUANTILES)).tolist()))
