import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import few, unique_runs

from clustertrust import confidence
from clustertrust.cells import meet
from clustertrust.consensus import CONSENSUS, count_votes
from clustertrust.matching import match_runs

treatments = pytest.mark.parametrize("unassigned", ["skip", "disagree"])


def vote(labels, *, consensus="medoid", unassigned="skip", reference=None):
    """The package's votes on the points, and its reference run."""
    cells = meet(labels)
    matchings = match_runs(cells)
    runs = cells.assigned_runs() if unassigned == "skip" else np.full(len(cells.rows), cells.n_runs)
    if reference is None:
        reference = CONSENSUS[consensus](cells, matchings, runs)
    votes = count_votes(cells, matchings, reference, cells.rows, runs)
    names = np.append(cells.names[reference], -1)
    return (
        reference,
        names,
        votes.labels[cells.cell_of],
        votes.strength[cells.cell_of],
        votes.votes[cells.cell_of],
    )


@few
@given(labels=unique_runs())
def test_medoid_is_the_run_that_disagrees_least(labels):
    assert vote(labels)[0] == oracles.medoid(labels)


@treatments
@few
@given(labels=unique_runs())
def test_best_reference_gives_the_strongest_consensus(unassigned, labels):
    found = vote(labels, consensus="best-reference", unassigned=unassigned)[0]
    assert found == oracles.best_reference(labels, unassigned=unassigned)


@pytest.mark.parametrize("consensus", ["medoid", "best-reference"])
@treatments
@few
@given(labels=unique_runs())
def test_votes(consensus, unassigned, labels):
    reference, names, found, strength, shares = vote(
        labels, consensus=consensus, unassigned=unassigned
    )
    expected, expected_strength, expected_shares = oracles.votes(
        labels, reference, unassigned=unassigned
    )
    assert_array_equal(names[found], expected)
    assert_allclose(strength, expected_strength, rtol=1e-12)
    for row, share in zip(shares, expected_shares, strict=True):
        if share:
            assert_allclose(row, [share.get(name, 0.0) for name in names[:-1].tolist()], rtol=1e-12)
        else:
            assert not np.nan_to_num(row).any()


def test_the_first_of_equal_medoids():
    labels = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]).T
    assert vote(labels)[0] == 0
    assert vote(labels[:, ::-1])[0] == 1


def test_medoid_and_best_reference_can_differ():
    runs = ["0001111", "0000111", "0101111", "0100011", "1100101"]
    runs = [[int(label) for label in run] for run in runs]
    X = np.arange(7.0)[:, None]
    found = {
        consensus: confidence(X, runs, consensus=consensus).reference_run for consensus in CONSENSUS
    }
    assert found == {"medoid": 0, "best-reference": 1}


def test_best_reference_weighs_points_not_cells():
    runs = np.array([[0, 0, 0, 0, 1, 1, 1], [1, 0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0, 1, 0]])
    assert oracles.best_reference(runs.T) == 0  # each cell counted once would give run 2
    assert vote(runs.T, consensus="best-reference")[0] == 0


def test_tied_votes_go_to_the_label_of_the_reference():
    # Point 4 has two votes for either cluster.
    runs = np.array([[0, 0, 0, 0, 0, 1, 1, 1, 1]] * 4)
    runs[2:, 4] = 1
    for reference in range(4):
        _, names, labels, strength, _ = vote(runs.T, reference=reference)
        assert names[labels[4]] == runs[reference, 4]
        assert strength[4] == 0.5


def test_tied_votes_where_the_reference_does_not_assign_the_point_go_to_the_run_most_like_it():
    runs = np.array(
        [[7, 7, 7, 7, -1, 3, 3, 3, 3], [7, 7, 7, 3, 7, 3, 3, 3, 3], [7, 7, 7, 7, 3, 3, 3, 3, 3]]
    )
    for order in (np.arange(9), np.arange(9)[::-1]):
        _, names, labels, strength, _ = vote(runs.T[order], reference=0)
        assert names[labels[4]] == 3  # run 2 agrees with run 0 on all points, run 1 on all but one
        assert strength[4] == 0.5


@treatments
@few
@given(labels=unique_runs(), seed=st.integers(0, 99))
def test_consensus_does_not_depend_on_the_order_of_rows(unassigned, labels, seed):
    order = np.random.default_rng(seed).permutation(len(labels))
    for reference in range(labels.shape[1]):
        _, names, found, strength, _ = vote(labels, unassigned=unassigned, reference=reference)
        _, other_names, moved, other_strength, _ = vote(
            labels[order], unassigned=unassigned, reference=reference
        )
        assert_array_equal(other_names[moved], names[found][order])
        assert_array_equal(other_strength, strength[order])


def test_tied_votes_of_runs_as_like_the_reference_go_to_the_first_run():
    runs = np.array(
        [[7, 7, 7, 7, -1, 3, 3, 3, 3], [7, 7, 7, 7, 7, 3, 3, 3, 3], [7, 7, 7, 7, 3, 3, 3, 3, 3]]
    )
    _, names, labels, strength, _ = vote(runs.T, reference=0)
    assert names[labels[4]] == 7
    assert strength[4] == 0.5


@treatments
def test_no_vote_at_all(unassigned):
    # Point 3 is only in clusters without a partner, point 8 in no run.
    runs = np.array(
        [[0, 0, 0, -1, 1, 1, 1, 1, -1], [0, 0, 0, 2, 1, 1, 1, 1, -1], [0, 0, 0, 2, 1, 1, 1, 1, -1]]
    )
    _, _, labels, strength, shares = vote(runs.T, reference=0, unassigned=unassigned)
    assert_array_equal(labels[[3, 8]], [-1, -1])
    assert strength[3] == 0
    assert_array_equal(shares[3], [0, 0])
    assert_array_equal(strength[8], 0 if unassigned == "disagree" else np.nan)


def test_consensus_uses_matching_under_jaccard_too():
    X = np.arange(12.0)[:, None]
    labels = np.repeat([0, 1, 2], 4)[:, None].repeat(4, axis=1)
    labels[3, 1] = labels[4, 2] = labels[8, 3] = labels[8, 0] = 1
    assert oracles.unique_optima(labels)
    by_matching, by_jaccard = (
        confidence(X, labels, agreement=agreement) for agreement in ("matching", "jaccard")
    )
    assert by_matching.reference_run == by_jaccard.reference_run
    assert_array_equal(by_matching.labels, by_jaccard.labels)
    assert_array_equal(by_matching.votes, by_jaccard.votes)
    assert not np.array_equal(by_matching.stability, by_jaccard.stability)
