"""Right and wrong answers → how probable it is that other assignments are right.

The logit of that probability is a Gaussian process f with mean A + B x, x the logit of the score,
and the covariance of :func:`covariance`. It is a sum of what may differ from the score: a level and
a slope for all points; then, times a strength, an effect of each component, and for the points of
one cluster a level, a level for each rival, slopes, and a smooth function of the place in the
cluster. How strong these effects are is not known before: models of several strengths are averaged,
weighted by how well each predicts the answers (its evidence). One has strength 0 and leaves the
ranking of the score as it is; it has most of the weight unless the answers contradict it.

References
----------
C. Rasmussen and C. Williams, "Gaussian processes for machine learning", MIT Press (2006),
Algorithms 3.1 and 3.2 (Laplace's approximation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import expit

from clustertrust._types import Floats, Ints
from clustertrust.answers.features import Features

# The prior, chosen on development data; see experiments/research/answers/run.py.
LEVEL, LEVEL_SD = 0.5, 1.5
SLOPE, SLOPE_SD = 1.5, 0.75
# Standard deviations of the effects at strength 1, and the length over which places are alike.
PART, OWN_LEVEL, OWN_RIVAL, OWN_SLOPE, OWN_PART, OWN_PLACE = 0.3, 0.7, 0.3, 0.2, 0.3, 1.0
LENGTH = 0.8
# Strengths, and how probable each is before any answer, up to a factor.
STRENGTHS = (0.0, 0.7, 2.0, 4.0)
PRIOR_WEIGHTS = (10.0, 1.0, 1.0, 1.0)
NEWTON_STEPS = 50
# Answers that suffice to weigh the models against each other
ENOUGH = 500


def prior_mean(points: Features) -> Floats:
    """A + B x: the logit of the probability before any answer."""
    return np.asarray(LEVEL + SLOPE * points.logits)


def covariance(a: Features, b: Features, strength: float) -> Floats:
    """(len(a), len(b)) prior covariance of f: effects on all points plus those in one cluster."""
    K = _on_all(a, b, strength)
    if strength > 0:
        same = a.labels[:, None] == b.labels[None, :]
        K += np.where(same, _in_cluster(a, b, strength), 0.0)
    return K


def _on_all(a: Features, b: Features, strength: float) -> Floats:
    """σ_A² + σ_B² x x' + strength² σ_z² z·z' / q."""
    K = LEVEL_SD**2 + SLOPE_SD**2 * np.outer(a.logits, b.logits)
    if strength > 0:
        K += (strength * PART) ** 2 * (a.parts @ b.parts.T) / a.parts.shape[1]
    return K


def _in_cluster(a: Features, b: Features, strength: float) -> Floats:
    """strength² (σ_u² + σ_v² [same rival] + σ_l² x x' + σ_w² z·z' / q + σ_g² e^{-|p - p'|² / 2ℓ²}),
    for points of one cluster.
    """
    K = OWN_LEVEL**2 + OWN_RIVAL**2 * (a.rivals[:, None] == b.rivals[None, :])
    K = K + OWN_SLOPE**2 * np.outer(a.logits, b.logits)
    K += OWN_PART**2 * (a.parts @ b.parts.T) / a.parts.shape[1]
    square = (a.places**2).sum(axis=1)[:, None] + (b.places**2).sum(axis=1)[None, :]
    square -= 2 * (a.places @ b.places.T)
    K += OWN_PLACE**2 * np.exp(-np.maximum(square, 0.0) / (2 * LENGTH**2))
    return np.asarray(strength**2 * K)


@dataclass(frozen=True)
class Posterior:
    """What the answers say of f under one strength, by Laplace's approximation.

    Attributes
    ----------
    points : the points with an answer
    strength : of the effects
    slope : (m,) slope of the log likelihood at the mode: f = A + B x + K slope
    root : (m,) square root of its curvature there
    factor : (m, m) lower Cholesky factor of 1 + root K root
    log_evidence : logarithm of the probability of the answers
    """

    points: Features
    strength: float
    slope: Floats
    root: Floats
    factor: Floats
    log_evidence: float

    def mean(self, new: Features) -> Floats:
        """(n,) posterior mean of f at points of one cluster; O(n (d m_c + q))."""
        m0 = LEVEL_SD**2 * self.slope.sum()
        m1 = SLOPE_SD**2 * (self.points.logits @ self.slope)
        out: Floats = prior_mean(new) + m0 + m1 * new.logits
        if self.strength > 0 and len(new.labels):
            scale = (self.strength * PART) ** 2 / new.parts.shape[1]
            out += new.parts @ (scale * (self.points.parts.T @ self.slope))
            own = np.flatnonzero(self.points.labels == new.labels[0])
            if own.size:
                K = _in_cluster(new, self.points.take(own), self.strength)
                out += K @ self.slope[own]
        return out

    def spread(self, new: Features) -> Floats:
        """(n,) posterior variance of f at any points; O(n m²)."""
        K = covariance(self.points, new, self.strength)
        v = solve_triangular(self.factor, self.root[:, None] * K, lower=True)
        after = prior_variance(new, self.strength) - (v**2).sum(axis=0)
        return np.asarray(np.maximum(after, 0.0))

    def spread_of_mean(self, new: Features, weights: Floats) -> float:
        """Posterior variance of Σ weights f over some points."""
        K = covariance(self.points, new, self.strength) @ weights
        v = solve_triangular(self.factor, self.root * K, lower=True)
        before = weights @ covariance(new, new, self.strength) @ weights
        return max(float(before - v @ v), 0.0)


def prior_variance(points: Features, strength: float) -> Floats:
    """(n,) the diagonal of :func:`covariance`."""
    x2, z2 = points.logits**2, (points.parts**2).mean(axis=1)
    own = OWN_LEVEL**2 + OWN_RIVAL**2 + OWN_SLOPE**2 * x2 + OWN_PART**2 * z2 + OWN_PLACE**2
    on_all = LEVEL_SD**2 + SLOPE_SD**2 * x2
    return np.asarray(on_all + strength**2 * (PART**2 * z2 + own))


def fit_posterior(points: Features, right: Floats, strength: float) -> Posterior:
    """Find the mode of f by Newton's steps, halved where they overshoot."""
    K, mean = covariance(points, points, strength), prior_mean(points)
    sign = 2.0 * right - 1.0
    alpha, f, value = np.zeros(len(right)), np.zeros(len(right)), -np.inf

    def objective(alpha: Floats, f: Floats) -> float:
        return float(-0.5 * alpha @ f - np.logaddexp(0.0, -sign * (mean + f)).sum())

    for _ in range(NEWTON_STEPS):
        p = expit(mean + f)
        root, factor = _curvature(K, p)
        b = p * (1 - p) * f + right - p
        target = b - root * cho_solve((factor, True), root * (K @ b))
        step = 1.0
        while True:
            tried = alpha + step * (target - alpha)
            g = K @ tried
            reached = objective(tried, g)
            if reached >= value or step < 1e-3:
                break
            step /= 2
        gained = reached - value
        alpha, f, value = tried, g, reached
        if gained < 1e-9:
            break
    p = expit(mean + f)
    root, factor = _curvature(K, p)
    evidence = value - float(np.log(np.diag(factor)).sum())
    return Posterior(points, strength, right - p, root, factor, evidence)


def _curvature(K: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Root of the curvature of the log likelihood, and the factor of 1 + root K root."""
    root = np.sqrt(p * (1 - p))
    return root, np.asarray(np.linalg.cholesky(np.eye(len(p)) + root[:, None] * K * root[None, :]))


def average(points: Features, right: Floats) -> tuple[list[Posterior], Floats]:
    """Fit the model of each strength; return those that count, and their weights.

    Where all answers are the same nothing is known of differences: strength 0 alone. From many
    answers, an even selection weighs the models, and only those that count see all answers.
    """
    differ = 0 < right.sum() < len(right)
    strengths = STRENGTHS if differ else STRENGTHS[:1]
    few: Any = slice(None)
    if len(right) > ENOUGH:
        few = np.linspace(0, len(right) - 1, ENOUGH).astype(np.int64)
    fits = [fit_posterior(points.take(few), right[few], strength) for strength in strengths]
    logs = np.array([fit.log_evidence for fit in fits]) + np.log(PRIOR_WEIGHTS[: len(fits)])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    counts: Ints = np.flatnonzero(weights > 1e-3)
    kept = [fits[j] for j in counts]
    if len(right) > ENOUGH:
        kept = [fit_posterior(points, right, fit.strength) for fit in kept]
    return kept, weights[counts] / weights[counts].sum()
