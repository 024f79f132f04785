"""K-medoids against the package of the algorithm's authors."""

import kmedoids
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from clustertrust.ensemble.kmedoids import KMedoids, swap_medoids
from clustertrust.kernels import _numba, _numpy

DATA = {
    "blobs": (make_blobs(400, 5, centers=4, cluster_std=4, random_state=0)[0], 4),
    "iris": (load_iris().data, 3),
    "digits": (load_digits().data[:500], 10),
    "one": (load_iris().data, 1),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", sorted(DATA))
def test_swaps_are_those_of_the_published_algorithm(name, seed):
    X, k = DATA[name]
    distances = cdist(X, X)
    start = np.random.default_rng(seed).choice(len(X), k, replace=False)
    found, _ = _numba.fasterpam(X, start, 100)
    theirs = kmedoids.fasterpam(distances, start.astype(np.uint64))
    assert sorted(found) == sorted(theirs.medoids.tolist())
    assert distances[:, found].min(axis=1).sum() == pytest.approx(theirs.loss, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_plain_kernel_makes_the_same_swaps(k):
    X = DATA["iris"][0][::3]
    start = np.random.default_rng(k).choice(len(X), k, replace=False)
    assert_array_equal(_numba.fasterpam(X, start, 100)[0], _numpy.fasterpam(X, start, 100)[0])


@pytest.mark.parametrize("seed", range(5))
def test_ties_do_not_keep_the_search_going(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (50, 2)) / 10  # many equal distances, of which tenths round unequally
    start = rng.choice(50, 5, replace=False)
    assert _numba.fasterpam(X, start, 100)[1] < 10
    assert swap_medoids(lambda rows: cdist(X[rows], X), 50, start, 100)[1] < 10


@pytest.mark.parametrize("k", [1, 2, 5])
def test_known_distances_make_the_same_swaps(k):
    X = np.random.default_rng(0).normal(size=(200, 3))
    start = np.random.default_rng(k).choice(200, k, replace=False)
    found, sweeps = _numba.fasterpam(X, start, 100)
    known, known_sweeps = swap_medoids(lambda rows: cdist(X[rows], X), 200, start, 100)
    assert_array_equal(found, known)
    assert sweeps == known_sweeps


def test_no_single_swap_gains():
    X, k = DATA["blobs"]
    model = KMedoids(k, random_state=0).fit(X)
    distances = cdist(X, X)
    for m in range(k):
        others = np.delete(model.medoid_indices_, m)
        rest = distances[:, others].min(axis=1)
        assert np.minimum(rest[:, None], distances).sum(axis=0).min() >= model.inertia_ - 1e-9


def test_large_data_are_sampled():
    X = make_blobs(1000, 2, centers=3, random_state=0)[0]
    whole, sampled = (
        KMedoids(3, random_state=0).fit(X),
        KMedoids(3, sample_size=300, random_state=0).fit(X),
    )
    assert sampled.inertia_ < 1.05 * whole.inertia_
    assert_array_equal(sampled.cluster_centers_, X[sampled.medoid_indices_])
    assert_array_equal(sampled.predict(X), sampled.labels_)


@parametrize_with_checks([KMedoids(2, random_state=0)])
def test_scikit_learn_check(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)
