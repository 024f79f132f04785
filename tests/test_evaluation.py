"""Measures against scikit-learn, plain loops, averages over orders of ties, and the paper's printed
rows.
"""

from itertools import pairwise, permutations

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from papersets import paper_set
from scipy.stats import spearmanr, ttest_1samp
from sklearn import metrics
from sklearn.cluster import KMeans
from sklearn.exceptions import UndefinedMetricWarning
from strategies import few

from clustertrust.evaluation import (
    accuracy_by_bin,
    agreement_with_truth,
    auprc,
    aurc,
    auroc,
    correctness,
    coverage_accuracy_curve,
    error_precision,
    percentile_correlation,
    risk_coverage_curve,
    score_quality,
    student_interval,
    subset_silhouette,
)


@st.composite
def labelled(draw):
    """Labels, -1 among them, and classes of the same points; more or fewer classes than clusters."""
    n = draw(st.integers(2, 12))
    return (
        draw(arrays(np.int64, n, elements=st.integers(-1, 3))),
        draw(arrays(np.int64, n, elements=st.integers(-1, 3))),
    )


@st.composite
def scored(draw, *, ties=True, min_size=2, max_size=30):
    """Scores, with ties or without, and which points are right."""
    n = draw(st.integers(min_size, max_size))
    if ties:
        scores = draw(arrays(np.float64, n, elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])))
    else:
        scores = np.array(draw(st.permutations(range(n)))) / n
    return scores, draw(arrays(np.bool_, n))


# A labelling against the truth


@few
@given(pair=labelled())
def test_accuracy_is_the_best_over_all_ways_to_name_the_clusters(pair):
    labels, truth = pair
    clusters = sorted(set(labels[labels >= 0]))
    names = [*set(truth), *["none"] * len(clusters)]  # clusters may stay without a class
    best = 0
    for chosen in set(permutations(names, len(clusters))):
        name = dict(zip(clusters, chosen, strict=True))
        best = max(
            best,
            sum(name.get(label) == at for label, at in zip(labels, truth.tolist(), strict=True)),
        )
    assert agreement_with_truth(labels, truth, "accuracy") == pytest.approx(best / len(labels))


def test_correctness_matches_once_and_leaves_clusters_over():
    labels = [2, 2, 2, 0, 0, 1, -1, 1]
    truth = ["a", "a", "b", "b", "b", "a", "a", "b"]
    assert_array_equal(
        correctness(labels, truth), [True, True, False, True, True, False, False, False]
    )
    assert agreement_with_truth(labels, truth, "accuracy") == 0.5


def test_a_negative_class_is_a_class_and_never_what_is_not_assigned():
    truth = [-1, -1, 0, 0, 1, 1]
    assert_array_equal(correctness([3, 3, 5, 5, 4, 4], truth), True)
    assert_array_equal(
        correctness([-1, -1, 0, 0, 1, 1], truth), [False, False, True, True, True, True]
    )
    # Two clusters for three classes: the class without a cluster is wrong, whatever its name.
    assert_array_equal(
        correctness([0, 0, 1, 1, 1, 0], [-1, 7, 0, 0, 0, 7]), [False, True, True, True, True, True]
    )


@few
@given(pair=labelled())
def test_indices_are_scikit_learns(pair):
    labels, truth = pair
    expected = {
        "ari": metrics.adjusted_rand_score(truth, labels),
        "ami": metrics.adjusted_mutual_info_score(truth, labels),
        "nmi": metrics.normalized_mutual_info_score(truth, labels),
    }
    found = {name: agreement_with_truth(labels, truth.astype(str), name) for name in expected}
    assert found == pytest.approx(expected, abs=1e-12)


def test_labels_of_any_kind():
    codes, truth = [0, 0, 1, 1, 1], [5, 5, 5, 6, 6]
    words = pd.Series(["x", "x", "y", "y", "y"], index=list("abcde"))
    for metric in ("accuracy", "ari", "ami", "nmi"):
        expected = agreement_with_truth(codes, truth, metric)
        assert 0 < expected < 1
        assert agreement_with_truth(words, pd.Categorical(truth), metric) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["Ir", "Bc"])
def test_subset_silhouette_is_scikit_learns_on_the_subset(name):
    X, y = paper_set(name)
    kept = np.random.default_rng(0).random(len(X)) < 0.7
    assert subset_silhouette(X, y) == pytest.approx(metrics.silhouette_score(X, y), rel=1e-9)
    assert subset_silhouette(pd.DataFrame(X), y, kept) == pytest.approx(
        metrics.silhouette_score(X[kept], y[kept]), rel=1e-9
    )
    some = np.where(np.arange(len(y)) % 5 == 0, -1, y)
    assigned = kept & (some >= 0)
    expected = metrics.silhouette_score(X[assigned], y[assigned])
    assert subset_silhouette(X, some, kept) == pytest.approx(expected, rel=1e-9)


# filtering_kmeans.csv, the rows of all points: mean, lower and upper limit over k-means fits of
# seeds 0 to 9.
PRINTED_FULL = {
    "Ir": {
        "ari": (0.692, 0.6255, 0.7580),
        "ami": (0.728, 0.6907, 0.7651),
        "accuracy": (0.857, 0.7859, 0.9288),
        "silhouette": (0.548, 0.5409, 0.5559),
        "nmi": (0.731, 0.6947, 0.7679),
    },
    "Dg": {
        "ari": (0.630, 0.6032, 0.6568),
        "ami": (0.731, 0.7204, 0.7421),
        "accuracy": (0.747, 0.7153, 0.7785),
        "silhouette": (0.178, 0.1711, 0.1857),
        "nmi": (0.734, 0.7233, 0.7447),
    },
}


@pytest.mark.parametrize("name", PRINTED_FULL)
def test_measures_and_intervals_as_printed(name):
    X, y = paper_set(name)
    k = len(np.unique(y))
    fits = [
        KMeans(k, init="random", n_init=1, random_state=seed).fit(X).labels_ for seed in range(10)
    ]
    for metric, (mean, low, high) in PRINTED_FULL[name].items():
        if metric == "silhouette":
            interval = student_interval([subset_silhouette(X, labels) for labels in fits])
        else:
            interval = student_interval(
                [agreement_with_truth(labels, y, metric) for labels in fits]
            )
        assert interval.mean == pytest.approx(mean, abs=0.0005 + 1e-12), metric
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.00005 + 1e-12), (
            metric
        )


def test_student_interval_is_that_of_the_t_test():
    values = np.random.default_rng(0).normal(3, 2, 12)
    for level in (0.5, 0.95, 0.99):
        expected = ttest_1samp(values, 0.0).confidence_interval(level)
        found = student_interval(values, level=level)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
        assert found.mean == pytest.approx(values.mean())
    assert student_interval([0.5, 0.5]).low == 0.5


# Scores against correctness


def pair_share(scores, right):
    """AUROC by counting pairs."""
    won = [(a > b) + 0.5 * (a == b) for a in scores[right] for b in scores[~right]]
    return np.mean(won)


def stepwise_precision(scores, positive):
    """Average precision by walking down the distinct scores."""
    total = recall = 0.0
    for threshold in sorted(set(scores), reverse=True):
        taken = scores >= threshold
        new = (taken & positive).sum() / positive.sum()
        total += (new - recall) * positive[taken].mean()
        recall = new
    return total


@few
@given(data=scored())
def test_auroc_and_auprc_by_loops(data):
    scores, right = data
    if right.any() and not right.all():
        assert auroc(scores, right) == pytest.approx(pair_share(scores, right), abs=1e-12)
    if right.any():
        assert auprc(scores, right) == pytest.approx(stepwise_precision(scores, right), abs=1e-12)
    if not right.all():
        found = auprc(scores, right, positive="error")
        assert found == pytest.approx(stepwise_precision(-scores, ~right), abs=1e-12)


@pytest.mark.parametrize("right", [True, False])
def test_one_class_only_is_not_defined_and_said(right):
    scores, correct = [0.1, 0.5, 0.7], np.full(3, right)
    with pytest.warns(UndefinedMetricWarning, match=f"{3 * right} of 3 points are right"):
        assert np.isnan(auroc(scores, correct))
    missing, there = ("error", "correct") if right else ("correct", "error")
    with pytest.warns(UndefinedMetricWarning, match=f"positive='{missing}'"):
        assert np.isnan(auprc(scores, correct, positive=missing))
    assert auprc(scores, correct, positive=there) == 1.0


def test_infinite_scores_are_scores():
    assert auroc([-np.inf, 0.0, np.inf], [False, True, True]) == 1.0
    assert error_precision([-np.inf, 0.0, np.inf], [False, True, True], 0.3) == 1.0


def in_every_order(scores, right):
    """Correctness from the surest point to the least sure, for every order of the points of equal
    score.
    """
    orders = {
        tuple(order)
        for order in permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in pairwise(order))
    }
    return [right[list(order)] for order in sorted(orders)]


def plain_aurc(right, n_positions):
    """Trapezoids under the risk at integers evenly spaced from 1 to n."""
    n = len(right)
    sizes = [int(1 + (n - 1) * step / (n_positions - 1)) for step in range(n_positions)]
    risks = [sum(not one for one in right[:m]) / m for m in sizes]
    area = 0.0
    for at in range(1, n_positions):
        area += (risks[at] + risks[at - 1]) / 2 * (sizes[at] - sizes[at - 1]) / n
    return area


@few
@given(data=scored(max_size=6), n_positions=st.integers(2, 9))
def test_ties_give_the_mean_over_all_orders(data, n_positions):
    scores, right = data
    orders = in_every_order(scores, right)
    n = len(scores)
    expected = np.mean([plain_aurc(order, n_positions) for order in orders])
    assert aurc(scores, right, n_positions=n_positions) == pytest.approx(expected, abs=1e-12)
    curve = risk_coverage_curve(scores, right)
    assert_allclose(curve.coverage, np.arange(1, n + 1) / n)
    assert_allclose(
        curve.value,
        np.mean([1 - np.cumsum(o) / np.arange(1, n + 1) for o in orders], axis=0),
        atol=1e-12,
    )
    m = max(1, round(0.4 * n))
    assert error_precision(scores, right, 0.4) == pytest.approx(
        np.mean([1 - order[-m:].mean() for order in orders])
    )
    halves = np.mean(
        [[order[(n + 1) // 2 :].mean(), order[: (n + 1) // 2].mean()] for order in orders], axis=0
    )
    assert_allclose(accuracy_by_bin(scores, right, n_bins=2), halves, atol=1e-12)


@pytest.mark.parametrize("n", [50, 200, 201, 1000, 4321])
def test_aurc_of_many_points_by_loops(n):
    rng = np.random.default_rng(n)
    scores = rng.permutation(n) / n
    right = rng.random(n) < 0.3 + 0.6 * scores
    by_score = right[np.argsort(-scores)]
    assert aurc(scores, right) == pytest.approx(plain_aurc(by_score, 201), abs=1e-12)
    assert len(risk_coverage_curve(scores, right).coverage) == min(n, 201)


def test_stable_ties_take_the_order_of_the_data():
    scores, right = np.zeros(4), np.array([True, True, False, False])
    assert_array_equal(
        risk_coverage_curve(scores, right, ties="stable").value, [0, 0, 1 / 3, 1 / 2]
    )
    assert_array_equal(risk_coverage_curve(scores, right).value, 0.5)
    assert_array_equal(accuracy_by_bin(scores, right, n_bins=2, ties="stable"), [0, 1])
    assert error_precision(scores, right, 0.25, ties="stable") == 1.0
    assert aurc(scores, right, ties="stable") == pytest.approx((1 / 6 + 5 / 12) / 4)


@pytest.mark.parametrize("share", [0.01, 0.02, 0.05, 0.1])
def test_error_precision_of_the_least_sure(share):
    rng = np.random.default_rng(1)
    scores = rng.permutation(430) / 430
    right = rng.random(430) < scores
    m = {0.01: 4, 0.02: 9, 0.05: 22, 0.1: 43}[share]  # round(430 share), half to even
    least = np.argsort(scores)[:m]
    assert error_precision(scores, right, share) == pytest.approx(np.mean(~right[least]))
    # At least one.
    assert error_precision(scores[:5], right[:5], share) == float(not right[scores[:5].argmin()])


def test_bins_are_of_equal_size_and_the_surer_are_the_larger():
    scores = np.arange(23.0)
    right = scores % 2 == 0
    parts = np.split(right, [2, 4, 6, 8, 10, 12, 14, 17, 20])  # seven bins of 2, three of 3
    assert_allclose(accuracy_by_bin(scores, right), [part.mean() for part in parts])


@few
@given(data=scored(min_size=10))
def test_percentile_correlation_is_spearmans(data):
    scores, right = data
    by_bin = np.round(accuracy_by_bin(scores, right), 12)
    if len(set(by_bin)) > 1:
        expected = spearmanr(np.arange(10), by_bin).statistic
        assert percentile_correlation(scores, right) == pytest.approx(expected, abs=1e-12)
    else:
        with pytest.warns(UndefinedMetricWarning, match="in each of 10 bins"):
            assert np.isnan(percentile_correlation(scores, right))


# Scores, labels and the truth


@pytest.fixture(scope="module")
def digits():
    """Scores with ties, labels and classes of the digits."""
    X, y = paper_set("Dg")
    fit = KMeans(10, n_init=1, random_state=0).fit(X)
    return -np.round(fit.transform(X).min(axis=1)), fit.labels_, y


def test_coverage_accuracy_with_one_alignment(digits):
    scores, labels, y = digits
    right = correctness(labels, y)
    curve = coverage_accuracy_curve(scores, labels, y)
    every = risk_coverage_curve(scores, right, n_positions=len(y))
    m = np.array([round(len(y) * tenths / 10) for tenths in range(1, 11)])
    assert_allclose(curve.coverage, m / len(y))
    assert_allclose(curve.value, 1 - every.value[m - 1])
    assert curve.value[-1] == pytest.approx(right.mean())


def test_aligning_anew_can_only_raise_the_accuracy(digits):
    _, labels, y = digits
    # The surest: two mixed classes.
    scores = np.where(np.isin(y, [1, 8]), 1.0, 0.0) + np.linspace(0, 0.1, len(y))
    once = coverage_accuracy_curve(scores, labels, y)
    anew = coverage_accuracy_curve(scores, labels, y, alignment="subset")
    assert (anew.value >= once.value - 1e-12).all()
    assert anew.value[0] > once.value[0] + 0.01
    order = np.argsort(-scores, kind="stable")
    for coverage, value in zip(anew.coverage, anew.value, strict=True):
        top = order[: round(coverage * len(y))]
        assert value == pytest.approx(agreement_with_truth(labels[top], y[top], "accuracy"))
    assert once.value[-1] == anew.value[-1]


def test_score_quality_by_loops(digits):
    _, labels, y = digits
    scores = np.random.default_rng(3).permutation(len(y)) / len(y)
    order = np.argsort(-scores)
    grid = [0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9]
    values = []
    for L in grid:
        top = order[: round(L * len(y))]
        values.append(metrics.adjusted_rand_score(y[top], labels[top]))
    area = sum(0.05 * (a + b) / 2 for a, b in pairwise(values))
    assert score_quality(scores, labels, y) == pytest.approx(area / 0.5, rel=1e-12)
    wide = np.trapezoid([values[0], values[2]], [0.4, 0.5]) / 0.1
    assert score_quality(scores, labels, y, coverages=[0.4, 0.5]) == pytest.approx(wide, rel=1e-9)


def test_score_quality_breaks_ties_at_random(digits):
    """Points stored class after class and scores that are all equal: the order of the data must not
    show.
    """
    _, labels, y = digits
    by_class = np.argsort(y, kind="stable")
    drawn = [
        score_quality(np.zeros(len(y)), labels[by_class], y[by_class], random_state=seed)
        for seed in range(5)
    ]
    assert len(set(drawn)) == 5
    assert_allclose(drawn, agreement_with_truth(labels, y, "ari"), atol=0.03)
    assert drawn[0] == score_quality(np.zeros(len(y)), labels[by_class], y[by_class])


def test_points_without_a_score_are_left_out_everywhere(digits):
    scores, labels, y = digits
    holes = np.arange(len(y)) % 3 == 0
    some = np.where(holes, np.nan, scores)
    right = correctness(labels, y)
    for measure in (auroc, auprc, aurc, error_precision, accuracy_by_bin, percentile_correlation):
        assert_array_equal(measure(some, right), measure(scores[~holes], right[~holes]))
    assert auroc(some, right) != auroc(scores, right)
    assert_array_equal(
        coverage_accuracy_curve(some, labels, y).value,
        coverage_accuracy_curve(scores[~holes], labels[~holes], y[~holes]).value,
    )
    assert score_quality(some, labels, y) == score_quality(
        scores[~holes], labels[~holes], y[~holes]
    )


# Errors


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: correctness([0, 1], [0, 1, 1]), r"labels has 2 points and truth has 3"),
        (
            lambda: correctness([0, 1], [0, None]),
            r"truth is missing for 1 point\(s\), the first at position 1",
        ),
        (lambda: correctness(["a", "b"], ["a", np.nan]), r"truth is missing for 1 point"),
        (lambda: correctness([0, 1], [[0, 1]]), r"truth has shape \(1, 2\)"),
        (lambda: correctness([], []), r"truth has shape \(0,\)"),
        (
            lambda: agreement_with_truth([0, 1], [0, 1], "ARI"),
            r"metric='ARI' is not known; choose one of",
        ),
        (lambda: subset_silhouette([[0.0], [1.0]], [0, 1], [0, 1]), r"kept has dtype int64"),
        (lambda: subset_silhouette([[0.0], [1.0]], [0, 1, 1]), r"X has 2 points and labels has 3"),
        (lambda: subset_silhouette([[0.0], [1.0]], [0, 1], [True, False]), r"leave 1 point"),
        (lambda: auroc([0.1, 0.2], [True]), r"scores has 2 points and correct has 1"),
        (lambda: auroc([0.1, 0.2], [1, 2]), r"correct must be one flat sequence of booleans"),
        (lambda: auroc([np.nan, np.nan], [True, False]), r"none is a number"),
        (
            lambda: auroc(["high", "low"], [True, False]),
            r"scores must be one flat sequence of numbers",
        ),
        (lambda: auroc([[0.1, 0.2]], [True, False]), r"scores must be one flat.*\(1, 2\)"),
        (lambda: auprc([0.1], [True], positive="wrong"), r"positive='wrong' is not known"),
        (lambda: error_precision([0.1], [True], 0.0), r"share=.* must be above 0 and at most 1"),
        (lambda: aurc([0.1], [True], n_positions=1), r"n_positions=1 must be at least 2"),
        (lambda: aurc([0.1], [True], ties="random"), r"ties='random' is not known"),
        (
            lambda: accuracy_by_bin([0.1, 0.2], [True, False]),
            r"n_bins=10 is more than the 2 points",
        ),
        (
            lambda: percentile_correlation([0.1, 0.2], [True, False], n_bins=1),
            r"n_bins=1 must be at least 2",
        ),
        (
            lambda: coverage_accuracy_curve([0.1], [0], [0], coverages=[1.2]),
            r"coverages=\[1.2\] must be above 0",
        ),
        (
            lambda: coverage_accuracy_curve([0.1], [0], [0], alignment="none"),
            r"alignment='none' is not known",
        ),
        (
            lambda: score_quality([0.1, 0.2], [0, 1], [0, 1], coverages=[0.5]),
            r"at least two numbers that increase",
        ),
        (lambda: score_quality([0.1, 0.2], [0], [0, 1]), r"scores has 2 points and labels has 1"),
        (lambda: student_interval([1.0]), r"values has shape \(1,\); give at least two"),
        (lambda: student_interval([1.0, 2.0], level=95), r"level=95 must be above 0 and below 1"),
    ],
)
def test_errors_name_the_argument_and_the_remedy(call, match):
    with pytest.raises(ValueError, match=match):
        call()
