import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from extras import extra
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clustertrust import CAKE, Ensemble, Runs, build_ensemble, confidence
from clustertrust.ensemble.fitting import RunWarning
from clustertrust.ensemble.leiden import Leiden
from clustertrust.geometry import Centroid

pl = extra("polars")

X = np.random.default_rng(0).normal(size=(120, 3))
RUNS = [[0, 0, 1, -1], [4, 2, 2, 2], [0, 1, 0, 1]]


def same(ensemble, other):
    """Whether two ensembles hold the same runs, centres included, to the last bit."""
    return np.array_equal(ensemble.labels, other.labels) and np.array_equal(
        ensemble.centers, other.centers
    )


# Given labels

FORMS = {
    "list": RUNS,
    "tuple of arrays": tuple(np.array(run) for run in RUNS),
    "array": np.array(RUNS).T,
    "array of floats": np.where(np.array(RUNS) < 0, np.nan, RUNS).T,
    "array of objects": np.array([[0, 4, 0], [0, 2, 1], [1, 2, 0], [None, 2, 1]], dtype=object),
    "pandas": pd.DataFrame(np.array(RUNS).T, columns=["a", "b", "c"], index=[4, 3, 2, 1]),
    "pandas, missing": pd.DataFrame(
        {"a": pd.array([0, 0, 1, None], dtype="Int64"), "b": RUNS[1], "c": RUNS[2]}
    ),
    "polars": pl.DataFrame({"a": [0, 0, 1, None], "b": RUNS[1], "c": RUNS[2]}),
    "other negatives": [[0, 0, 1, -7], *RUNS[1:]],
}


@pytest.mark.parametrize("form", FORMS)
def test_from_labels_takes(form):
    ensemble = Ensemble.from_labels(FORMS[form])
    assert_array_equal(ensemble.labels, np.array(RUNS).T)
    assert ensemble.labels.dtype.kind == "i"
    assert ensemble.label_names == (None, None, None)
    assert ensemble.n_runs == 3
    assert_array_equal(ensemble.n_clusters, [2, 2, 2])
    assert ensemble.centers is ensemble.seeds is None


NAMED = {
    "text": ["x", "x", "y", None],
    "text and NaN": ["x", "x", "y", float("nan")],
    "object array": np.array(["x", "x", "y", np.nan], dtype=object),
    "Series": pd.Series(["x", "x", "y", None]),
    "categorical": pd.Categorical(["x", "x", "y", None], categories=["y", "x"]),
    "polars categorical": pl.Series(["x", "x", "y", None], dtype=pl.Categorical),
}


@pytest.mark.parametrize("kind", NAMED)
def test_from_labels_numbers_names_by_first_appearance(kind):
    ensemble = Ensemble.from_labels([NAMED[kind], [3, 3, 1, 1]])
    assert_array_equal(ensemble.labels[:, 0], [0, 0, 1, -1])
    assert_array_equal(ensemble.labels[:, 1], [3, 3, 1, 1])
    assert list(ensemble.label_names[0]) == ["x", "y"]
    assert ensemble.label_names[1] is None


@pytest.mark.parametrize(
    "run",
    [[0.0, 1.0, -1.0, None], np.array([0.0, 1.0, -1.0, None], dtype=object), [0, 1.0, -2, None]],
    ids=["list", "array", "mixed"],
)
def test_negative_numbers_mean_not_assigned_among_objects_too(run):
    assert_array_equal(Ensemble.from_labels([run]).labels[:, 0], [0, 1, -1, -1])


def test_its_name_fits_a_line():
    ensemble = Ensemble.from_labels([["a", "a", "b"], ["x", "y", "y"]])
    assert repr(ensemble) == "<Ensemble: 3 points, 2 runs; labels, n_clusters, summary(), …>"


def test_from_labels_of_truth_values():
    ensemble = Ensemble.from_labels([[True, False, True]])
    assert_array_equal(ensemble.labels[:, 0], [0, 1, 0])
    assert ensemble.label_names[0].tolist() == [True, False]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_from_labels_takes_frames_of_mixed_columns(frame):
    ensemble = Ensemble.from_labels(
        frame({"a": ["u", "v", None], "b": [0, 5, 5], "c": [True, True, False]})
    )
    assert_array_equal(ensemble.labels, [[0, 0, 0], [1, 5, 0], [-1, 5, 1]])


def test_from_labels_takes_columns_of_one_name():
    frame = pd.DataFrame([[0, 5], [1, 5], [1, 6]], columns=["run", "run"])
    assert_array_equal(Ensemble.from_labels(frame).labels, frame)


def test_labels_too_large_for_int32():
    run = [2**40, -1, 2**40 + 1]
    assert_array_equal(Ensemble.from_labels([run]).labels[:, 0], run)


def test_labels_too_large_for_int64():
    run = np.array([2**64 - 1, 2**64 - 1, 2**64 - 2, 2**64 - 2], dtype=np.uint64)
    result = confidence([[0.0], [1.0], [5.0], [6.0]], [run, run])
    assert result.to_frame()["label"].tolist() == run.tolist()


def test_one_labelling_may_be_a_list_as_well_as_an_array():
    for labels in ([0, 1, 1], np.array([0, 1, 1]), ["a", "b", "b"]):
        assert_array_equal(Ensemble.from_labels(labels).labels, [[0], [1], [1]])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 1], [0, 1, 1]], r"labels is ragged: its runs have \[2, 3\] points"),
        ([], r"labels is empty"),
        (np.zeros((3, 0), dtype=int), r"labels is empty"),
        (np.zeros((0, 3), dtype=int), r"labels"),
        (3, r"labels has shape \(\)"),
        ("abc", r"labels has shape \(\)"),
        (np.zeros((2, 2, 2)), r"labels has shape \(2, 2, 2\)"),
        (
            [[0, 1], [[0, 1], [1, 0]]],
            r"labels\[1\] must be one flat sequence of labels.*shape is \(2, 2\)",
        ),
        ([[0, 1], [0, 0.5]], r"labels\[1\] contains .*0\.5"),
        (np.array([[0.0, 1.0], [np.inf, 1.0]]), r"labels\[:, 0\] contains .*inf"),
        (
            pd.DataFrame({"first": [0, 1], "second": [0.0, 2.5]}),
            r"labels\['second'\] contains .*2\.5",
        ),
        (
            pl.DataFrame({"first": [0, 1], "second": [0.0, 2.5]}),
            r"labels\['second'\] contains .*2\.5",
        ),
        ([[0, 0.5, None]], r"labels\[0\] contains .*0\.5"),
    ],
)
def test_from_labels_refuses(labels, message):
    with pytest.raises(ValueError, match=message):
        Ensemble.from_labels(labels)


# Given centres


def test_from_labels_keeps_the_centres():
    centers = [np.zeros((2, 3)), np.ones((5, 3)), np.ones((2, 3))]
    ensemble = Ensemble.from_labels(RUNS, centers=centers)
    assert len(ensemble.centers) == 3
    assert all(
        np.array_equal(kept, given) for kept, given in zip(ensemble.centers, centers, strict=True)
    )


@pytest.mark.parametrize(
    ("labels", "centers", "message"),
    [
        (RUNS, [np.zeros((5, 2))], r"centers has 1 arrays for 3 runs"),
        (
            RUNS,
            [np.zeros((5, 2)), np.zeros((4, 2)), np.zeros((5, 2))],
            r"centers\[1\] has 4 rows.*from 0 to 3",
        ),
        (
            RUNS,
            [np.zeros((5, 2)), np.zeros(5), np.zeros((5, 2))],
            r"centers\[1\] must be a \(k, d\).*shape is \(5,\)",
        ),
        (
            RUNS,
            [np.full((5, 2), np.nan)] * 3,
            r"centers\[0\] must be a \(k, d\) array of finite numbers",
        ),
        (
            RUNS,
            [np.zeros((5, 2)), np.zeros((5, 3)), np.zeros((5, 2))],
            r"centers differ in their number of columns",
        ),
        ([["a", "b"], [0, 1]], [np.zeros((2, 2))] * 2, r"centers\[0\] has 2 rows.*integers"),
        ([[0, 1]], [[[0.0, 1.0], [0.0]]], r"centers\[0\]"),
    ],
)
def test_centres_that_do_not_fit(labels, centers, message):
    with pytest.raises(ValueError, match=message):
        Ensemble.from_labels(labels, centers=centers)


def test_centres_need_the_columns_of_the_data():
    centers = [np.zeros((2, 4))] * 2
    with pytest.raises(ValueError, match="centers have 4 columns and X has 3"):
        confidence(X[:4], [[0, 1, 0, 1]] * 2, geometry=Centroid(centers))


# Runs of our own


def test_more_runs_begin_with_the_same_runs():
    long, short = (build_ensemble(X, n_clusters=4, n_runs=R, random_state=5) for R in (40, 20))
    assert long.seeds[:20] == short.seeds
    assert_array_equal(long.labels[:, :20], short.labels)
    assert len(set(long.seeds)) == 40


def test_the_seed_matters():
    one, other = (build_ensemble(X, n_clusters=4, n_runs=5, random_state=seed) for seed in (0, 1))
    assert one.seeds != other.seeds
    assert not np.array_equal(one.labels, other.labels)


@pytest.mark.parametrize("n_runs", [2, 7])
def test_random_state_none_is_recorded(n_runs):
    first, second = (build_ensemble(X, n_clusters=4, n_runs=n_runs) for _ in range(2))
    assert first.seeds != second.seeds
    assert len(first.seeds) == n_runs
    assert same(build_ensemble(X, n_clusters=4, n_runs=n_runs, random_state=first.seeds), first)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_one_seed_a_run(kind):
    ensemble = build_ensemble(X, n_clusters=4, n_runs=3, random_state=kind([11, 4, 11]))
    assert ensemble.seeds == (11, 4, 11)
    assert_array_equal(ensemble.labels[:, 0], ensemble.labels[:, 2])
    assert_array_equal(ensemble.labels[:, 1], KMeans(4, n_init=1, random_state=4).fit(X).labels_)


def test_random_state_object():
    first, second = (
        build_ensemble(X, n_clusters=4, n_runs=3, random_state=np.random.RandomState(0))
        for _ in range(2)
    )
    assert same(first, second)
    state = np.random.RandomState(0)
    assert same(build_ensemble(X, n_clusters=4, n_runs=3, random_state=state), first)
    # It moves on.
    assert not same(build_ensemble(X, n_clusters=4, n_runs=3, random_state=state), first)


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X: pl.DataFrame(X, schema=["a", "b", "c"])])
def test_frames_give_the_same_runs(frame):
    from_frame, from_array = (
        build_ensemble(data, n_clusters=3, n_runs=3, random_state=0) for data in (frame(X), X)
    )
    assert same(from_frame, from_array)


class Changing(KMeans):
    """A clusterer that calls something that will change."""

    def fit(self, X, y=None, sample_weight=None):
        warnings.warn("this will change", FutureWarning, stacklevel=2)
        return super().fit(X)


def test_a_warning_of_a_run_keeps_its_kind(tmp_path):
    for _ in range(2):  # fitted, and then read from the checkpoint
        with pytest.warns(FutureWarning, match=r"^this will change \(runs \[0, 1, 2\]\)$"):
            build_ensemble(
                X, Changing(3, n_init=1), n_runs=Runs(3, checkpoint=tmp_path), random_state=0
            )


@pytest.mark.parametrize("kind", ["", "os:system", "no.such:Warning"])
def test_a_stored_warning_of_no_known_kind_is_for_users(kind):
    assert RunWarning("old", kind).category is UserWarning


@pytest.mark.parametrize("on_failure", ["raise", "drop"])
@pytest.mark.parametrize("last", [Leiden(), make_pipeline(StandardScaler(), Leiden()), "leiden"])
def test_a_missing_package_is_told_before_any_run(monkeypatch, last, on_failure):
    monkeypatch.setitem(sys.modules, "igraph", None)

    def first(X, rng):
        raise AssertionError("a run was started")

    with pytest.raises(ImportError, match=r'^leiden needs .* pip install "clustertrust'):
        build_ensemble(X, [first, last], n_runs=Runs(2, on_failure=on_failure))


@pytest.mark.parametrize(
    "call", [build_ensemble, lambda X, **options: CAKE(**options).fit(X)], ids=["function", "CAKE"]
)
@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"clusterer": "dbscan"},
            ValueError,
            r"clusterer='dbscan' is not known; .*choose one of \['agglomerative'",
        ),
        ({"n_clusters": 0}, ValueError, r"n_clusters=0 must be at least 1"),
        ({"n_clusters": 2.0}, TypeError, r"n_clusters=2\.0 must be an integer"),
        ({"n_clusters": True}, TypeError, r"n_clusters=True must be an integer"),
        ({"n_clusters": 121}, ValueError, r"n_clusters=121 is more than the 120 points to cluster"),
        ({"n_runs": 1}, ValueError, r"n_runs=1 must be at least 2"),
        ({"n_runs": "many"}, TypeError, r"n_runs='many' must be an integer"),
        ({"random_state": -1}, ValueError, r"random_state=-1 must be at least 0"),
        ({"random_state": "a"}, TypeError, r"random_state='a' must be an integer"),
        (
            {"random_state": [1, 2], "n_runs": 3},
            ValueError,
            r"random_state has 2 seeds for n_runs=3",
        ),
        ({"random_state": [1, -2], "n_runs": 2}, ValueError, r"random_state=-2 must be at least 0"),
        ({"random_state": [1, 2**32], "n_runs": 2}, ValueError, r"random_state.*4294967296"),
        ({"n_jobs": 0}, ValueError, r"n_jobs=0"),
        ({"n_jobs": "all"}, (TypeError, ValueError), r"n_jobs='all'"),
    ],
)
def test_errors_name_the_argument_and_the_value(call, options, kind, message):
    with pytest.raises(kind, match=message):
        call(X, **options)
