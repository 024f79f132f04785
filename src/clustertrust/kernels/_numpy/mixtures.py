"""EM of mixtures, Gaussians or Student's t."""

from __future__ import annotations

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.kernels.rules import Mixing, shrink

_LEAST = float(np.finfo(np.float64).tiny)


def mixture_moments(
    columns: Floats, P: Floats, weights: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Sizes, means and covariances of clusters with memberships P (k, n).

    `weights` (k, n), memberships if there are none, say how much points count in means and
    covariances.
    """
    W = P if weights is None else weights
    sizes, mass = np.maximum(P.sum(axis=1), _LEAST), np.maximum(W.sum(axis=1), _LEAST)
    means = W @ columns.T / mass[:, None]
    covariances = np.empty((len(means), len(columns), len(columns)))
    for mean, own, size, covariance in zip(means, W, sizes, covariances, strict=True):
        apart = columns - mean[:, None]
        covariance[:] = (own * apart) @ apart.T / size
    return sizes, means, covariances


def em(
    columns: Floats, start: tuple[Floats, Floats, Floats], mixing: Mixing
) -> tuple[tuple[Floats, Floats, Floats], Ints, Floats, Floats] | None:
    """Take steps of EM from the moments of clusters; None if a covariance is singular."""
    moments, likelihoods = start, [-np.inf]
    p, freedom = len(columns), mixing.freedom
    while True:
        sizes, means, _ = moments
        C = shrink(moments, mixing.kind, mixing.prior, mixing.extra) + mixing.added
        try:
            L = np.linalg.cholesky(C)
        except np.linalg.LinAlgError:
            return None
        squares = np.array(
            [
                (np.linalg.solve(one, columns - mean[:, None]) ** 2).sum(axis=0)
                for one, mean in zip(L, means, strict=True)
            ]
        )
        logdets = 2 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        peaks = np.log(sizes / sizes.sum()) - 0.5 * logdets + mixing.constant
        far = (freedom + p) * np.log1p(squares / freedom) if freedom else squares
        joint = peaks[:, None] - 0.5 * far
        total = np.logaddexp.reduce(joint, axis=0)
        likelihoods.append(float(total.sum()))
        found = (joint.argmax(axis=0), joint.max(axis=0))
        ends = mixing.down < likelihoods[-1] - likelihoods[-2] < mixing.up
        if ends and not mixing.moves_last:
            break
        P = np.exp(joint - total)
        weights = P * (freedom + p) / (freedom + squares) if freedom else None
        moments = mixture_moments(columns, P, weights)
        if ends or len(likelihoods) > mixing.steps:
            break
    return moments, *found, np.array(likelihoods[1:])
