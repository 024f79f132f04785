"""Checked data and a recipe → the runs of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clustertrust.ensemble.checkpoints import Checkpoint
from clustertrust.ensemble.fitting import Run
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.record import Ensemble, assemble
from clustertrust.ensemble.running import run_all
from clustertrust.ensemble.seeds import draw_seeds, spawn_seeds
from clustertrust.ensemble.warn import warn_of_runs
from clustertrust.storage import hash_data


def _as_json(random_state: Any) -> Any:
    """Return a random state as JSON, to recognise it later."""
    if isinstance(random_state, Sequence | np.ndarray):
        return [int(seed) for seed in random_state]
    return None if random_state is None else repr(random_state)


def build_runs(X: Any, recipe: Recipe) -> Ensemble:
    """Cluster checked data `n_runs` times; load runs that a checkpoint has."""
    recipe.check_size(X.shape[0])
    R = recipe.count()
    entropy, seeds = draw_seeds(recipe.random_state, R)
    kept = None
    if recipe.runs.checkpoint is not None:
        settings = recipe.settings() | {
            "data": hash_data(X),
            "random_state": _as_json(recipe.random_state),
            "entropy": entropy,
        }
        kept = Checkpoint(recipe.runs.checkpoint, settings)
        # Continue with the entropy of the first build.
        if recipe.random_state is None:
            seeds = spawn_seeds(kept.settings["entropy"], R)
    runs = run_all(X, recipe, list(enumerate(seeds)), kept)
    check_enough(runs, R)
    warn_of_runs(recipe, runs)
    return assemble(runs, recipe.n_jobs)


def check_enough(runs: Sequence[Run], tried: int) -> None:
    """Raise if too few runs are left to compare."""
    if len(runs) < 2:
        raise ValueError(f"Only {len(runs)} of {tried} runs succeeded; at least 2 are needed.")
