"""Two clusters → how well a line tells them apart, and is there a valley between them along it?

In many dimensions few points lie where two clusters meet, and neighbours cannot tell how
dense it is there. On a line they can be compared: a cut through one cloud leaves the place of the
cut at least as dense as the middle of the sparser part, two clouds leave it empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtr, pdtr

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
# Principal components that a cloud may have been cut along
COMPONENTS = 3
# Of the largest variance: components with less are rounding
NO_VARIANCE = 1e-9
# Chosen by experiments/research/audit/fifths.py, on sets that it does not judge by. An exact cut:
# the AUROC along a component, and the density where the two meet, divided by that in the middle of
# the sparser one. Two bells of one size that are told apart as well have 0.18.
EXACT, DENSE = 0.999, 0.8
# A sharp cut, along any line: the level at which fewer points are on the wrong side than two bells
# would have, for clusters that the line tells apart and that have no valley.
LEVEL, APART, NO_VALLEY = 0.01, 0.95, 1.0
# Points of the smaller one that a cut needs: fewer lie at one end of a line by chance
FEWEST = 6


# Positions of points → their products (n, n), each up to a term for its row and one for its column
Products = Callable[[Ints], Floats]


def products_of(X: Any) -> Products:
    """Return the products of points, dense or sparse."""

    def products(members: Ints) -> Floats:
        gram = X[members] @ X[members].T
        gram = gram.toarray() if sparse.issparse(gram) else gram
        return np.asarray(gram, dtype=np.float64)

    return products


def products_by(distances: Callable[[Ints, Ints], Floats]) -> Products:
    """Return the products of points by the distances between two lists of positions."""
    return lambda members: -0.5 * distances(members, members) ** 2


class Along(NamedTuple):
    """Two clusters along a line: `auroc` of its order, and how deep the valley is (`depth`)."""

    auroc: float
    depth: float


class Contrast(NamedTuple):
    """How well lines tell two clusters apart; and the line of a cut, if one cloud was cut."""

    auroc: float
    cut: Along | None


def contrast(products: Products, a: Ints, b: Ints, seed: int) -> Contrast:
    """Compare points at positions `a` and `b` along lines.

    These are their first principal components, along which one cloud would be cut, and the line of
    a ridge regression. A cut is exact along a component, or sharp along the line of the regression.
    """
    some = _drawn(a, b, np.random.default_rng([seed, int(a[0]), int(b[0])]))
    is_a = np.repeat([True, False], [len(members) for members in some])
    variances, U = np.linalg.eigh(centred(products(np.concatenate(some))))
    last = np.flatnonzero(variances > NO_VARIANCE * variances[-1])[-COMPONENTS:][::-1]
    components = [_upwards(U[:, column], is_a) for column in last]
    regression = _upwards(places(variances, U, is_a), is_a)
    along = [Along(_auroc(line, is_a), depth(line, is_a)) for line in (*components, regression)]
    auroc = max(along[0].auroc, along[-1].auroc)
    if min(len(members) for members in some) < FEWEST:
        return Contrast(auroc, None)
    cuts = [one for one in along[:-1] if one.auroc >= EXACT and one.depth >= DENSE]
    if along[-1].auroc >= APART and along[-1].depth >= NO_VALLEY and is_sharp(regression, is_a):
        cuts.append(along[-1])
    return Contrast(auroc, max(cuts, default=None))


def _auroc(line: Floats, is_a: Bools) -> float:
    return probability_above(line[is_a], np.sort(line[~is_a]))


def _upwards(line: Floats, is_a: Bools) -> Floats:
    """Return the line in the direction that has `is_a` on the higher side."""
    return line if _auroc(line, is_a) >= 0.5 else -line


def is_sharp(place: Floats, is_a: Bools) -> bool:
    """Return whether fewer points are on the wrong side than two bells would have, at a level.

    The bells have the means and spreads of the two clusters; both are cut where the fewest are on
    the wrong side, and the number of these is a Poisson variable. A cloud that was cut has hardly
    any, while classes that overlap have as many as bells.
    """
    a, b = place[is_a], place[~is_a]
    spread_a, spread_b = a.std(ddof=1), b.std(ddof=1)
    if not min(spread_a, spread_b) > 0:
        return False
    at = np.linspace(b.mean(), a.mean(), STEPS)
    below, above = ndtr((at - a.mean()) / spread_a), ndtr((b.mean() - at) / spread_b)
    expected = float((len(a) * below + len(b) * above).min())
    steps = np.where(is_a[np.argsort(place, kind="stable")], 1, -1)
    wrong = len(b) + min(0, int(np.cumsum(steps).min()))
    return bool(pdtr(wrong, expected) <= LEVEL)


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


def places(variances: Floats, U: Floats, is_a: Bools) -> Floats:
    """Return the place (n,) of each point on the line that tells `is_a` from the others.

    By ridge regression with an intercept, each point by the line of all others; the penalty is the
    one with the least error. `variances` and `U` are the eigenvalues and eigenvectors of the
    products of the points.
    """
    y = np.where(is_a, 1.0, -1.0)
    variances = np.maximum(variances, 0.0)
    unit = float(variances.sum()) / len(y) or 1.0
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


def centred(gram: Floats) -> Floats:
    """Return products (n, n) of points as those of the points less their mean."""
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
