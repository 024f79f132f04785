"""`n_runs="auto"` against the same runs scored in one go."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE
from clustertrust.scoring.convergence import (
    CONVERGED,
    FEWEST_RUNS,
    WITHIN,
    largest_move,
    relative_error,
    unseen_moves,
)
from clustertrust.scoring.settings import Scoring

X = load_iris().data
BATCHES = [20, 30, 45, 67, *range(100, 1001, 50)]


def batch_before(cake):
    """The numbers of runs at which it looked before it stopped."""
    return BATCHES[BATCHES.index(cake.n_runs_) - 1]


def largest_by_hand(cake):
    """How far 95 % of the harmonic scores may be off, written out without the package."""
    R = cake.n_runs_
    jackknife = cake.standard_errors_**2 - (2 * cake.scores_ / (R + 2)) ** 2
    q = 1 - 0.1 ** (1 / R)
    mean, std, c = cake.silhouette_mean_, cake.silhouette_std_, cake.stability_ * (1 - 2 * q)
    # Silhouettes of R (1 - q) runs, and of R q runs that are 0
    square = (1 - q) * (std**2 + mean**2)
    g = np.maximum((1 - q) * mean - np.sqrt(square - ((1 - q) * mean) ** 2), 0)
    moved = cake.scores_ - np.where(c + g > 0, 2 * c * g / np.maximum(c + g, 1e-300), 0)
    return np.quantile(np.maximum(2.58 * np.sqrt(np.maximum(jackknife, 0)), moved), 0.95)


@pytest.mark.parametrize(
    "settings",
    [{}, {"geometry": "rms"}, {"clusterer": ["kmeans", "gmm", "kmedoids"]}, {"resample": 0.8}],
)
def test_the_same_as_that_many_runs_at_once(settings):
    auto = CAKE(3, n_runs="auto", random_state=0, **settings).fit(X)
    assert auto.n_runs_ in BATCHES
    at_once = CAKE(3, n_runs=auto.n_runs_, random_state=0, **settings).fit(X)
    assert_array_equal(auto.ensemble_.labels, at_once.ensemble_.labels)
    assert_allclose(auto.scores_, at_once.scores_, atol=1e-12)
    assert_allclose(auto.standard_errors_, at_once.standard_errors_, atol=1e-12)


def test_it_stops_as_soon_as_all_but_a_few_points_have_settled():
    auto = CAKE(3, n_runs="auto", random_state=0).fit(X)
    assert largest_by_hand(auto) <= WITHIN
    before = CAKE(3, n_runs=batch_before(auto), random_state=0).fit(X)
    assert largest_by_hand(before) > WITHIN


def test_clear_clusters_need_as_many_runs_as_rule_out_a_rare_kind():
    clear = make_blobs(100, centers=[[0, 0], [50, 50]], random_state=0)[0]
    auto = CAKE(2, n_runs="auto", random_state=0).fit(clear)
    assert auto.standard_errors_.max() < 0.01  # all runs are equal
    assert 300 <= auto.n_runs_ <= 450


def test_an_optimum_that_was_missed_moves_scores_no_farther_than_allowed_for():
    """Of 300 runs 3 are of another kind, which 60 may miss, and 450 would not."""
    s = np.full(300, 0.6)
    s[:3] = 0.0
    c = (297 * 296 + 3 * 2) / (300 * 299)
    g = s.mean() - s.std()
    off = 0.75 - 2 * c * g / (c + g)
    seen = {"stability": 1.0, "silhouette_mean": 0.6, "silhouette_std": 0.0, "scores": 0.75}
    fields = {name: np.full(2, value) for name, value in seen.items()}
    few, many = unseen_moves(fields, np.array([60, 450]), Scoring())
    assert WITHIN < off <= few
    assert many <= WITHIN


def test_the_order_must_have_settled_too(monkeypatch):
    def error(cake):  # without the share of runs not seen yet
        unseen = 2 * cake.scores_ / (cake.n_runs_ + 2)
        jackknife = np.sqrt(np.maximum(cake.standard_errors_**2 - unseen**2, 0))
        return relative_error(cake.scores_, jackknife)

    monkeypatch.setattr("clustertrust.scoring.convergence.WITHIN", 1.0)
    auto = CAKE(3, n_runs="auto", random_state=0).fit(X)
    assert error(auto) <= CONVERGED
    assert auto.n_runs_ > FEWEST_RUNS
    before = CAKE(3, n_runs=batch_before(auto), random_state=0).fit(X)
    assert error(before) > CONVERGED


def test_it_ends_where_nothing_settles(monkeypatch):
    monkeypatch.setattr("clustertrust.scoring.convergence.CONVERGED", 0.0)
    monkeypatch.setattr("clustertrust.scoring.convergence.MOST_RUNS", 40)
    with pytest.warns(UserWarning, match="After 40 runs.*not settled"):
        cake = CAKE(3, clusterer="kmeans-random", n_runs="auto", random_state=0).fit(X)
    assert cake.n_runs_ == 40


def test_seeds_cannot_be_listed_without_their_number():
    with pytest.raises(ValueError, match="random_state is a list of seeds"):
        CAKE(3, n_runs="auto", random_state=[1, 2, 3]).fit(X)


def test_the_error_is_a_share_of_the_spread():
    scores, errors = (
        np.array([0.0, 0.1, 0.2, 0.3, 0.4, np.nan]),
        np.array([0.1, 0.02, 0.02, 0.02, 0.0, 0.5]),
    )
    assert relative_error(scores, errors) == pytest.approx(0.02 / 0.2)
    assert relative_error(scores * 0.01, errors * 0.01) == pytest.approx(0.1)  # no scale
    assert relative_error(np.ones(3), np.zeros(3)) == 0
    assert relative_error(np.ones(3), np.full(3, 0.1)) == np.inf
    assert relative_error(np.ones(2), np.full(2, np.nan)) == np.inf


def test_the_error_of_all_but_a_few_points():
    moves = np.append(np.full(95, 0.01), np.full(6, 0.4))
    assert largest_move(np.append(moves, np.nan)) == pytest.approx(0.4)
    assert largest_move(moves[:-2]) == pytest.approx(0.01)
    assert largest_move(np.full(3, np.nan)) == np.inf
