"""Masks against sorting by hand, the adaptive choice against a plain loop and the coverages that
the authors chose.
"""

import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from papersets import paper_set
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples
from strategies import few

from clustertrust import CAKE
from clustertrust.selection import COVERAGES, select_above, select_adaptive, select_top

tied_scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=40).map(
    np.array
)
gappy_scores = st.lists(st.floats(0, 1) | st.just(np.nan), min_size=1, max_size=40).map(np.array)
shares = st.floats(0, 1) | st.integers(0, 20).map(lambda twentieth: twentieth / 20)


@few
@given(tied_scores, shares, st.integers(0, 100))
def test_top_keeps_the_asked_number_and_nothing_better_is_left(scores, share, seed):
    kept = select_top(scores, share, random_state=seed)
    assert kept.dtype == bool
    assert kept.shape == scores.shape
    assert kept.sum() == int(share * len(scores) + 1e-9)
    if 0 < kept.sum() < len(scores):
        assert scores[kept].min() >= scores[~kept].max()
    assert_array_equal(kept, select_top(scores, share, random_state=seed))


@pytest.mark.parametrize(
    ("share", "n", "asked"), [(0.29, 100, 29), (0.7, 10, 7), (0.57, 100, 57), (0.7, 569, 398)]
)
def test_top_counts_as_on_paper(share, n, asked):
    assert select_top(np.arange(n), share).sum() == asked


@few
@given(st.permutations(range(12)), st.integers(0, 12), st.integers(0, 5))
def test_top_without_ties_is_a_slice_of_the_order_whatever_the_seed(scores, m, seed):
    best = sorted(range(12), key=lambda i: -scores[i])[:m]
    assert_array_equal(np.flatnonzero(select_top(scores, m / 12, random_state=seed)), sorted(best))


@few
@given(gappy_scores, shares)
def test_nan_is_never_kept_though_it_counts(scores, share):
    known = ~np.isnan(scores)
    asked = int(share * len(scores) + 1e-9)
    if known.sum() < asked:
        with pytest.warns(
            UserWarning,
            match=rf"asks for {asked} of {len(scores)} points, but only {known.sum()} have",
        ):
            kept = select_top(scores, share)
        assert_array_equal(kept, known)
    else:
        kept = select_top(scores, share)
        assert kept.sum() == asked
    assert not kept[~known].any()


def test_ties_at_the_cut_are_drawn_evenly_and_only_there():
    scores = np.array([0.9, 0.5, 0.5, 0.5, 0.5, 0.1])
    kept = np.array([select_top(scores, 0.5, random_state=seed) for seed in range(2000)])
    assert_array_equal(kept.mean(axis=0)[[0, 5]], [1, 0])
    assert_allclose(kept.mean(axis=0)[1:5], 0.5, atol=0.05)  # 4.5 standard errors
    assert_array_equal(select_top(scores, 0.5), select_top(scores, 0.5, random_state=0))


@few
@given(gappy_scores, st.floats(0, 1))
def test_above_is_strict(scores, threshold):
    assert select_above(scores, threshold).tolist() == [bool(score > threshold) for score in scores]


def test_kinds_of_scores():
    expected = [False, True, True, False]
    nullable = pd.Series([0.1, 0.9, 0.5, None], dtype="Float64", index=list("abcd"))
    for scores in (
        [0.1, 0.9, 0.5, None],
        (0.1, 0.9, 0.5, np.nan),
        pd.Series([0.1, 0.9, 0.5, np.nan]),
        nullable,
    ):
        assert_array_equal(select_top(scores, 0.5), expected)
        assert_array_equal(select_above(scores, 0.4), expected)
    assert_array_equal(select_top([-np.inf, np.inf, 0.0, np.nan], 0.75), [True, True, True, False])


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: select_top([1.0], 70),
            ValueError,
            r"share=70.0 must lie between 0 and 1; 0.7 keeps",
        ),
        (lambda: select_top([1.0], np.nan), ValueError, r"share=nan"),
        (lambda: select_top([1.0], "most"), TypeError, r"share='most' must be a number"),
        (lambda: select_top([1.0], True), TypeError, r"share=True"),
        (
            lambda: select_top([[1.0, 2.0]], 0.5),
            ValueError,
            r"scores must be one flat .* its shape is \(1, 2\)",
        ),
        (
            lambda: select_top(["sure"], 0.5),
            ValueError,
            r"scores must be one flat sequence of numbers.*sure",
        ),
        (lambda: select_above([1.0], None), TypeError, r"threshold=None"),
        (lambda: select_above([1.0], np.nan), ValueError, r"threshold=nan keeps nothing"),
    ],
)
def test_errors_of_the_plain_rules(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


# The adaptive rule.


def noisy():
    """Two blobs in uniform noise, which is scored last.

    The rims of the blobs first, so that the best lies inside.
    """
    blobs = make_blobs([80, 80], centers=[[0, 0], [4, 0]], cluster_std=0.5, random_state=0)[0]
    X = np.vstack([blobs, np.random.default_rng(0).uniform(-4, 8, (41, 2))])
    distance = np.minimum(np.linalg.norm(X, axis=1), np.linalg.norm(X - [4, 0], axis=1))
    return X, np.where(distance < 1.5, 1 + distance, np.exp(-distance))


def quiet(*args, **options):
    """`select_adaptive` where an edge of the grid is no surprise."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The coverage chosen")
        return select_adaptive(*args, **options)


def plain_loop(X, scores, k, coverages, seeds, *, init="k-means++", proxy=False, macro=False):
    """Mean silhouettes (coverages, seeds), by scikit-learn alone but for the proxy.

    Scores without ties.
    """
    curve = []
    for c in coverages:
        m = round(round(c * len(X), 9))
        Y = X[np.sort(np.argsort(scores)[len(X) - m :])]
        row = []
        for seed in seeds:
            model = KMeans(k, init=init, n_init=1, random_state=seed).fit(Y)
            labels = model.labels_
            if proxy:
                near = np.sort(model.transform(Y), axis=1)
                s = (near[:, 1] - near[:, 0]) / near[:, 1]
            else:
                s = silhouette_samples(Y, labels)
            row.append(np.mean([s[labels == j].mean() for j in range(k)]) if macro else s.mean())
        curve.append(row)
    return np.array(curve)


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("geometry", ["exact", "centroid"])
@pytest.mark.parametrize("average", ["plain", "macro"])
def test_adaptive_is_the_plain_loop(init, geometry, average):
    X, scores = noisy()
    seeds = [123, 124, 125]
    clusterer = "kmeans" if init == "k-means++" else "kmeans-random"
    refit = CAKE(3, clusterer=clusterer, random_state=seeds, geometry=geometry, n_jobs=1)
    found = quiet(X, scores, refit, average=average)
    curve = plain_loop(
        X,
        scores,
        3,
        COVERAGES,
        seeds,
        init=init,
        proxy=geometry == "centroid",
        macro=average == "macro",
    )
    assert_allclose(found.by_restart, curve, atol=1e-9)
    assert_allclose(found.silhouettes, curve.mean(axis=1), atol=1e-9)
    best = int(curve.mean(axis=1).argmax())
    assert found.coverage == COVERAGES[best]
    assert_array_equal(
        np.flatnonzero(found.mask), np.sort(np.argsort(-scores)[: found.sizes[best]])
    )
    assert found.geometry == geometry
    assert_array_equal(found.to_frame()[["restart_0", "restart_1", "restart_2"]], found.by_restart)


def test_record_and_frame():
    X, scores = noisy()
    found = select_adaptive(X, scores, 2, n_restarts=2)
    frame = found.to_frame()
    assert frame.columns.tolist() == [
        "coverage",
        "size",
        "silhouette",
        "restart_0",
        "restart_1",
        "chosen",
    ]
    assert_array_equal(
        frame["coverage"], [0.40, 0.45, 0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90]
    )
    assert_array_equal(frame["silhouette"], frame[["restart_0", "restart_1"]].mean(axis=1))
    assert frame.loc[frame["chosen"], "coverage"].tolist() == [found.coverage]
    assert frame.loc[frame["chosen"], "size"].tolist() == [found.mask.sum()]
    assert frame["silhouette"].idxmax() == frame.index[frame["chosen"]][0]
    assert 0.4 < found.coverage < 0.9
    assert repr(found) == (
        f"<AdaptiveSelection: {found.mask.sum()} of {len(X)} points kept, coverage "
        f"{found.coverage:g}; mask, to_frame(), …>"
    )
    with pytest.raises(AttributeError):
        found.coverage = 0.5


def test_sizes_are_rounded_half_to_even_on_paper_not_in_binary():
    X = np.random.default_rng(0).normal(size=(45, 2))
    # 0.7 · 45 is 31.499999999999996 in floating point, and 31.5 rounds to 32; 0.5 · 45 = 22.5
    # rounds to 22
    found = quiet(X, np.arange(45), 2, coverages=[0.7, 0.5, 0.9, 0.7], n_restarts=1)
    assert found.coverages.tolist() == [0.5, 0.7, 0.9]
    assert found.sizes.tolist() == [22, 32, 40]


def test_equal_silhouettes_keep_more_points():
    X = np.repeat([[0.0, 0.0], [3.0, 4.0]], 10, axis=0)  # silhouette 1 at every coverage
    scores = np.tile(np.arange(10), 2)
    found = quiet(X, scores, 2, coverages=[0.4, 0.6, 0.8])
    assert_array_equal(found.silhouettes, 1)
    assert found.coverage == 0.8


@pytest.mark.parametrize(
    ("name", "k", "retained"),
    [("S2", 3, 2100), ("S4", 4, 1200), ("S6", 3, 2800), ("Bc", 2, 228), ("Dg", 10, 719)],
)
def test_the_authors_choice(name, k, retained):
    """adaptive_filtering.csv and adaptive_filtering_notebook_only.csv, column `retained`."""
    X = paper_set(name)[0]
    random_init = CAKE(k, clusterer="kmeans-random", geometry="centroid", n_jobs=1)
    scores = random_init.set_params(random_state=list(range(20))).fit(X).scores_
    refit = random_init.set_params(random_state=[123, 124, 125])
    assert quiet(X, scores, refit).mask.sum() == retained


def test_warns_at_the_edges_of_the_grid():
    # Four wide overlapping clusters: the fewer points, the higher the silhouette.
    X = paper_set("S4")[0][::5]
    scores = CAKE(4, n_runs=5, random_state=0, n_jobs=1).fit(X).scores_
    with pytest.warns(
        UserWarning, match=r"coverage chosen, 0.4, is the smallest of the grid.*smaller ones"
    ) as told:
        select_adaptive(X, scores, 4)
    assert told[0].filename == __file__
    X, scores = noisy()
    with pytest.warns(
        UserWarning, match=r"coverage chosen, 0.5, is the largest of the grid.*larger ones"
    ):
        select_adaptive(X, -scores, 2, coverages=[0.3, 0.4, 0.5])  # the noise first
    select_adaptive(X, -scores, 2, coverages=[0.2, 1.0])  # nothing lies beyond 1
    select_adaptive(X, scores, 2, coverages=[0.5])  # there was no choice


def test_points_without_a_score():
    X, scores = noisy()
    scores[:60] = np.nan
    with pytest.warns(
        UserWarning, match=r"Only 141 of 201 points have a score.*\[0.75, 0.9\] are left out"
    ):
        found = quiet(X, scores, 2, coverages=[0.4, 0.5, 0.6, 0.75, 0.9])
    assert found.coverages.tolist() == [0.4, 0.5, 0.6]
    assert not found.mask[:60].any()
    with pytest.raises(
        ValueError, match=r"coverages=0.8 keeps 161 points and only 141 of 201 have a score"
    ):
        select_adaptive(X, scores, 2, coverages=[0.8])


@few
@given(st.integers(0, 1000))
def test_ties_are_broken_once_for_all_coverages(seed):
    X = np.arange(12.0)[:, None] ** 2
    scores = np.repeat([1.0, 0.5, 0.0], 4)
    refit = CAKE(2, random_state=seed, n_jobs=1)
    # One coverage at a time: the cuts fall among the four points of score 0.5.
    masks = [quiet(X, scores, refit, coverages=[m / 12], n_restarts=1).mask for m in (6, 7, 8)]
    assert [mask.sum() for mask in masks] == [6, 7, 8]
    assert (masks[0] <= masks[1]).all()
    assert (masks[1] <= masks[2]).all()


def test_any_clusterer_kind_of_data_and_number_of_threads():
    X, scores = noisy()
    coverages = [0.5, 0.6, 0.7]
    by_name = quiet(X, scores, 2, coverages=coverages)
    for refit in (
        CAKE(2, random_state=0, n_jobs=2),
        CAKE(clusterer=KMeans(2, n_init=1), random_state=0),
    ):
        assert_array_equal(
            by_name.by_restart, quiet(X, scores, refit, coverages=coverages).by_restart
        )
    framed = quiet(pd.DataFrame(X), pd.Series(scores), 2, coverages=coverages)
    assert_array_equal(by_name.mask, framed.mask)
    thin = quiet(sparse.csr_matrix(X), scores, 2, coverages=coverages)
    assert_allclose(by_name.by_restart, thin.by_restart, atol=1e-9)
    linkage = CAKE(2, clusterer="agglomerative")
    linked = quiet(X, scores, linkage, n_restarts=1, coverages=coverages)
    Y = X[select_top(scores, 0.7)]
    expected = silhouette_samples(Y, AgglomerativeClustering(2).fit_predict(Y)).mean()
    assert select_top(scores, 0.7).sum() == 140
    alone = quiet(X, scores, linkage, coverages=[140 / 201], n_restarts=1)
    assert_allclose(alone.silhouettes, [expected], atol=1e-9)
    assert linked.by_restart.shape == (3, 1)


def test_refits_and_silhouettes_use_the_metric_of_the_estimator():
    X, scores = noisy()
    city = CAKE(2, clusterer="agglomerative", metric="manhattan")
    found = quiet(X, scores, city, coverages=[140 / 201], n_restarts=1)
    Y = X[select_top(scores, 0.7)]
    linkage = AgglomerativeClustering(2, metric="manhattan", linkage="average")
    labels = linkage.fit_predict(Y)
    expected = silhouette_samples(Y, labels, metric="manhattan").mean()
    assert_allclose(found.silhouettes, [expected], atol=1e-9)


@pytest.mark.parametrize("average", ["plain", "macro"])
def test_points_that_a_refit_leaves_out_do_not_count(average):
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [100.0]])
    labels = np.array([0, 0, 0, 1, 1, -1])
    s = silhouette_samples(X[:5], labels[:5])
    expected = s.mean() if average == "plain" else (s[:3].mean() + s[3:].mean()) / 2

    def refit(Y, rng):
        return labels

    options = {"coverages": [1.0], "n_restarts": 2, "average": average}
    found = select_adaptive(X, np.arange(6), CAKE(clusterer=refit), **options)
    assert_allclose(found.by_restart, expected)
    nobody = CAKE(clusterer=lambda Y, rng: np.full(6, -1))
    nothing = select_adaptive(X, np.arange(6), nobody, **options)
    assert_array_equal(nothing.by_restart, 0)


def test_auto_geometry_is_settled_once(monkeypatch):
    monkeypatch.setattr("clustertrust.geometry.auto.EXACT_POINTS", 150)
    X, scores = noisy()
    auto = quiet(X, scores, 2, coverages=[0.5, 0.9])  # 100 and 181 points, of 201
    assert auto.geometry == "rms"
    assert_array_equal(
        auto.by_restart,
        quiet(X, scores, CAKE(2, geometry="rms", random_state=0), coverages=[0.5, 0.9]).by_restart,
    )


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"average": "median"},
            ValueError,
            r"average='median' is not known; choose one of \['macro', 'plain'\]",
        ),
        ({"cake": CAKE(2, geometry="round")}, ValueError, r"geometry='round' is not known"),
        ({"cake": CAKE(2, clusterer="k")}, ValueError, r"clusterer='k' is not known"),
        ({"coverages": []}, ValueError, r"coverages is empty"),
        (
            {"coverages": [0.5, 70]},
            ValueError,
            r"coverages=\[0.5, 70.0\] must be above 0 and at most 1",
        ),
        ({"coverages": [np.nan]}, ValueError, r"coverages=\[nan\]"),
        ({"coverages": 0.5}, TypeError, r"coverages=0.5 must be a sequence"),
        ({"coverages": "all"}, TypeError, r"coverages='all' must be a sequence"),
        ({"coverages": [0.001]}, ValueError, r"coverages=0.001 keeps 0 of 201 points; at least 2"),
        ({"n_restarts": 0}, ValueError, r"n_restarts=0 must be at least 1"),
        ({"cake": CAKE(2, random_state=[1, 2])}, ValueError, r"random_state has 2 seeds"),
        ({"cake": 50, "coverages": [0.2]}, ValueError, r"n_clusters=50 is more than the 40 points"),
        ({"cake": CAKE(2, resample=0.8)}, ValueError, r"resample=0.8 is not used: re-fits"),
        ({"cake": CAKE(2, metric="precomputed")}, ValueError, r"has no coordinates of points"),
        ({"cake": KMeans(2)}, TypeError, r"cake=KMeans.* must be a number of clusters or a CAKE"),
        ({"scores": [0.5] * 200}, ValueError, r"X has 201 points and scores has 200"),
    ],
)
def test_errors_of_the_adaptive_rule(options, kind, message):
    X, scores = noisy()
    arguments = {"scores": scores, "cake": 2} | options
    with pytest.raises(kind, match=message):
        select_adaptive(X, **arguments)
