"""Scores, labels and the truth: how good a labelling is on its surest points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import adjusted_rand_score

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import check_choice, check_count, check_floats
from clustertrust.evaluation.checks import check_sizes, check_triple
from clustertrust.evaluation.labelling import accuracy, correctness
from clustertrust.evaluation.ranking import surest_first
from clustertrust.evaluation.records import Curve

# 0.40, 0.45, …, 0.90
QUALITY_COVERAGES = np.arange(8, 19) / 20
COVERAGES = np.arange(1, 11) / 10


def _once(right: Floats, labels: Ints, classes: Ints, m: int) -> float:
    return float(right[:m].mean())


def _anew(right: Floats, labels: Ints, classes: Ints, m: int) -> float:
    return accuracy(labels[:m], classes[:m])


ALIGNMENTS: dict[str, Callable[[Floats, Ints, Ints, int], float]] = {
    "global": _once,
    "subset": _anew,
}


def coverage_accuracy_curve(
    scores: ArrayLike,
    labels: ArrayLike,
    truth: ArrayLike,
    *,
    coverages: ArrayLike = tuple(COVERAGES),
    alignment: str = "global",
) -> Curve:
    """Return the accuracy among the round(c n) surest points, at least one, at each coverage c.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer; NaN: the point is left out
    labels : (n,) labels of any kind
    truth : (n,) classes of any kind
        See :func:`correctness`.
    coverages : sequence of numbers in (0, 1]
    alignment : {"global", "subset"}
        One matching of clusters with classes, by all points that have a score, or a new one among
        the points kept, which can only raise the accuracy. With "subset" points of equal score are
        in the order of the data.

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
    values, codes, classes = check_triple(scores, labels, truth)
    m = check_sizes("coverages", coverages, values.size)
    right = surest_first(values, correctness(codes, classes), "average")
    order = np.argsort(-values, kind="stable")
    measure = ALIGNMENTS[alignment]
    return Curve(
        m / values.size,
        np.array([measure(right, codes[order], classes[order], size) for size in m]),
    )


def score_quality(
    scores: ArrayLike,
    labels: ArrayLike,
    truth: ArrayLike,
    *,
    coverages: ArrayLike = tuple(QUALITY_COVERAGES),
    random_state: int = 0,
) -> float:
    """Return the mean ARI over coverages, Q = ∫ ARI(L) dL / (L_max - L_min).

    ARI(L) is that of the round(L n) surest points; trapezoid rule over `coverages`.

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

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.evaluation import score_quality
    >>> scores, y, labels = [0.9, 0.8, 0.7, 0.6, 0.1], [0, 1, 0, 1, 0], [3, 4, 3, 4, 4]
    >>> score_quality(scores, y, labels, coverages=[0.4, 0.6, 0.8])
    1.0
    """
    numbers, codes, classes = check_triple(scores, labels, truth)
    grid = check_floats("coverages", coverages, "at least two numbers that increase")
    m = check_sizes("coverages", grid, numbers.size)
    if grid.size < 2 or (np.diff(grid) <= 0).any():
        raise ValueError(f"coverages={grid.tolist()} must be at least two numbers that increase.")
    drawn = np.random.default_rng(
        check_count("random_state", random_state, at_least=0)
    ).permutation(numbers.size)
    order = drawn[np.argsort(-numbers[drawn], kind="stable")]
    values = [adjusted_rand_score(classes[order[:size]], codes[order[:size]]) for size in m]
    return float(np.trapezoid(values, grid) / (grid[-1] - grid[0]))
