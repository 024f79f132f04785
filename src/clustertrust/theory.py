"""How many runs are enough: the paper's bounds for stability and geometry, and their inverses.

All of them take the R runs to be independent and identically distributed, and the agreement A of
two runs on a point to depend on these two alone. Under alignment that holds for a point that does
not influence the matching, such as one among many. Bounds are upper limits, far from sharp: they
say which R is surely enough, not which is needed.

**Forms.** Stability c is a U-statistic of order 2: a mean over all pairs of runs. Hoeffding writes
it as an average over all orderings of the runs of the mean of ⌊R/2⌋ disjoint, hence independent,
pairs; so Pr[c - θ ≥ ε] ≤ exp(-2 ⌊R/2⌋ ε²), and the same for the lower tail. This is `form="sharp"`.
The paper prints exp(-R ε² / 2), `form="paper"`, which follows because 2 ⌊R/2⌋ ≥ R - 1 ≥ R/2. For
even R the sharp exponent is twice the printed one: the same guarantee for half the runs.

References
----------
W. Hoeffding, "Probability inequalities for sums of bounded random variables", JASA 58 (1963) 13-30,
section 5a. A. Maurer and M. Pontil, "Empirical Bernstein bounds and sample variance penalization",
COLT 2009, theorem 10.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import partial

from clustertrust._validation.arguments import check_choice, check_count, check_inside

__all__ = [
    "RANKING_TAILS",
    "TAILS",
    "expected_false_positives",
    "false_stability_bound",
    "geometry_deviation",
    "mis_ranking_bound",
    "runs_for_false_positives",
    "runs_for_false_stability",
    "runs_for_geometry",
    "runs_for_mis_ranking",
]

# Beyond it R is no longer exact in floating point, and nobody has that many
MOST_RUNS = 2**53


def printed_tail(R: int, epsilon: float) -> float:
    """exp(-R ε² / 2) ≥ Pr[c - θ ≥ ε], as the paper has it."""
    return math.exp(-R * epsilon**2 / 2)


def hoeffding_tail(R: int, epsilon: float) -> float:
    """exp(-2 ⌊R/2⌋ ε²) ≥ Pr[c - θ ≥ ε], Hoeffding's own form."""
    return math.exp(-2 * (R // 2) * epsilon**2)


TAILS: dict[str, Callable[[int, float], float]] = {"paper": printed_tail, "sharp": hoeffding_tail}


def printed_ranking_tail(R: int, gamma: float) -> float:
    """2 exp(-R γ² / 8), Eq. (10): where c_i < c_j, one of the two is off by ε = γ/2 or more."""
    return 2 * printed_tail(R, gamma / 2)


def hoeffding_ranking_tail(R: int, gamma: float) -> float:
    """2 exp(-2 ⌊R/2⌋ γ² / 4): Eq. (10) with Hoeffding's own tail, ε = γ/2 for each of the two."""
    return 2 * hoeffding_tail(R, gamma / 2)


def joint_ranking_tail(R: int, gamma: float) -> float:
    """exp(-2 ⌊R/2⌋ γ² / 4): c_i - c_j is itself a U-statistic, of A_i - A_j in [-1, 1], a range of
    2, with mean ≥ γ.
    """
    return hoeffding_tail(R, gamma / 2)


RANKING_TAILS: dict[str, Callable[[int, float], float]] = {
    "joint": joint_ranking_tail,
    "paper": printed_ranking_tail,
    "sharp": hoeffding_ranking_tail,
}


def mis_ranking_bound(n_runs: int, margin: float, *, form: str = "paper") -> float:
    """Return a bound on Pr[c_i < c_j] where θ_i ≥ θ_j + γ: 2 exp(-R γ² / 8), Eq. (10).

    Two points whose true stabilities, the expected agreements θ, differ by γ are ranked the wrong
    way round by R runs with at most this probability: then c_i is too low by γ/2, or c_j too high.

    Parameters
    ----------
    n_runs : int
        R, at least 2.
    margin : float
        γ, above 0 and at most 1.
    form : {"paper", "sharp", "joint"}
        "sharp": 2 exp(-2 ⌊R/2⌋ γ² / 4), Hoeffding's own tail for each of the two points. "joint":
        the same without the factor 2. Both scores come from the same runs, so that their difference
        is one U-statistic, whose kernel has range 2 and mean γ, and no sum over two events is
        needed.

    Returns
    -------
    float
        At most 1: where the formula is larger it says nothing.

    Examples
    --------
    >>> from clustertrust.theory import mis_ranking_bound
    >>> [round(mis_ranking_bound(20, 0.8, form=form), 4) for form in ("paper", "sharp", "joint")]
    [0.4038, 0.0815, 0.0408]
    """
    R = check_count("n_runs", n_runs, at_least=2)
    check_inside("margin", margin, ends="(]")
    check_choice("form", form, RANKING_TAILS)
    return min(1.0, RANKING_TAILS[form](R, margin))


def runs_for_mis_ranking(error: float, margin: float, *, form: str = "paper") -> int:
    """Return the smallest R ≥ 2 with `mis_ranking_bound` ≤ error.

    In the paper's form that is ⌈8 ln(2 / error) / γ²⌉.

    Parameters
    ----------
    error : float
        Probability allowed, between 0 and 1.
    margin, form : as in :func:`mis_ranking_bound`

    Returns
    -------
    int

    Examples
    --------
    >>> from clustertrust.theory import runs_for_mis_ranking
    >>> [runs_for_mis_ranking(0.05, 0.5, form=form) for form in ("paper", "sharp", "joint")]
    [119, 60, 48]
    """
    check_inside("error", error)
    bound = partial(mis_ranking_bound, margin=margin, form=form)
    return _smallest(bound, error, f"margin={margin!r}")


def false_stability_bound(
    n_runs: int,
    threshold: float,
    *,
    n_clusters: int | None = None,
    expected_agreement: float | None = None,
    form: str = "paper",
) -> float:
    """Return a bound on Pr[c > τ] for noise: exp(-(R/2) (τ - θ)²), τ > θ, Eq. (11).

    θ is 1/k for uniform noise: a point that gets any of k labels with the same probability in each
    run agrees with itself in a share 1/k of the pairs of runs, in expectation. The probability that
    R runs nevertheless give it a stability above τ is at most this.

    Parameters
    ----------
    n_runs : int
        R, at least 2.
    threshold : float
        τ, above θ and at most 1.
    n_clusters : int, optional
        k, at least 2, for uniform noise.
    expected_agreement : float, optional
        θ of any other point, at least 0 and below 1: Σ_ℓ p_ℓ² if its label is ℓ with probability
        p_ℓ. Give this or `n_clusters`.
    form : {"paper", "sharp"}
        "sharp": exp(-2 ⌊R/2⌋ (τ - θ)²), Hoeffding's own.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.theory import false_stability_bound
    >>> round(false_stability_bound(20, 0.8, n_clusters=4), 4)
    0.0486
    >>> round(false_stability_bound(20, 0.8, n_clusters=4, form="sharp"), 4)
    0.0024
    >>> round(false_stability_bound(20, 0.8, expected_agreement=0.5**2 + 0.5**2), 4)
    0.4066
    """
    R = check_count("n_runs", n_runs, at_least=2)
    theta = _theta(n_clusters, expected_agreement)
    remedy = f"such a point has an expected agreement of {theta:g} (1/k for uniform noise)"
    check_inside("threshold", threshold, theta, ends="(]", remedy=remedy)
    check_choice("form", form, TAILS)
    return TAILS[form](R, threshold - theta)


def runs_for_false_stability(
    error: float,
    threshold: float,
    *,
    n_clusters: int | None = None,
    expected_agreement: float | None = None,
    form: str = "paper",
) -> int:
    """Return the smallest R ≥ 2 with `false_stability_bound` ≤ error.

    In the paper's form that is ⌈2 ln(1 / error) / (τ - θ)²⌉.

    Parameters
    ----------
    error : float
        Probability allowed, between 0 and 1.
    threshold, n_clusters, expected_agreement, form : as in :func:`false_stability_bound`

    Returns
    -------
    int

    Examples
    --------
    >>> from clustertrust.theory import runs_for_false_stability
    >>> forms = ("paper", "sharp")
    >>> [runs_for_false_stability(0.01, 0.8, n_clusters=4, form=form) for form in forms]
    [31, 16]
    """
    check_inside("error", error)
    theta = _theta(n_clusters, expected_agreement)
    bound = partial(false_stability_bound, threshold=threshold, expected_agreement=theta, form=form)
    return _smallest(bound, error, f"threshold={threshold!r}")


def expected_false_positives(
    n_runs: int,
    threshold: float,
    n_noise: float,
    *,
    n_clusters: int | None = None,
    expected_agreement: float | None = None,
    form: str = "paper",
) -> float:
    """Return a bound on the expected number of noise points with c > τ, Eq. (11).

    It is n φ exp(-(R/2) (τ - θ)²): the bound for one point, summed over a data set.

    Parameters
    ----------
    n_runs, threshold, n_clusters, expected_agreement, form : as in :func:`false_stability_bound`
    n_noise : float
        n φ, the number of noise points (a share φ of n points), above 0.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustertrust.theory import expected_false_positives
    >>> round(expected_false_positives(50, 0.8, 1500, n_clusters=3), 2)
    6.48
    """
    check_inside("n_noise", n_noise, high=math.inf)
    return n_noise * false_stability_bound(
        n_runs, threshold, n_clusters=n_clusters, expected_agreement=expected_agreement, form=form
    )


def runs_for_false_positives(
    number: float,
    threshold: float,
    n_noise: float,
    *,
    n_clusters: int | None = None,
    expected_agreement: float | None = None,
    form: str = "paper",
) -> int:
    """Return the smallest R ≥ 2 with `expected_false_positives` ≤ number.

    In the paper's form that is ⌈2 ln(n φ / number) / (τ - θ)²⌉.

    Parameters
    ----------
    number : float
        False positives allowed in expectation, above 0.
    threshold, n_noise, n_clusters, expected_agreement, form
        As in :func:`expected_false_positives`.

    Returns
    -------
    int

    Examples
    --------
    >>> from clustertrust.theory import runs_for_false_positives
    >>> runs_for_false_positives(1, 0.8, 1500, n_clusters=3)
    68
    """
    check_inside("number", number, high=math.inf)
    theta = _theta(n_clusters, expected_agreement)
    bound = partial(expected_false_positives, threshold=threshold, n_noise=n_noise, form=form)
    return _smallest(partial(bound, expected_agreement=theta), number, f"threshold={threshold!r}")


def geometry_deviation(n_runs: int, error: float) -> float:
    """Return a bound on |S̃ - g| that holds with probability at least 1 - δ.

    It is √(2 ln(4/δ) / R) + 2 √(2 ln(4/δ) / (R-1)) + √(R / (R-1)) - 1.

    S̃ = max(0, mean - std) of the silhouettes of a point in R runs, Eq. (3), and g = max(0, μ - σ)
    of the law that these come from. The three terms: Hoeffding for the mean of values in [-1, 1];
    Maurer and Pontil for the standard deviation with divisor R - 1, both its tails; and what the
    divisor R of Eq. (2) changes in it. Each inequality may fail with probability δ/2 (both tails
    together), and max(0, ·) moves no two numbers further apart.

    The paper sketches this with McDiarmid's inequality, which cannot give it: among R equal values
    one can change and move the standard deviation by up to 2 √(R-1) / R, about 2/√R. The squares of
    these R differences add up to about 4 for any R, so the bound for the std term would not fall
    with R. Also, the paper bounds the distance to E[S̃], which changes with R; g does not.

    Two points with g_i ≥ g_j + γ are ranked the right way round with probability at least 1 - δ if
    R is ``runs_for_geometry(γ / 2, δ / 2)``.

    Parameters
    ----------
    n_runs : int
        R, at least 2.
    error : float
        δ, between 0 and 1.

    Returns
    -------
    float
        At most 1, since S̃ and g lie in [0, 1]; 1 says nothing.

    Examples
    --------
    >>> from clustertrust.theory import geometry_deviation
    >>> [round(geometry_deviation(R, 0.05), 3) for R in (20, 200, 2000)]
    [1.0, 0.632, 0.199]
    """
    R = check_count("n_runs", n_runs, at_least=2)
    check_inside("error", error)
    spread = 2 * math.log(4 / error)
    mean_term, std_term = math.sqrt(spread / R), 2 * math.sqrt(spread / (R - 1))
    return min(1.0, mean_term + std_term + math.sqrt(R / (R - 1)) - 1)


def runs_for_geometry(deviation: float, error: float) -> int:
    """Return the smallest R ≥ 2 with `geometry_deviation` ≤ deviation.

    Parameters
    ----------
    deviation : float
        Largest |S̃ - g| allowed, between 0 and 1.
    error : float
        δ, between 0 and 1.

    Returns
    -------
    int

    Examples
    --------
    >>> from clustertrust.theory import runs_for_geometry
    >>> runs_for_geometry(0.1, 0.05)
    7899
    """
    check_inside("deviation", deviation)
    bound = partial(geometry_deviation, error=error)
    return _smallest(bound, deviation, f"deviation={deviation!r}")


def _smallest(bound: Callable[[int], float], limit: float, asked: str) -> int:
    """Smallest R ≥ 2 with bound(R) ≤ limit; a bound never rises with R."""
    runs = range(2, MOST_RUNS + 1)
    place = bisect_left(runs, True, key=lambda R: bound(R) <= limit)
    if place == len(runs):
        raise ValueError(f"{asked} would need more than {MOST_RUNS} runs; ask for less.")
    return runs[place]


def _theta(n_clusters: int | None, expected_agreement: float | None) -> float:
    """θ: 1/k for uniform noise, else as given."""
    if (n_clusters is None) == (expected_agreement is None):
        raise ValueError(
            f"n_clusters={n_clusters!r} and expected_agreement={expected_agreement!r}: give one of "
            "them, the number of clusters for uniform noise or the expected agreement θ of another "
            "point."
        )
    if expected_agreement is None:
        return 1 / check_count("n_clusters", n_clusters, at_least=2)
    return check_inside("expected_agreement", expected_agreement, ends="[)")
