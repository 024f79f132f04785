"""X and partitions → how well Gaussian mixtures that start there explain the points.

Silhouettes and k-means assume equal spheres. A mixture gives each cluster its own size, and
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
degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from clustertrust._mixtures import (
    COVARIANCES,
    Moments,
    common_covariance,
    log_height,
    memberships,
)
from clustertrust._parallel import one_thread
from clustertrust._types import Array, Floats, Ints
from clustertrust.kernels import backend
from clustertrust.kernels.rules import SPHERICAL, Mixing

# Principal axes that mixtures are fitted in
MOST_AXES = 10
# EM steps at most
STEPS = 30
# Gain of the whole log likelihood, in nats, below which EM stops
ENOUGH = 0.5
# Smallest variance, as a share of the mean variance of the data
FLAT = 1e-6
# Degrees of freedom of Student's t
FREEDOM = 4


class Explained(NamedTuple):
    """One mixture.

    Attributes
    ----------
    covariance : name of the kind of covariances
    heavy : whether its components are Student's t
    contributions : (n,) log density of each point with its cluster
    parameters : their number
    labels : (n,) the likeliest component of each point
    icl : the criterion
    """

    covariance: str
    heavy: bool
    contributions: Floats
    parameters: int
    labels: Ints
    icl: float

    @property
    def per_point(self) -> Floats:
        """(n,) contributions less each point's part of the penalty; their mean is the ICL."""
        n = len(self.contributions)
        return np.asarray(self.contributions - 0.5 * self.parameters * np.log(n) / n)


@dataclass(frozen=True)
class Plane:
    """The points along their principal axes.

    Attributes
    ----------
    columns : (p, n) the points, centered, scaled to a mean variance of 1
    grain : (p, p) covariance of rounding: a value that is known to δ may be anywhere within it
    dropped : whether axes were left out because there are more than `MOST_AXES`
    """

    columns: Floats
    grain: Floats
    dropped: bool

    @cached_property
    def along_grain(self) -> tuple[Floats, Plane]:
        """Axes (p, p) along which the rounding is uncorrelated, and the points along these.

        Spheres look the same along any axes, and distances are faster where nothing is correlated.
        """
        variances, axes = np.linalg.eigh(self.grain)
        columns = np.ascontiguousarray(axes.T @ self.columns)
        return axes, Plane(columns, np.diag(variances), self.dropped)


def reduce(X: Array, most: int = MOST_AXES) -> Plane:
    """Turn the points to their principal axes and keep the first `most` that have any spread."""
    X = np.asarray(X, dtype=np.float64)
    centered = X - X.mean(axis=0)
    reach = np.abs(centered).max(initial=0.0)
    if reach == 0:
        return Plane(np.zeros((1, len(X))), np.zeros((1, 1)), dropped=False)
    centered = centered / reach
    _, size, axes = np.linalg.svd(centered, full_matrices=False)
    rank = int((size > size.max() * max(X.shape) * np.finfo(np.float64).eps).sum())
    turn = axes[: min(rank, most)].T
    Z = centered @ turn
    turn = turn / np.sqrt(Z.var(axis=0).mean())
    columns = np.ascontiguousarray((centered @ turn).T)
    grain = turn.T @ (_steps(centered)[:, None] ** 2 / 12 * turn)
    return Plane(columns, grain, dropped=rank > most)


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


def _moments(plane: Plane, labels: Ints) -> Moments:
    """Of the clusters of a partition."""
    P = memberships(labels, np.arange(int(labels.max()) + 1))
    return Moments(*backend().mixture_moments(plane.columns, P))


class _Start(NamedTuple):
    """Clusters that EM starts at, and the covariance that theirs are drawn to."""

    moments: Moments
    prior: Floats

    @classmethod
    def from_labels(cls, plane: Plane, labels: Ints) -> _Start:
        """Take the clusters of a partition."""
        moments = _moments(plane, labels)
        return cls(moments, common_covariance(moments, FLAT)[0])


def _fit(plane: Plane, begin: _Start, covariance: str, *, heavy: bool = False) -> Explained:
    """Take EM steps from the clusters of the start until the likelihood barely grows."""
    start = begin.moments
    kind, freedom = COVARIANCES[covariance], FREEDOM if heavy else 0
    k, p = start.means.shape
    if kind.code == SPHERICAL:
        axes, plane = plane.along_grain
        start = start._replace(means=start.means @ axes)
    mixing = Mixing(
        kind=kind.code,
        prior=begin.prior,
        extra=float(kind.prior_points(p)),
        added=plane.grain,
        freedom=freedom,
        constant=log_height(p, freedom),
        steps=STEPS,
        down=-np.inf,
        up=ENOUGH,
        moves_last=False,
    )
    _, labels, highest, _ = backend().em(plane.columns, tuple(start), mixing)
    parameters = kind.parameters(k, p) + k * p + k - 1
    penalty = 0.5 * parameters * np.log(len(highest)) / len(highest)
    return Explained(
        covariance, heavy, highest, parameters, labels, float(highest.mean() - penalty)
    )


# Volumes of clusters, by the kind of their covariances: what a merger of two changes


def _volumes(covariance: str, sizes: Floats, C: Floats, prior: Floats) -> Floats:
    """Log determinants (m,) of clusters of these sizes and covariances, each on its own."""
    kind = COVARIANCES["full" if covariance == "tied" else covariance]
    alone = Moments(sizes, np.zeros(C.shape[:2]), C)
    return np.asarray(np.linalg.slogdet(kind.covariances(alone, prior))[1])


def _merge(plane: Plane, labels: Ints, covariance: str, k: int) -> Ints:
    """Merge the two clusters that lose the least likelihood by it, until k are left."""
    while int(labels.max()) + 1 > k:
        own, prior = _Start.from_labels(plane, labels)
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
        pair = int(np.argmin(merged - each[i] - each[j]))
        labels = np.unique(np.where(labels == j[pair], i[pair], labels), return_inverse=True)[1]
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
    start = _Start.from_labels(plane, labels)
    fits = [_fit(plane, start, name) for name in COVARIANCES]
    best = max(fits, key=lambda fit: fit.icl)
    fits.append(_fit(plane, start, best.covariance, heavy=True))
    if larger is not None:
        labels_of_larger = np.unique(larger.labels, return_inverse=True)[1]
        merged = _merge(plane, labels_of_larger, larger.covariance, k)
        if _differ(merged, labels):
            start = _Start.from_labels(plane, merged)
            kinds = dict.fromkeys((larger.heavy, True))
            fits += [_fit(plane, start, larger.covariance, heavy=heavy) for heavy in kinds]
    return max(fits, key=lambda fit: fit.icl)


def explain_all(plane: Plane, partitions: Iterable[Ints]) -> list[Explained]:
    """Explain partitions of more and more clusters; return the best mixture of each."""
    best: list[Explained] = []
    with one_thread():
        for labels in reversed(list(partitions)):
            best.append(explain(plane, labels, best[-1] if best else None))
    return best[::-1]
