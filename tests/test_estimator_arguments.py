"""CAKE with odd numbers, data that cannot be used, seeds, and the reasons for a score."""

import warnings

import numpy as np
import pandas as pd
import pytest
from extras import extra
from fits import NEW, X, assert_same_fit, every_geometry, fitted
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from clustertrust import CAKE, audit, confidence
from clustertrust.geometry import Kernel

pl = extra("polars")

# --- numbers that are asked for ---


def test_one_cluster():
    with pytest.warns(UserWarning, match="All 3 runs have one cluster") as caught:
        cake = fitted(n_clusters=1, n_runs=3)
    assert len(caught) == 1
    assert_array_equal(cake.stability_, np.ones(150))
    assert_array_equal(cake.scores_, np.zeros(150))
    assert_array_equal(cake.labels_, np.zeros(150))
    assert_array_equal(cake.rival_, np.full(150, -1))
    assert_array_equal(cake.predict(NEW), np.zeros(40))
    assert cake.score(NEW) == 0.0


def unasked(fit):
    """What a fit says of a number of clusters that nobody gave."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fit()
    return [text for one in told if "n_clusters is not" in (text := str(one.message))]


@pytest.mark.parametrize("n_runs", [3, "auto"])
@pytest.mark.parametrize("clusterer", ["kmeans", ["kmeans", KMeans(2, n_init=1), "kmeans"]])
def test_eight_clusters_unless_told_otherwise_with_one_warning(clusterer, n_runs):
    cake = make_pipeline(CAKE(clusterer=clusterer, n_runs=n_runs, random_state=0))
    assert unasked(lambda: cake.fit(X)) == [
        "n_clusters is not given, so kmeans took k = 8. Set n_clusters; clustertrust.choose_k(X) "
        "recommends one."
    ]
    assert cake[-1].n_clusters is None
    assert cake[-1].ensemble_.n_clusters[0] == 8


@pytest.mark.parametrize(
    "how",
    [
        {"n_clusters": 8},
        {"vary": {"n_clusters": [2, 3]}},
        {"clusterer": "hdbscan", "resample": 0.8},
        {"clusterer": KMeans(n_init=1)},
        {"clusterer": lambda X, rng: rng.integers(2, size=len(X))},
    ],
)
def test_no_word_about_eight_clusters_where_nothing_was_assumed(how):
    assert not unasked(lambda: CAKE(n_runs=3, random_state=0, **how).fit(X))


def test_an_audit_takes_k_from_the_labels_without_a_word_about_eight():
    assert not unasked(lambda: audit(X, np.arange(len(X)) % 2, clusterer="kmeans", random_state=0))


def test_fewer_clusters_than_asked_for_is_told_once():
    points = np.repeat(X[:3], 5, axis=0)
    with pytest.warns(
        ConvergenceWarning,
        match=r"4 of 4 runs found fewer than the 5 clusters asked for \(run 0 found 3\)",
    ) as caught:
        cake = CAKE(5, n_runs=4, random_state=0).fit(points)
    assert len(caught) == 1
    assert caught[0].filename == __file__  # where the user can do something about it
    assert cake.votes_.shape == (15, 3)
    assert_array_equal(cake.predict(points), cake.labels_)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (
            {"fusion": "sum"},
            ValueError,
            r"fusion='sum' is not known.*\['combined', 'harmonic', 'product', 'refined'\]",
        ),
        (
            {"normalization": "none"},
            ValueError,
            r"normalization='none' is not known.*\['affine', 'clip', 'smooth'\]",
        ),
        (
            {"agreement": "vote"},
            ValueError,
            r"agreement='vote' is not known.*\['element-centric', 'jaccard', 'matching', 'reference'\]",
        ),
        (
            {"unassigned": "drop"},
            ValueError,
            r"unassigned='drop' is not known.*\['disagree', 'skip'\]",
        ),
        (
            {"consensus": "mean"},
            ValueError,
            r"consensus='mean' is not known.*\['best-reference', 'medoid'\]",
        ),
        ({"geometry": Kernel("precomputed")}, ValueError, r"confidence\(X, labels\)"),
    ],
)
def test_parameters_that_cannot_work(params, error, message):
    with pytest.raises(error, match=message):
        CAKE(**params).fit(X)


# --- data that cannot be used ---


@pytest.mark.parametrize("bad", [[np.nan], [np.inf], [-np.inf], [np.inf, -np.inf]])
def test_missing_and_infinite_values(bad):
    broken = X.copy()
    broken[5:7] = 0.0  # rows that a sparse matrix does not hold
    broken[[7, 9][: len(bad)], 0] = bad
    remedy = r"row 7, column 0.*Drop.*impute"
    for points in (broken, sparse.csr_array(broken), broken.astype(np.float32)):
        with pytest.raises(ValueError, match=f"^X contains {len(bad)} value.*{remedy}"):
            CAKE(3).fit(points)
    frame = pd.DataFrame(broken, columns=["width", "b", "c"])
    with pytest.raises(ValueError, match=r"row 7, column 0 \('width'\)"):
        CAKE(3).fit(frame)
    with pytest.raises(ValueError, match=r"row 7, column 0 \('width'\)"):
        confidence(frame, [np.arange(150) % 2] * 2)


def test_values_behind_a_mask_are_missing():
    masked = np.ma.masked_array(X, mask=False)
    assert_array_equal(
        CAKE(3, random_state=0).fit(masked).labels_, CAKE(3, random_state=0).fit_predict(X)
    )
    masked[4, 1] = np.ma.masked
    with pytest.raises(ValueError, match=r"X contains 1 value.*row 4, column 1"):
        CAKE(3).fit(masked)


def test_a_frame_without_columns():
    with pytest.raises(ValueError, match="X has no columns"):
        CAKE(3).fit(pd.DataFrame(index=range(9)))


def test_missing_values_of_nullable_and_polars_columns():
    values = [1, 2, None, 4]
    for frame in (
        pd.DataFrame({"a": [1.0, 2, 3, 4], "b": pd.array(values, dtype="Int64")}),
        pl.DataFrame({"a": [1.0, 2, 3, 4], "b": values}),
    ):
        with pytest.raises(ValueError, match=r"row 2, column 1 \('b'\)"):
            CAKE(2).fit(frame)


def test_large_values_are_no_error():
    """Finite values whose sum is not: neither refused nor warned of while they are looked through."""
    points = np.array([[1.0e308], [1.01e308], [1.1e308], [1.11e308]])
    scored = confidence(points, [[0, 0, 1, 1]] * 2, metric="manhattan")
    assert_allclose(scored.silhouette_mean, [19 / 21, 17 / 19, 17 / 19, 19 / 21])


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(
            {"a": [1.0, 2, 3], "town": ["x", "y", "z"], "kind": pd.Categorical(["u", "v", "u"])}
        ),
        pd.DataFrame(
            {
                "a": [1.0, 2, 3],
                "town": np.array(["x", "y", 1], object),
                "kind": pd.array(["u"] * 3, "string"),
            }
        ),
        pl.DataFrame(
            {
                "a": [1.0, 2, 3],
                "town": ["x", "y", "z"],
                "kind": pl.Series(["u"] * 3, dtype=pl.Categorical),
            }
        ),
    ],
    ids=["pandas", "pandas-object", "polars"],
)
def test_text_columns_are_named(frame):
    with pytest.raises(ValueError, match=r"not numbers: \['town', 'kind'\].*encode"):
        CAKE(2).fit(frame)


def test_numbers_kept_as_objects_are_numbers():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype({"b": object})
    assert_array_equal(fitted(frame).scores_, fitted().scores_)


# --- seeds ---


@every_geometry
def test_any_number_of_threads_gives_the_same(options):
    one, two = fitted(n_jobs=1, **options), fitted(n_jobs=2, **options)
    assert_same_fit(one, two)
    assert_array_equal(one.score_samples(NEW), two.score_samples(NEW))


# --- the reasons for a score ---


def test_explain_tells_what_the_attributes_hold():
    cake = fitted()
    for i in (0, 60, int(np.argmin(cake.scores_)), int(np.argmax(cake.scores_))):
        why = cake.explain(i)
        assert (why.point, why.label, why.rival) == (i, cake.labels_[i], cake.rival_[i])
        assert (why.score, why.stability, why.geometry) == (
            cake.scores_[i],
            cake.stability_[i],
            cake.geometry_[i],
        )
        assert why.votes[why.label] == cake.consensus_strength_[i]
        assert sum(why.votes.values()) == pytest.approx(1.0)
        assert why.margin == pytest.approx(cake.votes_[i, why.label] - cake.votes_[i, why.rival])
        assert why.reason == cake.to_frame()["reason"][i]
        assert (why.weak is None) == (why.reason == "core")
        assert why.reason == "core" or cake.explain(i, threshold=why.score - 1e-9).reason == "core"
        assert f"Point {i}: cluster {why.label}, score {why.score:.3f}" in str(why)


def test_text_in_place_of_numbers_has_a_remedy():
    with pytest.raises(ValueError, match=r"X has text, such as 'a'; .*TablePreparer\(\)"):
        CAKE(2).fit([["a", "b"], ["c", "d"], ["e", "f"]])
    with pytest.raises(ValueError, match=r"X has text, such as 'a'; .*TablePreparer\(\)"):
        CAKE(2).fit(np.array([["a", "b"], ["c", "d"], ["e", "f"]]))
