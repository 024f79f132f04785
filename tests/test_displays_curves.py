"""Displays against the truth, over the runs, and of two runs."""

import re
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from drawing import GAPPY, IRIS, NAN, drawn, new_ax, record
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from clustertrust import CAKE, confidence, evaluation
from clustertrust.displays import (
    AlignmentDisplay,
    ConvergenceDisplay,
    CoverageAccuracyDisplay,
    DecileDisplay,
    RiskCoverageDisplay,
)
from clustertrust.displays.alignment import align
from clustertrust.displays.convergence import prefixes
from clustertrust.geometry import silhouettes

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("no_figure_stays_open")


# Against the truth


def test_risk_and_coverage_are_those_of_the_evaluation(iris):
    y = IRIS.target.to_numpy()
    right = evaluation.correctness(iris.labels_, y)
    shown = drawn(RiskCoverageDisplay.from_estimator(iris, y, ax=new_ax()))
    expected = evaluation.risk_coverage_curve(iris.scores_, right)
    assert_array_equal(shown.line_.get_xdata(), expected.coverage)
    assert_array_equal(shown.line_.get_ydata(), expected.value)
    assert shown.chance_.get_ydata()[0] == pytest.approx(1 - right.mean())
    m = np.arange(1, 151)
    assert_allclose(shown.ideal_.get_ydata(), np.maximum(m - right.sum(), 0) / m)
    area = evaluation.aurc(iris.scores_, right)
    assert f"CAKE (area {area:.3f})" in [
        text.get_text() for text in shown.ax_.get_legend().get_texts()
    ]


def test_further_curves_share_the_axes_in_colours_of_their_own(iris):
    ax = new_ax()
    first = RiskCoverageDisplay.from_estimator(iris, IRIS.target, ax=ax, name="one")
    second = RiskCoverageDisplay.from_confidence(
        iris.confidence_, IRIS.target, ax=ax, name="two", references=False
    )
    assert (second.chance_, second.ideal_) == (None, None)
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    legend = [text.get_text().split()[0] for text in drawn(second).ax_.get_legend().get_texts()]
    assert legend == ["one", "random", "best", "two"]


def test_notes_of_curves_on_the_same_axes_are_said_once():
    ax = new_ax()
    y = [0, 0, 0, 1, 1, 1, 1, 1]
    CoverageAccuracyDisplay.from_confidence(GAPPY, y, ax=ax)
    CoverageAccuracyDisplay.from_confidence(GAPPY, y, ax=ax, references=False)
    other = record([NAN, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8], GAPPY.labels)
    shown = CoverageAccuracyDisplay.from_confidence(other, y, ax=ax)
    assert shown.note_.get_text().split("\n") == [
        "2 of 8 points have no score and are left out",
        "1 of 8 points have no score and are left out",
    ]


def test_axes_of_accuracy_end_at_one_and_take_in_every_curve():
    ax, scores = new_ax(), [0.9, 0.8, 0.7, 0.6]
    CoverageAccuracyDisplay.from_confidence(record(scores, [0, 0, 1, 1]), [0, 0, 1, 1], ax=ax)
    assert drawn_limits(ax)[1] == 1.02
    CoverageAccuracyDisplay.from_confidence(record(scores, [0, 0, 1, 1]), [0, 1, 2, 2], ax=ax)
    low, high = drawn_limits(ax)
    assert low < min(np.min(line.get_ydata()) for line in ax.lines)
    assert high == 1.02


def drawn_limits(ax):
    ax.figure.canvas.draw()
    return ax.get_ylim()


@pytest.mark.parametrize("alignment", ["global", "subset"])
def test_coverage_and_accuracy_are_those_of_the_evaluation(iris, alignment):
    y = IRIS.target_names[IRIS.target]
    at = [0.3, 0.6, 1.0]
    shown = drawn(
        CoverageAccuracyDisplay.from_estimator(
            iris, y, coverages=at, alignment=alignment, ax=new_ax(), name="k-means"
        )
    )
    expected = evaluation.coverage_accuracy_curve(
        iris.scores_, iris.labels_, y, coverages=at, alignment=alignment
    )
    assert_array_equal(shown.line_.get_xdata(), expected.coverage)
    assert_array_equal(shown.line_.get_ydata(), expected.value)
    assert shown.all_.get_ydata()[0] == pytest.approx(evaluation.accuracy(iris.labels_, y))
    assert shown.line_.get_label() == "k-means"
    bare = CoverageAccuracyDisplay.from_estimator(iris, y, references=False, ax=new_ax())
    assert bare.all_ is None
    assert_allclose(bare.curve.coverage, np.arange(1, 11) / 10)


def test_matching_anew_among_the_points_kept_is_another_curve():
    scored, y = record(np.arange(7, 0, -1) / 10, [0, 0, 0, 0, 0, 1, 1]), [1, 1, 0, 0, 0, 1, 1]

    def accuracy(alignment):
        options = {"coverages": [2 / 7], "alignment": alignment, "ax": new_ax()}
        return CoverageAccuracyDisplay.from_confidence(scored, y, **options).curve.value.tolist()

    assert (accuracy("global"), accuracy("subset")) == ([0], [1])


@pytest.mark.parametrize("n_bins", [10, 7, 30])
def test_deciles_are_those_of_the_evaluation(iris, n_bins):
    y = IRIS.target.to_numpy()
    right = evaluation.correctness(iris.labels_, y)
    shown = drawn(DecileDisplay.from_estimator(iris, y, n_bins=n_bins, ax=new_ax()))
    assert_array_equal(
        [bar.get_height() for bar in shown.bars_],
        evaluation.accuracy_by_bin(iris.scores_, right, n_bins=n_bins),
    )
    assert shown.all_.get_ydata()[0] == pytest.approx(right.mean())
    sizes = [len(part) for part in np.array_split(np.arange(150), n_bins)][::-1]
    assert_array_equal(shown.highest, np.sort(iris.scores_)[np.cumsum(sizes) - 1])
    ticks = [text.get_text() for text in shown.ax_.get_xticklabels()]
    if n_bins <= 12:
        assert ticks == [f"{i}\n≤ {high:.2f}" for i, high in enumerate(shown.highest, start=1)]
    assert shown.ax_.get_xlabel().startswith("decile" if n_bins == 10 else "bin")
    with pytest.raises(ValueError, match="n_bins=151"):
        DecileDisplay.from_estimator(iris, y, n_bins=151)


def test_points_without_a_score_do_not_enter_the_matching():
    # With all points the majority would match label 0 with class 1; the scored ones say otherwise.
    scored = record([0.9, 0.8, NAN, NAN, NAN, 0.3], [0, 0, 0, 0, 0, 1])
    y = [0, 0, 1, 1, 1, 1]
    assert DecileDisplay.from_confidence(scored, y, n_bins=3, ax=new_ax()).accuracies.tolist() == [
        1,
        1,
        1,
    ]
    assert RiskCoverageDisplay.from_confidence(scored, y, ax=new_ax()).curve.value.tolist() == [
        0,
        0,
        0,
    ]
    assert CoverageAccuracyDisplay.from_confidence(scored, y, ax=new_ax()).accuracy == 1


# Convergence


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fusion": "product", "normalization": "affine", "geometry": "rms"},
        {"agreement": "jaccard", "resample": 0.7, "unassigned": "disagree"},
    ],
    ids=str,
)
def test_the_first_runs_score_as_a_fit_of_so_many_runs_does(options):
    X = IRIS.data.to_numpy()
    build = {"clusterer": "kmeans-random", "random_state": 3} | options
    cake = CAKE(3, n_runs=9, **build).fit(X)
    shown = ConvergenceDisplay.from_estimator(cake, n_runs=[3, 6], ax=new_ax())
    assert shown.n_runs.tolist() == [3, 6, 9]
    ranked = np.argsort(cake.scores_, kind="stable")[np.linspace(0, 149, 30).round().astype(int)]
    for i, r in enumerate([3, 6, 9]):
        fewer = CAKE(3, n_runs=r, **build).fit(X)
        assert_allclose(shown.traces[i], fewer.scores_[ranked], atol=1e-9)
        assert_allclose(
            shown.errors[i], np.quantile(fewer.standard_errors_, [0.25, 0.5, 0.75, 0.95]), atol=1e-9
        )
        assert shown.distances[i] == pytest.approx(
            np.abs(fewer.scores_ - cake.scores_).mean(), abs=1e-9
        )
        assert shown.medians[i] == pytest.approx(np.median(fewer.scores_), abs=1e-9)
    assert shown.settled == pytest.approx(0.05 / 1.96)


def test_convergence_draws_errors_or_scores(iris):
    shown = drawn(ConvergenceDisplay.from_estimator(iris, ax=new_ax()))
    assert_array_equal(shown.n_runs, np.arange(2, 13))
    assert_array_equal(shown.lines_["median"].get_ydata(), shown.errors[:, 1])
    assert_array_equal(shown.lines_["most"].get_ydata(), shown.errors[:, 3])
    assert_array_equal(shown.lines_["distance"].get_ydata(), shown.distances)
    assert_array_equal(shown.settled_.get_ydata(), [shown.settled] * 2)
    assert shown.band_.get_paths()[0].vertices[:, 1].max() == pytest.approx(
        np.nanmax(shown.errors[:, 2])
    )
    assert shown.note_.get_text() == "standard errors begin at three runs"
    assert np.isnan(shown.errors[0]).all()
    scores = drawn(shown.plot(new_ax(), quantity="scores"))
    assert len(scores.traces_) == 30
    assert_array_equal([line.get_ydata() for line in scores.traces_], scores.traces.T)
    assert_array_equal(scores.lines_["median"].get_ydata(), scores.medians)
    assert scores.note_.get_text() == "30 points, spread evenly over the ranks of the final scores"
    with pytest.raises(ValueError, match="quantity='means'"):
        shown.plot(quantity="means")


def test_convergence_of_a_record_needs_what_it_was_made_with(iris):
    X = IRIS.data
    scored = confidence(X, iris.ensemble_, metric="manhattan", fusion="product")
    make = ConvergenceDisplay.from_confidence
    with pytest.raises(ValueError, match="do not lead to the scores"):
        make(scored, X, fusion="product")
    s = silhouettes(X, iris.ensemble_, metric="manhattan")
    with pytest.raises(ValueError, match="do not lead to the scores"):
        make(scored, silhouettes=s)
    shown = make(scored, silhouettes=s, fusion="product", n_runs=(5,), ax=new_ax())
    expected = confidence(X, iris.ensemble_.labels[:, :5], metric="manhattan", fusion="product")
    assert shown.medians[0] == pytest.approx(np.median(expected.scores))
    with pytest.raises(ValueError, match="both missing"):
        make(scored)
    with pytest.raises(ValueError, match="both given"):
        make(scored, X, silhouettes=s)
    with pytest.raises(ValueError, match=r"silhouettes has shape \(150, 3\)"):
        make(scored, silhouettes=s[:, :3])
    with pytest.raises(ValueError, match="agreement='overlap'"):
        make(scored, X, agreement="overlap")
    with pytest.raises(TypeError, match=r"'consensus' is not an option of .*fusion, normal"):
        make(scored, X, consensus="medoid")
    assert plt.get_fignums() == []


def test_numbers_of_runs_are_checked(iris):
    make = ConvergenceDisplay.from_estimator
    with pytest.raises(TypeError, match="n_runs=5 must be a sequence"):
        make(iris, n_runs=5)
    with pytest.raises(ValueError, match="n_runs=1 must be at least 2"):
        make(iris, n_runs=[1])
    with pytest.raises(ValueError, match="up to 13, and there are 12 runs"):
        make(iris, n_runs=[13])
    assert prefixes(40) == list(range(2, 41))
    assert (prefixes(200)[0], prefixes(200)[-1]) == (2, 200)
    assert len(prefixes(200)) <= 40
    assert (np.diff(prefixes(200)) > 0).all()


# Alignment


def test_partners_are_on_the_diagonal_and_counts_in_the_cells():
    first = ["b", "b", "b", "a", "a", "c", "a", None]
    second = [5, 5, 7, 7, 7, 9, -1, 5]
    shown = drawn(
        AlignmentDisplay.from_labels(
            first, second, row_title="mine", column_title="yours", ax=new_ax()
        )
    )
    table = shown.alignment
    assert (table.row_names, table.column_names) == (["a", "b", "c"], ["7", "5", "9"])
    assert table.counts.tolist() == [[2, 0, 0], [1, 2, 0], [0, 0, 1]]
    assert table.agreement == pytest.approx(5 / 6)
    assert_allclose(shown.image_.get_array(), [[1, 0, 0], [1 / 3, 2 / 3, 0], [0, 0, 1]])
    assert [text.get_text() for text in shown.texts_] == [
        "2",
        "0",
        "0",
        "1",
        "2",
        "0",
        "0",
        "0",
        "1",
    ]
    assert [patch.get_xy() for patch in shown.partners_] == [(-0.5, -0.5), (0.5, 0.5), (1.5, 1.5)]
    assert (shown.ax_.get_ylabel(), shown.ax_.get_xlabel()) == (
        "cluster of mine",
        "cluster of yours",
    )
    assert shown.note_.get_text() == "2 points are not assigned in both and are left out"
    assert shown.ax_.get_title() == "Agreement after matching: 83.3%"


def test_clusters_without_a_partner_come_last():
    table = align([0, 0, 1, 1, 2], [4, 4, 4, 4, 6])
    assert (table.row_names, table.column_names, table.matched) == (["0", "2", "1"], ["4", "6"], 2)
    assert table.counts.tolist() == [[2, 0], [0, 1], [2, 0]]
    wide = align([4, 4, 4, 4, 6], [0, 0, 1, 1, 2])
    assert (wide.column_names, wide.counts.tolist()) == (["0", "2", "1"], [[2, 0, 2], [0, 1, 0]])
    # A matching must pair 1 with 6, which share no point: that is no partnership.
    apart = align([0, 0, 1, 1, -1], [4, 4, 4, 4, 6])
    assert (apart.matched, apart.agreement) == (1, 0.5)
    drawn(AlignmentDisplay(alignment=apart, row_title="a", column_title="b").plot(new_ax()))


def test_runs_of_an_ensemble_are_shown_by_their_own_names(iris):
    shown = AlignmentDisplay.from_estimator(iris, runs=(2, 5), ax=new_ax())
    labels = iris.ensemble_.labels
    assert sorted(shown.alignment.counts.ravel()) == sorted(
        np.count_nonzero((labels[:, 2] == a) & (labels[:, 5] == b))
        for a in range(3)
        for b in range(3)
    )
    assert [
        re.sub(r" \(reference\)", "", title) for title in (shown.row_title, shown.column_title)
    ] == ["run 2", "run 5"]
    agreement = [evaluation.accuracy(run, labels[:, iris.reference_run_]) for run in labels.T]
    default = AlignmentDisplay.from_estimator(iris, ax=new_ax())
    assert default.row_title == f"run {iris.reference_run_} (reference)"
    assert default.alignment.agreement == pytest.approx(min(agreement))
    assert min(agreement) < 1

    text = confidence(
        [[0.0], [0.1], [1.2], [2.0], [2.1]],
        [list("aaabb"), ["x", "x", "y", None, "y"], list("uuuvv")],
    )
    named = AlignmentDisplay.from_confidence(text, runs=(0, 1), ax=new_ax()).alignment
    assert (named.row_names, named.column_names, named.left_out) == (["a", "b"], ["x", "y"], 1)


def test_the_reference_run_speaks_the_language_of_the_consensus():
    X, y = make_blobs([10, 20, 30], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    runs = [np.array([7, 3, 5])[y], np.array([5, 7, 3])[y]]
    # What CAKE makes of the names of its runs.
    scored = replace(confidence(X, runs), label_names=np.arange(3))
    table = AlignmentDisplay.from_confidence(scored, ax=new_ax()).alignment
    assert scored.reference_run == 0
    assert table.row_names == ["0", "1", "2"]
    assert_array_equal(table.counts, np.diag(np.bincount(scored.labels)))
    assert table.column_names == [str(runs[1][scored.labels == label][0]) for label in range(3)]


def test_runs_to_align_are_checked(iris):
    make = AlignmentDisplay.from_estimator
    for runs in (3, (1,), (1, 2, 3), (0.5, 1), "ab"):
        with pytest.raises(ValueError, match="must be the numbers of two runs"):
            make(iris, runs=runs)
    with pytest.raises(ValueError, match="numbered from 0 to 11"):
        make(iris, runs=(0, 12))
    with pytest.raises(ValueError, match="second assigns no point"):
        AlignmentDisplay.from_labels([0, 1], [-1, -1])
    with pytest.raises(ValueError, match="first has 2 points and second has 3"):
        AlignmentDisplay.from_labels([0, 1], [1, 1, 1])
    assert plt.get_fignums() == []
