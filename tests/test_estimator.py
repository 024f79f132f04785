"""CAKE as a scikit-learn estimator: its conventions, its attributes, unseen points, and safety
among threads.
"""

import itertools
import pickle
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
import sklearn
from extras import extra
from fits import NEW, X, assert_same_fit, every_geometry, fitted
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from clustertrust import CAKE, Ensemble, Runs
from clustertrust.geometry import Kernel

pl = extra("polars")

# --- scikit-learn's conventions ---


@pytest.mark.filterwarnings("ignore:.*have one cluster:UserWarning")  # some checks set n_clusters=1
@pytest.mark.filterwarnings("ignore:n_clusters is not given")  # as the checks leave it
@parametrize_with_checks([CAKE(random_state=0)])
def test_scikit_learn_check(estimator, check, monkeypatch):
    # The array API check, with NumPy arrays, asks for no more than this.
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    try:
        check(estimator)
    except SkipTest as skipped:
        pytest.fail(f"a check that does not run checks nothing: {skipped}")


def test_parameters_are_kept_as_given():
    params = {"n_clusters": 3, "n_runs": Runs(4), "geometry": Kernel("rbf", gamma=0.5)}
    cake = CAKE(**params, random_state=0)
    before = cake.get_params()
    cake.fit(X)
    assert cake.get_params() == before
    assert all(getattr(cake, name) is value for name, value in params.items())
    copy = clone(cake)
    assert repr(copy.get_params()) == repr(before)
    assert not hasattr(copy, "scores_")
    assert_same_fit(copy.fit(X), cake)
    copy.set_params(n_clusters=2, geometry__kernel="linear", geometry__gamma=None).fit(X)
    assert copy.votes_.shape == (150, 2)


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
    # Every run has k clusters, so that each has a partner.
    assert_allclose(cake.votes_.sum(axis=1), 1.0)
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
    "options",
    [
        {},
        {"fusion": "product"},
        {"agreement": "jaccard"},
        {"agreement": "reference"},
        {"normalization": "affine"},
    ],
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
    assert cake.score(NEW) == pytest.approx(whole.mean(), abs=1e-12)
    assert_array_equal(np.concatenate([cake.predict(x[None]) for x in NEW]), cake.predict(NEW))


def test_unseen_points_are_checked():
    cake = fitted()
    with pytest.raises(ValueError, match="2 features"):
        cake.predict(NEW[:, :2])
    missing = NEW.copy()
    missing[3, 1] = np.nan
    for method in (cake.predict, cake.score_samples, cake.score):
        with pytest.raises(ValueError, match="row 3, column 1"):
            method(missing)
