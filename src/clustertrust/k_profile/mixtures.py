"""X and partitions → how well Gaussian mixtures that start there explain the points.

Silhouettes and k-means speak of equal spheres. A mixture gives each cluster its own size, and
according to its covariances its own spread and shape, and pays for every parameter. Where points
lie far out, Student's t takes the place of the Gaussian, so that outliers need no cluster of their
own. The criterion is the integrated classification likelihood (ICL) per point: the mean log density
of the points with their cluster, less half the number of parameters times log(n)/n.

References
----------
C. Biernacki, G. Celeux and G. Govaert, "Assessing a mixture model for clustering with the
integrated completed likelihood", IEEE Transactions on Pattern Analysis and Machine Intelligence 22
(2000). D. Peel and G. J. McLachlan, "Robust mixture modelling using the t distribution", Statistics
and Computing 10 (2000). K. L. Lange, R. J. A. Little and J. M. G. Taylor, "Robust statistical
modeling using the t distribution", Journal of the American Statistical Association 84 (1989): four
degrees of freedom. C. Fraley and A. E. Raftery, "Bayesian regularization for normal mixture
estimation and model-based clustering", Journal of Classification 24 (2007): a prior worth a few
points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from clustertrust._parallel import one_thread
from clustertrust._types import Floats, Ints

__all__ = ["COVARIANCES", "MOST_AXES", "Explained", "Plane", "explain", "explain_all", "reduce"]

MOST_AXES = 10  # principal axes that mixtures are fitted in
STEPS = 30  # EM steps at most
ENOUGH = 0.5  # gain of the whole log likelihood, in nats, below which EM stops
FLAT = 1e-6  # smallest variance, as a share of the mean variance of the data
FREEDOM = 4.0  # degrees of freedom of Student's t
LEAST = -300.0  # log of the smallest membership: products of subnormal numbers are slow


class Explained(NamedTuple):
    """One mixture.

    Attributes
    ----------
    covariance : name of the kind of covariances
    heavy : whether its components are Student's t
    contributions : (n,) log density of each point with its cluster
    parameters : their number
    labels : (n,) cluster of each point, 0, 1, … without gaps
    """

    covariance: str
    heavy: bool
    contributions: Floats
    parameters: int
    labels: Ints

    @property
    def per_point(self) -> Floats:
        """(n,) contributions less each point's part of the penalty; their mean is the ICL."""
        n = len(self.contributions)
        return np.asarray(self.contributions - 0.5 * self.parameters * np.log(n) / n)

    @property
    def icl(self) -> float:
        """The criterion."""
        return float(self.per_point.mean())


@dataclass(frozen=True)
class Plane:
    """The points along their principal axes, and what EM sums over them, made once.

    Attributes
    ----------
    Z : (n, p) the points, centred, scaled to a mean variance of 1
    terms : (1 + p + p (p + 1) / 2, n) of each point 1, z_a, and z_a z_b for a ≤ b; sums of a step
        and distances are one product with them. A column for each point: with few clusters, steps
        along points are the fast ones
    pairs : a and b of these products
    grain : (p, p) covariance of rounding: a value that is known to δ may be anywhere within it
    dropped : whether axes were left out because there are more than `MOST_AXES`
    """

    Z: Floats
    terms: Floats
    pairs: tuple[Ints, Ints]
    grain: Floats
    dropped: bool

    @classmethod
    def of(cls, Z: Floats, grain: Floats, *, dropped: bool) -> Plane:
        """Make the terms of the points."""
        a, b = np.triu_indices(Z.shape[1])
        columns = Z.T
        terms = np.vstack([np.ones((1, len(Z))), columns, columns[a] * columns[b]])
        return cls(Z, terms, (a, b), grain, dropped)


def reduce(X: NDArray, most: int = MOST_AXES) -> Plane:
    """Turn the points to their principal axes and keep the first `most` that have any spread."""
    X = np.asarray(X, dtype=np.float64)
    centred = X - X.mean(axis=0)
    reach = np.abs(centred).max(initial=0.0)
    if reach == 0:
        return Plane.of(np.zeros((len(X), 1)), np.zeros((1, 1)), dropped=False)
    centred = centred / reach
    _, size, axes = np.linalg.svd(centred, full_matrices=False)
    rank = int((size > size.max() * max(X.shape) * np.finfo(np.float64).eps).sum())
    turn = axes[: min(rank, most)].T
    Z = centred @ turn
    turn = turn / np.sqrt(Z.var(axis=0).mean())
    Z = centred @ turn
    grain = turn.T @ (_steps(centred)[:, None] ** 2 / 12 * turn)
    return Plane.of(Z, grain, dropped=rank > most)


def _steps(X: Floats) -> Floats:
    """Return the typical step δ from one value to the next in each column, (d,).

    It is large in columns of counts, codes or rounded values, where a cluster of equal values would
    otherwise have a density without bound; in other columns it is next to nothing.
    """
    steps = np.zeros(X.shape[1])
    for column, values in enumerate(X.T):
        distinct = np.unique(values)
        if len(distinct) > 1:
            steps[column] = np.median(np.diff(distinct))
    return steps


class _Moments(NamedTuple):
    """Of the clusters of one step: sizes (k,), means (k, p), covariances (k, p, p)."""

    sizes: Floats
    means: Floats
    covariances: Floats

    @classmethod
    def of(cls, plane: Plane, P: Floats, weights: Floats | None = None) -> _Moments:
        """From memberships P (k, n); `weights` (k, n) count points far out for less."""
        least = np.finfo(np.float64).tiny
        sums = (P if weights is None else P * weights) @ plane.terms.T
        mass = np.maximum(sums[:, 0], least)
        sizes = mass if weights is None else np.maximum(P.sum(axis=1), least)
        k, p = len(P), plane.Z.shape[1]
        means = sums[:, 1 : 1 + p] / mass[:, None]
        a, b = plane.pairs
        C = np.empty((k, p, p))
        share = (mass / sizes)[:, None]
        C[:, a, b] = C[:, b, a] = (
            sums[:, 1 + p :] / sizes[:, None] - share * means[:, a] * means[:, b]
        )
        return cls(sizes, means, C)

    @classmethod
    def of_labels(cls, plane: Plane, labels: Ints) -> _Moments:
        """From a partition."""
        P = np.zeros((int(labels.max()) + 1, len(labels)))
        P[labels, np.arange(len(labels))] = 1.0
        return cls.of(plane, P)


# Moments and the prior covariance → covariances (k, p, p) and the number of their parameters. Each
# covariance counts a few points more that have the prior's, so that small clusters have one too.


def _full(moments: _Moments, prior: Floats) -> tuple[Floats, int]:
    k, p = moments.means.shape
    extra = p + 2
    n = moments.sizes[:, None, None]
    return (n * moments.covariances + extra * prior) / (n + extra), k * p * (p + 1) // 2


def _diagonal(moments: _Moments, prior: Floats) -> tuple[Floats, int]:
    k, p = moments.means.shape
    n = moments.sizes[:, None]
    own = np.diagonal(moments.covariances, axis1=1, axis2=2)
    return ((n * own + 3 * np.diag(prior)) / (n + 3))[:, :, None] * np.eye(p), k * p


def _spherical(moments: _Moments, prior: Floats) -> tuple[Floats, int]:
    k, p = moments.means.shape
    n = moments.sizes
    own = np.trace(moments.covariances, axis1=1, axis2=2) / p
    spread = (n * own + 3 * np.trace(prior) / p) / (n + 3)
    return spread[:, None, None] * np.eye(p), k


def _tied(moments: _Moments, prior: Floats) -> tuple[Floats, int]:
    k, p = moments.means.shape
    extra, n = p + 2, moments.sizes.sum()
    within = np.tensordot(moments.sizes, moments.covariances, axes=1)
    return np.broadcast_to((within + extra * prior) / (n + extra), (k, p, p)), p * (p + 1) // 2


COVARIANCES: dict[str, Callable[[_Moments, Floats], tuple[Floats, int]]] = {
    "spherical": _spherical,
    "diagonal": _diagonal,
    "tied": _tied,
    "full": _full,
}


def _distances(plane: Plane, means: Floats, C: Floats) -> Floats:
    """Squared distance of every mean to every point in units of its covariance, (k, n).

    One matrix product, whatever the covariances: (z - m)' C⁻¹ (z - m), multiplied out.
    """
    precision = np.linalg.inv(C)
    a, b = plane.pairs
    quadratic = precision[:, a, b] * np.where(a == b, 1.0, 2.0)
    linear = np.einsum("kab,kb->ka", precision, means)
    constant = (linear * means).sum(axis=1)
    squares = np.hstack([constant[:, None], -2 * linear, quadratic]) @ plane.terms
    return np.maximum(squares, 0.0, out=squares)


def _prior(start: _Moments) -> Floats:
    """The covariance within the clusters of the start, drawn towards a sphere by p + 2 points."""
    p, n = start.means.shape[1], start.sizes.sum()
    within = np.tensordot(start.sizes / n, start.covariances, axes=1)
    sphere = max(float(np.trace(within)) / p, FLAT)
    return np.asarray((n * within + (p + 2) * sphere * np.eye(p)) / (n + p + 2))


def _fit(plane: Plane, start: _Moments, covariance: str, *, heavy: bool = False) -> Explained:
    """Take EM steps from the clusters of the start until the likelihood hardly grows."""
    moments = start
    k, p = moments.means.shape
    prior, last = _prior(moments), -np.inf
    for _ in range(STEPS):
        C, parameters = COVARIANCES[covariance](moments, prior)
        C = C + plane.grain
        squares = _distances(plane, moments.means, C)
        constant = np.log(moments.sizes / moments.sizes.sum()) - 0.5 * np.linalg.slogdet(C)[1]
        if heavy:
            constant += gammaln((FREEDOM + p) / 2) - gammaln(FREEDOM / 2)
            constant -= 0.5 * p * np.log(FREEDOM * np.pi)
            joint = constant[:, None] - 0.5 * (FREEDOM + p) * np.log1p(squares / FREEDOM)
        else:
            joint = (constant - 0.5 * p * np.log(2 * np.pi))[:, None] - 0.5 * squares
        highest = joint.max(axis=0)
        P = np.exp(np.maximum(joint - highest, LEAST))
        total = P.sum(axis=0)
        likelihood = float((highest + np.log(total)).sum())
        if likelihood - last < ENOUGH:
            break
        last = likelihood
        P /= total
        moments = _Moments.of(plane, P, (FREEDOM + p) / (FREEDOM + squares) if heavy else None)
    found = np.unique(joint.argmax(axis=0), return_inverse=True)[1]
    return Explained(covariance, heavy, highest, parameters + k * p + k - 1, found)


# Volumes of clusters, by the kind of their covariances: what a merger of two changes


def _volumes(covariance: str, sizes: Floats, C: Floats, prior: Floats) -> Floats:
    """Log determinants (m,) of clusters of these sizes and covariances, each on its own."""
    kind = COVARIANCES["full" if covariance == "tied" else covariance]
    alone = _Moments(sizes, np.zeros(C.shape[:2]), C)
    return np.asarray(np.linalg.slogdet(kind(alone, prior)[0])[1])


def _merge(plane: Plane, labels: Ints, covariance: str, k: int) -> Ints:
    """Merge the two clusters that lose the least likelihood by it, until k are left."""
    while int(labels.max()) + 1 > k:
        own = _Moments.of_labels(plane, labels)
        prior = _prior(own)
        i, j = np.triu_indices(len(own.sizes), 1)
        a, b = own.sizes[i, None, None], own.sizes[j, None, None]
        apart = own.means[i] - own.means[j]
        both = own.sizes[i] + own.sizes[j]
        C = (a * own.covariances[i] + b * own.covariances[j]) / (a + b)
        C += a * b / (a + b) ** 2 * apart[:, :, None] * apart[:, None, :]
        each = own.sizes * (
            _volumes(covariance, own.sizes, own.covariances, prior) / 2 - np.log(own.sizes)
        )
        merged = both * (_volumes(covariance, both, C, prior) / 2 - np.log(both))
        at = int(np.argmin(merged - each[i] - each[j]))
        labels = np.unique(np.where(labels == j[at], i[at], labels), return_inverse=True)[1]
    return labels


def _differ(one: Ints, other: Ints) -> bool:
    """Return whether two partitions differ by more than the names of their clusters."""
    k = int(other.max()) + 1
    return not len(np.unique(one * k + other)) == k == int(one.max()) + 1


def explain(plane: Plane, labels: Ints, larger: Explained | None = None) -> Explained:
    """Fit mixtures that start at `labels` (n,), and return the best by ICL.

    Each kind of covariances is tried, the best also with Student's t. `larger` is the best mixture
    of more clusters: with clusters merged it is another start, for what the clusterer did not find.
    Labels are 0, 1, … without gaps. O(n k p²) a step.
    """
    k = int(labels.max()) + 1
    start = _Moments.of_labels(plane, labels)
    fits = [_fit(plane, start, name) for name in COVARIANCES]
    best = max(fits, key=lambda fit: fit.icl)
    fits.append(_fit(plane, start, best.covariance, heavy=True))
    if larger is not None:
        merged = _merge(plane, larger.labels, larger.covariance, k)
        if _differ(merged, labels):
            start = _Moments.of_labels(plane, merged)
            kinds = dict.fromkeys((larger.heavy, True))
            fits += [_fit(plane, start, larger.covariance, heavy=heavy) for heavy in kinds]
    return max(fits, key=lambda fit: fit.icl)


def explain_all(plane: Plane, partitions: Iterable[Ints]) -> list[Explained]:
    """Explain partitions of more and more clusters; return the best mixture of each."""
    found: list[Explained] = []
    with one_thread():
        for labels in reversed(list(partitions)):
            found.append(explain(plane, labels, found[-1] if found else None))
    return found[::-1]
