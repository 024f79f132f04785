"""Displays by cluster, and of 26 clusters: bars, distributions, names that do not overlap."""

import matplotlib as mpl
import numpy as np
import pytest
from drawing import GAPPY, drawn, new_ax, record
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from clustertrust.displays import (
    AlignmentDisplay,
    ScoreBarsDisplay,
    ScoreDistributionDisplay,
    ScoreScatterDisplay,
    shared,
)
from clustertrust.displays.clusters import thinned

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("no_figure_stays_open")


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
def test_keep_apart_keeps_order_distance_and_limits(positions, least):
    positions = np.sort(positions)
    moved = shared.keep_apart(positions, least, 0.0, 10.0)
    least = min(least, 10 / len(positions))
    assert (np.diff(moved) >= least * (1 - 1e-6)).all()
    assert moved[0] >= -1e-9
    assert moved[-1] <= 10 + 1e-9


def test_keep_apart_moves_only_what_is_too_near():
    assert_allclose(shared.keep_apart(np.array([1.0, 5.0, 5.2, 9.0]), 1.0, 0, 10), [1, 4.6, 5.6, 9])
    assert_allclose(shared.keep_apart(np.array([0.0, 0.0, 7.0]), 1.0, 0, 10), [0.5, 1.5, 7])


def test_boxes_are_pushed_apart_and_others_stay():
    places = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.0], [9.0, 9.0]])
    moved = shared.push_apart(places, np.full((4, 2), 1.0))
    away = np.abs(moved[:, None] - moved[None])
    assert (away.max(axis=2)[~np.eye(4, dtype=bool)] >= 1 - 1e-5).all()
    assert_array_equal(moved[3], places[3])
    assert_allclose(moved.mean(axis=0), places.mean(axis=0))
