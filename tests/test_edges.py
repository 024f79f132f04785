"""The cases that were decided once, but for those of the estimator; each test is named after its case."""

import warnings

import numpy as np
import oracles
import pandas as pd
import pytest
from extras import extra
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from strategies import few, labelings, renamings

from clustertrust import CAKE, audit, build_ensemble, confidence
from clustertrust.geometry import Centroid, silhouettes
from clustertrust.stability import pairwise_stability

pl = extra("polars")

X = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])
RUN = [0, 0, 0, 1, 1, 1]
ALL_GEOMETRIES = ["exact", "centroid", "rms", "kernel", "graph"]
geometries = pytest.mark.parametrize("geometry", ALL_GEOMETRIES)
agreements = pytest.mark.parametrize("agreement", ["matching", "jaccard"])


def messages(call):
    """What the call returns, and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(warning.message) for warning in caught]


@geometries
@agreements
def test_run_with_no_cluster_at_all(geometry, agreement):
    other = [0, 0, 1, 1, 1, 1]
    for at in range(3):  # first, between and last
        runs = [RUN, other]
        runs.insert(at, [-1] * 6)
        result = confidence(X, runs, geometry=geometry, agreement=agreement)
        without = confidence(X, [RUN, other], geometry=geometry, agreement=agreement)
        assert_array_equal(result.scores, without.scores)
        assert_array_equal(result.label_names[result.labels], without.label_names[without.labels])
        assert_array_equal(result.consensus_strength, without.consensus_strength)
        assert_array_equal(
            np.isnan(silhouettes(X, runs, geometry=geometry)).all(axis=0), np.arange(3) == at
        )


@geometries
@pytest.mark.parametrize("unassigned", ["skip", "disagree"])
def test_no_run_with_any_cluster(geometry, unassigned):
    runs = [[-1] * 6] * 3
    result, told = messages(lambda: confidence(X, runs, geometry=geometry, unassigned=unassigned))
    assert_array_equal(result.labels, -1)
    assert_array_equal(result.scores, np.nan if unassigned == "skip" else 0.0)
    assert len(told) == (unassigned == "skip")


@pytest.mark.parametrize("call", [pairwise_stability, lambda labels: confidence(X, labels)])
@pytest.mark.parametrize(
    "labels",
    [
        *([RUN], np.array([RUN]).T, np.array(RUN), pd.Series(RUN), RUN),
        [None, "b", "a", "b", "a", "b"],
    ],
)
def test_fewer_than_two_runs(call, labels):
    with pytest.raises(ValueError, match=r"labels holds 1 run; at least 2 .*audit\(X, labels\)"):
        call(labels)


@pytest.mark.parametrize("clusterer", [KMeans(2, n_init=1).fit(X), KMeans(2), GaussianMixture(2)])
def test_a_clusterer_is_not_a_labelling(clusterer):
    kind = type(clusterer).__name__
    with pytest.raises(TypeError, match=rf"is a clusterer, {kind}.* CAKE\(.*audit\("):
        confidence(X, clusterer)
    with pytest.raises(TypeError, match=rf"labels\[0\] is a clusterer, {kind}.* labels_"):
        confidence(X, [clusterer, clusterer])
    with pytest.raises(TypeError, match=rf"labels is a clusterer, {kind}.*clusterer.labels_"):
        audit(X, clusterer)


@pytest.mark.parametrize(
    "call",
    [
        lambda: confidence([[0.0]], [[0], [0]]),
        lambda: confidence([[0.0]], [[0], [0]], metric="precomputed", geometry="exact"),
        lambda: build_ensemble([[0.0]], n_clusters=1),
        lambda: CAKE(1).fit([[0.0]]),
        lambda: pairwise_stability([[0], [0]]),
        lambda: pairwise_stability([[], []]),
    ],
    ids=["confidence", "precomputed", "build_ensemble", "CAKE", "pairwise_stability", "no point"],
)
def test_fewer_than_two_points(call):
    with pytest.raises(ValueError, match=r"1 sample|[01] point"):
        call()


def test_runs_of_different_k():
    runs = [RUN, RUN, [0, 0, 0, 1, 1, 2]]
    result, told = messages(lambda: confidence(X, runs))
    assert_allclose(result.stability, [1, 1, 1, 1, 1, 1 / 3])  # cluster 2 has no partner
    assert len(told) == 1
    assert "agreement='jaccard'" in told[0]
    result, told = messages(lambda: confidence(X, runs, agreement="jaccard"))
    assert_allclose(result.stability, [1, 1, 1, 7 / 9, 7 / 9, 5 / 9])  # overlaps of 2/3 and 1/3
    assert told == []


def test_matching_of_a_pair_serves_both_directions():
    # Rows tie: each direction solved on its own could find another optimum.
    first, second = [0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 0]
    assert len(oracles.optima(first, second)) > 1
    for runs in ([first, second], [second, first]):
        result = confidence(X, runs)
        # Run 1 votes for the label of run 0, the reference, on just those points on which the pair
        # agrees.
        assert_array_equal(result.stability == 1, result.consensus_strength == 1)
        assert result.stability.sum() == 3


@pytest.mark.filterwarnings("ignore:The runs have between:UserWarning")  # runs of any k are drawn
@pytest.mark.filterwarnings("ignore:.*have one cluster:UserWarning")
@pytest.mark.filterwarnings("ignore:.*fewer than two runs:UserWarning")
@few
@given(renamings(labelings().filter(lambda labels: (labels >= 0).any())))
def test_ties_between_optimal_matchings(pair):
    points = np.arange(len(pair[0]), dtype=float)[:, None] ** 2
    one, other = (confidence(points, labels) for labels in pair)
    for name in ("scores", "standard_errors", "labels", "votes", "reference_run", "rival"):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


# So that a matching leaves one out.
@pytest.mark.filterwarnings("ignore:The runs have between:UserWarning")
def test_ties_between_optimal_matchings_and_centres_that_travel_with_the_names():
    labels = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]]).T
    # Row 2 of run 0 is empty.
    centers = [np.array([[1.5], [9.0], [70.0]]), np.array([[0.0], [5.0], [9.0]])]
    renamed = 2 - labels
    turned = [rows[::-1] for rows in centers]
    one = confidence(X, labels, geometry=Centroid(centers))
    other = confidence(X, renamed, geometry=Centroid(turned))
    assert_array_equal(one.scores, other.scores)
    by_hand = (abs(X - centers[0][1]) - abs(X - centers[0][0]))[:3, 0] / abs(X - centers[0][1])[
        :3, 0
    ]
    assert_allclose(silhouettes(X, labels, geometry=Centroid(centers))[:3, 0], by_hand)


def test_not_assigned_skip():
    runs = np.array([RUN, RUN, [0, 0, 1, 1, 1, 1], RUN])
    runs[0, 2] = -1  # three runs left
    runs[:3, 5] = -1  # one run left
    result, told = messages(lambda: confidence(X, runs.T))
    s = silhouettes(X, runs.T)
    assert_array_equal(np.isnan(s), runs.T < 0)
    assert_allclose(result.silhouette_mean[2], np.nanmean(s[2]))
    assert_allclose(result.silhouette_std[2], np.nanstd(s[2]))
    assert_allclose(result.stability[2], 1 / 3)
    assert_allclose(result.consensus_strength[[2, 5]], [2 / 3, 1])
    assert_array_equal(np.isnan(result.scores), np.arange(6) == 5)
    assert len(told) == 1
    assert told[0].startswith("1 of 6 points are assigned in fewer than two runs")


def test_not_assigned_skip_counts_points_assigned_in_both_runs():
    # Over all points cluster 0 of run 0 has more in common with nothing; over the shared ones the
    # runs are equal.
    runs = np.array([[0, 0, 0, 0, 1, 1, -1, -1], [-1, -1, 0, 0, 1, 1, 0, 1]])
    c = pairwise_stability(runs.T, agreement="jaccard")
    assert_array_equal(c, [np.nan, np.nan, 1, 1, 1, 1, np.nan, np.nan])


def test_not_assigned_disagree():
    runs = np.array([RUN, RUN, [0, 0, 1, 1, 1, 1], RUN])
    runs[0, 2] = -1
    runs[:3, 5] = -1
    runs = np.column_stack([runs, [-1] * 4])  # a point that no run assigns
    points = np.append(X, [[50.0]], axis=0)
    result = confidence(points, runs.T, unassigned="disagree")  # a warning would be an error
    s = np.nan_to_num(silhouettes(points, runs.T), nan=0.0)
    assert_allclose(result.silhouette_mean, s.mean(axis=1))
    assert_allclose(result.silhouette_std, s.std(axis=1))
    assert_allclose(result.stability, [1, 1, 1 / 6, 1, 1, 0, 0])
    assert_allclose(result.consensus_strength, [1, 1, 0.5, 1, 1, 0.25, 0])
    assert_array_equal(result.labels[[5, 6]], [result.labels[4], -1])
    for name in ("scores", "geometry", "standard_errors", "votes"):
        assert not np.isnan(getattr(result, name)).any(), name


@pytest.mark.filterwarnings("ignore:The runs have between:UserWarning")  # different k is the case
def test_consensus_k_differing():
    runs = np.array([RUN, RUN, RUN, [0, 0, 2, 1, 1, 1]])
    runs[:3, 2] = [0, -1, -1]
    result = confidence(X, runs.T)
    assert result.votes.shape == (6, 2)  # of the reference, run 0
    assert set(result.labels) == {0, 1}
    # Assigned in two runs, and one of them votes for nothing.
    assert_array_equal(result.votes[2], [0.5, 0])
    assert result.consensus_strength[2] == 0.5
    runs[0, 2] = -1
    nothing, _ = messages(lambda: confidence(X, runs.T))
    assert nothing.labels[2] == -1


def test_standard_errors():
    points = np.append(X, [[4.0]], axis=0)
    runs = np.array([[*RUN, 0], [*RUN, 0], [*RUN, 0], [*RUN, 1]])
    runs[1:, 5] = [1, -1, -1]  # in two runs
    runs[1, 4] = -1  # in three
    result = confidence(points, runs.T, geometry="exact")
    options = {
        "fusion": "harmonic",
        "normalization": "clip",
        "agreement": "matching",
        "unassigned": "skip",
    }
    expected = oracles.standard_errors(points, runs.T, **options)
    assert_allclose(result.standard_errors, expected, rtol=1e-9, atol=1e-12)
    assert_array_equal(np.isnan(result.standard_errors), np.arange(7) == 5)
    assert result.standard_errors[6] > 0.1


def test_standard_errors_where_every_value_is_clipped_to_0():
    result = confidence([[0.0], [1.0], [2.0], [3.0]], [[0, 1, 0, 1]] * 4)
    assert_array_equal(result.scores, 0)
    assert_array_equal(result.standard_errors, 0)


def test_wrong_lengths():
    with pytest.raises(ValueError, match=r"X has 6 points and labels has 5; .*\(n, R\)"):
        confidence(X, [RUN[:5], RUN[:5]])
    with pytest.raises(
        ValueError,
        match=r"X has shape \(6, 1\); a precomputed matrix of 6 labelled points is \(6, 6\)",
    ):
        confidence(X, [RUN, RUN], metric="precomputed", geometry="exact")


# --- rows of pandas' that are named ---


def test_labels_in_a_mapping_are_told():
    with pytest.raises(TypeError, match=r"labels is a mapping.*list\(labels\.values\(\)\)"):
        confidence(X, {"a": np.zeros(len(X)), "b": np.zeros(len(X))})


def test_a_missing_value_is_told_with_the_name_of_its_row():
    frame = pd.DataFrame(X.copy(), index=[f"p{i}" for i in range(len(X))])
    frame.iloc[2, 0] = np.nan
    with pytest.raises(ValueError, match=r"the first is in row 2 \('p2'\), column 0"):
        CAKE(2).fit(frame)
    with pytest.raises(ValueError, match="the first is in row 2, column 0"):
        CAKE(2).fit(frame.reset_index(drop=True))


def test_polars_has_no_index_and_lazy_frames_no_rows():
    frame = pl.DataFrame({"a": X[:, 0], "b": "text"})
    with pytest.raises(ValueError, match=r"not numbers: \['b'\]. Drop them, or encode them"):
        CAKE(2).fit(frame)
    with pytest.raises(TypeError, match=r"polars LazyFrame.*X\.collect\(\)"):
        CAKE(2).fit(frame.lazy())


def test_a_generator_is_told_how_to_give_a_seed():
    rng = np.random.default_rng(0)
    with pytest.raises(
        TypeError, match=r"random_state is a Generator.*int\(rng\.integers\(2\*\*32\)\)"
    ):
        CAKE(2, random_state=rng).fit(X)
    CAKE(2, n_runs=2, random_state=int(rng.integers(2**32))).fit(X)
