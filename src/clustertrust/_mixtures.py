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

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from clustertrust._types import Floats, Ints
from clustertrust.kernels import backend
from clustertrust.kernels.rules import (
    DIAGONAL,
    FULL,
    NOTHING,
    SPHERICAL,
    TIED,
    shrink,
)

# With more components than this, most are far from a point and need not be computed.
FEW = 20


class Moments(NamedTuple):
    """Of the clusters of one step: sizes (k,), means (k, p), covariances (k, p, p)."""

    sizes: Floats
    means: Floats
    covariances: Floats


def memberships(labels: Ints, names: Ints) -> Floats:
    """(k, n) 1 where a point has the label of this name."""
    return np.asarray((labels == names[:, None]).astype(np.float64))


def _whiteners(covariances: Floats) -> Floats:
    """Return the matrices (k, p, p) that give differences to means a covariance of 1."""
    return np.linalg.inv(np.linalg.cholesky(covariances)).transpose(0, 2, 1)


class Joint(NamedTuple):
    """log(share_j f_j(z)) of points.

    Attributes
    ----------
    logs : (k, n); -inf where it is negligible next to the largest, if there are many components
    total : (n,) log Σ_j share_j f_j(z)
    labels : (n,) the component that is the largest
    """

    logs: Floats
    total: Floats
    labels: Ints


@dataclass(frozen=True)
class Densities:
    """Gaussians as they are computed: log(share_j f_j) at the mean (k,), means, whiteners."""

    peaks: Floats
    means: Floats
    whiteners: Floats

    def log_joint(self, columns: Floats) -> Joint:
        """Return log(share_j f_j(z)) of points (p, n), a column each."""
        return self._joint(columns, sums=True)

    def labels(self, columns: Floats) -> Ints:
        """Return the component with the largest share of the density at each point, (n,)."""
        return self._joint(columns, sums=False).labels

    def _joint(self, columns: Floats, *, sums: bool) -> Joint:
        # A kernel would read past the end.
        p = self.means.shape[1]
        if len(columns) != p:
            raise ValueError(f"X has {len(columns)} columns, and the mixture was fitted to {p}.")
        if len(self.means) > FEW:
            return self._those_that_count(columns)
        whiteners = np.ascontiguousarray(self.whiteners.transpose(0, 2, 1))
        return Joint(
            *backend().joint_densities(columns, self.peaks, self.means, whiteners, sums=sums)
        )

    def _those_that_count(self, columns: Floats) -> Joint:
        """Return the same without what is negligible.

        The distance of a point to a mean and the widest direction of the covariance bound a
        density; only those that may count are computed.
        """
        n = columns.shape[1]
        everyone = np.arange(n)
        logs = np.full((len(self.means), n), -np.inf)

        def fill(j: int, some: Ints) -> None:
            apart = columns.take(some, axis=1) - self.means[j][:, None]
            whitened = self.whiteners[j].T @ apart
            logs[j, some] = self.peaks[j] - 0.5 * np.einsum("ij,ij->j", whitened, whitened)

        most = self._bounds(columns)
        labels = most.argmax(axis=0)
        for j in range(len(logs)):
            fill(j, np.flatnonzero(labels == j))
        total = logs[labels, everyone]
        near = most > total - NOTHING
        near[labels, everyone] = False
        for j, some in enumerate(near):
            fill(j, np.flatnonzero(some))
        shared = np.flatnonzero(near.any(axis=0))
        several = logs[:, shared]
        labels[shared], largest = several.argmax(axis=0), several.max(axis=0)
        total[shared] = largest + np.log(np.exp(several - largest).sum(axis=0))
        return Joint(logs, total, labels)

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

    def _bounds(self, columns: Floats) -> Floats:
        """Return what no log(share_j f_j(z)) exceeds but for rounding, (k, n)."""
        middle, factors = self._bound
        p, n = columns.shape
        terms = np.ones((p + 2, n))
        apart = np.subtract(columns, middle[:, None], out=terms[:p])
        np.einsum("ij,ij->j", apart, apart, out=terms[-1])
        return np.asarray(factors @ terms)


@dataclass(frozen=True)
class Kind:
    """A kind of covariances, by its `code`."""

    code: int

    def prior_points(self, p: int) -> int:
        """Return how many points of the prior's covariance each one counts in."""
        return p + 2 if self.code in (FULL, TIED) else 3

    def covariances(self, moments: Moments, prior: Floats) -> Floats:
        """Return those of clusters with these moments, (k, p, p)."""
        return shrink(moments, self.code, prior, self.prior_points(len(prior)))

    def parameters(self, k: int, p: int) -> int:
        """Return the number of their parameters."""
        pairs = p * (p + 1) // 2
        return {FULL: k * pairs, TIED: pairs, DIAGONAL: k * p, SPHERICAL: k}[self.code]


COVARIANCES = {
    "spherical": Kind(SPHERICAL),
    "diagonal": Kind(DIAGONAL),
    "tied": Kind(TIED),
    "full": Kind(FULL),
}


def log_height(p: int, freedom: int = 0) -> float:
    """Return the log density at the mean, for a covariance of 1; `freedom` 0: of a Gaussian."""
    if freedom == 0:
        return float(-0.5 * p * np.log(2 * np.pi))
    height = gammaln((freedom + p) / 2) - gammaln(freedom / 2)
    return float(height - 0.5 * p * np.log(freedom * np.pi))


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
        logdets = np.linalg.slogdet(self.covariances)[1]
        return np.asarray(-0.5 * logdets + log_height(self.means.shape[1]))

    @property
    def densities(self) -> Densities:
        """What densities at points are computed from."""
        whiteners = _whiteners(self.covariances)
        return Densities(np.log(self.shares) + self.peaks, self.means, whiteners)
