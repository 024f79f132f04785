"""Surrogates in the convex hull of the data: uniform, exact for convex shapes, left out elsewhere."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, chi2, chisquare
from sklearn.datasets import make_blobs
from templates import choose_k, null_reference

from clustertrust.null import FAMILIES
from clustertrust.surrogates.families import _hull, _uniform

BLOBS = make_blobs(120, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)[0]
FEW = {"n_runs": 3, "n_surrogates": 19, "random_state": 0}


def triangle(rng, n):
    return rng.dirichlet(np.ones(3), n)[:, :2]


def sides(points):
    """Normal and offset of every side of the hull: of all planes through d points, those with no
    point beyond.
    """
    found = []
    for chosen in itertools.combinations(range(len(points)), points.shape[1]):
        first, *rest = points[list(chosen)]
        normal = np.linalg.svd(np.array(rest) - first)[2][-1]
        beyond = (points - first) @ normal
        outward = normal if beyond.max() < 1e-12 else -normal
        if ((points - first) @ outward).max() < 1e-12:
            found.append(np.append(outward, first @ outward))
    return np.array(found)


def heights(X, sides):
    """How far each point is beyond each side."""
    return X @ sides[:, :-1].T - sides[:, -1]


@pytest.mark.parametrize("d", [2, 3])
def test_draws_are_uniform_in_the_hull(d):
    """Beside those of many points of a box around it that are inside, counted in cells of a grid."""
    rng = np.random.default_rng(d)
    points = rng.standard_normal((9, d))
    low, high = points.min(axis=0), points.max(axis=0)
    box = rng.uniform(low, high, (20_000, d))
    kept = box[(heights(box, sides(points)) < 0).all(axis=1)]

    def counts(of):
        return np.histogramdd(of, bins=3, range=list(zip(low, high, strict=True)))[0].ravel()

    drawn = counts(_uniform(rng, _hull(points)[1], len(kept)))
    plain = counts(kept)
    both = drawn + plain
    large = both >= 10
    # two samples of one law: their differences have the variance of both counts together
    statistic = ((drawn - plain)[large] ** 2 / both[large]).sum()
    assert large.sum() > 5
    assert statistic < chi2.ppf(0.999, large.sum())
    assert drawn[plain == 0].sum() <= 5  # hardly any outside


def test_the_parts_of_a_triangle_get_their_share():
    """The corner cut off at half the height holds a quarter of the area, any weights aside."""
    simplices = np.array(
        [[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 1.0], [-3.0, 0.0]]]
    )
    X = _uniform(np.random.default_rng(0), simplices, 20_000)
    left, right = X[X[:, 0] < 0], X[X[:, 0] >= 0]
    assert chisquare([len(left), len(right)], [15_000, 5_000]).pvalue > 0.001
    for part in (left, right):
        assert (part[:, 1] > 0.5).mean() == pytest.approx(0.25, abs=0.02)


def test_corners_stay_and_all_others_are_drawn_inside():
    X = triangle(np.random.default_rng(0), 80)
    drawn = FAMILIES["hull"](X)(np.random.default_rng(1))
    same = np.isclose(drawn, X, atol=1e-12).all(axis=1)
    borders = sides(X)
    touched = (np.abs(heights(X, borders)) < 1e-12).any(axis=1)
    assert_array_equal(same, touched)
    assert 3 <= same.sum() < 25
    assert heights(drawn, borders).max() < 1e-12
    again = FAMILIES["hull"](X)(np.random.default_rng(2))
    assert not np.isclose(again[~same], drawn[~same]).all(axis=1).any()


def test_degenerate_points_are_drawn_in_their_own_plane():
    rng = np.random.default_rng(0)
    flat = triangle(rng, 60)
    plane = np.column_stack([flat, flat.sum(axis=1), np.ones(60), -flat[:, 0]])
    drawn = FAMILIES["hull"](plane)(rng)
    assert_allclose(drawn[:, 2], drawn[:, 0] + drawn[:, 1], atol=1e-12)
    assert_allclose(drawn[:, 3:], np.column_stack([np.ones(60), -drawn[:, 0]]), atol=1e-12)
    line = np.outer(rng.random(60), [1.0, 2.0, -1.0])
    drawn = FAMILIES["hull"](line)(rng)
    assert_allclose(drawn[:, 1:], drawn[:, :1] * [2.0, -1.0], atol=1e-12)
    assert_allclose([drawn.min(), drawn.max()], [line.min(), line.max()])
    assert len(np.unique(drawn[:, 0])) == 60
    one = FAMILIES["hull"](np.ones((5, 2)))(rng)
    assert_allclose(one, 1.0)


@pytest.mark.parametrize("stretch", [(1.0, 1e-10), (1e120, 1.0), (1e-120, 1e-120)])
def test_a_hull_may_be_as_flat_or_as_large_as_it_likes(stretch):
    X = np.random.default_rng(0).uniform(size=(100, 2)) * stretch
    drawn = FAMILIES["hull"](X)(np.random.default_rng(1))
    shares = ((drawn - X.min(axis=0)) / np.ptp(X, axis=0)).mean(axis=0)
    assert_allclose(shares[np.array(stretch) > 1e-9 * max(stretch)], 0.5, atol=0.15)


def test_few_values_many_times_have_a_hull():
    X = np.random.default_rng(0).integers(0, 3, (100, 2)).astype(float)
    drawn = FAMILIES["hull"](X)(np.random.default_rng(1))
    assert drawn.min() >= -1e-12
    assert drawn.max() <= 2 + 1e-12
    assert len(np.unique(drawn, axis=0)) > 90


# The level


@pytest.mark.parametrize("d", [2, 3])
def test_data_and_surrogates_are_exchangeable(d):
    """Of 120 points in a simplex and nine surrogates, each is as likely to lie widest apart."""
    ranks = []
    for i in range(200):
        rng = np.random.default_rng([d, i])
        X = rng.dirichlet(np.ones(d + 1), 120)[:, :d]
        draw = FAMILIES["hull"](X)
        wide = [
            np.linalg.norm(of - of.mean(axis=0), axis=1).mean()
            for of in (X, *(draw(rng) for _ in range(9)))
        ]
        ranks.append(int(np.sum(np.array(wide[1:]) >= wide[0])))
    assert chisquare(np.bincount(ranks, minlength=10)).pvalue > 0.001


def test_p_values_of_triangles_are_uniform_and_those_of_the_box_are_not():
    """Few points, whose hull lacks the tips: the corners that are kept make up for them."""
    p = {"box": [], "hull": []}
    how = {"n_runs": 2, "n_surrogates": 9, "families": ("box", "hull"), "level": 0.2}
    for i in range(24):
        X = triangle(np.random.default_rng([9, i]), 60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a tip may be far from all others
            null = null_reference(X, 3, random_state=i, **how)
        assert null.p_value == max(null.p_values.values())  # the hull counts
        for name in p:
            p[name].append(null.p_values[name])
    found = np.array(p["hull"])
    for level in (0.1, 0.2, 0.5):  # central 99.8 % of what a uniform p-value would give
        low, high = binom.ppf([0.001, 0.999], len(found), level)
        assert low <= (found <= level + 1e-9).sum() <= high
    assert abs(found.mean() - 0.55) < 3.1 * np.sqrt((1 - 0.01) / 12 / len(found))
    assert (np.array(p["box"]) <= 0.1 + 1e-9).sum() > binom.ppf(0.999, len(found), 0.1)


def test_choose_k_finds_nothing_in_a_triangle_and_three_blobs_in_their_hull():
    X = triangle(np.random.default_rng(4), 400)
    found = choose_k(X, [3, 4], n_runs=3, random_state=0)
    assert found.best == 1
    assert choose_k(X, [3, 4], null=("box", "gaussian"), n_runs=3, random_state=0).best > 1
    for effort in ("quick", "full"):
        three = choose_k(BLOBS, range(2, 5), n_runs=3, random_state=0, effort=effort)
        assert three.best == 3
        assert set(three.null_means) == {"box", "gaussian", "hull"}
        assert "null_hull" in three.to_frame()


# Where there is none


def test_the_hull_is_left_out_in_more_than_three_dimensions():
    X = make_blobs(100, centers=3, n_features=4, random_state=0)[0]
    profile = choose_k(X, [2, 3], n_runs=2, random_state=0)
    assert set(profile.null_means) == {"box", "gaussian"}
    assert profile.null_test.left_out == {"hull": "it is drawn in at most 3 dimensions, not in 4"}
    with pytest.warns(UserWarning, match="family 'hull': it is drawn in at most 3 dimensions, not"):
        null = null_reference(X, 3, families=("box", "hull"), **FEW)
    assert null.families == ("box",)
    with pytest.raises(ValueError, match=r"No family .* is left .*\(hull: it is .*add 'box' or"):
        null_reference(X, 3, families=("hull", "permuted"), **FEW)
    with pytest.raises(ValueError, match="No family of surrogates is left"):
        choose_k(X, [2, 3], null=("hull",), n_runs=2)


def test_the_hull_is_left_out_if_most_points_are_corners():
    """On a circle all are, and surrogates would be the data themselves."""
    angle = np.concatenate([np.linspace(0, 1, 50) + 2.1 * j for j in range(3)])
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    profile = choose_k(X, range(2, 5), n_runs=3, random_state=0)
    assert profile.null_test.left_out == {"hull": "150 of the 150 points are its corners"}
    assert profile.best == 3


def test_the_hull_changes_no_number_of_the_others():
    with_hull, without = (
        null_reference(BLOBS, 3, families=families, **FEW)
        for families in (("hull", "box", "gaussian"), ("box", "gaussian"))
    )
    for name in ("box", "gaussian"):
        assert_array_equal(with_hull.means[name], without.means[name])
    clouds = "such as the hull of the data or a box or a Gaussian, would"
    assert clouds in " ".join(with_hull.summary().split())
