"""One reason a point: exactly one, never at odds with label, score and threshold, and the same in
every output.
"""

import json

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from extras import extra
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from strategies import few, labelings, noisy_runs
from unpacking import unpack

import clustertrust.anndata
from clustertrust import CAKE, confidence
from clustertrust.calibration import pseudo_labels
from clustertrust.reasons import INSIDE, REASONS, SENTENCES, STABLE, above, doubts, margins, reasons
from clustertrust.report import build_report
from clustertrust.selection import select_above
from clustertrust.summary import not_kept, summarize, summary_of_confidence

pl, anndata = extra("polars"), extra("anndata")

NAN = float("nan")


def of_one(label=0, score=0.1, stability=1.0, mean=0.5, std=0.0, threshold=0.5):
    return reasons([label], [score], [stability], [mean], [std], threshold=threshold)[0]


# Each reason


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ({"score": 0.6}, "core"),
        ({"score": 0.5}, "fringe"),  # at the threshold is not above it
        ({"score": 0.5, "threshold": 0.49}, "core"),
        ({"mean": 0.9, "std": 0.1, "threshold": 0.95}, "fringe"),
        ({"mean": -0.1}, "boundary"),
        ({"mean": 0.1, "std": 0.11}, "boundary"),  # nearer to another cluster within its spread
        ({"stability": 0.5, "mean": 0.1}, "boundary"),
        ({"stability": 0.5, "mean": 0.3, "std": 0.2}, "boundary"),
        ({"mean": 0.2}, "stable but isolated"),
        ({"mean": 0.0}, "stable but isolated"),  # alone in its cluster
        ({"stability": 0.5, "mean": 0.6}, "compact but unstable"),
        ({"label": -1, "score": 0.9}, "unassigned"),
        ({"score": NAN, "stability": NAN}, "unassigned"),
        ({"label": -1, "score": NAN}, "unassigned"),
        # The levels: agreed from STABLE on, inside above INSIDE.
        ({"stability": STABLE}, "fringe"),
        ({"stability": np.nextafter(STABLE, 0)}, "compact but unstable"),
        ({"mean": INSIDE}, "stable but isolated"),
        ({"mean": np.nextafter(INSIDE, 1)}, "fringe"),
    ],
)
def test_each_reason(point, reason):
    assert of_one(**point) == reason


def test_reasons_in_data_where_one_can_see_them():
    """A core each, a point half-way that all runs put left, one far off, and a pair that runs take
    here and there.
    """
    left, right = np.array([0.0, 0.5, 1.0, 1.5]), np.array([20.0, 20.5, 21.0, 21.5])
    X = np.concatenate([left, right, [11.0, 300.0]])[:, None]
    runs = [[0] * 4 + [1] * 4 + [0, 2]] * 4
    found = confidence(X, runs).to_frame()
    assert found["reason"].tolist() == ["core"] * 8 + ["boundary", "stable but isolated"]
    # Three close together that half of the runs give to the left and half to the right, both of
    # them far away.
    X = np.concatenate([left, right + 80, [49.0, 49.2, 49.4]])[:, None]
    result = confidence(X, [[0] * 4 + [1] * 4 + [side] * 3 for side in (0, 1, 0, 1)])
    assert result.to_frame()["reason"][8:].tolist() == ["compact but unstable"] * 3
    assert result.to_frame()["margin"][8:].tolist() == [0.0] * 3
    assert result.explain(9).weak == "stability"


# What always holds


numbers = st.one_of(st.floats(0, 1), st.just(NAN))
points = st.lists(
    st.tuples(st.integers(-1, 3), numbers, st.floats(0, 1), st.floats(-1, 1), st.floats(0, 1)),
    min_size=1,
    max_size=20,
)


def plain(label, score, c, mean, std, threshold):
    """The rule as the page of the docs tells it."""
    if label < 0 or np.isnan(score):
        return "unassigned"
    if score > threshold:
        return "core"
    if mean - std > 0.25:
        return "fringe" if c >= 0.8 else "compact but unstable"
    return "stable but isolated" if c >= 0.8 and mean - std >= 0 else "boundary"


@few
@given(points, st.floats(0, 1))
def test_every_point_has_one_reason_by_the_rule(drawn, threshold):
    found = reasons(*(list(column) for column in zip(*drawn, strict=True)), threshold=threshold)
    assert list(found.categories) == list(REASONS) == list(SENTENCES)
    assert (found.codes >= 0).all()
    assert list(found) == [plain(*point, threshold) for point in drawn]


@few
@given(points, st.floats(0, 1), st.floats(0, 1))
def test_a_threshold_moves_points_into_the_core_and_out_of_it_and_nowhere_else(drawn, low, high):
    columns = [list(column) for column in zip(*drawn, strict=True)]
    strict, lax = (
        np.asarray(reasons(*columns, threshold=at)) for at in (max(low, high), min(low, high))
    )
    assert (lax[strict == "core"] == "core").all()
    moved = strict != lax
    assert (lax[moved] == "core").all()


@few
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(
    st.one_of(labelings(), noisy_runs()),
    st.floats(0, 1),
    st.sampled_from(["skip", "disagree"]),
    st.sampled_from(["matching", "jaccard"]),
    st.sampled_from(["clip", "affine", "smooth"]),
    st.sampled_from(["harmonic", "product"]),
)
def test_label_score_reason_and_threshold_agree(
    labels, threshold, unassigned, agreement, norm, fusion
):
    X = np.random.default_rng(0).normal(size=(len(labels), 2))
    how = {
        "unassigned": unassigned,
        "agreement": agreement,
        "normalization": norm,
        "fusion": fusion,
    }
    result = confidence(X, labels, **how)
    table = result.to_frame(threshold)
    reason, labelled, scored = table["reason"], result.labels >= 0, ~np.isnan(result.scores)
    kept = select_above(result.scores, threshold)
    assert_array_equal(reason == "core", kept & labelled)
    assert_array_equal(reason == "unassigned", ~labelled | ~scored)
    assert_array_equal(
        pseudo_labels(result.labels, result.scores, threshold=-1.0) >= 0, labelled & scored
    )
    assert not (kept & not_kept(result.scores, threshold)).any()
    assert_array_equal(kept | not_kept(result.scores, threshold), scored)
    # The runner-up is another cluster, and no other has more votes than the label.
    assert (result.rival[labelled] != result.labels[labelled]).all()
    assert ((result.margin >= 0) & (result.margin <= 1)).all()
    theirs = np.where(result.rival >= 0, result.votes[np.arange(len(labels)), result.rival], 0.0)
    assert_allclose(
        result.margin[labelled], (result.consensus_strength - theirs)[labelled], atol=1e-12
    )
    for i in range(len(labels)):
        why = result.explain(i, threshold)
        assert (why.reason, why.margin) == (reason[i], result.margin[i])
        assert str(why).splitlines()[-1].lower().startswith(why.reason)
        assert (why.weak is None) == (why.reason in {"core", "unassigned"})


@few
@pytest.mark.filterwarnings("ignore::UserWarning")
@given(labelings())
def test_there_is_a_runner_up_wherever_there_is_another_cluster(labels):
    X = np.arange(len(labels), dtype=float)[:, None] ** 1.3
    result = confidence(X, labels)
    run = labels[:, result.reference_run]
    others = len(np.unique(run[run >= 0])) > 1
    # Where the reference run assigns the point it has a nearest other cluster; elsewhere other runs
    # may know one.
    assert (result.rival[run >= 0] >= 0).all() == (others or not (run >= 0).any())


def test_a_runner_up_where_the_reference_run_leaves_the_point_out():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0], [11.0], [12.0], [30.0], [31.0], [32.0]])
    runs = np.repeat([[0, 0, 0, 0, 1, 1, 1, 2, 2, 2]], 5, axis=0)
    # Other names in other runs: what is near must be told in the reference's.
    names = {1: [5, 4, 3], 3: [1, 2, 0]}
    for r, new in names.items():
        runs[r] = np.array(new)[runs[r]]
    reference = confidence(X, runs.T).reference_run
    runs[reference, 3] = -1
    result = confidence(X, runs.T)
    assert result.reference_run == reference
    assert result.label_names[result.labels[3]] == runs[reference, 0]
    # 3 is nearest to the cluster at 10.
    assert result.label_names[result.rival[3]] == runs[reference, 4]
    assert result.margin[3] == 1.0


def test_margins_of_points_without_votes_are_0():
    votes = np.array([[0.6, 0.4], [NAN, NAN], [1.0, 0.0], [0.0, 0.0]])
    assert_allclose(
        margins(votes, np.array([0, -1, 0, -1]), np.array([1, -1, -1, -1])), [0.2, 0, 1, 0]
    )


# One rule for the threshold, in every output


def test_a_score_at_the_threshold_is_kept_nowhere():
    X = np.array([[0.0], [1.0], [2.0], [5.0], [8.0], [9.0], [10.0]])
    result = confidence(X, [[0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1]])
    at = float(result.scores[1])
    assert not select_above(result.scores, at)[1]
    assert not above(result.scores, at)[1]
    assert result.to_frame(at)["reason"][1] != "core"
    assert result.explain(1, at).reason != "core"
    dropped = (
        summary_of_confidence(result, threshold=at).clusters[f"up to {at:g}"]
        * summary_of_confidence(result).clusters["points"]
    )
    assert (
        round(dropped.sum())
        == (result.scores <= at).sum()
        == len(X) - select_above(result.scores, at).sum()
    )
    assert (
        summary_of_confidence(result, threshold=at).reasons["core"]
        == select_above(result.scores, at).sum()
    )
    assert result.to_frame(np.nextafter(at, 0))["reason"][1] == "core"


# The column, everywhere


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = np.vstack(
        [
            rng.normal(0, 1, (60, 2)),
            rng.normal(np.array([4, 0]), 1, (60, 2)),
            rng.uniform(-4, 8, (40, 2)),
        ]
    )
    return X, CAKE(4, n_runs=8, random_state=0, clusterer="kmeans-random").fit(X)


def test_frames_have_a_column_of_categories(fitted):
    X, cake = fitted
    table = cake.to_frame(0.5)
    assert list(table.columns[-3:]) == ["rival", "margin", "reason"]
    assert table["reason"].cat.categories.tolist() == list(REASONS)
    assert table["reason"].nunique() >= 4
    assert_array_equal(table["reason"], cake.confidence_.reasons(0.5))
    assert_array_equal(cake.to_frame(0.2)["reason"] == "core", cake.scores_ > 0.2)
    same = CAKE(4, n_runs=8, random_state=0, clusterer="kmeans-random").fit(pl.DataFrame(X))
    polars = same.to_frame(0.5)
    assert polars.schema["reason"] == pl.Enum(list(REASONS))
    assert polars["reason"].to_list() == table["reason"].tolist()


def test_unseen_points_are_judged_like_predict_and_score_samples(fitted):
    _, cake = fitted
    new = pd.DataFrame(
        np.random.default_rng(1).uniform(-5, 9, (50, 2)), index=[f"new {i}" for i in range(50)]
    )
    table = cake.judge(new.to_numpy(), threshold=0.3)
    assert list(table.columns) == list(cake.to_frame().columns)
    assert_array_equal(table["label"], cake.predict(new.to_numpy()))
    assert_array_equal(table["score"], cake.score_samples(new.to_numpy()))
    assert_array_equal(table["reason"] == "core", select_above(table["score"], 0.3))
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert cake.judge(new.add_prefix("x")).index.tolist() == new.index.tolist()
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert isinstance(cake.judge(pl.DataFrame(new.to_numpy())), pl.DataFrame)


def test_training_points_are_judged_as_they_were(fitted):
    """Under `centroid`, where it makes no difference that a new point is no member of its cluster."""
    X, _ = fitted
    cake = CAKE(4, n_runs=8, random_state=0, clusterer="kmeans-random", geometry="centroid").fit(X)
    pd.testing.assert_frame_equal(cake.judge(X), cake.to_frame())


def test_a_stored_model_judges_alike(fitted, tmp_path):
    X, cake = fitted
    cake.save(tmp_path / "m")
    back = CAKE.load(tmp_path / "m")
    pd.testing.assert_frame_equal(back.judge(X), cake.judge(X))
    pd.testing.assert_frame_equal(back.to_frame(0.3), cake.to_frame(0.3))


def test_annotations_have_the_reason(fitted, tmp_path):
    X, cake = fitted
    adata = anndata.AnnData(X.copy())
    clustertrust.anndata.score(
        adata,
        CAKE(4, n_runs=8, clusterer="kmeans-random", random_state=0),
        use_rep="X",
        threshold=0.4,
    )
    expected = cake.to_frame(0.4)
    assert adata.obs["cake_reason"].dtype == expected["reason"].dtype
    assert adata.obs["cake_reason"].tolist() == expected["reason"].tolist()
    assert_allclose(adata.obs["cake_margin"], expected["margin"])
    assert adata.uns["cake"]["threshold"] == 0.4
    adata.write_h5ad(tmp_path / "a.h5ad")


def test_the_summary_counts_reasons(fitted):
    _, cake = fitted
    counted = summary_of_confidence(cake.confidence_, threshold=0.4).reasons
    assert (
        counted.to_dict()
        == cake.to_frame(0.4)["reason"].value_counts()[lambda found: found > 0].to_dict()
    )
    assert list(counted.index) == [name for name in REASONS if name in set(counted.index)]
    text = summarize(cake.confidence_, threshold=0.4)
    assert f"By reason (core: a score above 0.4)\ncore {counted['core']}, " in text


def test_pages_tell_what_frames_tell_at_every_threshold(fitted):
    X, cake = fitted
    contents = build_report(cake.to_frame(0.9), X)
    told = contents["reasons"]
    of, score = unpack(told["of"]), unpack(contents["rows"]["score"])
    assert told["names"] == list(REASONS)
    for threshold in (0.0, 0.3, float(cake.scores_[7]), 1.0):
        code = np.where((of != told["unassigned"]) & (score > threshold), told["core"], of)
        assert [told["names"][at] for at in code] == cake.to_frame(threshold)["reason"].tolist()


def test_hostile_names_stay_text():
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>$&"
    X = np.array([[0.0], [1.0], [2.0], [5.0], [8.0], [9.0], [10.0]])
    runs = [[hostile] * 4 + ["b"] * 3, [hostile] * 4 + ["b"] * 3, [hostile] * 3 + ["b"] * 4]
    result = confidence(X, runs)
    assert str(result.explain(3)).endswith(
        f"Boundary between {hostile} and b (67% and 33% of the votes): {SENTENCES['boundary']}"
    )
    from clustertrust.report.page import render

    page = render(build_report(result.to_frame(), X))
    assert page.count("<script") == 2
    assert "<img" not in page
    assert all("<" not in sentence for sentence in SENTENCES.values())
    json.dumps(build_report(result.to_frame())["reasons"])


# What is refused, and what is cheap


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"threshold": "high"}, TypeError, "threshold='high' must be a number, such as 0.5"),
        ({"threshold": True}, TypeError, "threshold=True must be a number"),
        ({"threshold": NAN}, ValueError, "threshold=nan keeps nothing"),
        ({"scores": [0.1, 0.2]}, ValueError, "scores has 2 points and labels has 1"),
        ({"labels": ["a"]}, ValueError, "labels must be one flat sequence of numbers"),
        ({"stability": [[1.0]]}, ValueError, r"stability must be one flat.*its shape is \(1, 1\)"),
    ],
)
def test_wrong_arguments(change, error, message):
    point = {
        "labels": [0],
        "scores": [0.5],
        "stability": [1.0],
        "silhouette_mean": [0.5],
        "silhouette_std": [0.0],
    }
    with pytest.raises(error, match=message):
        reasons(**point | change)


def test_infinite_thresholds_keep_every_point_or_none():
    assert (of_one(threshold=-np.inf), of_one(threshold=np.inf)) == ("core", "fringe")


def test_doubts_write_to_nothing_they_were_given():
    c, x = np.array([0.5, 1.0]), np.array([0.1, 0.1])
    c.flags.writeable = x.flags.writeable = False
    assert doubts(c, x).dtype == np.int8
