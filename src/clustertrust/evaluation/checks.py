"""What the measures check first: the truth, and points without a score left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Bools, Floats, Ints
from clustertrust._validation.arguments import check_floats, check_scores
from clustertrust._validation.labels import check_label_vector
from clustertrust._validation.rows import check_same_length


def check_truth(truth: Any) -> Ints:
    """(n,) classes as 0, 1, …, by first appearance; every value that is not missing is a class."""
    values = truth if isinstance(truth, pd.Series | pd.Categorical) else np.asarray(truth)
    if isinstance(truth, list | tuple) and values.dtype.kind in "US":
        # NumPy would have made text of a missing value
        values = np.asarray(truth, dtype=object)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"truth has shape {values.shape}; give one flat sequence of classes, one per point."
        )
    codes = pd.factorize(values)[0]
    if (codes < 0).any():
        raise ValueError(
            f"truth is missing for {(codes < 0).sum()} point(s), the first at position "
            f"{int(np.argmin(codes))}; leave those points out."
        )
    return np.asarray(codes, dtype=np.int64)


def _check_some_scores(scores: Any) -> Floats:
    """(n,) scores, at least one of them not NaN."""
    values = check_scores(scores)
    if np.isnan(values).all():
        raise ValueError(
            f"scores has {values.size} values, and none is a number; there is nothing to evaluate."
        )
    return values


def check_pair(scores: Any, correct: Any) -> tuple[Floats, Bools]:
    """Scores and correctness of the points that have a score."""
    values, right = _check_some_scores(scores), np.asarray(correct)
    if right.ndim != 1 or not np.isin(right, [0, 1]).all():
        raise ValueError(
            "correct must be one flat sequence of booleans, one per point; see correctness()."
        )
    check_same_length("scores", values, "correct", right)
    scored = ~np.isnan(values)
    return values[scored], right[scored].astype(bool)


def check_triple(scores: Any, labels: Any, truth: Any) -> tuple[Floats, Ints, Ints]:
    """Return the scores, labels (-1: not assigned) and classes of the points that have a score."""
    values, classes = _check_some_scores(scores), check_truth(truth)
    codes, _ = check_label_vector("labels", labels)
    check_same_length("scores", values, "labels", codes)
    check_same_length("scores", values, "truth", classes)
    scored = ~np.isnan(values)
    return values[scored], codes[scored], classes[scored]


def check_sizes(name: str, shares: Any, n: int) -> Ints:
    """max(1, round(share n)) for each share."""
    values = check_floats(name, shares, "above 0 and at most 1")
    if values.ndim != 1 or not values.size or not ((values > 0) & (values <= 1)).all():
        raise ValueError(f"{name}={shares!r} must be above 0 and at most 1.")
    return np.maximum(1, np.round(values * n)).astype(np.int64)
