"""The bounds against exact enumeration and simulation, and the inverses against counting up.

As the bounds suppose, a single point is simulated: its aligned label in each run is drawn from a
law of its own. Seeds are fixed.
"""

import math
from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from strategies import few

from clustertrust.stability import pairwise_stability
from clustertrust.theory import (
    RANKING_TAILS,
    TAILS,
    expected_false_positives,
    false_stability_bound,
    geometry_deviation,
    mis_ranking_bound,
    runs_for_false_positives,
    runs_for_false_stability,
    runs_for_geometry,
    runs_for_mis_ranking,
)

runs = st.integers(2, 300)
errors = st.floats(1e-6, 0.999)
margins = st.floats(0.05, 1)
rankings = st.sampled_from(sorted(RANKING_TAILS))
forms = st.sampled_from(sorted(TAILS))


def stabilities(labels):
    """Share of the pairs of runs in which a point has one label.

    One point a row, aligned labels (points, R).
    """
    R = labels.shape[1]
    return sum((labels[:, r] == labels[:, q]).astype(float) for r in range(R) for q in range(r)) / (
        R * (R - 1) / 2
    )


def draw(law, size, seed):
    return np.random.default_rng(seed).choice(len(law), size, p=law)


def test_simulated_stability_is_that_of_a_point_among_many():
    """Beside two clusters that hold still a single point's drawn labels stay aligned: c is as
    simulated.
    """
    drawn = draw([0.5, 0.5], (1, 12), 0)
    still = np.repeat([[0], [1]], 20, axis=0) * np.ones((1, 12), dtype=int)
    assert_allclose(pairwise_stability(np.vstack([drawn, still]))[0], stabilities(drawn)[0])


def test_values():
    assert mis_ranking_bound(20, 0.8) == pytest.approx(2 * math.exp(-20 * 0.64 / 8))
    assert mis_ranking_bound(21, 0.8, form="sharp") == pytest.approx(2 * math.exp(-2 * 10 * 0.16))
    assert mis_ranking_bound(21, 0.8, form="joint") == pytest.approx(math.exp(-2 * 10 * 0.16))
    assert false_stability_bound(21, 0.75, n_clusters=4) == pytest.approx(math.exp(-21 / 2 * 0.25))
    assert false_stability_bound(21, 0.75, n_clusters=4, form="sharp") == pytest.approx(
        math.exp(-20 * 0.25)
    )
    assert false_stability_bound(20, 0.75, expected_agreement=0.5) == pytest.approx(
        math.exp(-10 / 16)
    )
    assert expected_false_positives(20, 0.75, 200, n_clusters=4) == pytest.approx(
        200 * math.exp(-2.5)
    )
    spread = 2 * math.log(80)
    deviation = math.sqrt(spread / 500) + 2 * math.sqrt(spread / 499) + math.sqrt(500 / 499) - 1
    assert geometry_deviation(500, 0.05) == pytest.approx(deviation)


def test_a_bound_that_says_nothing_is_1():
    assert mis_ranking_bound(2, 0.1) == 1
    assert geometry_deviation(2, 0.01) == 1


@few
@given(runs, margins, st.floats(0, 0.9), errors)
def test_bounds_fall_with_runs_and_margin_and_the_sharp_forms_are_sharper(R, margin, theta, delta):
    for form in RANKING_TAILS:
        bound = mis_ranking_bound(R, margin, form=form)
        assert 0 < bound <= 1
        assert mis_ranking_bound(R + 1, margin, form=form) <= bound
        assert mis_ranking_bound(R, margin / 2, form=form) >= bound
    assert mis_ranking_bound(R, margin, form="sharp") <= mis_ranking_bound(R, margin)
    assert mis_ranking_bound(R, margin, form="joint") <= mis_ranking_bound(R, margin, form="sharp")
    tau = theta + (1 - theta) * margin
    for form in TAILS:
        bound = false_stability_bound(R, tau, expected_agreement=theta, form=form)
        assert 0 < bound <= 1
        assert false_stability_bound(R + 1, tau, expected_agreement=theta, form=form) <= bound
        assert false_stability_bound(R, (tau + 1) / 2, expected_agreement=theta, form=form) <= bound
    sharp = false_stability_bound(R, tau, expected_agreement=theta, form="sharp")
    assert sharp <= false_stability_bound(R, tau, expected_agreement=theta)
    assert geometry_deviation(R + 1, delta) <= geometry_deviation(R, delta)
    assert geometry_deviation(R, delta / 2) >= geometry_deviation(R, delta)


@few
@given(st.integers(2, 9), runs, forms)
def test_uniform_noise_is_the_case_of_an_agreement_of_1_in_k(k, R, form):
    general = false_stability_bound(R, 0.9, expected_agreement=1 / k, form=form)
    assert false_stability_bound(R, 0.9, n_clusters=k, form=form) == general


def count_up(enough):
    """The first R from 2 on that is enough."""
    return next(R for R in range(2, 10_000) if enough(R))


@few
@given(st.floats(1e-4, 0.999), st.floats(0.3, 1), rankings)
def test_runs_for_mis_ranking_is_the_first(error, margin, form):
    expected = count_up(lambda R: mis_ranking_bound(R, margin, form=form) <= error)
    assert runs_for_mis_ranking(error, margin, form=form) == expected


@few
@given(st.floats(1e-4, 0.999), st.floats(0.7, 1), st.integers(2, 6), forms)
def test_runs_for_false_stability_is_the_first(error, tau, k, form):
    expected = count_up(lambda R: false_stability_bound(R, tau, n_clusters=k, form=form) <= error)
    assert runs_for_false_stability(error, tau, n_clusters=k, form=form) == expected
    assert runs_for_false_stability(error, tau, expected_agreement=1 / k, form=form) == expected


@few
@given(st.floats(0.01, 2000), st.floats(0.7, 1), st.floats(0.01, 5000), forms)
def test_runs_for_false_positives_is_the_first(number, tau, n_noise, form):
    expected = count_up(
        lambda R: expected_false_positives(R, tau, n_noise, n_clusters=3, form=form) <= number
    )
    assert runs_for_false_positives(number, tau, n_noise, n_clusters=3, form=form) == expected


@few
@given(st.floats(0.2, 0.999), errors)
def test_runs_for_geometry_is_the_first(deviation, error):
    R = runs_for_geometry(deviation, error)
    assert geometry_deviation(R, error) <= deviation
    assert R == 2 or geometry_deviation(R - 1, error) > deviation


@few
@given(st.floats(1e-9, 0.99), st.floats(1e-3, 1))
def test_closed_forms_of_the_inverses(error, margin):
    # One run either way: where the quotient is an integer, rounding decides.
    closed = max(2, math.ceil(8 * math.log(2 / error) / margin**2))
    assert abs(runs_for_mis_ranking(error, margin) - closed) <= 1
    closed = max(2, math.ceil(2 * math.log(1 / error) / margin**2))
    assert abs(runs_for_false_stability(error, margin, expected_agreement=0) - closed) <= 1
    pairs = max(1, math.ceil(math.log(1 / error) / (2 * margin**2)))
    assert (
        abs(runs_for_false_stability(error, margin, expected_agreement=0, form="sharp") - 2 * pairs)
        <= 2
    )


# Do the bounds hold, and how loose are they?


@pytest.mark.parametrize(("k", "R"), [(2, 2), (2, 3), (2, 10), (3, 8), (4, 6)])
def test_false_stability_by_every_sequence_of_labels(k, R):
    """All k^R sequences are equally likely for uniform noise: the exact tail at every value that c
    can take.
    """
    c = stabilities(np.array(list(product(range(k), repeat=R))))
    for tau in np.unique(np.r_[c[(c > 1 / k) & (c < 1)], np.linspace(1 / k, 1, 12)[1:]]):
        exact = (c > tau).mean()
        assert exact <= false_stability_bound(R, tau, n_clusters=k, form="sharp")
        assert exact <= false_stability_bound(R, tau, n_clusters=k, form="paper")
        assert (c >= tau).mean() <= false_stability_bound(
            R, tau, n_clusters=k, form="sharp"
        ) + 1e-12


@pytest.mark.parametrize(
    "law", [[0.5, 0.5], [0.25] * 4, [0.1] * 10, [0.8, 0.2], [0.6, 0.2, 0.1, 0.1]]
)
@pytest.mark.parametrize("R", [5, 20, 50])
def test_false_stability_by_simulation(law, R):
    c = stabilities(draw(law, (20_000, R), 1))
    theta = sum(p * p for p in law)
    assert c.mean() == pytest.approx(theta, abs=0.01)
    for tau in theta + np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.45]):
        if tau <= 1:
            for form in TAILS:
                assert (c > tau).mean() <= false_stability_bound(
                    R, tau, expected_agreement=theta, form=form
                )


def test_expected_number_of_false_positives_by_simulation():
    n, phi, k, R = 500, 0.2, 3, 10
    # 400 data sets with 100 noise points.
    c = stabilities(draw([1 / k] * k, (400 * 100, R), 3)).reshape(400, 100)
    for tau in (0.4, 0.5, 0.6, 0.8):
        found = (c > tau).sum(axis=1).mean()
        for form in TAILS:
            assert found <= expected_false_positives(R, tau, n * phi, n_clusters=k, form=form)


def coupled(p, q, size, seed):
    """Labels of two points in the same runs, the second by the same draw as the first as far as it
    can be.
    """
    u = np.random.default_rng(seed).random(size)
    return np.searchsorted(np.cumsum(p)[:-1], u), np.searchsorted(np.cumsum(q)[:-1], u)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.9, 0.1], [0.8, 0.2]),
        ([0.9, 0.1], [0.5, 0.5]),
        ([0.7, 0.3], [0.6, 0.4]),
        ([0.5, 0.5], [0.25] * 4),
        ([1.0], [0.1] * 10),
    ],
)
@pytest.mark.parametrize("R", [2, 5, 20, 40])
@pytest.mark.parametrize("apart", [True, False], ids=["independent", "coupled"])
def test_mis_ranking_by_simulation(p, q, R, apart):
    size = (10_000, R)
    labels_i, labels_j = (draw(p, size, 4), draw(q, size, 5)) if apart else coupled(p, q, size, 6)
    margin = sum(x * x for x in p) - sum(x * x for x in q)
    wrong = (stabilities(labels_i) < stabilities(labels_j)).mean()
    for form in RANKING_TAILS:
        assert wrong <= mis_ranking_bound(R, margin, form=form)


LAWS = {
    "coin": lambda rng, size: rng.choice([-1.0, 1.0], size),
    "rare": lambda rng, size: np.where(rng.random(size) < 0.05, -1.0, 0.9),
    "uniform": lambda rng, size: rng.uniform(-1, 1, size),
    "beta": lambda rng, size: 2 * rng.beta(5, 2, size) - 1,
    "constant": lambda rng, size: np.full(size, 0.6),
}
POPULATION = {  # μ and σ
    "coin": (0, 1),
    "rare": (0.805, 1.9 * math.sqrt(0.05 * 0.95)),
    "uniform": (0, 1 / math.sqrt(3)),
    "beta": (3 / 7, 2 * math.sqrt(10 / (49 * 8))),
    "constant": (0.6, 0),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("R", [2, 10, 100, 400])
def test_geometry_deviation_by_simulation(law, R):
    s = LAWS[law](np.random.default_rng(9), (4000, R))
    mu, sigma = POPULATION[law]
    mean, std = s.mean(axis=1), s.std(axis=1)
    off = np.abs(np.maximum(mean - std, 0) - max(mu - sigma, 0))
    # S̃ is clipped, and so is the bound at 1: the two terms by themselves are the harder test.
    unclipped = np.abs(mean - mu) + np.abs(std - sigma)
    for delta in (0.01, 0.05, 0.2, 0.5):
        assert (off > geometry_deviation(R, delta)).mean() <= delta
        if geometry_deviation(R, delta) < 1:
            assert (unclipped > geometry_deviation(R, delta)).mean() <= delta


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mis_ranking_bound(1, 0.5), r"n_runs=1 must be at least 2"),
        (lambda: mis_ranking_bound(20, 0.0), r"margin=0.0 must be above 0 and at most 1"),
        (lambda: mis_ranking_bound(20, 1.1), r"margin=1.1"),
        (lambda: mis_ranking_bound(20, math.nan), r"margin=nan"),
        (
            lambda: mis_ranking_bound(20, 0.5, form="best"),
            r"form='best'.*\['joint', 'paper', 'sharp'\]",
        ),
        (lambda: runs_for_mis_ranking(1.0, 0.5), r"error=1.0 must be above 0 and below 1"),
        (lambda: runs_for_mis_ranking(0.1, 1e-9), r"margin=1e-09 would need more than"),
        (lambda: runs_for_mis_ranking(0.1, 1e-200), r"margin=1e-200 would need more than"),
        (
            lambda: false_stability_bound(20, 0.25, n_clusters=4),
            r"threshold=0.25 must be above 0.25 and at most 1; .*agreement of 0.25 \(1/k",
        ),
        (lambda: false_stability_bound(20, 1.01, n_clusters=4), r"threshold=1.01"),
        (
            lambda: false_stability_bound(20, 0.5),
            r"n_clusters=None and expected_agreement=None: give one",
        ),
        (
            lambda: false_stability_bound(20, 0.5, n_clusters=4, expected_agreement=0.2),
            r"give one of them",
        ),
        (lambda: false_stability_bound(20, 0.5, n_clusters=1), r"n_clusters=1 must be at least 2"),
        (
            lambda: false_stability_bound(20, 1.0, expected_agreement=1.0),
            r"expected_agreement=1.0 must be at least 0 and below 1",
        ),
        (
            lambda: false_stability_bound(20, 0.5, n_clusters=4, form="joint"),
            r"form='joint' is not known",
        ),
        (
            lambda: expected_false_positives(20, 0.5, 0.0, n_clusters=4),
            r"n_noise=0.0 must be above",
        ),
        (lambda: runs_for_false_positives(0, 0.5, 9, n_clusters=4), r"number=0 must be above 0\."),
        (lambda: geometry_deviation(1, 0.5), r"n_runs=1"),
        (lambda: geometry_deviation(20, 0.0), r"error=0.0"),
        (lambda: runs_for_geometry(0.0, 0.1), r"deviation=0.0 must be above 0 and below 1"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mis_ranking_bound(2.5, 0.5), r"n_runs=2.5 must be an integer"),
        (lambda: mis_ranking_bound(20, "wide"), r"margin='wide' must be a number"),
        (lambda: runs_for_geometry(0.1, True), r"error=True"),
    ],
)
def test_errors_of_types(call, message):
    with pytest.raises(TypeError, match=message):
        call()
