"""Evidence of a labelled sample against "more than a share alpha of the kept points is wrong".

Each function returns p-values: if the claim is true, p ≤ u has a probability of at most u, for
every u. They depend on how the sample was drawn; nothing is assumed about scores or errors.

References
----------
W. Hoeffding, "Probability inequalities for sums of bounded random variables", JASA 58 (1963) 13-30,
Theorem 4. B. Wiens and A. Dmitrienko, "The fallback procedure for evaluating a single family of
hypotheses", Journal of Biopharmaceutical Statistics 15 (2005) 929-942.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from scipy.stats import binom, hypergeom

from clustertrust._types import Bools, Floats, Ints

# Values of λ over the smallest inclusion probability. Too few of them cost power, never validity.
TILTS = np.geomspace(0.02, 60.0, 64)
# Numbers in a temporary array
BLOCK = 2**20


def too_many(kept: Ints, alpha: float) -> Ints:
    """⌊alpha K⌋ + 1: the fewest wrong points that make the error of K kept points exceed alpha."""
    return np.asarray(np.minimum(np.floor(alpha * kept).astype(np.int64) + 1, kept))


def binomial_p(errors: Ints, labelled: Ints, alpha: float) -> Floats:
    """P[Bin(n, alpha) ≤ x]: x errors among n points drawn independently from a large population.

    This is Clopper and Pearson's bound turned round: p ≤ δ where their upper limit at confidence 1
    - δ is ≤ alpha.
    """
    return np.asarray(binom.cdf(errors, labelled, alpha))


def hypergeometric_p(errors: Ints, labelled: Ints, kept: Ints, alpha: float) -> Floats:
    """P[x or fewer of n are wrong], n drawn from K kept points of which ⌊alpha K⌋ + 1 are wrong.

    Given how many labelled points are among the kept, these are a simple random sample of them, so
    the number of errors is hypergeometric; it is smallest in law for the fewest wrong points that
    the claim allows.
    """
    return np.asarray(hypergeom.cdf(errors, kept, too_many(kept, alpha), labelled))


def highest_share(right: int, labelled: int, size: int, tail: float) -> float:
    """Largest share of right points among `size` with P[x or fewer right of n drawn] > tail.

    x = `right` of n = `labelled`. The probability falls as more points are right.
    """
    more = range(right + 1, size - (labelled - right) + 1)
    possible = bisect_left(
        more, True, key=lambda good: hypergeom.cdf(right, size, good, labelled) <= tail
    )
    return (right + possible) / size


def weighted_p(
    errors: Floats, labelled: Floats, kept: Ints, inclusion: Floats, alpha: float
) -> Floats:
    """min_λ exp(-λ T) max_W Π_g exp(π_g [(K_g - W_g) (e^{λα/π_g} - 1) + W_g (e^{-λ(1-α)/π_g} -
    1)]).

    All but `inclusion` (G,) are (T, G), by set of kept points and by group of equal inclusion
    probability π_g. T sums (α - wrong) / π over the labelled kept points; W_g are wrong, Σ W_g = ⌊α
    K⌋ + 1. Why p is valid, in three lines:

    1. A kept point in the sample contributes the factor e^{λ(α - wrong)/π} to e^{λT}. Independent
       draws: E e^{λT} = Π_i (1 + π_i (e^{..} - 1)) ≤ exp Σ_i π_i (e^{..} - 1). Simple random
       samples in strata: the same bound, since sampling without replacement gives E e^{λT} no more
       than with replacement (Hoeffding), and 1 + u ≤ e^u.
    2. The exponent falls with each W_g, linearly: of all W with at least ⌊α K⌋ + 1 wrong points the
       largest value has exactly so many, in the groups with the gentlest slopes first.
    3. P[T ≥ t] ≤ e^{-λt} E e^{λT} (Markov) for each λ ≥ 0 of a fixed list, so also for the smallest
       of these bounds.
    """
    total = ((alpha * labelled - errors) / inclusion).sum(axis=1)
    wrong = too_many(kept.sum(axis=1), alpha)
    at_once = max(1, BLOCK // (len(TILTS) * len(inclusion)))
    blocks = [slice(low, low + at_once) for low in range(0, len(kept), at_once)]
    return np.concatenate(
        [_chernoff(total[b], wrong[b], kept[b], inclusion, alpha) for b in blocks]
    )


def _chernoff(total: Floats, wrong: Ints, kept: Ints, inclusion: Floats, alpha: float) -> Floats:
    """`weighted_p` of some sets at once; arrays are (T, λ, G)."""
    K = kept[:, None, :]
    # Groups that are not in a set: any value, it is multiplied by 0.
    pi = np.where(K > 0, inclusion, 1.0)
    tilt = TILTS[:, None] * pi.min(axis=2, keepdims=True)
    right_term, wrong_term = (
        pi * np.expm1(tilt * alpha / pi),
        pi * np.expm1(-tilt * (1 - alpha) / pi),
    )
    slope = wrong_term - right_term
    order = np.argsort(-slope, axis=2)
    room = np.take_along_axis(np.broadcast_to(K, slope.shape), order, axis=2)
    W = np.clip(wrong[:, None, None] - (np.cumsum(room, axis=2) - room), 0, room)
    worst = (right_term * K).sum(axis=2) + (W * np.take_along_axis(slope, order, axis=2)).sum(
        axis=2
    )
    exponent = (worst - tilt[:, :, 0] * total[:, None]).min(axis=1)
    return np.asarray(np.exp(np.minimum(exponent, 0.0)))


def in_sequence(p: Floats, shares: Floats, delta: float) -> tuple[Bools, Floats]:
    """Return which claims are rejected, tested in order, and the level of each test.

    Each claim is tested at δ times its share, plus the level of the one before if that was
    rejected. With all of the share on one claim this is fixed-sequence testing from there; with
    more it is the fallback procedure. Shares add up to at most 1 and depend on no label. Then a
    true claim is rejected with a probability of at most δ: at the first such rejection the level is
    at most δ times the shares since the last true claim, which was not rejected and passed nothing
    on; these stretches do not overlap, so the chances add up to at most δ.
    """
    rejected, levels = np.zeros(len(p), dtype=bool), np.zeros(len(p))
    level = 0.0
    for j in range(len(p)):
        level += delta * shares[j]
        levels[j] = level
        rejected[j] = p[j] <= level and level > 0
        if not rejected[j]:
            level = 0.0
    return rejected, levels
