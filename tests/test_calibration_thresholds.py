"""Thresholds with a guarantee, by exact enumeration and by simulation."""

from itertools import product
from math import comb

import numpy as np
import pytest
from calibrating import drawn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, hypergeom

from clustertrust.calibration import risk_threshold, suggest
from clustertrust.calibration.evidence import (
    highest_share,
    hypergeometric_p,
    in_sequence,
    too_many,
    weighted_p,
)

# P-values, by enumeration of all that can happen


def hypergeometric(x, kept, wrong, n):
    return comb(wrong, x) * comb(kept - wrong, n - x) / comb(kept, n)


def assert_valid(cases):
    """cases: (probability, p-value) of all that can happen.

    P[p ≤ u] ≤ u at every u that p can take.
    """
    chances, p = (np.array(column) for column in zip(*cases, strict=True))
    assert chances.sum() == pytest.approx(1)
    for u in np.unique(p):
        assert chances[p <= u].sum() <= u + 1e-12


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_hypergeometric_p_values_are_exact(alpha):
    kept, n = 30, 12
    fewest = int(np.floor(alpha * kept)) + 1
    x = np.arange(n + 1)
    p = hypergeometric_p(x, np.full(n + 1, n), np.full(n + 1, kept), alpha)
    assert_allclose(p, [sum(hypergeometric(y, kept, fewest, n) for y in range(a + 1)) for a in x])
    for wrong in range(fewest, kept + 1):
        assert_valid([(hypergeometric(a, kept, wrong, n), p[a]) for a in x])


def test_too_many_is_the_first_number_above_alpha():
    assert too_many(np.array([19, 20, 21, 40]), 0.05).tolist() == [1, 2, 2, 3]


@pytest.mark.parametrize(("alpha", "n"), [(0.2, (6, 3)), (0.4, (4, 4)), (0.1, (7, 1))])
def test_weighted_p_values_are_valid_in_strata(alpha, n):
    kept = np.array([8, 12])
    pi = np.array(n) / kept
    outcomes = list(product(range(n[0] + 1), range(n[1] + 1)))
    found = weighted_p(
        np.array(outcomes),
        np.tile(n, (len(outcomes), 1)),
        np.tile(kept, (len(outcomes), 1)),
        pi,
        alpha,
    )
    p = dict(zip(outcomes, found, strict=True))
    assert min(p.values()) < 0.95  # the bound says something
    fewest = int(np.floor(alpha * 20)) + 1
    for wrong in product(range(9), range(13)):
        if sum(wrong) >= fewest:
            assert_valid(
                [
                    (np.prod([hypergeometric(x[g], kept[g], wrong[g], n[g]) for g in (0, 1)]), p[x])
                    for x in p
                ]
            )


@pytest.mark.parametrize("alpha", [0.2, 0.5])
def test_weighted_p_values_are_valid_for_independent_draws(alpha):
    kept, pi = np.array([4, 5]), np.array([0.9, 0.5])
    # Right and wrong labelled points, by group.
    outcomes = list(product(range(5), range(5), range(6), range(6)))
    o = np.array(outcomes)
    p = weighted_p(o[:, [1, 3]], o[:, [0, 2]] + o[:, [1, 3]], np.tile(kept, (len(o), 1)), pi, alpha)
    for wrong in product(range(5), range(6)):
        if sum(wrong) > alpha * 9:
            right = kept - wrong
            chances = np.prod(
                binom.pmf(o[:, [0, 2]], right, pi) * binom.pmf(o[:, [1, 3]], wrong, pi), axis=1
            )
            assert_valid(list(zip(chances, p, strict=True)))


def test_weighted_p_values_are_not_far_from_the_exact_ones():
    n, kept = np.array([60, 120, 200]), np.array([600, 1200, 2000])
    x = np.array([0, 1, 4])
    exact = hypergeometric_p(x, n, kept, 0.05)
    bound = weighted_p(x[:, None], n[:, None], kept[:, None], np.array([0.1]), 0.05)
    assert (bound > exact).all()
    assert (bound < 5 * exact).all()


def test_a_sequence_stops_where_it_fails_and_a_fallback_begins_anew():
    p = np.array([0.001, 0.04, 0.2, 0.001, 0.02, 0.03])
    rejected, levels = in_sequence(p, np.array([0, 1, 0, 0, 0, 0.0]), 0.05)
    assert rejected.tolist() == [False, True, False, False, False, False]
    assert_allclose(levels, [0, 0.05, 0.05, 0, 0, 0])
    rejected, levels = in_sequence(p, np.array([0.5, 0, 0, 0.25, 0.25, 0]), 0.05)
    assert rejected.tolist() == [True, False, False, True, True, False]
    assert_allclose(levels, [0.025, 0.025, 0, 0.0125, 0.025, 0.025])


# The guarantee, by simulation


ALPHA, DELTA, DRAWS = 0.1, 0.2, 200
SLACK = 3 * np.sqrt(DELTA * (1 - DELTA) / DRAWS)


def evenly_wrong(N=1000, share=0.104):
    """Points whose error is just above ALPHA in every set of the surest: any certificate is a
    violation.
    """
    rank = np.arange(N)
    return 1 - rank / N, np.floor((rank + 1) * share) == np.floor(rank * share)


def confident_errors(N=1000):
    """Errors among the surest and again among the least sure: error is no falling function of the
    score.
    """
    rank = np.arange(N)
    wrong = ((rank < 200) & (rank % 12 == 0)) | ((rank >= 500) & (rank % 4 == 0))
    return 1 - rank / N, ~wrong


def draw_random(s, right, seed):
    sample = suggest(s, 200, random_state=seed)
    return risk_threshold(s, right[sample.positions], ALPHA, DELTA, sample=sample)


def draw_stratified(s, right, seed):
    sample = suggest(s, 300, design="stratified", random_state=seed)
    return risk_threshold(s, right[sample.positions], ALPHA, DELTA, sample=sample)


def draw_independently(s, right, seed):
    chances = np.repeat([0.4, 0.2], len(s) // 2)
    known = np.random.default_rng(seed).uniform(size=len(s)) < chances
    return risk_threshold(s, np.where(known, right, np.nan), ALPHA, DELTA, inclusion=chances)


def draw_from_a_population(s, right, seed):
    at = np.random.default_rng(seed).integers(0, len(s), 300)
    return risk_threshold(s[at], right[at], ALPHA, DELTA)


WAYS = [draw_random, draw_stratified, draw_independently, draw_from_a_population]


@pytest.mark.parametrize("population", [evenly_wrong, confident_errors])
@pytest.mark.parametrize("way", WAYS)
def test_the_error_is_too_large_no_more_often_than_delta(way, population):
    s, right = population()
    violations = 0
    for seed in range(DRAWS):
        found = way(s, right, seed)
        kept = found.keep(s)
        assert found.guaranteed
        violations += kept.any() and (~right[kept]).mean() > ALPHA
    assert violations / DRAWS <= DELTA + SLACK


def test_the_exact_test_uses_its_delta_up_and_the_plain_share_breaks_it():
    """Where every set is bad: the simulation above can fail, and the threshold is not needlessly
    careful.
    """
    s, right = evenly_wrong()
    certified = plain = 0
    for seed in range(DRAWS):
        certified += draw_random(s, right, seed).certified
        at = suggest(s, 200, random_state=seed).positions
        # At rises and scores fall: the surest labels come first.
        errors = np.cumsum(~right[at])[50:]
        plain += (errors / np.arange(51, 201) <= ALPHA).any()
    assert certified / DRAWS > DELTA / 4
    assert plain / DRAWS > 2 * DELTA


@pytest.mark.parametrize("way", WAYS)
def test_good_scores_keep_more_than_half_of_what_can_be_kept(way):
    N = 2000
    s = 1 - np.arange(N) / N
    right = np.random.default_rng(0).uniform(size=N) < np.where(s > 0.3, 0.99, 0.4)
    best = max(m for m in range(1, N + 1) if (~right[:m]).mean() <= ALPHA) / N
    kept = [way(s, right, seed).keep(s).mean() for seed in range(20)]
    assert 0.5 * best < np.mean(kept) <= best + 0.02


def test_a_failure_among_few_labels_is_not_the_end_of_larger_sets():
    """3 % of all points are wrong, however sure, where 10 % may be.

    Some drawings begin with two errors too many.
    """
    rank = np.arange(2000)
    s, right = 1 - rank / 2000, rank % 33 > 0
    kept = [draw_random(s, right, seed).keep(s).mean() for seed in range(40)]
    assert np.mean(kept) > 0.8


def test_few_labels_have_one_place_to_begin():
    right = np.where(np.arange(1000) % 20 == 0, 0.0, np.nan)
    found = risk_threshold(1 - np.arange(1000) / 1000, right, 0.2, 0.06)
    assert_allclose(found.levels[found.levels > 0], [0.06])


# Thresholds


def test_a_population_that_is_known_has_the_largest_good_set():
    s, right = confident_errors()
    found = risk_threshold(s, right, 0.1, inclusion=np.ones(1000))
    good = [m for m in range(10, 1001, 10) if (~right[:m]).mean() <= 0.1]
    assert found.n_kept == max(good)
    assert found.coverage == max(good) / 1000
    assert found.keep(s).sum() == max(good)


def test_a_sample_and_gaps_say_the_same():
    s, right = drawn(800)
    sample = suggest(s, 300, random_state=5)
    gaps = np.full(800, np.nan)
    gaps[sample.positions] = right[sample.positions]
    one = risk_threshold(s, right[sample.positions], 0.2, sample=sample)
    for other in (
        risk_threshold(s, gaps, 0.2),
        risk_threshold(s, gaps, 0.2, inclusion=np.full(800, 0.375)),
    ):
        assert other.threshold == one.threshold
        assert_allclose(other.p_values, one.p_values)
    assert one.certified
    shuffled = np.random.default_rng(0).permutation(800)
    assert risk_threshold(s[shuffled], gaps[shuffled], 0.2).threshold == one.threshold


def test_how_many_labels_without_an_error_are_needed():
    # 0.95^90 ≤ 0.05 / 5 < 0.95^89: a fifth of delta is at each of five places to begin
    assert not risk_threshold(np.ones(89), np.ones(89)).certified
    enough = risk_threshold(np.ones(90), np.ones(90))
    assert enough.certified
    assert enough.threshold == -np.inf
    few_labels = risk_threshold(
        np.linspace(0, 1, 5000), np.where(np.arange(5000) % 100 == 0, 1.0, np.nan)
    )
    assert not few_labels.certified
    assert few_labels.threshold == np.inf
    assert few_labels.n_kept == 0
    assert not few_labels.keep([0.0, 1.0]).any()
    assert "50 labels, 0 of them errors. Even without errors, about 59 labels are needed" in str(
        few_labels
    )
    bad = risk_threshold(np.linspace(0, 1, 300), np.arange(300) % 2)
    assert (
        "300 labels, 150 of them errors. Label more points, or ask for a larger alpha or delta."
        in str(bad)
    )


def test_points_of_equal_score_stay_together_and_missing_scores_out():
    s = np.round(drawn(600)[0], 1)
    s[:20] = np.nan
    right = np.where(np.arange(600) % 2, 1.0, np.nan)
    right[:20] = 0.0
    found = risk_threshold(s, right, 0.1)
    assert found.n_points == 580
    assert found.errors[-1] == 0  # those without a score do not count
    assert_array_equal(found.kept, [(s > t).sum() for t in found.thresholds])
    assert_array_equal(found.kept, [(s >= t).sum() for t in found.thresholds])
    assert_array_equal(
        found.labelled, [((s > t) & ~np.isnan(right)).sum() for t in found.thresholds]
    )
    assert not found.keep(s)[:20].any()


def test_the_table_tells_the_order_of_the_tests():
    s, right = drawn(1000, slope=12.0)
    sample = suggest(s, 400, random_state=1)
    found = risk_threshold(s, right[sample.positions], 0.1, sample=sample)
    table = found.to_frame()
    certified = np.flatnonzero(table["certified"])
    assert found.threshold == table["thresholds"][certified[-1]]
    assert certified.tolist() == list(range(certified[0], certified[-1] + 1))
    tested = np.flatnonzero(table["levels"])
    assert tested.tolist() == [*certified, certified[-1] + 1]
    # The first set is the one in which chance puts enough labels to forgive one error at half of
    # delta.
    allowed = {K: hypergeometric(0, K, K // 10 + 1, 2 * K // 5) for K in table["kept"] if K >= 10}
    allowed = {K: p + hypergeometric(1, K, K // 10 + 1, 2 * K // 5) for K, p in allowed.items()}
    assert table["kept"][certified[0]] == min(K for K, p in allowed.items() if p <= 0.05 / 2)


def test_delta_is_dealt_to_the_sets_that_forgive_one_and_eight_errors():
    # Every label is wrong: each start fails at once.
    right = np.where(np.arange(1000) % 5 == 0, 0.0, np.nan)
    found = risk_threshold(1 - np.arange(1000) / 1000, right, 0.2, 0.06)
    dealt = np.flatnonzero(found.levels)
    assert_allclose(found.levels[dealt], 0.03)
    assert not found.certified
    for at, forgiven in zip(dealt, (1, 8), strict=True):
        chance = [
            sum(hypergeometric(x, K, K // 5 + 1, K // 5) for x in range(forgiven + 1))
            for K in found.kept[[at - 1, at]]
        ]
        assert chance[1] <= 0.03 < chance[0]


def test_a_review_guarantees_nothing_and_can_be_far_off():
    rank = np.arange(1000)
    # The surest half is wrong in a third of cases.
    s, right = (1 - rank / 1000, (rank >= 500) | (rank % 3 > 0))
    sample = suggest(s, 300, "review")
    assert not sample.guaranteed
    with pytest.warns(
        UserWarning,
        match=r"purpose='review': its points were chosen by score, not at random, so nothing is guar",
    ):
        found = risk_threshold(s, right[sample.positions], 0.05, sample=sample)
    assert (found.guaranteed, found.certified, found.n_points) == (False, True, 300)
    assert "300 of 300 points" in str(found)
    assert "NOT GUARANTEED: this holds only for the labelled points." in str(found)
    # The lowest scores are right here, and say nothing of the others.
    assert (~right[found.keep(s)]).mean() > 0.05
    passed_off = risk_threshold(s[sample.positions], right[sample.positions], 0.05)
    assert (~right[passed_off.keep(s)]).mean() > 0.05
    honest = suggest(s, 300)
    assert not risk_threshold(s, right[honest.positions], 0.05, sample=honest).certified


def test_a_threshold_that_keeps_all_says_so():
    found = risk_threshold(np.linspace(0, 1, 60), [True] * 60, alpha=0.2)
    assert found.threshold == -np.inf
    assert str(found).startswith("Keep every score: points like these, ")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.1, 0.2], [True]), {}, "scores has 2 points and correct has 1"),
        (([0.1, 0.2], [None, None]), {}, "not known for any point"),
        (([0.1, 0.2], [True, None], 0), {}, "alpha=0 must be above 0 and below 1"),
        (([0.1, 0.2], [True, None], 0.1, 1.5), {}, r"delta=1\.5 must be"),
        (
            ([0.1, 2.0], [True, False]),
            {},
            "scores must lie from 0 to 1. To take thresholds from the scores, give all scores",
        ),
        (([np.nan, np.nan], [True, None]), {}, "nothing to keep"),
        (([np.inf, 0.5], [True, None]), {}, "infinite values"),
        (
            ([0.1, 0.2], [True, None]),
            {"inclusion": [0.5]},
            "correct has 2 points and inclusion has 1",
        ),
        (([0.1, 0.2], [True, None]), {"inclusion": [0.5, 2]}, "probabilities from 0 to 1"),
        (
            ([0.1, 0.2], [True, None]),
            {"inclusion": [0.0, 0.5]},
            "position 0 is labelled though its inclusion is 0",
        ),
        (
            ([0.1, 0.2], [None]),
            {"sample": suggest([0.1, 0.2], 1)},
            r"count them as wrong \(False\), or label them",
        ),
        (
            ([0.1, 0.2], [True, False]),
            {"sample": suggest([0.1, 0.2], 1)},
            "positions has 1 points and correct has 2",
        ),
        (
            ([0.1], [True]),
            {"sample": suggest([0.1, 0.2], 1)},
            "scores has 1 points and sample.inclusion has 2",
        ),
        (
            ([0.1, 0.2], [True]),
            {"sample": suggest([0.1, 0.2], 1), "inclusion": [0.5, 0.5]},
            "give either sample or inclusion",
        ),
    ],
)
def test_bad_input_to_a_threshold_is_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        risk_threshold(*arguments, **options)


def test_a_sample_must_be_one():
    with pytest.raises(TypeError, match="must be what suggest"):
        risk_threshold([0.1, 0.2], [True], sample=[0])


def test_the_upper_limit_of_a_share_is_that_of_all_cases_counted():
    rng = np.random.default_rng(0)
    for _ in range(60):
        size = int(rng.integers(1, 80))
        labelled = int(rng.integers(0, size + 1))
        right = int(rng.integers(0, labelled + 1))
        tail = rng.choice([0.005, 0.025, 0.1])
        possible = range(right, size - (labelled - right) + 1)
        believed = [K for K in possible if hypergeom.cdf(right, size, K, labelled) > tail]
        assert highest_share(right, labelled, size, tail) == pytest.approx(max(believed) / size)
    assert highest_share(7, 7, 10**6, 0.025) == 1
    assert highest_share(0, 0, 10, 0.025) == 1
    assert highest_share(3, 10, 10, 0.025) == 0.3
