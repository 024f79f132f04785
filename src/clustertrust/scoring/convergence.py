"""As many runs as the scores need: `n_runs="auto"`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import warn_user
from clustertrust.cells import meet
from clustertrust.ensemble import Ensemble, assemble
from clustertrust.ensemble.fitting import Run
from clustertrust.ensemble.running import check_enough, run_all
from clustertrust.ensemble.runs import draw_seeds, spawn_seeds
from clustertrust.ensemble.warn import warn_of_runs
from clustertrust.geometry.component import NORMALIZATIONS
from clustertrust.geometry.measuring import measure
from clustertrust.scoring.components import fused_parts
from clustertrust.scoring.jackknife import unseen_errors
from clustertrust.scoring.model import Model, Silhouettes, match_ensemble
from clustertrust.scoring.settings import Scoring, Settings

# A batch adds half of the runs so far, up to a limit: each costs a pass over the distances.
FEWEST_RUNS, LARGEST_BATCH, MOST_RUNS = 20, 50, 1000
# Largest error of a score, as a share of the spread between points: scores have no fixed scale
# (those of kernel silhouettes are all small), and it is their order that counts.
CONVERGED = 0.1
# How far all but a few points may move.
WITHIN, MOST_POINTS = 0.05, 0.95
# Standard errors that must fit into it. One run moves many points at once, so that an interval of
# 95 % would be left by most points of one data set in twenty.
SURE = 2.58
# Probability that a kind of run which would move the scores farther has been seen.
SEEN = 0.9


def relative_error(scores: Floats, errors: Floats) -> float:
    """Return the median error as a share of the interquartile range, without NaN."""
    counted = np.isfinite(scores) & np.isfinite(errors)
    if not counted.any():
        return np.inf
    error = float(np.median(errors[counted]))
    low, high = np.quantile(scores[counted], [0.25, 0.75])
    if high > low:
        return error / float(high - low)
    return 0.0 if error < 1e-6 else np.inf


def unseen_moves(scored: Mapping[str, Any], runs: Ints, scoring: Scoring) -> Floats:
    """Return how far the scores move if the largest share of runs that may be missing turns up.

    A kind of run with a share q is missing from R runs with probability (1 - q)^R, so q is at most
    1 - (1 - `SEEN`)^(1 / R), about 2.3 / R. Such a run disagrees with the others on a point, whose
    silhouette it makes 0: c falls by 2q of itself, μ by q, and σ, which grows with √q, rises most.
    So an optimum that 1 % of the starts reach moves scores by 0.05, and only hundreds of runs find
    it.
    """
    q = 1.0 - (1.0 - SEEN) ** (1.0 / np.maximum(runs, 1))
    c, mean, std = (scored[name] for name in ("stability", "silhouette_mean", "silhouette_std"))
    less = (1.0 - q) * mean
    wider = np.sqrt(np.maximum((1.0 - q) * (std**2 + mean**2) - less**2, 0.0))
    g = NORMALIZATIONS[scoring.normalization](less, wider)
    moved = scoring.fusion((1.0 - 2.0 * q) * c, g, *fused_parts(scored))
    return np.asarray(np.abs(scored["scores"] - moved))


def largest_move(moves: Floats) -> float:
    """Return how far `MOST_POINTS` of the scores may be off at most."""
    finite = moves[np.isfinite(moves)]
    return float(np.quantile(finite, MOST_POINTS)) if finite.size else np.inf


def _jackknife_alone(scored: Mapping[str, Any], runs: Ints, model: Model) -> Floats:
    """Return standard errors without the parts of runs not seen yet and of second opinions.

    The first is a share of the score, the same for all points: it moves their level, not their
    order. Where clusters are clear it is above any share of the spread of the scores. The other
    stays the same with more runs.
    """
    c, g, parts = scored["stability"], scored["geometry"], fused_parts(scored)
    unseen = unseen_errors(c, g, runs, model.scoring, parts)
    squares: Floats = scored["standard_errors"] ** 2 - unseen**2 - model.opinion_errors(scored) ** 2
    return np.sqrt(np.maximum(squares, 0.0))


def build_until_converged(X: Any, settings: Settings) -> tuple[Ensemble, Silhouettes]:
    """Add runs until the scores have settled, in their order and in their level.

    That is until `relative_error` is at most `CONVERGED`, and for `MOST_POINTS` of the points
    `SURE` jackknife errors and `unseen_moves` are at most `WITHIN`. Returns the ensemble with the
    silhouettes of its runs. Fits and silhouettes of earlier batches are kept: a batch costs its own
    fits and one pass over the distances.
    """
    recipe, scoring = settings.recipe, settings.scoring
    if recipe.runs.checkpoint is not None:
        raise ValueError(
            "checkpoint needs a fixed number of runs; give n_runs a number instead of 'auto'."
        )
    if isinstance(recipe.random_state, Sequence | np.ndarray):
        raise ValueError(
            "random_state is a list of seeds, which fixes the number of runs; with n_runs='auto' "
            "give a number or None."
        )
    entropy, _ = draw_seeds(recipe.random_state, 1)
    assert entropy is not None
    runs: list[Run] = []
    s = np.empty((X.shape[0], 0))
    nearest = np.empty((X.shape[0], 0), dtype=np.int32)
    tried = 0
    while True:
        size = FEWEST_RUNS if tried == 0 else min(tried // 2, LARGEST_BATCH, MOST_RUNS - tried)
        numbered = list(enumerate(spawn_seeds(entropy, size, first=tried), start=tried))
        batch = run_all(X, recipe, numbered)
        tried += size
        if batch:
            added = assemble(batch)
            _, built = measure(X, added, meet(added.labels), scoring.geometry, scoring.compute)
            new = built.silhouettes()
            s, nearest = np.hstack([s, new[0]]), np.hstack([nearest, new[1]])
            runs += batch
        if len(runs) >= 2:
            ensemble = assemble(runs)
            model = match_ensemble(ensemble, scoring).with_components(X)
            scored = model.training_fields(X, (s, nearest), quiet=True)
            counted = scoring.count_runs(ensemble.labels)
            seen = _jackknife_alone(scored, counted, model)
            error = relative_error(scored["scores"], seen)
            width = largest_move(np.maximum(SURE * seen, unseen_moves(scored, counted, scoring)))
            if (error <= CONVERGED and width <= WITHIN) or tried >= MOST_RUNS:
                break
        elif tried >= MOST_RUNS:
            check_enough(runs, tried)
    if error > CONVERGED or width > WITHIN:
        warn_user(
            f"After {tried} runs the scores have not settled: for 5% of the points they may be "
            f"off by {width:.3f} or more, and their median jackknife error is {error:.2f} of their "
            f"interquartile range; at most {WITHIN} and {CONVERGED} are the goals. Another number "
            "of clusters may suit the data better."
        )
    warn_of_runs(recipe, runs)
    return ensemble, (s, nearest)
