"""HDBSCAN against scikit-learn's where nothing ties, and against a plain spanning tree where much
does.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, random_array
from scipy.spatial.distance import cdist
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import few

from clustertrust import CAKE
from clustertrust.ensemble.hdbscan import PortableHDBSCAN, tree_as_distances
from clustertrust.kernels import _numba, _numpy

BLOBS = make_blobs(
    300,
    centers=[[0, 0], [3, 0], [1.5, 3], [8, 2]],
    cluster_std=[0.6, 0.7, 0.6, 1.0],
    random_state=0,
)[0]
IRIS = load_iris().data
DIGITS = load_digits().data[:400]
GRIDS = st.tuples(st.integers(2, 12), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 4).map(float))
)


def least_tree(points, k):
    """Kruskal's way: all pairs in the order of (weight, length, points), each taken that joins two
    parts.
    """
    distance = cdist(points, points)
    core = np.sort(distance, axis=1)[:, k - 1]
    n = len(points)
    pairs = sorted(
        (max(distance[i, j], core[i], core[j]), distance[i, j], i, j)
        for i in range(n)
        for j in range(i + 1, n)
    )
    part = list(range(n))
    tree = []
    for weight, length, i, j in pairs:
        if part[i] != part[j]:
            tree.append((weight, length, i, j))
            part = [part[i] if p == part[j] else p for p in part]
    return tree


def same_partition(one, other):
    return adjusted_rand_score(one, other) == 1 and ((one < 0) == (other < 0)).all()


@few
@given(GRIDS, st.integers(1, 12))
def test_the_tree_is_the_least_one(points, k):
    k = min(k, len(points))
    expected = least_tree(points, k)
    for kernels in (_numba, _numpy):
        ends, weights, lengths = kernels.reachability_tree(np.ascontiguousarray(points.T), k, False)
        assert sorted(map(tuple, ends)) == sorted(edge[2:] for edge in expected)
        assert_allclose(np.sort(weights), [edge[0] for edge in expected], rtol=1e-9)
        assert_allclose(np.sort(lengths), np.sort([edge[1] for edge in expected]), rtol=1e-9)


@pytest.mark.parametrize("data", [BLOBS, IRIS, DIGITS], ids=["blobs", "iris", "digits"])
def test_both_kernels_have_the_same_bits(data):
    columns = np.ascontiguousarray(data[:150].T)
    distances = cdist(data[:150], data[:150])
    for arguments in ((columns, 5, False), (distances, 5, True)):
        trees = _numba.reachability_tree(*arguments), _numpy.reachability_tree(*arguments)
        for one, other in zip(*trees, strict=True):
            assert_array_equal(one, other)


def test_distances_keep_nine_digits_and_are_equal_where_rounding_alone_differs():
    columns = np.array([[0.0, 0.1 + 0.2, 0.3, 1e-130, 1e130]])
    out = np.empty(5)
    _numba.rounded_distances(columns, False, 0, out)
    assert_allclose(out, columns[0], rtol=2**-33)
    assert columns[0, 1] != columns[0, 2]
    assert out[1] == out[2]


@few
@given(GRIDS, st.integers(1, 12))
def test_what_scikit_learn_gets_has_no_ties_and_the_order_of_the_tree(points, k):
    expected = least_tree(points, min(k, len(points)))
    found = tree_as_distances(
        *_numba.reachability_tree(np.ascontiguousarray(points.T), min(k, len(points)), False)
    )
    n = len(points)
    off_diagonal = found.tocoo()
    kept = off_diagonal.row != off_diagonal.col
    row, column, value = off_diagonal.row[kept], off_diagonal.col[kept], off_diagonal.data[kept]
    assert len(set(value)) == len(value) == 2 * (n - 1)
    assert found.diagonal().max() < value.min()
    one_way = row < column
    order = np.argsort(value[one_way])
    edges = zip(row[one_way][order].tolist(), column[one_way][order].tolist(), strict=True)
    assert list(edges) == [edge[2:] for edge in expected]
    weights = np.array([edge[0] for edge in expected])
    assert_allclose(np.sort(value[one_way])[weights > 0], weights[weights > 0], rtol=1e-9)


@pytest.mark.parametrize("method", ["eom", "leaf"])
@pytest.mark.parametrize("size", [3, 5, 15])
def test_without_ties_it_finds_what_scikit_learn_finds(size, method):
    """With min_samples=1 no weight is a point's distance to its k-th neighbour, so random points
    have no ties.
    """
    settings = {"min_samples": 1, "cluster_selection_method": method}
    extras = [{}, {"max_cluster_size": 40}]
    # Leaf: scikit-learn 1.9 fails.
    extras += [{"cluster_selection_epsilon": 0.8}] if method == "eom" else []
    found = 0
    for seed in range(5):
        X = make_blobs(200, 3, centers=4, cluster_std=1.2, random_state=seed)[0]
        for extra in extras:
            ours = PortableHDBSCAN(size, **settings, **extra).fit(X)
            theirs = HDBSCAN(size, **settings, **extra, copy=True).fit(X)
            assert same_partition(ours.labels_, theirs.labels_)
            assert_allclose(ours.probabilities_, theirs.probabilities_, rtol=1e-8)
            found += ours.labels_.max() + 1
    assert found > 10


@pytest.mark.printed  # what scikit-learn finds moves with the processor
@pytest.mark.parametrize("data", [BLOBS, IRIS, DIGITS], ids=["blobs", "iris", "digits"])
def test_with_ties_it_is_near_what_scikit_learn_finds(data):
    for size in (10, 20):  # with 5 scikit-learn finds 4, 5 or 6 blobs
        ours, theirs = (
            PortableHDBSCAN(size).fit(data).labels_,
            HDBSCAN(size, copy=True).fit(data).labels_,
        )
        assert adjusted_rand_score(ours, theirs) > 0.9


@pytest.mark.parametrize("size", [5, 7, 10, 20])
def test_the_order_of_the_rows_does_not_matter_where_distances_differ(size):
    expected = PortableHDBSCAN(size).fit(BLOBS).labels_
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(BLOBS))
        assert same_partition(PortableHDBSCAN(size).fit(BLOBS[order]).labels_, expected[order])


@pytest.mark.parametrize("size", [5, 20, 30])
def test_rounding_of_the_data_does_not_matter(size):
    expected = PortableHDBSCAN(size).fit(IRIS).labels_
    for seed in range(5):
        rounded = IRIS * (1 + np.random.default_rng(seed).normal(0, 2e-16, IRIS.shape))
        assert (rounded != IRIS).any()
        assert_array_equal(PortableHDBSCAN(size).fit(rounded).labels_, expected)


def test_copies_are_as_dense_as_can_be():
    rng = np.random.default_rng(0)
    spread = rng.uniform(-50, 50, size=(30, 2))
    X = np.concatenate([np.repeat([[0.0, 0.0], [5.0, 5.0]], [20, 9], axis=0), spread])
    labels = PortableHDBSCAN(5).fit(X).labels_
    assert len(set(labels[:20])) == len(set(labels[20:29])) == 1
    assert same_partition(labels, HDBSCAN(5, copy=True).fit(X).labels_)
    assert -1 not in labels[:29]
    assert labels[0] != labels[20]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (PortableHDBSCAN(5).fit(np.ones((12, 2))).labels_ == -1).all()


def test_sparse_data_with_many_columns_are_to_be_reduced_first():
    wide = csr_array(random_array((800, 10_000), density=1e-4, rng=np.random.default_rng(0)))
    with pytest.raises(ValueError, match=r"800 rows and 10000 columns.*TruncatedSVD") as caught:
        CAKE(clusterer="hdbscan", n_runs=2).fit(wide)
    assert "on_failure" not in str(caught.value)


def test_sparse_data_give_the_same():
    assert_array_equal(
        PortableHDBSCAN(5).fit(csr_array(DIGITS)).labels_, PortableHDBSCAN(5).fit(DIGITS).labels_
    )


@pytest.mark.parametrize(
    ("settings", "data", "message"),
    [
        (
            {"min_samples": 13},
            IRIS[:12],
            "min_samples=13 must be between 1 and the number of points, n_samples=12",
        ),
        ({"min_samples": 0}, IRIS, "min_samples=0 must be"),
        ({"min_cluster_size": 1, "min_samples": 3}, IRIS, "min_cluster_size"),
        ({"cluster_selection_method": "best"}, IRIS, "cluster_selection_method"),
        ({}, IRIS * 1e200, "squared distances are too large for float64"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_errors_say_what_is_wrong(settings, data, message):
    with pytest.raises(ValueError, match=message):
        PortableHDBSCAN(**settings).fit(data)


@parametrize_with_checks([PortableHDBSCAN()])
def test_it_is_an_estimator(estimator, check):
    check(estimator)
