"""Signals that are an order alone: one by chance, and one from several others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from clustertrust._types import Floats
from clustertrust._validation.arguments import check_floats
from clustertrust._validation.points import check_matrix
from clustertrust.baselines.memberships import check_seed


def random_confidence(X: Any, *, random_state: int | None = None) -> Floats:
    """Return uniform random numbers, which any other signal has to beat.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    random_state : int, optional

    Returns
    -------
    (n,) array in [0, 1)

    Examples
    --------
    >>> from clustertrust.baselines import random_confidence
    >>> random_confidence([[0.0], [1.0]], random_state=0).round(2).tolist()
    [0.64, 0.27]
    """
    n = int(check_matrix(X).shape[0])
    return np.random.default_rng(check_seed(random_state)).random(n)


def rank_average(signals: Iterable[ArrayLike]) -> Floats:
    """Combine signals of any scale: the mean of rank / n, ties at their average rank.

    Parameters
    ----------
    signals : sequence of (n,) arrays
        Confidences of the same points, higher is surer. Ranks are among the points that a signal
        knows.

    Returns
    -------
    (n,) array in (0, 1]; NaN where a signal is NaN

    Examples
    --------
    >>> from clustertrust.baselines import rank_average
    >>> rank_average([[0.1, 0.9, 0.5, 0.9], [-7, -1, -2, -3]]).tolist()
    [0.25, 0.9375, 0.625, 0.6875]
    """
    if isinstance(signals, str | bytes) or not isinstance(signals, Iterable):
        raise TypeError(f"signals={signals!r} must be a sequence of flat arrays, one per signal.")
    values = [check_floats("signals", signal, "flat arrays of numbers") for signal in signals]
    if not values:
        raise ValueError("signals is empty; give at least one.")
    shapes = sorted({signal.shape for signal in values})
    if len(shapes) > 1 or len(shapes[0]) != 1:
        raise ValueError(f"signals have shapes {shapes}; give flat arrays of the same n points.")
    ranks = rankdata(np.stack(values), axis=1, nan_policy="omit")
    return np.asarray((ranks / np.isfinite(ranks).sum(axis=1, keepdims=True)).mean(axis=0))
