"""`n_runs="auto"` against the same runs scored in one go."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE, build_ensemble
from clustertrust.scoring.convergence import BATCH_RUNS, CONVERGED, FEWEST_RUNS, relative_error

X = load_iris().data


@pytest.mark.parametrize(
    "settings",
    [{}, {"geometry": "rms"}, {"clusterer": ["kmeans", "gmm", "kmedoids"]}, {"resample": 0.8}],
)
def test_the_same_as_that_many_runs_at_once(settings):
    auto = CAKE(3, n_runs="auto", random_state=0, **settings).fit(X)
    assert (auto.n_runs_ - FEWEST_RUNS) % BATCH_RUNS == 0
    at_once = CAKE(3, n_runs=auto.n_runs_, random_state=0, **settings).fit(X)
    assert_array_equal(auto.ensemble_.labels, at_once.ensemble_.labels)
    assert_allclose(auto.scores_, at_once.scores_, atol=1e-12)
    assert_allclose(auto.standard_errors_, at_once.standard_errors_, atol=1e-12)


def test_it_stops_as_soon_as_the_rule_holds():
    auto = CAKE(3, clusterer="kmeans-random", n_runs="auto", random_state=0).fit(X)
    low, high = np.quantile(auto.scores_, [0.25, 0.75])
    assert np.median(auto.standard_errors_) <= CONVERGED * (high - low)
    assert auto.n_runs_ > FEWEST_RUNS  # else the next lines would say nothing
    before = CAKE(
        3, clusterer="kmeans-random", n_runs=auto.n_runs_ - BATCH_RUNS, random_state=0
    ).fit(X)
    low, high = np.quantile(before.scores_, [0.25, 0.75])
    assert np.median(before.standard_errors_) > CONVERGED * (high - low)
    clear = make_blobs(200, centers=[[0, 0], [50, 50]], random_state=0)[0]
    assert CAKE(2, n_runs="auto", random_state=0).fit(clear).n_runs_ == FEWEST_RUNS


def test_it_ends_where_nothing_settles(monkeypatch):
    monkeypatch.setattr("clustertrust.scoring.convergence.CONVERGED", 0.0)
    monkeypatch.setattr("clustertrust.scoring.convergence.MOST_RUNS", 40)
    with pytest.warns(UserWarning, match="After 40 runs.*not settled"):
        cake = CAKE(3, clusterer="kmeans-random", n_runs="auto", random_state=0).fit(X)
    assert cake.n_runs_ == 40


def test_seeds_cannot_be_listed_without_their_number():
    with pytest.raises(ValueError, match="random_state is a list of seeds"):
        CAKE(3, n_runs="auto", random_state=[1, 2, 3]).fit(X)
    with pytest.raises(TypeError, match="n_runs='many'"):
        CAKE(3, n_runs="many").fit(X)
    assert build_ensemble(X, n_clusters=3, n_runs=2, random_state=0).n_runs == 2


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
