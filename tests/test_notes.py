"""Notes for the reader: runs that do not differ, and points that no run assigns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE, audit, confidence
from clustertrust.notes import ALIKE, note_on_lost_clusters, note_on_runs, notes_on
from clustertrust.reasons import REASONS, Cut
from clustertrust.report import build_report
from clustertrust.summary import Tally, summary_of

IRIS = load_iris().data
ALONE = "is geometry alone"


def table_of(stability):
    """A table whose points have these stabilities."""
    n = len(stability)
    return pd.DataFrame(
        {
            "label": np.arange(n) % 2,
            "score": np.full(n, 0.5),
            "stability": stability,
            "geometry": np.full(n, 0.4),
            "reason": pd.Categorical(["fringe"] * n, categories=list(REASONS)),
        }
    )


@pytest.mark.parametrize(
    ("stability", "said"),
    [
        (np.ones(50), "The runs do not differ (stability 1), so"),
        (np.r_[np.ones(47), 0.5, 0.7, 0.9], "The runs do not differ on 47 of 50 points"),
        (np.r_[np.ones(45), np.full(5, 0.9)], "on 45 of 50 points"),
        (np.r_[np.ones(44), np.full(6, 0.9)], None),
        (np.r_[np.ones(1000), 0.5, 0.7], "on 1,000 of 1,002 points"),
        (np.r_[np.ones(19), 0.5, np.full(30, np.nan)], "on 19 of 20 points"),
        (np.full(5, np.nan), None),
        (np.full(5, 0.999), None),
    ],
)
def test_runs_that_do_not_differ_are_noted(stability, said):
    table = table_of(stability)
    notes = [str(note) for note in notes_on(table)]
    assert len(notes) == (said is not None)
    assert all(said in note and ALONE in note and "resample" in note for note in notes)
    whole = summary_of(table)
    assert [*map(str, whole.notes)] == notes
    assert whole.text("3 points").count("Note: ") == len(notes)
    assert f"fringe {len(table):,}\n" in whole.text("3 points")
    tally = Tally(Cut(0.5, "given"))
    for part in np.array_split(np.arange(len(table)), 3):
        tally.add(table.iloc[part])
    assert [*map(str, tally.summary().notes)] == notes
    assert [note for note in build_report(table)["notes"] if ALONE in note] == notes


def test_one_cluster_gets_no_note_on_what_it_is_not_compared_with():
    table = table_of(np.ones(50)).assign(label=0, geometry=0.0)
    assert notes_on(table) == ()
    tally = Tally(Cut(0.5, "given"))
    tally.add(table)
    assert tally.summary().notes == ()
    assert len(notes_on(table.assign(label=np.arange(50) % 2))) == 2


def test_the_share_is_the_documented_one():
    assert note_on_runs(round(100 * ALIKE), 100)
    assert not note_on_runs(round(100 * ALIKE) - 1, 100)


def test_summaries_of_estimators_and_partitions():
    same = np.repeat([0, 1, 2], 50)
    found = confidence(IRIS, [same, same, same])
    assert ALONE in found.summary()
    differ = confidence(IRIS, [same, np.roll(same, 20), np.roll(same, -20)])
    assert ALONE not in differ.summary()
    assert ALONE in CAKE(3, n_runs=5, random_state=0).fit(IRIS).summary()


def test_runs_that_agree_with_given_labels_are_no_reason_for_a_note():
    X, y = make_blobs(120, centers=[[0, 0], [9, 9]], random_state=0)
    found = audit(X, y, random_state=0, n_runs=8)
    assert (found.stability == 1).all()
    assert ALONE not in found.summary()


# --- points that no run assigns ---


def messages(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(warning.message) for warning in caught]


NOISY = np.vstack(
    [
        make_blobs([40, 40], centers=[[0, 0], [10, 0]], random_state=0)[0],
        [[5.0, 40.0], [-30.0, -30.0], [60.0, 5.0]],
    ]
)


def test_hdbscan_has_one_note_and_it_is_right():
    cake, told = messages(lambda: CAKE(clusterer="hdbscan", n_runs=4).fit(NOISY))
    missing = int(np.isnan(cake.scores_).sum())
    assert missing >= 3
    assert len(told) == 1
    assert "hdbscan is deterministic, so all its runs are the same" in told[0]
    assert f"and {missing} of 83 points are noise in all of them" in told[0]
    assert "More runs" not in told[0]
    # What it advises works.
    with_zero, told = messages(
        lambda: CAKE(clusterer="hdbscan", n_runs=4, unassigned="disagree").fit(NOISY)
    )
    assert len(told) == 1
    assert (with_zero.scores_[np.isnan(cake.scores_)] == 0).all()
    varied, told = messages(
        lambda: CAKE(
            clusterer="hdbscan", n_runs=4, vary={"min_cluster_size": [5, 10, 15]}, random_state=0
        ).fit(NOISY)
    )
    assert not any("deterministic" in text for text in told)
    assert varied.ensemble_.labels.shape == (83, 4)


def test_functions_that_always_leave_out_the_same_points():
    labels = np.r_[np.zeros(40, int), np.ones(40, int), [-1, -1, -1]]
    _, told = messages(lambda: CAKE(clusterer=lambda X, rng: labels, n_runs=3).fit(NOISY))
    assert len(told) == 1
    assert told[0].startswith("All 3 runs are the same, and 3 of 83 points are noise in all")


def test_given_partitions_that_are_the_same():
    labels = np.r_[np.zeros(40, int), np.ones(40, int), [-1, -1, -1]]
    _, told = messages(lambda: confidence(NOISY, [labels, labels, labels]))
    assert len(told) == 1
    assert "Runs that differ, or unassigned='disagree'" in told[0]
    other = labels.copy()
    other[0] = 1
    _, told = messages(lambda: confidence(NOISY, [labels, other, labels]))
    assert "More runs, or unassigned='disagree'" in told[0]


def test_clusters_of_one_point_are_named_in_memory_and_in_blocks():
    table = table_of(np.full(30, 0.6))
    assert not summary_of(table, at=Cut(0.45, "given")).notes
    table.loc[7, "label"] = 5
    (note,) = summary_of(table, at=Cut(0.45, "given")).notes
    assert str(note) == (
        "Cluster 5 has a single point, which may be an outlier. To clip outliers, use "
        "TablePreparer(…, scale='robust')."
    )
    tally = Tally(Cut(0.45, "given"))
    tally.add(table.iloc[:10])
    tally.add(table.iloc[10:])
    assert tally.summary().notes == (note,)
    table.loc[8, "label"] = -1  # noise
    assert len(summary_of(table, at=Cut(0.45, "given")).notes) == 1
    assert not summary_of(table.assign(suggested=0), at=Cut(0.45, "given")).notes  # given labels
    table["label"] = np.arange(30)
    (note,) = summary_of(table, at=Cut(0.45, "given")).notes
    assert str(note) == "30 of 30 clusters have a single point; try fewer clusters."


def test_clusters_that_the_consensus_leaves_empty_are_named():
    """Each run has another point of its own in cluster 2."""
    X = make_blobs(30, centers=[[0, 0], [9, 9]], random_state=0)[0]
    runs = [np.where(np.arange(30) == r, 2, X[:, 0] > 4.5) for r in range(5)]
    found = confidence(X, runs)
    assert found.n_clusters == 2
    said = "Note: Cluster 2 has no point: some runs found such a cluster, but most put its points "
    assert said in found.summary()
    names = [["a", "b", "c"][label] for label in runs[0]]
    assert " no point: " not in confidence(X, [names, names]).summary()
    assert list(note_on_lost_clusters(["a", "b"], ["a", "b", None])) == []
    (note,) = note_on_lost_clusters(range(9), [8])
    assert str(note).startswith("Clusters 0, 1, 2, 3, 4, … have no point: ")
