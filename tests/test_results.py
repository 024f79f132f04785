import re
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pandas as pd
import pytest
from command import RESULTS
from extras import extra
from numpy.testing import assert_allclose, assert_array_equal
from unpacking import unpack

from clustertrust import CAKE, Confidence, columns, confidence
from clustertrust._notebook import confidence_html
from clustertrust._shares import percents
from clustertrust.columns import Column
from clustertrust.reasons import MEDIAN, UNTESTED, first_threshold
from clustertrust.report import build_report
from clustertrust.summary import summarize, summary_of_confidence

pl = extra("polars")

X = np.array([[0.0], [1.0], [2.0], [5.0], [8.0], [9.0], [10.0]])
# Run 0 is the medoid. Point 3, halfway between the two clusters, is a matter of debate.
RUNS = [[7, 7, 7, 7, 3, 3, 3], [1, 1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2, 2], [0, 0, 0, 0, 1, 1, 1]]
TEXT = [["left" if label == run[0] else "right" for label in run] for run in RUNS]


@pytest.fixture
def result():
    return confidence(X, RUNS)


def with_missing(runs, point):
    """The same runs, none of which assigns the point."""
    runs = [list(run) for run in runs]
    for run in runs:
        run[point] = None
    return runs


def test_fields(result):
    n, k = len(X), 2
    assert result.votes.shape == (n, k)
    for name in (
        "scores",
        "stability",
        "geometry",
        "standard_errors",
        "labels",
        "consensus_strength",
        "rival",
    ):
        assert getattr(result, name).shape == (n,), name
    assert (result.n_runs, result.reference_run, result.geometry_method) == (4, 0, "exact")
    assert_array_equal(result.ensemble.labels.T, RUNS)
    assert_array_equal(result.label_names, [7, 3])  # by first appearance in the reference run
    assert_array_equal(result.label_names[result.labels], RUNS[0])
    assert_array_equal(result.votes[3], [0.75, 0.25])
    assert_array_equal(result.stability, [1, 1, 1, 0.5, 1, 1, 1])


def test_confidence_is_frozen(result):
    for field in fields(Confidence):
        with pytest.raises(FrozenInstanceError, match=field.name):
            setattr(result, field.name, None)
    with pytest.raises(FrozenInstanceError, match="score"):
        result.explain(0).score = 1.0


def test_the_estimator_has_the_same_fields():
    cake = CAKE(2, n_runs=3, random_state=0).fit(X)
    twin = confidence(X, cake.ensemble_)
    for field in fields(Confidence):
        # The first is a parameter there.
        if field.name not in {"agreement", "chance", "frame", "label_names", "ensemble"}:
            assert_array_equal(
                getattr(cake, f"{field.name}_"), getattr(twin, field.name), err_msg=field.name
            )
    assert not hasattr(cake, "frame_")


def test_to_frame_of_an_array(result):
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == RESULTS
    assert_array_equal(frame.index, range(len(X)))
    assert_array_equal(frame["label"], RUNS[0])
    assert_array_equal(frame["rival"], [3, 3, 3, 3, 7, 7, 7])
    fields = {"score": "scores", "standard_error": "standard_errors"}
    for name in RESULTS[1:8]:
        assert_array_equal(frame[name], getattr(result, fields.get(name, name)), err_msg=name)


def test_to_frame_of_a_pandas_frame_keeps_its_index():
    frame = pd.DataFrame(X, index=pd.Index(list("abcdefg"), name="who"), columns=["x"])
    for table in (
        confidence(frame, RUNS).to_frame(),
        CAKE(2, n_runs=2, random_state=0).fit(frame).to_frame(),
    ):
        pd.testing.assert_index_equal(table.index, frame.index)
        assert list(table.columns) == RESULTS


def test_to_frame_of_a_polars_frame():
    frame = pl.DataFrame({"x": X[:, 0]})
    for table in (
        confidence(frame, RUNS).to_frame(),
        CAKE(2, n_runs=2, random_state=0).fit(frame).to_frame(),
    ):
        assert isinstance(table, pl.DataFrame)
        assert table.columns == RESULTS
        assert table.schema["label"].is_integer()
    assert_array_equal(confidence(frame, RUNS).to_frame()["label"], RUNS[0])


def test_to_frame_tells_labels_in_the_names_that_were_given():
    table = confidence(X, TEXT).to_frame()
    assert table["label"].tolist() == ["left"] * 4 + ["right"] * 3
    assert table["rival"].tolist() == ["right"] * 4 + ["left"] * 3


def test_the_estimator_numbers_its_clusters_as_in_labels_():
    for seed in range(6):  # k-means itself may call the cluster of the first point 0, 1 or 2
        cake = CAKE(3, n_runs=3, random_state=seed).fit(X)
        assert_array_equal(cake.to_frame()["label"], cake.labels_)


# A point without a score is the point here.
@pytest.mark.filterwarnings("ignore:.*fewer than two runs:UserWarning")
# The first row too: it must not decide the type of the column.
@pytest.mark.parametrize("point", [0, 6])
class TestPointsThatNoRunAssigns:
    def test_numbers(self, point):
        table = confidence(X, with_missing(RUNS, point)).to_frame()
        assert table["label"][point] == table["rival"][point] == -1
        assert np.isnan(table["score"][point])
        assert np.isnan(table["consensus_strength"][point])

    def test_text(self, point):
        table = confidence(X, with_missing(TEXT, point)).to_frame()
        assert pd.isna(table["label"][point])
        assert pd.isna(table["rival"][point])
        assert_array_equal(table["label"].isna().sum(), 1)

    def test_text_in_polars(self, point):
        table = confidence(pl.DataFrame({"x": X[:, 0]}), with_missing(TEXT, point)).to_frame()
        assert table.schema["label"] == table.schema["rival"] == pl.String
        assert table["label"][point] is None

    def test_explain(self, point):
        why = confidence(X, with_missing(TEXT, point)).explain(point)
        assert why.label is why.rival is why.weak is None
        assert why.votes == {}
        assert why.margin == 0
        assert str(why).startswith(
            f"Point {point}: no cluster, no score.\nVotes of the runs: none.\nUnassigned"
        )
        assert why.reason == "unassigned"
        assert str(why).endswith(
            "Unassigned: no score, because fewer than two runs assign this point."
        )


def test_explain_names_the_point_as_its_frame_does():
    frame = pd.DataFrame(X, index=list("abcdefg"))
    why = confidence(frame, RUNS).explain(3)
    assert (why.point, why.name) == (3, "d")
    assert str(why).startswith("Point 3 (its position; label d in the index): cluster 7, score ")
    named = confidence(frame, RUNS).explain("d")
    assert named == why
    assert str(named).startswith("Point d (its label in the index; position 3): cluster 7, score ")
    counted = confidence(frame.reset_index(drop=True), RUNS).explain(3)
    assert counted.name is None
    assert str(counted).startswith("Point 3: ")


def test_the_record_is_told_in_one_line(result):
    assert repr(result) == (
        "<Confidence: 7 points, 2 clusters, 4 runs, exact silhouettes; scores, labels, to_frame(), "
        "summary(), …>"
    )


@pytest.mark.parametrize(
    ("error", "said"),
    [(0.0316, "0.125 ± 0.032."), (1e-4, "0.125 ± 0.001."), (0.0, "0.125."), (np.nan, "0.125.")],
)
def test_no_error_is_rounded_to_nothing(result, error, said):
    why = replace(result.explain(0), score=0.125, standard_error=error, threshold=0.1)
    assert str(why).splitlines()[0].endswith(f"score {said}")


def test_explain_a_contested_point(result):
    why = result.explain(3)
    assert (why.point, why.label, why.rival) == (3, 7, 3)
    assert why.votes == {7: 0.75, 3: 0.25}
    assert why.margin == 0.5
    for name in ("stability", "geometry", "silhouette_mean", "silhouette_std"):
        assert getattr(why, name) == getattr(result, name)[3]
    assert why.score == result.scores[3]
    assert why.standard_error == result.standard_errors[3]
    words = str(why).splitlines()
    assert words[0].startswith(f"Point 3: cluster 7, score {why.score:.3f}")
    assert words[0].endswith(f", not above the threshold of {why.threshold:g}, half of the median.")
    assert words[1] == "Votes of the runs: 75% for 7, 25% for 3."
    assert words[2] == "Rival: cluster 3, the runner-up in the votes."
    assert words[3].startswith("Stability 0.500:")
    assert words[4].startswith(
        f"Geometry {why.geometry:.3f}: silhouette {why.silhouette_mean:.3f} on average"
    )


@pytest.mark.parametrize(
    ("normalization", "low", "high"),
    [("clip", ", but at least 0.", "."), ("affine", *[", scaled to lie between 0 and 1."] * 2)],
)
def test_explain_says_how_mean_and_spread_become_geometry(normalization, low, high):
    X = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])
    runs = [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]]
    found = confidence(X, runs, normalization=normalization)
    for point, end in ((2, low), (0, high)):
        (line,) = [line for line in str(found.explain(point)).splitlines() if "Geometry" in line]
        assert line.endswith(f" less its spread of {found.silhouette_std[point]:.3f}{end}")


def test_explain_a_point_on_which_all_agree(result):
    why = result.explain(0)
    assert why.votes == {7: 1.0}
    assert why.margin == 1.0
    assert (why.rival, why.weak) == (3, None)
    assert "Rival: cluster 3, the nearest other cluster." in str(why)
    line = f"Core of 7: its score is above the threshold of {why.threshold:g}, half of the median."
    assert str(why).endswith(line)
    strict = result.explain(0, threshold=0.99)
    assert (strict.reason, strict.threshold, strict.weak) == ("fringe", 0.99, "geometry")
    assert "Fringe: the runs agree on it" in str(strict)


def test_the_nearest_other_cluster_is_the_rival_where_all_votes_agree():
    points = np.array([[0.0], [1.0], [4.0], [5.0], [20.0], [21.0]])
    result = confidence(points, [["a", "a", "b", "b", "c", "c"]] * 3)
    assert [result.explain(i).rival for i in range(6)] == ["b", "b", "a", "a", "b", "b"]


def test_no_rival_where_there_is_no_other_cluster():
    with pytest.warns(UserWarning, match="have one cluster"):
        why = confidence(X, [[0] * 7] * 3).explain(2)
    assert why.rival is None
    assert "Rival" not in str(why)


def test_votes_begin_with_the_label_also_in_a_tie():
    runs = np.array([[0, 0, 0, 1, 1, 1, 1]] * 4)
    runs[2:, 3] = 0
    result = confidence(X, runs.T)
    why = result.explain(3)
    own = int(runs[result.reference_run, 3])
    assert why.label == own
    assert list(why.votes.items()) == [(own, 0.5), (1 - own, 0.5)]
    assert why.margin == 0


@pytest.mark.parametrize(
    ("runs", "point", "weak", "verdict"),
    [
        # Point 2 is put with the far ones by all, or by two runs of three.
        (
            [[0, 0, 1, 1, 1]] * 3,
            2,
            "geometry",
            "Boundary between 1 and 0: all votes are for 1, but 0 lies about as near.",
        ),
        (
            [[0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]],
            2,
            "geometry",
            "Boundary between 1 and 0 (67% and 33% of the votes): it does not clearly belong",
        ),
    ],
)
def test_weak_geometry(runs, point, weak, verdict):
    why = confidence([[0.0], [1.0], [2.0], [20.0], [21.0]], runs).explain(point)
    assert (why.weak, why.reason) == (weak, "boundary")
    assert str(why).splitlines()[-1].startswith(verdict)


# The third has one cluster more.
SEVERAL_K = [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 2]]


@pytest.mark.parametrize(
    ("agreement", "words"),
    [
        (
            "matching",
            "Stability 0.000: share of the 3 pairs of runs that put it into the same cluster.",
        ),
        (
            "reference",
            "Stability 0.000: share of the 3 pairs of runs that put it into the same cluster of the "
            "run that agrees most",
        ),
        # Overlaps of {0, 1, 2, 3}, {3, 4, 5, 6} and {2, 3}: 1/7, 1/5 and 2/4.
        (
            "jaccard",
            "Stability 0.281: how much its clusters in two runs overlap, on average over the 3 pairs "
            "of runs.",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:The runs have between:UserWarning")  # has tests of its own
def test_explain_says_what_stability_is(agreement, words):
    result = confidence(X, SEVERAL_K, agreement=agreement)
    assert result.agreement == agreement
    assert words in str(result.explain(3))


def test_a_whole_number_is_an_index_label_if_the_frame_has_it():
    frame = pd.DataFrame(X).iloc[[4, 2, 6, 0, 1, 5, 3]]  # a permutation of 0, 1, …
    result = confidence(frame, RUNS)
    why = result.explain(6)
    assert why.point == 2
    assert why.score == result.to_frame().loc[6, "score"]
    assert str(why).startswith("Point 6 (its label in the index; position 2): ")
    last = result.explain(-1)  # no row has this label
    assert (last.point, last.name) == (6, 3)
    assert str(last).startswith("Point 6 (its position; label 3 in the index): ")
    far = confidence(frame.set_axis(range(100, 107), axis=0), RUNS)
    assert far.explain(np.int64(104)).point == far.explain(4).point == 4
    twice = confidence(frame.set_axis([0, 1, 1, 2, 3, 4, 5], axis=0), RUNS)
    with pytest.raises(ValueError, match=r"point=1 names 2 rows.*reset_index\(drop=True\)"):
        twice.explain(1)


def test_explain_says_why_votes_and_pairs_of_runs_differ():
    """All vote alike, each matched to the reference run; in pairs some clusters have no partner."""
    # The reference is run 1. Runs 0 and 2 halve one cluster each, not at the same place.
    runs = [[0, 0, 0, 1, 1, 1, 2, 2, 2, 2], [0, 0, 0, 0, 0, 0, 2, 2, 2, 2]]
    runs += [[0, 0, 0, 0, 1, 1, 2, 2, 2, 2], [3, 1, 1, 1, 1, 0, 2, 2, 2, 2]]
    points = np.array([[0.0], [1], [2], [3], [4], [5], [20], [21], [22], [23]])
    with pytest.warns(UserWarning, match="The runs have between"):
        result = confidence(points, runs)
    found = [result.explain(i) for i in range(len(points))]
    at_odds = [why for why in found if max(why.votes.values()) == 1 and why.stability < 1]
    assert at_odds
    for why in at_odds:
        told = str(why)
        assert "share of the 6 pairs of runs that put it into the same cluster." in told
        assert "Votes compare each run with one reference run" in told
        assert "where a cluster has no partner in the other" in told
    assert "Votes compare" not in str(found[-1])  # all agree, however it is counted


def test_explain_says_which_runs_and_pairs_count():
    runs = np.array([[0, 0, 0, 0, 1, 1, 1]] * 5)
    runs[1, 3] = 1
    runs[3:, 3] = -1
    told = str(confidence(X, runs.T).explain(3))
    assert "Votes of the 3 of 5 runs that assign it: 67% for 0, 33% for 1.\n" in told
    assert "Stability 0.333: share of the 3 pairs of runs that assign it that put it" in told
    told = str(confidence(X, runs.T, unassigned="disagree").explain(3))
    assert "Votes of all 5 runs, of which 3 assign it: 40% for 0, 20% for 1, 40% for none." in told
    assert "Stability 0.100: share of the 10 pairs of runs, those without it included," in told


def test_a_point_is_core_everywhere_or_nowhere(result):
    """Without a threshold, the table, the words, the page and the command take the same one."""
    at = first_threshold(result.scores)
    assert at != 0.5
    table = result.to_frame()
    assert_array_equal(table["reason"] == "core", result.scores > at)
    assert [result.explain(i).reason for i in range(len(X))] == table["reason"].tolist()
    assert list(result.reasons()) == table["reason"].tolist()
    assert f"By reason (core: a score above {at:g}, half of the median)" in result.summary()
    assert result.explain(3).threshold == at


def test_explain_tells_of_runs_without_a_vote():
    # Points 0 and 1 of run 2 are the partner of the reference's first cluster, 4 to 6 of its
    # second.
    result = confidence(X, SEVERAL_K, agreement="jaccard")
    assert result.reference_run == 0
    assert result.votes[3].tolist() == pytest.approx([1 / 3, 1 / 3])
    assert "Votes of the runs: 34% for 0, 33% for 1, 33% for none.\n" in str(result.explain(3))
    assert "Votes of the runs: 100% for 0.\n" in str(result.explain(0))


def test_summary_tells_of_runs_of_different_k():
    assert summarize(confidence(X, SEVERAL_K, agreement="jaccard")).startswith(
        f"{UNTESTED}{MEDIAN}\n\n7 points, 2 clusters, 3 runs of 2 to 3 clusters, exact silhouettes\n"
    )
    assert summarize(confidence(X, RUNS)).startswith(
        f"{UNTESTED}{MEDIAN}\n\n7 points, 2 clusters, 4 runs, exact silhouettes\n"
    )


@pytest.mark.parametrize("point", [-1, np.int64(-1)])
def test_explain_counts_from_the_end(result, point):
    assert result.explain(point) == result.explain(6)
    assert result.explain(point).point == 6


@pytest.mark.parametrize("point", [7, -8])
def test_explain_out_of_range(result, point):
    with pytest.raises(
        IndexError, match=rf"point={point} is out of range for 7 points; positions run from 0 to 6"
    ):
        result.explain(point)


def test_the_estimator_explains_and_summarizes():
    cake = CAKE(2, n_runs=3, random_state=0).fit(X)
    assert cake.explain(-1).label == cake.labels_[-1]
    told = cake.summary(threshold=0.4).removeprefix(f"{cake.confidence_.cut().verdict}")
    assert told == summarize(confidence(X, cake.ensemble_), threshold=0.4).removeprefix(UNTESTED)


def test_summaries_go_by_a_threshold_and_show_as_many_points_as_asked_for(result):
    assert result.summary() == summarize(result)
    text = result.summary(threshold=0.9, points=2)
    assert text == summarize(result, threshold=0.9, points=2)
    # A threshold of the user's has nothing to do with the median.
    assert text.startswith(f"{UNTESTED}\n")
    assert "up to 0.9" in text
    # A line break, names, two points.
    assert len(text.split("Most ambiguous points")[1].splitlines()) == 4
    cake = CAKE(2, n_runs=4, random_state=0).fit(X)
    assert cake.summary(0.9, 1) == cake.confidence_.summary(0.9, 1) != cake.summary()
    with pytest.raises(ValueError, match="points=-1 must be at least 0"):
        result.summary(points=-1)


def test_summary_of_one_cluster():
    with pytest.warns(UserWarning, match="have one cluster"):
        assert (
            confidence(X, np.zeros((7, 2), int))
            .summary()
            .startswith(f"{UNTESTED}{MEDIAN}\n\n7 points, 1 cluster, 2 runs, ")
        )


def test_summary_tables(result):
    assert_array_equal(
        summary_of_confidence(result).scores, np.quantile(result.scores, [0, 0.25, 0.5, 0.75, 1])
    )
    table = summary_of_confidence(result, threshold=0.9).clusters
    assert_array_equal(table.index, [3, 7])
    assert_array_equal(table["points"], [3, 4])
    assert table.loc[7, "mean score"] == pytest.approx(result.scores[:4].mean())
    assert table.loc[3, "mean stability"] == 1
    assert table.loc[7, "mean geometry"] == pytest.approx(result.geometry[:4].mean())
    assert_array_equal(
        table["up to 0.9"], [np.mean(result.scores[4:] <= 0.9), np.mean(result.scores[:4] <= 0.9)]
    )
    worst = summary_of_confidence(result, points=2).ambiguous
    assert worst.index[0] == 3
    assert_array_equal(worst["score"], np.sort(result.scores)[:2])


def test_equal_scores_are_listed_by_stability():
    points = [[0.0], [1.0], [2.0], [3.0], [4.0], [20.0]]
    runs = [[0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]]
    worst = summary_of_confidence(confidence(points, runs), points=3).ambiguous
    assert (worst["score"] == 0).all()
    assert worst.index[0] == 4


def test_summary_text():
    frame = pd.DataFrame(X, index=list("abcdefg"))
    text = summarize(confidence(frame, RUNS), points=1)
    opening, *parts = text.split("\n\n")
    assert opening == UNTESTED + MEDIAN
    assert parts[0] == "7 points, 2 clusters, 4 runs, exact silhouettes"
    assert parts[1].startswith("Scores (0: ambiguous, 1: sure)\n")
    assert parts[2].startswith("By cluster\n")
    assert parts[3].startswith("By reason (core: a score above 0.")
    assert parts[3].endswith(", half of the median)\ncore 6, boundary 1")
    assert parts[4].startswith("Most ambiguous points\n")
    assert parts[4].splitlines()[-1].startswith("d ")  # by the index that was given


# Points without a score are the point here.
@pytest.mark.filterwarnings("ignore:.*fewer than two runs:UserWarning")
def test_summary_leaves_points_without_a_score_out():
    result = confidence(X, with_missing(TEXT, 0))
    assert not summary_of_confidence(result).scores.isna().any()
    assert 0 not in summary_of_confidence(result, points=7).ambiguous.index
    assert summary_of_confidence(result).clusters["points"].sum() == 7


@pytest.mark.filterwarnings("ignore:.*have one cluster:UserWarning")
def test_one_cluster_is_near_to_no_other():
    told = str(confidence(X, [[0] * 7] * 3).explain(0)).splitlines()[-1]
    assert (
        told
        == "Stable but isolated: the runs agree on it, and there is no other cluster to compare its own with."
    )
    # Alone, beside two others.
    told = str(confidence(X, [[0, 0, 0, 1, 2, 2, 2]] * 3).explain(3)).splitlines()[-1]
    assert told.startswith(
        "Stable but isolated: the runs agree on it, but its own cluster is barely nearer"
    )


@pytest.mark.parametrize(
    ("threshold", "error", "told"),
    [
        (float("nan"), ValueError, "threshold=nan keeps nothing"),
        ("0.5", TypeError, "threshold='0.5' must be a number"),
        (True, TypeError, "threshold=True must be a number"),
    ],
)
@pytest.mark.parametrize("told_by", [summarize, summary_of_confidence])
def test_summaries_refuse_what_is_no_threshold(result, told_by, threshold, error, told):
    with pytest.raises(error, match=told):
        told_by(result, threshold=threshold)


def test_a_cluster_without_points_is_not_counted():
    """Each run has a third cluster of two points of its own, which no other run keeps."""
    runs = np.repeat([[0], [1]], 15, axis=0) * np.ones(4, dtype=int)
    for r, pair in enumerate([(0, 20), (1, 21), (2, 22), (3, 23)]):
        runs[list(pair), r] = 2
    data = np.random.default_rng(0).normal(size=(30, 2))
    found = confidence(data, runs)
    assert len(found.label_names) == 3
    assert len(set(found.labels)) == 2
    assert "\n30 points, 2 clusters, 4 runs" in found.summary()
    assert "30 points, 2 clusters, 4 runs" in repr(found)
    assert "30 points in 2 clusters" in confidence_html(found)


@pytest.mark.parametrize("seed", range(40))
def test_percentages_of_one_whole_add_up_to_100(seed):
    rng = np.random.default_rng(seed)
    votes = rng.multinomial(rng.integers(2, 30), rng.dirichlet(np.ones(rng.integers(1, 7))))
    shares = votes / votes.sum()
    found = np.array([int(share.removesuffix("%")) for share in percents(shares)])
    assert found.sum() == 100
    assert (abs(found - 100 * shares) < 1 + 1e-6).all()
    some = np.array([int(share.removesuffix("%")) for share in percents(shares[:-1])])
    assert (some == found[:-1]).all()  # what is left is rounded with them


def test_votes_in_an_explanation_add_up_to_100():
    labels = np.array([[0] * 6] * 5 + [[1] * 6] * 5 + [[2] * 6] * 5)
    labels[4, 4], labels[4, 5] = 1, 2  # 4, 1 and 1 of 6 runs: 67, 17 and 17 %
    X = np.arange(15.0)[:, None]
    text = str(confidence(X, labels).explain(4))
    shares = [int(share) for share in re.findall(r"(\d+)% for", text)]
    assert sorted(shares, reverse=True) == [67, 17, 16]


def test_a_column_is_added_in_one_list_and_where_it_is_computed(monkeypatch):
    """Tables, summaries and pages read the list of columns; nothing else names them."""
    doubt = Column("doubt", stored=False, listed=True, averaged=True)
    monkeypatch.setitem(columns.COLUMNS, "doubt", doubt)
    monkeypatch.setattr(Confidence, "doubt", property(lambda self: 1 - self.scores), raising=False)
    result = confidence([[0.0], [0.1], [1.2], [2.0], [2.1]], [list("aaabb"), list("aabbb")])
    table = result.to_frame()
    assert_allclose(table["doubt"], 1 - table["score"])
    assert "doubt" in summary_of_confidence(result).ambiguous
    assert_allclose(
        summary_of_confidence(result).clusters["mean doubt"],
        1 - summary_of_confidence(result).clusters["mean score"],
    )
    contents = build_report(table)
    assert "doubt" in contents["columns"]
    assert_allclose(unpack(contents["rows"]["doubt"]), table["doubt"], atol=1e-6)
