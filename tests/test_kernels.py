"""Every compiled kernel against the plain NumPy one, and the two against independent sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from clustertrust.cells import meet
from clustertrust.distances.tiles import by_feature, by_point, in_fours, rounds, sums_by_cell
from clustertrust.kernels import _numba, _numpy
from clustertrust.kernels.rules import Fusing, Rules

BACKENDS = pytest.mark.parametrize("kernel", [_numba, _numpy], ids=["numba", "numpy"])


def labelling(n, R, k, *, seed=0, unassigned=0.0):
    """Runs that mostly agree, so that there are large cells and small ones."""
    rng = np.random.default_rng(seed)
    base = rng.integers(k, size=n)
    labels = np.where(rng.random((n, R)) < 0.9, base[:, None], rng.integers(k, size=(n, R)))
    labels[rng.random((n, R)) < unassigned] = -1
    return labels.astype(np.int32)


def data(n, d, dtype=np.float64, *, seed=1):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


SHAPES = [(1, 1, 1), (5, 2, 2), (128, 3, 4), (129, 4, 3), (700, 6, 5)]


@pytest.mark.parametrize(("n", "R", "k"), SHAPES)
def test_label_kernels_equal_plain_ones(n, R, k):
    labels = labelling(n, R, k, unassigned=0.1)
    codes, names, found = _numba.rename(labels, k)
    for ours, plain in zip((codes, names, found), _numpy.rename(labels, k), strict=True):
        assert_array_equal(ours, plain)
    for ours, plain in zip(_numba.meet(codes), _numpy.meet(codes), strict=True):
        assert_array_equal(ours, plain)
    cells = meet(labels)
    others = np.arange(1, R)
    tables = _numba.contingencies(cells.rows, cells.counts, 0, others, k, k)
    assert_array_equal(tables, _numpy.contingencies(cells.rows, cells.counts, 0, others, k, k))
    widths = np.full(R - 1, k)
    for ours, plain in zip(
        _numba.strict_matches(tables, widths), _numpy.strict_matches(tables, widths), strict=True
    ):
        assert_array_equal(ours, plain)


def test_a_match_is_read_off_only_where_it_is_the_only_optimum():
    tables = np.array(
        [[[5, 1], [2, 3]], [[5, 5], [0, 3]], [[5, 1], [3, 2]], [[0, 0], [0, 0]], [[1, 0], [0, 0]]]
    )
    for kernel in (_numba, _numpy):
        match, settled = kernel.strict_matches(tables, np.full(5, 2))
        assert settled.tolist() == [True, False, False, False, False]
        assert match[0].tolist() == [0, 1]
        assert (match[1:] == -1).all()


def test_agreement_sums_equal_plain_ones():
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 3, size=(50, 6)).astype(np.int32)
    to = rng.integers(-1, 3, size=(6, 3, 6)).astype(np.int32)
    to[to < 0] = -2
    assert_array_equal(_numba.agreement_sums(rows, to), _numpy.agreement_sums(rows, to))


@BACKENDS
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (100, 3), (129, 4), (300, 21)])
def test_squared_distances_equal_scipy(kernel, n, d, dtype, rtol):
    X, centers = data(n, d, dtype), data(10, d, dtype, seed=2)
    ours = kernel.squared_distances(in_fours(centers), by_feature(X))
    assert_allclose(ours[:10, :n], cdist(centers, X, "sqeuclidean"), rtol=rtol)


@pytest.mark.parametrize(
    "d", [4, 12, 16, 20, 64]
)  # fewer, as many and more fours of features than rows at a time
def test_tiles_of_distances_are_roots_of_squares_to_the_last_bit(d):
    rng = np.random.default_rng(d)
    rows, columns = rng.normal(size=(_numba.TILE, d)), rng.normal(size=(d, _numba.TILE))
    squares, distances = np.empty((2, _numba.TILE, _numba.TILE))
    _numba.squares(rows, columns, squares)
    _numba.distances(rows, columns, distances)
    np.testing.assert_allclose(distances, cdist(rows, columns.T), rtol=1e-13)
    np.testing.assert_array_equal(distances, np.sqrt(squares))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (127, 4), (128, 5), (300, 7)])
def test_both_layouts_hold_the_same_points(n, d):
    X = data(n, d)
    assert_array_equal(by_feature(X), by_point(X).transpose(0, 2, 1))
    assert_array_equal(by_point(X).reshape(-1, by_point(X).shape[2])[:n, :d], X)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (127, 3), (128, 4), (1000, 5), (4500, 2)])
def test_sums_by_cell_equal_scipy(n, d, dtype, rtol, threads):
    cells = meet(labelling(n, 4, 3))
    X = data(n, d, dtype)
    plain = np.array(
        [cdist(X, X[cells.cell_of == j]).sum(axis=1) for j in range(len(cells.counts))]
    )
    assert_allclose(sums_by_cell(X, cells, threads), plain[:, cells.order], rtol=rtol)


def test_sums_by_cell_have_the_same_bits_for_any_number_of_threads():
    cells, X = meet(labelling(6000, 4, 3)), data(6000, 3)
    one = sums_by_cell(X, cells, 1)
    for threads in (2, 3, 7):
        assert_array_equal(sums_by_cell(X, cells, threads), one)


@pytest.mark.parametrize("n_blocks", [1, 2, 3, 7, 8, 32])
def test_rounds_hold_each_pair_once_and_no_block_twice_in_a_round(n_blocks):
    seen = []
    for pairs in rounds(n_blocks):
        blocks = pairs.ravel() if (pairs[:, 0] != pairs[:, 1]).all() else pairs[:, 0]
        assert len(set(blocks.tolist())) == blocks.size
        seen += map(tuple, pairs.tolist())
    assert sorted(seen) == [(a, b) for a in range(n_blocks) for b in range(a, n_blocks)]


@pytest.mark.parametrize("unassigned", [0.0, 0.2])
@pytest.mark.parametrize(("n", "R", "k"), SHAPES)
def test_cluster_sums_by_three_ways_equal_scipy(n, R, k, unassigned):
    labels = labelling(n, R, k, unassigned=unassigned)
    cells, X, queries = meet(labels), data(n, 3), data(150, 3, seed=5)
    matrix = cdist(queries, X)
    plain = np.array(
        [matrix[:, labels[:, r] == name].sum(axis=1) for r in range(R) for name in cells.names[r]]
    )
    plain = plain.reshape(-1, len(queries))
    layout = by_point(X[cells.order])
    by_cell = np.array(
        [matrix[:, cells.cell_of == j].sum(axis=1) for j in range(len(cells.counts))]
    )
    for kernel in (_numba, _numpy):
        direct = kernel.cluster_distances(
            layout, n, by_feature(queries), cells.bounds, cells.rows, cells.start
        )
        assert_allclose(direct[:, : len(queries)], plain, rtol=1e-12)
        summed = kernel.matrix_sums(matrix, cells.order, cells.bounds, cells.rows, cells.start)
        assert_allclose(summed, plain, rtol=1e-12)
        assert_allclose(
            kernel.unite(by_cell, 20, 150, cells.rows, cells.start), plain[:, 20:], rtol=1e-12
        )


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("lone_zero", [False, True])
@pytest.mark.parametrize("leaves_out", [False, True])
def test_silhouettes_equal_plain_ones(leaves_out, lone_zero, root):
    rng = np.random.default_rng(3)
    start = np.array([0, 3, 4, 9])
    means = rng.random((9, 200))
    means[:3, :20] = 0.0  # no distance to any cluster
    own = np.array([rng.integers(-1, k, size=200) for k in (3, 1, 5)], dtype=np.int32)
    sizes = np.array([1.0, 2, 7, 9, 1, 2, 3, 4, 5])
    itself, noise = rng.random(200) * 0.1, np.full(200, 0.01)
    rules = Rules(leaves_out, lone_zero, root)
    arguments = means, np.ascontiguousarray(own.T), (start, sizes), itself, noise, rules
    s, nearest = (values.T for values in _numba.silhouettes(*arguments))
    plain_s, plain_nearest = (values.T for values in _numpy.silhouettes(*arguments))
    assert_allclose(s, plain_s, rtol=1e-12, atol=1e-15)
    assert_array_equal(nearest, plain_nearest)
    i, r = 77, 2
    others = {c: means[start[r] + c, i] for c in range(5) if c != own[r, i]}
    b, size = min(others.values()), sizes[start[r] + own[r, i]]
    a = means[start[r] + own[r, i], i]
    a = (a * size - itself[i]) / (size - 1) if leaves_out else a
    a, b = (a**0.5, b**0.5) if root else (a, b)
    assert own[r, i] >= 0
    assert size > 1
    assert nearest[r, i] == min(others, key=others.get)
    assert s[r, i] == pytest.approx((b - a) / max(a, b), rel=1e-12)
    assert (s[1][own[1] >= 0] == 0).all()  # a run of one cluster
    assert (s[0, :20][own[0, :20] >= 0] == 0).all()
    assert np.isnan(s[own < 0]).all()
    assert (nearest[own < 0] == -1).all()
    alone = (own[2] == 0) & (s[2] == 0)
    assert alone.sum() == (lone_zero * (own[2] == 0)).sum()


@BACKENDS
def test_sums_by_cell_are_those_of_the_points(kernel):
    X, cell_of = data(50, 3), np.random.default_rng(0).integers(4, size=50)
    base = data(4, 3, seed=2)
    sums, squares = np.zeros((4, 3)), np.zeros(4)
    for part in ((0, 20), (20, 50)):
        kernel.cell_sums(X, cell_of, base, part, sums)
        kernel.cell_squares(X, cell_of, base, part, squares)
    for j in range(4):
        away = X[cell_of == j] - base[j]
        assert_allclose(sums[j], away.sum(axis=0), rtol=1e-12)
        assert_allclose(squares[j], (away**2).sum(), rtol=1e-12)


@BACKENDS
def test_moments_leave_out_what_is_missing(kernel):
    s = data(30, 5)
    s[np.random.default_rng(0).random(s.shape) < 0.4] = np.nan
    s[3], s[4, 1:] = np.nan, np.nan
    mean, std = kernel.moments(s)
    for i, row in enumerate(s):
        there = row[np.isfinite(row)]
        expected = (there.mean(), there.std()) if there.size else (np.nan, np.nan)
        assert_allclose((mean[i], std[i]), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("harmonic", [False, True])
def test_the_jackknife_from_sums_is_that_of_runs_left_out(harmonic, affine):
    rng = np.random.default_rng(0)
    counted = rng.random((40, 7)) < 0.8
    counted[0, 2:], counted[1] = False, True
    agree = rng.random((40, 7, 7)) < 0.7
    agree = (agree | agree.transpose(0, 2, 1)) & counted[:, None] & counted[:, :, None]
    sums = (agree & ~np.eye(7, dtype=bool)).sum(axis=2).astype(np.int32)
    runs = counted.sum(axis=1)
    c = sums.sum(axis=1) / np.maximum(1, runs * (runs - 1))
    of = rng.integers(40, size=90)
    of[:2] = 0, 1
    s = np.where(counted[of], rng.uniform(-1, 1, size=(90, 7)), np.nan)
    s[1] = -0.9  # far below 0
    arguments = of, (c, sums, runs, counted), s, Fusing(harmonic, affine, 1.96)
    ours, plain = _numba.jackknife(*arguments), _numpy.jackknife(*arguments)
    assert_allclose(ours, plain, rtol=1e-9, atol=1e-12)
    assert np.isnan(ours[:, of == 0]).all()
    assert np.nanmax(ours) > 0.05


def test_kernels_of_both_modules_are_the_same():
    names = {name for name, value in vars(_numba).items() if callable(value)}
    plain = {
        name
        for name, value in vars(_numpy).items()
        if getattr(value, "__module__", "").startswith(_numpy.__name__)
    }
    # Loops of the others, needed by the compiled ones alone.
    assert names - {"squares", "distances"} == plain
    assert _numba.TILE == _numpy.TILE
