"""Every compiled kernel against the plain NumPy one, and the two against independent sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from clustertrust.cells import meet
from clustertrust.distances import shared
from clustertrust.distances.dissimilarity import Cosine, Euclidean
from clustertrust.distances.tiles import by_feature, by_point, in_fours, rounds, sums_by_cell
from clustertrust.kernels import _numba, _numpy
from clustertrust.kernels.rules import (
    DIAGONAL,
    FULL,
    SPHERICAL,
    TIED,
    Fusing,
    Mixing,
    Rules,
)

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
    # All that is not assigned is one, whatever it is called.
    odd = np.where(codes < 0, -1 - np.arange(n)[:, None], codes)
    for kernel in (_numba, _numpy):
        for ours, plain in zip(kernel.meet(odd), _numpy.meet(codes), strict=True):
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


# Fewer, as many and more fours of features than rows at a time.
@pytest.mark.parametrize("d", [4, 12, 16, 20, 64])
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
def test_silhouettes_by_sums_over_cells_are_those_by_means(kernel):
    cells, X = meet(labelling(300, 4, 5, unassigned=0.2)), data(300, 3)
    matrix = cdist(X, X)
    sums = np.array([matrix[:, cells.cell_of == j].sum(axis=1) for j in range(len(cells.counts))])
    rules, clusters = Rules(True, True, False), (cells.start, cells.sizes)
    part = (30, 290)
    s, nearest = kernel.cell_silhouettes(sums, part, (cells.rows, cells.cell_of), clusters, rules)
    means = np.array(
        [
            matrix[part[0] : part[1], run == c].mean(axis=1)
            for run, k in zip(cells.rows[cells.cell_of].T, np.diff(cells.start), strict=True)
            for c in range(k)
        ]
    )
    own, zeros = cells.rows[cells.cell_of][slice(*part)], np.zeros(part[1] - part[0])
    plain_s, plain_nearest = _numpy.silhouettes(means, own, clusters, zeros, zeros, rules)
    assert_allclose(s, plain_s, rtol=1e-12, atol=1e-14)
    assert_array_equal(nearest, plain_nearest)


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


@BACKENDS
def test_moments_without_each_value_are_those_of_the_others(kernel):
    s = data(30, 5)
    s[np.random.default_rng(0).random(s.shape) < 0.3] = np.nan
    s[3], s[4, 1:] = np.nan, np.nan
    s[5] = 0.2, 0.2, 0.2, 0.2, 0.9  # without the last, nothing is left of a difference of sums
    mean, std = kernel.moments_without_each(s)
    for i, r in np.ndindex(s.shape):
        others = np.delete(s[i], r)
        others = others[np.isfinite(others)]
        expected = (others.mean(), others.std()) if others.size else (np.nan, np.nan)
        assert_allclose((mean[i, r], std[i, r]), expected, rtol=1e-12, atol=1e-15)


@BACKENDS
def test_sums_by_cluster_are_those_of_its_cells(kernel):
    rng = np.random.default_rng(0)
    rows, start = rng.integers(-1, 3, size=(50, 4)).astype(np.int32), np.arange(0, 15, 3)
    counts, means, inside = rng.integers(1, 9, size=50), data(50, 3), rng.random(50)
    origin, centers = data(1, 3, seed=2)[0], data(12, 3, seed=3)
    sums, squares = np.zeros((12, 3)), np.zeros(12)
    for part in ((0, 20), (20, 50)):
        kernel.cluster_sums(rows, start, counts, means, origin, part, sums)
        kernel.cluster_squares(rows, start, counts, means, inside, centers, part, squares)
    for r, c in np.ndindex(4, 3):
        own, place = rows[:, r] == c, start[r] + c
        assert_allclose(sums[place], counts[own] @ (means[own] - origin), rtol=1e-12)
        apart = ((means[own] - centers[place]) ** 2).sum(axis=1)
        assert_allclose(squares[place], (inside[own] + counts[own] * apart).sum(), rtol=1e-12)


@BACKENDS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("spread", [0.0, 0.7])
@pytest.mark.parametrize("n", [1, 128, 300])
def test_silhouettes_by_centres_are_those_of_their_distances(kernel, n, spread, dtype):
    X, own = data(n, 5, dtype), labelling(n, 3, 4, unassigned=0.1)
    centers = data(7, 5, seed=2)
    place = np.random.default_rng(0).integers(7, size=12)
    clusters = (np.arange(0, 15, 4), np.random.default_rng(1).integers(1, 9, size=12).astype(float))
    means = cdist(centers[place], X, "sqeuclidean") + spread
    rules = Rules(spread > 0, True, True)
    plain = _numpy.silhouettes(means, own, clusters, np.zeros(n), np.zeros(n), rules)
    given = (in_fours(centers), place, np.full(12, spread))
    s, nearest = kernel.center_silhouettes(X, own, given, clusters, 1e-30, rules)
    assert_allclose(s, plain[0], rtol=1e-9, atol=1e-12)
    assert_array_equal(nearest, plain[1])


@BACKENDS
def test_what_only_rounding_sets_apart_is_one_place(kernel):
    X = np.full((2, 4), 3.0)
    centers = in_fours(np.array([[3.0] * 4, [3.0 + 1e-15] * 4]))
    given = (centers, np.array([0, 1]), np.zeros(2))
    own, clusters = np.zeros((2, 1), dtype=np.int32), (np.array([0, 2]), np.array([2.0, 2.0]))
    rules = Rules(False, True, True)
    for ulps, expected in ((0.0, 1.0), (1e-26, 0.0)):
        s, _ = kernel.center_silhouettes(X, own, given, clusters, ulps, rules)
        assert s.ravel().tolist() == [expected] * 2


@BACKENDS
def test_votes_are_counted_and_ties_settled(kernel):
    rows = np.array(
        [[0, 0, 0], [0, 1, 1], [1, 0, -1], [-1, 0, 1], [-1, 1, 0], [-1, -1, -1], [-1, 2, -1]],
        dtype=np.int32,
    )
    partners = np.array([[0, 1, 2], [0, 1, -2], [0, 1, 2]], dtype=np.int32)
    runs = (rows >= 0).sum(axis=1)
    votes, labels, second, strength = kernel.vote(rows, partners, 0, np.array([0, 2, 1]), runs, 3)
    # By most votes; of a tie the reference's own, else that of the first run in order
    assert labels.tolist() == [0, 1, 1, 1, 0, -1, -1]
    assert second.tolist() == [-1, 0, 0, 0, 1, -1, -1]
    assert_allclose(strength, [1, 2 / 3, 0.5, 0.5, 0.5, np.nan, 0])
    assert_allclose(votes[1], [1 / 3, 2 / 3, 0])
    assert np.isnan(votes[5]).all()


@pytest.mark.parametrize("seed", range(3))
def test_votes_equal_plain_ones(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-1, 3, size=(300, 5)).astype(np.int32)
    partners = rng.integers(-2, 4, size=(5, 3)).astype(np.int32)
    given = rows, partners, 2, rng.permutation(5), (rows >= 0).sum(axis=1), 4
    for ours, plain in zip(_numba.vote(*given), _numpy.vote(*given), strict=True):
        assert_array_equal(ours, plain)


def scored(kernel, at, fusing, given):
    """What a kernel writes for some of the points, and what it returns."""
    of, cells, ballots, (s, nearest, reference), extra = given
    n, k = len(of), ballots[1].shape[1]
    out = np.full((7, n), -7.0), np.full((n, k), -7.0), np.full((2, n), -7)
    near = (np.ascontiguousarray(s[at]), np.ascontiguousarray(nearest[at]), reference)
    lost = kernel.score(at, of, cells, ballots, near, extra, fusing, out)
    return lost, (*out[0], *out[1].T, *out[2])


@pytest.mark.parametrize("parts", [0, 2])
@pytest.mark.parametrize("disagree", [False, True])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("harmonic", [False, True])
def test_scores_of_points_are_those_of_runs_left_out(harmonic, affine, disagree, parts):
    rng = np.random.default_rng(0)
    counted = rng.random((40, 7)) < 0.8
    counted[0, 2:], counted[1] = False, True
    agree = rng.random((40, 7, 7)) < 0.7
    agree = (agree | agree.transpose(0, 2, 1)) & counted[:, None] & counted[:, :, None]
    sums = (agree & ~np.eye(7, dtype=bool)).sum(axis=2).astype(float)
    runs = np.full(40, 7) if disagree else counted.sum(axis=1)
    c = sums.sum(axis=1) / np.maximum(1, runs * (runs - 1))
    of = rng.integers(40, size=90)
    of[:2] = 0, 1
    s = np.where(counted[of], rng.uniform(-1, 1, size=(90, 7)), np.nan)
    s[1] = -0.9  # far below 0
    s[2, :] = np.where(np.isnan(s[2]), np.nan, 0.3)  # but for one run all are equal
    s[2, np.flatnonzero(counted[of[2]])[0]] = 0.31
    ballots = rng.integers(-1, 3, (2, 40)), rng.random((40, 3))
    cells = np.stack([c, runs, rng.random(40)]), sums
    nearest = rng.integers(-1, 3, size=(90, 7)).astype(np.int32)
    extra = rng.random(90)
    extra[5] = np.nan
    given = of, cells, ballots, (s, nearest, 2), extra
    fusing = Fusing(harmonic, affine, disagree, parts, 1.96)
    at = rng.permutation(90)[:80]
    ours, plain = (scored(kernel, at, fusing, given) for kernel in (_numba, _numpy))
    assert ours[0] == plain[0] > 0
    for mine, other in zip(ours[1], plain[1], strict=True):
        assert_allclose(mine, other, rtol=1e-11, atol=1e-12)
        assert (mine[np.setdiff1d(np.arange(90), at)] == -7).all()
    errors = ours[1][5][at]
    assert np.isnan(errors[of[at] == 0]).all() != disagree
    assert np.nanmax(errors) > 0.05 / (1 + parts)
    assert_array_equal(ours[1][-2][at], ballots[0][0][of[at]])


def test_ensembles_of_the_same_points_share_one_pass_over_the_pairs(monkeypatch):
    X = data(300, 4)
    ensembles = [meet(labelling(300, 5, k, seed=k, unassigned=0.1)) for k in (2, 3, 6)]
    passes = []
    monkeypatch.setattr(
        shared, "sums_by_cell", lambda *given: passes.append(1) or sums_by_cell(*given)
    )
    monkeypatch.setattr(shared, "_FEW_CELLS", 1.0)
    alone = [Euclidean(X, cells, n_jobs=1) for cells in ensembles]
    for one, (s, nearest) in zip(alone, shared.shared_silhouettes(alone), strict=True):
        assert_allclose(s, one.silhouettes()[0], rtol=1e-10, atol=1e-12)
        assert_array_equal(nearest, one.silhouettes()[1])
    assert passes == [1]
    # Too many cells, or another measure among them: each by itself
    monkeypatch.setattr(shared, "_FEW_CELLS", 0.0)
    others = [*alone, Cosine(X, ensembles[0], n_jobs=1)]
    for measures in (alone, others):
        for one, (s, _) in zip(measures, shared.shared_silhouettes(measures), strict=True):
            assert_array_equal(s, one.silhouettes()[0])
    assert passes == [1]


def mixing(p, kind=FULL, freedom=0, **others):
    """A prior that is not round, and something more to add."""
    usual = {"steps": 6, "down": -np.inf, "up": -np.inf, "moves_last": True}
    prior = 0.3 * np.eye(p) + 0.1
    return Mixing(kind, prior, 3.0, 0.01 * np.eye(p), freedom, -1.5, **usual | others)


@BACKENDS
def test_moments_of_a_mixture_are_weighted_means_and_covariances(kernel):
    X = data(150, 3) + 1e3
    P = np.random.default_rng(0).dirichlet([0.05, 0.05, 2], 150).T
    P[0, 20:] = 0  # few members: their points are picked out
    sizes, means, covariances = kernel.mixture_moments(np.ascontiguousarray(X.T), P)
    assert_allclose(sizes, P.sum(axis=1))
    for j in range(3):
        assert_allclose(means[j], np.average(X, axis=0, weights=P[j]), rtol=1e-12)
        assert_allclose(covariances[j], np.cov(X.T, aweights=P[j], ddof=0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("freedom", [0, 3, 4])
@pytest.mark.parametrize("kind", [FULL, TIED, DIAGONAL, SPHERICAL])
@pytest.mark.parametrize(("n", "p", "k"), [(40, 1, 1), (129, 2, 3), (300, 5, 4), (260, 11, 2)])
def test_em_equals_plain_steps(n, p, k, kind, freedom):
    rng = np.random.default_rng(n)
    labels = rng.integers(k, size=n)
    columns = np.ascontiguousarray((data(n, p) + 4 * rng.normal(size=(k, p))[labels]).T)
    start = _numpy.mixture_moments(columns, np.eye(k)[rng.permutation(labels)].T + 0.2)
    for moves_last in (False, True):
        rule = mixing(p, kind, freedom, up=0.05 * n, moves_last=moves_last)
        ours, plain = _numba.em(columns, start, rule), _numpy.em(columns, start, rule)
        for one, other in zip(ours[1:], plain[1:], strict=True):
            assert_allclose(one, other, rtol=1e-9)
        for one, other in zip(ours[0][:2], plain[0][:2], strict=True):
            assert_allclose(one, other, rtol=1e-9, atol=1e-9)
        of = (slice(None), *(np.arange(p),) * 2) if kind in (DIAGONAL, SPHERICAL) else ...
        assert_allclose(ours[0][2][of], plain[0][2][of], rtol=1e-8, atol=1e-10)
    assert 1 < len(ours[3]) <= 6


@BACKENDS
def test_em_stops_at_a_covariance_without_spread(kernel):
    columns = np.ones((2, 30))
    start = (np.array([30.0]), np.ones((1, 2)), np.zeros((1, 2, 2)))
    assert kernel.em(columns, start, mixing(2)._replace(extra=0.0, added=np.zeros((2, 2)))) is None
    assert kernel.em(columns, start, mixing(2)) is not None


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


@BACKENDS
def test_moments_are_weighted_means_and_covariances(kernel):
    rng = np.random.default_rng(0)
    Z, P = rng.normal(size=(70, 3)) + 1e3, rng.random((4, 70))
    # Few members, of which some hardly count
    P[1] *= rng.random(70) < 0.2
    P[2, ::2] *= 1e-40
    found = kernel.mixture_moments(np.ascontiguousarray(Z.T), P)
    for weights, size, mean, covariance in zip(P, *found, strict=True):
        assert_allclose(size, weights.sum())
        assert_allclose(mean, np.average(Z, axis=0, weights=weights))
        assert_allclose(covariance, np.cov(Z.T, aweights=weights, ddof=0), rtol=1e-9)
