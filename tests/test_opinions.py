"""Second opinions: runs of other methods, matched to the consensus, as a part of the score."""

import numpy as np
import pandas as pd
import pytest
from extras import extra
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.stats import beta
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph

from clustertrust import CAKE, Combined, Fusion, Runs, audit, build_ensemble, confidence
from clustertrust.evaluation import auroc, correctness
from clustertrust.fusion import harmonic
from clustertrust.opinions import _match, gather_opinions

X = load_iris().data
OPTIONS = {"n_runs": 6, "random_state": 0}


def needles(n=300):
    """Two long clusters side by side, which k-means cuts across."""
    rng = np.random.default_rng(0)
    long = rng.standard_normal((2, n // 2, 2)) * (5.0, 0.3)
    long[1] += (0, 3.0)
    return np.vstack(long), np.repeat([0, 1], n // 2)


@pytest.fixture(scope="module")
def cake():
    return CAKE(3, fusion="combined", **OPTIONS).fit(X)


def test_the_score_is_the_mean_of_its_three_parts(cake):
    parts = [harmonic(cake.stability_, cake.geometry_), cake.persistence_, cake.second_opinions_]
    assert_allclose(cake.scores_, np.mean(parts, axis=0), atol=1e-12)
    table = cake.to_frame()
    assert_array_equal(table["second_opinions"], cake.second_opinions_)
    assert table["second_choice"].isin([0, 1, 2]).all()


def test_errors_allow_for_other_opinions(cake):
    """The posterior of a share, seen in 8 opinions, has a third of the weight."""
    paper = CAKE(3, **OPTIONS).fit(X)
    new = X[::5] + 0.05
    for ours, theirs in ((cake.to_frame(), paper.to_frame()), (cake.judge(new), paper.judge(new))):
        votes = 8 * ours["second_opinions"]
        expected = np.hypot(theirs["standard_error"], beta(votes + 1, 9 - votes).std()) / 3
        assert_allclose(ours["standard_error"], expected, rtol=1e-9)


def test_more_runs_are_not_added_for_the_errors_of_opinions():
    auto = {"n_runs": "auto", "random_state": 0}
    ours, paper = (CAKE(3, fusion=name, **auto).fit(X) for name in ("combined", "harmonic"))
    assert ours.n_runs_ <= paper.n_runs_ < 1000


def test_opinions_are_shares_of_other_methods_by_a_plain_count():
    # All points are fitted by each run, so scikit-learn's own labels can be counted.
    Z, _ = make_blobs(24, centers=3, cluster_std=0.4, random_state=1)
    labels = np.repeat([0, 1, 2], 8)
    fixed = [GaussianMixture(3, random_state=0), SpectralClustering(3, random_state=0)]
    opinions = gather_opinions(Z, labels, methods=fixed, n_runs=1, seed=3)
    runs = [GaussianMixture(3, random_state=0).fit_predict(Z)]
    runs.append(SpectralClustering(3, random_state=0).fit_predict(Z))
    from itertools import permutations

    agree = np.zeros(24)
    for run in runs:
        best = max(permutations(range(3)), key=lambda p: (np.array(p)[run] == labels).sum())
        agree += (np.array(best)[run] == labels) / 2
    share, _ = opinions.of(Z, labels)
    assert_allclose(share, agree)
    assert 0 < share.mean() < 1


def test_clusters_without_a_partner_have_no_name():
    run, labels = np.array([0, 0, 1, 1, 2, -1]), np.array([1, 1, 0, 0, 0, 0])
    assert_array_equal(_match(run, labels, 2), [1, 0, -1])


def test_it_finds_what_all_runs_of_k_means_get_wrong():
    Z, y = needles()
    paper, ours = (CAKE(2, fusion=name, **OPTIONS).fit(Z) for name in ("harmonic", "combined"))
    right = correctness(ours.labels_, y)
    assert 0.3 < right.mean() < 0.7
    assert auroc(ours.scores_, right) > auroc(paper.scores_, right) + 0.1
    doubtful = int(np.argmin(ours.second_opinions_))
    said = str(ours.explain(doubtful))
    assert "Second opinions 0." in said
    assert f"more put it into {ours.second_choice_[doubtful]}" in said


def test_the_same_for_any_number_of_threads_and_again(cake):
    again = CAKE(3, fusion="combined", n_jobs=1, **OPTIONS).fit(X)
    assert_array_equal(again.scores_, cake.scores_)


def test_unseen_points_and_files(cake, tmp_path):
    new = X[::5] + 0.05
    table = cake.judge(new)
    assert_allclose(table["score"], cake.score_samples(new), atol=1e-12)
    cake.save(tmp_path / "model")
    loaded = CAKE.load(tmp_path / "model")
    assert_array_equal(loaded.second_opinions_, cake.second_opinions_)
    assert_allclose(loaded.score_samples(new), cake.score_samples(new), atol=1e-12)


def test_ones_own_labels_and_an_audit():
    runs = build_ensemble(X, n_clusters=3, **OPTIONS)
    assert confidence(X, runs, fusion="combined").second_opinions.shape == (150,)
    audited = audit(X, load_iris().target, fusion="combined", n_runs=6, random_state=0)
    assert audited.second_opinions.min() < 1


@pytest.mark.parametrize("metric", ["precomputed", "manhattan"])
def test_distances_leave_persistence_out(metric):
    points = pairwise_distances(X) if metric == "precomputed" else X
    found = CAKE(3, clusterer="kmedoids", metric=metric, fusion="combined", **OPTIONS).fit(points)
    assert found.persistence_ is None
    parts = harmonic(found.stability_, found.geometry_) + found.second_opinions_
    assert_allclose(found.scores_, parts / 2, atol=1e-12)


def test_a_large_file_gives_the_same_where_the_sample_is_all_of_it(tmp_path):
    pd.DataFrame(X).to_csv(tmp_path / "x.csv", index=False)
    fusion = Combined(n_runs=2)
    read = CAKE(3, fusion=fusion, geometry="rms", **OPTIONS).fit(tmp_path / "x.csv")
    assert np.isfinite(read.scores_).all()
    parts = [harmonic(read.stability_, read.geometry_), read.persistence_, read.second_opinions_]
    assert_allclose(read.scores_, np.mean(parts, axis=0), atol=1e-12)


def test_on_dask_as_in_memory():
    points = extra("dask.array").from_array(X, chunks=(50, 4))
    how = {"fusion": Combined(n_runs=1), "geometry": "rms", **OPTIONS}
    lazy, whole = CAKE(3, **how).fit(points), CAKE(3, **how).fit(X)
    parts = [harmonic(lazy.stability_, lazy.geometry_), lazy.persistence_, lazy.second_opinions_]
    assert_allclose(np.asarray(lazy.scores_), np.mean([np.asarray(p) for p in parts], axis=0))
    assert np.mean(np.asarray(lazy.second_opinions_) == whole.second_opinions_) > 0.5


def test_a_sparse_graph_asks_spectral_clustering_alone():
    graph = kneighbors_graph(X, 12, mode="distance")
    runs = Runs(4, left_out="predict")
    how = {"clusterer": "spectral", "metric": "precomputed", "resample": 0.9, "n_runs": runs}
    with pytest.warns(UserWarning, match="not fully connected"):
        cake = CAKE(3, fusion="combined", random_state=0, **how).fit(graph)
    assert cake.persistence_ is None
    parts = harmonic(cake.stability_, cake.geometry_) + cake.second_opinions_
    assert_allclose(cake.scores_, parts / 2, atol=1e-12)
    assert np.isfinite(cake.score_samples(graph[:5])).all()


def test_one_cluster_and_few_points():
    with pytest.warns(UserWarning, match="have one cluster"):
        alone = CAKE(1, fusion="combined", **OPTIONS).fit(X)
    assert (alone.second_opinions_ == 1).all()
    tiny = CAKE(2, fusion="combined", **OPTIONS).fit(X[45:55])
    assert np.isfinite(tiny.scores_).all()


def test_few_points_get_the_opinions_that_they_allow(recwarn):
    """Spectral clustering links ten points and needs more of them than clusters."""
    few = CAKE(2, fusion="combined", **OPTIONS).fit(X[48:53])
    each = CAKE(12, fusion="combined", **OPTIONS).fit(X[::13])
    assert len(few.second_opinions_) == 5
    assert (each.second_opinions_ > 0).any()
    assert not [warning for warning in recwarn if "failed" in str(warning.message)]


def test_methods_that_find_their_own_number_of_clusters():
    def three(points, rng):
        return np.digitize(points[:, 2], [2.5, 4.9])

    own = CAKE(2, fusion=Combined([three, "hdbscan"], n_runs=1), **OPTIONS).fit(X)
    assert set(own.second_opinions_) <= {0, 0.5, 1}
    # Two of three and two of two clusters have a partner.
    assert 0.6 < own.second_opinions_.mean() < 1


def test_runs_of_other_methods_that_fail_are_called_that():
    def fails(points, rng):
        raise ValueError("never")

    with pytest.warns(UserWarning, match="1 of 2 runs for second opinions failed .*never.$"):
        CAKE(3, fusion=Combined([fails, "gmm"], n_runs=1), **OPTIONS).fit(X)


def test_a_fusion_of_ones_own_may_ask_for_opinions():
    class Weighted(Fusion):
        uses_opinions = True

        def __init__(self, weight=0.5):
            self.weight = weight

        def __call__(self, c, g, *more):
            return (1 - self.weight) * harmonic(c, g) + self.weight * more[-1]

    cake = CAKE(3, fusion=Weighted(1.0), **OPTIONS).fit(X)
    assert_array_equal(cake.scores_, cake.second_opinions_)


def test_it_is_cloned_and_its_parameters_are_reached():
    cake = clone(CAKE(3, fusion=Combined(["gmm"], n_runs=2)))
    cake.set_params(fusion__n_runs=3)
    assert cake.get_params()["fusion__n_runs"] == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"methods": "gmm"}, TypeError, "methods='gmm' must be a list"),
        ({"methods": []}, ValueError, r"methods=\[\] is empty"),
        ({"methods": ["k-means"]}, ValueError, "methods='k-means' is not known.*'kmeans'"),
        ({"methods": [3]}, TypeError, "methods=3 must be a name, an estimator"),
        ({"n_runs": 0}, ValueError, "n_runs=0"),
    ],
)
def test_wrong_parameters_are_named(options, error, message):
    with pytest.raises(error, match=message):
        CAKE(3, fusion=Combined(**options), clusterer=untouched, **OPTIONS).fit(X)


def untouched(X, rng):
    """A clusterer that nobody may call: what is wrong is found before the runs."""
    raise AssertionError


def test_methods_must_suit_the_distances():
    D = pairwise_distances(X[::5])
    how = {"clusterer": "kmedoids", "metric": "precomputed", "fusion": Combined(["gmm"])}
    with pytest.raises(ValueError, match="methods='gmm' needs points with coordinates"):
        CAKE(3, **how, **OPTIONS).fit(D)


def test_sparse_points_are_refused_with_a_way_out():
    with pytest.raises(
        ValueError, match=r"fusion='combined' does not take sparse data.*TruncatedSVD"
    ):
        CAKE(3, fusion="combined", **OPTIONS).fit(csr_array(X))
