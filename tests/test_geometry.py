"""Silhouettes of every geometry against scikit-learn or plain loops, their edge cases, and what
they refuse.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import silhouette_samples

from clustertrust import CAKE, Ensemble, build_ensemble, confidence
from clustertrust.cells import meet
from clustertrust.distances.dissimilarity import Euclidean
from clustertrust.distances.sampled_means import SampledMeans
from clustertrust.geometry import (
    affine,
    choose_geometry,
    clip,
    mean_and_std,
    silhouettes,
    silhouettes_of,
    warn_of_long_work,
)

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 3)) * [1.0, 2.0, 0.5] + [3.0, -1.0, 0.0]
# Runs of different numbers of clusters, none of them good: silhouettes of either sign.
FULL = np.column_stack([rng.integers(0, k, N) for k in (2, 3, 5)])
FULL[0, 2] = 7  # a cluster of one point
GAPS = FULL.copy()
GAPS[rng.random(GAPS.shape) < 0.2] = -1

EVERY = [  # one call of each way through the code
    {"geometry": "exact"},
    {"geometry": "exact", "metric": "manhattan"},
    {"geometry": "exact", "metric": "cosine"},
    {"geometry": "exact", "metric": "sqeuclidean"},
    {"geometry": "centroid"},
    {"geometry": "rms"},
    {"geometry": "kernel"},
    {"geometry": "kernel", "kernel": "rbf"},
    {"geometry": "kernel", "kernel": "linear"},
    {"geometry": "kernel", "kernel": "polynomial"},
]


def name_of(options):
    return "-".join(str(value) for value in options.values())


every_geometry = pytest.mark.parametrize("options", EVERY, ids=name_of)


def by_loops(labels, distance):
    """Eq.

    (1), run by run and point by point; distance(i, members) is how far point i is from a cluster.
    """
    s = np.full(labels.shape, np.nan)
    for r, run in enumerate(labels.T):
        clusters = {c: np.flatnonzero(run == c) for c in set(run) if c >= 0}
        for i in np.flatnonzero(run >= 0):
            s[i, r] = 0.0
            if len(clusters[run[i]]) > 1 and len(clusters) > 1:
                a = distance(i, clusters[run[i]])
                b = min(distance(i, members) for c, members in clusters.items() if c != run[i])
                s[i, r] = (b - a) / max(a, b) if max(a, b) > 0 else 0.0
    return s


def exact_loops(X, labels, metric="euclidean", **params):
    D = cdist(X, X, metric, **params)
    return by_loops(labels, lambda i, members: D[i, members[members != i]].mean())


def centroid_loops(X, labels):
    return by_loops(labels, lambda i, members: np.linalg.norm(X[i] - X[members].mean(axis=0)))


def rms_loops(X, labels):
    """Mean over the own cluster without the point, which is what the factor n/(n-1) amounts to."""

    def distance(i, members):
        return np.sqrt(((X[members[members != i]] - X[i]) ** 2).sum(axis=1).mean())

    return by_loops(labels, distance)


def kernel_loops(K, labels):
    """Eq. (9), the sums over the own cluster with the point itself."""

    def distance(i, members):
        square = K[i, i] - 2 * K[i, members].mean() + K[np.ix_(members, members)].mean()
        return np.sqrt(max(square, 0.0))

    return by_loops(labels, distance)


def self_tuning_gram(X):
    D = cdist(X, X)
    scale = np.sort(D, axis=1)[:, min(7, len(X) - 1)]  # column 0 is the point itself
    positive = scale[scale > 0]
    if (
        positive.size == 0
    ):  # every point has copies enough: the smallest distance between two that differ
        positive = D[D > 0]
    if positive.size == 0:
        return np.ones_like(D)
    scale = np.maximum(scale, positive.min())
    return np.exp(-(D**2) / np.outer(scale, scale))


def sklearn_silhouettes(X, labels, **options):
    return np.column_stack([silhouette_samples(X, run, **options) for run in labels.T])


# --- exact silhouettes, against scikit-learn ---


def halved_canberra(x, y):
    """A metric that scikit-learn does not know by name."""
    return 0.5 * np.sum(np.abs(x - y) / (np.abs(x) + np.abs(y)))


NAMES = "euclidean l1 l2 manhattan cosine sqeuclidean chebyshev seuclidean mahalanobis braycurtis canberra correlation"


@pytest.mark.parametrize("metric", [*NAMES.split(), halved_canberra])
def test_exact_equals_scikit_learn(metric):
    ours = silhouettes(X, FULL, geometry="exact", metric=metric)
    assert_allclose(ours, sklearn_silhouettes(X, FULL, metric=metric), atol=1e-12)


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("minkowski", {"p": 3}),
        (
            "sqeuclidean",
            {"w": np.array([1.0, 2.0, 5.0])},
        ),  # with parameters the closed form does not apply
        ("seuclidean", {"V": np.array([1.0, 2.0, 5.0])}),
        ("mahalanobis", {"VI": np.diag([1.0, 2.0, 5.0])}),
    ],
)
def test_metric_params_equal_scikit_learn(metric, params):
    ours = silhouettes(X, FULL, geometry="exact", metric=metric, metric_params=params)
    assert_allclose(ours, sklearn_silhouettes(X, FULL, metric=metric, **params), atol=1e-12)


def test_metric_of_truth_values():
    """Scikit-learn warns where such a metric is given numbers.

    Truth values are taken as they are.
    """
    truths = np.greater(X, X.mean(axis=0))
    ours = silhouettes(truths, FULL, geometry="exact", metric="jaccard")
    assert_allclose(ours, sklearn_silhouettes(truths, FULL, metric="jaccard"), atol=1e-12)


def test_cosine_with_rows_of_zeros():
    zeros = X.copy()
    zeros[[0, 5, 6, 30]] = 0.0  # at cosine distance 1 from everything, from each other too
    ours = silhouettes(zeros, FULL, geometry="exact", metric="cosine")
    assert_allclose(ours, sklearn_silhouettes(zeros, FULL, metric="cosine"), atol=1e-12)


def test_a_point_is_at_no_distance_from_itself():
    """Also by a measure that says otherwise: the mean over the own cluster leaves the point out."""
    D = 1 + cdist(X, X, "cityblock")
    expected = by_loops(FULL, lambda i, members: D[i, members[members != i]].mean())
    ours = silhouettes(X, FULL, geometry="exact", metric=lambda x, y: 1 + np.abs(x - y).sum())
    assert_allclose(ours, expected, atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 16, 63, 64, 65, 129, 257, 1023, 1024, 1025])
@pytest.mark.parametrize("d", [1, 20])
def test_exact_for_any_number_of_points(n, d):
    """Numbers of points around those by which compiled loops may cut the work."""
    r = np.random.default_rng(n + d)
    points, labels = r.normal(size=(n, d)), r.integers(0, 3, (n, 2))
    labels[:2] = [[0, 1], [1, 0]]  # at least two clusters in each run
    D = cdist(points, points)
    assert_allclose(
        silhouettes(points, labels, geometry="exact"), _by_matrix(D, labels), atol=1e-12
    )


def _by_matrix(D, labels):
    """As `exact_loops`, quick enough for a thousand points; scikit-learn refuses n = k."""
    s = np.zeros(labels.shape)
    for r, run in enumerate(labels.T):
        names, own = np.unique(run, return_inverse=True)
        indicator = np.eye(len(names))[own]
        sizes, sums, at = indicator.sum(axis=0), D @ indicator, (np.arange(len(D)), own)
        a = sums[at] / np.maximum(sizes[own] - 1, 1)
        means = sums / sizes
        means[at] = np.inf
        b = means.min(axis=1)
        s[:, r] = np.where(sizes[own] == 1, 0.0, (b - a) / np.maximum(a, b))
    return s


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "sqeuclidean"])
def test_exact_of_sparse_points(container, metric):
    holes = np.where(np.abs(X) > 1, X, 0.0)
    ours = silhouettes(container(holes), FULL, geometry="exact", metric=metric)
    # scikit-learn's |x|² - 2xy + |y|² keeps about half the digits of a short distance.
    assert_allclose(ours, sklearn_silhouettes(holes, FULL, metric=metric), atol=1e-7)


def test_precomputed_distances_also_from_disk(tmp_path):
    D = cdist(X, X)
    on_disk = np.memmap(tmp_path / "distances", dtype=float, mode="w+", shape=D.shape)
    on_disk[:] = D
    on_disk.flush()
    read_only = np.memmap(tmp_path / "distances", dtype=float, mode="r", shape=D.shape)
    expected = sklearn_silhouettes(X, FULL)
    with sklearn.config_context(working_memory=0.01):  # rows are read a few at a time
        from_disk = silhouettes(read_only, FULL, geometry="exact", metric="precomputed")
    assert_allclose(from_disk, expected, atol=1e-12)
    for matrix in (D, D.astype(np.float32), pd.DataFrame(D), D.tolist()):
        ours = silhouettes(matrix, FULL, metric="precomputed")
        assert_allclose(ours, expected, atol=1e-6)  # float32 holds seven digits


@pytest.mark.parametrize(
    ("i", "j", "value", "message"),
    [
        (2, 5, np.nan, r"X\[2, 5\]"),
        (2, 5, np.inf, r"X\[2, 5\]"),
        (2, 5, -1.0, r"X\[2, 5\]"),
        (4, 4, 1.0, r"X\[4, 4\].*distance 0"),
    ],
)
def test_precomputed_matrix_that_holds_no_distances(i, j, value, message):
    D = cdist(X, X)
    D[i, j] = value
    with pytest.raises(ValueError, match=message):
        silhouettes(D, FULL, metric="precomputed")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_precomputed_kernel_that_is_not_finite(value):
    K = X @ X.T
    K[2, 5] = value
    with pytest.raises(ValueError, match=r"X\[2, 5\]"):
        silhouettes(K, FULL, geometry="kernel", kernel="precomputed")


@pytest.mark.parametrize(
    "options", [{"metric": "precomputed"}, {"geometry": "kernel", "kernel": "precomputed"}]
)
def test_precomputed_matrix_of_the_wrong_shape(options):
    with pytest.raises(ValueError, match=r"X has shape \(60, 3\).*\(60, 60\)"):
        silhouettes(X, FULL, **options)
    with pytest.raises(TypeError, match="toarray"):
        silhouettes(sparse.csr_array(np.eye(N)), FULL, **options)


# --- the cheaper geometries, against loops ---


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, pd.DataFrame])
@pytest.mark.parametrize("labels", [FULL, GAPS], ids=["full", "gaps"])
def test_centroid_and_rms_equal_loops(container, labels):
    points = container(X)
    assert_allclose(
        silhouettes(points, labels, geometry="centroid"), centroid_loops(X, labels), atol=1e-12
    )
    assert_allclose(silhouettes(points, labels, geometry="rms"), rms_loops(X, labels), atol=1e-12)


def test_given_centers_replace_means():
    labels = FULL[:, :2]
    centers = [
        rng.normal(size=(4, 3)),
        rng.normal(size=(3, 3)),
    ]  # run 0 has no labels 2 and 3: centres to drop
    centers[0][2:] = X[:2]

    def loops(run, given):
        D = cdist(X, given[: run.max() + 1])
        a = D[np.arange(N), run].copy()
        D[np.arange(N), run] = np.inf
        return (D.min(axis=1) - a) / np.maximum(a, D.min(axis=1))

    expected = np.column_stack(
        [loops(run, given) for run, given in zip(labels.T, centers, strict=True)]
    )
    assert_allclose(
        silhouettes(X, labels, geometry="centroid", centers=centers), expected, atol=1e-12
    )
    # The centres of an Ensemble count without being asked for.
    ensemble = Ensemble.from_labels(labels, centers=centers)
    assert_allclose(silhouettes(X, ensemble, geometry="centroid"), expected, atol=1e-12)
    # rms is about the members: it takes the means whatever centres there are.
    assert_allclose(silhouettes(X, ensemble, geometry="rms"), rms_loops(X, labels), atol=1e-12)


@pytest.mark.parametrize(
    ("centers", "message"),
    [
        ([np.zeros((2, 3))], "centers has 1 arrays for 2 runs"),
        ([np.zeros((2, 3)), np.zeros((2, 3))], r"centers\[1\] has 2 rows"),
        ([np.zeros((2, 3)), np.full((3, 3), np.nan)], r"centers\[1\].*finite"),
        ([np.zeros((2, 2)), np.zeros((3, 2))], "2 columns and X has 3"),
        ([np.zeros((2, 3)), np.zeros((3, 2))], "number of columns"),
    ],
)
def test_centers_that_do_not_fit(centers, message):
    with pytest.raises(ValueError, match=message):
        silhouettes(X, FULL[:, :2], geometry="centroid", centers=centers)


DATA = {
    "blobs": (make_blobs(400, centers=4, n_features=3, cluster_std=2.0, random_state=0)[0], 4),
    "iris": (load_iris().data, 3),
    "digits": (load_digits().data, 10),
}


@pytest.mark.parametrize("name", DATA)
def test_rms_is_nearer_to_exact_than_centroid_is(name):
    """It costs the same; the mean errors differ by factors of six to nine on these sets."""
    points, k = DATA[name]
    labels = [KMeans(k, n_init=1, random_state=seed).fit(points).labels_ for seed in range(3)]
    exact, rms, centroid = (
        silhouettes(points, labels, geometry=g) for g in ("exact", "rms", "centroid")
    )
    error = {"rms": np.abs(rms - exact).mean(), "centroid": np.abs(centroid - exact).mean()}
    assert error["rms"] < error["centroid"] / 4


# --- the kernel silhouette, Eq. (9), against loops ---


def laplacian(x, y, width=2.0):
    return np.exp(-np.abs(x - y).sum() / width)


D2 = cdist(X, X, "sqeuclidean")
GRAMS = {
    "self-tuning": ({}, self_tuning_gram(X)),
    "rbf": ({}, np.exp(-D2 / 3)),
    "rbf, gamma": ({"gamma": 0.2}, np.exp(-0.2 * D2)),
    "linear": ({}, X @ X.T),
    "polynomial": ({}, (X @ X.T / 3 + 1) ** 3),
    "polynomial, degree 2": ({"degree": 2, "coef0": 0.5, "gamma": 0.1}, (0.1 * X @ X.T + 0.5) ** 2),
    "callable": ({}, np.exp(-cdist(X, X, "cityblock") / 2)),
    "callable, width": ({"width": 5.0}, np.exp(-cdist(X, X, "cityblock") / 5)),
}


@pytest.mark.parametrize("name", GRAMS)
@pytest.mark.parametrize("labels", [FULL, GAPS], ids=["full", "gaps"])
def test_kernel_silhouettes_equal_loops(name, labels):
    params, gram = GRAMS[name]
    kernel = laplacian if name.startswith("callable") else name.partition(",")[0]
    expected = kernel_loops(gram, labels)
    ours = silhouettes(X, labels, geometry="kernel", kernel=kernel, kernel_params=params or None)
    assert_allclose(ours, expected, atol=1e-9)  # a difference of squares: some digits are lost
    given_gram = silhouettes(gram, labels, geometry="kernel", kernel="precomputed")
    assert_allclose(given_gram, expected, atol=1e-9)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", ["self-tuning", "rbf", "linear", "polynomial"])
def test_kernels_of_sparse_points(container, kernel):
    ours = silhouettes(container(X), FULL, geometry="kernel", kernel=kernel)
    assert_allclose(ours, silhouettes(X, FULL, geometry="kernel", kernel=kernel), atol=1e-7)


def test_linear_kernel_is_the_centroid_geometry():
    linear = silhouettes(X, GAPS, geometry="kernel", kernel="linear")
    assert_allclose(linear, silhouettes(X, GAPS, geometry="centroid"), atol=1e-9)


def test_kernel_that_is_not_positive_semidefinite():
    K = rng.normal(size=(N, N))
    K += K.T
    labels = FULL[:, :2]
    squares = [
        K[i, i] - 2 * K[i, C].mean() + K[np.ix_(C, C)].mean()
        for C in [labels[:, 0] == 0]
        for i in range(N)
    ]
    assert min(squares) < 0  # so that there is something to clip
    ours = silhouettes(K, labels, geometry="kernel", kernel="precomputed")
    assert_allclose(ours, kernel_loops(K, labels), atol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9])
def test_self_tuning_scale_of_few_points(n):
    """The scale is the distance to the 7th neighbour, or to the last where there are fewer."""
    points = X[:n]
    labels = (np.arange(n) % 2)[:, None]
    expected = kernel_loops(self_tuning_gram(points), labels)
    assert_allclose(silhouettes(points, labels, geometry="kernel"), expected, atol=1e-9)


def test_self_tuning_scale_of_duplicates_is_floored():
    points = np.vstack(
        [np.repeat(X[:1], 9, axis=0), X[1:30]]
    )  # nine equal points: their 7th neighbour is at 0
    labels = FULL[: len(points)]
    expected = kernel_loops(self_tuning_gram(points), labels)
    # Where a point is the mean of a cluster, an error of 1e-15 in the square is one of 3e-8 in the
    # distance.
    assert_allclose(silhouettes(points, labels, geometry="kernel"), expected, atol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_self_tuning_scale_where_every_point_has_copies(container):
    """No 7th neighbour is at a positive distance, and yet the points are not all equal."""
    points = np.repeat([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [9.0, 9.0]], 9, axis=0)
    labels = np.column_stack([np.arange(36) >= 18, np.arange(36) >= 27, np.arange(36) // 9]).astype(
        int
    )
    expected = kernel_loops(self_tuning_gram(points), labels)
    ours = silhouettes(container(points), labels, geometry="kernel")
    assert_allclose(ours, expected, atol=1e-6)
    assert (ours[:, 2] == 1).all()  # a cluster for each place
    cake = CAKE(4, geometry="kernel", n_runs=3, random_state=0).fit(container(points))
    assert (cake.score_samples(container(points)) > 0.9).all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("d", [3, 16, 40])
def test_copies_are_at_distance_0_in_many_dimensions(d, container):
    """Distances from products put copies 1e-8 apart, which became the scale of all points."""
    places = np.random.default_rng(0).normal(size=(3, d)) + 3
    points = container(np.repeat(places, 10, axis=0))
    assert_allclose(
        silhouettes(points, np.repeat([0, 1, 2], 10)[:, None], geometry="kernel"), 1, atol=1e-6
    )
    cake = CAKE(3, geometry="kernel", n_runs=4, random_state=0).fit(points)
    assert_allclose(cake.score_samples(points), 1, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_self_tuning_scale_of_copies_among_others(container, dtype):
    """Some points with nine copies, some with two, some with none, in 20 dimensions."""
    places = np.random.default_rng(1).normal(size=(22, 20)) + 3
    points = np.repeat(places, [9] * 4 + [2] * 6 + [1] * 12, axis=0).astype(dtype)
    labels = FULL
    ours = silhouettes(container(points), labels, geometry="kernel")
    expected = kernel_loops(self_tuning_gram(points.astype(np.float64)), labels)
    assert_allclose(ours, expected, atol=1e-6 if dtype == np.float64 else 1e-4)


def test_self_tuning_scale_of_points_with_copies_does_not_depend_on_the_origin():
    """Whole numbers moved by a whole number: the points are the same to the last digit."""
    places = np.random.default_rng(2).integers(0, 9, size=(30, 18)).astype(float)
    points = np.repeat(places, np.arange(30) % 11 + 1, axis=0)[: len(FULL)]
    labels = FULL[: len(points)]
    here, there = (silhouettes(at, labels, geometry="kernel") for at in (points, points + 3))
    assert_allclose(here, there, atol=1e-6)


def test_self_tuning_kernel_of_clusters_far_apart():
    """Products lose the distances inside clusters that lie ten million times as far apart."""
    points = np.random.default_rng(3).normal(size=(60, 20))
    points[30:] += 1e7
    labels = np.column_stack([np.arange(60) >= 30, np.arange(60) % 2, np.arange(60) >= 20]).astype(
        int
    )
    ours = silhouettes(points, labels, geometry="kernel")
    assert_allclose(ours, kernel_loops(self_tuning_gram(points), labels), atol=1e-6)


# --- edge cases ---


UNEQUAL = np.column_stack([np.arange(10) < 3, np.arange(10) < 5]).astype(int)


@every_geometry
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3])
def test_equal_points_have_silhouette_zero(options, container, value):
    """No cluster is nearer than another, also where the mean of three times 0.1 is not 0.1."""
    points = container(np.full((10, 2), value))
    assert_array_equal(silhouettes(points, UNEQUAL, **options), np.zeros((10, 2)))


@every_geometry
def test_two_clusters_in_one_place_have_silhouette_zero(options):
    points = np.vstack([np.full((10, 2), [0.1, 0.7]), [[3.0, 1.0], [4.0, 2.0]]])
    labels = np.append(np.arange(10) < 3, [2, 2])[:, None].astype(int)
    assert_array_equal(silhouettes(points, labels, **options)[:10], np.zeros((10, 1)))


@every_geometry
def test_cluster_of_one_point_has_silhouette_zero(options):
    s = silhouettes(X, FULL, **options)
    assert s[0, 2] == 0.0
    assert (s[1:, 2] != 0.0).all()


@every_geometry
def test_one_cluster_is_told_once_and_gives_zeros(options):
    labels = np.column_stack([np.zeros(N, int), FULL[:, 1], np.where(np.arange(N) < 5, -1, 4)])
    with pytest.warns(UserWarning, match=r"^Runs \[0, 2\] have one cluster") as caught:
        s = silhouettes(X, labels, **options)
    assert [w.filename for w in caught] == [__file__]
    assert_array_equal(s[:, 0], np.zeros(N))
    assert_array_equal(s[:, 2], np.where(np.arange(N) < 5, np.nan, 0.0))
    assert_allclose(s[:, 1], silhouettes(X, FULL[:, [1]], **options)[:, 0], atol=1e-12)


def test_warnings_of_confidence_point_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        confidence(X, np.column_stack([np.zeros(N, int), FULL[:, 1]]))
    assert len(caught) == 2  # one run has one cluster; the runs differ in their numbers of clusters
    assert {w.filename for w in caught} == {__file__}


@every_geometry
def test_points_that_are_not_assigned(options):
    """NaN there.

    Elsewhere as if the point were not in the data, but for what is learnt from all points.
    """
    s = silhouettes(X, GAPS, **options)
    assert_array_equal(np.isnan(s), GAPS < 0)
    if (
        options["geometry"] != "kernel"
    ):  # the self-tuning scale looks at all points; see the loops above
        for r, run in enumerate(GAPS.T):
            alone = silhouettes(X[run >= 0], run[run >= 0][:, None], **options)[:, 0]
            assert_allclose(s[run >= 0, r], alone, atol=1e-12)


@every_geometry
def test_runs_without_any_cluster(options):
    nothing = np.full(N, -1)
    s = silhouettes(X, [nothing, FULL[:, 1], nothing], **options)
    assert np.isnan(s[:, [0, 2]]).all()
    assert_allclose(s[:, 1], silhouettes(X, FULL[:, [1]], **options)[:, 0], atol=1e-12)
    assert np.isnan(silhouettes(X, [nothing, nothing], **options)).all()


# --- what must not change a silhouette ---


@every_geometry
def test_blocks_do_not_change_the_result(options):
    expected = silhouettes(X, GAPS, **options)
    for megabytes in (1e-6, 0.02):  # one row a block, and a few
        with sklearn.config_context(working_memory=megabytes):
            assert_allclose(silhouettes(X, GAPS, **options), expected, atol=1e-12)


@every_geometry
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_threads_do_not_change_a_bit(options, container):
    r = np.random.default_rng(1)
    points, labels = container(r.normal(size=(120, 7))), r.integers(0, 4, (120, 3))
    for megabytes in (
        1024,
        0.1,
    ):  # the second: memory, not the largest block, decides how the rows are cut
        with sklearn.config_context(working_memory=megabytes):
            alone, two, all_cores = (
                silhouettes(points, labels, n_jobs=n_jobs, **options) for n_jobs in (1, 2, -1)
            )
        assert_array_equal(alone, two)
        assert_array_equal(alone, all_cores)


@every_geometry
def test_single_precision(options):
    single = X.astype(np.float32)
    ours = silhouettes(single, FULL, **options)
    assert ours.dtype == np.float64
    assert_allclose(ours, silhouettes(single.astype(np.float64), FULL, **options), atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    # The other kernels are computed around the mean of all points, which far points move.
    "options",
    [o for o in EVERY if o["geometry"] != "kernel" or o.get("kernel") == "polynomial"],
    ids=name_of,
)
def test_far_points_do_not_blur_the_others(options, container):
    """What is too small to be told from 0 at one place may be a distance at another."""
    near = np.vstack(
        [[0.0, 0.001], [0.0, 0.002], [0.001, 0.001], [0.01, 0.001], [0.011, 0.001], [0.01, 0.002]]
    )
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])[:, None]
    expected, ours = (
        silhouettes(
            container(np.vstack([near, [[-far, far], [-far, 1.1 * far]]])), labels, **options
        )
        for far in (1.0, 1e6)
    )
    assert_allclose(ours[:6], expected[:6], atol=1e-7)


SHIFTABLE = [o for o in EVERY if o.get("metric") != "cosine" and o.get("kernel") != "polynomial"]


@pytest.mark.parametrize("options", SHIFTABLE, ids=name_of)
def test_far_from_the_origin(options):
    far = X + 1e7
    near = far - 1e7  # exact: the same points, without the digits that adding 1e7 costs
    # A mean near 1e7 is good to about 1e-9, and so are the distances to it.
    assert_allclose(
        silhouettes(far, GAPS, **options), silhouettes(near, GAPS, **options), atol=1e-7
    )


SCALABLE = [o for o in SHIFTABLE if o.get("kernel") != "rbf"]


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_moving_and_scaling_the_points_changes_nothing(data):
    n = data.draw(st.integers(4, 12))
    options = data.draw(st.sampled_from(SCALABLE))
    coordinates = st.lists(st.integers(-50, 50), min_size=n, max_size=n)
    points = np.array(data.draw(st.lists(coordinates, min_size=1, max_size=3)), float).T
    labels = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))[:, None]
    labels[:2, 0] = [0, 1]
    shift, scale = data.draw(st.integers(-1000, 1000)), 2.0 ** data.draw(st.integers(-20, 20))
    # Whole numbers and powers of two: moved and scaled without rounding.
    before, after = (
        silhouettes(points, labels, **options),
        silhouettes((points + shift) * scale, labels, **options),
    )
    # The kernel takes the root of a difference, which turns an error of 1e-14 into one of 1e-7 near
    # a centre.
    assert_allclose(after, before, atol=1e-5 if options["geometry"] == "kernel" else 1e-9)
    assert (np.abs(before[np.isfinite(before)]) <= 1).all()


@every_geometry
def test_order_of_points_and_names_of_clusters_change_nothing(options):
    expected = silhouettes(X, GAPS, **options)
    order = rng.permutation(N)
    assert_allclose(silhouettes(X[order], GAPS[order], **options), expected[order], atol=1e-12)
    names = np.array(["four", "one", "two", "three", "five", "x", "x", "six", None], dtype=object)
    assert_allclose(silhouettes(X, pd.DataFrame(names[GAPS]), **options), expected, atol=1e-12)


@every_geometry
def test_arguments_are_left_as_they_were(options):
    points, labels = X.copy(), GAPS.copy()
    silhouettes(points, labels, **options)
    assert_array_equal(points, X)
    assert_array_equal(labels, GAPS)


# --- from silhouettes to the geometric component ---


def test_mean_and_std_leave_out_missing_runs():
    s = rng.uniform(-1, 1, size=(6, 5))
    s[0, :4] = s[1, 2] = s[2] = np.nan  # one run left, four left, none left
    mean, std = mean_and_std(s)
    for i in (0, 1, 3, 4, 5):
        there = [value for value in s[i] if not np.isnan(value)]
        assert mean[i] == pytest.approx(sum(there) / len(there), abs=1e-15)
        # Divided by the number of runs, not by one less.
        assert std[i] == pytest.approx(
            (sum((v - mean[i]) ** 2 for v in there) / len(there)) ** 0.5, abs=1e-15
        )
    assert std[0] == 0.0
    assert np.isnan([mean[2], std[2]]).all()


def test_clip_and_affine():
    mean = np.array([0.8, 0.1, -0.5, -1.0, 0.0, 1.0, np.nan])
    std = np.array([0.1, 0.3, 0.2, 0.4, 1.0, 0.0, np.nan])
    assert_allclose(clip(mean, std), [0.7, 0.0, 0.0, 0.0, 0.0, 1.0, np.nan], atol=1e-15)
    assert_allclose(affine(mean, std), [0.85, 0.4, 0.15, 0.0, 0.0, 1.0, np.nan], atol=1e-15)


@pytest.mark.parametrize(("normalization", "formula"), [("clip", clip), ("affine", affine)])
def test_confidence_normalizes_the_silhouettes(normalization, formula):
    scored = confidence(X, FULL[:, :1].repeat(2, axis=1), normalization=normalization)
    s = exact_loops(X, FULL[:, :1])[:, 0]
    assert_allclose(scored.silhouette_mean, s, atol=1e-12)
    assert_allclose(scored.silhouette_std, 0.0, atol=1e-12)
    assert_allclose(scored.geometry, formula(s, 0.0), atol=1e-12)


# --- what is chosen and what is refused ---


@pytest.mark.parametrize(
    ("n", "d", "metric", "expected"),
    [
        (150, 4, "euclidean", "exact"),
        (50_000, 200, "euclidean", "exact"),  # n² d is 5e11
        (50_000, 201, "euclidean", "rms"),
        (50_001, 1, "euclidean", "rms"),
        (20_000, 1250, "euclidean", "exact"),
        (20_000, 1251, "euclidean", "rms"),
        (10**7, 100, "manhattan", "exact"),  # for other metrics there is nothing else
        (10**7, 100, halved_canberra, "exact"),
    ],
)
def test_auto_depends_on_the_size_alone(n, d, metric, expected):
    assert choose_geometry(n, d, metric) == expected


def test_auto_is_settled_and_told():
    points, labels = np.arange(50_001.0)[:, None], np.arange(50_001) % 2
    large = confidence(points, [labels, labels])
    assert large.geometry_method == "rms"
    assert confidence(points[:90], [labels[:90], labels[:90]]).geometry_method == "exact"
    assert confidence(X, FULL[:, [0, 0]], metric="manhattan").geometry_method == "exact"


OPTIONS = {
    "metric": "manhattan",
    "metric_params": {"p": 3},
    "kernel": "rbf",
    "kernel_params": {"gamma": 1.0},
    "centers": [np.zeros((8, 3))] * 3,
}
USED = {
    "auto": {"metric", "metric_params"},
    "exact": {"metric", "metric_params"},
    "centroid": {"centers"},
    "rms": set(),
    "kernel": {"kernel", "kernel_params"},
}
UNUSED = [
    (geometry, option) for geometry in USED for option in OPTIONS if option not in USED[geometry]
]


@pytest.mark.parametrize(("geometry", "option"), UNUSED)
def test_option_that_the_geometry_does_not_use(geometry, option):
    options = {"geometry": geometry, option: OPTIONS[option]}
    with pytest.raises(
        ValueError, match=f"^{option} is used only by .* not by geometry='{geometry}'"
    ):
        silhouettes(X, FULL, **options)
    with pytest.raises(ValueError, match=f"^{option} is used only by"):
        confidence(X, FULL, **options)
    if option != "centers":
        with pytest.raises(ValueError, match=f"^{option} is used only by"):
            CAKE(3, **options).fit(X)


def test_parameters_where_there_are_none():
    with pytest.raises(ValueError, match="metric='euclidean' takes no parameters"):
        silhouettes(X, FULL, geometry="exact", metric_params={"p": 3})
    with pytest.raises(ValueError, match="kernel='linear' takes no parameters"):
        silhouettes(X, FULL, geometry="kernel", kernel="linear", kernel_params={"gamma": 3})


@pytest.mark.parametrize(
    "call", [silhouettes, confidence, lambda X, _, **options: CAKE(3, **options).fit(X)]
)
def test_unknown_names_are_told_with_the_choices(call):
    geometries = r"\['auto', 'centroid', 'exact', 'kernel', 'rms', 'sampled'\]"
    with pytest.raises(ValueError, match=f"geometry='exakt' is not known.*{geometries}"):
        call(X, FULL, geometry="exakt")
    kernels = r"\['linear', 'polynomial', 'precomputed', 'rbf', 'self-tuning'\]"
    with pytest.raises(ValueError, match=f"kernel='gauss' is not known.*{kernels}"):
        call(X, FULL, geometry="kernel", kernel="gauss")
    with pytest.raises(ValueError, match=r"(?s)metric.*manhattan"):  # scikit-learn's list
        call(X, FULL, metric="euklid")


def test_unknown_metric_is_told_before_any_clustering(monkeypatch):
    def too_late(*_, **__):
        raise AssertionError("the runs were built first")

    monkeypatch.setattr("clustertrust.estimator.build_ensemble", too_late)
    with pytest.raises(ValueError, match="metric"):
        CAKE(3, metric="euklid").fit(X)


@pytest.mark.parametrize("call", [silhouettes, confidence])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (FULL[:-1], "X has 60 points and labels has 59"),
        (FULL.T, r"X has 60 points and labels has 3.*\(n, R\)"),
        ([FULL[:, 0], FULL[:-1, 1]], r"labels is ragged.*\[59, 60\]"),
        ([FULL[:, 0], [[0, 1], [2]]], r"labels\[1\]"),
        ([FULL[:, 0], FULL[:, 0] + 0.5], r"labels\[1\].*not a label"),
        (np.zeros((N, 2, 2), int), r"labels has shape \(60, 2, 2\)"),
        ([], "labels is empty"),
    ],
)
def test_labels_that_do_not_fit(call, labels, message):
    with pytest.raises(ValueError, match=message):
        call(X, labels)


@pytest.mark.filterwarnings("ignore:Runs .* have one cluster")  # true, and no matter here
@pytest.mark.parametrize(
    "options", [{}, {"metric": "precomputed"}, {"geometry": "kernel", "kernel": "precomputed"}]
)
def test_one_point_is_too_few(options):
    with pytest.raises(ValueError, match=r"1 sample|at least (2|two)"):
        silhouettes([[0.0]], [[0], [0]], **options)


# Silhouettes from a sample of each cell


def sampled_case(n=3000):
    X, _ = make_blobs(n, 4, centers=5, cluster_std=2.5, random_state=0)
    return X, build_ensemble(X, "kmeans-random", n_clusters=5, n_runs=8, random_state=0)


def test_sampled_silhouettes_are_near_exact_ones_as_their_error_says():
    X, ensemble = sampled_case()
    exact = silhouettes(X, ensemble, geometry="exact")
    error = silhouettes(X, ensemble, geometry="sampled") - exact
    told = confidence(X, ensemble, geometry="sampled").sampling_error
    assert np.sqrt((error**2).mean()) == pytest.approx(told, rel=0.35)
    assert (
        np.abs(error).mean() < np.abs(silhouettes(X, ensemble, geometry="rms") - exact).mean() / 2
    )


@pytest.mark.parametrize(("k", "d", "seed"), [(2, 3, 5), (3, 1, 6), (12, 2, 2)])
def test_the_told_error_is_that_of_samples_of_this_size(k, d, seed):
    """Against what twelve other samples err, whose errors are known."""
    X, _ = make_blobs(2600, d, centers=4, cluster_std=3.0, random_state=seed)
    ensemble = build_ensemble(X, "kmeans-random", n_clusters=k, n_runs=4, random_state=seed)
    cells, exact = meet(ensemble.labels), silhouettes(X, ensemble, geometry="exact")
    own = cells.rows[cells.of]
    errors = [
        silhouettes_of(SampledMeans(X, cells, seed=100 + at), own)[0] - exact for at in range(12)
    ]
    told = confidence(X, ensemble, geometry="sampled").sampling_error
    assert told == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.3)


def test_sampling_all_members_is_exact():
    X, ensemble = sampled_case(1500)  # fewer points than members to draw
    assert_allclose(
        silhouettes(X, ensemble, geometry="sampled"),
        silhouettes(X, ensemble, geometry="exact"),
        atol=1e-12,
    )
    scored = confidence(X, ensemble, geometry="sampled")
    assert scored.sampling_error == 0.0
    assert_allclose(scored.scores, confidence(X, ensemble, geometry="exact").scores, atol=1e-12)


def test_sampled_means_have_no_bias():
    """Over many samples the mean distance to every cluster is the exact one, of members and of
    other points.
    """
    X, ensemble = sampled_case(200)
    cells = meet(ensemble.labels)

    def means(geometry, X=None):
        parts = (
            geometry.map_training(lambda at, part: (at, part))
            if X is None
            else geometry.map(X, lambda *both: both)
        )
        out = np.empty((int(cells.start[-1]), len(ensemble.labels) if X is None else len(X)))
        for at, part in parts:
            out[:, at] = part
        return out

    new = X[:20] + 0.5
    for points in (None, new):
        drawn = [
            means(SampledMeans(X, cells, members=40, seed=seed), points) for seed in range(200)
        ]
        spread = np.std(drawn, axis=0) / np.sqrt(200)
        off = np.abs(np.mean(drawn, axis=0) - means(Euclidean(X, cells), points))
        assert (off <= 5 * spread + 1e-9).all()


def test_sampled_refuses_sparse_data():
    X, ensemble = sampled_case(100)
    with pytest.raises(ValueError, match="geometry='sampled' needs dense data"):
        silhouettes(sparse.csr_array(X), ensemble, geometry="sampled")


@pytest.mark.parametrize(
    ("n", "what"),
    [(10_000_000, r"take about .* hours"), (800_000, r"take about \d+ minutes"), (1000, None)],
)
def test_long_work_is_told_beforehand(n, what):
    if what is None:
        warn_of_long_work(n, 20, 2)  # pytest turns a warning into an error
    else:
        with pytest.warns(UserWarning, match=what + r".* geometry='sampled'"):
            warn_of_long_work(n, 100, 2)
