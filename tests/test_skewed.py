"""Surrogates with columns as skewed as the data's, beside SciPy's distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from clustertrust import CAKE
from clustertrust.surrogates.families import gaussian
from clustertrust.surrogates.skewed import skewed_gaussian, skewness

RNG = np.random.default_rng(0)


def draw(X, seed=1):
    return skewed_gaussian(X)(np.random.default_rng(seed))


def test_skewness_is_that_of_the_distribution():
    n = 20_000
    columns = [stats.lognorm(s).rvs(n, random_state=0) for s in (0.5, 1.0)]
    columns += [-columns[1], stats.norm.rvs(size=n, random_state=1)]
    columns += [stats.expon.rvs(size=n, random_state=2), stats.t(3).rvs(n, random_state=3)]
    # In place of a formula: what its quantiles say of an exponential one
    ends = stats.expon.ppf([0.025, 0.5, 0.975])
    g = np.log((ends[2] - ends[1]) / (ends[1] - ends[0])) / stats.norm.ppf(0.975)
    assert_allclose(skewness(np.column_stack(columns)), [0.5, 1, -1, 0, g, 0], atol=0.06)


def test_columns_keep_their_shape_and_ranks_their_correlation():
    Z = RNG.multivariate_normal([0, 0, 0], [[1, 0.7, 0], [0.7, 1, 0], [0, 0, 1]], 5000)
    X = np.column_stack([np.exp(Z[:, 0]) + 5, -np.exp(0.6 * Z[:, 1]), Z[:, 2]])
    made = draw(X)
    for own, ours in zip(X.T, made.T, strict=True):
        assert stats.ks_2samp(own, ours).statistic < 0.04
    assert_allclose(stats.spearmanr(made).statistic, stats.spearmanr(X).statistic, atol=0.04)


@pytest.mark.parametrize(
    "X",
    [
        RNG.normal(size=(300, 3)),
        RNG.uniform(size=(300, 2)),
        # A small cluster far away skews a column, but not as a skewed cloud would.
        np.concatenate([RNG.normal(0, 1, (240, 2)), RNG.normal(9, 1, (60, 2))]),
        RNG.integers(0, 2, (100, 3)).astype(float),
        np.ones((20, 2)),
    ],
    ids=["gaussian", "box", "clusters", "flags", "constant"],
)
def test_without_skewed_columns_it_is_the_gaussian(X):
    assert_array_equal(skewness(X), 0)
    plain = gaussian(X)(np.random.default_rng(1))
    assert_array_equal(draw(X), plain)


@given(st.integers(0, 1000), st.integers(-30, 30))
def test_it_is_the_same_for_scaled_data_and_mirrored_with_them(seed, power):
    X = np.exp(np.random.default_rng(seed).normal(size=(200, 2)))
    g = skewness(X)
    assert_array_equal(skewness(2.0**power * X), g)
    assert_allclose(skewness(-X), -g, atol=1e-9)


def test_the_longest_tails_stay_finite():
    X = np.exp(30 * RNG.normal(size=(200, 2)))
    assert np.isfinite(draw(X)).all()


@pytest.mark.parametrize("kind", ["exponential", "lognormal"])
def test_less_is_kept_of_skewed_clouds(kind, monkeypatch):
    X = getattr(np.random.default_rng(4), kind)(size=(400, 3))
    cake = CAKE(3, n_runs=10, random_state=0).fit(X)
    share = cake.confidence_.cut().share
    monkeypatch.setattr("clustertrust.chance.skewed_gaussian", gaussian)
    before = CAKE(3, n_runs=10, random_state=0).fit(X).confidence_.cut().share
    assert share < before / 2
