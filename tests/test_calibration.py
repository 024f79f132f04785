"""Calibration against scikit-learn and by hand.

The guarantee by exact enumeration and by simulation.
"""

import pickle
import re
import warnings

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from calibrating import drawn
from extras import extra
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.base import clone
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from strategies import few
from test_examples import load

from clustertrust import CAKE
from clustertrust.calibration import (
    Calibrator,
    brier_score,
    expected_calibration_error,
    map_clusters,
    pseudo_labels,
    reliability,
    risk_threshold,
    sample_weight,
    suggest,
)
from clustertrust.calibration.calibrator import ENOUGH
from clustertrust.calibration.sampling import deal
from clustertrust.displays import ReliabilityDisplay
from clustertrust.evaluation import correctness

figure = extra("matplotlib.figure")

labelled = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=40)


# Calibrator


@pytest.mark.parametrize("weights", [np.ones(150), np.geomspace(0.1, 10, 150)])
def test_logistic_is_the_penalty_free_regression_on_platts_targets(weights):
    # So that weights rise with the score.
    s, right = (column[np.argsort(drawn(150)[0])] for column in drawn(150))
    N = {kind: weights[right == kind].sum() / weights.mean() for kind in (True, False)}
    target = np.where(right, (N[True] + 1) / (N[True] + 2), 1 / (N[False] + 2))
    oracle = LogisticRegression(C=1e12, tol=1e-10, max_iter=10_000).fit(
        np.tile(s, 2)[:, None],
        np.repeat([1, 0], len(s)),
        sample_weight=np.append(weights * target, weights * (1 - target)),
    )
    new = np.linspace(0, 1, 21)
    found = Calibrator("logistic").fit(s, right, sample_weight=weights).predict(new)
    assert_allclose(found, oracle.predict_proba(new[:, None])[:, 1], atol=1e-4)
    assert np.ptp(found) > 0.05


def test_isotonic_is_scikit_learns():
    s, right = drawn(400)
    oracle = IsotonicRegression(out_of_bounds="clip").fit(s, right)
    new = np.linspace(-0.1, 1.1, 50)
    assert_allclose(Calibrator("isotonic").fit(s, right).predict(new), oracle.predict(new))


@few
@given(labelled, st.sampled_from(["logistic", "isotonic"]))
def test_probabilities_rise_with_the_score(points, method):
    s, right = (np.array(column) for column in zip(*points, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scores that rank the wrong way round
        p = Calibrator(method).fit(s, right).predict(np.linspace(0, 1, 30))
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p) >= -1e-12).all()


@pytest.mark.parametrize("method", ["logistic", "isotonic"])
def test_a_weight_is_a_repetition(method):
    s, right = drawn(60)
    times = np.random.default_rng(1).integers(0, 4, 60)
    weighted = Calibrator(method).fit(s, right, sample_weight=times)
    repeated = Calibrator(method).fit(np.repeat(s, times), np.repeat(right, times))
    new = np.linspace(0, 1, 11)
    # Platt's targets count the labels there are, not what they stand for, so logistic curves differ
    # a little.
    assert_allclose(
        weighted.predict(new), repeated.predict(new), atol=1e-9 if method == "isotonic" else 0.02
    )


def test_auto_takes_the_shape_from_the_data_only_with_enough_labels():
    s, right = drawn(ENOUGH)
    assert Calibrator().fit(s, right).method_ == "isotonic"
    fewer = Calibrator().fit(s, [None, *right[1:].tolist()])
    assert (fewer.method_, fewer.n_labels_) == ("logistic", ENOUGH - 1)
    assert Calibrator("logistic").fit(s, right).method_ == "logistic"


def test_labels_that_are_all_right_give_no_certainty():
    p = Calibrator("logistic").fit(np.linspace(0, 1, 8), [True] * 8).predict([0.0, 0.5, 1.0])
    assert_allclose(p, 9 / 10, atol=1e-6)


def test_scores_that_rank_the_wrong_way_round_are_told():
    with pytest.warns(
        UserWarning, match=r"higher scores are not right more often.*probability 0\.5"
    ):
        p = (
            Calibrator("logistic")
            .fit([0.1, 0.2, 0.8, 0.9], [True, True, False, False])
            .predict([0.0, 1.0])
        )
    assert_allclose(p, 0.5)


def test_missing_scores_and_labels_are_left_out():
    s, right = drawn(50)
    plain = Calibrator().fit(s, right)
    gappy = Calibrator().fit([*s, np.nan, 0.5], pd.array([*right, True, None], dtype="boolean"))
    assert_allclose(gappy.predict([0.3, np.nan]), [plain.predict([0.3])[0], np.nan])
    assert np.isnan(gappy.predict([np.nan])).all()


def test_a_calibrator_clones_and_pickles():
    s, right = drawn(300)
    for method in ("logistic", "isotonic"):
        fitted = Calibrator(method).fit(s, right)
        assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(s), fitted.predict(s))
        assert clone(fitted).get_params() == {"method": method}
        assert not hasattr(clone(fitted), "method_")


@pytest.mark.parametrize(("n", "bound"), [(100, 0.06), (1000, 0.04)])
def test_calibrated_probabilities_hold_on_other_points_and_scores_do_not(n, bound):
    s, right = drawn(6000, seed=3, slope=12.0)
    p = Calibrator().fit(s[:n], right[:n]).predict(s[n:])
    assert expected_calibration_error(p, right[n:]) < bound
    assert expected_calibration_error(s[n:], right[n:]) > 0.1
    assert brier_score(p, right[n:]) < brier_score(s[n:], right[n:])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2], [True]), "scores has 2 points and correct has 1"),
        (([0.1, 0.2], [True, "yes"]), "correct has 'yes' at position 1"),
        (([0.1, 0.2], [0, 2]), "correct has .*2.* at position 1"),
        (([0.1, 0.2], [None, None]), "give at least one label"),
        (([0.1, 0.2], [True, False], [1.0, -1.0]), "sample_weight must be 2 finite numbers"),
        (([np.inf, 0.2], [True, False]), "go up to inf; give finite numbers"),
    ],
)
def test_bad_labels_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Calibrator().fit(*arguments)


def test_an_unknown_method_is_an_error():
    with pytest.raises(
        ValueError,
        match=r"method='beta' is not known; choose one of \['auto', 'isotonic', 'logistic'\]",
    ):
        Calibrator("beta").fit([0.1], [True])


# Measures


@few
@given(labelled, st.integers(1, 12), st.sampled_from(["quantile", "uniform"]))
def test_bins_hold_neighbours_and_are_averaged(points, n_bins, strategy):
    p, right = (np.array(column) for column in zip(*sorted(points), strict=True))
    found = reliability(p, right, n_bins=n_bins, strategy=strategy)
    ends = np.cumsum(found.counts)
    parts = [slice(end - count, end) for end, count in zip(ends, found.counts, strict=True)]
    assert ends[-1] == len(p)
    assert len(parts) <= n_bins
    assert_allclose(found.predicted, [p[part].mean() for part in parts])
    assert all(p[end - 1] < p[end] for end in ends[:-1])  # equal probabilities are in one bin
    if strategy == "uniform":
        assert all(int(p[part][0] * n_bins) >= int(p[part][-1] * n_bins - 1e-9) for part in parts)
    else:
        assert (found.counts >= len(p) / n_bins / 2 - 1e-9).all()
    hits = np.add.reduceat(right, ends - found.counts, dtype=int)
    # Otherwise the right ones of a tie may have been sorted into another bin here.
    same = len(set(p)) == len(p)
    if same or len(parts) == 1:
        assert_allclose(found.observed, hits / found.counts)
    gap = sum(abs(found.observed - found.predicted) * found.counts) / len(p)
    assert found.expected_calibration_error == pytest.approx(gap)
    assert ((found.low <= found.observed) & (found.observed <= found.high)).all()
    assert found.brier_score == pytest.approx(np.mean((p - right) ** 2))


def test_bins_by_hand():
    p, right = [0.1, 0.2, 0.2, 0.2, 0.6, 0.7, 0.8, 0.9, 0.9], [0, 0, 1, 0, 1, 0, 1, 1, 1]
    found = reliability(p, right, n_bins=3)
    assert found.counts.tolist() == [4, 3, 2]
    assert_allclose(found.observed, [1 / 4, 2 / 3, 1])
    assert_allclose(found.predicted, [0.175, 0.7, 0.9])
    assert found.expected_calibration_error == pytest.approx(
        (4 * 0.075 + 3 * (0.7 - 2 / 3) + 2 * 0.1) / 9
    )
    assert reliability(p, right, n_bins=4).counts.tolist() == [4, 3, 2]
    assert reliability(np.arange(10) / 10, np.ones(10), n_bins=3).counts.tolist() == [4, 4, 2]
    assert reliability(np.arange(9) / 10, np.ones(9), n_bins=4).counts.tolist() == [3, 3, 3]
    assert reliability(np.arange(7) / 10, np.ones(7), n_bins=3).counts.tolist() == [3, 4]


def test_measures_agree_with_scikit_learn():
    p, right = drawn(500)
    assert brier_score(p, right) == pytest.approx(brier_score_loss(right, p))
    observed, predicted = calibration_curve(right, p, n_bins=8, strategy="uniform")
    found = reliability(p, right, n_bins=8, strategy="uniform")
    assert_allclose(found.observed, observed)
    assert_allclose(found.predicted, predicted)
    assert found.to_frame().shape == (8, 5)


def test_intervals_are_clopper_and_pearsons():
    found = reliability(np.full(20, 0.5), np.arange(20) < 4)
    assert binom.sf(3, 20, found.low[0]) == pytest.approx(0.025)
    assert binom.cdf(4, 20, found.high[0]) == pytest.approx(0.025)
    none = reliability(np.full(20, 0.5), np.zeros(20))
    assert none.low[0] == 0.0
    assert binom.cdf(0, 20, none.high[0]) == pytest.approx(0.025)


def test_what_is_no_probability_is_an_error():
    with pytest.raises(
        ValueError, match=r"probability has .*1\.5.*; probabilities lie from 0 to 1"
    ):
        brier_score([0.5, 1.5], [True, False])
    with pytest.raises(ValueError, match="nothing to compare"):
        reliability([np.nan], [True])


def test_the_display_draws_the_bins():
    s, right = drawn(900)
    calibrator = Calibrator().fit(s[:300], right[:300])
    display = ReliabilityDisplay.from_calibrator(
        calibrator, s[300:], right[300:], n_bins=5, ax=figure.Figure().add_subplot()
    )
    line = display.points_.lines[0]
    found = reliability(calibrator.predict(s[300:]), right[300:], n_bins=5)
    assert_allclose(line.get_xdata(), found.predicted)
    assert_allclose(line.get_ydata(), found.observed)
    assert (
        f"isotonic: ECE {found.expected_calibration_error:.3f}"
        in display.ax_.get_legend().get_texts()[0].get_text()
    )
    assert display.plot(display.ax_) is display
    with pytest.raises(TypeError, match="must be what"):
        ReliabilityDisplay.from_reliability([1, 2])


# Suggestions


@pytest.mark.parametrize("design", ["random", "stratified"])
def test_points_are_drawn_with_the_probability_told(design):
    s = np.append(np.random.default_rng(0).uniform(size=60), np.nan)
    times = np.zeros(61)
    for seed in range(1500):
        sample = suggest(s, 15, design=design, exclude=[3, 4], random_state=seed)
        assert np.unique(sample.positions).size == 15
        times[sample.positions] += 1
    assert sample.inclusion.sum() == pytest.approx(15)
    assert_array_equal(sample.inclusion[[3, 4, 60]], 0)
    assert_array_equal(times[[3, 4, 60]], 0)
    spread = np.sqrt(sample.inclusion * (1 - sample.inclusion) / 1500)
    assert (np.abs(times / 1500 - sample.inclusion) <= 4.5 * spread + 1e-12).all()
    assert_allclose(sample.weights, 1 / sample.inclusion[sample.positions])


def test_bands_have_more_labels_where_scores_are_high():
    s = np.random.default_rng(0).uniform(size=500)
    sample = suggest(s, 150, design="stratified")
    bands = np.argsort(np.argsort(s))[sample.positions] // 100
    assert np.bincount(bands).tolist() == [10, 20, 30, 40, 50]


@few
@given(st.integers(5, 60), st.lists(st.integers(1, 20), min_size=5, max_size=5))
def test_all_that_there_is_to_deal_is_dealt(m, room):
    room = np.array(room)
    if m <= room.sum():
        dealt = deal(m, np.arange(1, 6), room)
        assert dealt.sum() == m
        assert ((dealt >= 1) & (dealt <= room)).all()


def test_a_review_takes_the_least_sure_first_and_ties_at_random():
    assert suggest([0.9, 0.1, np.nan, 0.5, 0.0], 3, "review").positions.tolist() == [4, 1, 3]
    first = {
        suggest(np.zeros(5), 1, "review", random_state=seed).positions[0] for seed in range(30)
    }
    assert len(first) > 2


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0.1, 0.2], 3), {}, "n=3 labels were requested, but only 2 points can be drawn"),
        (([0.1, 0.2], 0), {}, "n=0 must be at least 1"),
        (([0.1, 0.2], 1, "teach"), {}, "purpose='teach' is not known"),
        (([0.1, 0.2], 1), {"design": "systematic"}, "design='systematic' is not known"),
        (([0.1, 0.2], 1), {"design": "stratified"}, "cannot be divided among 5 bands"),
        (([0.1, 0.2], 1, "review"), {"design": "stratified"}, "is for purpose='threshold'"),
        (([0.1, 0.2], 1), {"exclude": [2]}, "exclude has 2; positions of 2 points run from 0 to 1"),
        (([0.1, 0.2], 1), {"exclude": [0.5]}, "exclude must be one flat sequence of integers"),
        (([0.1, 0.2], 1), {"exclude": [0, 0]}, "more than once"),
    ],
)
def test_bad_suggestions_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        suggest(*arguments, **options)


# Clusters and classes


def test_matching_all_classes_is_the_papers_correctness():
    X, y = load_iris(return_X_y=True)
    labels = CAKE(3, random_state=0).fit(X).labels_
    found = map_clusters(labels, y, method="matching")
    assert_array_equal(found.assign() == y, correctness(labels, y))


def test_clusters_share_a_class_by_majority_and_not_by_matching():
    labels, classes = [0, 0, 0, 1, 2, 2, 2], ["a", "a", "a", "a", "b", "b", "a"]
    found = map_clusters(labels, classes)
    assert found.names == {0: "a", 1: "a", 2: "b"}
    assert found.shares == {0: 1.0, 1: 1.0, 2: pytest.approx(2 / 3)}
    with pytest.warns(UserWarning, match=r"Clusters \[1\] have no class"):
        matched = map_clusters(labels, classes, method="matching")
    assert matched.names == {0: "a", 2: "b"}


def test_labels_that_made_the_map_cannot_judge_it():
    labels = np.repeat(["x", "y"], 50)
    first = suggest(np.linspace(0, 1, 100), 10)
    truth = np.where(np.arange(100) < 45, "cat", "dog")
    found = map_clusters(labels, truth[first.positions], first.positions)
    assert_array_equal(found.used, first.positions)
    with pytest.raises(
        ValueError, match=rf"10 of the positions, such as {first.positions[0]}, made this map"
    ):
        found.correct(first.positions, truth[first.positions])
    other = suggest(np.linspace(0, 1, 100), 30, exclude=found.used)
    right = found.correct(other.positions, truth[other.positions])
    assert_array_equal(right, (other.positions < 45) | (other.positions >= 50))
    assert risk_threshold(np.linspace(0, 1, 100), right, 0.2, sample=other).n_points == 90


def test_a_map_by_hand_uses_up_no_labels():
    found = map_clusters([0, 1, -1], {0: "a", 1: "b"})
    assert found.used.size == 0
    assert found.assign().tolist() == ["a", "b", None]
    assert found.correct([0, 1, 2], ["a", "a", "a"]).tolist() == [True, False, False]
    with pytest.warns(UserWarning, match=r"Clusters \[1\] have no class in the map"):
        assert map_clusters([0, 1], {0: "a"}).correct([1], ["b"]).tolist() == [False]


def test_classes_may_be_of_any_kind_and_missing():
    found = map_clusters(["x", "x", None, "y"], pd.Series(["a", None, "b", "c"], dtype="category"))
    assert found.names == {"x": "a", "y": "c"}
    # A class of a point without a cluster is used up as well.
    assert found.used.tolist() == [0, 2, 3]
    # A negative number is a class, as in S3.
    assert map_clusters([0, 1], [-1, 5]).names == {0: -1, 1: 5}


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [5]), {}, "labels has 2 points and classes has 1"),
        (([0, 1], [5], [0, 1]), {}, "positions has 2 points and classes has 1"),
        (([0, 1], [5], [2]), {}, "positions has 2; positions of 2 points"),
        (([0, 1], [None, None]), {}, "not known for any point that has a cluster"),
        (([0, 1], [[5, 6]]), {}, "one flat sequence"),
        (([0, 1], {2: "a"}), {}, "names the cluster 2, which labels do not have"),
        (([0, 1], {0: "a"}, [0]), {}, "classes is a dict, which needs no positions"),
        (([0, 1], [5, 6]), {"method": "best"}, "method='best' is not known"),
    ],
)
def test_bad_maps_are_named(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        map_clusters(*arguments, **options)


def test_a_judged_point_needs_a_class():
    with pytest.raises(ValueError, match="classes is missing for position 1"):
        map_clusters([0, 0], {0: "a"}).correct([0, 1], ["a", None])


# Training


@few
@given(
    st.lists(st.tuples(st.integers(-1, 3), st.floats(0, 1)), min_size=2, max_size=40),
    st.floats(0.05, 1),
)
def test_a_share_is_of_each_cluster(points, share):
    labels, scores = (np.array(column) for column in zip(*points, strict=True))
    kept = pseudo_labels(labels, scores, share=share)
    assert ((kept == labels) | (kept == -1)).all()
    for cluster in set(labels[labels >= 0]):
        of = labels == cluster
        asked = max(1, int(share * of.sum() + 1e-9))
        assert (kept[of] >= 0).sum() == asked
        assert scores[of & (kept >= 0)].min() >= np.max(scores[of & (kept < 0)], initial=0)


def test_a_cluster_that_is_lost_is_told():
    with pytest.warns(
        UserWarning, match=r"No point of the clusters \['b'\] scores above threshold=0\.5"
    ):
        kept = pseudo_labels(["a", "a", "b", None], [0.9, np.nan, 0.2, 0.9], threshold=0.5)
    assert kept.tolist() == ["a", -1, -1, -1]
    assert pseudo_labels([0, 0, 1], [0.1, np.nan, np.nan], share=0.5).tolist() == [0, -1, -1]


def test_classifiers_take_pseudo_labels_and_weights():
    X, y = make_blobs(300, centers=3, cluster_std=1.2, random_state=4)
    cake = CAKE(3, random_state=0).fit(X)
    labels = pseudo_labels(cake.labels_, cake.scores_, share=0.3)
    for model in (SelfTrainingClassifier(GaussianNB()), LabelSpreading()):
        assert correctness(model.fit(X, labels).predict(X), y).mean() > 0.9
    text = pseudo_labels(np.array(["u", "v", "w"])[cake.labels_], cake.scores_, share=0.3)
    assert set(SelfTrainingClassifier(GaussianNB()).fit(X, text).predict(X)) == {"u", "v", "w"}
    weights = sample_weight(cake.scores_)
    assert weights.mean() == pytest.approx(1)
    for model in (LogisticRegression(), RandomForestClassifier(20, random_state=0), GaussianNB()):
        assert (
            correctness(model.fit(X, cake.labels_, sample_weight=weights).predict(X), y).mean()
            > 0.9
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give exactly one of them"),
        ({"threshold": 0.5, "share": 0.5}, "give exactly one of them"),
        ({"share": 0}, "share=0 must be above 0"),
        ({"share": "half"}, "share='half' must be a number"),
        ({"threshold": float("nan")}, "keeps nothing"),
    ],
)
def test_bad_shares_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        pseudo_labels([0, 1], [0.5, 0.6], **options)


@pytest.mark.parametrize("scores", [[0.0, 0.0], [-0.1, 0.5], [np.inf, 1.0], [np.nan, np.nan]])
def test_what_is_no_weight_is_an_error(scores):
    with pytest.raises(ValueError, match="not all 0, to serve as weights"):
        sample_weight(scores)


# Pages


@pytest.mark.parametrize(
    ("example", "page"),
    [("plot_calibration", "calibration"), ("plot_pseudo_labels", "pseudo_labels")],
)
def test_examples_draw_and_pages_show_what_they_drew(example, page, tmp_path, monkeypatch):
    module = load(example)
    monkeypatch.setattr(module, "IMAGES", tmp_path)
    # Two sets and one split are enough here.
    monkeypatch.setattr(module, "SETS", {"S6": 3, "S2": 3}, raising=False)
    monkeypatch.setattr(module, "SPLITS", 1, raising=False)
    module.main()
    drawn_here = {path.name for path in tmp_path.iterdir()}
    text = (module.DOCS / "howto" / f"{page}.md").read_text()
    shown = set(re.findall(r"\(\.\./images/([^)]+)\)", text))
    assert shown
    assert shown <= drawn_here
