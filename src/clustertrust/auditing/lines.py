"""Two clusters → is there a valley between them, along the line that tells them apart best?

In many dimensions hardly any point lies where two clusters meet, and neighbours cannot tell how
dense it is there. On a line they can be compared: a cut through one cloud leaves the place of the
cut at least as dense as the middle of the sparser part, two clouds leave it empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from clustertrust._types import Bools, Floats, Ints

# Points of each cluster that are compared; more hardly make the line better.
MOST = 200
# Columns up to which neighbours see every valley themselves
FEW_COLUMNS = 3
# Strengths of the ridge penalty, in units of the points' mean variance
PENALTIES = np.logspace(-4, 2, 13)
# Width of the kernel of densities, in standard deviations within a cluster
BANDWIDTH = 0.35
STEPS = 101


def has_valley(X: Any, a: Ints, b: Ints, seed: int) -> bool:
    """Return whether points at positions `a` and `b` are two clouds, seen along one line."""
    rng = np.random.default_rng([seed, int(a[0]), int(b[0])])
    some = [np.sort(rng.permutation(members)[:MOST]) for members in (a, b)]
    is_a = np.repeat([True, False], [len(members) for members in some])
    return depth(places(X[np.concatenate(some)], is_a), is_a) < 1


def places(X: Any, is_a: Bools) -> Floats:
    """Return the place (n,) of each point on the line that tells `is_a` from the others.

    By ridge regression with an intercept, each point by the line of all others; the penalty is the
    one with the least error. O(n² d + n³); rows may be sparse.
    """
    gram = X @ X.T
    gram = np.asarray(gram.toarray() if sparse.issparse(gram) else gram, dtype=np.float64)
    mean = gram.mean(axis=0)
    gram += mean.mean() - mean - mean[:, None]
    y = np.where(is_a, 1.0, -1.0)
    variances, U = np.linalg.eigh(gram)
    variances = np.maximum(variances, 0.0)
    unit = max(variances.sum() / len(y), np.finfo(float).tiny)
    projected = U.T @ (y - y.mean())
    least, best = np.inf, y
    for penalty in unit * PENALTIES:
        inverse = 1 / (variances + penalty)
        # Less what the mean of all takes of a point: it is part of the fit, and must not see it.
        unseen = (U * U) @ inverse - 1 / (len(y) * penalty)
        away = (U @ (inverse * projected)) / unseen
        error = float(away @ away)
        if error < least:
            least, best = error, y - away
    return best


def depth(place: Floats, is_a: Bools) -> float:
    """Return the density where the two meet, divided by that in the middle of the sparser one.

    Below 1 there is a valley. It is 1 if a is not on the higher side: the line tells nothing.
    """
    a, b = place[is_a], place[~is_a]
    low, high = float(np.median(b)), float(np.median(a))
    width = BANDWIDTH * float(np.sqrt((a.var() + b.var()) / 2))
    if low >= high or not width > 0:
        return 1.0 if low >= high else 0.0
    along = np.linspace(low, high, STEPS)
    of_a, of_b = (
        np.exp(-(((along[:, None] - part) / width) ** 2) / 2).sum(axis=1) for part in (a, b)
    )
    total = of_a + of_b
    meet = np.flatnonzero(of_b >= of_a)
    return float(total[meet[-1] if meet.size else 0] / min(total[0], total[-1]))
