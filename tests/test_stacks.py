"""Many small data sets at once, and many k at once, against one at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from clustertrust import CAKE, build_ensemble, choose_k
from clustertrust._parallel import Team
from clustertrust.ensemble.lloyd import prepare_data
from clustertrust.ensemble.stacks import Stack
from clustertrust.ensemble.starts import Starts
from clustertrust.k_profile import null_test
from clustertrust.kernels import _numba, _numpy
from clustertrust.surrogates.stacked import stacked_silhouettes

RNG = np.random.default_rng(0)
SETS = [RNG.normal(size=(300, 3)) * scale + 5 for scale in (1, 4, 0.1)]
SEEDS = [3, 0, 2**32 - 1]


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("k", [2, 7])
def test_runs_on_a_stack_are_those_on_each_data_set(k, init):
    labels, fine = Stack.from_points(SETS).fit(KMeans(k, init=init, n_init=1), SEEDS)
    assert fine.all()
    for X, seed, found in zip(SETS, SEEDS, labels, strict=True):
        model = KMeans(k, init=init, n_init=1, random_state=seed)
        _, alone = next(prepare_data(X).fit([model]))
        assert_array_equal(found, alone.labels)
        assert_array_equal(found, model.fit(X).labels_)


def test_runs_where_rounding_decides_or_a_cluster_is_empty_are_not_used():
    ties = np.repeat(np.arange(4.0)[:, None], 60, axis=0)
    few = np.repeat([[0.0], [1.0], [5.0]], 80, axis=0)
    kinds = {"k-means++": KMeans(3, n_init=1), "random": KMeans(3, init="random", n_init=1)}
    _, fine = Stack.from_points([ties, few]).fit(kinds["k-means++"], [0, 1])
    assert not fine.all()
    fine = [Stack.from_points([few]).fit(kinds["random"], [seed])[1][0] for seed in range(30)]
    assert 0 < sum(fine) < 30
    assert Stack.from_points([X.astype(np.float32) for X in SETS]) is None
    assert Stack.from_points([np.zeros((5000, 1))]) is None
    models = [KMeans(2, n_init=1), kinds["k-means++"]]
    found = stacked_silhouettes([ties, SETS[0][:240, :1]], models, [[0, 1], [2, 3]])
    assert found[0] is None
    assert found[1].shape == (2,)


def test_mean_silhouettes_of_a_stack_are_scikit_learns():
    models = [KMeans(k, n_init=1) for k in (2, 3, 9)]
    seeds = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    for X, own, found in zip(SETS, seeds, stacked_silhouettes(SETS, models, seeds), strict=True):
        for model, seed, mean in zip(models, own, found, strict=True):
            labels = model.set_params(random_state=seed).fit_predict(X)
            assert mean == pytest.approx(silhouette_score(X, labels), abs=1e-12)


@pytest.mark.parametrize("kernel", [_numba, _numpy])
def test_clusters_of_one_point_and_of_equal_points_have_no_silhouette(kernel):
    X = np.array([[[0.0], [0.0], [7.0]]])
    labels = np.array([[[0, 0, 1], [0, 1, 0]]], dtype=np.int32)
    start, sizes = np.array([0, 2, 4]), np.array([[2.0, 1, 2, 1]])
    found = kernel.mean_silhouettes(X, labels, start, sizes)
    assert_allclose(found, [[2 / 3, (-1 + 0 + 0) / 3]])


def test_stacks_of_compiled_kernels_equal_plain_ones(monkeypatch):
    models = [KMeans(k, n_init=1, max_iter=4) for k in (2, 5)]
    seeds = [[1, 2], [3, 4], [5, 6]]
    ours = stacked_silhouettes(SETS, models, seeds)
    monkeypatch.setattr("clustertrust.kernels._choose", lambda: _numpy)
    assert_allclose(ours, stacked_silhouettes(SETS, models, seeds), rtol=1e-10)


@pytest.mark.parametrize("clusterer", ["kmeans", "kmeans-random"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_surrogates_together_are_surrogates_one_by_one(clusterer, n_jobs, monkeypatch):
    cake = CAKE(clusterer=clusterer, n_runs=3, random_state=0, n_jobs=n_jobs)
    together = choose_k(SETS[0], range(2, 8), cake).null_test
    alone = []

    def refuse(sets, *given):
        alone.append(len(sets))
        return [None] * len(sets)

    monkeypatch.setattr(null_test, "stacked_silhouettes", refuse)
    one_by_one = choose_k(SETS[0], range(2, 8), cake).null_test
    assert sum(alone) == 3 * 19
    assert_array_equal(together.data, one_by_one.data)
    for family, means in together.means.items():
        assert_allclose(means, one_by_one.means[family], rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*assigned in fewer than two runs", "ignore:kmeans clusters by")
def test_other_clusterers_metrics_and_samples_are_not_stacked(monkeypatch):
    def fail(*_):
        raise AssertionError("stacked")

    monkeypatch.setattr(null_test, "stacked_silhouettes", fail)
    for params in (
        {"clusterer": "gmm"},
        {"clusterer": KMeans(n_init=2)},
        {"geometry": "rms"},
        {"metric": "manhattan"},
        {"resample": 0.8},
        {"vary": {"tol": [1e-4, 1e-3]}},
    ):
        cake = CAKE(n_runs=2, random_state=0, **params)
        assert choose_k(SETS[0][:60], range(2, 4), cake).null_test.n_surrogates == 19


def test_starts_of_fewer_clusters_begin_those_of_more():
    X = RNG.normal(size=(1500, 4))
    data, team = prepare_data(X), Team(1)
    shared = Starts(X, data.middle, data.squares)
    for k in (12, 9, 8, 7, 3, 2, 20):
        alone = Starts(X, data.middle, data.squares).draw("k-means++", k, SEEDS, team)
        assert_array_equal(shared.draw("k-means++", k, SEEDS, team), alone)
    # Those of 8 to 20, of 3 to 7, and of 2 clusters have as many candidates a step.
    assert len(shared._drawn) == 3


def test_all_numbers_of_clusters_have_the_runs_of_their_own_ensemble():
    X = SETS[1]
    profile = choose_k(X, (2, 3, 8), CAKE(n_runs=4, random_state=1), null=None)
    for position, k in enumerate((2, 3, 8)):
        fitted = CAKE(k, n_runs=4, random_state=1).fit(X)
        assert profile.mean_score[position] == pytest.approx(fitted.scores_.mean(), rel=1e-12)
        assert_array_equal(
            fitted.ensemble_.labels,
            build_ensemble(X, n_clusters=k, n_runs=4, random_state=1).labels,
        )
