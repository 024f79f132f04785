"""What displays draw is what the numbers say: artists against records, by hand or by another route."""

import importlib.util
import re
import subprocess
import sys
import warnings
from dataclasses import is_dataclass, replace
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from clustertrust import CAKE, Confidence, Ensemble, confidence, displays, evaluation
from clustertrust.displays import (
    AlignmentDisplay,
    ConvergenceDisplay,
    CoverageAccuracyDisplay,
    DecileDisplay,
    KProfileDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    ScoreBarsDisplay,
    ScoreDistributionDisplay,
    ScoreScatterDisplay,
    StabilityGeometryDisplay,
    shared,
)
from clustertrust.displays.alignment import align
from clustertrust.displays.clusters import thinned
from clustertrust.displays.components import fusion_of
from clustertrust.displays.convergence import prefixes
from clustertrust.geometry import silhouettes

mpl.use("Agg")
IRIS = load_iris(as_frame=True)
NAN = np.nan

# Every display from a record, its data and the truth.
FROM_CONFIDENCE = {
    AlignmentDisplay: lambda c, X, y, ax=None: AlignmentDisplay.from_confidence(c, ax=ax),
    ConvergenceDisplay: lambda c, X, y, ax=None: ConvergenceDisplay.from_confidence(c, X, ax=ax),
    CoverageAccuracyDisplay: lambda c, X, y, ax=None: CoverageAccuracyDisplay.from_confidence(
        c, y, ax=ax
    ),
    DecileDisplay: lambda c, X, y, ax=None: DecileDisplay.from_confidence(c, y, ax=ax),
    RiskCoverageDisplay: lambda c, X, y, ax=None: RiskCoverageDisplay.from_confidence(c, y, ax=ax),
    ScoreBarsDisplay: lambda c, X, y, ax=None: ScoreBarsDisplay.from_confidence(c, ax=ax),
    ScoreDistributionDisplay: lambda c, X, y, ax=None: ScoreDistributionDisplay.from_confidence(
        c, ax=ax
    ),
    ScoreScatterDisplay: lambda c, X, y, ax=None: ScoreScatterDisplay.from_confidence(c, X, ax=ax),
    StabilityGeometryDisplay: lambda c, X, y, ax=None: StabilityGeometryDisplay.from_confidence(
        c, ax=ax
    ),
}
FROM_ESTIMATOR = {
    AlignmentDisplay: lambda c, y, ax=None: AlignmentDisplay.from_estimator(c, ax=ax),
    ConvergenceDisplay: lambda c, y, ax=None: ConvergenceDisplay.from_estimator(c, ax=ax),
    CoverageAccuracyDisplay: lambda c, y, ax=None: CoverageAccuracyDisplay.from_estimator(
        c, y, ax=ax
    ),
    DecileDisplay: lambda c, y, ax=None: DecileDisplay.from_estimator(c, y, ax=ax),
    RiskCoverageDisplay: lambda c, y, ax=None: RiskCoverageDisplay.from_estimator(c, y, ax=ax),
    ScoreBarsDisplay: lambda c, y, ax=None: ScoreBarsDisplay.from_estimator(c, ax=ax),
    ScoreDistributionDisplay: lambda c, y, ax=None: ScoreDistributionDisplay.from_estimator(
        c, ax=ax
    ),
    ScoreScatterDisplay: lambda c, y, ax=None: ScoreScatterDisplay.from_estimator(c, ax=ax),
    StabilityGeometryDisplay: lambda c, y, ax=None: StabilityGeometryDisplay.from_estimator(
        c, ax=ax
    ),
}


def new_ax():
    return Figure(layout="constrained").add_subplot()


def drawn(display):
    """Draw for real: a canvas finds what no artist knows before."""
    display.figure_.canvas.draw()
    return display


def assert_same(value, expected):
    if is_dataclass(expected):
        value, expected = list(vars(value).values()), list(vars(expected).values())
    if isinstance(expected, list | tuple):
        for one, other in zip(value, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray | float):
        assert_allclose(value, expected, atol=1e-12)
    else:
        assert value == expected


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def iris():
    return CAKE(3, clusterer="kmeans-random", n_runs=12, random_state=0).fit(IRIS.data)


def record(scores, labels, names=None, *, stability=None, geometry=None, n_runs=2):
    """A Confidence by hand; the runs are the labels, again and again."""
    scores, labels = np.asarray(scores, dtype=float), np.asarray(labels)
    k = max(labels.max(initial=-1) + 1, 1)
    return Confidence(
        scores=scores,
        stability=scores if stability is None else stability,
        geometry=scores if geometry is None else geometry,
        silhouette_mean=scores,
        silhouette_std=np.zeros(len(scores)),
        standard_errors=np.zeros(len(scores)),
        labels=labels,
        label_names=np.arange(k) if names is None else np.array(names, dtype=object),
        consensus_strength=np.ones(len(scores)),
        votes=np.ones((len(scores), k)),
        rival=np.full(len(scores), -1),
        reference_run=0,
        geometry_method="exact",
        ensemble=Ensemble(np.repeat(labels[:, None], n_runs, axis=1), (None,) * n_runs),
        n_runs=n_runs,
    )


@pytest.fixture(scope="module")
def many():
    """26 clusters of very different sizes, some of a few points, side by side in the plane."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(20, 300, 26)
    sizes[[3, 4, 5, 17]] = 1, 2, 3, 2
    labels = np.repeat(np.arange(26), sizes)
    X = rng.uniform(0, 6, (26, 2))[labels] + rng.normal(0, 0.4, (len(labels), 2))
    return record(
        rng.uniform(0, 1, len(labels)),
        labels,
        [f"cluster {c}" for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"],
    ), X


GAPPY = record(
    scores=[0.96, 0.2, NAN, 0.4, 0.0, 0.7, NAN, 0.5],
    labels=[0, 0, 0, 1, -1, 1, -1, -1],
    names=["zebra", "ant"],
)
PLANE = np.arange(16.0).reshape(8, 2) ** 1.5


# All displays


def test_the_list_of_names_is_sorted_and_complete():
    assert displays.__all__ == sorted(displays.__all__)
    of_other_records = {KProfileDisplay, ReliabilityDisplay}  # tested beside what they draw
    every = {getattr(displays, name) for name in displays.__all__}
    assert every - of_other_records == set(FROM_CONFIDENCE) == set(FROM_ESTIMATOR)


@pytest.mark.parametrize("display", FROM_ESTIMATOR, ids=lambda cls: cls.__name__)
def test_axes_given_are_used_and_pyplot_is_left_alone(display, iris):
    ax = new_ax()
    shown = drawn(FROM_ESTIMATOR[display](iris, IRIS.target, ax))
    assert isinstance(shown, display)
    assert shown.ax_ is ax
    assert shown.figure_ is ax.figure
    assert plt.get_fignums() == []
    again = new_ax()
    assert shown.plot(again) is shown
    assert shown.ax_ is again
    assert again.get_xlabel() == ax.get_xlabel() != ""


@pytest.mark.parametrize("display", FROM_ESTIMATOR, ids=lambda cls: cls.__name__)
def test_without_axes_one_figure_is_made(display, iris):
    shown = FROM_ESTIMATOR[display](iris, IRIS.target)
    assert plt.get_fignums() == [shown.figure_.number]
    assert drawn(shown).ax_.get_title() != ""


@pytest.mark.parametrize("display", FROM_CONFIDENCE, ids=lambda cls: cls.__name__)
def test_estimator_and_record_give_the_same_numbers(display, iris):
    y = IRIS.target.to_numpy()
    one = FROM_ESTIMATOR[display](iris, y, new_ax())
    scored = replace(
        confidence(IRIS.data, iris.ensemble_), label_names=np.arange(3)
    )  # else the reference's own names
    other = FROM_CONFIDENCE[display](scored, IRIS.data, y, new_ax())
    numbers = [name for name in vars(one) if not name.endswith("_")]
    assert numbers
    for name in numbers:
        assert_same(getattr(other, name), getattr(one, name))


@pytest.mark.parametrize("display", FROM_ESTIMATOR, ids=lambda cls: cls.__name__)
def test_what_is_no_fitted_cake_is_turned_away(display):
    y = IRIS.target
    with pytest.raises(NotFittedError):
        FROM_ESTIMATOR[display](CAKE(3), y)
    with pytest.raises(TypeError, match=r"pipeline\[-1\]"):
        FROM_ESTIMATOR[display](make_pipeline(CAKE(3)), y)
    with pytest.raises(TypeError, match="from_estimator"):
        FROM_CONFIDENCE[display](CAKE(3), IRIS.data, y)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("display", FROM_ESTIMATOR, ids=lambda cls: cls.__name__)
def test_without_matplotlib_the_message_says_how_to_get_it(display, iris, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "clustertrust\[plot\]"'):
        FROM_ESTIMATOR[display](iris, IRIS.target)


def test_matplotlib_is_not_imported_before_a_plot_is_drawn():
    code = "import sys, clustertrust.displays; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "display",
    [cls for cls in FROM_CONFIDENCE if cls is not AlignmentDisplay],
    ids=lambda cls: cls.__name__,
)
def test_points_without_a_score_are_told_of(display):
    rng = np.random.default_rng(0)
    X, y = make_blobs(60, centers=3, random_state=0)
    runs = [np.where(rng.random(60) < 0.5, -1, y) for _ in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that scores are missing is the point here
        scored = confidence(X, runs)
    missing = int(np.isnan(scored.scores).sum())
    assert missing > 5
    shown = drawn(FROM_CONFIDENCE[display](scored, X, y, new_ax()))
    if display is ScoreScatterDisplay:
        assert f"no score ({missing})" in [
            text.get_text() for text in shown.ax_.get_legend().get_texts()
        ]
    else:
        assert f"{missing} of 60 points have no score" in shown.note_.get_text()


@pytest.mark.parametrize(
    "display", [ScoreBarsDisplay, ScoreDistributionDisplay, ScoreScatterDisplay]
)
def test_records_without_any_score_are_drawn_too(display):
    nothing = record(np.full(5, NAN), [-1, -1, -1, -1, -1])
    drawn(FROM_CONFIDENCE[display](nothing, PLANE[:5], None, new_ax()))


@pytest.mark.parametrize("display", [CoverageAccuracyDisplay, DecileDisplay, RiskCoverageDisplay])
def test_the_truth_must_fit_the_points(display):
    with pytest.raises(
        ValueError, match=r"y has shape \(3,\); give the true class of each of the 8 points"
    ):
        FROM_CONFIDENCE[display](GAPPY, None, [0, 1, 2])
    with pytest.raises(ValueError, match="no score that is a number"):
        FROM_CONFIDENCE[display](record([NAN, NAN], [0, 1]), None, [0, 1])
    with pytest.raises(ValueError, match="truth is missing"):
        FROM_CONFIDENCE[display](record([0.1, 0.2], [0, 1]), None, [0, None])


# Scatter


def test_scatter_draws_each_point_at_its_place_in_its_colour():
    shown = drawn(ScoreScatterDisplay.from_confidence(GAPPY, PLANE, ax=new_ax()))
    where = {tuple(place): float(score) for place, score in zip(PLANE, GAPPY.scores, strict=True)}

    def of(artist):
        return {
            tuple(at): value
            for at, value in zip(artist.get_offsets().data, artist.get_array(), strict=True)
        }

    assert of(shown.points_) == {tuple(PLANE[i]): where[tuple(PLANE[i])] for i in (0, 1, 3, 5)}
    assert of(shown.not_assigned_) == {tuple(PLANE[i]): where[tuple(PLANE[i])] for i in (4, 7)}
    assert {tuple(at) for at in shown.missing_.get_offsets().data} == {
        tuple(PLANE[i]) for i in (2, 6)
    }
    legend = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert legend == ["not assigned (2)", "no score (2)"]
    assert (shown.points_.norm.vmin, shown.points_.norm.vmax) == (0, 1)
    assert shown.points_.get_cmap().name == "viridis"
    names = {text.get_text(): text.xy for text in shown.cluster_texts_}
    assert set(names) == {"ant", "zebra"}
    assert tuple(names["zebra"]) in {tuple(PLANE[i]) for i in (0, 1, 2)}
    assert shown.note_ is None


def test_scatter_without_gaps_needs_no_legend(iris):
    shown = ScoreScatterDisplay.from_estimator(iris, ax=new_ax())
    assert (shown.not_assigned_, shown.missing_, shown.ax_.get_legend()) == (None, None, None)
    assert_array_equal(np.sort(shown.shown_), np.arange(150))
    assert_array_equal(shown.points_.get_offsets(), shown.points[shown.shown_])
    assert_array_equal(shown.points_.get_array(), iris.scores_[shown.shown_])


def test_scatter_says_what_its_axes_are(iris):
    shown = ScoreScatterDisplay.from_estimator(iris, ax=new_ax())
    centred = IRIS.data.to_numpy() - IRIS.data.to_numpy().mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    assert_allclose(np.abs(shown.points), np.abs(u[:, :2] * s[:2]), atol=1e-9)
    share = s[0] ** 2 / (s**2).sum()
    assert shown.ax_.get_xlabel() == f"principal component 1 ({share:.0%} of the variance)"

    two = IRIS.data.iloc[:, [2, 0]]
    plain = ScoreScatterDisplay.from_estimator(iris, two, ax=new_ax())
    assert_array_equal(plain.points, two)
    assert (plain.ax_.get_xlabel(), plain.ax_.get_ylabel()) == tuple(two.columns)
    own = CAKE(3, n_runs=3, random_state=0).fit(two)
    assert ScoreScatterDisplay.from_estimator(own, ax=new_ax()).axis_names == tuple(two.columns)
    bare = ScoreScatterDisplay.from_estimator(iris, two.to_numpy(), ax=new_ax())
    assert bare.axis_names == ("feature 0", "feature 1")

    umap = ScoreScatterDisplay.from_estimator(iris, embedding=np.ones((150, 2)), ax=new_ax())
    assert umap.axis_names == ("embedding 1", "embedding 2")
    named = pd.DataFrame(np.ones((150, 2)), columns=["UMAP1", "UMAP2"])
    assert ScoreScatterDisplay.from_estimator(iris, embedding=named, ax=new_ax()).axis_names == (
        "UMAP1",
        "UMAP2",
    )


def test_scatter_of_one_column_sparse_and_constant_data(iris):
    line = ScoreScatterDisplay.from_estimator(iris, IRIS.data.iloc[:, :1], ax=new_ax())
    assert_array_equal(line.points[:, 0], IRIS.data.iloc[:, 0])
    assert line.axis_names[1] == "random height (X has one column)"
    rows = sparse.csr_array(IRIS.data.to_numpy())
    dense = ScoreScatterDisplay.from_estimator(iris, ax=new_ax())
    assert_allclose(
        np.abs(ScoreScatterDisplay.from_estimator(iris, rows, ax=new_ax()).points),
        np.abs(dense.points),
        atol=1e-6,
    )
    flat = ScoreScatterDisplay.from_estimator(iris, rows[:, :2], ax=new_ax())
    assert_array_equal(flat.points, IRIS.data.iloc[:, :2])
    same = ScoreScatterDisplay.from_estimator(iris, np.ones((150, 3)), ax=new_ax())
    assert same.axis_names[0] == "principal component 1 (0% of the variance)"
    drawn(same)


def test_scatter_asks_for_data_that_fit():
    make = ScoreScatterDisplay.from_confidence
    with pytest.raises(ValueError, match="both missing"):
        make(GAPPY)
    with pytest.raises(ValueError, match="both given"):
        make(GAPPY, PLANE, embedding=PLANE)
    with pytest.raises(ValueError, match="X has 7 rows for 8 scores"):
        make(GAPPY, PLANE[:7])
    with pytest.raises(ValueError, match=r"embedding has shape \(8, 3\)"):
        make(GAPPY, embedding=np.ones((8, 3)))
    with pytest.raises(ValueError, match="embedding is missing or infinite in row 5"):
        make(GAPPY, embedding=np.where(np.arange(16).reshape(8, 2) == 11, np.inf, PLANE))
    with pytest.raises(ValueError, match="embedding must be"):
        make(GAPPY, embedding=[["a", "b"]] * 8)
    named = replace(GAPPY, frame=pd.DataFrame(index=list("abcdefgh")))
    mixed = pd.DataFrame(PLANE, index=list("bacdefgh"))
    for how in ({"X": mixed}, {"embedding": mixed}):
        with pytest.raises(
            ValueError, match=r"Row 0 of (X|embedding) is 'b' and row 0 of to_frame\(\) is 'a'"
        ):
            make(named, **how)
    with pytest.raises(ValueError, match="max_points=0"):
        make(GAPPY, PLANE, max_points=0)
    with pytest.raises(TypeError, match=r"max_points=1\.5"):
        make(GAPPY, PLANE, max_points=1.5)
    assert plt.get_fignums() == []


def test_options_reach_the_scatter(iris):
    options = {"s": 3.0, "vmax": 0.25, "cmap": "cividis"}
    shown = ScoreScatterDisplay.from_estimator(iris, ax=new_ax(), scatter_kw=options)
    assert_array_equal(shown.points_.get_sizes(), [3.0])
    assert (shown.points_.norm.vmax, shown.points_.get_cmap().name) == (0.25, "cividis")
    other = StabilityGeometryDisplay.from_estimator(iris, ax=new_ax(), scatter_kw=options)
    assert_array_equal(other.points_.get_sizes(), [3.0])


@pytest.mark.parametrize("display", [ScoreScatterDisplay, StabilityGeometryDisplay])
def test_many_points_are_pixels_and_more_are_sampled_and_it_is_said(display):
    rng = np.random.default_rng(0)
    n = 100_001
    scored = record(rng.uniform(size=n), rng.integers(0, 4, n))
    X = (rng.normal(size=(n, 2)),) if display is ScoreScatterDisplay else ()
    shown = display.from_confidence(scored, *X, ax=new_ax())
    assert shown.points_.get_rasterized()
    assert len(shown.shown_) == len(np.unique(shown.shown_)) == 100_000
    assert_array_equal(shown.points_.get_array(), scored.scores[shown.shown_])
    assert shown.note_.get_text() == "100,000 of 100,001 points, chosen at random"
    every = display.from_confidence(scored, *X, ax=new_ax(), max_points=None)
    assert len(every.shown_) == n
    assert every.note_.get_text() == "100,001 points, drawn in random order"
    few = drawn(display.from_confidence(scored, *X, ax=new_ax(), max_points=500))
    assert few.note_.get_text() == "500 of 100,001 points, chosen at random"
    assert not few.points_.get_rasterized()
    assert few.points_.get_sizes()[0] > every.points_.get_sizes()[0]


def test_small_scores_get_a_scale_of_their_own():
    assert shared.scale_top(np.array([0.1, NAN, 0.0312])) == pytest.approx(0.1)
    assert shared.scale_top(np.array([0.0312])) == pytest.approx(0.04)
    assert shared.scale_top(np.array([0.5])) == shared.scale_top(np.array([NAN, 0.0])) == 1
    shown = ScoreScatterDisplay.from_confidence(
        record([0.01, 0.03], [0, 1]), PLANE[:2], ax=new_ax()
    )
    assert shown.points_.norm.vmax == pytest.approx(0.03)


# Stability against geometry


@pytest.mark.parametrize("fusion", ["harmonic", "product"])
def test_components_are_where_they_are_and_lines_have_equal_score(fusion):
    cake = CAKE(3, clusterer="kmeans-random", n_runs=8, fusion=fusion, random_state=0).fit(
        IRIS.data
    )
    shown = drawn(StabilityGeometryDisplay.from_estimator(cake, ax=new_ax()))
    assert shown.fusion == fusion
    assert_array_equal(
        shown.points_.get_offsets(), np.c_[cake.geometry_, cake.stability_][shown.shown_]
    )
    assert_array_equal(shown.points_.get_array(), cake.scores_[shown.shown_])
    assert_allclose(shown.contours_.levels, np.arange(1, 10) / 10)
    for level, path in zip(shown.contours_.levels, shown.contours_.get_paths(), strict=True):
        g, c = path.vertices.T
        assert len(g) > 10
        assert_allclose(c * g if fusion == "product" else 2 * c * g / (c + g), level, atol=2e-3)


def test_scores_that_no_fusion_gives_have_no_lines():
    odd = record([0.3, 0.4], [0, 1], stability=np.array([0.9, 0.9]), geometry=np.array([0.1, 0.1]))
    assert fusion_of(odd) is None
    shown = drawn(StabilityGeometryDisplay.from_confidence(odd, ax=new_ax()))
    assert shown.contours_ is None
    assert shown.ax_.get_title() == "Stability and geometry"


# By cluster


def test_distribution_counts_scores_by_cluster():
    shown = drawn(ScoreDistributionDisplay.from_confidence(GAPPY, n_bins=4, ax=new_ax()))
    assert shown.row_names == ["all (6)", "ant (2)", "zebra (2)", "not assigned (2)"]
    assert shown.counts.tolist() == [[2, 1, 2, 1], [0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 1, 0]]
    assert_allclose(shown.medians, [0.45, 0.55, 0.58, 0.25])
    for i, (row, artist) in enumerate(zip(shown.counts, shown.rows_, strict=True)):
        tops, edges, baseline = artist.get_data()
        assert_allclose(edges, [0, 0.25, 0.5, 0.75, 1])
        assert_allclose((baseline - tops) / 0.85, row / row.max())
        assert baseline == i
    for i, line in enumerate(shown.medians_.get_segments()):
        assert_allclose(line, [[shown.medians[i], i - 0.85], [shown.medians[i], i]])
    assert [text.get_text() for text in shown.ax_.get_yticklabels()] == shown.row_names
    assert shown.ax_.yaxis_inverted()
    greys = {
        mpl.colors.to_hex(artist.get_facecolor()) for artist in (shown.rows_[0], shown.rows_[-1])
    }
    assert mpl.colors.to_hex(shown.rows_[1].get_facecolor()) not in greys
    with pytest.raises(ValueError, match="n_bins=0"):
        ScoreDistributionDisplay.from_confidence(GAPPY, n_bins=0)


def test_bars_are_the_sorted_scores_of_each_cluster(iris):
    shown = drawn(ScoreBarsDisplay.from_estimator(iris, ax=new_ax()))
    assert shown.names == ["0", "1", "2"]
    end = 0.0
    for label, bars in enumerate(shown.bars_):
        values, edges, _ = bars.get_data()
        assert_array_equal(values, np.sort(iris.scores_[iris.labels_ == label])[::-1])
        assert_allclose(np.diff(edges), 1)
        assert edges[0] >= end
        end = edges[-1]
    assert shown.mean_.get_xdata()[0] == pytest.approx(iris.scores_.mean())
    assert mpl.colors.same_color(shown.bars_[0].get_facecolor(), shown.bars_[2].get_facecolor())
    assert not mpl.colors.same_color(shown.bars_[0].get_facecolor(), shown.bars_[1].get_facecolor())


def test_bars_name_text_labels_and_leave_missing_scores_out():
    shown = drawn(ScoreBarsDisplay.from_confidence(GAPPY, ax=new_ax()))
    assert [row.tolist() for row in shown.scores] == [[0.7, 0.4], [0.96, 0.2], [0.5, 0.0]]
    labels = [text.get_text() for text in shown.ax_.get_yticklabels()]
    assert labels == ["ant (2)", "zebra (2)", "not assigned (2)"]
    assert shown.note_.get_text() == "2 of 8 points have no score and are left out"


def test_bars_of_many_points_stand_for_several_and_say_so():
    scores = np.sort(np.random.default_rng(0).uniform(size=5000))[::-1]
    values, edges = thinned(scores)
    assert len(values) == 2000
    assert (edges[0], edges[-1]) == (0, 5000)
    for value, first, last in zip(
        values, edges[:-1].astype(int), edges[1:].astype(int), strict=True
    ):
        assert value in scores[first:last]
    few, steps = thinned(scores[:7])
    assert_array_equal(few, scores[:7])
    assert_array_equal(steps, np.arange(8))
    shown = drawn(
        ScoreBarsDisplay.from_confidence(record(scores, np.zeros(5000, int)), ax=new_ax())
    )
    assert shown.note_.get_text() == "a bar stands for up to 3 points"


# 26 clusters


def boxes_apart(texts, figure):
    renderer = figure.canvas.get_renderer()
    boxes = [text.get_window_extent(renderer) for text in texts]
    return not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_names_of_26_clusters_are_all_there_and_apart(many):
    scored, X = many
    bars = drawn(ScoreBarsDisplay.from_confidence(scored))
    assert len(bars.bars_) == 26
    assert boxes_apart(bars.ax_.get_yticklabels(), bars.figure_)
    rows = drawn(ScoreDistributionDisplay.from_confidence(scored))
    assert len(rows.rows_) == 27
    assert boxes_apart(rows.ax_.get_yticklabels(), rows.figure_)
    table = drawn(AlignmentDisplay.from_confidence(scored))
    assert table.texts_ == []
    assert len(table.ax_.get_yticklabels()) == len(table.ax_.get_xticklabels()) == 26
    assert boxes_apart(table.ax_.get_yticklabels(), table.figure_)
    numbered = record(scored.scores, scored.labels)
    points = drawn(ScoreScatterDisplay.from_confidence(numbered, X))
    assert len(points.cluster_texts_) == 26
    assert boxes_apart(points.cluster_texts_, points.figure_)


def test_names_are_in_their_own_order_and_taken_for_text():
    labels = np.array([0, 1, 2, -1])
    assert [g.name for g in shared.groups_of(labels, np.array([10, 9, 2]))] == [
        "2",
        "9",
        "10",
        "not assigned",
    ]
    mixed = np.array(["b", 3, "a"], dtype=object)
    assert [group.name for group in shared.groups_of(labels, mixed)] == [
        "3",
        "a",
        "b",
        "not assigned",
    ]
    assert [group.name for group in shared.groups_of(np.array([1]), np.array([10, 9]))] == ["9"]
    assert shared.written("a $b$\nc") == r"a \$b\$ c"
    assert shared.written("x" * 50) == "x" * 23 + "…"
    shown = ScoreBarsDisplay.from_confidence(
        record([0.1, 0.2], [0, 1], [r"$\frac{", "_^"]), ax=new_ax()
    )
    drawn(shown)  # would be a parse error as a formula


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30), st.floats(0.01, 2))
def test_spread_keeps_order_distance_and_limits(positions, least):
    positions = np.sort(positions)
    moved = shared.spread(positions, least, 0.0, 10.0)
    least = min(least, 10 / len(positions))
    assert (np.diff(moved) >= least * (1 - 1e-6)).all()
    assert moved[0] >= -1e-9
    assert moved[-1] <= 10 + 1e-9


def test_spread_moves_only_what_is_too_near():
    assert_allclose(shared.spread(np.array([1.0, 5.0, 5.2, 9.0]), 1.0, 0, 10), [1, 4.6, 5.6, 9])
    assert_allclose(shared.spread(np.array([0.0, 0.0, 7.0]), 1.0, 0, 10), [0.5, 1.5, 7])


def test_boxes_are_pushed_apart_and_others_stay():
    places = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.0], [9.0, 9.0]])
    moved = shared.push_apart(places, np.full((4, 2), 1.0))
    away = np.abs(moved[:, None] - moved[None])
    assert (away.max(axis=2)[~np.eye(4, dtype=bool)] >= 1 - 1e-5).all()
    assert_array_equal(moved[3], places[3])
    assert_allclose(moved.mean(axis=0), places.mean(axis=0))


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
            shown.errors[i], np.quantile(fewer.standard_errors_, [0.25, 0.5, 0.75]), atol=1e-9
        )
        assert shown.distances[i] == pytest.approx(
            np.abs(fewer.scores_ - cake.scores_).mean(), abs=1e-9
        )
        assert shown.medians[i] == pytest.approx(np.median(fewer.scores_), abs=1e-9)
    low, high = np.quantile(cake.scores_, [0.25, 0.75])
    assert shown.settled == pytest.approx(0.1 * (high - low))


def test_convergence_draws_errors_or_scores(iris):
    shown = drawn(ConvergenceDisplay.from_estimator(iris, ax=new_ax()))
    assert_array_equal(shown.n_runs, np.arange(2, 13))
    assert_array_equal(shown.lines_["median"].get_ydata(), shown.errors[:, 1])
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
    ] == [
        "run 2",
        "run 5",
    ]
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
    scored = replace(
        confidence(X, runs), label_names=np.arange(3)
    )  # what CAKE makes of the names of its runs
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


# The example


def test_the_example_draws_every_display(tmp_path, monkeypatch):
    path = Path(__file__).parent.parent / "examples" / "plot_displays.py"
    spec = importlib.util.spec_from_file_location("plot_displays", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "DOCS", tmp_path)
    cake = CAKE(3, n_runs=4, random_state=0).fit(IRIS.data)
    for name, show in (example.BLOBS | example.MANY).items():
        saved = example.draw(name, show, cake, IRIS.target.to_numpy())
        assert saved.read_bytes().startswith(b"\x89PNG")
        assert (path.parent.parent / "docs" / "images" / saved.name).exists()
    assert {type(show(cake, IRIS.target.to_numpy())) for show in example.BLOBS.values()} == set(
        FROM_ESTIMATOR
    )
    assert example.many_clusters()[0].shape[1] == 6
