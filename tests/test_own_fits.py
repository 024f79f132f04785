"""Mixtures and spectral clusters of our own, for few points, against scikit-learn's."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_iris, load_wine, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from clustertrust import build_ensemble
from clustertrust.ensemble.mixture import fit_mixture
from clustertrust.ensemble.spectral import spectral_labels

RNG = np.random.default_rng(0)
SETS = {
    "iris": (load_iris().data, 3),
    "wine": (load_wine().data, 3),
    "noise": (RNG.normal(size=(220, 4)), 5),
    "far out": (RNG.normal(size=(150, 3)) + 1e5, 2),
    "overlap": (make_blobs(200, 8, centers=6, cluster_std=4, random_state=0)[0], 6),
    "moons": (make_moons(200, noise=0.1, random_state=0)[0], 2),
    "pieces": (make_blobs(120, 3, centers=4, cluster_std=0.3, random_state=0)[0], 4),
    "fewer pieces": (make_blobs(120, 3, centers=3, cluster_std=0.3, random_state=0)[0], 5),
}


def spectral(k, seed=0, **params):
    params = {"affinity": "nearest_neighbors", "n_init": 1} | params
    return SpectralClustering(k, random_state=seed, **params)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", SETS)
def test_a_mixture_is_scikit_learns_but_for_rounding(name):
    X, k = SETS[name]
    for seed in (0, 2**32 - 1):
        theirs = GaussianMixture(k, random_state=seed).fit(X)
        ours = GaussianMixture(k, random_state=seed)
        assert fit_mixture(ours, X)
        assert (ours.n_iter_, ours.converged_) == (theirs.n_iter_, theirs.converged_)
        assert_allclose(ours.lower_bound_, theirs.lower_bound_, rtol=1e-6)
        for part in ("weights_", "means_", "covariances_", "precisions_"):
            assert_allclose(getattr(ours, part), getattr(theirs, part), rtol=1e-4, atol=1e-5)
        assert_array_equal(ours.predict(X), theirs.predict(X))
        assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize(
    "params",
    [
        {"covariance_type": "tied"},
        {"init_params": "random"},
        {"n_init": 2},
        {"means_init": np.zeros((3, 4))},
        {"warm_start": True},
        {"random_state": None},
        {"max_iter": 0},
    ],
    ids=lambda params: next(iter(params)),
)
def test_a_mixture_with_other_settings_fits_itself(params):
    X = load_iris().data
    model = GaussianMixture(3, **{"random_state": 0} | params)
    assert not fit_mixture(model, X)
    assert not hasattr(model, "means_")
    assert not fit_mixture(GaussianMixture(3, random_state=0), X.astype(np.float32))


def test_a_mixture_of_few_directions_in_single_precision_is_fitted():
    # Twenty columns in three directions, as components of cells or of texts are
    X = RNG.normal(size=(500, 3)) @ RNG.normal(size=(3, 20)) + 1e-4 * RNG.normal(size=(500, 20))
    X = X.astype(np.float32)
    single, double = (
        build_ensemble(one, "gmm", n_clusters=3, n_runs=3, random_state=0).labels
        for one in (X, X.astype(np.float64))
    )
    assert_array_equal(single, double)


def test_a_mixture_that_has_not_converged_warns_in_the_same_words():
    X, k = SETS["noise"]
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        assert fit_mixture(GaussianMixture(k, max_iter=2, random_state=0), X)
    # A covariance without spread is left to scikit-learn, which names the remedy.
    flat = np.repeat(X[:40], 2, axis=1)
    assert not fit_mixture(GaussianMixture(3, reg_covar=0, random_state=0), flat)


@pytest.mark.parametrize("name", SETS)
def test_spectral_clusters_are_scikit_learns(name):
    X, k = SETS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of graphs in pieces
        theirs = [spectral(k, seed).fit(X).labels_ for seed in range(3)]
    for seed, labels in enumerate(theirs):
        assert adjusted_rand_score(spectral_labels(spectral(k, seed), X), labels) == 1


def test_ties_among_neighbours_go_to_the_first():
    # Three stacks of equal points: each point has more neighbours at distance 0 than count.
    X = np.repeat(RNG.normal(size=(3, 2)), 20, axis=0)
    labels = spectral_labels(spectral(3), X)
    assert adjusted_rand_score(labels, np.repeat([0, 1, 2], 20)) == 1


@pytest.mark.parametrize("k", [2, 3, 4, 6])
def test_of_more_pieces_than_clusters_the_closest_are_joined(k):
    middles = np.repeat([0.0, 30, 60, 73, 1000, 1010], 20)
    X = np.column_stack([middles + RNG.uniform(size=120), RNG.uniform(size=120)])
    mixed = RNG.permutation(120)
    labels = spectral_labels(spectral(k), X[mixed])
    # No two points of one piece are farther apart than pieces are, so this needs no graph.
    expected = fcluster(linkage(X[mixed], "single"), k, criterion="maxclust")
    assert adjusted_rand_score(labels, expected) == 1
    assert labels.max() == k - 1


@pytest.mark.parametrize(
    "model",
    [
        spectral(3, affinity="rbf"),
        spectral(3, n_init=2),
        spectral(3, assign_labels="discretize"),
        spectral(3, seed=None),
        spectral(3, n_neighbors=150),
        spectral(150),
    ],
    ids=["affinity", "n_init", "assign_labels", "seed", "n_neighbors", "n_clusters"],
)
def test_spectral_clusters_with_other_settings_are_left_to_scikit_learn(model):
    assert spectral_labels(model, load_iris().data) is None


def test_estimators_that_are_given_keep_their_own_bits():
    X = load_iris().data
    given = build_ensemble(X, GaussianMixture(3), n_runs=2, random_state=[1, 2])
    for run, seed in zip(given.runs, (1, 2), strict=True):
        assert_array_equal(run.centers, GaussianMixture(3, random_state=seed).fit(X).means_)
    named = build_ensemble(X, "gmm", n_clusters=3, n_runs=2, random_state=[1, 2])
    assert_allclose(named.centers, given.centers, rtol=1e-9)
    assert_array_equal(named.labels, given.labels)
