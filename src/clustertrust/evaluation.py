"""Labels, scores and the truth → how good a labelling is, and how well scores tell right assignments from wrong.

Two rules hold throughout. **Missing scores**: points whose score is NaN are left out, and n is the number of the
others. **Ties**: points of equal score count as if their order were drawn at random, and what is returned is the mean
over all orders, so that the order of the data never matters; `ties="stable"` takes the order of the data instead, the
earlier point as the surer. (`score_quality` and the re-aligned coverage curve say what they do.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from scipy.stats import t as student
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    average_precision_score,
    normalized_mutual_info_score,
    roc_auc_score,
)

from clustertrust._validation import (
    check_choice,
    check_count,
    check_label_vector,
    check_matrix,
    check_same_length,
    check_scores,
    tell,
)
from clustertrust.geometry import silhouettes
from clustertrust.matching import align_labels

__all__ = [
    "AGREEMENTS_WITH_TRUTH",
    "ALIGNMENTS",
    "POSITIVES",
    "TIES",
    "Curve",
    "Interval",
    "accuracy_by_bin",
    "agreement_with_truth",
    "auprc",
    "aurc",
    "auroc",
    "correctness",
    "coverage_accuracy_curve",
    "error_precision",
    "percentile_correlation",
    "risk_coverage_curve",
    "score_quality",
    "student_interval",
    "subset_silhouette",
]

Ints = NDArray[np.integer]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

QUALITY_COVERAGES = np.arange(8, 19) / 20  # 0.40, 0.45, …, 0.90
COVERAGES = np.arange(1, 11) / 10


@dataclass(frozen=True)
class Curve:
    """Something measured on the surest points, at several coverages.

    Attributes
    ----------
    coverage : (p,) share of the points kept, increasing
    value : (p,) risk or accuracy among them
    """

    coverage: Floats
    value: Floats


@dataclass(frozen=True)
class Interval:
    """A mean and the limits of its confidence interval."""

    mean: float
    low: float
    high: float


# A labelling against the truth


def correctness(labels: ArrayLike, truth: ArrayLike) -> Bools:
    """Whether π*(label) = class, π* the one best matching of clusters with classes, Eq. (5).

    Points of a cluster without a class of its own, and points that are not assigned, are wrong.

    Parameters
    ----------
    labels : (n,) labels of any kind
        Negative numbers and missing values mean that the point is not assigned.
    truth : (n,) classes of any kind
        Every value is a class, negative numbers too; none may be missing.

    Returns
    -------
    (n,) bool array

    Examples
    --------
    >>> from clustertrust.evaluation import correctness
    >>> correctness([1, 1, 1, 0, 2, -1], ["a", "a", "b", "b", "b", "b"]).tolist()
    [True, True, False, True, False, False]
    """
    (codes, _), classes = check_label_vector("labels", labels), _check_truth(truth)
    check_same_length("labels", codes, "truth", classes)
    return np.asarray(align_labels(classes, codes) == classes)  # classes are 0, 1, …: never the -1 of no partner


def accuracy(labels: ArrayLike, truth: ArrayLike) -> float:
    """Share of the points that are right after one optimal matching."""
    return float(correctness(labels, truth).mean())


def _of_codes(index: Callable[[Ints, Ints], float]) -> Callable[[ArrayLike, ArrayLike], float]:
    """An index of scikit-learn for labels of any kind; points that are not assigned are one cluster more."""

    def measure(labels: ArrayLike, truth: ArrayLike) -> float:
        codes, classes = check_label_vector("labels", labels)[0], _check_truth(truth)
        check_same_length("labels", codes, "truth", classes)
        return float(index(classes, codes))

    return measure


AGREEMENTS_WITH_TRUTH: dict[str, Callable[[ArrayLike, ArrayLike], float]] = {
    "accuracy": accuracy,
    "ami": _of_codes(adjusted_mutual_info_score),
    "ari": _of_codes(adjusted_rand_score),
    "nmi": _of_codes(normalized_mutual_info_score),
}


def agreement_with_truth(labels: ArrayLike, truth: ArrayLike, metric: str = "ari") -> float:
    """How far a labelling and the true classes are the same partition; 1 where they are.

    Parameters
    ----------
    labels : (n,) labels of any kind
        Points that are not assigned (negative, missing) are wrong for "accuracy" and one cluster of their own for
        the others.
    truth : (n,) classes of any kind
        Every value is a class, negative numbers too; none may be missing. There may be more or fewer classes than
        clusters.
    metric : {"ari", "ami", "nmi", "accuracy"}
        Adjusted Rand index, adjusted and normalised mutual information (arithmetic mean), or the share of points that
        are right after optimal matching.

    Examples
    --------
    >>> from clustertrust.evaluation import agreement_with_truth
    >>> labels, truth = [0, 0, 1, 1, 1], ["b", "b", "a", "a", "b"]
    >>> {name: round(agreement_with_truth(labels, truth, name), 3) for name in ("accuracy", "ari")}
    {'accuracy': 0.8, 'ari': 0.167}
    """
    check_choice("metric", metric, AGREEMENTS_WITH_TRUTH)
    return AGREEMENTS_WITH_TRUTH[metric](labels, truth)


def subset_silhouette(X: Any, labels: ArrayLike, kept: ArrayLike | None = None) -> float:
    """Mean exact Euclidean silhouette, Eq. (1), of the points kept, in the clusters that these alone form.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    labels : (n,) labels of any kind
        Points that are not assigned (negative, missing) are left out of the mean.
    kept : (n,) bool array, optional
        Which points to keep; None: all.

    Examples
    --------
    >>> from clustertrust.evaluation import subset_silhouette
    >>> X = [[0.0], [1.0], [4.0], [9.0], [10.0]]
    >>> round(subset_silhouette(X, [0, 0, 0, 1, 1]), 2)
    0.72
    >>> round(subset_silhouette(X, [0, 0, 0, 1, 1], [True, True, False, True, True]), 2)
    0.89
    """
    X = check_matrix(X)
    codes, _ = check_label_vector("labels", labels)
    mask = np.ones(len(codes), dtype=bool) if kept is None else np.asarray(kept)
    if mask.dtype != bool or mask.shape != codes.shape:
        raise ValueError(
            f"kept has dtype {mask.dtype} and shape {mask.shape}; give a bool array of shape {codes.shape}."
        )
    if X.shape[0] != len(codes):
        raise ValueError(f"X has {X.shape[0]} points and labels has {len(codes)}; both must describe the same points.")
    mask = mask & (codes >= 0)
    if mask.sum() < 2:
        raise ValueError(f"kept and labels leave {mask.sum()} point(s); at least 2 are needed for a silhouette.")
    return float(silhouettes(X[mask], [codes[mask]], geometry="exact").mean())


# Scores against correctness


def auroc(scores: ArrayLike, correct: ArrayLike) -> float:
    """Pr[score of a right point > score of a wrong one] + Pr[equal] / 2.

    It is the same number for finding errors by low scores. Where all points are right or all wrong it is not defined:
    NaN, with an UndefinedMetricWarning.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`

    Examples
    --------
    >>> from clustertrust.evaluation import auroc
    >>> auroc([0.9, 0.8, 0.8, 0.1], [True, True, False, False])
    0.875
    """
    ranks, right = _ranks(scores, correct)
    if right.all() or not right.any():
        return _undefined("AUROC", right)
    return float(roc_auc_score(right, ranks))


POSITIVES = ("correct", "error")


def auprc(scores: ArrayLike, correct: ArrayLike, *, positive: str = "correct") -> float:
    """Σ_t (recall_t - recall_{t-1}) precision_t over the distinct scores: average precision, no interpolation.

    Where there is no point of the positive class it is not defined: NaN, with an UndefinedMetricWarning. Guessing
    gives the share of that class.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`
    positive : {"correct", "error"}
        Whether high scores shall find what is right or low scores what is wrong.

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
        return _undefined(f"AUPRC of positive={positive!r}", right)
    return float(average_precision_score(target, order))


def _undefined(what: str, right: Bools) -> float:
    tell(f"{what} is not defined where {right.sum()} of {right.size} points are right: NaN.", UndefinedMetricWarning)
    return float("nan")


def _by_group(scores: Floats, right: Floats) -> Floats:
    """Expected correctness at each place, ties in random order: the mean over the points of equal score."""
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    return (np.bincount(group, weights=right) / counts)[group]


def _as_given(scores: Floats, right: Floats) -> Floats:
    """Correctness at each place, ties in the order of the data."""
    return right


TIES: dict[str, Callable[[Floats, Floats], Floats]] = {"average": _by_group, "stable": _as_given}


def _surest_first(scores: ArrayLike, correct: ArrayLike, ties: str) -> Floats:
    """(n,) correctness of the points from the surest to the least sure, expected where scores tie."""
    check_choice("ties", ties, TIES)
    known, right = _check_pair(scores, correct)
    order = np.argsort(-known, kind="stable")
    return TIES[ties](known[order], right[order].astype(np.float64))


def error_precision(scores: ArrayLike, correct: ArrayLike, share: float = 0.05, *, ties: str = "average") -> float:
    """Share of errors among the round(share n) least sure points, at least one.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`
    share : float
        Share of the points to look at, in (0, 1]; the paper's are 0.01, 0.02, 0.05 and 0.1.
    ties : {"average", "stable"}
        See the module.

    Examples
    --------
    >>> from clustertrust.evaluation import error_precision
    >>> error_precision([0.9, 0.8, 0.1, 0.1], [True, True, True, False], 0.25)
    0.5
    """
    right = _surest_first(scores, correct, ties)
    m = _sizes("share", np.array([share]), right.size)[0]
    return float(1.0 - right[-m:].mean())


def risk_coverage_curve(
    scores: ArrayLike, correct: ArrayLike, *, n_positions: int = 201, ties: str = "average"
) -> Curve:
    """risk(m / n) = share of errors among the m surest points.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`
    n_positions : int
        Values of m, whole numbers evenly spaced from 1 to n; every m where n is smaller.
    ties : {"average", "stable"}
        See the module.

    Examples
    --------
    >>> from clustertrust.evaluation import risk_coverage_curve
    >>> curve = risk_coverage_curve([0.9, 0.8, 0.5, 0.1], [True, True, False, False])
    >>> curve.coverage.tolist(), curve.value.round(3).tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.333, 0.5])
    """
    n_positions = check_count("n_positions", n_positions, at_least=2)
    right = _surest_first(scores, correct, ties)
    m = np.unique(np.linspace(1, right.size, n_positions).astype(np.int64))
    return Curve(m / right.size, np.cumsum(1.0 - right)[m - 1] / m)


def aurc(scores: ArrayLike, correct: ArrayLike, *, n_positions: int = 201, ties: str = "average") -> float:
    """∫ risk d(coverage) by the trapezoid rule over `risk_coverage_curve`; lower is better.

    The integral is from 1/n to 1 and not divided by the length of that range.

    Parameters
    ----------
    scores, correct, n_positions, ties
        As for :func:`risk_coverage_curve`.

    Examples
    --------
    >>> from clustertrust.evaluation import aurc
    >>> round(aurc([0.9, 0.8, 0.5, 0.1], [True, True, False, False]), 4)
    0.1458
    """
    curve = risk_coverage_curve(scores, correct, n_positions=n_positions, ties=ties)
    return float(np.trapezoid(curve.value, curve.coverage))


def accuracy_by_bin(scores: ArrayLike, correct: ArrayLike, *, n_bins: int = 10, ties: str = "average") -> Floats:
    """Accuracy in bins of equal size by rank of the score, least sure first; ten bins are deciles.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    correct : (n,) bool, see :func:`correctness`
    n_bins : int
        At most n. Where n is no multiple of it, sizes differ by one, and the surer bins are the larger.
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
    n_bins = check_count("n_bins", n_bins, at_least=1)
    right = _surest_first(scores, correct, ties)
    if n_bins > right.size:
        raise ValueError(f"n_bins={n_bins} is more than the {right.size} points with a score; ask for fewer bins.")
    return np.array([part.mean() for part in np.array_split(right, n_bins)])[::-1]


def percentile_correlation(scores: ArrayLike, correct: ArrayLike, *, n_bins: int = 10, ties: str = "average") -> float:
    """Spearman correlation of the number of a bin with the accuracy in it, `accuracy_by_bin`.

    Where the accuracy is the same in every bin it is not defined: NaN, with an UndefinedMetricWarning.

    Parameters
    ----------
    scores, correct, n_bins, ties
        As for :func:`accuracy_by_bin`; at least two bins.

    Examples
    --------
    >>> from clustertrust.evaluation import percentile_correlation
    >>> round(percentile_correlation([0.1, 0.3, 0.8, 0.9], [False, True, False, True], n_bins=4), 3)
    0.447
    """
    check_count("n_bins", n_bins, at_least=2)
    by_bin = np.round(accuracy_by_bin(scores, correct, n_bins=n_bins, ties=ties), 12)  # sums in another order tie
    if np.ptp(by_bin) == 0:
        tell(
            f"The accuracy is {by_bin[0]:.3g} in each of {n_bins} bins, so that it correlates with nothing: NaN.",
            UndefinedMetricWarning,
        )
        return float("nan")
    return float(np.corrcoef(np.arange(n_bins), rankdata(by_bin))[0, 1])


# Scores, labels and the truth


def _once(right: Floats, labels: Ints, classes: Ints, m: int) -> float:
    return float(right[:m].mean())


def _anew(right: Floats, labels: Ints, classes: Ints, m: int) -> float:
    return accuracy(labels[:m], classes[:m])


ALIGNMENTS: dict[str, Callable[[Floats, Ints, Ints, int], float]] = {"global": _once, "subset": _anew}


def coverage_accuracy_curve(
    scores: ArrayLike,
    labels: ArrayLike,
    truth: ArrayLike,
    *,
    coverages: ArrayLike = tuple(COVERAGES),
    alignment: str = "global",
) -> Curve:
    """Accuracy among the round(c n) surest points, at least one, at each coverage c.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    labels : (n,) labels of any kind
    truth : (n,) classes of any kind
        See :func:`correctness`.
    coverages : sequence of numbers in (0, 1]
    alignment : {"global", "subset"}
        One matching of clusters with classes, by all points that have a score, or a new one among the points kept,
        which can only raise the accuracy. With "subset" points of equal score are in the order of the data.

    Returns
    -------
    Curve
        Its coverages are those of the points kept: round(c n) / n.

    Examples
    --------
    >>> from clustertrust.evaluation import coverage_accuracy_curve
    >>> scores, labels, truth = [0.9, 0.8, 0.5, 0.1], [0, 0, 1, 1], [5, 5, 7, 5]
    >>> coverage_accuracy_curve(scores, labels, truth, coverages=[0.5, 1.0]).value.tolist()
    [1.0, 0.75]
    """
    check_choice("alignment", alignment, ALIGNMENTS)
    known, codes, classes = _check_triple(scores, labels, truth)
    m = _sizes("coverages", coverages, known.size)
    right = _surest_first(known, correctness(codes, classes), "average")
    order = np.argsort(-known, kind="stable")
    measure = ALIGNMENTS[alignment]
    return Curve(m / known.size, np.array([measure(right, codes[order], classes[order], size) for size in m]))


def score_quality(
    scores: ArrayLike,
    labels: ArrayLike,
    truth: ArrayLike,
    *,
    coverages: ArrayLike = tuple(QUALITY_COVERAGES),
    random_state: int = 0,
) -> float:
    """Q = ∫ ARI(L) dL / (L_max - L_min), ARI(L) of the round(L n) surest points; trapezoid rule over `coverages`.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    labels : (n,) labels of any kind
    truth : (n,) classes of any kind
        See :func:`agreement_with_truth`.
    coverages : increasing sequence of at least two numbers in (0, 1]
        The paper's: 0.40, 0.45, …, 0.90.
    random_state : int
        Seed of the order of points of equal score.

    Examples
    --------
    >>> from clustertrust.evaluation import score_quality
    >>> score_quality([0.9, 0.8, 0.7, 0.6, 0.1], [0, 1, 0, 1, 0], [3, 4, 3, 4, 4], coverages=[0.4, 0.6, 0.8])
    1.0
    """
    known, codes, classes = _check_triple(scores, labels, truth)
    at = np.asarray(coverages, dtype=np.float64)
    m = _sizes("coverages", at, known.size)
    if at.size < 2 or (np.diff(at) <= 0).any():
        raise ValueError(f"coverages={at.tolist()} must be at least two numbers that increase.")
    drawn = np.random.default_rng(check_count("random_state", random_state, at_least=0)).permutation(known.size)
    order = drawn[np.argsort(-known[drawn], kind="stable")]
    values = [adjusted_rand_score(classes[order[:size]], codes[order[:size]]) for size in m]
    return float(np.trapezoid(values, at) / (at[-1] - at[0]))


def student_interval(values: ArrayLike, *, level: float = 0.95) -> Interval:
    """Mean ± t(level, N - 1) s / √N, s the standard deviation with N - 1; not clipped to any range.

    Parameters
    ----------
    values : (N,) finite numbers, at least two
    level : float
        Coverage of the interval, between 0 and 1.

    Examples
    --------
    >>> from clustertrust.evaluation import student_interval
    >>> student_interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484..., high=4.484...)
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1 or given.size < 2 or not np.isfinite(given).all():
        raise ValueError(f"values has shape {given.shape}; give at least two finite numbers in one flat sequence.")
    if not 0 < level < 1:
        raise ValueError(f"level={level!r} must be between 0 and 1, such as 0.95.")
    half = student.ppf((1 + level) / 2, given.size - 1) * given.std(ddof=1) / np.sqrt(given.size)
    mean = float(given.mean())
    return Interval(mean, mean - float(half), mean + float(half))


# Checks


def _check_truth(truth: Any) -> Ints:
    """(n,) classes as 0, 1, …, by first appearance; whatever is not missing is a class."""
    values = truth if isinstance(truth, pd.Series | pd.Categorical) else np.asarray(truth)
    if isinstance(truth, list | tuple) and values.dtype.kind in "US":
        values = np.asarray(truth, dtype=object)  # NumPy would have made text of a missing value
    if values.ndim != 1 or not len(values):
        raise ValueError(f"truth has shape {values.shape}; give one flat sequence of classes, one a point.")
    codes = pd.factorize(values)[0]
    if (codes < 0).any():
        raise ValueError(
            f"truth is missing for {(codes < 0).sum()} point(s), the first at position {int(np.argmin(codes))}; leave "
            "those points out."
        )
    return np.asarray(codes, dtype=np.int64)


def _check_some_scores(scores: Any) -> Floats:
    """(n,) scores, at least one of them not NaN."""
    values = check_scores(scores)
    if np.isnan(values).all():
        raise ValueError(f"scores has {values.size} values, and none is a number; there is nothing to evaluate.")
    return values


def _check_pair(scores: Any, correct: Any) -> tuple[Floats, Bools]:
    """Scores and correctness of the points that have a score."""
    values, right = _check_some_scores(scores), np.asarray(correct)
    if right.ndim != 1 or not np.isin(right, [0, 1]).all():
        raise ValueError("correct must be one flat sequence of truth values, one a point; see correctness().")
    check_same_length("scores", values, "correct", right)
    known = ~np.isnan(values)
    return values[known], right[known].astype(bool)


def _ranks(scores: Any, correct: Any) -> tuple[Ints, Bools]:
    """The same with scores as ranks, equal where they tie: scikit-learn takes no infinite scores."""
    known, right = _check_pair(scores, correct)
    return np.unique(known, return_inverse=True)[1], right


def _check_triple(scores: Any, labels: Any, truth: Any) -> tuple[Floats, Ints, Ints]:
    """Scores, labels (-1: not assigned) and classes of the points that have a score."""
    values, (codes, _), classes = _check_some_scores(scores), check_label_vector("labels", labels), _check_truth(truth)
    check_same_length("scores", values, "labels", codes)
    check_same_length("scores", values, "truth", classes)
    known = ~np.isnan(values)
    return values[known], codes[known], classes[known]


def _sizes(name: str, shares: Any, n: int) -> Ints:
    """max(1, round(share n)) for each share."""
    given = np.asarray(shares, dtype=np.float64)
    if given.ndim != 1 or not given.size or not ((given > 0) & (given <= 1)).all():
        raise ValueError(f"{name}={shares!r} must be above 0 and at most 1.")
    return np.maximum(1, np.round(given * n)).astype(np.int64)
