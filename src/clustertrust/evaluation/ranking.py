"""Scores against correctness: how well they separate right assignments from wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score, roc_auc_score

from clustertrust._types import Bools, Floats, Ints
from clustertrust._validation.arguments import (
    MOST,
    check_choice,
    check_count,
    check_number,
    warn_user,
)
from clustertrust.evaluation.checks import check_pair, check_sizes
from clustertrust.evaluation.records import Curve


def _ranks(scores: Any, correct: Any) -> tuple[Ints, Bools]:
    """Return the scores as ranks, equal where they tie: scikit-learn takes no infinite scores."""
    values, right = check_pair(scores, correct)
    return np.unique(values, return_inverse=True)[1], right


def auroc(scores: ArrayLike, correct: ArrayLike) -> float:
    """Return Pr[score of a right point > score of a wrong one] + Pr[equal] / 2.

    It is the same number for finding errors by low scores. Where all points are right or all wrong
    it is not defined: NaN, with an UndefinedMetricWarning.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.evaluation import auroc
    >>> auroc([0.9, 0.8, 0.8, 0.1], [True, True, False, False])
    0.875
    """
    ranks, right = _ranks(scores, correct)
    if right.all() or not right.any():
        return _undefined(f"AUROC is not defined if {right.sum()} of {right.size} points are right")
    return float(roc_auc_score(right, ranks))


POSITIVES = ("correct", "error")


def auprc(scores: ArrayLike, correct: ArrayLike, *, positive: str = "correct") -> float:
    """Return the average precision: Σ_t (recall_t - recall_{t-1}) precision_t over the scores.

    There is no interpolation. Without a point of the positive class it is not defined: NaN, with an
    UndefinedMetricWarning. Guessing gives the share of that class.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`
    positive : {"correct", "error"}
        Whether to measure how well high scores find right points, or low scores wrong ones.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.evaluation import auprc
    >>> scores, correct = [0.9, 0.8, 0.7, 0.1], [True, True, False, False]
    >>> auprc(scores, correct), auprc(scores, correct, positive="error")
    (1.0, 1.0)
    """
    check_choice("positive", positive, POSITIVES)
    ranks, right = _ranks(scores, correct)
    target, order = (right, ranks) if positive == "correct" else (~right, -ranks)
    if not target.any():
        share = f"{right.sum()} of {right.size} points are right"
        return _undefined(f"AUPRC of {positive=} is not defined if {share}")
    return float(average_precision_score(target, order))


def _undefined(why: str) -> float:
    warn_user(f"{why}: NaN.", UndefinedMetricWarning)
    return float("nan")


def _by_group(scores: Floats, right: Floats) -> Floats:
    """Expected correctness at each place, ties in random order: the mean over equal scores."""
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    return (np.bincount(group, weights=right) / counts)[group]


def _as_given(scores: Floats, right: Floats) -> Floats:
    """Return the correctness at each place, ties in the order of the data."""
    return right


TIES: dict[str, Callable[[Floats, Floats], Floats]] = {"average": _by_group, "stable": _as_given}


def surest_first(scores: ArrayLike, correct: ArrayLike, ties: str) -> Floats:
    """(n,) correctness of the points, the surest first; its expectation where scores tie."""
    check_choice("ties", ties, TIES)
    values, right = check_pair(scores, correct)
    order = np.argsort(-values, kind="stable")
    return TIES[ties](values[order], right[order].astype(np.float64))


def error_precision(
    scores: ArrayLike, correct: ArrayLike, share: float = 0.05, *, ties: str = "average"
) -> float:
    """Return the share of errors among the round(share n) least sure points, at least one.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`
    share : float
        Share of the points to look at, in (0, 1]; the paper's are 0.01, 0.02, 0.05 and 0.1.
    ties : {"average", "stable"}
        See the module.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.evaluation import error_precision
    >>> error_precision([0.9, 0.8, 0.1, 0.1], [True, True, True, False], 0.25)
    0.5
    """
    right = surest_first(scores, correct, ties)
    m = check_sizes("share", np.array([check_number("share", share)]), right.size)[0]
    return float(1.0 - right[-m:].mean())


def risk_coverage_curve(
    scores: ArrayLike, correct: ArrayLike, *, n_positions: int = 201, ties: str = "average"
) -> Curve:
    """Return the risk at each coverage m / n: the share of errors among the m surest points.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`
    n_positions : int
        Values of m, integers evenly spaced from 1 to n; every m where n is smaller.
    ties : {"average", "stable"}
        See the module.

    Returns
    -------
    Curve

    Examples
    --------
    >>> from clustertrust.evaluation import risk_coverage_curve
    >>> curve = risk_coverage_curve([0.9, 0.8, 0.5, 0.1], [True, True, False, False])
    >>> curve.coverage.tolist(), curve.value.round(3).tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.333, 0.5])
    """
    n_positions = check_count("n_positions", n_positions, at_least=2, at_most=MOST)
    right = surest_first(scores, correct, ties)
    m = np.unique(np.linspace(1, right.size, n_positions).astype(np.int64))
    return Curve(m / right.size, np.cumsum(1.0 - right)[m - 1] / m)


def aurc(
    scores: ArrayLike, correct: ArrayLike, *, n_positions: int = 201, ties: str = "average"
) -> float:
    """Return the area under `risk_coverage_curve`, by the trapezoid rule; lower is better.

    The integral is from 1/n to 1 and not divided by the length of that range.

    Parameters
    ----------
    scores, correct, n_positions, ties
        As for :func:`risk_coverage_curve`.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.evaluation import aurc
    >>> round(aurc([0.9, 0.8, 0.5, 0.1], [True, True, False, False]), 4)
    0.1458
    """
    curve = risk_coverage_curve(scores, correct, n_positions=n_positions, ties=ties)
    return float(np.trapezoid(curve.value, curve.coverage))


def accuracy_by_bin(
    scores: ArrayLike, correct: ArrayLike, *, n_bins: int = 10, ties: str = "average"
) -> Floats:
    """Return the accuracy in bins of equal size by score, least sure first; ten are deciles.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`
    n_bins : int
        At most n. If n is not a multiple of it, sizes differ by one, and the surer bins are
        larger.
    ties : {"average", "stable"}
        See the module.

    Returns
    -------
    (n_bins,) array

    Examples
    --------
    >>> from clustertrust.evaluation import accuracy_by_bin
    >>> accuracy_by_bin([0.1, 0.9, 0.8, 0.3], [False, True, True, True], n_bins=2).tolist()
    [0.5, 1.0]
    """
    n_bins = check_count("n_bins", n_bins, at_least=1, at_most=MOST)
    right = surest_first(scores, correct, ties)
    if n_bins > right.size:
        raise ValueError(
            f"n_bins={n_bins} is more than the {right.size} points with a score; ask for fewer "
            "bins."
        )
    return np.array([part.mean() for part in np.array_split(right, n_bins)])[::-1]


def percentile_correlation(
    scores: ArrayLike, correct: ArrayLike, *, n_bins: int = 10, ties: str = "average"
) -> float:
    """Return the Spearman correlation between bins of the score and their `accuracy_by_bin`.

    Where the accuracy is the same in every bin it is not defined: NaN, with an
    UndefinedMetricWarning.

    Parameters
    ----------
    scores, correct, n_bins, ties
        As for :func:`accuracy_by_bin`; at least two bins.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.evaluation import percentile_correlation
    >>> round(percentile_correlation([0.1, 0.3, 0.8, 0.9], [False, True, False, True], n_bins=4), 3)
    0.447
    """
    check_count("n_bins", n_bins, at_least=2, at_most=MOST)
    # Rounded, so that sums in another order tie
    by_bin = np.round(accuracy_by_bin(scores, correct, n_bins=n_bins, ties=ties), 12)
    if np.ptp(by_bin) == 0:
        return _undefined(
            f"The accuracy is {by_bin[0]:.3g} in each of {n_bins} bins, so its correlation is not "
            "defined"
        )
    return float(np.corrcoef(np.arange(n_bins), rankdata(by_bin))[0, 1])
