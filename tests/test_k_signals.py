"""Signals for a number of clusters: mixtures beside scikit-learn's and SciPy's, errors, the probabilities."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal, multivariate_t, sem, ttest_rel
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_samples
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from templates import choose_k

from clustertrust.k_profile import mixtures
from clustertrust.k_profile.combine import plausible, probabilities
from clustertrust.k_profile.signals import Signal, behind

FEW = {"n_runs": 4, "random_state": 0, "null": None}
SIDES = {"spherical": "spherical", "diagonal": "diag", "tied": "tied", "full": "full"}


def clusters(rng, n=800):
    """Two clusters of different size, spread and shape that overlap a little."""
    one = rng.standard_normal((n, 2)) @ [[1.0, 0.6], [0.0, 0.5]]
    other = rng.standard_normal((n // 2, 2)) * (0.6, 1.4) + (4.0, 0.5)
    return np.vstack([one, other]), np.repeat([0, 1], [n, n // 2])


# Mixtures


@pytest.mark.parametrize("covariance", mixtures.COVARIANCES)
def test_a_fit_is_that_of_scikit_learn(covariance):
    X, y = clusters(np.random.default_rng(0))
    plane = mixtures.reduce(X)
    found = mixtures._fit(plane, mixtures._Start.from_labels(plane, y), covariance)
    other = GaussianMixture(
        2, covariance_type=SIDES[covariance], reg_covar=1e-9, tol=1e-6, max_iter=500
    )
    other.means_init = np.array([plane.columns.T[y == j].mean(axis=0) for j in (0, 1)])
    other.fit(plane.columns.T)
    of = {
        "spherical": lambda j: other.covariances_[j] * np.eye(2),
        "diag": lambda j: np.diag(other.covariances_[j]),
        "tied": lambda j: other.covariances_,
        "full": lambda j: other.covariances_[j],
    }[SIDES[covariance]]
    joint = [
        np.log(other.weights_[j])
        + multivariate_normal(other.means_[j], of(j)).logpdf(plane.columns.T)
        for j in (0, 1)
    ]
    n = len(X)
    # their prior is none, ours is worth a few points of some hundreds
    assert np.max(joint, axis=0).mean() == pytest.approx(found.contributions.mean(), abs=5e-3)
    assert found.parameters == other._n_parameters()
    expected = found.contributions.mean() - found.parameters * np.log(n) / (2 * n)
    assert found.icl == pytest.approx(expected)
    assert adjusted_rand_score(found.labels, other.predict(plane.columns.T)) > 0.98


def test_heavy_tails_are_students():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3)) / np.sqrt(rng.chisquare(4, (4000, 1)) / 4)
    plane = mixtures.reduce(X)
    found = mixtures.explain(plane, np.zeros(4000, int))
    assert found.heavy
    scale = np.sqrt(X.var(axis=0).mean())
    density = multivariate_t(np.zeros(3), np.eye(3) / scale**2, df=4)
    turned = X / scale  # a sphere: its axes do not matter
    assert found.contributions.mean() == pytest.approx(density.logpdf(turned).mean(), abs=0.02)
    light = mixtures.explain(mixtures.reduce(rng.standard_normal((1000, 3))), np.zeros(1000, int))
    assert not light.heavy


def test_the_two_that_lose_least_are_merged():
    X, y = make_blobs(300, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)
    split = np.where((y == 1) & (X[:, 1] > 0), 3, y)
    for covariance in mixtures.COVARIANCES:
        merged = mixtures._merge(mixtures.reduce(X), split, covariance, 3)
        assert adjusted_rand_score(merged, y) == 1.0


def test_a_start_that_the_clusterer_missed_is_found():
    """The partition into three halves one blob and joins two; that into four has all borders."""
    X, y = make_blobs(300, centers=[[0, 0], [10, 0], [0, 30]], random_state=0)
    wrong = np.where(y == 2, np.where(X[:, 0] > 0, 1, 2), 0)
    four = np.where((y == 2) & (X[:, 0] > 0), 3, y)
    plane = mixtures.reduce(X)
    with_four = mixtures.explain_all(plane, [wrong, four])[0]
    assert adjusted_rand_score(with_four.labels, y) == 1.0
    assert with_four.icl > mixtures.explain(plane, wrong).icl + 0.1


def test_counts_have_no_density_without_bound():
    X = np.random.default_rng(0).integers(0, 3, (300, 2)).astype(float)
    cells = (3 * X[:, 0] + X[:, 1]).astype(int)  # nine points, many times each
    plane = mixtures.reduce(X)
    assert np.all(np.linalg.eigvalsh(plane.grain) > 0)
    nine = mixtures.explain(plane, cells)
    assert nine.icl < 0  # a density above 1 a point would be that of spikes
    assert mixtures.explain(plane, np.zeros(300, int)).icl > nine.icl - 2
    fine = mixtures.reduce(np.random.default_rng(0).standard_normal((300, 2)))
    assert np.abs(fine.grain).max() < 1e-4


def test_moved_scaled_and_turned_points_have_the_same_likelihood():
    X, y = clusters(np.random.default_rng(1), 200)
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((2, 2)))[0]
    one, two = (mixtures.explain(mixtures.reduce(of), y) for of in (X, 1e3 * X @ turn + 5))
    assert one.icl == pytest.approx(two.icl, abs=1e-3)  # the grain is that of columns
    renamed = mixtures.explain(mixtures.reduce(X), 1 - y)
    assert renamed.icl == pytest.approx(one.icl, abs=1e-9)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((20, 3)),
        np.repeat(np.eye(3), 10, axis=0),
        np.random.default_rng(0).standard_normal((12, 40)),
        np.column_stack([np.arange(30.0), np.zeros(30)]) * 1e150,
    ],
    ids=["equal", "copies", "wide", "large"],
)
def test_odd_points_have_a_finite_likelihood(X):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plane = mixtures.reduce(X)
        labels = [np.arange(len(X)) % k for k in (1, 2, 3)]
        assert all(np.isfinite(found.icl) for found in mixtures.explain_all(plane, labels))


def test_columns_past_the_tenth_axis_are_left_out_and_said():
    X = np.random.default_rng(0).standard_normal((60, 15))
    plane = mixtures.reduce(X)
    assert plane.dropped
    assert plane.columns.T.shape == (60, 10)
    assert "first 10 principal axes of 15 columns" in choose_k(X, [2, 3], **FEW).summary()
    assert not mixtures.reduce(X[:, :10]).dropped


def test_mixtures_take_a_sample_of_many_points_and_say_so():
    X = make_blobs(1200, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    profile = choose_k(X, [2, 3, 4], **FEW | {"n_runs": 2})
    assert profile.best == 3
    assert "Likelihood from 1000 of the points." in profile.summary()


# Signals


def test_errors_are_those_of_paired_differences():
    values = np.random.default_rng(0).normal([0.0, 0.5, 0.2, -1.0], 1.0, (50, 4))
    signal = Signal.from_points("separation", values)
    assert_allclose(signal.mean, values.mean(axis=0))
    assert_allclose(signal.errors, sem(values))
    best = int(values.mean(axis=0).argmax())
    expected = [ttest_rel(values[:, best], of).statistic for of in values.T]
    assert_allclose(signal.behind, np.nan_to_num(expected), atol=1e-12)
    assert_array_equal(signal.ranks, (-values.mean(axis=0)).argsort().argsort() + 1)


def test_points_without_a_value_do_not_count():
    values = np.random.default_rng(0).standard_normal((30, 3))
    holes = values.copy()
    holes[:5, 1] = np.nan
    found = Signal.from_points("stability", holes)
    assert found.mean[1] == pytest.approx(values[5:, 1].mean())
    t = ttest_rel(values[5:, 0], values[5:, 1]).statistic
    assert behind(holes, 0)[1] == pytest.approx(max(t, 0.0))


def test_what_is_equal_is_not_behind():
    flat = np.ones((10, 3))
    assert_array_equal(Signal.from_points("stability", flat).behind, 0)
    assert_array_equal(Signal.from_points("stability", flat).ranks, 1)
    lower = flat - (0.0, 0.1, 0.0)
    assert Signal.from_points("stability", lower).behind[1] == 1e6  # always, by the same: no error


def test_separation_is_the_best_silhouette_of_the_runs():
    X = make_blobs(120, centers=4, random_state=1)[0]
    profile = choose_k(X, [3, 5], clusterer=KMeans(init="random", n_init=1), **FEW)
    from clustertrust import build_ensemble

    for at, k in enumerate((3, 5)):
        runs = build_ensemble(
            X, KMeans(init="random", n_init=1), n_clusters=k, n_runs=4, random_state=0
        ).labels
        best = max(silhouette_samples(X, run).mean() for run in runs.T)
        assert profile.signals["separation"].mean[at] == pytest.approx(best)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"metric": "cosine", "clusterer": "kmedoids"}, "there are no coordinates"),
        ({"geometry": "kernel"}, "there are no coordinates"),
        ({"geometry": "graph"}, "there are no coordinates"),
        ({"clusterer": "spectral"}, "clusters of spectral may have any shape"),
        (
            {"clusterer": AgglomerativeClustering(linkage="single"), "resample": 0.8},
            "may have any shape",
        ),
    ],
)
def test_a_likelihood_that_does_not_apply_is_left_out(settings, said):
    X = make_blobs(60, centers=3, random_state=0)[0]
    profile = choose_k(X, [2, 3], n_jobs=1, **FEW, **settings)
    assert "likelihood" not in profile.signals
    assert said in profile.left_out["likelihood"]
    assert f"Without likelihood: {profile.left_out['likelihood']}." in profile.summary()
    assert "likelihood" not in profile.to_frame()
    assert profile.probability.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "settings",
    [
        {"clusterer": "gmm"},
        {"clusterer": "kmedoids"},
        {"clusterer": ["kmeans", "birch"]},
        {"clusterer": make_pipeline(StandardScaler(), KMeans(n_init=1))},
        {"clusterer": "agglomerative", "resample": 0.8, "n_runs": 8},
        {"resample": 0.8, "n_runs": 8},
    ],
)
def test_other_clusterers_have_all_signals(settings):
    X = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    profile = choose_k(X, [2, 3, 4], **FEW | settings)
    assert set(profile.signals) | set(profile.left_out) == {"separation", "likelihood", "stability"}
    assert "likelihood" in profile.signals
    assert profile.best == 3


def test_runs_that_all_agree_say_nothing():
    X = make_blobs(60, centers=3, random_state=0)[0]
    with pytest.warns(UserWarning, match="deterministic"):
        profile = choose_k(X, [2, 3], clusterer="agglomerative", **FEW)
    assert profile.left_out == {"stability": "all runs agree at every k"}
    assert_array_equal(profile.to_frame()["stability"], 1)


# The probabilities


@given(st.lists(st.floats(0, 50), min_size=2, max_size=6))
def test_probabilities_fall_with_distance(t):
    t = np.array(t)
    ks = np.arange(2, 2 + len(t))
    p = ks * probabilities({"separation": Signal("separation", -t, np.ones(len(t)), t)}, ks)
    assert (p / ks).sum() == pytest.approx(1)
    assert np.all(np.diff(p[np.argsort(t, kind="stable")]) <= 1e-12)


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=8), st.floats(0.01, 1))
def test_plausible_sets_are_as_small_as_can_be(p, mass):
    p = np.array(p) / np.sum(p)
    found = plausible(p, mass)
    assert p[found].sum() >= mass - 1e-9
    assert np.sort(p)[::-1][: len(found) - 1].sum() < mass
    assert p[found].min() >= np.delete(p, found).max(initial=0.0)


def test_a_progress_bar_is_shown_if_asked_for(monkeypatch, capsys):
    X = make_blobs(60, centers=3, random_state=0)[0]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    choose_k(X, [2, 3], n_runs=2, random_state=0, verbose=True)
    told = capsys.readouterr().err
    assert "numbers of clusters [" in told
    assert "2/2" in told
    assert "surrogates [" in told
    assert "runs [" not in told
