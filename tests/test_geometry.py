"""Silhouettes of every geometry against scikit-learn or plain loops, their edge cases, and what
they refuse.
"""

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import cdist
from silhouette_cases import FULL, GAPS, N, X, by_loops, halved_canberra, rng
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import silhouette_samples

from clustertrust import CAKE, Ensemble, Metric
from clustertrust.geometry import Centroid, Kernel, silhouettes


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
    # Every point has copies enough: the smallest distance between two that differ.
    if positive.size == 0:
        positive = D[D > 0]
    if positive.size == 0:
        return np.ones_like(D)
    scale = np.maximum(scale, positive.min())
    return np.exp(-(D**2) / np.outer(scale, scale))


def sklearn_silhouettes(X, labels, **options):
    return np.column_stack([silhouette_samples(X, run, **options) for run in labels.T])


# --- exact silhouettes, against scikit-learn ---


NAMES = "euclidean l1 l2 manhattan cosine sqeuclidean chebyshev seuclidean mahalanobis braycurtis canberra correlation"


@pytest.mark.parametrize("metric", [*NAMES.split(), halved_canberra])
def test_exact_equals_scikit_learn(metric):
    ours = silhouettes(X, FULL, geometry="exact", metric=metric)
    assert_allclose(ours, sklearn_silhouettes(X, FULL, metric=metric), atol=1e-12)


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("minkowski", {"p": 3}),
        # With parameters the closed form does not apply.
        ("sqeuclidean", {"w": np.array([1.0, 2.0, 5.0])}),
        ("seuclidean", {"V": np.array([1.0, 2.0, 5.0])}),
        ("mahalanobis", {"VI": np.diag([1.0, 2.0, 5.0])}),
    ],
)
def test_metric_params_equal_scikit_learn(metric, params):
    ours = silhouettes(X, FULL, geometry="exact", metric=Metric(metric, params))
    assert_allclose(ours, sklearn_silhouettes(X, FULL, metric=metric, **params), atol=1e-12)


def test_metric_of_truth_values():
    """Scikit-learn warns where such a metric is given numbers.

    Booleans are taken as they are.
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
        silhouettes(K, FULL, geometry=Kernel("precomputed"))


@pytest.mark.parametrize(
    "options", [{"metric": "precomputed"}, {"geometry": Kernel("precomputed")}]
)
def test_precomputed_matrix_of_the_wrong_shape(options):
    with pytest.raises(ValueError, match=r"X has shape \(60, 3\).*\(60, 60\)"):
        silhouettes(X, FULL, **options)
    with pytest.raises(TypeError, match="toarray"):
        silhouettes(sparse.csr_array(np.eye(N)), FULL, **{"geometry": "exact"} | options)


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
    # Run 0 has no labels 2 and 3: centres to drop.
    centers = [rng.normal(size=(4, 3)), rng.normal(size=(3, 3))]
    centers[0][2:] = X[:2]

    def loops(run, given):
        D = cdist(X, given[: run.max() + 1])
        a = D[np.arange(N), run].copy()
        D[np.arange(N), run] = np.inf
        return (D.min(axis=1) - a) / np.maximum(a, D.min(axis=1))

    expected = np.column_stack(
        [loops(run, given) for run, given in zip(labels.T, centers, strict=True)]
    )
    assert_allclose(silhouettes(X, labels, geometry=Centroid(centers)), expected, atol=1e-12)
    # The centres of an Ensemble count without being asked for.
    ensemble = Ensemble.from_labels(labels, centers=centers)
    assert_allclose(silhouettes(X, ensemble, geometry="centroid"), expected, atol=1e-12)
    # rms is about the members: it takes the means whatever centres there are.
    assert_allclose(silhouettes(X, ensemble, geometry="rms"), rms_loops(X, labels), atol=1e-12)


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
    given = {"params": params} if callable(kernel) else params
    ours = silhouettes(X, labels, geometry=Kernel(kernel, **given))
    assert_allclose(ours, expected, atol=1e-9)  # a difference of squares: some digits are lost
    given_gram = silhouettes(gram, labels, geometry=Kernel("precomputed"))
    assert_allclose(given_gram, expected, atol=1e-9)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", ["self-tuning", "rbf", "linear", "polynomial"])
def test_kernels_of_sparse_points(container, kernel):
    ours = silhouettes(container(X), FULL, geometry=Kernel(kernel))
    assert_allclose(ours, silhouettes(X, FULL, geometry=Kernel(kernel)), atol=1e-7)


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
    ours = silhouettes(K, labels, geometry=Kernel("precomputed"))
    assert_allclose(ours, kernel_loops(K, labels), atol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9])
def test_self_tuning_scale_of_few_points(n):
    """The scale is the distance to the 7th neighbour, or to the last where there are fewer."""
    points = X[:n]
    labels = (np.arange(n) % 2)[:, None]
    expected = kernel_loops(self_tuning_gram(points), labels)
    assert_allclose(silhouettes(points, labels, geometry="kernel"), expected, atol=1e-9)


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
    """Integers moved by an integer: the points are the same to the last digit."""
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
