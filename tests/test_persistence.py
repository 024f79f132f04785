"""Persistence: a slow version in plain loops, scikit-learn's mixture, invariances, limits, and its
way into scores.
"""

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from command import run
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import logsumexp
from scipy.stats import chi2, multivariate_normal, ortho_group
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import SkipTestWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import check_estimator
from strategies import few
from templates import choose_k, null_reference

import clustertrust
from clustertrust import CAKE, _mixtures, confidence
from clustertrust._mixtures import Components
from clustertrust.displays import ConvergenceDisplay, StabilityGeometryDisplay
from clustertrust.fusion import FUSIONS, harmonic, refined
from clustertrust.kernels import _numpy
from clustertrust.persistence import MISTAKEN, noise_weight, persistence, refine
from clustertrust.summary import summary_of_confidence


def two_spreads(seed=0, n=150):
    """A tight and a wide cluster, cut half-way between their means.

    The last two points of the tight one are wrong.
    """
    rng = np.random.default_rng(seed)
    X = np.vstack(
        [rng.normal(0, 0.3, (n, 2)), [[3.2, 0], [3.4, 1]], rng.normal((8, 0), 2.0, (n, 2))]
    )
    return X, np.where(X[:, 0] < 4, 0, 1)


def with_noise(seed=1):
    """Three blobs and a fifth as much noise around them, each point with the label of the nearest
    blob.
    """
    rng = np.random.default_rng(seed)
    centers = np.array([[0, 0], [6, 0], [3, 6]])
    blobs = make_blobs(300, centers=centers, cluster_std=0.7, random_state=seed)[0]
    X = np.vstack([blobs, rng.uniform(-8, 14, (60, 2))])
    nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    return X, nearest, np.arange(len(X)) >= 300


def plain_noise(total, b, shares, typical):
    """Share of the noise: the most likely, or that at which a twentieth of typical members is taken
    for noise.
    """

    def mistaken(w):
        return shares @ (w * b / (w * b + (1 - w) * typical))

    def search(loss, high):
        return minimize_scalar(loss, bounds=(0, high), method="bounded", options={"xatol": 1e-12}).x

    w = (
        search(lambda w: -np.log((1 - w) * total + w * b).sum(), 1)
        if np.mean(b / total) > 1
        else 0.0
    )
    return search(lambda v: (mistaken(v) - 0.05) ** 2, w) if mistaken(w) > 0.05 else w


def plain(X, labels, n_steps=5):
    """The same from the formulas, with other tools: SVD, scipy's densities, a search for the share
    of the noise.
    """
    X = np.asarray(X, float) - np.mean(X, axis=0)
    _, s, V = np.linalg.svd(X, full_matrices=False)
    Z = X @ V[s > 1e-7 * s[0]].T
    n, d = Z.shape
    Z /= np.sqrt((Z**2).sum() / (n * d))
    names = sorted(set(labels[labels >= 0].tolist()))
    P = np.array([[float(label == name) for name in names] for label in labels])
    assigned = [i for i in range(n) if labels[i] >= 0]
    means = {name: Z[labels == name].mean(axis=0) for name in names}
    W = sum(np.outer(Z[i] - means[labels[i]], Z[i] - means[labels[i]]) for i in assigned)
    sphere = np.trace(W) / (d * len(assigned))
    prior = (W + (d + 2) * sphere * np.eye(d)) / (len(assigned) + d + 2)
    least = (
        sphere * (d + 2) / (len(assigned) + d + 2) * (d + 2) / (len(assigned) / len(names) + d + 2)
    )
    edges = np.sqrt((Z.max(axis=0) - Z.min(axis=0)) ** 2 + 12 * least)
    b = 1 / np.prod(edges)
    kept = np.zeros(n)
    for _ in range(n_steps):
        sizes = P.sum(axis=0)
        shares = sizes / sizes.sum()
        f, typical = np.zeros((n, len(names))), []
        for j in range(len(names)):
            mean = sum(P[i, j] * Z[i] for i in range(n)) / sizes[j]
            S = sum(P[i, j] * np.outer(Z[i] - mean, Z[i] - mean) for i in range(n))
            C = (S + (d + 2) * prior) / (sizes[j] + d + 2)
            f[:, j] = shares[j] * multivariate_normal(mean, C).pdf(Z)
            typical.append(
                shares[j] * multivariate_normal(mean, C).pdf(mean) * np.exp(-chi2.median(d) / 2)
            )
        total = f.sum(axis=1)
        w = plain_noise(total, b, shares, np.array(typical))
        P = (1 - w) * f / ((1 - w) * total + w * b)[:, None]
        kept += [P[i, names.index(labels[i])] if labels[i] >= 0 else 0.0 for i in range(n)]
    return kept / n_steps


@pytest.mark.parametrize("case", ["spreads", "noise", "moons", "unassigned", "iris-like"])
def test_against_plain_loops(case):
    if case == "spreads":
        X, labels = two_spreads(n=60)
    elif case == "noise":
        X, labels, _ = with_noise()
    elif case == "moons":
        X = make_moons(200, noise=0.1, random_state=0)[0]
        labels = (X[:, 0] > 0.5).astype(int)
    else:
        X, labels = make_blobs(120, centers=3, n_features=4, cluster_std=3, random_state=3)
        if case == "unassigned":
            labels = np.where(np.arange(120) % 7 == 0, -1, 3 * labels)
    assert_allclose(persistence(X, labels), plain(X, labels), atol=2e-5)


def precision_roots(step):
    roots = np.linalg.cholesky(step.components.covariances)
    return np.array([np.linalg.inv(root).T for root in roots])


def test_a_step_is_that_of_scikit_learns_mixture():
    X, labels = make_blobs(200, centers=3, n_features=5, cluster_std=3, random_state=0)
    found = refine(X, labels, 2, mistaken=0.0)
    Z = (X - found.center) @ found.axes
    for t, step in enumerate(found.steps):
        assert step.noise == 0
        mixture = GaussianMixture(3)
        mixture.weights_, mixture.means_ = step.components.shares, step.components.means
        mixture.precisions_cholesky_ = precision_roots(step)
        P = mixture.predict_proba(Z)
        if t + 1 < len(found.steps):
            assert_allclose(
                found.steps[t + 1].components.means, P.T @ Z / P.sum(axis=0)[:, None], rtol=1e-9
            )
            assert_allclose(found.steps[t + 1].components.shares, P.mean(axis=0), rtol=1e-9)
    first = refine(X, labels, 1, mistaken=0.0)
    mixture.weights_, mixture.means_ = (
        first.steps[0].components.shares,
        first.steps[0].components.means,
    )
    mixture.precisions_cholesky_ = precision_roots(first.steps[0])
    assert_allclose(
        first.persistence(X, labels), mixture.predict_proba(Z)[np.arange(200), labels], rtol=1e-9
    )


@pytest.mark.parametrize("how", ["compiled", "plain", "picked"])
@pytest.mark.parametrize("apart", [0, 3, 200])
def test_densities_are_those_of_scipy_where_they_count(apart, how, monkeypatch):
    """All, or those that count: in part, and almost none but the own; tight, wide and long ones."""
    if how == "picked":
        monkeypatch.setattr(_mixtures, "FEW", 0)
    if how == "plain":
        monkeypatch.setattr(_mixtures, "backend", lambda: _numpy)
    rng = np.random.default_rng(apart)
    means = apart * rng.normal(size=(6, 4)) + rng.normal(size=(6, 4))
    roots = rng.normal(size=(6, 4, 4)) * np.array([0.01, 0.1, 1, 1, 3, 9])[:, None, None]
    covariances = roots @ roots.transpose(0, 2, 1) + 1e-4 * np.eye(4)
    shares = rng.dirichlet(np.ones(6))
    Z = np.concatenate(
        [rng.multivariate_normal(m, c, 50) for m, c in zip(means, covariances, strict=True)]
    )
    densities = Components(shares, means, covariances).densities
    joint = densities.log_joint(Z.T)
    found = joint.logs
    wanted = np.array(
        [
            np.log(share) + multivariate_normal.logpdf(Z, mean, covariance)
            for share, mean, covariance in zip(shares, means, covariances, strict=True)
        ]
    )
    counts = wanted > wanted.max(axis=0) - 40
    assert_allclose(found[counts], wanted[counts], rtol=1e-6, atol=1e-6)
    assert (found[~counts] <= wanted[~counts] + 1e-3).all()
    assert_allclose(joint.total, logsumexp(wanted, axis=0), rtol=1e-6, atol=1e-6)
    assert_array_equal(joint.labels, wanted.argmax(axis=0))
    assert_array_equal(densities.labels(Z.T), joint.labels)
    assert (np.isinf(found).mean() > 0.5) == (apart == 200 and how == "picked")


def test_a_wide_cluster_takes_back_what_was_cut_off():
    X, labels = two_spreads()
    p = persistence(X, labels)
    assert (p[150:152] < 0.1).all()
    assert np.median(p) > 0.95


def test_noise_is_low():
    X, labels, noise = with_noise()
    p = persistence(X, labels)
    far = noise & (((X[:, None] - [[0, 0], [6, 0], [3, 6]]) ** 2).sum(axis=2).min(axis=1) > 16)
    assert far.sum() > 20
    assert p[far].max() < 0.5 < np.quantile(p[~noise], 0.02)
    blind = refine(X, labels, mistaken=0.0).persistence(X, labels)
    assert np.median(blind[far]) > 0.9  # what the background is for


def test_clusters_far_apart_keep_all():
    X, labels = make_blobs(300, centers=[[0, 0], [50, 0], [0, 50]], random_state=0)
    assert persistence(X, labels).min() > 0.99


def test_noise_is_bounded_where_clusters_fill_the_box():
    X = make_moons(1000, noise=0.1, random_state=1)[0]
    found = refine(X, (X[:, 0] > 0.5).astype(int))
    free = refine(X, (X[:, 0] > 0.5).astype(int), mistaken=1.0)
    for components, noise in found.steps:
        shares = components.shares
        typical = shares * np.exp(components.peaks - chi2.median(2) / 2) * (1 - noise)
        b = noise * np.exp(found.background)
        assert shares @ (b / (b + typical)) == pytest.approx(MISTAKEN, rel=1e-6)
    assert free.steps[0].noise > 0.3 > 0.1 > found.steps[0].noise


@few
@given(st.lists(st.floats(0, 50), min_size=1, max_size=30).map(np.array))
def test_noise_weight_maximises_the_likelihood(ratios):
    def likelihood(w):
        with np.errstate(divide="ignore"):
            return np.log(1 - w + w * ratios).sum()

    w = noise_weight(ratios)
    assert 0 <= w <= 1
    best = max(likelihood(v) for v in np.linspace(0, 1, 201))
    assert likelihood(min(w, 1 - 1e-12)) >= best - 1e-6
    if ratios.mean() <= 1:
        assert w == 0


@few
@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.sampled_from([2, 3, 5]))
def test_moved_scaled_rotated_renamed(seed, scale, d):
    rng = np.random.default_rng(seed)
    X = np.vstack(
        [rng.normal(0, 1, (40, d)), rng.normal(2, 0.5, (30, d)), rng.normal(-2, 2, (20, d))]
    )
    X = X * np.arange(1, d + 1)  # so that the principal axes are apart
    labels = rng.permutation(np.repeat([0, 1, 2], [40, 30, 20]))
    p = persistence(X, labels)
    assert ((p >= 0) & (p <= 1)).all()
    turned = scale * X @ ortho_group.rvs(d, random_state=seed) + rng.normal(0, 10, d) * scale
    assert_allclose(persistence(turned, labels), p, atol=1e-6)
    assert_allclose(persistence(X, np.array(["b", "c", "a"])[labels]), p, atol=1e-12)
    order = rng.permutation(len(X))
    assert_allclose(persistence(X[order], labels[order]), p[order], atol=1e-9)
    assert_allclose(
        persistence(np.column_stack([X, np.full(len(X), 7.0), X[:, 0]]) * [*[1] * d, 1, 0], labels),
        p,
        0,
        1e-9,
    )


def test_a_column_that_hardly_varies_is_no_noise():
    X, labels, _ = with_noise()
    tiny = np.random.default_rng(0).normal(0, 1e-4, (len(X), 3))
    p, more = persistence(X, labels), persistence(np.hstack([X, tiny]), labels)
    assert np.abs(more - p).mean() < 0.03
    assert ((more < 0.5) != (p < 0.5)).mean() < 0.02


def test_float32_is_as_good():
    X, labels, _ = with_noise()
    assert_allclose(persistence(X.astype(np.float32), labels), persistence(X, labels), atol=1e-4)
    assert_allclose(persistence(X * 1e-100, labels), persistence(X, labels))


def test_few_points():
    rng = np.random.default_rng(0)
    # Fewer points than columns.
    X = rng.normal(size=(12, 40)) + np.repeat([[0], [4], [9]], 4, axis=0)
    p = persistence(X, np.repeat([0, 1, 2], 4))
    assert np.isfinite(p).all()
    assert p.min() > 0.9
    single = persistence([[0.0], [1.0], [2.0], [50.0]], [0, 0, 0, 1])  # a cluster of one
    assert ((single > 0.5) & (single <= 1)).all()
    # Shares are all there is.
    assert_allclose(persistence(np.ones((5, 2)), [0, 0, 0, 0, 1]), [0.8, 0.8, 0.8, 0.8, 0.2])
    # No spread at all.
    assert_array_equal(persistence([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]), 1.0)
    assert np.median(persistence(rng.normal(size=(50, 2)), np.zeros(50))) > 0.9  # one cluster


def test_points_without_a_label():
    X, labels, _ = with_noise()
    labels[::5] = -1
    p = persistence(X, labels)
    assert_array_equal(p[::5], 0)
    assert p[labels >= 0].max() > 0.99
    assert_array_equal(persistence(X, np.full(len(X), -1)), 0)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"X": csr_array(np.eye(3))}, ValueError, r"X is sparse.*X\.toarray\(\)"),
        ({"labels": [0, 1]}, ValueError, "X has 3 points and labels has 2"),
        ({"n_steps": 0}, ValueError, "n_steps=0 must be at least 1"),
        ({"n_steps": 2.5}, TypeError, "n_steps=2.5 must be an integer"),
        ({"X": [[0.0], [np.nan], [1.0]]}, ValueError, "row 1, column 0"),
    ],
)
def test_bad_input(change, error, match):
    given_ = {"X": [[0.0], [1.0], [5.0]], "labels": [0, 0, 1]} | change
    with pytest.raises(error, match=match):
        persistence(given_.pop("X"), given_.pop("labels"), **given_)


X, _ = make_blobs(
    200, centers=[[0, 0], [4, 0], [1, 5]], cluster_std=[0.5, 1.8, 1.0], random_state=0
)
NEW = np.random.default_rng(1).uniform(X.min(axis=0) - 2, X.max(axis=0) + 2, size=(40, 2))


@pytest.fixture(scope="module")
def cake():
    return CAKE(3, fusion="refined", n_runs=10, random_state=0).fit(X)


def test_scores_are_the_mean_of_both(cake):
    paper = CAKE(3, n_runs=10, random_state=0).fit(X)
    assert paper.persistence_ is None
    assert "persistence" not in paper.to_frame()
    assert paper.explain(0).persistence is None
    assert_array_equal(cake.persistence_, persistence(X, cake.labels_))
    assert_array_equal(cake.scores_, (paper.scores_ + cake.persistence_) / 2)
    assert_array_equal(cake.scores_, refined(cake.stability_, cake.geometry_, cake.persistence_))
    assert_array_equal(cake.to_frame()["persistence"], cake.persistence_)
    # Persistence is held fixed, so that half the error is left.
    assert_allclose(cake.standard_errors_, paper.standard_errors_ / 2, atol=1e-12)
    same = confidence(X, cake.ensemble_, fusion="refined")
    assert_array_equal(same.scores, cake.scores_)
    assert_array_equal(same.persistence, cake.persistence_)


def test_the_fusion_needs_both_and_nan_stays_nan():
    c, g, p = (
        np.array([1.0, 0.0, np.nan, 1.0]),
        np.array([1.0, 0.5, 0.5, 0.5]),
        np.array([1.0, 1.0, 1.0, 0.0]),
    )
    assert_allclose(refined(c, g, p), [1, 0.5, np.nan, 1 / 3])
    users = [name for name, kind in FUSIONS.items() if kind.uses_persistence]
    assert users == ["combined", "refined"]


def test_unseen_points_are_judged_as_they_are_scored(cake):
    new = X[::3] + 0.1
    table = cake.judge(new)
    assert_allclose(table["score"], cake.score_samples(new), atol=1e-12)
    assert len(table["persistence"]) == len(new)


def test_unseen_points(cake):
    centroid = CAKE(3, fusion="refined", geometry="centroid", n_runs=10, random_state=0).fit(X)
    assert_allclose(centroid.score_samples(X), centroid.scores_, atol=1e-12)
    assert_array_equal(centroid.predict(X), centroid.labels_)
    paper = CAKE(3, n_runs=10, random_state=0).fit(X).score_samples(NEW)
    refinement = refine(X, cake.labels_)
    assert_allclose(
        cake.score_samples(NEW),
        (paper + refinement.persistence(NEW, cake.predict(NEW))) / 2,
        atol=1e-12,
    )
    one_by_one = np.concatenate([cake.score_samples(NEW[i : i + 1]) for i in range(len(NEW))])
    assert_allclose(one_by_one, cake.score_samples(NEW), atol=1e-12)


def test_saved_models_score_alike(cake, tmp_path):
    cake.save(tmp_path / "model")
    back = CAKE.load(tmp_path / "model")
    assert_array_equal(back.persistence_, cake.persistence_)
    assert_array_equal(back.score_samples(NEW), cake.score_samples(NEW))
    assert back.get_params() == cake.get_params()


def test_threads_change_nothing(cake):
    for n_jobs in (1, 2, 3):
        again = clone(cake).set_params(n_jobs=n_jobs).fit(X)
        assert_array_equal(again.scores_, cake.scores_)


def test_reasons():
    X, _ = two_spreads()
    cake = CAKE(2, fusion="refined", n_runs=5, random_state=0).fit(X)
    weak = 150  # nearer to the mean of the tight cluster, and of the wide one
    told = cake.explain(weak)
    assert told.weak == "persistence"
    assert told.persistence == cake.persistence_[weak]
    assert f"Persistence {told.persistence:.3f}" in str(told)
    assert "another spread or shape" in str(told)
    assert told.reason == "fringe"
    assert "Persistence is weakest" not in str(replace(told, weak="geometry"))
    sure = cake.explain(int(np.argmax(cake.scores_)))
    assert sure.weak is None
    assert sure.reason == "core"


def test_unassigned_points():
    runs = [np.where(np.arange(200) % (r + 5) == 0, -1, X[:, 0] > 2).astype(int) for r in range(4)]
    found = confidence(X, runs, fusion="refined", unassigned="disagree")
    assert not np.isnan(found.scores).any()
    assert found.scores[0] == found.persistence[0] == 0  # no run assigns it
    with pytest.warns(UserWarning, match="fewer than two runs"):
        skipped = confidence(X, runs, fusion="refined")
    assert np.isnan(skipped.scores[0])
    assert not np.isnan(skipped.scores[1:4]).any()


def test_unassigned_everywhere():
    with pytest.warns(UserWarning, match="fewer than two runs"):
        found = confidence(X, np.full((200, 3), -1), fusion="refined")
    assert np.isnan(found.scores).all()
    assert_array_equal(found.persistence, 0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"geometry": "kernel"},
            r"fusion='refined' fits Gaussians.*geometry='kernel'.*fusion='harmonic'",
        ),
        ({"metric": "manhattan"}, r"fusion='refined' fits Gaussians.*metric='manhattan'"),
        ({"metric": lambda a, b: abs(a - b).sum()}, "fusion='refined' fits Gaussians"),
    ],
)
def test_without_coordinates(options, match):
    with pytest.raises(ValueError, match=match):
        CAKE(3, fusion="refined", **options).fit(X)
    with pytest.raises(ValueError, match=match):
        confidence(X, [[0, 1] * 100, [0, 1] * 100], fusion="refined", **options)


def test_distances_and_sparse_data_are_refused():
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    with pytest.raises(ValueError, match="metric='precomputed' does not use"):
        confidence(D, [[0, 1] * 100, [0, 1] * 100], fusion="refined", metric="precomputed")
    for call in (
        lambda: CAKE(3, fusion="refined").fit(csr_array(X)),
        lambda: confidence(csr_array(X), [[0, 1] * 100, [0, 1] * 100], fusion="refined"),
    ):
        with pytest.raises(
            ValueError, match=r"fusion='refined' does not take sparse data.*TruncatedSVD"
        ):
            call()


@pytest.mark.parametrize("method", ["predict", "score_samples", "score", "judge"])
def test_new_points_are_not_sparse_either(cake, method):
    with pytest.raises(ValueError, match=r"fusion='refined' does not take sparse data"):
        getattr(cake, method)(csr_array(X))


@pytest.mark.parametrize("how", [{"metric": "cosine"}, {"geometry": "kernel"}])
def test_what_has_no_coordinates_is_told_before_a_fit(how):
    def never(X, rng):
        raise AssertionError("clustered")

    for call in (null_reference, lambda X, **more: choose_k(X, [2, 3], **more)):
        with pytest.raises(ValueError, match="does not use"):
            call(
                X, clusterer=never if call is null_reference else "kmeans", fusion="refined", **how
            )


def test_summaries_show_it_and_only_where_it_is_there(cake):
    by_hand = pd.Series(cake.persistence_).groupby(cake.labels_).mean()
    assert_allclose(
        summary_of_confidence(cake.confidence_).clusters["mean persistence"], by_hand, rtol=1e-12
    )
    worst = summary_of_confidence(cake.confidence_).ambiguous
    assert_array_equal(worst["persistence"], cake.persistence_[worst.index])
    plainly = CAKE(3, n_runs=3, random_state=0).fit(X)
    assert "persistence" in cake.summary()
    assert "persistence" not in plainly.summary()


def test_data_larger_than_memory_are_scored_in_blocks(tmp_path):
    import sklearn

    Z = np.random.default_rng(0).normal(size=(20_000, 4)) * (3, 1, 1, 1)
    np.save(tmp_path / "x.npy", Z)
    options = {"fusion": "refined", "geometry": "rms", "n_runs": 4, "random_state": 0}
    with sklearn.config_context(working_memory=1):
        found = CAKE(3, **options).fit(tmp_path / "x.npy")
    # The mixture is fitted to a sample, here to all rows.
    expected = persistence(Z, found.labels_)
    assert_allclose(found.persistence_, expected, atol=1e-9)
    assert_allclose(
        found.scores_, refined(found.stability_, found.geometry_, found.persistence_), atol=1e-12
    )


def test_displays(cake):
    from matplotlib.figure import Figure

    assert StabilityGeometryDisplay.from_estimator(cake, ax=Figure().add_subplot()).fusion is None
    with pytest.raises(ValueError, match="fusion='refined' depends on the consensus of all runs"):
        ConvergenceDisplay.from_estimator(cake, ax=Figure().add_subplot())


def test_choosing_k_and_null_take_it():
    profile = choose_k(X, [2, 3], n_runs=4, null=None, fusion="refined", random_state=0)
    at_3 = CAKE(3, n_runs=4, fusion="refined", random_state=0).fit(X)
    assert 0 < profile.mean_score[1] <= 1
    assert profile.mean_score[1] == pytest.approx(at_3.scores_.mean(), abs=0.05)
    null = null_reference(
        X, n_clusters=3, n_runs=4, n_surrogates=19, fusion="refined", random_state=0
    )
    assert 0 <= null.p_value <= 1


def test_on_the_command_line(tmp_path):
    pd.DataFrame(X, columns=["a", "b"]).to_csv(tmp_path / "x.csv", index=False)
    typed = ["-k", "3", "--fusion", "refined", "--seed", "0", "--out", tmp_path / "s.csv"]
    run("score", tmp_path / "x.csv", *typed)
    table = pd.read_csv(tmp_path / "s.csv")
    expected = (harmonic(table["stability"], table["geometry"]) + table["persistence"]) / 2
    assert_allclose(table["score"], expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*have one cluster:UserWarning")
@pytest.mark.filterwarnings("ignore:n_clusters is not given")  # as the checks leave it
@pytest.mark.filterwarnings("ignore", category=SkipTestWarning)
def test_scikit_learns_checks(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    results = check_estimator(CAKE(fusion="refined", n_runs=3, random_state=0), on_skip=None)
    assert len(results) > 30
    assert clustertrust.__version__
