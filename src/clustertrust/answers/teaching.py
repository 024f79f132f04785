"""Which answers would teach the model most: uncertain, unlike each other, for many other points."""

from __future__ import annotations

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.answers.features import Features
from clustertrust.answers.posterior import covariance

# Strength of the effects that are to be found out
STRENGTH = 2.0


def most_instructive(points: Features, p: Floats, n: int, taken: Ints) -> Ints:
    """Choose n points, one after the other, each the one that lowers the total variance most.

    `points` are the candidates, each of which also stands for others like it; `p` their
    probabilities, and `taken` positions among them that have an answer. An answer about point i has
    the precision h = p (1 - p) for f, so it lowers the variance of f at j by C_ij² / (C_ii + 1 /
    h_i), and that of the probability at j by h_j² times this. C is the covariance of f given the
    answers so far. O(m²) for each answer, m candidates.
    """
    h = np.maximum(p * (1 - p), 1e-4)
    C = covariance(points, points, STRENGTH)
    if len(taken):
        observed = C[np.ix_(taken, taken)] + np.diag(1 / h[taken])
        C -= C[:, taken] @ np.linalg.solve(observed, C[taken])
    chosen: list[int] = []
    free = np.ones(len(p), dtype=bool)
    free[taken] = False
    for _ in range(n):
        gain = (C**2) @ h**2 / (np.diag(C) + 1 / h)
        i = int(np.argmax(np.where(free, gain, -np.inf)))
        chosen.append(i)
        free[i] = False
        C -= np.outer(C[:, i], C[i] / (C[i, i] + 1 / h[i]))
    return np.array(chosen, dtype=np.int64)
