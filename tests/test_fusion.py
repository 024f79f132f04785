import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import hmean
from strategies import few

from clustertrust import confidence
from clustertrust.fusion import FUSIONS, harmonic, product

# Products of smaller numbers may underflow, no score is as small.
share = st.just(0.0) | st.floats(1e-9, 1)
shares = st.lists(share, min_size=1, max_size=8).map(np.array)


@few
@given(shares, st.randoms(use_true_random=False))
def test_harmonic_is_the_harmonic_mean(c, random):
    g = np.array(random.sample(list(c), len(c)))
    assert_allclose(harmonic(c, g), hmean([c, g]), rtol=1e-12, atol=1e-300)


@few
@given(shares)
def test_product_is_at_most_harmonic_and_both_stay_between_the_components(c):
    g = c[::-1]
    low, high = np.minimum(c, g), np.maximum(c, g)
    slack = 1e-12
    assert (product(c, g) <= harmonic(c, g) * (1 + slack)).all()
    assert (product(c, g) <= low).all()
    assert (harmonic(c, g) >= low * (1 - slack)).all()
    assert (harmonic(c, g) <= np.minimum(high, 2 * low) * (1 + slack)).all()


def test_values():
    c, g = np.array([1.0, 0.5, 1.0, 0.0]), np.array([1.0, 0.25, 0.0, 0.7])
    assert_array_equal(product(c, g), [1, 0.125, 0, 0])
    assert_allclose(harmonic(c, g), [1, 1 / 3, 0, 0])


def test_harmonic_mean_of_0_and_0_is_0_and_nan_stays_nan():
    c, g = np.array([0.0, np.nan, 0.0, np.nan]), np.array([0.0, 0.0, np.nan, np.nan])
    assert_array_equal(harmonic(c, g), [0, np.nan, np.nan, np.nan])
    assert_array_equal(product(c, g), [0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(  # those with persistence: test_persistence.py
    "fusion", sorted(name for name, kind in FUSIONS.items() if not kind.uses_persistence)
)
def test_scores_are_the_fused_components(fusion):
    X = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]
    result = confidence(
        X, [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]], fusion=fusion
    )
    assert_array_equal(result.scores, FUSIONS[fusion]()(result.stability, result.geometry))
