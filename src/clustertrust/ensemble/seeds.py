"""The seed of each run, from `random_state` and its number alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clustertrust._validation.arguments import check_count


def draw_seeds(random_state: Any, n_runs: int) -> tuple[int | None, tuple[int, ...]]:
    """Return the entropy behind the seeds (None if seeds were given), and the seeds."""
    if isinstance(random_state, Sequence | np.ndarray) and not isinstance(random_state, str):
        if len(random_state) != n_runs:
            raise ValueError(
                f"random_state has {len(random_state)} seeds for n_runs={n_runs}; give one seed "
                "per run."
            )
        return None, tuple(_check_seed(seed) for seed in random_state)
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    elif random_state is not None:
        random_state = _check_seed(random_state)
    # Drawn here if random_state is None.
    entropy = np.random.SeedSequence(random_state).entropy
    assert isinstance(entropy, int)
    return entropy, spawn_seeds(entropy, n_runs)


def spawn_seeds(entropy: int, n_runs: int, first: int = 0) -> tuple[int, ...]:
    """Return the seeds of the runs from `first` on; each depends only on (entropy, r)."""
    spawned = (
        np.random.SeedSequence(entropy, spawn_key=(r,)) for r in range(first, first + n_runs)
    )
    return tuple(int(sequence.generate_state(1)[0]) for sequence in spawned)


def _check_seed(seed: Any) -> int:
    if isinstance(seed, np.random.Generator):
        raise TypeError(
            "random_state is a Generator, which is not accepted; give int(rng.integers(2**32))."
        )
    return check_count("random_state", seed, at_least=0, at_most=2**32 - 1)
