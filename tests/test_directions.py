"""k-means with `metric="cosine"`: on rows of unit length, wherever the rows are."""

import warnings

import numpy as np
import pandas as pd
import pytest
from extras import extra
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.metrics import silhouette_samples
from sklearn.preprocessing import normalize

from clustertrust import CAKE, build_ensemble, confidence

rng = np.random.default_rng(7)
# Three directions, at any distance from the origin.
X = np.repeat(np.eye(5)[:3], 60, axis=0) + rng.normal(scale=0.25, size=(180, 5))
X *= rng.lognormal(sigma=2, size=(180, 1))
U = normalize(X)


@pytest.mark.parametrize("clusterer", ["kmeans", "kmeans-random", "minibatch-kmeans"])
def test_runs_are_those_of_the_unit_rows(clusterer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cake = CAKE(3, clusterer=clusterer, metric="cosine", n_runs=4, random_state=0).fit(X)
    on_units = build_ensemble(U, clusterer, n_clusters=3, n_runs=4, random_state=0)
    assert_array_equal(cake.ensemble_.labels, on_units.labels)
    assert set(cake.ensemble_.summary()["method"]) == {f"{clusterer} on unit rows"}
    assert cake.ensemble_.centers is None  # those of unit rows are none of the rows
    by_run = [silhouette_samples(X, run, metric="cosine") for run in cake.ensemble_.labels.T]
    assert_allclose(cake.silhouette_mean_, np.mean(by_run, axis=0), atol=1e-12)


def test_lengths_of_rows_do_not_matter():
    cake = CAKE(3, metric="cosine", n_runs=4, random_state=0)
    # By powers of 2: not even the rounding differs.
    other = X * 2.0 ** rng.integers(-9, 9, size=(len(X), 1))
    first, second = cake.fit(X).scores_, CAKE(**cake.get_params()).fit(other).scores_
    assert_array_equal(first, second)


@pytest.mark.parametrize("given", [KMeans(3, n_init=2), MiniBatchKMeans(3, n_init=1)])
def test_estimators_and_resamples_are_on_unit_rows_too(given):
    build = {"n_runs": 3, "random_state": 0, "resample": 0.8}
    labels = build_ensemble(X, given, metric="cosine", **build).labels
    assert_array_equal(labels, build_ensemble(U, given, **build).labels)


def test_other_clusterers_by_coordinates_still_warn():
    with pytest.warns(UserWarning, match="only the silhouettes use metric='cosine'.*'kmeans'"):
        CAKE(3, clusterer="gmm", metric="cosine", n_runs=2, random_state=0).fit(X)


def test_unseen_points_files_and_sparse_rows(tmp_path):
    cake = CAKE(3, metric="cosine", n_runs=4, random_state=0).fit(X)
    assert_array_equal(cake.predict(X), cake.labels_)
    new = X[::7] * 3.0
    cake.save(tmp_path / "model")
    loaded = CAKE.load(tmp_path / "model")
    assert_array_equal(loaded.predict(new), cake.labels_[::7])
    assert_array_equal(loaded.score_samples(new), cake.score_samples(new))
    on_sparse = CAKE(3, metric="cosine", n_runs=4, random_state=0).fit(sparse.csr_array(X))
    assert_allclose(on_sparse.scores_, cake.scores_, atol=1e-9)


@pytest.mark.parametrize("clusterer", ["kmeans", "minibatch-kmeans"])
def test_blocks_are_those_of_the_unit_rows(tmp_path, monkeypatch, clusterer):
    """Data larger than memory: the runs go on over all rows, each scaled to unit length."""
    monkeypatch.setattr("clustertrust.estimator.memory_budget", lambda: 0)
    monkeypatch.setattr("clustertrust.streaming.stream.SAMPLE_POINTS", 60)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "u.npy", U)
    options = {"clusterer": clusterer, "n_runs": 3, "random_state": 0}
    cake = CAKE(3, metric="cosine", **options).fit(tmp_path / "x.npy")
    on_units = CAKE(3, **options).fit(tmp_path / "u.npy")
    assert_array_equal(cake.labels_, on_units.labels_)
    assert cake.geometry_method_ == "exact"
    by_run = [silhouette_samples(X, run, metric="cosine") for run in placed(cake).T]
    assert_allclose(cake.silhouette_mean_, np.mean(by_run, axis=0), atol=1e-12)
    cake.save(tmp_path / "model")
    assert_array_equal(CAKE.load(tmp_path / "model").score_samples(X), cake.score_samples(X))


def placed(cake):
    return np.column_stack([place(X) for place in cake.ensemble_.placers])


def test_dask_is_as_memory():
    array = extra("dask.array").from_array(X, chunks=(70, -1))
    cake = CAKE(3, metric="cosine", n_runs=3, random_state=0)
    in_memory = CAKE(**cake.get_params()).fit(X)
    assert_allclose(cake.fit(array).scores_.compute(), in_memory.scores_, atol=1e-12)


def test_rows_of_zeros_have_no_direction(tmp_path, monkeypatch):
    with_zeros = np.vstack([X, np.zeros((2, 5))])
    cake = CAKE(3, metric="cosine", n_runs=3, random_state=0)
    scores = CAKE(**cake.get_params()).fit(with_zeros).scores_
    assert_array_equal(scores[-2:], 0.0)
    monkeypatch.setattr("clustertrust.estimator.memory_budget", lambda: 0)
    np.save(tmp_path / "x.npy", with_zeros)
    assert_allclose(cake.fit(tmp_path / "x.npy").scores_, scores, atol=1e-12)


def test_columns_of_sparse_rows_have_names(tmp_path):
    """A sparse frame, as `pandas.DataFrame.sparse.from_spmatrix` makes it."""
    words = [f"word{j}" for j in range(5)]
    rows = sparse.csr_matrix(np.maximum(X, 0))
    frame = pd.DataFrame.sparse.from_spmatrix(rows, columns=words)
    cake = CAKE(3, metric="cosine", n_runs=2, random_state=0).fit(frame)
    assert sparse.issparse(cake.X_fit_)
    assert cake.feature_names_in_.tolist() == words
    cake.report(tmp_path / "page.html")
    assert "word3" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "line"), [(np.asarray, "PCA"), (sparse.csr_array, "TruncatedSVD")]
)
def test_wide_data_hint_at_components_once(monkeypatch, kind, line):
    monkeypatch.setattr("clustertrust.geometry.exact.LENGTHY", 1000)
    monkeypatch.setattr("clustertrust.geometry.exact.WIDE", 5)
    cake = CAKE(3, n_runs=2, random_state=0)
    with pytest.warns(UserWarning, match=f"X has 5 columns, .*{line}\\(50") as caught:
        cake.fit(kind(X))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(cake).set_params(metric="cosine").fit(kind(X))  # a closed form, whatever the width
        clone(cake).fit(kind(X)[:, :4])


def test_a_quarter_of_geometry_cut_off_hints_at_affine():
    labels = np.array([[0, 1, 0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1, 1, 0]]).T
    line = np.arange(8.0)[:, None]
    clipped = confidence(line, labels)
    zeros = int((clipped.geometry == 0).sum())
    assert f"Geometry is exactly 0 on {zeros} of 8 points" in clipped.summary()
    assert "normalization='affine'" in clipped.summary()
    assert "exactly 0" not in confidence(line, labels, normalization="affine").summary()
    assert "exactly 0" not in confidence(line // 4, line.astype(int) // 4 + [0, 2]).summary()
