"""CAKE as a scikit-learn estimator: its conventions, its attributes, unseen points, and safety
among threads.
"""

import functools
import itertools
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import warnings
from unittest import SkipTest

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info

from clustertrust import CAKE, Ensemble, confidence
from clustertrust._parallel import collected_warnings, one_thread
from clustertrust.estimator import EXPECTED_FAILED_CHECKS

# Three clusters that overlap, so that runs differ and scores are neither 0 nor 1.
X = make_blobs(150, centers=[[0, 0, 0], [4, 0, 0], [1, 4, 0]], cluster_std=1.3, random_state=0)[0]
NEW = np.random.default_rng(1).uniform(X.min(axis=0) - 2, X.max(axis=0) + 2, size=(40, 3))
GEOMETRIES = [
    {"geometry": "exact"},
    {"geometry": "exact", "metric": "manhattan"},
    {"geometry": "exact", "metric": "sqeuclidean"},
    {"geometry": "exact", "metric": "cosine"},
    {"geometry": "centroid"},
    {"geometry": "rms"},
    {"geometry": "kernel"},
    {"geometry": "kernel", "kernel": "rbf"},
    {"geometry": "kernel", "kernel": "linear"},
    {"geometry": "kernel", "kernel": "polynomial"},
]
every_geometry = pytest.mark.parametrize(
    "options", GEOMETRIES, ids=lambda options: "-".join(options.values())
)


def fitted(points=X, n_clusters=4, n_runs=6, random_state=0, **options):
    """A small model; four clusters where there are three make the runs differ."""
    return CAKE(n_clusters, n_runs=n_runs, random_state=random_state, **options).fit(points)


def assert_same_fit(one, other):
    for name in (
        "scores_",
        "stability_",
        "geometry_",
        "standard_errors_",
        "labels_",
        "votes_",
        "rival_",
    ):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert_array_equal(one.ensemble_.labels, other.ensemble_.labels)


# --- scikit-learn's conventions ---


@pytest.mark.filterwarnings("ignore:.*have one cluster:UserWarning")  # some checks set n_clusters=1
@parametrize_with_checks(
    [CAKE(random_state=0)], expected_failed_checks=lambda _: EXPECTED_FAILED_CHECKS
)
def test_scikit_learn_check(estimator, check, monkeypatch):
    monkeypatch.setenv(
        "SCIPY_ARRAY_API", "1"
    )  # the array API check, with NumPy arrays, asks for no more than this
    try:
        check(estimator)
    except SkipTest as skipped:
        pytest.fail(f"a check that does not run checks nothing: {skipped}")


def test_parameters_are_kept_as_given():
    params = {
        "n_clusters": 3,
        "n_runs": 4,
        "geometry": "kernel",
        "kernel": "rbf",
        "kernel_params": {"gamma": 0.5},
    }
    cake = CAKE(**params, random_state=0)
    before = cake.get_params()
    cake.fit(X)
    assert cake.get_params() == before
    assert cake.kernel_params is params["kernel_params"]
    copy = clone(cake)
    assert copy.get_params() == before
    assert not hasattr(copy, "scores_")
    assert_same_fit(copy.fit(X), cake)
    assert copy.set_params(n_clusters=2, kernel="linear", kernel_params=None).fit(
        X
    ).votes_.shape == (150, 2)


def test_fitting_again_forgets_the_first_fit():
    cake = fitted(X[:, :2], n_clusters=3)
    assert_same_fit(cake.set_params(n_clusters=4).fit(X), fitted())
    assert cake.n_features_in_ == 3


def test_attributes():
    cake = fitted(n_runs=7)
    n, k, R = 150, 4, 7
    for name in ("scores_", "stability_", "geometry_", "consensus_strength_"):
        values = getattr(cake, name)
        assert values.shape == (n,)
        assert values.min() >= 0
        assert values.max() <= 1
    for name in ("silhouette_mean_", "silhouette_std_", "standard_errors_", "labels_", "rival_"):
        assert getattr(cake, name).shape == (n,)
    assert np.ptp(cake.scores_) > 0.3
    assert cake.votes_.shape == (n, k)
    assert_allclose(
        cake.votes_.sum(axis=1), 1.0
    )  # every run has k clusters, so that each has a partner
    assert_array_equal(cake.labels_, cake.votes_.argmax(axis=1))
    assert_array_equal(cake.consensus_strength_, cake.votes_.max(axis=1))
    assert (cake.rival_ != cake.labels_).all()
    assert 0 <= cake.reference_run_ < R
    assert isinstance(cake.ensemble_, Ensemble)
    assert cake.ensemble_.labels.shape == (n, R)
    assert cake.n_runs_ == R
    assert cake.geometry_method_ == "exact"
    assert cake.n_features_in_ == 3
    assert_array_equal(cake.fit_predict(X), cake.labels_)


def test_scores_are_those_of_confidence():
    cake = fitted()
    scored = confidence(X, cake.ensemble_.labels)
    for name in (
        "scores",
        "stability",
        "geometry",
        "silhouette_mean",
        "silhouette_std",
        "standard_errors",
        "labels",
    ):
        assert_array_equal(getattr(cake, f"{name}_"), getattr(scored, name), err_msg=name)


def test_formulas_end_to_end():
    cake = fitted()
    c, g = cake.stability_, cake.geometry_
    assert_allclose(g, np.maximum(cake.silhouette_mean_ - cake.silhouette_std_, 0))
    assert_allclose(cake.scores_, 2 * c * g / (c + g), atol=1e-15)
    assert_allclose(fitted(fusion="product").scores_, c * g, atol=1e-15)
    assert_allclose(
        fitted(normalization="affine").geometry_,
        (cake.silhouette_mean_ - cake.silhouette_std_ + 1) / 2,
    )


@every_geometry
def test_pickle_keeps_the_predictions(options):
    cake = fitted(**options)
    copy = pickle.loads(pickle.dumps(cake))
    assert_array_equal(copy.predict(NEW), cake.predict(NEW))
    assert_array_equal(copy.score_samples(NEW), cake.score_samples(NEW))
    pd.testing.assert_frame_equal(copy.to_frame(), cake.to_frame())


def test_end_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), CAKE(3, n_runs=5, random_state=0)).fit(X)
    scaler = StandardScaler().fit(X)
    alone = CAKE(3, n_runs=5, random_state=0).fit(scaler.transform(X))
    assert_array_equal(pipeline[-1].scores_, alone.scores_)
    assert_array_equal(pipeline.predict(NEW), alone.predict(scaler.transform(NEW)))
    assert_array_equal(pipeline.score_samples(NEW), alone.score_samples(scaler.transform(NEW)))
    assert pipeline.score(NEW) == alone.score(scaler.transform(NEW))


def test_grid_search_finds_the_number_of_clusters():
    points, _ = make_blobs(120, centers=[[0, 0], [9, 0], [4, 9]], random_state=0)
    grid = {"n_clusters": [2, 3, 4], "fusion": ["harmonic", "product"]}
    search = GridSearchCV(CAKE(n_runs=5, random_state=0), grid, cv=3, error_score="raise").fit(
        points
    )
    assert search.best_params_["n_clusters"] == 3
    assert search.best_score_ == pytest.approx(max(search.cv_results_["mean_test_score"]))
    assert search.best_estimator_.predict(points).shape == (120,)


# --- kinds of data ---


def test_pandas_in_and_out():
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"row {i}" for i in range(150)])
    cake = fitted(frame)
    assert cake.feature_names_in_.tolist() == ["a", "b", "c"]
    table = cake.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert table.index.equals(frame.index)
    assert_array_equal(table["score"], cake.scores_)
    assert_array_equal(table["label"], cake.labels_)
    assert_array_equal(table["rival"], cake.rival_)
    assert_same_fit(cake, fitted())
    assert_array_equal(cake.predict(frame), cake.labels_)
    with pytest.raises(ValueError, match="feature names"):
        cake.predict(frame[["c", "b", "a"]])


def test_polars_in_and_out():
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    cake = fitted(frame)
    assert cake.feature_names_in_.tolist() == ["a", "b", "c"]
    table = cake.to_frame()
    assert isinstance(table, pl.DataFrame)
    assert table.columns == fitted().to_frame().columns.tolist()
    assert_array_equal(table["score"].to_numpy(), cake.scores_)
    assert_same_fit(cake, fitted())
    assert_array_equal(cake.predict(frame), cake.labels_)


def test_arrays_give_a_pandas_table_with_positions():
    table = fitted().to_frame()
    assert table.index.equals(pd.RangeIndex(150))
    assert table.columns.tolist() == [
        "label",
        "score",
        "standard_error",
        "stability",
        "geometry",
        "silhouette_mean",
        "silhouette_std",
        "consensus_strength",
        "rival",
        "margin",
        "reason",
    ]


def test_columns_that_share_a_name():
    frame = pd.DataFrame(X, columns=["a", "a", "b"])
    with pytest.raises(ValueError, match="'a'"):
        CAKE(3).fit(frame)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
@every_geometry
def test_sparse_points(container, options):
    cake, dense = fitted(container(X), **options), fitted(**options)
    assert_array_equal(cake.labels_, dense.labels_)
    # |x|² - 2xy + |y|² for sparse rows keeps about half the digits of a short distance.
    assert_allclose(cake.scores_, dense.scores_, atol=1e-7)
    assert_allclose(cake.score_samples(container(NEW)), dense.score_samples(NEW), atol=1e-7)
    assert_array_equal(cake.predict(container(X)), cake.labels_)


def test_single_precision_stays_close():
    single = X.astype(np.float32)
    cake = fitted(single)
    assert cake.scores_.dtype == np.float64
    assert_allclose(cake.scores_, fitted(single.astype(float)).scores_, atol=1e-5)
    assert_array_equal(cake.predict(single), cake.labels_)
    assert_array_equal(cake.predict(single.astype(float)), cake.labels_)


@pytest.mark.parametrize("fitted_on", [np.float32, np.float64])
@pytest.mark.parametrize(
    "clusterer",
    ["bisecting-kmeans", "gmm", "kmeans", "birch", make_pipeline(PCA(2), KMeans(n_init=1))],
    ids=["bisecting-kmeans", "gmm", "kmeans", "birch", "pipeline"],
)
def test_new_points_are_converted_to_the_type_of_the_fit(clusterer, fitted_on):
    other = np.float64 if fitted_on is np.float32 else np.float32
    cake = fitted(X.astype(fitted_on), clusterer=clusterer)
    new = NEW.astype(other)
    by_hand = new.astype(fitted_on)
    assert_array_equal(cake.predict(new), cake.predict(by_hand))
    assert_array_equal(cake.score_samples(new), cake.score_samples(by_hand))
    assert_array_equal(cake.ensemble_.place(new), cake.ensemble_.place(by_hand))


def test_new_points_beyond_the_type_of_the_fit():
    cake = fitted(X.astype(np.float32))
    with pytest.raises(
        ValueError,
        match=r"up to 1e\+60, whose squared .* too large for float32 .* or fit on float64",
    ):
        cake.predict(np.full((1, 3), 1e60))


# --- unseen points ---


@every_geometry
def test_training_points_get_their_labels_back(options):
    cake = fitted(**options)
    assert_array_equal(cake.predict(X), cake.labels_)
    assert_array_equal(cake.predict(X[::-7]), cake.labels_[::-7])


@pytest.mark.parametrize(
    "options", [{}, {"fusion": "product"}, {"agreement": "jaccard"}, {"normalization": "affine"}]
)
def test_centroid_gives_training_points_their_scores_back(options):
    cake = fitted(geometry="centroid", **options)
    assert_array_equal(cake.score_samples(X), cake.scores_)
    assert_array_equal(cake.score_samples(X[50:53]), cake.scores_[50:53])
    with sklearn.config_context(working_memory=0.01):
        assert_array_equal(cake.score_samples(X), cake.scores_)


def test_centroid_gives_a_cluster_of_one_its_zero_back():
    points = np.vstack([X, [[500.0, 0.0, 0.0]]])
    cake = fitted(points, n_clusters=3, geometry="centroid")
    assert cake.scores_[-1] == 0.0
    assert_array_equal(cake.score_samples(points), cake.scores_)


def matchings_by_loops(labels):
    """(r, q) → {cluster of run r: its partner in run q}, from the training labels."""
    partner = {}
    for r, q in itertools.combinations(range(labels.shape[1]), 2):
        k = labels[:, r].max() + 1, labels[:, q].max() + 1
        table = [
            [np.sum((labels[:, r] == a) & (labels[:, q] == b)) for b in range(k[1])]
            for a in range(k[0])
        ]
        partner[r, q] = dict(zip(*linear_sum_assignment(table, maximize=True), strict=True))
    return partner


def scores_by_loops(cake, new, distances):
    """Scores of unseen points; distances(x, r) says how far x is from the clusters of run r."""
    partner, R = matchings_by_loops(cake.ensemble_.labels), cake.n_runs_
    scores = []
    for x in new:
        placed = [
            int(np.argmin(((centers - x) ** 2).sum(axis=1))) for centers in cake.ensemble_.centers
        ]
        c = np.mean(
            [partner[r, q][placed[r]] == placed[q] for r, q in itertools.combinations(range(R), 2)]
        )
        s = []
        for r in range(R):
            others = list(distances(x, r))
            a, b = others.pop(placed[r]), min(others)
            s.append((b - a) / max(a, b))
        g = max(0.0, np.mean(s) - np.std(s))
        scores.append(2 * c * g / (c + g) if c + g > 0 else 0.0)
    return scores


def clusters_of(cake, r):
    """Positions of the members of each cluster of run r."""
    return [np.flatnonzero(cake.ensemble_.labels[:, r] == cluster) for cluster in range(4)]


def mean_distances(cake, x, r):
    return [np.linalg.norm(X[members] - x, axis=1).mean() for members in clusters_of(cake, r)]


def rms_distances(cake, x, r):
    return [np.sqrt(((X[members] - x) ** 2).sum(axis=1).mean()) for members in clusters_of(cake, r)]


def center_distances(cake, x, r):
    return [np.linalg.norm(center - x) for center in cake.ensemble_.centers[r]]


def self_tuning_distances(cake, x, r):
    """Eq. (9); the scale of an unseen point is its distance to the 7th nearest training point."""
    D, to_x = cdist(X, X), np.linalg.norm(X - x, axis=1)
    scale, scale_x = np.sort(D, axis=1)[:, 7], np.sort(to_x)[6]  # column 0 of D is the point itself
    gram, similar = np.exp(-(D**2) / np.outer(scale, scale)), np.exp(-(to_x**2) / (scale * scale_x))
    return [
        np.sqrt(1 - 2 * similar[C].mean() + gram[np.ix_(C, C)].mean()) for C in clusters_of(cake, r)
    ]


@pytest.mark.parametrize(
    ("geometry", "distances"),
    [
        ("exact", mean_distances),
        ("rms", rms_distances),
        ("centroid", center_distances),
        ("kernel", self_tuning_distances),
    ],
)
def test_scores_of_unseen_points_equal_loops(geometry, distances):
    cake = fitted(geometry=geometry)
    expected = scores_by_loops(cake, NEW, lambda x, r: distances(cake, x, r))
    assert np.ptp(expected) > 0.1
    assert_allclose(cake.score_samples(NEW), expected, atol=1e-12)


@every_geometry
def test_batches_agree(options):
    cake = fitted(**options)
    whole = cake.score_samples(NEW)
    parts = np.concatenate([cake.score_samples(part) for part in np.array_split(NEW, 7)])
    one_by_one = np.concatenate([cake.score_samples(x[None]) for x in NEW[:5]])
    assert_allclose(parts, whole, atol=1e-12)
    assert_allclose(one_by_one, whole[:5], atol=1e-12)
    assert_array_equal(np.concatenate([cake.predict(x[None]) for x in NEW]), cake.predict(NEW))


@every_geometry
def test_score_is_the_mean(options):
    cake = fitted(**options)
    assert cake.score(NEW) == pytest.approx(cake.score_samples(NEW).mean(), abs=1e-15)


def test_unseen_points_are_checked():
    cake = fitted()
    with pytest.raises(ValueError, match="2 features"):
        cake.predict(NEW[:, :2])
    missing = NEW.copy()
    missing[3, 1] = np.nan
    for method in (cake.predict, cake.score_samples, cake.score):
        with pytest.raises(ValueError, match="row 3, column 1"):
            method(missing)


# --- numbers that are asked for ---


def test_one_cluster():
    with pytest.warns(UserWarning, match="All 3 runs have one cluster") as caught:
        cake = fitted(n_clusters=1, n_runs=3)
    assert len(caught) == 1
    assert_array_equal(cake.stability_, np.ones(150))
    assert_array_equal(cake.scores_, np.zeros(150))
    assert_array_equal(cake.labels_, np.zeros(150))
    assert_array_equal(cake.rival_, np.full(150, -1))
    assert_array_equal(cake.predict(NEW), np.zeros(40))
    assert cake.score(NEW) == 0.0


def test_eight_clusters_unless_told_otherwise():
    cake = CAKE(n_runs=3, random_state=0).fit(X)
    assert cake.n_clusters is None
    assert cake.ensemble_.n_clusters.tolist() == [8, 8, 8]


def test_fewer_clusters_than_asked_for_is_told_once():
    points = np.repeat(X[:3], 5, axis=0)
    with pytest.warns(
        ConvergenceWarning, match="4 of 4 runs found fewer than the 5 clusters"
    ) as caught:
        cake = fitted(points, n_clusters=5, n_runs=4)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # where the user can do something about it
    assert cake.votes_.shape == (15, 3)
    assert_array_equal(cake.predict(points), cake.labels_)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_clusters": 151}, ValueError, "n_clusters=151 is more than the 150 points"),
        ({"n_clusters": 0}, ValueError, "n_clusters=0 must be at least 1"),
        ({"n_clusters": 2.0}, TypeError, "n_clusters=2.0 must be a whole number"),
        ({"n_runs": 1}, ValueError, "n_runs=1 must be at least 2"),
        ({"n_runs": "many"}, (TypeError, ValueError), "n_runs='many'"),
        ({"clusterer": "k-means"}, ValueError, r"clusterer='k-means' is not known.*'kmeans'"),
        (
            {"fusion": "sum"},
            ValueError,
            r"fusion='sum' is not known.*\['harmonic', 'product', 'refined'\]",
        ),
        (
            {"normalization": "none"},
            ValueError,
            r"normalization='none' is not known.*\['affine', 'clip'\]",
        ),
        (
            {"agreement": "vote"},
            ValueError,
            r"agreement='vote' is not known.*\['jaccard', 'matching'\]",
        ),
        (
            {"unassigned": "drop"},
            ValueError,
            r"unassigned='drop' is not known.*\['disagree', 'skip'\]",
        ),
        (
            {"consensus": "mean"},
            ValueError,
            r"consensus='mean' is not known.*\['best-reference', 'medoid'\]",
        ),
        ({"random_state": -1}, ValueError, "random_state=-1"),
        ({"random_state": [1, 2, 3]}, ValueError, "random_state has 3 seeds for n_runs=20"),
        ({"metric": "precomputed"}, ValueError, r"confidence\(X, labels\)"),
        ({"geometry": "kernel", "kernel": "precomputed"}, ValueError, r"confidence\(X, labels\)"),
    ],
)
def test_parameters_that_cannot_work(params, error, message):
    with pytest.raises(error, match=message):
        CAKE(**params).fit(X)


def test_one_point_is_too_few():
    with pytest.raises(ValueError, match=r"1 sample.*minimum of 2"):
        CAKE(1).fit(X[:1])


# --- data that cannot be used ---


@pytest.mark.parametrize("bad", [[np.nan], [np.inf], [-np.inf], [np.inf, -np.inf]])
def test_missing_and_infinite_values(bad):
    broken = X.copy()
    broken[5:7] = 0.0  # rows that a sparse matrix does not hold
    broken[[7, 9][: len(bad)], 0] = bad
    remedy = r"row 7, column 0.*Drop.*impute"
    for points in (broken, sparse.csr_array(broken), broken.astype(np.float32)):
        with pytest.raises(ValueError, match=f"^X contains {len(bad)} value.*{remedy}"):
            CAKE(3).fit(points)
    frame = pd.DataFrame(broken, columns=["width", "b", "c"])
    with pytest.raises(ValueError, match=r"row 7, column 0 \('width'\)"):
        CAKE(3).fit(frame)
    with pytest.raises(ValueError, match=r"row 7, column 0 \('width'\)"):
        confidence(frame, [np.arange(150) % 2] * 2)


def test_missing_values_of_nullable_and_polars_columns():
    values = [1, 2, None, 4]
    for frame in (
        pd.DataFrame({"a": [1.0, 2, 3, 4], "b": pd.array(values, dtype="Int64")}),
        pl.DataFrame({"a": [1.0, 2, 3, 4], "b": values}),
    ):
        with pytest.raises(ValueError, match=r"row 2, column 1 \('b'\)"):
            CAKE(2).fit(frame)


def test_large_values_are_no_error():
    """Finite values whose sum is not: neither refused nor warned of while they are looked through."""
    points = np.array([[1.0e308], [1.01e308], [1.1e308], [1.11e308]])
    scored = confidence(points, [[0, 0, 1, 1]] * 2, metric="manhattan")
    assert_allclose(scored.silhouette_mean, [19 / 21, 17 / 19, 17 / 19, 19 / 21])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(
            {"a": [1.0, 2, 3], "town": ["x", "y", "z"], "kind": pd.Categorical(["u", "v", "u"])}
        ),
        pd.DataFrame(
            {
                "a": [1.0, 2, 3],
                "town": np.array(["x", "y", 1], object),
                "kind": pd.array(["u"] * 3, "string"),
            }
        ),
        pl.DataFrame(
            {
                "a": [1.0, 2, 3],
                "town": ["x", "y", "z"],
                "kind": pl.Series(["u"] * 3, dtype=pl.Categorical),
            }
        ),
    ],
    ids=["pandas", "pandas-object", "polars"],
)
def test_text_columns_are_named(frame):
    with pytest.raises(ValueError, match=r"not numbers: \['town', 'kind'\].*encode"):
        CAKE(2).fit(frame)


def test_numbers_kept_as_objects_are_numbers():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype({"b": object})
    assert_array_equal(fitted(frame).scores_, fitted().scores_)


# --- seeds ---


@every_geometry
def test_same_seed_same_result(options):
    assert_same_fit(fitted(**options), fitted(**options))


def test_seeds():
    assert_same_fit(
        fitted(random_state=np.random.RandomState(3)), fitted(random_state=np.random.RandomState(3))
    )
    first = fitted(random_state=None)
    assert_same_fit(fitted(random_state=first.ensemble_.seeds), first)
    assert fitted(random_state=None).ensemble_.seeds != first.ensemble_.seeds
    assert fitted(random_state=1).ensemble_.seeds != fitted(random_state=0).ensemble_.seeds
    longer = fitted(n_runs=9)
    assert_array_equal(longer.ensemble_.labels[:, :6], fitted(n_runs=6).ensemble_.labels)


def test_a_run_is_scikit_learns_fit_with_its_seed():
    ensemble = fitted(n_runs=4).ensemble_
    for seed, labels, centers in zip(
        ensemble.seeds, ensemble.labels.T, ensemble.centers, strict=True
    ):
        model = KMeans(4, n_init=1, random_state=seed).fit(X)
        assert_array_equal(labels, model.labels_)
        assert_allclose(centers, model.cluster_centers_, atol=1e-12)


@every_geometry
def test_any_number_of_threads_gives_the_same(options):
    one, two = fitted(n_jobs=1, **options), fitted(n_jobs=2, **options)
    assert_same_fit(one, two)
    assert_array_equal(one.score_samples(NEW), two.score_samples(NEW))


# --- the reasons for a score ---


def test_explain_tells_what_the_attributes_hold():
    cake = fitted()
    for i in (0, 60, int(np.argmin(cake.scores_)), int(np.argmax(cake.scores_))):
        why = cake.explain(i)
        assert (why.point, why.label, why.rival) == (i, cake.labels_[i], cake.rival_[i])
        assert (why.score, why.stability, why.geometry) == (
            cake.scores_[i],
            cake.stability_[i],
            cake.geometry_[i],
        )
        assert why.votes[why.label] == cake.consensus_strength_[i]
        assert sum(why.votes.values()) == pytest.approx(1.0)
        assert why.margin == pytest.approx(cake.votes_[i, why.label] - cake.votes_[i, why.rival])
        assert why.reason == cake.to_frame()["reason"][i]
        assert (why.weak is None) == (why.reason == "core")
        assert why.reason == "core" or cake.explain(i, threshold=why.score - 1e-9).reason == "core"
        assert f"Point {i}: cluster {why.label}, score {why.score:.3f}" in str(why)
    assert cake.explain(-1).point == 149
    with pytest.raises(IndexError, match="point=150 is out of range for 150 points"):
        cake.explain(150)


# --- threads, forks, imports ---


def limits_of_thread_pools():
    return sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info())


def state_of_warnings():
    return list(warnings.filters), warnings.showwarning


def in_threads(*functions):
    """Results of functions that start at the same moment."""
    barrier, results = threading.Barrier(len(functions)), {}

    def run(name, function):
        barrier.wait()
        try:
            results[name] = function()
        except Exception as error:  # shown by the caller's assertion, not lost in the thread
            results[name] = error

    threads = [
        threading.Thread(target=run, args=item, daemon=True) for item in enumerate(functions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return [results.get(i) for i in range(len(functions))]


def test_two_fits_at_once():
    fitted()  # what is set once, at the first use, is no change
    pools, filters = limits_of_thread_pools(), state_of_warnings()
    alone = [fitted(), fitted(n_clusters=3, geometry="kernel", random_state=5)]
    for _ in range(3):
        one, other = in_threads(
            fitted, lambda: fitted(n_clusters=3, geometry="kernel", random_state=5)
        )
        assert_same_fit(one, alone[0])
        assert_same_fit(other, alone[1])
        assert limits_of_thread_pools() == pools
    fitted()  # the libraries below may have put back what they found while the other fit was on
    assert state_of_warnings() == filters


def test_warnings_kept_by_others_past_the_end_of_a_fit():
    """A `catch_warnings` that begins in a fit and ends after it, as those of other threads may."""
    told = []
    with warnings.catch_warnings():
        warnings.showwarning = show = lambda message, *rest: told.append(str(message))
        warnings.simplefilter("always")
        with collected_warnings:
            others = warnings.catch_warnings()
            others.__enter__()
        others.__exit__(None, None, None)
        warnings.warn("after", stacklevel=1)
        with collected_warnings as caught:
            warnings.warn("inside", stacklevel=1)
            thread = threading.Thread(target=warnings.warn, args=("beside",))
            thread.start()
            thread.join()
        assert [str(warning.message) for warning in caught] == ["inside"]
        assert told == ["after", "beside"]
        assert warnings.showwarning is show


@pytest.mark.parametrize(
    "n_init", [1, 2]
)  # on data made ready for all runs, and by a `fit` of each
def test_every_run_has_one_thread(monkeypatch, n_init):
    seen, start = [], KMeans._init_centroids

    def looking_round(self, *args, **kwargs):
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return start(self, *args, **kwargs)

    monkeypatch.setattr(KMeans, "_init_centroids", functools.wraps(start)(looking_round))
    fitted(clusterer=KMeans(3, n_init=n_init), n_jobs=2)
    assert len(seen) >= 6
    assert set(seen) == {1}


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


# Some versions of threadpoolctl listen to the first thread that sets a limit, and to no other while
# that one lives.


def test_limits_hold_after_another_thread_has_set_them():
    left, end = threading.Event(), threading.Event()

    def first():
        with one_thread():
            pass
        left.set()
        end.wait(30)

    before = blas_threads()
    thread = threading.Thread(target=first, daemon=True)
    thread.start()
    assert left.wait(30)
    with one_thread():
        inside = blas_threads()
    after = blas_threads()
    end.set()
    thread.join(30)
    assert inside == {1}
    assert after == before


def test_limits_are_lifted_by_the_last_to_leave():
    entered, leave, left, end = (threading.Event() for _ in range(4))

    def first():
        with one_thread():
            entered.set()
            leave.wait(30)
        left.set()
        end.wait(30)

    before = blas_threads()
    thread = threading.Thread(target=first, daemon=True)
    thread.start()
    assert entered.wait(30)
    with one_thread():
        leave.set()
        assert left.wait(30)
        inside = blas_threads()
    after = blas_threads()
    end.set()
    thread.join(30)
    assert inside == {1}
    assert after == before


def test_filters_that_another_thread_puts_back_during_a_fit(monkeypatch):
    """Every check of an array in scikit-learn saves the filters of the whole process and puts them
    back.
    """
    started, go_on, start = threading.Event(), threading.Event(), KMeans._init_centroids

    def slow(self, *args, **kwargs):
        started.set()
        go_on.wait(30)
        return start(self, *args, **kwargs)

    monkeypatch.setattr(KMeans, "_init_centroids", functools.wraps(start)(slow))
    before = state_of_warnings()
    thread = threading.Thread(target=fitted, kwargs={"n_jobs": 1}, daemon=True)
    thread.start()
    assert started.wait(30)
    with warnings.catch_warnings():
        go_on.set()
        thread.join(30)
    filters, show = state_of_warnings()
    assert filters == before[0]
    warnings.showwarning = before[
        1
    ]  # it comes back as ours, which hands on what it is not meant to collect
    with pytest.warns(UserWarning, match="to whom it may concern"):
        show("to whom it may concern", UserWarning, "here", 1)


def test_a_fit_that_fails_puts_limits_and_filters_back():
    def broken(x, y):
        raise RuntimeError("no distance today")

    fitted()
    pools, filters = limits_of_thread_pools(), state_of_warnings()
    with pytest.raises(RuntimeError, match="no distance today"):
        fitted(metric=broken)
    assert limits_of_thread_pools() == pools
    assert state_of_warnings() == filters


def test_warnings_of_fits_at_once_all_arrive():
    duplicates = np.repeat(X[:3], 5, axis=0)
    before = state_of_warnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        in_threads(*[lambda: fitted(duplicates, n_clusters=5)] * 2)
    assert sum("found fewer than the 5 clusters" in str(w.message) for w in caught) == 2
    assert len(caught) == 2
    assert state_of_warnings() == before


WIDE = np.random.default_rng(2).normal(
    size=(200, 20)
)  # so many columns that neighbours are found by OpenMP loops


def _send_scores(connection, points, options):
    connection.send(fitted(points, **options).scores_)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings(
    "ignore:.*fork.*:DeprecationWarning"
)  # Python 3.12: the forking process has threads
@pytest.mark.parametrize(
    "options", [{"geometry": "exact"}, {"geometry": "rms"}, {"geometry": "kernel"}], ids=str
)
@pytest.mark.parametrize("points", [X, WIDE], ids=["narrow", "wide"])
def test_fit_in_a_forked_child(options, points):
    """A pool of threads that lived on in the parent would be dead in the child, and the fit would
    wait for ever.
    """
    here = fitted(points, n_jobs=2, **options).scores_
    KMeans(3, n_init=1, random_state=0).fit(
        np.tile(X, (10, 1))
    )  # OpenMP's own threads are running now
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_send_scores, args=(sender, points, options | {"n_jobs": 2}))
    child.start()
    try:
        assert receiver.poll(30), "the fit hangs in the child"
        assert_array_equal(receiver.recv(), here)
    finally:
        child.kill()
        child.join()


def run_python(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_import_is_quiet_and_light():
    code = """
import sys
import clustertrust
print([name for name in ("numba", "llvmlite", "matplotlib", "polars", "hypothesis") if name in sys.modules])
"""
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


WITHOUT_NUMBA = """
import json, sys, warnings
import numpy as np
sys.modules["numba"] = None  # `import numba` raises ImportError
from clustertrust import CAKE
X, NEW = (np.load(path) for path in sys.argv[1:3])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    scores = []
    for options in json.loads(sys.argv[3]):
        cake = CAKE(4, n_runs=6, random_state=0, n_jobs=4, **options).fit(X)
        scores.append([cake.scores_.tolist(), cake.score_samples(NEW).tolist()])
print(json.dumps([scores, [f"{w.category.__name__}: {w.message}" for w in caught]]))
"""


def test_without_numba_the_same_scores_and_one_warning(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "NEW.npy", NEW)
    done = run_python(
        WITHOUT_NUMBA, tmp_path / "X.npy", tmp_path / "NEW.npy", json.dumps(GEOMETRIES)
    )
    assert done.returncode == 0, done.stderr
    scores, told = json.loads(done.stdout)
    for options, (train, new) in zip(GEOMETRIES, scores, strict=True):
        cake = fitted(**options)
        assert_allclose(train, cake.scores_, atol=1e-12, err_msg=str(options))
        assert_allclose(new, cake.score_samples(NEW), atol=1e-12, err_msg=str(options))
    assert len(told) == 1
    assert told[0].startswith("RuntimeWarning: Numba cannot be imported")
    assert "pip install" in told[0]
