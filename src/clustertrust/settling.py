"""As many runs as the scores need: `n_runs="auto"`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clustertrust._validation import check_choice, tell
from clustertrust.cells import meet
from clustertrust.clusterers import Run
from clustertrust.ensemble import Ensemble, assemble
from clustertrust.geometry import Options, build_geometry, silhouettes_of
from clustertrust.recipe import Recipe, draw_seeds, run_all, spawn_seeds
from clustertrust.scoring import Scoring, score_ensemble

__all__ = ["BATCH", "FEWEST", "MOST", "TOLERANCE", "build_until_settled"]

FEWEST, BATCH, MOST = 20, 10, 200
# The paper finds the spread of the scores between ensembles level off at a median of some 0.015, at 30 to 40 runs.
TOLERANCE = 0.015


def build_until_settled(
    X: Any,
    clusterer: Any,
    geometry: str,
    options: Options,
    scoring: Scoring,
    *,
    n_clusters: int | None,
    vary: Any,
    resample: Any,
    left_out: str,
    on_failure: str,
    random_state: Any,
    n_jobs: int | None,
    verbose: bool,
) -> tuple[Ensemble, tuple[NDArray[np.float64], NDArray[np.integer]]]:
    """Add runs until the median jackknife standard error of the scores is at most `TOLERANCE`.

    Returns the ensemble with the silhouettes and nearest other clusters of its runs. Fits and silhouettes of earlier
    batches are kept: a batch costs its own fits and one pass over the distances.
    """
    recipe = Recipe.of(clusterer, n_clusters, vary, resample, left_out, X.shape[0])
    check_choice("on_failure", on_failure, ["drop", "raise"])
    if isinstance(random_state, Sequence | np.ndarray):
        raise ValueError("random_state is a list of seeds, which has a length; n_runs='auto' needs a number or None.")
    entropy, _ = draw_seeds(random_state, 1)
    assert entropy is not None
    runs: list[Run] = []
    s = np.empty((X.shape[0], 0))
    nearest = np.empty((X.shape[0], 0), dtype=np.int32)
    tried = 0
    while True:
        size = FEWEST if tried == 0 else BATCH
        numbered = list(enumerate(spawn_seeds(entropy, size, first=tried), start=tried))
        batch = run_all(X, recipe, numbered, on_failure, n_jobs, verbose, None)
        tried += size
        if batch:
            added = assemble(batch)
            _, built = build_geometry(X, added, meet(added.labels), geometry, options)
            new = silhouettes_of(built, built.cells.rows[built.cells.of])
            s, nearest = np.hstack([s, new[0]]), np.hstack([nearest, new[1]])
            runs += batch
        if len(runs) >= 2:
            ensemble = assemble(runs)
            _, scored = score_ensemble(X, ensemble, geometry, options, scoring, None, (s, nearest), quiet=True)
            error = float(np.nanmedian(scored.standard_errors)) if np.isfinite(scored.standard_errors).any() else 0.0
            if error <= TOLERANCE or tried >= MOST:
                break
        elif tried >= MOST:
            raise ValueError(f"Only {len(runs)} of {tried} runs succeeded; at least 2 are needed.")
    if error > TOLERANCE:
        tell(
            f"After {tried} runs the median standard error of the scores is {error:.3f}, above {TOLERANCE}: they have "
            "not settled. The clusterings differ much from run to run; another number of clusters may suit the data."
        )
    recipe.tell(runs)
    return ensemble, (s, nearest)
