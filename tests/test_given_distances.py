"""Distances of one's own: a matrix, a graph of neighbours, or another metric in place of points."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn import config_context
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, SpectralClustering
from sklearn.datasets import load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from clustertrust import (
    CAKE,
    Metric,
    Runs,
    audit,
    build_ensemble,
    choose_k,
    confidence,
    null_reference,
)
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.ensemble.kmedoids import KMedoids
from clustertrust.geometry import Kernel

X = np.random.default_rng(0).permutation(np.unique(load_iris().data, axis=0))[:120]
D = cdist(X, X)
BY_DISTANCE = sorted(name for name, own in CLUSTERERS.items() if own.takes_distances)
NO_NUMBER = {"hdbscan", "leiden"}  # they find the number of clusters themselves


def cake(clusterer="kmedoids", **options):
    k = None if callable(clusterer) or clusterer in NO_NUMBER else 3
    defaults = {"metric": "precomputed", "n_runs": 4, "random_state": 0}
    return CAKE(k, clusterer=clusterer, **(defaults | options))


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*deterministic.*")
        warnings.filterwarnings("ignore", message=".*not fully connected.*")
        warnings.filterwarnings("ignore", message=".*jaccard.*")
        yield


@pytest.mark.parametrize("clusterer", ["hdbscan", "kmedoids", "leiden", "spectral"])
def test_euclidean_distances_give_what_the_points_give(clusterer):
    by_points = cake(clusterer, metric="euclidean").fit(X)
    given = cake(clusterer).fit(D)
    for mine, theirs in zip(given.ensemble_.labels.T, by_points.ensemble_.labels.T, strict=True):
        assert adjusted_rand_score(mine, theirs) == 1
    assert_allclose(given.scores_, by_points.scores_, atol=1e-9)
    new = X[:7] + 0.05
    assert_allclose(
        given.score_samples(cdist(new, X)), by_points.score_samples(new), rtol=0, atol=1e-9
    )


def test_agglomerative_is_average_linkage():
    found = cake("agglomerative").fit(D)
    tree = linkage(squareform(D, checks=False), "average")
    assert adjusted_rand_score(found.labels_, fcluster(tree, 3, "maxclust")) == 1
    own = AgglomerativeClustering(3, metric="precomputed", linkage="complete")
    other = CAKE(clusterer=own, metric="precomputed", n_runs=2).fit(D)
    tree = linkage(squareform(D, checks=False), "complete")
    assert adjusted_rand_score(other.labels_, fcluster(tree, 3, "maxclust")) == 1


@pytest.mark.parametrize("clusterer", BY_DISTANCE)
@pytest.mark.parametrize("metric", ["manhattan", lambda a, b: np.abs(a - b).sum()])
def test_runs_and_silhouettes_share_the_metric(clusterer, metric):
    found = cake(clusterer, metric=metric, n_runs=3).fit(X)
    given = cake(clusterer, n_runs=3).fit(cdist(X, X, "cityblock"))
    assert_array_equal(found.ensemble_.labels, given.ensemble_.labels)
    assert_allclose(found.scores_, given.scores_, rtol=0, atol=1e-9)
    new = X[:9] + 0.01
    assert_array_equal(found.predict(new), given.predict(cdist(new, X, "cityblock")))
    assert_array_equal(found.predict(X), found.labels_)


def test_haversine_and_cosine_reach_the_medoids():
    places = np.radians(np.random.default_rng(1).uniform([-60, -170], [60, 170], (80, 2)))
    found = cake(metric="haversine", n_runs=2).fit(places)
    assert found.scores_.mean() > 0
    run = found.ensemble_.runs[0]
    from sklearn.metrics.pairwise import haversine_distances

    to_medoid = haversine_distances(places, run.placer.centers)
    assert_array_equal(run.labels, to_medoid.argmin(axis=1))
    by_points, squares = (
        KMedoids(3, metric=metric, random_state=0).fit(X) for metric in ("cosine", "sqeuclidean")
    )
    assert by_points.inertia_ == pytest.approx(
        cdist(X, by_points.cluster_centers_, "cosine").min(axis=1).sum(), abs=1e-9
    )
    assert squares.inertia_ == pytest.approx(
        cdist(X, squares.cluster_centers_, "sqeuclidean").min(axis=1).sum()
    )


def test_a_clusterer_that_needs_points_is_refused():
    for clusterer in ("kmeans", "gmm", "birch", DBSCAN(), ["kmedoids", "kmeans"]):
        with pytest.raises(ValueError, match=r"needs points.*'agglomerative', 'hdbscan', 'kmed"):
            CAKE(clusterer=clusterer, metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="takes similarities"):
        CAKE(clusterer=SpectralClustering(3, affinity="precomputed"), metric="precomputed").fit(D)
    with pytest.warns(UserWarning, match=r"only the silhouettes use metric='l1'.*kmedoids"):
        CAKE(3, metric="l1", n_runs=2, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for clusterer in ("kmeans", "gmm"):  # elsewhere their warning is ignored
            for metric in ("euclidean", "l2", "sqeuclidean"):
                CAKE(3, clusterer=clusterer, metric=metric, n_runs=2, random_state=0).fit(X)


def test_functions_and_estimators_get_the_distances():
    seen = []

    def halves(distances, rng):
        seen.append(distances)
        return (distances[0] > np.median(distances[0])).astype(int)

    cake(halves).fit(D)
    assert_array_equal(seen[0], D)
    dbscan = CAKE(clusterer=DBSCAN(eps=1.0, metric="precomputed"), metric="precomputed", n_runs=2)
    assert_array_equal(dbscan.fit(D).ensemble_.labels[:, 0], DBSCAN(eps=1.0).fit(X).labels_)


@pytest.mark.parametrize("resample", [0.7, "bootstrap"])
def test_resampling_slices_both_sides(resample):
    seen = []

    def keep(distances, rng):
        seen.append(np.array(distances))
        return np.arange(len(distances)) % 2

    built = build_ensemble(
        D, keep, n_runs=2, resample=resample, metric="precomputed", random_state=1, n_jobs=1
    )
    for part, run in zip(seen, built.runs, strict=True):
        rows = run.placer.columns
        assert_array_equal(part, D[np.ix_(rows, rows)])
    for clusterer in BY_DISTANCE:
        options = {
            "resample": resample,
            "n_runs": Runs(4, left_out="predict"),
            "unassigned": "disagree",
        }
        found = cake(clusterer, **options).fit(D)
        assert len(found.scores_) == len(D)
    # A point that a run left out goes to the cluster of its nearest point in it.
    run = found.ensemble_.runs[0]
    rows = run.placer.columns
    out = np.setdiff1d(np.arange(len(D)), rows)
    nearest = rows[D[np.ix_(out, rows)].argmin(axis=1)]
    assert_array_equal(run.labels[out], run.labels[nearest])


def test_a_memory_mapped_matrix_is_not_copied(tmp_path):
    np.save(tmp_path / "d.npy", D)
    mapped = np.load(tmp_path / "d.npy", mmap_mode="r")
    found = cake().fit(mapped)
    assert np.shares_memory(found.X_fit_, mapped)
    assert_array_equal(found.scores_, cake().fit(D).scores_)
    single = cake().fit(D.astype(np.float32))
    assert single.X_fit_.dtype == np.float32
    assert_allclose(single.scores_, found.scores_, atol=1e-5)
    whole = cake().fit(np.asfortranarray(D))
    assert_array_equal(whole.scores_, found.scores_)


def test_whole_numbers_and_names():
    steps = np.abs(np.subtract.outer(np.arange(40) % 20, np.arange(40) % 20))
    names = [f"w{i}" for i in range(40)]
    frame = pd.DataFrame(steps, index=names, columns=names)
    found = CAKE(2, clusterer="kmedoids", metric="precomputed", n_runs=3, random_state=0).fit(frame)
    assert found.to_frame().index.tolist() == names
    assert found.feature_names_in_.tolist() == names
    assert_array_equal(found.predict(frame), found.labels_)
    with pytest.raises(ValueError, match="same points in the same order"):
        cake().fit(frame[names[::-1]])


def changed(i, j, value):
    matrix = D.copy()
    matrix[i, j] = value
    return matrix


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (X, r"shape \(120, 4\).*\(n, n\).*metric='euclidean'"),
        (changed(3, 5, np.nan), r"X\[3, 5\] = nan.*finite.*leave out"),
        (changed(3, 5, np.inf), r"X\[3, 5\] = inf.*finite.*leave out"),
        (changed(3, 5, -1.0), r"X\[3, 5\] = -1.0.*not below 0.*np.maximum"),
        (changed(2, 2, 1.0), r"X\[2, 2\] = 1.0.*distance 0 from itself.*fill_diagonal"),
        (changed(3, 5, 99.0), r"X\[3, 5\] = 99.0 and X\[5, 3\].*\(X \+ X.T\) / 2"),
    ],
)
def test_what_is_no_matrix_of_distances_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        cake().fit(matrix)
    with pytest.raises(ValueError, match=message):
        build_ensemble(matrix, "kmedoids", n_clusters=3, metric="precomputed")


def test_rounding_is_no_asymmetry():
    matrix = changed(3, 5, D[3, 5] * (1 + 1e-9))
    assert_allclose(cake().fit(matrix).scores_, cake().fit(D).scores_, atol=1e-6)


def test_a_large_matrix_is_checked_in_every_tile(monkeypatch):
    monkeypatch.setattr("clustertrust.distances.precomputed.TILE", 50)
    for i, j in [(0, 1), (49, 51), (110, 3), (119, 118)]:
        with pytest.raises(ValueError, match=r"directions"):
            cake().fit(changed(i, j, 50.0))
        with pytest.raises(ValueError, match=rf"X\[{i}, {j}\]"):
            cake().fit(changed(i, j, -1.0))


def test_what_cannot_go_with_given_distances_is_refused():
    refused = {
        "metric='precomputed' is not used by geometry='rms'": {"geometry": "rms"},
        "fits Gaussians": {"fusion": "refined"},
        "takes no parameters": {"metric": Metric("precomputed", {"p": 1})},
    }
    for message, options in refused.items():
        with pytest.raises(ValueError, match=message):
            cake(**options).fit(D)
    with pytest.raises(ValueError, match="metric='precomputed'"):
        CAKE(3, geometry=Kernel("precomputed")).fit(D)
    with pytest.raises(ValueError, match=r"device='cuda'.*leave device out"):
        cake(device="cuda").fit(D)
    with pytest.raises(TypeError, match=r"np.load\(path, mmap_mode='r'\)"):
        cake().fit("distances.npy")
    with pytest.raises(ValueError, match=r"no points.*metric='precomputed'"):
        null_reference(D, cake())
    dask_array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"X\.compute\(\)"):
        cake().fit(dask_array.from_array(D))


def test_unseen_points_are_rows_of_distances():
    found = cake().fit(D)
    with pytest.raises(ValueError, match="distances to all 120 training points"):
        found.predict(D[:, :5])
    with pytest.raises(ValueError, match=r"X\[0, 1\] = -1.0"):
        found.predict([[1.0, -1.0, *range(118)]])
    one_by_one = [found.score_samples(row[None])[0] for row in D[:5]]
    assert_allclose(one_by_one, found.score_samples(D[:5]), atol=1e-12)
    assert found.judge(D[:5])["label"].tolist() == found.labels_[:5].tolist()


def test_cross_validation_slices_both_sides():
    cv = cross_val_score(cake(), D, cv=3)
    rows = np.arange(len(D))
    expected = []
    for part in np.array_split(rows, 3):
        rest = np.setdiff1d(rows, part)
        expected.append(cake().fit(D[np.ix_(rest, rest)]).score(D[np.ix_(part, rest)]))
    assert_allclose(cv, expected)


def test_tags():
    assert get_tags(cake()).input_tags.pairwise
    assert not get_tags(CAKE(3)).input_tags.pairwise
    assert get_tags(KMedoids(metric="precomputed")).input_tags.pairwise
    assert get_tags(cake("leiden")).input_tags.sparse
    assert not get_tags(cake("kmedoids")).input_tags.sparse


@pytest.mark.filterwarnings("ignore:.*have one cluster:UserWarning")  # some checks set n_clusters=1
@parametrize_with_checks(
    [
        CAKE(2, clusterer="kmedoids", metric="precomputed", n_runs=3, random_state=0),
        KMedoids(2, metric="precomputed", random_state=0),
        KMedoids(2, metric="manhattan", random_state=0),
    ],
    expected_failed_checks=lambda model: (
        {"check_clustering": "it gives points (50, 2), whatever the pairwise tag says"}
        if model.metric == "precomputed"
        else {}
    ),
)
def test_scikit_learn_check(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


@pytest.mark.parametrize("clusterer", BY_DISTANCE)
def test_a_stored_model_scores_the_same(clusterer, tmp_path):
    found = cake(clusterer, resample=0.8, n_runs=Runs(4, left_out="predict")).fit(D)
    found.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < D.nbytes / 2  # the matrix is not in it
    again = CAKE.load(tmp_path / "model")
    assert_array_equal(again.predict(D[:9]), found.predict(D[:9]))
    assert_array_equal(again.score_samples(D[:9]), found.score_samples(D[:9]))
    assert again.n_features_in_ == 120
    assert str(again.explain(3)) == str(found.explain(3))
    by_metric = cake(clusterer, metric="manhattan").fit(X)
    by_metric.save(tmp_path / "model")
    again = CAKE.load(tmp_path / "model")
    assert_array_equal(again.score_samples(X[:9]), by_metric.score_samples(X[:9]))
    built = by_metric.ensemble_
    built.save(tmp_path / "runs.npz")
    assert_array_equal(type(built).load(tmp_path / "runs.npz").place(X[:9]), built.place(X[:9]))


def test_a_metric_with_parameters_from_the_data_is_stored(tmp_path):
    found = cake(metric="seuclidean").fit(X)
    found.save(tmp_path / "model")
    again = CAKE.load(tmp_path / "model")
    assert_array_equal(again.predict(X[:9] + 0.1), found.predict(X[:9] + 0.1))
    with pytest.raises(ValueError, match="cannot be stored"):
        cake(metric=lambda a, b: np.abs(a - b).sum()).fit(X).save(tmp_path / "other")


def test_places_are_principal_coordinates():
    places = cake().fit(D).model_.view().xy
    assert_allclose(np.abs(places), np.abs(PCA(2).fit_transform(X)), atol=1e-8)
    apart = cdist(places, places)
    assert_allclose(apart, cdist(*[PCA(2).fit_transform(X)] * 2), atol=1e-8)


def test_some_landmarks_place_all_points(monkeypatch):
    monkeypatch.setattr("clustertrust._views.LANDMARKS", 30)
    plane = X[:, :2]
    places = cake().fit(cdist(plane, plane)).model_.view().xy
    assert_allclose(cdist(places, places), cdist(plane, plane), atol=1e-8)


def test_a_report_places_points_by_their_distances(tmp_path):
    found = cake().fit(D)
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "principal coordinates of their distances" in page
    found.save(tmp_path / "model")
    CAKE.load(tmp_path / "model").report(tmp_path / "again.html")
    assert "geometry and stability" in (tmp_path / "again.html").read_text(encoding="utf-8")


def test_errors_settling_and_checkpoints(tmp_path):
    found = cake(n_runs="auto").fit(D)
    assert found.n_runs_ >= 20
    assert np.isfinite(found.standard_errors_).all()
    first = cake(n_runs=Runs(4, checkpoint=tmp_path / "kept")).fit(D)
    again = cake(n_runs=Runs(4, checkpoint=tmp_path / "kept")).fit(D)
    assert_array_equal(first.scores_, again.scores_)
    other = cake(n_runs=Runs(4, checkpoint=tmp_path / "kept"), metric="manhattan")
    with (
        pytest.warns(UserWarning, match="as distances"),
        pytest.raises(ValueError, match="other metric"),
    ):
        other.fit(D)


@pytest.mark.filterwarnings("ignore:.*Taken as noise:UserWarning")  # has tests of its own
def test_an_audit_takes_distances():
    given = cake().fit(D).labels_
    wrong = given.copy()
    slip = int(np.argmax(cake().fit(D).scores_))
    wrong[slip] = (given[slip] + 1) % 3
    wrong[5] = -1
    plain = audit(D, wrong, metric="precomputed", random_state=0)
    assert plain.suggested[slip] == given[slip]
    with_runs = audit(D, wrong, clusterer="kmedoids", metric="precomputed", random_state=0)
    assert "kmedoids" in with_runs.ensemble.summary()["method"].tolist()
    assert with_runs.suggested[slip] == plain.suggested[slip]
    way = {"clusterer": "kmedoids", "classifier": None, "n_runs": 8, "random_state": 0}
    by_metric = audit(X, wrong, metric="euclidean", **way)
    same = audit(D, wrong, metric="precomputed", **way)
    assert_array_equal(by_metric.suggested, same.suggested)
    with pytest.raises(ValueError, match="needs points"):
        audit(D, wrong, clusterer="kmeans", metric="precomputed")


def test_given_partitions_take_distances_too():
    runs = cake().fit(D).ensemble_
    assert_array_equal(confidence(D, runs, metric="precomputed").scores, cake().fit(D).scores_)


def test_the_number_of_clusters_is_chosen_by_distances():
    points, _ = make_blobs(60, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    matrix = cdist(points, points)
    template = CAKE(clusterer="kmedoids", metric="precomputed", n_runs=5, random_state=0)
    profile = choose_k(matrix, range(2, 5), template, null=None)
    assert profile.best == 3
    with pytest.raises(ValueError, match="null=None"):
        choose_k(matrix, range(2, 5), template)


@pytest.mark.parametrize("clusterer", BY_DISTANCE)
def test_sparse_points_by_a_metric(clusterer, tmp_path):
    points = sparse.csr_array(X)
    found = cake(clusterer, metric="cosine", n_runs=3).fit(points)
    dense = cake(clusterer, metric="cosine", n_runs=3).fit(X)
    assert_array_equal(found.ensemble_.labels, dense.ensemble_.labels)
    assert_array_equal(found.predict(points), found.labels_)
    found.save(tmp_path / "model")
    assert_array_equal(CAKE.load(tmp_path / "model").predict(points), found.labels_)
    if clusterer == "kmedoids":
        with config_context(working_memory=0.1):
            pieces = cake(clusterer, metric="cosine", n_runs=3).fit(points)
        assert_array_equal(pieces.ensemble_.labels, dense.ensemble_.labels)


@pytest.mark.parametrize("value", [np.nan, -1.0, np.inf])
def test_a_function_that_gives_no_distance_is_reported(value):
    def odd(a, b):
        return value

    with pytest.raises(ValueError, match=rf"metric='odd' gives {value} for two rows"):
        cake(metric=odd).fit(X)
    constant = np.vstack([X, np.ones(4)])
    with pytest.raises(ValueError, match="metric='correlation' gives nan"):
        cake(metric="correlation").fit(constant)


def test_a_function_is_known_by_its_name_when_runs_resume(tmp_path):
    def length(a, b):
        return float(np.abs(a - b).sum())

    options = {"n_runs": Runs(2, checkpoint=tmp_path / "kept")}
    first = cake(metric=length, **options).fit(X)
    again = cake(metric=lambda a, b: 0.0, n_runs=2)
    again.metric.__qualname__ = length.__qualname__  # as the function of another process
    assert_array_equal(again.set_params(**options).fit(X).ensemble_.labels, first.ensemble_.labels)


# graphs of neighbours


def graph_of(points, k):
    return sparse.csr_array(kneighbors_graph(points, k, mode="distance"))


@pytest.mark.parametrize("clusterer", ["hdbscan", "leiden", "spectral"])
def test_a_graph_that_stores_all_distances_is_the_matrix(clusterer):
    k = None if clusterer in NO_NUMBER else 3
    whole = sparse.csr_array(D)
    options = {"n_clusters": k, "n_runs": 3, "random_state": 0, "metric": "precomputed"}
    by_graph = build_ensemble(whole, clusterer, **options)
    by_matrix = build_ensemble(D, clusterer, **options)
    assert_array_equal(by_graph.labels, by_matrix.labels)


def test_neighbours_of_a_graph_are_those_of_the_points():
    options = {"n_runs": 3, "random_state": 0}
    by_points = build_ensemble(X, "leiden", **options)
    by_graph = build_ensemble(graph_of(X, 15), "leiden", metric="precomputed", **options)
    for mine, theirs in zip(by_graph.labels.T, by_points.labels.T, strict=True):
        assert adjusted_rand_score(mine, theirs) > 0.95  # ties may choose other neighbours


def test_hdbscan_on_a_graph_is_that_of_scikit_learn():
    points, _ = make_blobs(90, centers=3, cluster_std=1.5, random_state=3)
    graph = graph_of(points, 40)
    graph = graph.maximum(graph.T)
    mine = build_ensemble(graph, "hdbscan", n_runs=2, resample=None, metric="precomputed")
    theirs = HDBSCAN(min_cluster_size=5, min_samples=5, metric="precomputed", copy=True)
    # scikit-learn does not count a point as its own neighbour in a graph that lacks the diagonal
    looped = sparse.csr_matrix(graph + sparse.eye_array(90) * 1e-300)
    assert adjusted_rand_score(mine.labels[:, 0], theirs.fit(looped).labels_) == 1


def test_parts_without_a_link_are_apart():
    points = np.vstack([X, X + 1000.0])
    for clusterer in ("hdbscan", "leiden", "spectral"):
        built = build_ensemble(
            graph_of(points, 12),
            clusterer,
            n_clusters=None if clusterer in NO_NUMBER else 4,  # each half is in two parts
            n_runs=2,
            metric="precomputed",
            random_state=0,
        )
        for run in built.labels.T:
            both = set(run[: len(X)].tolist()) & set(run[len(X) :].tolist())
            assert both <= {-1}


def test_a_graph_is_checked():
    graph = graph_of(X, 8)
    bad = graph.copy()
    bad.data[4] = -1.0
    with pytest.raises(ValueError, match="entries of a sparse graph are distances"):
        build_ensemble(bad, "leiden", metric="precomputed")
    both = sparse.csr_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(4, 4))
    with pytest.raises(ValueError, match=r"X\[1, 0\] and X\[0, 1\] differ by 1"):
        build_ensemble(both, "leiden", metric="precomputed")
    with pytest.raises(ValueError, match=r"\(n, n\)"):
        build_ensemble(graph[:50], "leiden", metric="precomputed")
    with pytest.raises(ValueError, match="'hdbscan', 'leiden', 'spectral'"):
        build_ensemble(graph, "kmedoids", n_clusters=3, metric="precomputed")
    with pytest.raises(ValueError, match="give the dense matrix"):
        cake("kmedoids").fit(graph)
    with pytest.raises(TypeError, match="geometry='exact' needs all distances"):
        cake("leiden", geometry="exact").fit(graph)


def test_a_stored_zero_is_a_distance():
    graph = sparse.csr_array(
        ([0.0, 0.0, 1.0, 1.0, 0.0, 0.0], ([0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2])), shape=(4, 4)
    )
    built = build_ensemble(
        graph, "spectral", n_clusters=2, vary={"n_neighbors": [2]}, n_runs=2, metric="precomputed"
    )
    assert built.labels[0, 0] == built.labels[1, 0] != built.labels[2, 0] == built.labels[3, 0]
    new = sparse.csr_array(([0.5], ([0], [3])), shape=(2, 4))
    placed = built.runs[0].placer(new)
    assert placed.tolist() == [built.labels[3, 0], -1]


# large data


def test_medoids_without_the_matrix():
    whole = KMedoids(3, metric="manhattan", random_state=0).fit(X)
    import sklearn

    with sklearn.config_context(working_memory=0.2):
        pieces = KMedoids(3, metric="manhattan", random_state=0).fit(X)
        for clusterer in ("kmedoids", "leiden", "spectral"):
            small = cake(clusterer, metric="manhattan", n_runs=2).fit(X)
            with sklearn.config_context(working_memory=64):
                large = cake(clusterer, metric="manhattan", n_runs=2).fit(X)
            assert_array_equal(small.ensemble_.labels, large.ensemble_.labels)
    assert_array_equal(pieces.medoid_indices_, whole.medoid_indices_)
    with sklearn.config_context(working_memory=0.05):
        for clusterer in ("agglomerative", "hdbscan"):
            with pytest.raises(ValueError, match=r"working_memory=1\b.*kmedoids"):
                cake(clusterer, metric="manhattan").fit(X)


def test_distances_that_are_clustered_as_points_raise_a_warning():
    D = squareform(pdist(np.random.default_rng(0).normal(size=(30, 2))))
    with pytest.warns(UserWarning, match="as distances of all pairs are.*metric='precomputed'"):
        CAKE(2, n_runs=3, random_state=0).fit(D)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CAKE(2, n_runs=3, random_state=0).fit(D + np.eye(30))
        CAKE(2, n_runs=3, random_state=0).fit(D[:, :29])
        CAKE(2, clusterer="kmedoids", metric="precomputed", n_runs=3, random_state=0).fit(D)
