"""Mixtures by EM: what a step sums over the points, the covariances it takes, and the densities.

Memberships, distances and densities are (k, n), a column for each point: with few clusters, steps
along points are the fast ones.

References
----------
EM for mixtures: A. P. Dempster, N. M. Laird and D. B. Rubin, Journal of the Royal Statistical
Society B 39 (1977) 1-38. Own covariances drawn towards a common one: J. H. Friedman, Journal of the
American Statistical Association 84 (1989) 165-175; by a prior worth a few points: C. Fraley and A.
E. Raftery, "Bayesian regularization for normal mixture estimation and model-based clustering",
Journal of Classification 24 (2007) 155-181.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from clustertrust._parallel import blocks
from clustertrust._types import Floats, Ints

LEAST = np.finfo(np.float64).tiny
# A density this much below the largest, as a logarithm, moves no digit of a sum of densities.
NOTHING = 40.0
# So small a membership moves no digit of a sum.
NO_MEMBER = 1e-30
# More pairs of points and components than this share are computed together, not picked out.
PICKED = 0.3
# Points, components and axes, multiplied: so many differences stay in the cache, and all components
# are worked on at once. With more the loop over components is faster.
TOGETHER = 250_000


class Moments(NamedTuple):
    """Of the clusters of one step: sizes (k,), means (k, p), covariances (k, p, p)."""

    sizes: Floats
    means: Floats
    covariances: Floats


def memberships(labels: Ints, names: Ints) -> Floats:
    """(k, n) 1 where a point has the label of this name."""
    return np.asarray((labels == names[:, None]).astype(np.float64))


def row_blocks(n: int, D: int, k: int) -> Iterator[slice]:
    """Yield blocks of rows, small enough for a few arrays of D and of k columns."""
    return blocks(n, 8 * (3 * D + 3 * k))


@dataclass(frozen=True)
class PointsByDifference:
    """Points Z (n, p), any number of them, in blocks of rows.

    Sums and distances come from differences, so that tight clusters lose no digits.
    """

    Z: Floats

    def moments(self, P: Floats) -> Moments:
        """Return the moments of clusters with memberships P (k, n)."""
        sizes = np.maximum(P.sum(axis=1), LEAST)
        means = (P @ self.Z) / sizes[:, None]
        n, p = self.Z.shape
        if self.Z.size * len(sizes) <= TOGETHER:
            apart = self.Z - means[:, None]
            sums = (P[:, :, None] * apart).transpose(0, 2, 1) @ apart
            return Moments(sizes, means, sums / sizes[:, None, None])
        covariances = np.zeros((len(sizes), p, p))
        for mean, own, covariance in zip(means, P, covariances, strict=True):
            # With many clusters most points are no members of one.
            members = np.flatnonzero(own > NO_MEMBER)
            picked = len(members) <= PICKED * n
            for rows in [members] if picked else row_blocks(n, p, k=1):
                deviation = self.Z[rows] - mean
                covariance += (deviation * own[rows, None]).T @ deviation
        return Moments(sizes, means, covariances / sizes[:, None, None])

    def squares(self, means: Floats, covariances: Floats) -> Floats:
        """Return squared distances to every mean in units of its covariance, (k, n)."""
        n, p = self.Z.shape
        out = np.zeros((len(means), n))
        for j, whiten in enumerate(_whiteners(covariances)):
            for rows in row_blocks(n, p, k=1):
                out[j, rows] = _squares(self.Z[rows], means[j], whiten)
        return out


def _squares(Z: Floats, mean: Floats, whiten: Floats) -> Floats:
    whitened = (Z - mean) @ whiten
    return np.asarray(np.einsum("ij,ij->i", whitened, whitened))


def _whiteners(covariances: Floats) -> Floats:
    """Return the matrices (k, p, p) that give differences to means a covariance of 1."""
    return np.linalg.inv(np.linalg.cholesky(covariances)).transpose(0, 2, 1)


class Joint(NamedTuple):
    """log(share_j f_j(z)) of points, as far as it counts.

    Attributes
    ----------
    logs : (k, n); -inf where it is negligible next to the largest
    first : (n,) a component that is the largest, but for `shared` points
    shared : positions of the points for which several components may count
    """

    logs: Floats
    first: Ints
    shared: Ints

    def total(self) -> Floats:
        """Return log Σ_j share_j f_j(z), (n,)."""
        total = self.logs[self.first, np.arange(len(self.first))]
        some = self.logs[:, self.shared]
        largest = some.max(axis=0)
        total[self.shared] = largest + np.log(np.exp(some - largest).sum(axis=0))
        return np.asarray(total)

    def labels(self) -> Ints:
        """Return the component that is the largest, (n,)."""
        labels = self.first.copy()
        labels[self.shared] = self.logs[:, self.shared].argmax(axis=0)
        return labels


@dataclass(frozen=True)
class Densities:
    """Gaussians as they are computed: log(share_j f_j) at the mean (k,), means, whiteners."""

    peaks: Floats
    means: Floats
    whiteners: Floats

    def log_joint(self, Z: Floats) -> Joint:
        """Return log(share_j f_j(z)).

        With many clusters a point is far from most. Its distance to a mean and the widest direction
        of the covariance bound a density; only those that may count are computed.
        """
        everyone = np.arange(len(Z))
        if Z.size * len(self.means) <= TOGETHER:
            whitened = (Z - self.means[:, None]) @ self.whiteners
            squares = np.einsum("kij,kij->ki", whitened, whitened)
            return Joint(self.peaks[:, None] - 0.5 * squares, np.zeros_like(everyone), everyone)
        values = np.full((len(self.means), len(Z)), -np.inf)

        def fill(j: int, rows: Ints) -> None:
            squares = _squares(Z.take(rows, axis=0), self.means[j], self.whiteners[j])
            values[j, rows] = self.peaks[j] - 0.5 * squares

        most = self._bounds(Z)
        first = most.argmax(axis=0)
        for j in range(len(values)):
            fill(j, np.flatnonzero(first == j))
        near = most > values[first, everyone] - NOTHING
        near[first, everyone] = False
        for j, some in enumerate(near):
            fill(j, np.flatnonzero(some))
        return Joint(values, first, np.flatnonzero(near.any(axis=0)))

    @cached_property
    def _bound(self) -> tuple[Floats, Floats]:
        """A point in the middle, and for each Gaussian the factors (k, p + 2) of `_bounds`.

        The bound is peak - |z - mean|² / (2 v), v being the largest variance in any direction: with
        z counted from the middle a sum over its coordinates, 1, and its square.
        """
        tightest = np.linalg.svd(self.whiteners, compute_uv=False).min(axis=1) ** 2
        middle = self.means.mean(axis=0)
        apart = self.means - middle
        at_middle = self.peaks - 0.5 * tightest * (apart**2).sum(axis=1)
        return middle, np.column_stack([tightest[:, None] * apart, at_middle, -0.5 * tightest])

    def _bounds(self, Z: Floats) -> Floats:
        """Return what no log(share_j f_j(z)) exceeds but for rounding, (k, n)."""
        middle, factors = self._bound
        n, p = Z.shape
        terms = np.ones((n, p + 2))
        apart = np.subtract(Z, middle, out=terms[:, :p])
        np.einsum("ij,ij->i", apart, apart, out=terms[:, -1])
        return np.asarray(factors @ terms.T)


@dataclass(frozen=True)
class PointsByTerm:
    """Few points along few axes, with all that EM sums over them made once.

    Sums of a step and distances are one matrix product, multiplied out.

    Attributes
    ----------
    Z : (n, p) the points, centered, scaled to a mean variance of 1
    terms : (1 + p + p (p + 1) / 2, n) of each point 1, z_a, and z_a z_b for a ≤ b
    pairs : a and b of these products
    """

    Z: Floats
    terms: Floats
    pairs: tuple[Ints, Ints]

    @classmethod
    def from_points(cls, Z: Floats) -> PointsByTerm:
        """Make the terms of the points."""
        a, b = np.triu_indices(Z.shape[1])
        columns = Z.T
        return cls(Z, np.vstack([np.ones((1, len(Z))), columns, columns[a] * columns[b]]), (a, b))

    def moments(self, P: Floats, weights: Floats | None = None) -> Moments:
        """From memberships P (k, n); `weights` (k, n) count points far out for less."""
        sums = (P if weights is None else P * weights) @ self.terms.T
        mass = np.maximum(sums[:, 0], LEAST)
        sizes = mass if weights is None else np.maximum(P.sum(axis=1), LEAST)
        k, p = len(P), self.Z.shape[1]
        means = sums[:, 1 : 1 + p] / mass[:, None]
        a, b = self.pairs
        C = np.empty((k, p, p))
        share = (mass / sizes)[:, None]
        C[:, a, b] = C[:, b, a] = (
            sums[:, 1 + p :] / sizes[:, None] - share * means[:, a] * means[:, b]
        )
        return Moments(sizes, means, C)

    def squares(self, means: Floats, covariances: Floats) -> Floats:
        """Squared distances (z - m)' C⁻¹ (z - m) to every mean, (k, n)."""
        precision = np.linalg.inv(covariances)
        a, b = self.pairs
        quadratic = precision[:, a, b] * np.where(a == b, 1.0, 2.0)
        linear = np.einsum("kab,kb->ka", precision, means)
        constant = (linear * means).sum(axis=1)
        squares = np.hstack([constant[:, None], -2 * linear, quadratic]) @ self.terms
        return np.maximum(squares, 0.0, out=squares)


# Moments and the prior covariance → covariances (k, p, p) and the number of their parameters. Each
# covariance counts a few points more that have the prior's, so that small clusters have one too.


def _full(moments: Moments, prior: Floats) -> tuple[Floats, int]:
    k, p = moments.means.shape
    extra = p + 2
    n = moments.sizes[:, None, None]
    return (n * moments.covariances + extra * prior) / (n + extra), k * p * (p + 1) // 2


def _diagonal(moments: Moments, prior: Floats) -> tuple[Floats, int]:
    k, p = moments.means.shape
    n = moments.sizes[:, None]
    own = np.diagonal(moments.covariances, axis1=1, axis2=2)
    return ((n * own + 3 * np.diag(prior)) / (n + 3))[:, :, None] * np.eye(p), k * p


def _spherical(moments: Moments, prior: Floats) -> tuple[Floats, int]:
    k, p = moments.means.shape
    n = moments.sizes
    own = np.trace(moments.covariances, axis1=1, axis2=2) / p
    spread = (n * own + 3 * np.trace(prior) / p) / (n + 3)
    return spread[:, None, None] * np.eye(p), k


def _tied(moments: Moments, prior: Floats) -> tuple[Floats, int]:
    k, p = moments.means.shape
    extra, n = p + 2, moments.sizes.sum()
    within = np.tensordot(moments.sizes, moments.covariances, axes=1)
    return np.broadcast_to((within + extra * prior) / (n + extra), (k, p, p)), p * (p + 1) // 2


COVARIANCES: dict[str, Callable[[Moments, Floats], tuple[Floats, int]]] = {
    "spherical": _spherical,
    "diagonal": _diagonal,
    "tied": _tied,
    "full": _full,
}


def common_covariance(start: Moments, flat: float) -> tuple[Floats, float]:
    """Return the prior and the least variance that it gives to any direction.

    It is the covariance within all clusters, drawn towards a sphere by p + 2 points. `flat` is the
    least variance of that sphere: clusters of equal points have no spread at all.
    """
    p, n = start.means.shape[1], start.sizes.sum()
    within = np.tensordot(start.sizes, start.covariances, axes=1)
    sphere = max(float(np.trace(within)) / max(p * n, 1.0), flat)
    floor = (p + 2) * sphere / (n + p + 2)
    return within / (n + p + 2) + floor * np.eye(p), floor


class Components(NamedTuple):
    """The components of one step: shares (k,), means (k, p), covariances (k, p, p)."""

    shares: Floats
    means: Floats
    covariances: Floats

    @classmethod
    def from_moments(cls, moments: Moments, covariances: Floats) -> Components:
        """Take the shares and means of the moments."""
        return cls(moments.sizes / moments.sizes.sum(), moments.means, covariances)

    @property
    def peaks(self) -> Floats:
        """(k,) log density of each Gaussian at its mean."""
        p = self.means.shape[1]
        logdets = np.linalg.slogdet(self.covariances)[1]
        return np.asarray(-0.5 * logdets - 0.5 * p * np.log(2 * np.pi))

    @property
    def densities(self) -> Densities:
        """What densities at points are computed from."""
        whiteners = _whiteners(self.covariances)
        return Densities(np.log(self.shares) + self.peaks, self.means, whiteners)

    def log_joint(self, squares: Floats, freedom: float | None = None) -> Floats:
        """log(share_j f_j(z)), (k, n), of Gaussians or Student's t with degrees of `freedom`.

        `squares` (k, n) are the squared distances of the points to the means, in units of the
        covariances.
        """
        p = self.means.shape[1]
        constant = np.log(self.shares) + self.peaks
        if freedom is None:
            return np.asarray(constant[:, None] - 0.5 * squares)
        constant += gammaln((freedom + p) / 2) - gammaln(freedom / 2)
        constant += 0.5 * p * np.log(2 / freedom)
        return np.asarray(constant[:, None] - 0.5 * (freedom + p) * np.log1p(squares / freedom))
