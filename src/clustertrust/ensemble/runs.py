"""How many runs, their seeds, and what happens to points left out and to runs that fail."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from clustertrust._errors import ParameterError, ParameterTypeError
from clustertrust._validation.arguments import MOST, check_choice, check_count
from clustertrust.records import register

LEFT_OUT = ("predict", "skip")
ON_FAILURE = ("drop", "raise")


@register
class Runs(BaseEstimator):
    """The runs of an ensemble; a number, as in ``n_runs=20``, is short for ``Runs(20)``.

    Parameters
    ----------
    n_runs : int or "auto"
        As in :class:`~clustertrust.CAKE`.
    left_out : {"skip", "predict"}
        What happens to points that a resampled run left out: the run does not assign them, or its
        model places them.
    on_failure : {"raise", "drop"}
        Whether a failing run stops the fit or is left out.
    checkpoint : path, optional
        A folder that keeps each finished run. A fit of the same data with the same settings resumes
        where the last one stopped. All Dask workers must see the folder under the same path.

    Examples
    --------
    >>> from clustertrust import CAKE, Runs
    >>> cake = CAKE(3, n_runs=Runs(50, left_out="predict"), resample=0.8)
    """

    def __init__(
        self,
        n_runs: int | str = 20,
        *,
        left_out: str = "skip",
        on_failure: str = "raise",
        checkpoint: str | Path | None = None,
    ) -> None:
        self.n_runs = n_runs
        self.left_out = left_out
        self.on_failure = on_failure
        self.checkpoint = checkpoint

    def check(self, resample: Any) -> None:
        """Raise for an unknown value, or one that is not used without `resample`."""
        if not (isinstance(self.n_runs, str) and self.n_runs == "auto"):
            check_count("n_runs", self.n_runs, at_least=2, at_most=MOST)
        check_choice("left_out", self.left_out, LEFT_OUT)
        if resample is None and self.left_out != "skip":
            raise ParameterError(
                "left_out",
                self.left_out,
                "is used only with {resample}",
                "set {resample} or leave {left_out} out",
            )
        check_choice("on_failure", self.on_failure, ON_FAILURE)
        if not (self.checkpoint is None or isinstance(self.checkpoint, str | Path)):
            raise ParameterTypeError(
                "checkpoint", self.checkpoint, "is not a path", "give the path of a folder"
            )


def as_runs(n_runs: Any) -> Runs:
    """Return the description of the runs; a number or "auto" is that with the defaults."""
    return n_runs if isinstance(n_runs, Runs) else Runs(n_runs)


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
