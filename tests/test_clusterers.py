"""Every name and kind of clusterer against calling the library behind it by hand."""

import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import (
    HDBSCAN,
    AgglomerativeClustering,
    Birch,
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
    SpectralClustering,
)
from sklearn.datasets import load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clustertrust import CAKE, Runs, build_ensemble
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.ensemble.kmedoids import KMedoids

# Neighbours alone do not link the setosas with the rest, of which spectral clustering warns.
pytestmark = pytest.mark.filterwarnings("ignore:Graph is not fully connected")

X = load_iris().data
BLOBS = make_blobs(300, 3, centers=4, cluster_std=1.5, random_state=3)[0]
SEEDS = [3, 14, 15]

FINDS_ITS_K = {"hdbscan", "leiden"}
DETERMINISTIC = {"agglomerative", "hdbscan"}


def shuffled_birch(data, seed):
    order = np.random.RandomState(seed).permutation(len(data))
    return Birch(n_clusters=3).fit(data[order]).predict(data)


def leiden(data, seed):
    import random

    import igraph

    near = kneighbors_graph(data, 15)
    i, j = (near + near.T).nonzero()
    graph = igraph.Graph(
        len(data), [(a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True) if a < b]
    )
    drawn = int(np.random.RandomState(seed).randint(2**31 - 1))
    igraph.set_random_number_generator(random.Random(drawn))  # noqa: S311
    found = graph.community_leiden(objective_function="modularity", n_iterations=2)
    igraph.set_random_number_generator(random)
    return np.array(found.membership)


BY_HAND = {
    "agglomerative": lambda data, seed: AgglomerativeClustering(3).fit(data).labels_,
    "birch": shuffled_birch,
    "bisecting-kmeans": lambda data, seed: BisectingKMeans(3, random_state=seed).fit(data).labels_,
    "gmm": lambda data, seed: GaussianMixture(3, random_state=seed).fit(data).predict(data),
    "hdbscan": lambda data, seed: HDBSCAN(copy=True).fit(data).labels_,
    "kmeans": lambda data, seed: KMeans(3, n_init=1, random_state=seed).fit(data).labels_,
    "kmeans-random": lambda data, seed: (
        KMeans(3, init="random", n_init=1, random_state=seed).fit(data).labels_
    ),
    "kmedoids": lambda data, seed: KMedoids(3, random_state=seed).fit(data).labels_,
    "leiden": leiden,
    "minibatch-kmeans": lambda data, seed: (
        MiniBatchKMeans(3, n_init=1, random_state=seed).fit(data).labels_
    ),
    "spectral": lambda data, seed: SpectralClustering(
        3, affinity="nearest_neighbors", n_init=1, random_state=seed
    ).fit_predict(data),
}


def quietly(function):
    with warnings.catch_warnings():
        # What base methods say of these data (a graph in pieces, no convergence) is no matter here.
        warnings.simplefilter("ignore")
        return function()


def test_every_name_is_tried_by_hand():
    assert set(BY_HAND) == set(CLUSTERERS)


@pytest.mark.printed  # scikit-learn's HDBSCAN moves with the processor, on other data than these
@pytest.mark.parametrize("name", sorted(CLUSTERERS))
def test_names_give_what_the_library_gives(name):
    k = None if name in FINDS_ITS_K else 3
    ensemble = quietly(lambda: build_ensemble(X, name, n_clusters=k, n_runs=3, random_state=SEEDS))
    for r, seed in enumerate(SEEDS):
        by_hand = quietly(lambda seed=seed: BY_HAND[name](X, seed))
        assert adjusted_rand_score(by_hand, ensemble.labels[:, r]) == 1
        assert_array_equal(by_hand < 0, ensemble.labels[:, r] < 0)
    assert ensemble.seeds == tuple(SEEDS)
    assert ensemble.summary()["method"].tolist() == [name] * 3


@pytest.mark.parametrize("name", sorted(CLUSTERERS))
def test_every_method_judges_unseen_points(name):
    k = None if name in FINDS_ITS_K else 3
    vary = {"resample": 0.9} if name in DETERMINISTIC else {}
    cake = quietly(
        lambda: CAKE(k, clusterer=name, n_runs=4, random_state=0, **vary).fit(BLOBS[:200])
    )
    scores, labels = cake.score_samples(BLOBS[200:]), cake.predict(BLOBS[200:])
    assert scores.shape == labels.shape == (100,)
    assert np.nanmin(scores) >= 0
    assert np.nanmax(scores) <= 1
    assert labels.max() < cake.votes_.shape[1]
    assert_array_equal(cake.predict(BLOBS[:200]), cake.labels_)
    one_by_one = np.concatenate([cake.score_samples(BLOBS[i : i + 1]) for i in range(200, 210)])
    np.testing.assert_allclose(one_by_one, scores[:10], atol=1e-12)


RESAMPLED = [
    {},
    {"resample": 0.7},
    {"resample": 0.7, "n_runs": Runs(4, left_out="predict")},
    {"resample": "bootstrap"},
    {"resample": "bootstrap", "n_runs": Runs(4, left_out="predict")},
]


@pytest.mark.parametrize("how", RESAMPLED, ids=str)
@pytest.mark.parametrize("name", sorted(CLUSTERERS))
def test_training_points_get_their_labels_back(name, how):
    """All but those that a run left out, and those with copies that a run puts into different
    clusters.
    """
    points = np.vstack([BLOBS[:70], BLOBS[:10], np.round(BLOBS[100:140])])
    k = None if name in FINDS_ITS_K else 3
    how = {"n_runs": 4} | how
    cake = quietly(
        lambda: CAKE(k, clusterer=name, geometry="rms", random_state=0, **how).fit(points)
    )
    labels, placed = cake.ensemble_.labels, cake.ensemble_.place(points)
    copies = [[j for j in range(len(points)) if tuple(points[j]) == tuple(x)] for x in points]
    same = [len({tuple(labels[j]) for j in of}) == 1 for of in copies]
    skipped = how["n_runs"] == 4 and "resample" in how
    everywhere = (labels >= 0).all(axis=1) if skipped else np.ones(len(points), dtype=bool)
    back = np.array(same) & everywhere
    assert back.sum() > (0 if skipped else 60)
    assert_array_equal(placed[back], labels[back])
    assert_array_equal(cake.predict(points)[back], cake.labels_[back])


def parted(points, rng):
    """Every second row to the one cluster, the rest to the other: copies of a point are parted."""
    return np.arange(len(points)) % 2


@pytest.mark.parametrize("left_out", ["skip", "predict"])
def test_a_point_that_is_drawn_twice_has_the_label_of_its_first_copy(left_out):
    ensemble = build_ensemble(
        X, parted, n_runs=Runs(3, left_out=left_out), resample="bootstrap", random_state=0
    )
    _, first = np.unique(X, axis=0, return_index=True)  # iris has one flower twice
    labels, placed = ensemble.labels[first], ensemble.place(X[first])
    assert_array_equal(placed[labels >= 0], labels[labels >= 0])


def test_estimators_are_cloned_and_reseeded():
    model = MiniBatchKMeans(4, init="random", n_init=2, batch_size=50, random_state=7)
    before = model.get_params()
    ensemble = build_ensemble(BLOBS, model, n_runs=3, random_state=SEEDS)
    assert model.get_params() == before
    assert not hasattr(model, "labels_")
    for r, seed in enumerate(SEEDS):
        by_hand = clone(model).set_params(random_state=seed).fit(BLOBS)
        assert_array_equal(ensemble.labels[:, r], by_hand.labels_)


def test_number_of_clusters_is_set_under_its_own_name():
    for estimator in (
        KMeans(n_init=1),
        GaussianMixture(),
        BayesianGaussianMixture(),
        make_pipeline(StandardScaler(), KMeans(n_init=1)),
    ):
        ensemble = quietly(
            lambda estimator=estimator: build_ensemble(
                BLOBS, estimator, n_clusters=2, n_runs=2, random_state=0
            )
        )
        assert ensemble.n_clusters.max() <= 2
    # None: its own value stands.
    own = build_ensemble(BLOBS, KMeans(5, n_init=1), n_runs=2, random_state=0)
    assert own.n_clusters.tolist() == [5, 5]


def test_pipeline_places_points_through_all_its_steps():
    pipeline = make_pipeline(StandardScaler(), KMeans(3, n_init=1))
    stretched = BLOBS * [1, 1, 1000]
    ensemble = build_ensemble(stretched, pipeline, n_runs=2, random_state=SEEDS[:2])
    by_hand = clone(pipeline).set_params(kmeans__random_state=SEEDS[0]).fit(stretched)
    assert_array_equal(ensemble.labels[:, 0], by_hand.predict(stretched))
    assert_array_equal(ensemble.place(stretched + 1)[:, 0], by_hand.predict(stretched + 1))
    assert ensemble.centers is None  # its centres lie in another space


def test_transductive_methods_give_the_label_of_the_nearest_training_point():
    ensemble = build_ensemble(BLOBS, "spectral", n_clusters=4, n_runs=2, random_state=0)
    new = BLOBS[:50] + 0.3
    nearest = ((new[:, None] - BLOBS) ** 2).sum(axis=2).argmin(axis=1)
    assert_array_equal(ensemble.place(new), ensemble.labels[nearest])


def test_functions_get_a_generator_of_their_own():
    seen = []

    def halves(data, rng):
        seen.append(rng.random())
        return np.where(data[:, 0] > np.median(data[:, 0]) + rng.normal(0, 0.1), "high", "low")

    one = build_ensemble(BLOBS, halves, n_runs=3, random_state=1, n_jobs=1)
    assert len(set(seen)) == 3
    assert_array_equal(build_ensemble(BLOBS, halves, n_runs=3, random_state=1).labels, one.labels)
    assert one.summary()["method"].tolist() == ["halves"] * 3


def test_lists_deal_runs_in_turn():
    mixed = build_ensemble(
        X, ["kmeans", GaussianMixture(), "birch"], n_clusters=3, n_runs=7, random_state=range(7)
    )
    assert mixed.summary()["method"].tolist() == [
        "kmeans",
        "GaussianMixture",
        "birch",
        "kmeans",
        "GaussianMixture",
        "birch",
        "kmeans",
    ]
    for r in (0, 3, 6):
        assert_array_equal(mixed.labels[:, r], KMeans(3, n_init=1, random_state=r).fit(X).labels_)
    assert_array_equal(mixed.labels[:, 4], GaussianMixture(3, random_state=4).fit(X).predict(X))


def test_deterministic_methods_warn_unless_something_differs():
    with pytest.warns(UserWarning, match="agglomerative is deterministic.*resample=0.8"):
        build_ensemble(X, "agglomerative", n_clusters=3, n_runs=2)
    varied = build_ensemble(
        X,
        "agglomerative",
        n_clusters=3,
        n_runs=6,
        vary={"linkage": ["ward", "average"]},
        random_state=0,
    )
    assert set(varied.summary()["linkage"]) == {"ward", "average"}
    build_ensemble(X, "agglomerative", n_clusters=3, n_runs=2, resample=0.9)


def test_vary_draws_parameters_anew_for_each_run():
    ensemble = build_ensemble(
        X, "spectral", n_clusters=2, n_runs=8, vary={"n_neighbors": range(10, 16)}, random_state=0
    )
    drawn = ensemble.summary()["n_neighbors"].tolist()
    assert set(drawn) <= set(range(10, 16))
    assert len(set(drawn)) > 2
    by_hand = SpectralClustering(
        2,
        affinity="nearest_neighbors",
        n_init=1,
        n_neighbors=drawn[5],
        random_state=ensemble.seeds[5],
    ).fit(X)
    assert adjusted_rand_score(by_hand.labels_, ensemble.labels[:, 5]) == 1


def test_vary_of_the_number_of_clusters_means_components_too():
    mixed = build_ensemble(
        X, ["kmeans", "gmm"], n_runs=8, vary={"n_clusters": range(2, 6)}, random_state=0
    )
    table = mixed.summary()
    asked = table["n_clusters"].fillna(table["n_components"]).astype(int)
    assert_array_equal(asked, mixed.n_clusters)
    assert len(set(asked)) > 1


@pytest.mark.parametrize("share", [0.8, 0.55])
def test_resampled_runs_leave_points_out(share):
    ensemble = build_ensemble(X, n_clusters=3, n_runs=4, resample=share, random_state=0)
    assert ((ensemble.labels >= 0).sum(axis=0) == int(share * len(X) + 1e-9)).all()
    rows = np.flatnonzero(ensemble.labels[:, 2] >= 0)
    by_hand = KMeans(3, n_init=1, random_state=ensemble.seeds[2]).fit(X[rows])
    assert_array_equal(ensemble.labels[rows, 2], by_hand.labels_)
    placed = build_ensemble(
        X, n_clusters=3, n_runs=Runs(4, left_out="predict"), resample=share, random_state=0
    )
    assert (placed.labels >= 0).all()
    assert_array_equal(placed.labels[rows, 2], by_hand.labels_)
    assert_array_equal(placed.labels[:, 2], by_hand.predict(X))


def test_bootstrap_leaves_out_about_a_third():
    ensemble = build_ensemble(X, n_clusters=3, n_runs=5, resample="bootstrap", random_state=0)
    shares = (ensemble.labels >= 0).mean(axis=0)
    assert ((shares > 0.5) & (shares < 0.75)).all()


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("name", ["kmeans", "gmm", "birch", "kmedoids"])
def test_partitions_are_the_same_for_any_way_of_working(name, backend):
    import joblib

    settings = {"n_clusters": 3, "n_runs": 4, "random_state": 5, "resample": 0.9}
    alone = build_ensemble(X, name, n_jobs=1, **settings).labels
    for n_jobs in (2, -1):
        assert_array_equal(build_ensemble(X, name, n_jobs=n_jobs, **settings).labels, alone)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert_array_equal(build_ensemble(X, name, **settings).labels, alone)
    more = build_ensemble(X, name, **(settings | {"n_runs": 6})).labels
    assert_array_equal(more[:, :4], alone)


def test_warnings_of_the_base_method_are_told_once_with_their_runs():
    model = GaussianMixture(3, max_iter=1)
    with pytest.warns(UserWarning, match=r"runs \[0, 1, 2\]") as caught:
        build_ensemble(BLOBS, model, n_runs=3, random_state=0)
    assert len(caught) == 1


def failing(data, rng):
    if rng.random() < 0.5:
        raise RuntimeError("no luck")
    return np.arange(len(data)) % 2


class Slow(ClusterMixin, BaseEstimator):
    """Fails with every seed but 40; with seed 41, the run before the others, it takes longest."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, data, y=None):
        time.sleep(0.3 if self.random_state == 41 else 0.0)
        if self.random_state != 40:
            raise ValueError("no luck")
        self.labels_ = np.arange(len(data)) % 2
        return self


def test_the_run_named_in_a_failure_is_the_first_not_the_fastest():
    for settings in ({"n_jobs": 4}, {"n_jobs": 1}):
        with pytest.raises(
            ValueError, match=r"Run 1 \(Slow, seed 41\) failed: ValueError: no luck"
        ):
            build_ensemble(X, Slow(), n_runs=4, random_state=[40, 41, 42, 43], **settings)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_where_every_run_fails_none_can_be_dropped(n_jobs):
    sparse = csr_matrix(BLOBS)
    with pytest.raises(TypeError, match=r"Run 0 \(gmm.*dense data is required") as caught:
        build_ensemble(sparse, "gmm", n_clusters=2, n_runs=3, random_state=0, n_jobs=n_jobs)
    assert "on_failure" not in str(caught.value)
    assert ".." not in str(caught.value)
    with pytest.raises(TypeError, match="on_failure='drop'"):
        build_ensemble(sparse, ["kmeans", "gmm"], n_clusters=2, n_runs=3, random_state=0)


def test_a_failing_run_is_named_or_dropped():
    with pytest.raises(
        RuntimeError, match=r"Run \d \(failing, seed \d+\) failed: RuntimeError: no luck"
    ):
        build_ensemble(X, failing, n_runs=8, random_state=0)
    with pytest.raises(RuntimeError, match=r"no luck\. on_failure='drop' leaves such runs out"):
        build_ensemble(X, failing, n_runs=8, random_state=0)
    with pytest.warns(UserWarning, match=r"of 8 runs failed and were left out. Run \d"):
        rest = build_ensemble(X, failing, n_runs=Runs(8, on_failure="drop"), random_state=0)
    assert 2 <= rest.n_runs < 8
    assert rest.labels.shape[1] == len(rest.seeds)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"clusterer": KMeans}, TypeError, "an instance, not a class"),
        ({"clusterer": []}, ValueError, "clusterer=\\[\\] is empty"),
        ({"clusterer": 3}, TypeError, "clusterer=3 must be"),
        *(
            ({"clusterer": other}, TypeError, "is not a clusterer; give one, such as 'kmeans'")
            for other in (LogisticRegression(), StandardScaler(), make_pipeline(StandardScaler()))
        ),
        (
            {"clusterer": "hdbscan", "n_clusters": 3},
            ValueError,
            "n_clusters=3 cannot be set: hdbscan",
        ),
        (
            {"clusterer": failing, "n_clusters": 3},
            ValueError,
            "n_clusters=3 cannot be passed to the function failing; leave it out",
        ),
        (
            {"vary": {"n_neighbors": [3]}},
            ValueError,
            r"vary\['n_neighbors'\].*none of \['kmeans'\]",
        ),
        ({"vary": {"tol": []}}, ValueError, r"vary\['tol'\] is empty"),
        ({"vary": {"tol": 3}}, TypeError, r"vary\['tol'\]=3 must be a range or a list"),
        (
            {"vary": {"n_clusters": [3, 0]}},
            ValueError,
            r"vary\['n_clusters'\]\[1\]=0 must be at least 1",
        ),
        (
            {"vary": {"n_clusters": [2.5]}},
            TypeError,
            r"vary\['n_clusters'\]\[0\]=2.5 must be an integer",
        ),
        (
            {"vary": {"n_clusters": [3, 151]}},
            ValueError,
            "n_clusters=151 is more than the 150 points",
        ),
        (
            {"n_clusters": 3, "vary": {"n_clusters": range(4, 7)}},
            ValueError,
            r"n_clusters=3 is not among vary\['n_clusters'\]=\[4, 5, 6\].*leave one of the two out",
        ),
        ({"vary": [3]}, TypeError, r"vary=\[3\] must be a dict"),
        ({"resample": 1.5}, ValueError, "resample=1.5 is not known; give a share between 0 and 1"),
        (
            {"resample": "half"},
            ValueError,
            "resample='half' is not known; give a share between 0 and 1",
        ),
        ({"resample": 0.001}, ValueError, "resample=0.001 leaves 0 of 150 points"),
        (
            {"resample": 0.1, "n_clusters": 20},
            ValueError,
            "n_clusters=20 is more than the 15 points",
        ),
        (
            {"n_runs": Runs(left_out="predict")},
            ValueError,
            "left_out='predict' is used only with resample",
        ),
        (
            {"n_runs": Runs(left_out="guess"), "resample": 0.5},
            ValueError,
            "left_out='guess' is not known",
        ),
        ({"n_runs": Runs(on_failure="ignore")}, ValueError, "on_failure='ignore' is not known"),
    ],
)
def test_errors_name_the_argument(settings, error, message):
    with pytest.raises(error, match=message):
        build_ensemble(X, **{"n_runs": 2} | settings)


def test_diversity_is_one_less_the_mean_nmi():
    from itertools import combinations

    from sklearn.metrics import normalized_mutual_info_score

    ensemble = build_ensemble(
        BLOBS, ["kmeans-random", "gmm"], n_clusters=4, n_runs=6, random_state=0
    )
    nmi = [
        normalized_mutual_info_score(ensemble.labels[:, r], ensemble.labels[:, q])
        for r, q in combinations(range(6), 2)
    ]
    assert ensemble.diversity() == pytest.approx(1 - np.mean(nmi), abs=1e-12)
    assert (
        build_ensemble(BLOBS, lambda data, rng: np.zeros(len(data), int), n_runs=2).diversity() == 0
    )


@pytest.mark.parametrize("watched", [True, False])
def test_the_progress_bar_is_for_terminals(capsys, monkeypatch, watched):
    monkeypatch.setattr("sys.stderr.isatty", lambda: watched)
    build_ensemble(X, n_clusters=3, n_runs=4, random_state=0, verbose=True)
    shown = capsys.readouterr().err
    assert ("4/4" in shown) == watched
    build_ensemble(X, n_clusters=3, n_runs=4, random_state=0)
    assert capsys.readouterr().err == ""
