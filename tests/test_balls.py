"""Balls in which all points get the same label, against plain searches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, wishart
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

from clustertrust import opinions, persistence
from clustertrust._balls import balls_of_densities, balls_of_points
from clustertrust._mixtures import Components
from clustertrust.ensemble import placing
from clustertrust.ensemble.placing import KnownNear, Nearest, NearestTrainingPoint, Predict, place

seeds = st.integers(0, 2**32 - 1)


def within(rng, centers, radii, n=50):
    """Points on the rims of balls, where a wrong radius shows first: (g, n, d)."""
    ways = rng.standard_normal((len(centers), n, centers.shape[1]))
    ways /= np.linalg.norm(ways, axis=2, keepdims=True)
    far = np.minimum(radii, 1e6)[:, None, None]
    return centers[:, None] + 0.999 * far * ways


@given(seeds, st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=50)
def test_in_a_ball_the_nearest_point_has_its_label(seed, d, k):
    rng = np.random.default_rng(seed)
    points, labels = rng.standard_normal((30, d)), rng.integers(k, size=30)
    centers = 2 * rng.standard_normal((5, d))
    balls = balls_of_points(points, labels, centers)
    for ball, label in zip(within(rng, centers, balls.radii), balls.labels, strict=True):
        assert_array_equal(labels[cdist(ball, points).argmin(axis=1)], label)


@given(seeds, st.integers(1, 5), st.integers(1, 4), st.sampled_from([0.0, 40.0]), st.booleans())
@settings(max_examples=50)
def test_in_a_ball_one_gaussian_outweighs_all_else(seed, d, k, ahead, noisy):
    rng = np.random.default_rng(seed)
    means = 20 * rng.standard_normal((k, d))
    draws = wishart.rvs(d + 3, np.eye(d), size=k, random_state=rng)
    covariances = np.reshape(draws, (k, d, d)) / (d + 3)
    shares = rng.dirichlet(np.ones(k))
    densities = Components(shares, means, covariances).densities
    rival = -60.0 if noisy else -np.inf
    balls = balls_of_densities(densities, means, ahead=ahead, rival=rival)
    for ball, first, radius in zip(within(rng, means, balls.radii), *balls, strict=True):
        logs = [
            np.log(share) + multivariate_normal(mean, covariance).logpdf(ball)
            for share, mean, covariance in zip(shares, means, covariances, strict=True)
        ]
        own = np.atleast_1d(logs[first])
        others = np.max([np.full(50, rival), *logs[:first], *logs[first + 1 :]], axis=0)
        if radius > 0:
            assert (own > others + ahead - 1e-6).all()


@pytest.fixture(scope="module")
def far_apart():
    X, y = make_blobs(3000, n_features=6, centers=4, cluster_std=[0.5, 1, 1, 5], random_state=2)
    return X, y.astype(np.int64)


def test_runs_place_points_as_without_balls(far_apart):
    X, y = far_apart
    rows = np.arange(0, 3000, 10)
    runs = [
        NearestTrainingPoint(X, rows, y[rows]),
        Nearest(X[:20], y[:20]),
        Predict(GaussianMixture(4, random_state=0).fit(X[rows])),
        lambda Z: (Z[:, 0] > 0).astype(int),
    ]
    centers = np.array([X[y == label].mean(axis=0) for label in range(4)])
    known = KnownNear(runs, centers)
    of = np.where(np.arange(3000) % 7, y, -1)
    assert_array_equal(known.place(X, of), place(runs, X))
    asked = []
    known.placers = [lambda Z: asked.append(len(Z)) or np.zeros(len(Z), dtype=int)] * 4
    known.place(X, y)
    # Most points are near enough to need no search by the runs that have balls.
    *by_balls, whole = sorted(asked)
    assert max(by_balls) < 2000
    assert whole == 3000


@given(seeds, st.integers(1, 3))
@settings(max_examples=30)
def test_runs_that_search_together_place_points_as_each_alone(seed, together):
    rng = np.random.default_rng(seed)
    X, new = rng.integers(0, 4, (40, 3)).astype(float), rng.normal(1.5, 1.5, (60, 3))
    new[:30] = X[:30]  # ties
    sizes = rng.integers(2, 5, 6)
    runs = [Nearest(rng.normal(1.5, 1, (k, 3)), np.arange(k)[::-1]) for k in sizes]
    runs += [
        NearestTrainingPoint(X, rng.permutation(40)[:20], rng.integers(0, 3, 20)) for _ in "ab"
    ]
    runs += [NearestTrainingPoint(X, None, rng.integers(0, 3, 40)) for _ in "ab"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placing, "_TOGETHER", 60 * together)
        assert_array_equal(place(runs, new), np.column_stack([run(new) for run in runs]))


def test_components_are_the_same_in_large_data(far_apart, monkeypatch):
    X, y = far_apart
    seconds, kept = [], []
    for rows in (100, 10_000):
        monkeypatch.setattr(opinions, "BLOCK_ROWS", rows)
        monkeypatch.setattr(persistence, "BLOCK_ROWS", rows)
        seconds.append(opinions.gather_opinions(X, y, n_runs=2).of(X, y))
        kept.append(persistence.persistence(X, y))
    assert_array_equal(*[share for share, _ in seconds])
    assert_array_equal(*[choice for _, choice in seconds])
    assert_allclose(*kept, rtol=0, atol=1e-13)
    assert kept[0].min() < 0.99
