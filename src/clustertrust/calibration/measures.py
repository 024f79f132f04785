"""Predicted probabilities against outcomes: reliability, Brier score, calibration error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import MOST, check_choice, check_count, check_scores
from clustertrust._validation.rows import check_same_length
from clustertrust.calibration.checks import check_correct

# Level of the intervals in a diagram
LEVEL = 0.95


@dataclass(frozen=True)
class Reliability:
    """Predicted probabilities and outcomes, one entry per non-empty bin, by rising probability.

    Attributes
    ----------
    predicted : (b,) mean probability
    observed : (b,) share of the points that are right
    low, high : (b,) Clopper and Pearson's 95 % interval of that share
    counts : (b,) points
    brier_score : mean of (probability - right)²; 0 is perfect, 0.25 is that of always
        predicting 0.5
    expected_calibration_error : mean over the points of |observed - predicted| of their bin
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    counts: Ints
    brier_score: float
    expected_calibration_error: float

    def to_frame(self) -> pd.DataFrame:
        """Return one row per bin."""
        names = ("predicted", "observed", "low", "high", "counts")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def equal_counts(p: Floats, n_bins: int) -> Ints:
    """Return the bin of each point: the lowest n / n_bins points, then the next, and so on.

    Equal probabilities stay together. The rest at the top is a separate bin only if it has at
    least half as many points.
    """
    _, of, counts = np.unique(p, return_inverse=True, return_counts=True)
    full = len(p) / n_bins
    bins, number, held = np.empty(len(counts), dtype=np.int64), 0, 0
    for value, count in enumerate(counts.tolist()):
        bins[value] = number
        held += count
        if held >= full - 1e-9:
            number, held = number + 1, 0
    if 0 < held < full / 2 and number > 0:
        bins[bins == number] = number - 1
    return bins[of]


def equal_widths(p: Floats, n_bins: int) -> Ints:
    """Return the bin of each point, the bins of width 1 / n_bins; 1 is in the last."""
    return np.minimum((p * n_bins).astype(np.int64), n_bins - 1)


STRATEGIES: dict[str, Callable[[Floats, int], Ints]] = {
    "quantile": equal_counts,
    "uniform": equal_widths,
}


def reliability(
    probability: Any, correct: Any, *, n_bins: int = 10, strategy: str = "quantile"
) -> Reliability:
    """Compare predicted probabilities with outcomes, in bins.

    Parameters
    ----------
    probability : (n,) numbers from 0 to 1
        That the assignment is right, as :meth:`Calibrator.predict` gives it; NaN: the point is left
        out. Do not give points that the calibrator was fitted on: they make it look too good.
    correct : (n,) booleans; None or NaN: the point is left out
    n_bins : int
        Largest number of bins.
    strategy : {"quantile", "uniform"}
        Bins with about equal numbers of points, or of equal width.

    Returns
    -------
    Reliability

    Examples
    --------
    >>> from clustertrust.calibration import reliability
    >>> bins = reliability([0.2, 0.2, 0.2, 0.8, 0.8], [False, False, True, True, True], n_bins=2)
    >>> bins.observed.round(3).tolist()
    [0.333, 1.0]
    >>> round(bins.expected_calibration_error, 3), round(bins.brier_score, 3)
    (0.16, 0.16)
    """
    check_choice("strategy", strategy, STRATEGIES)
    n_bins = check_count("n_bins", n_bins, at_least=1, at_most=MOST)
    p, right = _check_pair(probability, correct)
    of, counts = np.unique(
        STRATEGIES[strategy](p, n_bins), return_inverse=True, return_counts=True
    )[1:]
    hits = np.bincount(of, weights=right)
    predicted, observed = np.bincount(of, weights=p) / counts, hits / counts
    tail = (1 - LEVEL) / 2
    # No right or no wrong point in a bin: the interval ends at 0 or 1.
    with np.errstate(invalid="ignore"):
        low = np.nan_to_num(beta.ppf(tail, hits, counts - hits + 1), nan=0.0)
        high = np.nan_to_num(beta.ppf(1 - tail, hits + 1, counts - hits), nan=1.0)
    gap = float(counts @ np.abs(observed - predicted)) / len(p)
    return Reliability(
        predicted, observed, low, high, counts, float(np.mean((p - right) ** 2)), gap
    )


def brier_score(probability: Any, correct: Any) -> float:
    """Mean of (p - right)²: 0 is perfect, p (1 - p) is that of the overall share p everywhere.

    Parameters
    ----------
    probability, correct
        As for :func:`reliability`.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.calibration import brier_score
    >>> brier_score([1.0, 0.5], [True, False])
    0.125
    """
    p, right = _check_pair(probability, correct)
    return float(np.mean((p - right) ** 2))


def expected_calibration_error(
    probability: Any, correct: Any, *, n_bins: int = 10, strategy: str = "quantile"
) -> float:
    """Σ_b n_b / n |observed_b - predicted_b| over bins.

    Chance alone makes it positive: with n points in b bins, perfect probabilities give about
    0.8 √(b p (1 - p) / n).

    Parameters
    ----------
    probability, correct, n_bins, strategy
        As for :func:`reliability`.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.calibration import expected_calibration_error
    >>> expected_calibration_error([0.9, 0.9, 0.9, 0.9], [True, True, True, False])
    0.15...
    """
    return reliability(
        probability, correct, n_bins=n_bins, strategy=strategy
    ).expected_calibration_error


def _check_pair(probability: Any, correct: Any) -> tuple[Floats, Floats]:
    """Return probabilities and correctness of the points that have both."""
    p, right = check_scores(probability), check_correct(correct)
    check_same_length("probability", p, "correct", right)
    both = ~np.isnan(p) & ~np.isnan(right)
    p, right = p[both], right[both]
    if not p.size:
        raise ValueError(
            "No point has both a probability and a known value in correct; there is nothing to "
            "compare."
        )
    if ((p < 0) | (p > 1)).any():
        raise ValueError(
            f"probability has {p[(p < 0) | (p > 1)][0]!r}; probabilities lie from 0 to 1. "
            "Calibrator.predict(scores) turns scores into probabilities."
        )
    return p, right
