"""How silhouettes, scores and mixtures are computed, for all back ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clustertrust._types import Floats

# Kinds of covariances
FULL, TIED, DIAGONAL, SPHERICAL = range(4)
# A density this much below the largest, as a logarithm, moves no digit of a sum of densities.
NOTHING = 40.0
# So small a membership moves no digit of a sum.
NO_MEMBER = 1e-30


class Rules(NamedTuple):
    """What all silhouettes of one call have in common.

    Attributes
    ----------
    leaves_out : whether the mean over the own cluster leaves the point out
    lone_zero : whether a point alone in its cluster has silhouette 0
    root : whether dissimilarities are squares, whose roots are compared
    """

    leaves_out: bool
    lone_zero: bool
    root: bool


class Fusing(NamedTuple):
    """How stability c and silhouettes become a score.

    Attributes
    ----------
    harmonic : whether the score is the harmonic mean of c and g, else their product
    affine : whether g maps mean less std to [0, 1], else it clips it at 0
    disagree : whether runs that do not assign the point count, with a silhouette of 0
    parts : number of other components; the score is the mean of all
    z : standard errors to either side of a normal value that hold 95 %
    """

    harmonic: bool
    affine: bool
    disagree: bool
    parts: int
    z: float


class Mixing(NamedTuple):
    """How the components of a mixture follow from the moments of clusters, and when EM ends.

    Attributes
    ----------
    kind : of covariances
    prior, extra : (p, p) covariance of `extra` points that each covariance counts in
    added : (p, p) added to each covariance
    freedom : degrees of freedom of Student's t, an integer; 0: Gaussians
    constant : log density at the mean, for a covariance of 1
    steps : most steps
    down, up : EM ends when the log likelihood has gained between these
    moves_last : whether components still move in the step that ends it
    """

    kind: int
    prior: Floats
    extra: float
    added: Floats
    freedom: int
    constant: float
    steps: int
    down: float
    up: float
    moves_last: bool


def shrink(
    moments: tuple[Floats, Floats, Floats], kind: int, prior: Floats, extra: float
) -> Floats:
    """Covariances (k, p, p) of this kind, in plain NumPy: of clusters and `extra` points more.

    The moments are sizes (k,), means (k, p) and covariances (k, p, p); the points have the prior's
    covariance, so that small clusters have one too.
    """
    sizes, _, own = moments
    p = prior.shape[0]
    n = sizes[:, None, None]
    if kind == TIED:
        n = np.full_like(n, sizes.sum())
        own = np.broadcast_to(np.tensordot(sizes, own, axes=1) / sizes.sum(), own.shape)
    drawn = (n * own + extra * prior) / (n + extra)
    if kind == DIAGONAL:
        drawn = drawn * np.eye(p)
    if kind == SPHERICAL:
        drawn = np.trace(drawn, axis1=1, axis2=2)[:, None, None] / p * np.eye(p)
    return np.asarray(drawn)
