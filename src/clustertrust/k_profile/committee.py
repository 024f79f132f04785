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

__all__ = ["COVERAGE", "MASS", "WEIGHTS", "plausible", "probabilities", "support"]

# The exponents of largest likelihood on development sets with known k, and the mass that held the
# right k in `COVERAGE` of them: `python -m experiments.beyond.k_weights` finds both.
WEIGHTS = {"separation": 0.3, "likelihood": 2.0, "stability": 1.5}
COVERAGE = 0.9
MASS = 0.9


def probabilities(signals: Mapping[str, Signal]) -> Floats:
    """p_k ∝ Π_j (1 + t_jk)^-w_j: (q,), adding up to 1."""
    logs = np.sum([_log_support(signal) for signal in signals.values()], axis=0)
    p = np.exp(logs - np.max(logs))
    return np.asarray(p / p.sum())


def support(signal: Signal) -> Floats:
    """(1 + t_k)^-w: (q,), 1 where the signal is best."""
    return np.asarray(np.exp(_log_support(signal)))


def _log_support(signal: Signal) -> Floats:
    return np.asarray(-WEIGHTS[signal.name] * np.log1p(signal.behind))


def plausible(p: Floats, mass: float = MASS) -> Ints:
    """Return the positions of the most probable entries, as few as together have this mass.

    In ascending order.
    """
    order = np.argsort(-p, kind="stable")
    enough = int(np.searchsorted(np.cumsum(p[order]), mass - 1e-12)) + 1
    return np.sort(order[:enough])
