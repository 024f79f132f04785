"""How far the score would move with other runs: the jackknife, runs of a kind not seen yet, and
other second opinions.
"""

from __future__ import annotations

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.geometry.component import NORMALIZATIONS
from clustertrust.scoring.settings import Scoring
from clustertrust.stability import Stability, pairs

# Standard errors to either side of a normal value that hold 95 %.
Z = 1.96
# Normalizations that compiled kernels have
COMPILED = ("affine", "clip")


def function_of_two(scoring: Scoring) -> str:
    """Return `of_two` of a fusion of ours where a compiled kernel has the normalization too.

    A subclass of a fusion may compute something else.
    """
    known = scoring.normalization in COMPILED
    return str(vars(type(scoring.fusion)).get("of_two", "")) if known else ""


def unseen_share(runs: Floats | Ints) -> Floats:
    """1 / (R + 2): the share of runs of a kind that none of R runs was, by the rule of succession.

    Where all runs agree the jackknife sees nothing move, although an optimum that one start in
    thirty reaches is likely to be missing from twenty runs.
    """
    share: Floats = np.divide(1.0, runs + 2.0)
    return share


def unseen_errors(
    c: Floats, g: Floats, runs: Floats | Ints, scoring: Scoring, parts: tuple[Floats, ...] = ()
) -> Floats:
    """|f(c, g) - f((1 - 2q) c, (1 - 2q) g)|, q the share of runs of a kind not seen yet.

    If a share q of the runs disagrees with the others on a point, the share of pairs that agree
    falls by about 2q of itself, and g by about as much. For the harmonic score this is
    2 score / (R + 2).
    """
    left = 1.0 - 2.0 * unseen_share(runs)
    return np.abs(scoring.fusion(c, g, *parts) - scoring.fusion(left * c, left * g, *parts))


def opinion_errors(
    c: Floats, g: Floats, parts: tuple[Floats, ...], n_opinions: int, scoring: Scoring
) -> Floats:
    """|f(…, m) - f(…, m ± e)|, m the share of T second opinions, the last of the parts.

    e is the standard deviation of what the share may be: by the rule of succession it has a beta
    distribution with mean (mT + 1) / (T + 2). The share moves by e towards 1/2, as its mean does.
    """
    *fixed, share = parts
    mean = (share * n_opinions + 1.0) / (n_opinions + 2.0)
    e = np.sqrt(mean * (1.0 - mean) / (n_opinions + 3.0))
    moved = np.where(share > 0.5, share - e, share + e)
    return np.abs(scoring.fusion(c, g, *parts) - scoring.fusion(c, g, *fixed, moved))


def jackknife(
    of: Ints, stability: Stability, s: Floats, scoring: Scoring, more: tuple[Floats, ...] = ()
) -> tuple[Floats, Floats]:
    """Return √((R_i - 1)/R_i Σ_r (θ₋ᵣ - θ̄)²) over the R_i runs that count, and `unseen_errors`.

    θ₋ᵣ is the score without run r. c₋ᵣ = (T - T_r) / C(R_i - 1, 2) and the mean and std of the
    other silhouettes come from sums that are already known, so no run is scored again: O(nR).

    Where S̃ is clipped to 0, the score can only rise, and leaving out one run may not be enough to
    move it. There the error is at least 1/1.96 of the rise to the upper end of the 95 % interval
    of μ - σ: 0 only if that is below 0, too.

    This is for any fusion and normalization, and for arrays on the GPU; on the CPU, most of ours
    have a compiled kernel.
    """
    counted = stability.counted[of]
    runs = stability.runs[of].astype(np.float64)[:, None]
    # Fewer than three runs give NaN, without a division by zero.
    runs[runs < 3] = np.nan
    normalize = NORMALIZATIONS[scoring.normalization]

    sums = stability.sums[of]
    c = (sums.sum(axis=1, keepdims=True) / 2 - sums) / pairs(runs - 1)

    everywhere = bool(counted.all())
    t = s if everywhere else np.where(counted, s, 0.0)
    mean = t.sum(axis=1, keepdims=True) / runs
    # Around the mean the variance loses no digits.
    t = s - mean if everywhere else np.where(counted, s - mean, 0.0)
    squares = t**2
    total = squares.sum(axis=1, keepdims=True)
    shift = t / (runs - 1)
    variance = (total - squares) / (runs - 1) - shift**2
    std = np.sqrt(np.maximum(variance, 0.0))
    means = mean - shift

    def spread(values: Floats) -> Floats:
        """Return the jackknife error (n, 1) of values (n, R), each without one run."""
        values = values if everywhere else np.where(counted, values, 0.0)
        away = values - values.sum(axis=1, keepdims=True) / runs
        away = away if everywhere else np.where(counted, away, 0.0)
        squares: Floats = (away**2).sum(axis=1, keepdims=True)
        return np.sqrt((runs - 1) / runs * squares)

    errors = spread(scoring.fusion(np.clip(c, 0.0, 1.0), normalize(means, std), *more))
    all_c, all_std = stability.c[of][:, None], np.sqrt(total / runs)
    g = normalize(mean, all_std)
    if (g == 0).any():
        high = normalize(mean + Z * spread(means - std), all_std)
        rise = np.abs(scoring.fusion(all_c, high, *more) - scoring.fusion(all_c, g, *more)) / Z
        errors = np.where(g == 0, np.maximum(errors, rise), errors)
    return errors[:, 0], unseen_errors(all_c, g, runs, scoring, more)[:, 0]
