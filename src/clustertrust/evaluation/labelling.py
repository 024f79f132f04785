"""A labelling against the truth, and against the points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    normalized_mutual_info_score,
)

from clustertrust._types import Bools, Ints
from clustertrust._validation.arguments import check_choice
from clustertrust._validation.labels import check_label_vector
from clustertrust._validation.points import check_matrix
from clustertrust._validation.rows import check_same_length
from clustertrust.evaluation.checks import check_truth
from clustertrust.geometry import silhouettes
from clustertrust.matching import align_labels


def correctness(labels: ArrayLike, truth: ArrayLike) -> Bools:
    """Return whether π*(label) = class, π* the one best matching of clusters with classes, Eq. (5).

    Points of a cluster that is matched with no class, and points that are not assigned, are wrong.

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
    (codes, _), classes = check_label_vector("labels", labels), check_truth(truth)
    check_same_length("labels", codes, "truth", classes)
    # Classes are 0, 1, …: never the -1 of no partner.
    return np.asarray(align_labels(classes, codes) == classes)


def accuracy(labels: ArrayLike, truth: ArrayLike) -> float:
    """Return the share of the points that are right after one optimal matching.

    Parameters
    ----------
    labels, truth
        As for :func:`correctness`.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.evaluation import accuracy
    >>> accuracy([0, 0, 1, 1], ["b", "b", "a", "b"])
    0.75
    """
    return float(correctness(labels, truth).mean())


def _of_codes(index: Callable[[Ints, Ints], float]) -> Callable[[ArrayLike, ArrayLike], float]:
    """Return an index of scikit-learn; points that are not assigned are one cluster more."""

    def measure(labels: ArrayLike, truth: ArrayLike) -> float:
        codes, classes = check_label_vector("labels", labels)[0], check_truth(truth)
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
    """Return how well a labelling agrees with the true classes; 1 for the same partition.

    Parameters
    ----------
    labels : (n,) labels of any kind
        Points that are not assigned (negative, missing) are wrong for "accuracy" and one cluster of
        their own for the others.
    truth : (n,) classes of any kind
        Every value is a class, negative numbers too; none may be missing. There may be more or
        fewer classes than clusters.
    metric : {"ari", "ami", "nmi", "accuracy"}
        Adjusted Rand index, adjusted and normalised mutual information (arithmetic mean), or the
        share of points that are right after optimal matching.

    Returns
    -------
    float

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
    """Return the mean silhouette, Eq. (1), of the points kept, in the clusters that they form.

    Distances are Euclidean and exact.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    labels : (n,) labels of any kind
        Points that are not assigned (negative, missing) are left out of the mean.
    kept : (n,) bool array, optional
        Which points to keep; None: all.

    Returns
    -------
    float

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
            f"kept has dtype {mask.dtype} and shape {mask.shape}; give a bool array of shape "
            f"{codes.shape}."
        )
    check_same_length("X", X, "labels", codes)
    mask = mask & (codes >= 0)
    if mask.sum() < 2:
        raise ValueError(
            f"kept and labels leave {mask.sum()} point(s); at least 2 are needed for a silhouette."
        )
    return float(silhouettes(X[mask], [codes[mask]], geometry="exact").mean())
