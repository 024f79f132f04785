"""Labels that are given: which of them mean noise, and which row of the data each belongs to."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from clustertrust import Ensemble, align_labels, audit, confidence
from clustertrust._validation.labels import is_noise

X, Y = make_blobs([40, 40, 40], centers=[(0, 0), (9, 0), (0, 9)], random_state=0)
SIGNS = Y - 1  # three classes: -1, 0 and 1
HOW = {"n_runs": 8, "random_state": 0}


# One rule for noise


@pytest.mark.parametrize("label", [-1, -2, -1.0, "-1", " -1", "-1.0", "-3", "-1_the_of_and"])
def test_noise_is_the_same_as_a_number_and_as_text(label):
    assert is_noise(label)
    given = np.array(["b", "b", "c", "c", label], dtype=object)
    assert_array_equal(Ensemble.from_labels([given]).labels[:, 0], [0, 0, 1, 1, -1])
    assert align_labels(["b", "b", "c", "c", "c"], given.tolist()).tolist() == [*"bbcc", None]


@pytest.mark.parametrize("label", [0, 7, "a-1", "-", "1-2", "-x", "--1", "-5_0", "noise", "1_the"])
def test_everything_else_is_a_cluster(label):
    assert not is_noise(label)
    assert (Ensemble.from_labels([[label, label, "z"]]).labels >= 0).all()


@pytest.mark.parametrize("kind", [pd.Series, np.asarray, pd.Index])
def test_dates_keep_their_names(kind):
    days = kind(pd.to_datetime(["2020-01-01", "2021-06-01", "2020-01-01", "2021-06-01"]))
    names = Ensemble.from_labels([days, days]).label_names[0]
    assert names.tolist() == ["2020-01-01", "2021-06-01"]


def test_what_was_taken_as_noise_is_counted_and_said():
    with pytest.warns(
        UserWarning, match=r"40 of 120 points have no score: .*label '-1' \(40 times"
    ) as told:
        found = audit(X, SIGNS, **HOW)
    assert len(told) == 1
    assert_array_equal(np.isnan(found.scores), SIGNS == -1)
    assert found.ensemble.noise == {"-1": 40}
    note = "Note: Taken as noise, not as a cluster: label '-1' (40 times)."
    assert note in found.summary()
    runs = confidence(X, np.column_stack([SIGNS, SIGNS]), unassigned="disagree")
    assert "label '-1' (80 times)" in runs.summary()
    text = confidence(X, [SIGNS.astype(str)] * 2, unassigned="disagree")
    assert text.ensemble.noise == runs.ensemble.noise
    assert "Taken as noise" not in confidence(X, [Y, Y]).summary()


def test_every_label_can_be_a_cluster():
    found = audit(X, Ensemble.from_labels(SIGNS, noise=None), **HOW)
    assert found.label_names.tolist() == [
        "cluster -1" if s < 0 else str(s) for s in pd.unique(SIGNS)
    ]
    assert_array_equal(found.scores, audit(X, Y, **HOW).scores)
    assert "noise" not in found.summary()
    # -1 as a name in results would be read as no cluster: in tables, pages and AnnData.
    again = Ensemble.from_labels([found.to_frame()["label"]])
    assert (again.labels >= 0).all()
    scored = confidence(X, Ensemble.from_labels([SIGNS, SIGNS], noise=None))
    assert_array_equal(scored.scores, confidence(X, [Y, Y]).scores)


@pytest.mark.parametrize("noise", [2, "2", [2], np.array([2]), ("2",)])
def test_the_labels_that_mean_noise_can_be_named(noise):
    found = audit(X, Ensemble.from_labels(Y, noise=noise), **HOW)
    assert_array_equal(np.isnan(found.scores), Y == 2)
    assert found.ensemble.noise == {"2": 40}


def test_a_label_of_noise_must_be_there():
    with pytest.raises(ValueError, match="noise='unknwon' is not one of the labels"):
        Ensemble.from_labels([["a", "b", "unknown"]], noise="unknwon")


def test_noise_is_kept_in_files(tmp_path):
    found = audit(X, Ensemble.from_labels(SIGNS), **HOW)
    found.save(tmp_path / "audit")
    assert type(found).load(tmp_path / "audit").ensemble.noise == {"-1": 40}


def test_two_signs_are_one_cluster_unless_told():
    signs = np.where(Y == 0, -1, 1)
    with pytest.raises(ValueError, match=r"1 cluster\(s\).*label '-1' \(40 times\).*noise=None"):
        audit(X, signs, **HOW)
    assert len(audit(X, Ensemble.from_labels(signs, noise=None), **HOW).verdicts) == 2


def test_an_audit_takes_an_ensemble_of_one_run():
    assert_array_equal(audit(X, Ensemble.from_labels(Y), **HOW).scores, audit(X, Y, **HOW).scores)
    with pytest.raises(ValueError, match="labels has 2 run"):
        audit(X, Ensemble.from_labels([Y, Y]), **HOW)


# Rows in another order


def shuffled(values, seed=0):
    return values.sample(frac=1, random_state=seed)


@pytest.mark.parametrize("names", [range(120), range(1000, 1120), [f"p{i}" for i in range(120)]])
@pytest.mark.parametrize("which", ["X", "labels"])
def test_rows_in_another_order_are_put_in_order(names, which):
    frame, y = pd.DataFrame(X, index=names), pd.Series(Y, index=names)
    if which == "X":
        frame = shuffled(frame)
    else:
        y = y.sort_values(kind="stable")
    expected = y.loc[frame.index].to_numpy()
    with pytest.warns(UserWarning, match="labels has the index of X in another order"):
        found = audit(frame, y, **HOW)
    assert_allclose(found.scores, audit(frame, expected, **HOW).scores)
    both = pd.DataFrame({"a": y, "b": y})
    with pytest.warns(UserWarning, match="labels has the index of X in another order"):
        assert_allclose(confidence(frame, both).stability, 1)
    with pytest.warns(UserWarning, match=r"labels\[0\] has the index of X in another order"):
        assert_allclose(confidence(frame, [y, expected]).stability, 1)


def test_rows_of_which_only_some_are_there_are_refused():
    frame = pd.DataFrame(X)
    y = pd.Series(Y, index=range(1, 121))
    with pytest.raises(ValueError, match=r"Row 0 of labels is '1' and row 0 of X is '0'.*to_numpy"):
        audit(frame, y, **HOW)
    with pytest.raises(ValueError, match=r"Row 0 of labels\[1\] is '1'"):
        confidence(frame, [Y, y])
    twice = pd.Series(Y, index=[0, 0, *range(2, 120)])
    with pytest.raises(ValueError, match="Row 1 of labels is '0' and row 1 of X is '1'"):
        audit(frame, twice, **HOW)


@pytest.mark.parametrize(
    "names", [[f"p{i}" for i in range(120)], range(500, 620), pd.date_range("2026", periods=120)]
)
def test_rows_without_names_go_by_position(names):
    expected = audit(X, Y, **HOW).scores
    assert_array_equal(audit(pd.DataFrame(X), pd.Series(Y, index=names), **HOW).scores, expected)
    assert_array_equal(audit(pd.DataFrame(X, index=names), pd.Series(Y), **HOW).scores, expected)
