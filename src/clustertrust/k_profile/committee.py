"""Signals → a probability for each number of clusters, and the set of plausible ones.

No signal is right everywhere: silhouettes see gaps but prefer equal spheres, mixtures see spread
and shape but split what is not Gaussian, runs agree where borders are clear but also at few large
clusters. They fail in different ways. So each k is judged by all of them: its probability is
proportional to the product over signals of (1 + t)^-w, t being how many standard errors k is behind
the best k of the signal. That is a power and not an exponential, since each signal rests on
assumptions that no number of points makes true.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.k_profile.signals import Signal

__all__ = ["COVERAGE", "MASS", "WEIGHTS", "plausible", "probabilities", "supports"]

# The exponents of largest likelihood on development sets with known k, by the signals that apply,
# and the mass of plausible sets, with the share of the 40 generated ones among them in which they
# held the right k: `python -m experiments.beyond.k_weights` finds all three.
WEIGHTS: dict[tuple[str, ...], tuple[float, ...]] = {
    ("separation", "likelihood", "stability"): (0.0, 1.48, 0.64),
    ("separation", "likelihood"): (0.41, 1.59),
    ("separation", "stability"): (0.53, 0.69),
    ("separation",): (1.03,),
}
COVERAGE = 0.95
MASS = 0.8


def supports(signals: Mapping[str, Signal]) -> dict[str, Floats]:
    """(1 + t_jk)^-w_j: (q,) for each signal that counts, 1 where it is best."""
    return {name: np.exp(logs) for name, logs in _log_supports(signals).items()}


def probabilities(signals: Mapping[str, Signal]) -> Floats:
    """p_k ∝ Π_j (1 + t_jk)^-w_j: (q,), adding up to 1."""
    logs = np.sum(list(_log_supports(signals).values()), axis=0)
    p = np.exp(logs - np.max(logs))
    return np.asarray(p / p.sum())


def _log_supports(signals: Mapping[str, Signal]) -> dict[str, Floats]:
    weights = WEIGHTS[tuple(signals)]
    return {
        name: np.asarray(-w * np.log1p(signal.behind))
        for (name, signal), w in zip(signals.items(), weights, strict=True)
        if w > 0
    }


def plausible(p: Floats, mass: float = MASS) -> Ints:
    """Return the positions of the most probable entries, as few as together have this mass.

    In ascending order.
    """
    order = np.argsort(-p, kind="stable")
    enough = int(np.searchsorted(np.cumsum(p[order]), mass - 1e-12)) + 1
    return np.sort(order[:enough])
