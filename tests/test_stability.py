import hypothesis.strategies as st
import numpy as np
import oracles
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from strategies import few, labelings, renamings, unique_runs

from clustertrust.stability import ambiguous_pairs, pairwise_stability

# Runs of different k are drawn on purpose; the hint has tests of its own below.
different_k = pytest.mark.filterwarnings("ignore:The runs have between:UserWarning")
agreements = pytest.mark.parametrize(
    "agreement", ["matching", "jaccard", "element-centric", "reference"]
)
treatments = pytest.mark.parametrize("unassigned", ["skip", "disagree"])


@different_k
@treatments
@few
@given(labels=unique_runs())
def test_matching_is_the_share_of_run_pairs_that_agree(unassigned, labels):
    expected = oracles.stability(labels, unassigned=unassigned)
    assert_allclose(pairwise_stability(labels, unassigned=unassigned), expected, rtol=1e-12)


@pytest.mark.parametrize("agreement", ["jaccard", "element-centric"])
@treatments
@few
@given(labels=labelings())
def test_overlaps_are_the_mean_over_pairs_of_runs(agreement, unassigned, labels):
    expected = oracles.stability(labels, agreement=agreement, unassigned=unassigned)
    c = pairwise_stability(labels, agreement=agreement, unassigned=unassigned)
    assert_allclose(c, expected, rtol=1e-12, atol=1e-12)


@few
@given(labels=labelings(), low=st.sampled_from([0, 0.1, 0.5]), high=st.sampled_from([0.9, 1]))
def test_ambiguous_pairs_are_counted(labels, low, high):
    expected = oracles.ambiguous_pairs(labels, low, high)
    assert_allclose(ambiguous_pairs(labels, low=low, high=high), expected, rtol=1e-12)


def test_limits_of_ambiguity_are_checked():
    with pytest.raises(ValueError, match="high"):
        ambiguous_pairs([[0, 1], [0, 1]], low=0.5, high=0.4)


@different_k
@treatments
@few
@given(labels=unique_runs())
def test_reference_is_the_share_of_run_pairs_with_one_partner_in_the_most_central_run(
    unassigned, labels
):
    expected = oracles.reference_stability(labels, oracles.medoid(labels), unassigned=unassigned)
    c = pairwise_stability(labels, agreement="reference", unassigned=unassigned)
    assert_allclose(c, expected, rtol=1e-12)


@different_k
@few
@given(labels=unique_runs(unassigned=False))
def test_reference_is_matching_where_there_are_two_runs(labels):
    two = labels[:, :2]
    assert_array_equal(pairwise_stability(two, agreement="reference"), pairwise_stability(two))


@different_k
@agreements
@treatments
@few
@given(labels=labelings())
def test_in_0_to_1_and_nan_only_where_fewer_than_two_runs_count(agreement, unassigned, labels):
    c = pairwise_stability(labels, agreement=agreement, unassigned=unassigned)
    known = ~np.isnan(c)
    assert c.shape == (len(labels),)
    assert ((c[known] >= 0) & (c[known] <= 1)).all()
    assert_array_equal(known, True if unassigned == "disagree" else (labels >= 0).sum(axis=1) >= 2)


@different_k
@agreements
@treatments
@few
@given(pair=renamings(labelings()))
def test_label_names_never_matter(agreement, unassigned, pair):
    # Also where matchings tie: runs are renamed by first appearance before they are matched.
    given_labels, renamed = (
        pairwise_stability(labels, agreement=agreement, unassigned=unassigned) for labels in pair
    )
    assert_array_equal(renamed, given_labels)


@different_k
# A tie for the reference goes to the first run.
@pytest.mark.parametrize("agreement", ["matching", "jaccard"])
@few
@given(labels=unique_runs(), data=st.data())
def test_order_of_runs_and_points_does_not_matter_where_optima_are_unique(agreement, labels, data):
    points = data.draw(st.permutations(range(labels.shape[0])))
    runs = data.draw(st.permutations(range(labels.shape[1])))
    c = pairwise_stability(labels, agreement=agreement)
    assert_allclose(
        pairwise_stability(labels[points][:, runs], agreement=agreement), c[points], rtol=1e-12
    )


@agreements
@treatments
@few
@given(run=labelings(unassigned=False), copies=st.integers(2, 5))
def test_copies_of_one_run_agree(agreement, unassigned, run, copies):
    labels = np.repeat(run[:, :1], copies, axis=1)
    assert_array_equal(
        pairwise_stability(labels, agreement=agreement, unassigned=unassigned), np.ones(len(run))
    )


@few
@given(labels=labelings(unassigned=False))
def test_jaccard_never_exceeds_1_and_is_1_only_where_the_clusters_are_equal(labels):
    c = pairwise_stability(labels, agreement="jaccard")
    own = labels[:, None] == labels[None]  # (n, n, R): who shares the point's cluster
    assert_array_equal(c == 1, (own == own[:, :, :1]).all(axis=(1, 2)))


@pytest.mark.parametrize("agreement", ["matching", "reference"])
def test_runs_of_different_k_hint_at_jaccard_once(agreement):
    with pytest.warns(UserWarning, match="between 2 and 4 clusters") as caught:
        pairwise_stability(
            [[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 0, 1], [0, 1, 2, 3]], agreement=agreement
        )
    assert len(caught) == 1
    assert "agreement='jaccard'" in str(caught[0].message)
    assert caught[0].filename == __file__  # it points at the call


@pytest.mark.parametrize(
    ("labels", "agreement"),
    [
        ([[0, 0, 1, 1], [0, 0, 1, 2]], "jaccard"),
        ([[0, 0, 1, 1], [5, 5, 5, 9]], "matching"),
        # A run without a cluster leaves none without a partner.
        ([[0, 0, 1, 1], [-1, -1, -1, -1]], "matching"),
    ],
)
def test_no_hint_where_none_is_needed(labels, agreement):
    pairwise_stability(labels, agreement=agreement)  # a warning would be an error


@pytest.mark.parametrize("name", ["agreement", "unassigned"])
@pytest.mark.parametrize("value", ["hungarian", None, ["skip"]])
def test_unknown_options(name, value):
    with pytest.raises(ValueError) as error:
        pairwise_stability([[0, 1], [0, 1]], **{name: value})
    assert str(error.value).startswith(f"{name}={value!r} is not known; choose one of [")
