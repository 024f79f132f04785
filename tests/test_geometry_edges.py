"""Silhouettes at the edges: what must not change them, what is refused, and samples."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from silhouette_cases import FULL, GAPS, N, X, by_loops, halved_canberra, rng
from sklearn.datasets import make_blobs

from clustertrust import CAKE, Metric, ParameterError, build_ensemble, confidence
from clustertrust.cells import meet
from clustertrust.distances.dissimilarity import Euclidean
from clustertrust.distances.sampled_means import SampledMeans
from clustertrust.geometry import Centroid, Exact, Graph, Kernel, Rms, Sampled, silhouettes
from clustertrust.geometry.auto import Auto
from clustertrust.geometry.base import Compute
from clustertrust.geometry.component import affine, clip, mean_and_std, smooth
from clustertrust.geometry.measuring import GEOMETRIES, sampling_error

EVERY = [  # one call of each way through the code
    {"geometry": "exact"},
    {"geometry": "exact", "metric": "manhattan"},
    {"geometry": "exact", "metric": "cosine"},
    {"geometry": "exact", "metric": "sqeuclidean"},
    {"geometry": "centroid"},
    {"geometry": "rms"},
    {"geometry": "kernel"},
    {"geometry": "graph"},
    {"geometry": Kernel("rbf")},
    {"geometry": Kernel("linear")},
    {"geometry": Kernel("polynomial")},
]


def name_of(options):
    return "-".join(str(value) for value in options.values())


def kernel_of(options):
    """The kernel of silhouettes by one, else None."""
    geometry = options["geometry"]
    if geometry == "kernel":
        return "self-tuning"
    return geometry.kernel if isinstance(geometry, Kernel) else None


every_geometry = pytest.mark.parametrize("options", EVERY, ids=name_of)
# Where clusters share a place, most of a point's neighbours are in the larger one.
by_distance = pytest.mark.parametrize(
    "options", [o for o in EVERY if o["geometry"] != "graph"], ids=name_of
)


def exact_loops(X, labels, metric="euclidean", **params):
    D = cdist(X, X, metric, **params)
    return by_loops(labels, lambda i, members: D[i, members[members != i]].mean())


# --- edge cases ---


UNEQUAL = np.column_stack([np.arange(10) < 3, np.arange(10) < 5]).astype(int)


@by_distance
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3])
def test_equal_points_have_silhouette_zero(options, container, value):
    """No cluster is nearer than another, also where the mean of three times 0.1 is not 0.1."""
    points = container(np.full((10, 2), value))
    assert_array_equal(silhouettes(points, UNEQUAL, **options), np.zeros((10, 2)))


@by_distance
def test_two_clusters_in_one_place_have_silhouette_zero(options):
    points = np.vstack([np.full((10, 2), [0.1, 0.7]), [[3.0, 1.0], [4.0, 2.0]]])
    labels = np.append(np.arange(10) < 3, [2, 2])[:, None].astype(int)
    assert_array_equal(silhouettes(points, labels, **options)[:10], np.zeros((10, 1)))


@every_geometry
def test_cluster_of_one_point_has_silhouette_zero(options):
    s = silhouettes(X, FULL, **options)
    assert s[0, 2] == 0.0
    assert (s[1:, 2] != 0.0).all()


@every_geometry
def test_one_cluster_is_told_once_and_gives_zeros(options):
    labels = np.column_stack([np.zeros(N, int), FULL[:, 1], np.where(np.arange(N) < 5, -1, 4)])
    with pytest.warns(UserWarning, match=r"^Runs \[0, 2\] have one cluster") as caught:
        s = silhouettes(X, labels, **options)
    assert [w.filename for w in caught] == [__file__]
    assert_array_equal(s[:, 0], np.zeros(N))
    assert_array_equal(s[:, 2], np.where(np.arange(N) < 5, np.nan, 0.0))
    assert_allclose(s[:, 1], silhouettes(X, FULL[:, [1]], **options)[:, 0], atol=1e-12)


def test_warnings_of_confidence_point_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        confidence(X, np.column_stack([np.zeros(N, int), FULL[:, 1]]))
    assert len(caught) == 2  # one run has one cluster; the runs differ in their numbers of clusters
    assert {w.filename for w in caught} == {__file__}


@every_geometry
def test_points_that_are_not_assigned(options):
    """NaN there.

    Elsewhere as if the point were not in the data, but for what is learnt from all points.
    """
    s = silhouettes(X, GAPS, **options)
    assert_array_equal(np.isnan(s), GAPS < 0)
    # The self-tuning scale and the neighbours look at all points; see the loops.
    if kernel_of(options) is None and options["geometry"] != "graph":
        for r, run in enumerate(GAPS.T):
            alone = silhouettes(X[run >= 0], run[run >= 0][:, None], **options)[:, 0]
            assert_allclose(s[run >= 0, r], alone, atol=1e-12)


@every_geometry
def test_runs_without_any_cluster(options):
    nothing = np.full(N, -1)
    s = silhouettes(X, [nothing, FULL[:, 1], nothing], **options)
    assert np.isnan(s[:, [0, 2]]).all()
    assert_allclose(s[:, 1], silhouettes(X, FULL[:, [1]], **options)[:, 0], atol=1e-12)
    assert np.isnan(silhouettes(X, [nothing, nothing], **options)).all()


# --- what must not change a silhouette ---


@every_geometry
def test_blocks_do_not_change_the_result(options):
    expected = silhouettes(X, GAPS, **options)
    for megabytes in (1e-6, 0.02):  # one row a block, and a few
        with sklearn.config_context(working_memory=megabytes):
            assert_allclose(silhouettes(X, GAPS, **options), expected, atol=1e-12)


@every_geometry
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_threads_do_not_change_a_bit(options, container):
    r = np.random.default_rng(1)
    points, labels = container(r.normal(size=(120, 7))), r.integers(0, 4, (120, 3))
    # The second: memory, not the largest block, decides how the rows are cut.
    for megabytes in (1024, 0.1):
        with sklearn.config_context(working_memory=megabytes):
            alone, two, all_cores = (
                silhouettes(points, labels, n_jobs=n_jobs, **options) for n_jobs in (1, 2, -1)
            )
        assert_array_equal(alone, two)
        assert_array_equal(alone, all_cores)


@every_geometry
def test_single_precision(options):
    single = X.astype(np.float32)
    ours = silhouettes(single, FULL, **options)
    assert ours.dtype == np.float64
    assert_allclose(ours, silhouettes(single.astype(np.float64), FULL, **options), atol=1e-5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    # The other kernels are computed around the mean of all points, which far points move. Of eight
    # points all are neighbours, and the far ones are the scale of the others.
    "options",
    [o for o in EVERY if o["geometry"] != "graph" and kernel_of(o) in (None, "polynomial")],
    ids=name_of,
)
def test_far_points_do_not_blur_the_others(options, container):
    """What is too small to be told from 0 at one place may be a distance at another."""
    near = np.vstack(
        [[0.0, 0.001], [0.0, 0.002], [0.001, 0.001], [0.01, 0.001], [0.011, 0.001], [0.01, 0.002]]
    )
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])[:, None]
    expected, ours = (
        silhouettes(
            container(np.vstack([near, [[-far, far], [-far, 1.1 * far]]])), labels, **options
        )
        for far in (1.0, 1e6)
    )
    assert_allclose(ours[:6], expected[:6], atol=1e-7)


SHIFTABLE = [o for o in EVERY if o.get("metric") != "cosine" and kernel_of(o) != "polynomial"]


@pytest.mark.parametrize("options", SHIFTABLE, ids=name_of)
def test_far_from_the_origin(options):
    far = X + 1e7
    near = far - 1e7  # exact: the same points, without the digits that adding 1e7 costs
    # A mean near 1e7 is good to about 1e-9, and so are the distances to it.
    assert_allclose(
        silhouettes(far, GAPS, **options), silhouettes(near, GAPS, **options), atol=1e-7
    )


SCALABLE = [o for o in SHIFTABLE if kernel_of(o) != "rbf"]


@settings(deadline=None, max_examples=25)
@given(st.data())
def test_moving_and_scaling_the_points_changes_nothing(data):
    n = data.draw(st.integers(4, 12))
    options = data.draw(st.sampled_from(SCALABLE))
    coordinates = st.lists(st.integers(-50, 50), min_size=n, max_size=n)
    points = np.array(data.draw(st.lists(coordinates, min_size=1, max_size=3)), float).T
    labels = np.array(data.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))[:, None]
    labels[:2, 0] = [0, 1]
    shift, scale = data.draw(st.integers(-1000, 1000)), 2.0 ** data.draw(st.integers(-20, 20))
    # Integers and powers of two: moved and scaled without rounding.
    before, after = (
        silhouettes(points, labels, **options),
        silhouettes((points + shift) * scale, labels, **options),
    )
    # The kernel takes the root of a difference, which turns an error of 1e-14 into one of 1e-7 near
    # a centre.
    assert_allclose(after, before, atol=1e-5 if kernel_of(options) else 1e-9)
    assert (np.abs(before[np.isfinite(before)]) <= 1).all()


@every_geometry
def test_order_of_points_and_names_of_clusters_change_nothing(options):
    expected = silhouettes(X, GAPS, **options)
    order = rng.permutation(N)
    assert_allclose(silhouettes(X[order], GAPS[order], **options), expected[order], atol=1e-12)
    names = np.array(["four", "one", "two", "three", "five", "x", "x", "six", None], dtype=object)
    assert_allclose(silhouettes(X, pd.DataFrame(names[GAPS]), **options), expected, atol=1e-12)


@every_geometry
def test_arguments_are_left_as_they_were(options):
    points, labels = X.copy(), GAPS.copy()
    silhouettes(points, labels, **options)
    assert_array_equal(points, X)
    assert_array_equal(labels, GAPS)


# --- from silhouettes to the geometric component ---


def test_mean_and_std_leave_out_missing_runs():
    s = rng.uniform(-1, 1, size=(6, 5))
    s[0, :4] = s[1, 2] = s[2] = np.nan  # one run left, four left, none left
    mean, std = mean_and_std(s)
    for i in (0, 1, 3, 4, 5):
        there = [value for value in s[i] if not np.isnan(value)]
        assert mean[i] == pytest.approx(sum(there) / len(there), abs=1e-15)
        # Divided by the number of runs, not by one less.
        assert std[i] == pytest.approx(
            (sum((v - mean[i]) ** 2 for v in there) / len(there)) ** 0.5, abs=1e-15
        )
    assert std[0] == 0.0
    assert np.isnan([mean[2], std[2]]).all()


def test_clip_and_affine():
    mean = np.array([0.8, 0.1, -0.5, -1.0, 0.0, 1.0, np.nan])
    std = np.array([0.1, 0.3, 0.2, 0.4, 1.0, 0.0, np.nan])
    assert_allclose(clip(mean, std), [0.7, 0.0, 0.0, 0.0, 0.0, 1.0, np.nan], atol=1e-15)
    assert_allclose(affine(mean, std), [0.85, 0.4, 0.15, 0.0, 0.0, 1.0, np.nan], atol=1e-15)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20), st.floats(0, 1))
def test_smooth_keeps_the_order_of_all_means(means, spread):
    mean = np.unique(np.round(means, 3))
    g = smooth(mean, np.full(len(mean), spread))
    assert (np.diff(g) > 0).all()
    assert ((g > 0) & (g <= 1)).all()
    # Next to a cut of the mean at 0, and the same in the end
    assert_allclose(g, np.maximum(mean, 0), atol=0.0101)
    assert smooth(np.array([1.0]), np.zeros(1)) == 1
    assert np.isnan(smooth(np.array([np.nan]), np.zeros(1)))


@pytest.mark.parametrize(
    ("normalization", "formula"), [("clip", clip), ("affine", affine), ("smooth", smooth)]
)
def test_confidence_normalizes_the_silhouettes(normalization, formula):
    scored = confidence(X, FULL[:, :1].repeat(2, axis=1), normalization=normalization)
    s = exact_loops(X, FULL[:, :1])[:, 0]
    assert_allclose(scored.silhouette_mean, s, atol=1e-12)
    assert_allclose(scored.silhouette_std, 0.0, atol=1e-12)
    assert_allclose(scored.geometry, formula(s, 0.0), atol=1e-12)


# --- what is chosen and what is refused ---


@pytest.mark.parametrize(
    ("n", "d", "metric", "expected"),
    [
        (150, 4, "euclidean", "exact"),
        (50_000, 200, "euclidean", "exact"),  # n² d is 5e11
        (50_000, 201, "euclidean", "rms"),
        (50_001, 1, "euclidean", "rms"),
        (20_000, 1250, "euclidean", "exact"),
        (20_000, 1251, "euclidean", "rms"),
        (10**7, 100, "manhattan", "exact"),  # for other metrics there is nothing else
        (10**7, 100, halved_canberra, "exact"),
    ],
)
def test_auto_depends_on_the_size_alone(n, d, metric, expected):
    points = np.broadcast_to(0.0, (n, d))  # of any size, and no memory
    assert Auto(metric=metric).resolve(points, Compute()).name == expected


def test_auto_is_settled_and_told():
    points, labels = np.arange(50_001.0)[:, None], np.arange(50_001) % 2
    large = confidence(points, [labels, labels])
    assert large.geometry_method == "rms"
    assert confidence(points[:90], [labels[:90], labels[:90]]).geometry_method == "exact"
    assert confidence(X, FULL[:, [0, 0]], metric="manhattan").geometry_method == "exact"


@pytest.mark.parametrize(
    "geometry", [name for name, kind in GEOMETRIES.items() if not kind.takes_metric]
)
def test_a_metric_that_the_geometry_does_not_use(geometry):
    assert geometry in {"centroid", "kernel", "rms", "sampled"}
    for way in (geometry, GEOMETRIES[geometry]()):
        for metric in ("manhattan", Metric("minkowski", {"p": 3})):
            options = {"geometry": way, "metric": metric}
            message = rf"^metric=.* is not used by geometry='{geometry}'; .* geometry='exact'"
            with pytest.raises(ParameterError, match=message):
                silhouettes(X, FULL, **options)
            with pytest.raises(ParameterError, match=message):
                confidence(X, FULL, **options)
            with pytest.raises(ParameterError, match=message):
                CAKE(3, **options).fit(X)


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        (kind, option)
        for kind, own in [
            (Auto, {"metric"}),
            (Exact, {"metric"}),
            (Centroid, {"centers"}),
            (Rms, set()),
            (Sampled, set()),
            (Kernel, {"kernel", "gamma", "degree", "coef0", "params"}),
            (Graph, {"n_neighbors", "n_steps", "metric", "weights"}),
        ]
        for option in ("metric", "centers", "kernel", "gamma", "params", "n_neighbors", "weights")
        if option not in own
    ],
)
def test_a_geometry_has_its_own_parameters_alone(kind, option):
    with pytest.raises(TypeError, match=rf"{option}|takes no arguments"):
        kind(**{option: None})
    assert option not in kind().get_params()


def test_parameters_where_there_are_none():
    with pytest.raises(ValueError, match="takes no parameters; give its name alone"):
        silhouettes(X, FULL, geometry="exact", metric=Metric("euclidean", {"p": 3}))
    with pytest.raises(ValueError, match="gamma=3 is not used by kernel='linear'"):
        silhouettes(X, FULL, geometry=Kernel("linear", gamma=3))
    with pytest.raises(ValueError, match=r"params=.* belongs to a function.* kernel='rbf'"):
        silhouettes(X, FULL, geometry=Kernel("rbf", params={"gamma": 3}))
    with pytest.raises(ValueError, match="gamma=3 is not used by kernel=<lambda>"):
        silhouettes(X, FULL, geometry=Kernel(lambda x, y: x @ y, gamma=3))


@pytest.mark.parametrize(
    "call", [silhouettes, confidence, lambda X, _, **options: CAKE(3, **options).fit(X)]
)
def test_unknown_names_are_told_with_the_choices(call):
    geometries = r"\['auto', 'centroid', 'exact', 'graph', 'kernel', 'rms', 'sampled'\]"
    with pytest.raises(ValueError, match=f"geometry='exakt' is not known.*{geometries}"):
        call(X, FULL, geometry="exakt")
    kernels = r"\['linear', 'polynomial', 'precomputed', 'rbf', 'self-tuning'\]"
    with pytest.raises(ValueError, match=f"kernel='gauss' is not known.*{kernels}"):
        call(X, FULL, geometry=Kernel("gauss"))
    with pytest.raises(ValueError, match=r"(?s)metric.*manhattan"):  # scikit-learn's list
        call(X, FULL, metric="euklid")


def test_unknown_metric_is_told_before_any_clustering(monkeypatch):
    def too_late(*_, **__):
        raise AssertionError("the runs were built first")

    monkeypatch.setattr("clustertrust.estimator.build_runs", too_late)
    with pytest.raises(ValueError, match="metric"):
        CAKE(3, metric="euklid").fit(X)


@pytest.mark.parametrize("call", [silhouettes, confidence])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (FULL[:-1], "X has 60 points and labels has 59"),
        (FULL.T, r"X has 60 points and labels has 3.*\(n, R\)"),
    ],
)
def test_labels_that_do_not_fit(call, labels, message):
    with pytest.raises(ValueError, match=message):
        call(X, labels)


# Silhouettes from a sample of each cell


def sampled_case(n=3000):
    X, _ = make_blobs(n, 4, centers=5, cluster_std=2.5, random_state=0)
    return X, build_ensemble(X, "kmeans-random", n_clusters=5, n_runs=8, random_state=0)


def test_sampled_silhouettes_are_near_exact_ones_as_their_error_says():
    X, ensemble = sampled_case()
    exact = silhouettes(X, ensemble, geometry="exact")
    error = silhouettes(X, ensemble, geometry="sampled") - exact
    told = confidence(X, ensemble, geometry="sampled").sampling_error
    assert np.sqrt((error**2).mean()) == pytest.approx(told, rel=0.35)
    assert (
        np.abs(error).mean() < np.abs(silhouettes(X, ensemble, geometry="rms") - exact).mean() / 2
    )


@pytest.mark.parametrize(("k", "d", "seed"), [(2, 3, 5), (3, 1, 6), (12, 2, 2)])
def test_the_told_error_is_that_of_samples_of_this_size(k, d, seed):
    """Against what twelve other samples err, whose errors are known."""
    X, _ = make_blobs(2600, d, centers=4, cluster_std=3.0, random_state=seed)
    ensemble = build_ensemble(X, "kmeans-random", n_clusters=k, n_runs=4, random_state=seed)
    cells, exact = meet(ensemble.labels), silhouettes(X, ensemble, geometry="exact")
    own = cells.rows[cells.cell_of]
    errors = [SampledMeans(X, cells, seed=100 + at).silhouettes(own)[0] - exact for at in range(12)]
    told = confidence(X, ensemble, geometry="sampled").sampling_error
    assert told == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.3)


def test_the_told_error_is_the_unbiased_spread_over_samples():
    """With two samples the variance is half of their squared difference, not a quarter."""
    X, ensemble = sampled_case()
    cells = meet(ensemble.labels)
    own, one = cells.rows[cells.cell_of], SampledMeans(X, cells, seed=3)
    other = SampledMeans(X, cells, seed=4)
    apart = one.silhouettes(own, X)[0] - other.silhouettes(own, X)[0]
    told = sampling_error(one, cells, points=len(X), times=1)
    assert told == pytest.approx(np.sqrt((apart**2).mean() / 2), rel=1e-9)


def test_sampling_all_members_is_exact():
    X, ensemble = sampled_case(1500)  # fewer points than members to draw
    assert_allclose(
        silhouettes(X, ensemble, geometry="sampled"),
        silhouettes(X, ensemble, geometry="exact"),
        atol=1e-12,
    )
    scored = confidence(X, ensemble, geometry="sampled")
    assert scored.sampling_error == 0.0
    assert_allclose(scored.scores, confidence(X, ensemble, geometry="exact").scores, atol=1e-12)


def test_sampled_means_have_no_bias():
    """Over many samples the mean distance to every cluster is the exact one, of members and of
    other points.
    """
    X, ensemble = sampled_case(200)
    cells = meet(ensemble.labels)

    def means(geometry, X=None):
        parts = (
            geometry.map_training(lambda at, part: (at, part))
            if X is None
            else geometry.map(X, lambda *both: both)
        )
        out = np.empty((int(cells.start[-1]), len(ensemble.labels) if X is None else len(X)))
        for at, part in parts:
            out[:, at] = part
        return out

    new = X[:20] + 0.5
    for points in (None, new):
        drawn = [
            means(SampledMeans(X, cells, members=40, seed=seed), points) for seed in range(200)
        ]
        spread = np.std(drawn, axis=0) / np.sqrt(200)
        off = np.abs(np.mean(drawn, axis=0) - means(Euclidean(X, cells), points))
        assert (off <= 5 * spread + 1e-9).all()


def test_sampled_refuses_sparse_data():
    X, ensemble = sampled_case(100)
    with pytest.raises(ValueError, match="geometry='sampled' needs dense data"):
        silhouettes(sparse.csr_array(X), ensemble, geometry="sampled")


@pytest.mark.parametrize(
    ("n", "what"),
    [(10_000_000, r"take about .* hours"), (800_000, r"take about \d+ minutes"), (1000, None)],
)
def test_long_work_is_told_beforehand(n, what):
    if what is None:
        # pytest turns a warning into an error.
        Exact().warn(np.broadcast_to(0.0, (n, 20)), Compute(2))
    else:
        with pytest.warns(UserWarning, match=what + r".* geometry='sampled'"):
            Exact().warn(np.broadcast_to(0.0, (n, 100)), Compute(2))
