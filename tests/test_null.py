"""The null reference: what has no clusters is not called structured, what has is.

P-values against plain counts.
"""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom
from sklearn.datasets import load_iris, make_blobs
from templates import null_reference

from clustertrust import CAKE, Runs, choose_k
from clustertrust.null import DEFAULT, FAMILIES
from clustertrust.null.reference import p_value
from clustertrust.null.templates import far_out

SQUARE = np.random.default_rng(0).uniform(size=(200, 2))
LONG = np.random.default_rng(1).standard_normal((200, 2)) * [4, 1]
BLOBS = make_blobs(120, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)[0]
FEW = {"n_runs": 4, "n_surrogates": 19, "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    return null_reference(load_iris().data, 3, families=("box", "gaussian", "permuted"), **FEW)


def test_a_square_in_four_scores_high_and_is_not_structured():
    null = null_reference(SQUARE, 4, n_runs=8, n_surrogates=39, random_state=0)
    assert null.mean > 0.5
    assert null.confidence.stability.mean() > 0.9
    assert not null.structured
    assert null.p_values["gaussian"] <= 0.05  # the Gaussian alone would have been fooled
    assert not null.clusters()["structured"].any()


def test_a_long_gaussian_in_two_scores_high_and_is_not_structured():
    null = null_reference(LONG, 2, n_runs=8, n_surrogates=39, random_state=0)
    assert null.mean > 0.6
    assert not null.structured
    assert null.p_values["gaussian"] > 0.05


def test_blobs_are_structured():
    null = null_reference(BLOBS, 3, **FEW)
    assert null.structured
    assert null.p_value == pytest.approx(1 / 20)
    assert null.excess > 0.2
    assert null.clusters()["structured"].all()
    assert (null.point_percentile > 0.9).mean() > 0.9


def test_only_the_cluster_that_stands_out_is_called_so():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.uniform(size=(150, 2)), 0.02 * rng.standard_normal((75, 2)) + [2.0, 0.5]])
    table = null_reference(X, 3, **FEW).clusters().sort_values("mean_score")
    assert table["structured"].tolist() == [False, False, True]
    assert table["points"].sum() == len(X)


# Under the null


@pytest.fixture(scope="module")
def from_boxes():
    """The box's own null for 60 boxes."""
    draws = (np.random.default_rng([7, i]).uniform(size=(60, 2)) * [2, 1] for i in range(60))
    how = {"n_runs": 3, "n_surrogates": 9, "families": ["box"], "level": 0.2}
    return [null_reference(X, 3, random_state=i, **how) for i, X in enumerate(draws)]


def test_p_values_of_boxes_are_uniform(from_boxes):
    p = np.array([null.p_value for null in from_boxes])
    for level in (0.1, 0.2, 0.5):  # central 99.8 % of what a uniform p-value would give
        low, high = binom.ppf([0.001, 0.999], len(p), level)
        assert low <= (p <= level + 1e-9).sum() <= high
    assert abs(p.mean() - 0.55) < 3.1 * np.sqrt((1 - 0.01) / 12 / len(p))  # on 0.1, 0.2, …, 1


def test_the_chance_of_any_cluster_alarm_is_at_most_the_level(from_boxes):
    alarms = [null.clusters()["structured"].any() for null in from_boxes]
    assert sum(alarms) <= binom.ppf(0.999, len(alarms), 0.2)
    loose = [
        (p_value(null.clusters()["mean_score"].max(), null.means["box"])) <= 0.2
        for null in from_boxes
    ]
    # So the comparison with the best cluster is needed.
    assert sum(loose) > binom.ppf(0.999, len(loose), 0.2)


def test_p_values_count():
    null = np.array([0.3, 0.1, 0.2, 0.2])
    assert p_value(0.2, null) == 4 / 5  # equal values count as high
    assert p_value(0.31, null) == 1 / 5  # never 0
    assert_allclose(p_value(np.array([0.0, 0.25]), null), [1.0, 2 / 5])


def test_p_values_lie_on_their_grid(iris):
    B = iris.n_surrogates
    columns = [f"p_{name}" for name in iris.families]
    for p in [*iris.p_values.values(), *iris.clusters()[columns].to_numpy().ravel()]:
        assert 1 <= round(p * (B + 1)) <= B + 1
        assert p * (B + 1) == pytest.approx(round(p * (B + 1)))


# The parts of the record


def test_the_verdict_is_the_larger_of_box_and_gaussian(iris):
    low, high = np.full(19, iris.mean - 0.1), np.full(19, iris.mean + 0.1)
    half = np.concatenate([high[:4], low[4:]])
    cases = [
        ({"box": low, "gaussian": low, "permuted": high}, 1 / 20),
        ({"box": low, "gaussian": half, "permuted": low}, 5 / 20),
        ({"box": high, "gaussian": low, "permuted": low}, 1.0),
    ]
    for means, p in cases:
        null = replace(iris, means=means)
        assert null.p_value == pytest.approx(p)
        assert null.structured == (p <= 0.05)
        assert null.excess == pytest.approx(
            null.mean - max(means["box"].mean(), means["gaussian"].mean())
        )
    assert iris.verdict_families == DEFAULT


def test_clusters_are_compared_with_the_best_cluster_of_each_surrogate(iris):
    table = iris.clusters()
    for label, row in table.iterrows():
        mean = iris.confidence.scores[iris.confidence.labels == label].mean()
        assert row["mean_score"] == pytest.approx(mean)
        counts = [(1 + (iris.largest_cluster_means[f] >= mean).sum()) / 20 for f in iris.families]
        assert_allclose(row[[f"p_{f}" for f in iris.families]].astype(float), counts)
        assert row["p_value"] == pytest.approx(max(counts[:2]))
    for family in iris.families:
        assert (iris.largest_cluster_means[family] >= iris.means[family]).all()
        assert (iris.largest_cluster_means[family] > iris.means[family] + 0.01).any()


def test_points_are_placed_among_the_pooled_scores(iris):
    scores = iris.confidence.scores
    assert len(iris.pooled["box"]) == 19 * 150
    for i in (0, 60, 149):
        shares = [(iris.pooled[family] < scores[i]).mean() for family in DEFAULT]
        assert iris.point_percentile[i] == pytest.approx(min(shares))
    assert iris.point_excess.mean() == pytest.approx(iris.excess)
    assert np.isfinite(iris.point_percentile).all()


def test_points_without_a_score_have_no_percentile():
    with pytest.warns(UserWarning, match="fewer than two runs"):
        null = null_reference(SQUARE, 3, resample=0.5, **FEW)
    missing = np.isnan(null.confidence.scores)
    assert missing.any()
    assert_array_equal(np.isnan(null.point_percentile), missing)
    assert_array_equal(np.isnan(null.to_frame()["excess"]), missing)
    assert 0 < null.p_value <= 1
    assert not np.isnan(null.pooled["box"]).any()


def test_the_data_are_scored_as_by_the_estimator():
    X = load_iris(as_frame=True).data
    null = null_reference(X, 3, fusion="product", geometry="rms", **FEW)
    cake = CAKE(3, fusion="product", geometry="rms", n_runs=4, random_state=0).fit(X)
    assert_array_equal(null.confidence.scores, cake.scores_)
    frame = null.to_frame()
    assert_array_equal(frame["label"], cake.labels_)
    assert_array_equal(frame.index, X.index)
    assert null.confidence.geometry_method == "rms"


def test_surrogates_are_scored_with_the_same_settings():
    """What the runs were given: the data R times, then each surrogate R times, all alike in shape
    and type.
    """
    seen = []

    def halves(X, rng):
        seen.append(X)
        return (X[:, 0] > np.quantile(X[:, 0], rng.uniform(0.4, 0.6))).astype(int)

    X = BLOBS.astype(np.float32)
    null_reference(X, clusterer=halves, n_jobs=1, **FEW)
    assert len(seen) == 4 * (1 + 2 * 19)
    assert {(given.shape, given.dtype) for given in seen} == {(X.shape, X.dtype)}
    assert len({given.tobytes() for given in seen}) == 1 + 2 * 19


# Surrogates


def test_the_box_is_along_the_principal_axes():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    X = np.random.default_rng(0).uniform(size=(400, 2)) * [5, 1] @ turn + 7
    drawn = FAMILIES["box"](X)(np.random.default_rng(1))
    assert drawn.shape == X.shape
    straight, back = (X @ turn.T), (drawn @ turn.T)
    assert_allclose(back.min(axis=0), straight.min(axis=0), atol=0.35)
    assert_allclose(back.max(axis=0), straight.max(axis=0), atol=0.35)
    quarters = np.histogram2d(*back.T, bins=2)[0] / 400
    assert_allclose(quarters, 0.25, atol=0.1)


def sides_of(X):
    """Sides of the smallest rectangle around points of the plane, over 720 directions: no principal
    axis in it.
    """
    angle = np.linspace(0, np.pi / 2, 720, endpoint=False)
    along, across = (np.ptp(X @ [np.cos(a), np.sin(a)], axis=0) for a in (angle, angle + np.pi / 2))
    return np.sort([along[np.argmin(along * across)], across[np.argmin(along * across)]])


def test_boxes_are_as_elongated_as_the_data():
    """The box of the ranges along estimated axes is too square."""
    found = []
    for seed in range(150):
        X = np.random.default_rng([5, seed]).uniform(size=(60, 2)) * [2, 1]
        short, long = sides_of(FAMILIES["box"](X)(np.random.default_rng(seed)))
        own_short, own_long = sides_of(X)
        found.append(np.log(long / short) - np.log(own_long / own_short))
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(len(found))


@pytest.mark.parametrize("shape", [(200, 2), (50, 5), (12, 30)])
def test_gaussians_have_exactly_the_mean_and_covariance_of_the_data(shape):
    rng = np.random.default_rng(0)
    X = rng.exponential(size=shape) * rng.uniform(1, 9, size=shape[1]) + 100
    drawn = FAMILIES["gaussian"](X)(rng)
    assert_allclose(drawn.mean(axis=0), X.mean(axis=0), rtol=1e-9)
    assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=1e-9 * X.var())


def test_boxes_have_the_mean_and_nearly_the_covariance_of_the_data():
    X = load_iris().data
    drawn = FAMILIES["box"](X)(np.random.default_rng(0))
    assert_allclose(drawn.mean(axis=0), X.mean(axis=0), rtol=1e-9)
    assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=0.01 * np.trace(np.cov(X.T)))


def test_the_gaussian_has_mean_and_covariance_of_the_data():
    X = load_iris().data
    draw = FAMILIES["gaussian"](X)
    rng = np.random.default_rng(0)
    drawn = np.vstack([draw(rng) for _ in range(200)])
    assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.05)
    assert_allclose(np.cov(drawn.T), np.cov(X.T), atol=0.06)
    middle = np.abs(drawn[:, 2] - drawn[:, 2].mean()) < drawn[:, 2].std()
    # Petal lengths of the flowers themselves have two humps.
    assert middle.mean() == pytest.approx(0.683, abs=0.01)


def test_permuted_columns_keep_their_values_and_nothing_else():
    X = load_iris().data
    drawn = FAMILIES["permuted"](X)(np.random.default_rng(0))
    assert_array_equal(np.sort(drawn, axis=0), np.sort(X, axis=0))
    assert abs(np.corrcoef(drawn.T)[2, 3]) < 0.3 < np.corrcoef(X.T)[2, 3]


@pytest.mark.parametrize("family", DEFAULT)
def test_surrogates_stay_in_the_plane_of_the_data(family):
    flat = np.column_stack([SQUARE, SQUARE.sum(axis=1), np.ones(len(SQUARE))])
    drawn = FAMILIES[family](flat)(np.random.default_rng(0))
    assert_allclose(drawn[:, 2], drawn[:, 0] + drawn[:, 1], atol=1e-12)
    assert_allclose(drawn[:, 3], 1.0, atol=1e-12)
    wide = np.random.default_rng(0).standard_normal((10, 30))
    assert np.isfinite(FAMILIES[family](wide)(np.random.default_rng(0))).all()


# Points far out


def with_outliers(n, seed=0):
    rng = np.random.default_rng(seed)
    X, angle = rng.standard_normal((150, 2)), rng.uniform(0, 2 * np.pi, n)
    X[3 : 3 + n] = 30 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X


def test_points_far_out_are_named_and_one_cloud_without_them_is_none_the_more_structured():
    X = pd.DataFrame(with_outliers(6))
    with pytest.warns(
        UserWarning,
        match=r"6 points lie far from all others: 3, 4, 5, 6, 7, 8\. .*test again without",
    ):
        null = null_reference(X, 2, **FEW)
    assert null.structured  # six points make it so
    assert null.far_out.tolist() == [3, 4, 5, 6, 7, 8]
    assert "6 points lie far from all others: 3, 4, " in null.summary()
    # pytest turns a warning into an error.
    rest = null_reference(np.delete(X, null.far_out, axis=0), 2, **FEW)
    assert not rest.structured
    assert rest.far_out.size == 0


def test_points_far_out_are_named_by_their_place_in_all_data_and_ten_at_most():
    X = with_outliers(12)
    with pytest.warns(
        UserWarning,
        match=r"12 points lie far from all others: 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, …\.",
    ):
        assert null_reference(X, 2, **FEW).far_out.tolist() == list(range(3, 15))
    with pytest.warns(UserWarning, match="far from all others"):
        null = null_reference(X, 2, max_points=100, **FEW)
    assert set(null.far_out) == set(range(3, 15)) & set(null.points)


def test_small_clusters_and_long_tails_of_a_gaussian_are_not_far_out():
    small = BLOBS[:8] * 0.05 + 60
    assert far_out(np.vstack([BLOBS, small])).size == 0
    assert far_out(np.vstack([BLOBS, small[:7]])).tolist() == list(range(120, 127))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        assert far_out(rng.standard_normal((100, rng.integers(2, 20)))).size == 0
    assert far_out(SQUARE[:5] * [[1, 1]] * 1e9).size == 0  # too few points to say


# Seeds, samples, forms


def test_a_seed_fixes_everything_and_more_surrogates_begin_with_the_same():
    one = null_reference(SQUARE, 3, n_jobs=1, **FEW)
    again = null_reference(SQUARE, 3, n_jobs=2, **FEW)
    more = null_reference(
        SQUARE, 3, families=("permuted", "gaussian", "box"), **{**FEW, "n_surrogates": 25}
    )
    other = null_reference(SQUARE, 3, **{**FEW, "random_state": 1})
    for family in DEFAULT:
        assert_array_equal(one.means[family], again.means[family])
        assert_array_equal(one.means[family], more.means[family][:19])
        assert len(np.unique(one.means[family])) > 15
        assert not np.isin(other.means[family], one.means[family]).any()
    assert_array_equal(one.pooled["box"], again.pooled["box"])
    assert not np.array_equal(one.means["box"], one.means["gaussian"])


def test_of_many_points_a_sample_is_judged():
    X = pd.DataFrame(SQUARE, index=[f"p{i}" for i in range(200)])
    null = null_reference(X, 3, max_points=80, **FEW)
    assert len(null.points) == len(null.confidence.scores) == 80
    assert (np.diff(null.points) > 0).all()
    assert_array_equal(null.to_frame().index, X.index[null.points])
    assert len(null.pooled["box"]) == 19 * 80
    by_hand = CAKE(3, n_runs=4, random_state=0).fit(SQUARE[null.points])
    assert_array_equal(null.confidence.scores, by_hand.scores_)
    bare = null_reference(SQUARE, 3, max_points=80, **FEW)
    assert_array_equal(bare.to_frame().index, null.points)


def test_polars_frames_come_back():
    polars = pytest.importorskip("polars")
    frame = null_reference(polars.DataFrame(BLOBS, schema=["a", "b"]), 3, **FEW).to_frame()
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == ["point", "label", "score", "excess", "percentile"]
    assert frame.height == len(BLOBS)


def test_other_clusterers_and_noise():
    null = null_reference(BLOBS, clusterer="hdbscan", vary={"min_cluster_size": range(5, 20)}, unassigned="disagree",
                          agreement="jaccard", **FEW)  # fmt: skip
    assert null.structured
    assert null.means["gaussian"].max() < 0.5


def test_the_summary_tells_runs_of_several_k():
    null = null_reference(BLOBS, vary={"n_clusters": range(2, 5)}, agreement="jaccard", **FEW)
    k = null.confidence.ensemble.n_clusters
    assert f" runs of {k.min()} to {k.max()} clusters: mean score" in null.summary()


def test_the_summary_says_what_was_found(iris):
    text = iris.summary()
    assert "150 points, 3 clusters, 4 runs: mean score" in text
    assert "permuted" in text
    assert "not part of the verdict" in text
    low = dict.fromkeys(iris.families, np.zeros(19))
    assert (
        "\nStructured: the data score higher than one cloud, such as a box or a Gaussian, would "
        "(p at most 0.05" in replace(iris, means=low).summary()
    )
    mixed = {**low, "gaussian": np.ones(19)}
    assert (
        "Not structured: one cloud, such as a Gaussian, scores as high (p = 1"
        in replace(iris, means=mixed).summary()
    )
    ones = {"hull": np.ones(19)}
    of_hull = replace(iris, families=("hull",), means=ones, largest_cluster_means=ones)
    assert "one cloud, such as the hull of the data, scores as high" in of_hull.verdict()


def test_progress_is_told_where_somebody_watches(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stderr", Terminal())
    null_reference(BLOBS, 3, **{**FEW, "verbose": True})
    import sys

    assert sys.stderr.getvalue().endswith("surrogates [##############################] 38/38\n")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"families": ("box", "cube")}, "families='cube' is not known"),
        ({"families": ("permuted",)}, "has no family for the verdict"),
        ({"families": ()}, "has no family for the verdict"),
        ({"n_surrogates": 10}, "n_surrogates=10 allows no p-value below 0.0909.*at least 19"),
        ({"n_surrogates": 0}, "n_surrogates=0 must be at least 1"),
        ({"level": 0}, "level=0 must be above 0 and below 1"),
        ({"level": "low"}, "level='low' must be a number"),
        ({"max_points": 1}, "max_points=1 must be at least 2"),
        ({"random_state": [1, 2]}, "random_state=.* must be a number or None"),
        ({"fusion": "sum"}, "fusion='sum' is not known"),
        (
            {"geometry": "rms", "metric": "manhattan"},
            "metric='manhattan' is not used by geometry='rms'",
        ),
        ({"metric": "precomputed"}, "Surrogates are points without clusters"),
        ({"n_clusters": 500}, "n_clusters=500 is more than the 120 points"),
        ({"n_runs": Runs(on_failure="ignore")}, "on_failure='ignore' is not known"),
        ({"clusterer": "k"}, "clusterer='k' is not known"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        null_reference(BLOBS, **({"n_clusters": 3} | settings))


def test_bad_data():
    from scipy.sparse import csr_array

    with pytest.raises(ValueError, match="X is sparse"):
        null_reference(csr_array(BLOBS), 3)
    with pytest.raises(ValueError, match="all its rows are equal"):
        null_reference(np.ones((10, 2)), 3)
    with pytest.raises(TypeError, match="families='box' must be a sequence of names"):
        null_reference(BLOBS, 3, families="box")
    with pytest.raises(ValueError, match="n_runs='auto' does not suit surrogates; give a number"):
        null_reference(BLOBS, 3, n_runs="auto")
    with pytest.raises(ValueError, match="missing or infinite"):
        null_reference(np.where(BLOBS > 5, np.nan, BLOBS), 3)


def test_the_verdict_names_a_rare_cluster():
    """A tight cluster of 40 in 600 points of noise."""
    rng = np.random.default_rng(0)
    rare = rng.normal([6, 0, 0, 0], 0.3, size=(40, 4))
    X = np.vstack([rng.normal(size=(600, 4)), rare])
    null = null_reference(X, 8, n_runs=3, random_state=0, n_surrogates=19)
    assert not null.structured
    (found,) = null.clusters().query("structured").index
    assert found == null.confidence.labels[-1]
    said = f"But cluster {found} scores higher than the best cluster of such a cloud. The others "
    assert said in null.verdict()
    assert f"{said}may be pieces of one cloud." in null.summary()
    noise = null_reference(X[:600], 3, n_runs=3, random_state=0, n_surrogates=19)
    assert noise.verdict().endswith(" The clusters may be pieces of one cloud.")


def test_a_summary_quotes_other_tests_and_where_they_disagree():
    cake = CAKE(3, n_runs=5, random_state=0).fit(BLOBS)
    null = null_reference(BLOBS, 3, n_runs=5, random_state=0, n_surrogates=19)
    text = cake.summary(tests=[null])
    assert f"null_reference: {null.verdict()}" in text
    assert null.structured
    assert "disagree" not in text
    # The data are the same, but a stricter level finds nothing.
    doubtful = replace(null, level=0.01)
    assert "\n  They disagree: " in cake.summary(tests=[doubtful])
    twice = cake.summary(tests=[doubtful, replace(doubtful, level=0.001)])
    assert twice.count("  They disagree: ") == twice.count("  They disagree, as above.") == 1
    with pytest.raises(ValueError, match="tests=3 has no verdict; give results of null_reference"):
        cake.summary(tests=[3])
    with pytest.raises(TypeError, match="must be a list of results of null_reference or choose_k"):
        cake.summary(tests=null)


def test_a_summary_and_a_page_quote_a_choice_of_k(tmp_path):
    cake = CAKE(8, n_runs=5, random_state=0).fit(BLOBS)
    profile = choose_k(BLOBS, range(2, 5), CAKE(random_state=0), null=None)
    text = cake.summary(tests=[profile])
    assert f"choose_k: {profile.verdict()}" in text
    assert "this fit has 8 clusters, which is not among the plausible numbers" in text
    other = choose_k(BLOBS[:-1], range(2, 5), CAKE(random_state=0), null=None)
    with pytest.raises(ValueError, match="rows, but the data have"):
        cake.summary(tests=[other])
    with pytest.raises(ValueError, match="rows, but the data have"):
        cake.report(tmp_path / "page.html", tests=[other])
    assert not (tmp_path / "page.html").exists()
    cake.report(tmp_path / "page.html", tests=iter([profile]))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "choose_k: " in page
    assert "this fit has 8 clusters" in page
