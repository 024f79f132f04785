"""Runs of k-means on data made ready once, against `KMeans.fit` called for each."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans, _kmeans, kmeans_plusplus
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from clustertrust import build_ensemble
from clustertrust._parallel import one_thread
from clustertrust.ensemble import lloyd

IRIS = load_iris().data
BLOBS = make_blobs(700, 6, centers=5, cluster_std=2.5, random_state=1)[0] + 1e3
SEEDS = [0, 3, 2**32 - 1]


@pytest.fixture
def anew():
    """Look at scikit-learn's parts again, before the test and after it."""
    loop = lloyd._loop
    loop.cache_clear()
    yield
    loop.cache_clear()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "settings", [{}, {"init": "random"}, {"max_iter": 2}, {"tol": 0.0}, {"n_init": "auto"}]
)
@pytest.mark.parametrize(
    "X",
    [IRIS, BLOBS, np.asfortranarray(BLOBS), BLOBS.astype(np.float32)],
    ids=["iris", "blobs", "fortran", "float32"],
)
def test_a_run_is_that_of_kmeans_to_the_last_bit(X, settings, seed):
    settings = {"n_init": 1, "random_state": seed} | settings
    if settings["n_init"] == "auto":
        settings["init"] = "k-means++"
    ours, theirs = KMeans(4, **settings), KMeans(4, **settings)
    data = lloyd.prepare_data(X)
    with one_thread():
        assert data.fit(ours)
        theirs.fit(X)
    for name in ("cluster_centers_", "labels_", "inertia_", "n_iter_"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    assert ours.cluster_centers_.dtype == theirs.cluster_centers_.dtype


@pytest.mark.parametrize("name", ["kmeans", "kmeans-random"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_ensemble_holds_the_runs_of_kmeans(name, n_jobs):
    X = np.repeat(BLOBS, 10, axis=0)[:, :5]  # enough for threads
    init = {"kmeans": "k-means++", "kmeans-random": "random"}[name]
    ensemble = build_ensemble(X, name, n_clusters=4, n_runs=3, random_state=SEEDS, n_jobs=n_jobs)
    for r, seed in enumerate(SEEDS):
        with one_thread():
            alone = KMeans(4, init=init, n_init=1, random_state=seed).fit(X)
        assert_array_equal(ensemble.centers[r], alone.cluster_centers_)
        assert_array_equal(ensemble.labels[:, r], alone.labels_)
        assert (ensemble.runs[r].objective, ensemble.runs[r].iterations) == (
            alone.inertia_,
            alone.n_iter_,
        )


def without_them(monkeypatch):
    monkeypatch.delattr(_kmeans, "_kmeans_single_lloyd")


def with_other_parameters(monkeypatch):
    monkeypatch.setattr(_kmeans, "_kmeans_single_lloyd", lambda X, sample_weight, centers: None)


def with_another_start(monkeypatch):
    monkeypatch.setattr(KMeans, "_init_centroids", lambda self, X, rng: None)


@pytest.mark.parametrize("changed", [without_them, with_other_parameters, with_another_start])
def test_other_versions_of_scikit_learn_are_not_guessed_at(monkeypatch, anew, changed):
    with monkeypatch.context() as patch:
        changed(patch)
        assert lloyd.prepare_data(IRIS) is None
    lloyd._loop.cache_clear()
    usual = build_ensemble(IRIS, n_clusters=3, n_runs=4, random_state=0)
    monkeypatch.setattr(lloyd, "_loop", lambda: None)
    assert_array_equal(
        build_ensemble(IRIS, n_clusters=3, n_runs=4, random_state=0).labels, usual.labels
    )


def plus_plus(X, n_clusters, random_state):
    return kmeans_plusplus(X, n_clusters, random_state=random_state)[0]


class Child(KMeans):
    """A class of its own may fit otherwise."""


@pytest.mark.parametrize(
    "model",
    [
        KMeans(3, n_init=2, random_state=0),
        KMeans(3, n_init="auto", init="random", random_state=0),
        KMeans(3, n_init=1, algorithm="elkan", random_state=0),
        KMeans(3, n_init=1, init=plus_plus, random_state=0),
        KMeans(3, n_init=1, init=IRIS[:3], random_state=0),
        KMeans(3, n_init=1, random_state=None),
        KMeans(3, n_init=1, tol=-1.0, random_state=0),
        KMeans(0, n_init=1, random_state=0),
        KMeans(151, n_init=1, random_state=0),
        KMeans(3, n_init=1, max_iter=0, random_state=0),
        KMeans(3, n_init=1, init="other", random_state=0),
        Child(3, n_init=1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,  # not its repr, which may hold an address
)
def test_other_models_fit_themselves(model):
    assert not lloyd.prepare_data(IRIS).fit(model)
    assert not hasattr(model, "labels_")


def test_empty_clusters_are_told_in_the_words_of_kmeans():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 20, axis=0)
    with pytest.warns(ConvergenceWarning, match="found fewer than the 3 clusters"):
        ensemble = build_ensemble(X, n_clusters=3, n_runs=3, random_state=0)
    assert all("distinct clusters" in run.warnings[0].message for run in ensemble.runs)


def test_data_made_ready_stay_in_their_process():
    assert pickle.loads(pickle.dumps(lloyd.prepare_data(IRIS))) is None


def test_what_is_no_dense_array_of_floats_is_not_made_ready():
    assert lloyd.prepare_data(IRIS.astype(int)) is None
    assert lloyd.prepare_data(IRIS.tolist()) is None


def test_vary_is_drawn_for_each_run():
    varied = {
        "vary": {"init": ["random", "k-means++"], "max_iter": [1, 2, 300]},
        "n_runs": 6,
        "random_state": 0,
    }
    ensemble = build_ensemble(IRIS, n_clusters=3, **varied)
    for r, run in enumerate(ensemble.runs):
        with one_thread():
            alone = KMeans(3, n_init=1, random_state=run.seed, **run.params).fit(IRIS)
        assert_array_equal(ensemble.centers[r], alone.cluster_centers_)
