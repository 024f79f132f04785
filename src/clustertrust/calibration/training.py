"""Clusters and scores → labels and weights that scikit-learn's classifiers take."""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._types import Array, Bools, Floats
from clustertrust._validation.arguments import check_inside, check_scores, warn_user
from clustertrust._validation.labels import check_label_vector
from clustertrust._validation.rows import check_same_length
from clustertrust.selection import select_above, select_top


def pseudo_labels(
    labels: Any,
    scores: Any,
    *,
    threshold: float | None = None,
    share: float | None = None,
    random_state: Any = 0,
) -> Array:
    """Return the labels of the sure points, and -1 (unlabelled in scikit-learn) for all others.

    Train a classifier on the points that are not -1, or pass all of them to
    `sklearn.semi_supervised`.

    Parameters
    ----------
    labels : (n,) cluster or class of each point, of any kind
        Points that are not assigned (negative, missing) get -1.
    scores : (n,) numbers, higher is surer; NaN gets -1
    threshold : float, optional
        Keep scores above it, such as :attr:`RiskThreshold.threshold`. A warning lists clusters that
        have none.
    share : float, optional
        Keep this share of each cluster, its surest points, at least one. Clusters differ in how
        high they score: among the surest points of all, some clusters may have none, and a
        classifier would never see them. Give exactly one of `threshold` and `share`.
    random_state : int, RandomState or None
        With `share`: chooses among points that tie at the cut.

    Returns
    -------
    (n,) array
        Integers if labels are, else objects (text and -1), as `SelfTrainingClassifier`
        expects.

    Examples
    --------
    >>> from clustertrust.calibration import pseudo_labels
    >>> pseudo_labels([0, 0, 1, 1], [0.9, 0.2, 0.8, 0.6], threshold=0.5).tolist()
    [0, -1, 1, 1]
    >>> pseudo_labels(["a", "a", "b", "b"], [0.9, 0.2, 0.4, 0.3], share=0.5).tolist()
    ['a', -1, 'b', -1]
    """
    codes, names = check_label_vector("labels", labels)
    values = check_scores(scores)
    check_same_length("labels", codes, "scores", values)
    if (threshold is None) == (share is None):
        raise ValueError(f"threshold={threshold!r} and share={share!r}: give exactly one of them.")
    if threshold is not None:
        kept = select_above(values, threshold) & (codes >= 0)
        lost = [name for code, name in enumerate(names.tolist()) if not kept[codes == code].any()]
        if lost:
            warn_user(
                f"No point of the clusters {lost} scores above threshold={threshold!r}; use share, "
                "or a lower one."
            )
    else:
        kept = _surest_of_each(codes, values, share, random_state)
    dtype = np.int64 if names.dtype.kind in "iu" else object
    out = np.full(len(codes), -1, dtype=dtype)
    out[kept] = names.astype(dtype)[codes[kept]]
    return out


def _surest_of_each(codes: Array, values: Floats, share: Any, random_state: Any) -> Bools:
    """Return a mask of the surest ⌊share · size⌋ points of each cluster, at least one."""
    share = check_inside("share", share, ends="(]", remedy="0.6 keeps 60% of each cluster")
    kept = np.zeros(len(codes), dtype=bool)
    for code in range(codes.max(initial=-1) + 1):
        members = np.flatnonzero((codes == code) & ~np.isnan(values))
        if members.size:
            least = max(share, 1 / members.size)
            kept[members[select_top(values[members], least, random_state=random_state)]] = True
    return kept


def sample_weight(scores: Any) -> Floats:
    """Return weights s / mean(s) for `fit(X, labels, sample_weight=…)`; 0 for a missing score.

    A classifier then gives more weight to surer points. Probabilities of a :class:`Calibrator` work
    as well as scores.

    Parameters
    ----------
    scores : (n,) numbers of at least 0, higher is surer

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> from clustertrust.calibration import sample_weight
    >>> sample_weight([0.9, 0.3, 0.0, float("nan")]).round(3).tolist()
    [3.0, 1.0, 0.0, 0.0]
    """
    values = check_scores(scores)
    values = np.where(np.isnan(values), 0.0, values)
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise ValueError("scores must be finite, at least 0 and not all 0, to serve as weights.")
    return np.asarray(values / values.mean())
