"""As many runs as the scores need: `n_runs="auto"`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clustertrust._validation import tell
from clustertrust.cells import meet
from clustertrust.ensemble import Ensemble, assemble
from clustertrust.ensemble.building import check_enough
from clustertrust.ensemble.clusterers import Run
from clustertrust.ensemble.recipe import draw_seeds, run_all, spawn_seeds
from clustertrust.geometry import build_geometry
from clustertrust.scoring.model import Silhouettes, match_ensemble
from clustertrust.scoring.settings import Settings

__all__ = ["BATCH", "FEWEST", "MOST", "TOLERANCE", "build_until_settled"]

FEWEST, BATCH, MOST = 20, 10, 200
# The error of a score against how far the scores of different points lie apart: a share, since
# scores have no fixed scale (those of kernel silhouettes are small throughout) and it is their
# order that counts.
TOLERANCE = 0.1


def unsettled(scores: NDArray[np.float64], standard_errors: NDArray[np.float64]) -> float:
    """Median standard error of the scores as a share of their interquartile range.

    NaN are left out.
    """
    known = np.isfinite(scores) & np.isfinite(standard_errors)
    if not known.any():
        return np.inf
    error = float(np.median(standard_errors[known]))
    low, high = np.quantile(scores[known], [0.25, 0.75])
    return error / (high - low) if high > low else 0.0 if error == 0 else np.inf


def build_until_settled(X: Any, settings: Settings) -> tuple[Ensemble, Silhouettes]:
    """Add runs until the scores have settled: until `unsettled` is at most `TOLERANCE`.

    Returns the ensemble with the silhouettes of its runs. Fits and silhouettes of earlier batches
    are kept: a batch costs its own fits and one pass over the distances.
    """
    recipe, scoring = settings.recipe, settings.scoring
    if recipe.checkpoint is not None:
        raise ValueError(
            "checkpoint keeps a number of runs that is given; n_runs='auto' finds it. Give a "
            "number."
        )
    if isinstance(recipe.random_state, Sequence | np.ndarray):
        raise ValueError(
            "random_state is a list of seeds, which has a length; n_runs='auto' needs a number or "
            "None."
        )
    entropy, _ = draw_seeds(recipe.random_state, 1)
    assert entropy is not None
    runs: list[Run] = []
    s = np.empty((X.shape[0], 0))
    nearest = np.empty((X.shape[0], 0), dtype=np.int32)
    tried = 0
    while True:
        size = FEWEST if tried == 0 else BATCH
        numbered = list(enumerate(spawn_seeds(entropy, size, first=tried), start=tried))
        batch = run_all(X, recipe, numbered)
        tried += size
        if batch:
            added = assemble(batch)
            _, built = build_geometry(X, added, meet(added.labels), scoring.geometry)
            new = built.silhouettes(built.cells.rows[built.cells.of])
            s, nearest = np.hstack([s, new[0]]), np.hstack([nearest, new[1]])
            runs += batch
        if len(runs) >= 2:
            ensemble = assemble(runs)
            model = match_ensemble(ensemble, scoring)
            model = model.refined(X) if scoring.refines else model
            scored = model.judge_training(X, (s, nearest), quiet=True)
            error = unsettled(scored["scores"], scored["standard_errors"])
            if error <= TOLERANCE or tried >= MOST:
                break
        elif tried >= MOST:
            check_enough(runs, tried)
    if error > TOLERANCE:
        tell(
            f"After {tried} runs the scores have not settled: their median standard error is "
            f"{error:.2f} of their "
            f"interquartile range, above {TOLERANCE}. Another number of clusters may suit the data "
            "better."
        )
    recipe.tell(runs)
    return ensemble, (s, nearest)
