"""Two clusters → how well a line tells them apart, and is there a valley between them along it?

In many dimensions few points lie where two clusters meet, and neighbours cannot tell how
dense it is there. On a line they can be compared: a cut through one cloud leaves the place of the
cut at least as dense as the middle of the sparser part, two clouds leave it empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from clustertrust._types import Bools, Floats, Ints

# Points of both clusters that are compared; more barely improve the line.
MOST = 400
# Points of the smaller one, if it has as many, whatever its share
LEAST = 20
# Strengths of the ridge penalty, in units of the points' mean variance
PENALTIES = np.logspace(-4, 2, 13)
# Width of the kernel of densities, in standard deviations within a cluster
BANDWIDTH = 0.35
STEPS = 101


class Contrast(NamedTuple):
    """Two clusters along a line: `auroc` of its order, and how deep the valley is (`depth`)."""

    auroc: float
    depth: float


def contrast(X: Any, a: Ints, b: Ints, seed: int) -> Contrast:
    """Compare points at positions `a` and `b` along the line that tells them apart better.

    One is their first principal component, along which one cloud would be cut, the other the line
    of a ridge regression.
    """
    some = _drawn(a, b, np.random.default_rng([seed, int(a[0]), int(b[0])]))
    is_a = np.repeat([True, False], [len(members) for members in some])
    points = X[np.concatenate(some)]
    variances, U = np.linalg.eigh(_centred_gram(points))
    lines = U[:, -1], _by_ridge(variances, U, is_a)
    return max((_along(line, is_a) for line in lines), key=lambda seen: seen.auroc)


def _along(line: Floats, is_a: Bools) -> Contrast:
    """Compare two clusters along a line, in the direction that has `is_a` on the higher side."""
    auroc = probability_above(line[is_a], np.sort(line[~is_a]))
    return Contrast(auroc, depth(line, is_a)) if auroc >= 0.5 else _along(-line, is_a)


def _drawn(a: Ints, b: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return as large a share of both as fits, so that their densities can be compared."""
    share = min(1.0, MOST / (len(a) + len(b)))
    sizes = (max(LEAST, round(share * len(members))) for members in (a, b))
    first, second = (
        np.sort(rng.permutation(members)[:size])
        for members, size in zip((a, b), sizes, strict=True)
    )
    return first, second


def probability_above(x: Floats, rising: Floats) -> float:
    """Return P(x > y) + P(x = y) / 2 for a pair drawn from both; y are values that rise."""
    below, up_to = (np.searchsorted(rising, x, side=side) for side in ("left", "right"))
    return float((below + up_to).mean() / (2 * len(rising)))


def places(X: Any, is_a: Bools) -> Floats:
    """Return the place (n,) of each point on the line that tells `is_a` from the others.

    By ridge regression with an intercept, each point by the line of all others; the penalty is the
    one with the least error. O(n² d + n³); rows may be sparse.
    """
    return _by_ridge(*np.linalg.eigh(_centred_gram(X)), is_a)


def _by_ridge(variances: Floats, U: Floats, is_a: Bools) -> Floats:
    """Return `places` by the eigenvalues and eigenvectors of the points' products."""
    y = np.where(is_a, 1.0, -1.0)
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


def _centred_gram(X: Any) -> Floats:
    """Return the products (n, n) of the rows, less their mean."""
    gram = X @ X.T
    gram = np.asarray(gram.toarray() if sparse.issparse(gram) else gram, dtype=np.float64)
    mean = gram.mean(axis=0)
    return np.asarray(gram + mean.mean() - mean - mean[:, None])


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
