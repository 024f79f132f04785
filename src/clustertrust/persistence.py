"""X and consensus labels → persistence: does a label hold when clusters differ in spread and shape?

Stability and silhouettes depend on runs that all draw borders in the same way: k-means cuts
half-way between two centres, for clusters of any spread. Here the consensus clusters
become the components of a Gaussian mixture. A few EM steps let them take their own covariances, and
a uniform background takes the points that none of them explains. Persistence is the posterior that
the point's own label keeps, averaged over the steps.

References
----------
A uniform component for noise: J. D. Banfield and A. E. Raftery, Biometrics 49 (1993) 803-821.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit, gammaincinv

from clustertrust._balls import balls_of_densities
from clustertrust._errors import ParameterError
from clustertrust._mixtures import (
    COVARIANCES,
    Components,
    Densities,
    Joint,
    Moments,
    common_covariance,
    memberships,
)
from clustertrust._parallel import blocks, map_blocks, one_thread
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import MOST, check_count
from clustertrust._validation.points import check_matrix
from clustertrust._validation.rows import check_same_length
from clustertrust.ensemble.labels import read_labels
from clustertrust.kernels import backend
from clustertrust.kernels.rules import NOTHING

__all__ = ["persistence"]

# EM steps: enough for borders to follow the spreads, too few for clusters to drift away
STEPS = 5
# Largest share of typical cluster members that may be taken for noise
MISTAKEN = 0.05
# Points that the mixture is fitted to.
MOST_POINTS, FEWEST_POINTS = 10_000, 20
# Rows that a thread works on at a time.
BLOCK_ROWS = 8_192
# Least variance within clusters, as a share of the data's: it keeps all that follows finite
FLAT = 1e-12


class Step(NamedTuple):
    """The mixture of one EM step: the components of the clusters, and the share of noise."""

    components: Components
    noise: float


@dataclass(frozen=True)
class Refinement:
    """The mixtures of all steps, which give the persistence of any points.

    Attributes
    ----------
    center, axes : (D,) and (D, d), the directions in which the data vary, scaled to a mean variance
        of 1
    clusters : (k,) consensus labels that have points, in order; component j is clusters[j]
    background : log of the uniform density over the box that holds the data
    steps : the mixtures
    """

    center: Floats
    axes: Floats
    clusters: Ints
    background: float
    steps: tuple[Step, ...]

    def persistence(self, X: Any, labels: Ints, threads: int = 1) -> Floats:
        """Return the mean posterior of the own label over the steps: (n,).

        0 where the label is -1 or of no component.
        """
        own = _positions(self.clusters, labels)
        steps = [(components.densities, noise) for components, noise in self.steps]
        near = None if len(own) <= BLOCK_ROWS else self._near(steps)

        def of_rows(rows: slice) -> Floats:
            columns = self.axes.T @ (np.asarray(X[rows], dtype=np.float64) - self.center).T
            mine = own[rows]
            kept = np.zeros(len(mine))
            some = np.flatnonzero(mine >= 0)
            if near is not None:
                centers, radii = near
                is_sure = np.linalg.norm(columns - centers[mine].T, axis=0) < radii[mine]
                kept[is_sure & (mine >= 0)] = len(steps)
                some = np.flatnonzero(~is_sure & (mine >= 0))
            if len(some) < len(mine):
                columns, mine = columns[:, some], mine[some]
            for densities, noise in steps:
                joint = densities.log_joint(columns)
                total = _log_total(joint, self.background, noise)
                kept[some] += np.exp(joint.logs[mine, np.arange(len(mine))] - total)
            return np.minimum(kept / len(self.steps), 1.0)

        each = 8 * (2 * self.axes.shape[0] + 3 * len(self.clusters))
        some_rows = blocks(len(own), each, largest=BLOCK_ROWS)
        with one_thread():
            parts = list(map_blocks(of_rows, some_rows, threads))
        return np.concatenate([np.empty(0), *parts])

    def _near(self, steps: Sequence[tuple[Densities, float]]) -> tuple[Floats, Floats]:
        """Return centers and radii (k,) within which each component keeps its points."""
        centers = self.steps[0].components.means
        radii = np.full(len(centers), np.inf)
        for densities, noise in steps:
            rival = self.background + _log_odds(noise)
            labels, own = balls_of_densities(densities, centers, ahead=NOTHING, rival=rival)
            radii = np.where(labels == np.arange(len(radii)), np.minimum(radii, own), 0.0)
        return centers, radii


def _positions(clusters: Ints, labels: Ints) -> Ints:
    """Component of each label, -1 where there is none."""
    place = np.minimum(np.searchsorted(clusters, labels), len(clusters) - 1)
    return np.where(clusters[place] == labels, place, -1)


def _log_total(joint: Joint, background: float, noise: float) -> Floats:
    """log(Σ f_j + w b / (1 - w)) from log f_j, log b and the noise's share w < 1."""
    if noise == 0:
        return joint.total
    return np.asarray(np.logaddexp(joint.total, background + _log_odds(noise)))


def _log_odds(noise: float) -> float:
    """log(w / (1 - w)) of the noise's share w < 1; -inf without noise."""
    return float(np.log(noise) - np.log1p(-noise)) if noise > 0 else -np.inf


def _posterior(joint: Joint, background: float, noise: float) -> Floats:
    """(1 - w) f_j / ((1 - w) Σ f_j + w b) from log f_j, log b and the noise's share w: (k, b)."""
    return np.asarray(np.exp(joint.logs - _log_total(joint, background, noise)))


def noise_weight(ratios: Floats) -> float:
    """The w in [0, 1] that maximises Σ log(1 - w + w b/f), from ratios b/f of the densities of
    noise and clusters.

    The sum is concave in w and its slope at 0 is Σ (b/f - 1): for points drawn from f the mean of
    b/f is at most 1, as b integrates to 1, and w is 0 but for chance. Noise comes in where the data
    ask for it.
    """
    if not ratios.size or ratios.mean() <= 1:
        return 0.0
    return _largest(lambda w: float(((ratios - 1) / (1 - w + w * ratios)).sum()) >= 0, 1.0)


def _largest(holds: Callable[[float], bool], high: float) -> float:
    """Return the largest w in [0, high] up to which `holds`, by bisection."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _bounded(weight: float, components: Components, background: float, mistaken: float) -> float:
    """Return `weight` or less, so that at most `mistaken` of typical members count as noise.

    If the clusters fill the box (two half-moons, a ring), noise and clusters look alike: a uniform
    density explains the middle of a cluster as well as a Gaussian does. A typical member is one at
    the median distance: half its square is a quantile of the gamma distribution.
    """
    shares, means, _ = components
    typical = np.log(shares) + components.peaks - gammaincinv(means.shape[1] / 2, 0.5)

    def few(w: float) -> bool:
        return bool(shares @ expit(background + np.log(w) - np.log1p(-w) - typical) <= mistaken)

    return weight if weight == 0 or (weight < 1 and few(weight)) else _largest(few, weight)


def _principal_axes(X: Array) -> tuple[Floats, Floats]:
    """Mean (D,) and axes (D, d): principal directions but flat ones, scaled to mean variance 1."""
    center = X.mean(axis=0, dtype=np.float64)
    centered = X - center
    n, D = X.shape
    reach = np.abs(centered).max(initial=0.0)
    if reach == 0:
        return center, np.empty((D, 0))
    # So that no square leaves the range of floats.
    centered = centered / reach
    if n >= D:
        squares, axes = np.linalg.eigh(centered.T @ centered)
    else:
        _, s, rows = np.linalg.svd(centered, full_matrices=False)
        squares, axes = s**2, rows.T
    kept = squares > squares.max() * max(n, D) * np.finfo(np.float64).eps
    return center, axes[:, kept] / (reach * np.sqrt(squares[kept].mean() / n))


def _draw(labels: Ints) -> Ints:
    """Return positions of `MOST_POINTS` points, and of some of each cluster, however small."""
    order = np.random.default_rng(0).permutation(len(labels))
    of_cluster = pd.Series(labels[order]).groupby(labels[order]).cumcount().to_numpy()
    return np.sort(order[(np.arange(len(order)) < MOST_POINTS) | (of_cluster < FEWEST_POINTS)])


def refine(X: Array, labels: Ints, n_steps: int = STEPS, mistaken: float = MISTAKEN) -> Refinement:
    """Start a Gaussian mixture at the clusters of `labels` (n,) and take EM steps.

    Of more than `MOST_POINTS` points, so many are drawn: a few covariances need no more.

    O(n k d²) a step in one thread, and a copy of X. -1 is of no cluster at the start; at least one
    point is of one. `mistaken` bounds the background: 0 leaves it out, 1 lets it grow as the
    likelihood wants.
    """
    if len(labels) > MOST_POINTS:
        drawn = _draw(labels)
        X, labels = X[drawn], labels[drawn]
    with one_thread():
        center, axes = _principal_axes(X)
        columns = axes.T @ (X - center).T
        clusters = np.unique(labels[labels >= 0])
        P = memberships(labels, clusters)
        prior, floor = common_covariance(_moments(columns, P), FLAT)
        # As wide as the data, and where they hardly vary as wide as the prior makes a cluster of
        # mean size there, so that such directions speak neither for noise nor against it. An edge
        # has a variance of edge² / 12.
        extra = len(columns) + 2
        least = 12 * floor * extra / (P.sum() / len(clusters) + extra)
        background = -0.5 * float(np.log(np.ptp(columns, axis=1) ** 2 + least).sum())
        steps = []
        for _ in range(n_steps):
            moments = _moments(columns, P)
            covariances = COVARIANCES["full"].covariances(moments, prior)
            components = Components.from_moments(moments, covariances)
            joint = components.densities.log_joint(columns)
            ratios = np.exp(np.minimum(background - _log_total(joint, background, 0.0), 600.0))
            noise = _bounded(noise_weight(ratios), components, background, mistaken)
            P = _posterior(joint, background, noise)
            steps.append(Step(components, noise))
    return Refinement(center, axes, clusters, background, tuple(steps))


def _moments(columns: Floats, P: Floats) -> Moments:
    """Return the moments of clusters with memberships P (k, n) in points (p, n)."""
    return Moments(*backend().mixture_moments(columns, P))


def check_dense(X: Any, fusion: str) -> None:
    """Raise for sparse points, known or new, of which this fusion needs covariances."""
    if sparse.issparse(X):
        raise ParameterError(
            "fusion",
            fusion,
            "does not take sparse data, because it needs covariances",
            "use X.toarray() if that fits into memory, fewer columns (for example "
            "sklearn.decomposition.TruncatedSVD), or {fusion='harmonic'}",
        )


def persistence(X: Any, labels: Any, *, n_steps: int = STEPS) -> Floats:
    """Return the posterior that each label keeps when clusters take their own spread and shape.

    A Gaussian mixture with a uniform background starts at the clusters of `labels` and takes a few
    EM steps; the posterior of the point's own label is averaged over them. It is low where another
    cluster, of another spread or shape, explains the point better, and where no cluster explains
    it.

    Parameters
    ----------
    X : (n, d) array or frame
        The points; not sparse.
    labels : (n,) labels of any kind
        One partition, such as the consensus. Negative numbers and missing values mean that the
        point is not assigned.
    n_steps : int
        EM steps, at least 1.

    Returns
    -------
    (n,) array in [0, 1]; 0 where the point is not assigned

    Notes
    -----
    Each covariance includes d + 2 additional points that have the pooled covariance within
    clusters, so even a cluster of one point has one. Directions in which the data do not vary are
    left out. The result does not change when X is moved, scaled or rotated (as far as
    principal axes are determined), nor when labels are renamed. Memory: a copy of X and n × k
    numbers. Time: O(n k d²) a step.

    Examples
    --------
    A tight and a wide cluster: 4 is nearer to the centre of the tight one, but not a member of it.

    >>> import numpy as np
    >>> from clustertrust.persistence import persistence
    >>> X = np.r_[np.linspace(-1, 1, 50), 4, np.linspace(5, 25, 50)][:, None]
    >>> p = persistence(X, [0] * 51 + [1] * 50)
    >>> bool(p[50] < 0.1), bool(np.median(p) > 0.9)
    (True, True)
    """
    if sparse.issparse(X):
        raise ValueError(
            "X is sparse; persistence needs dense data: use X.toarray() if that fits into memory."
        )
    X = check_matrix(X)
    codes = read_labels([labels])[0][:, 0]
    check_same_length("X", X, "labels", codes)
    n_steps = check_count("n_steps", n_steps, at_least=1, at_most=MOST)
    if codes.max() < 0:
        return np.zeros(len(codes))
    return refine(X, codes, n_steps).persistence(X, codes)
