"""Signals → a probability for each number of clusters, and the set of plausible ones.

No signal is right everywhere: silhouettes see gaps but prefer equal spheres, mixtures see spread
and shape but split what is not Gaussian, runs agree where borders are clear but also at few large
clusters. They fail in different ways. So each k is judged by those that apply: its probability is
proportional to 1/k times the product over signals of (1 + t)^-w, t being how many standard errors k
is behind the best k of the signal. That is a power and not an exponential, since each signal rests
on assumptions that no number of points makes true. Silhouettes have weight only where one of the
other two is missing: with both they added nothing on the development sets.

1/k is the prior. To answer 6 for 3 is as wrong as to answer 20 for 10: errors count by their ratio,
so k is a scale, and what is known of it beforehand is uniform in log k. Where signals are sharp it
changes nothing; where they are weak, it prefers fewer clusters.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.k_profile.signals import Signal

# The exponents of largest likelihood on development sets with known k, by the signals that apply,
# and the mass of plausible sets: `python -m experiments.research.k.run weights` finds both.
WEIGHTS: dict[tuple[str, ...], tuple[float, ...]] = {
    ("separation", "likelihood", "stability"): (0.0, 1.54, 0.48),
    ("separation", "likelihood"): (0.26, 1.60),
    ("separation", "stability"): (0.57, 0.52),
    ("separation",): (0.90,),
}
# Shares of sets, by their kind, in which the plausible numbers held the right one: the lowest and
# the highest of several collections (docs/evidence/choose_k.md).
HELD = {"generated sets": (0.82, 1.0), "real ones": (0.68, 0.86)}
MASS = 0.8


def supports(signals: Mapping[str, Signal], ks: Ints) -> dict[str, Floats]:
    """(1 + t_jk)^-w_j: (q,) for each signal that counts, 1 where it is best; and the prior."""
    return {name: np.exp(logs) for name, logs in _log_supports(signals, ks).items()}


def probabilities(signals: Mapping[str, Signal], ks: Ints) -> Floats:
    """p_k ∝ 1/k Π_j (1 + t_jk)^-w_j: (q,), adding up to 1."""
    logs = np.sum(list(_log_supports(signals, ks).values()), axis=0)
    p = np.exp(logs - np.max(logs))
    return np.asarray(p / p.sum())


def _log_supports(signals: Mapping[str, Signal], ks: Ints) -> dict[str, Floats]:
    weights = WEIGHTS[tuple(signals)]
    prior = {"prior": np.asarray(np.log(ks.min() / ks))}
    return prior | {
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
