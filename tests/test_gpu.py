"""On the GPU: the same scores as on the CPU, the same bits each time.

Each test runs twice: with a stand-in for CuPy whose kernels are plain NumPy, everywhere, and with
CuPy itself where there is a GPU (`make test-gpu`).
"""

import warnings
from contextlib import nullcontext
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn
import standin_cupy
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_moons,
)
from sklearn.preprocessing import StandardScaler

from clustertrust import (
    CAKE,
    Combined,
    Fusion,
    Runs,
    audit,
    build_ensemble,
    choose_k,
    confidence,
    null_reference,
)
from clustertrust.cells import meet, meet_on_gpu
from clustertrust.distances.moments import cluster_moments
from clustertrust.geometry import Kernel, silhouettes
from clustertrust.kernels import _cupy, _cupy_silhouettes, _cupy_sums
from clustertrust.scoring.model import build_model
from clustertrust.scoring.settings import Scoring

REAL = pytest.param(
    "cupy",
    marks=[
        pytest.mark.gpu,
        pytest.mark.skipif(_cupy.usable() is not None, reason=f"no GPU: {_cupy.usable()}"),
    ],
)


@pytest.fixture(params=["stand-in", REAL])
def card(request):
    """The back end, with the stand-in or with CuPy."""
    with standin_cupy.in_place() if request.param == "stand-in" else nullcontext():
        yield request.param


def sets():
    rng = np.random.default_rng(0)
    blobs = make_blobs(300, 5, centers=4, random_state=0)[0]
    yield "iris", load_iris().data
    yield "wine", StandardScaler().fit_transform(load_wine().data)
    yield "wine, raw", load_wine().data
    yield "breast cancer", StandardScaler().fit_transform(load_breast_cancer().data)[:250]
    yield "digits", load_digits().data[:200]
    yield "digits, float32", load_digits().data[:200].astype(np.float32)
    yield "moons", make_moons(200, noise=0.05, random_state=0)[0]
    yield "blobs", blobs
    yield "blobs far from the origin", blobs + 1e6
    yield "blobs far apart", blobs * [1e4, 1, 1, 1, 1]
    yield "small numbers", blobs * 1e-6
    yield "large numbers", blobs * 1e6
    yield "copies", np.repeat(rng.normal(size=(20, 3)), 8, axis=0)
    yield "copies and others", np.vstack([np.repeat(blobs[:10], 10, axis=0), blobs])
    yield "one column", rng.normal(size=(150, 1))
    yield "forty columns", rng.normal(size=(130, 40))
    yield "a hundred columns", rng.normal(size=(129, 100))
    yield "heavy tails", rng.standard_t(2, size=(200, 4))
    yield "few points", rng.normal(size=(7, 2))
    yield "uniform", rng.uniform(size=(257, 3))


SETS = dict(sets())


def runs_of(X, k=3, R=5, seed=0):
    """Labels that no card has a hand in, with points that are not assigned."""
    labels = build_ensemble(X, n_clusters=k, n_runs=R, random_state=seed).labels.copy()
    labels[::17, 0] = -1
    return labels


def agree(one, other, atol):
    assert_array_equal(one.labels, other.labels)
    for name in ("scores", "stability", "geometry", "silhouette_mean", "silhouette_std"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=atol, equal_nan=True)


@pytest.mark.parametrize("name", SETS)
def test_exact_scores_are_those_of_the_cpu(card, name):
    X, labels = SETS[name], runs_of(SETS[name], k=2 if name == "few points" else 3)
    on_cpu = confidence(X, labels, geometry="exact")
    agree(confidence(X, labels, geometry="exact", device="cuda"), on_cpu, 1e-5)
    double = confidence(X, labels, geometry="exact", device="cuda-double")
    agree(double, on_cpu, 1e-5 if X.dtype == np.float32 else 1e-10)


@pytest.mark.parametrize("geometry", ["rms", "centroid"])
@pytest.mark.parametrize("name", ["iris", "blobs far from the origin", "copies", "uniform"])
def test_scores_by_centres_are_those_of_the_cpu(card, geometry, name):
    X, labels = SETS[name], runs_of(SETS[name])
    on_cpu = confidence(X, labels, geometry=geometry)
    agree(confidence(X, labels, geometry=geometry, device="cuda"), on_cpu, 1e-9)


SCORINGS = [
    {"fusion": "product"},
    {"normalization": "affine"},
    {"unassigned": "disagree"},
    {"agreement": "jaccard", "normalization": "affine", "fusion": "product"},
    {"fusion": "refined"},
    {"fusion": Combined(methods=["gmm"], n_runs=2)},
]


@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
@pytest.mark.parametrize("geometry", ["exact", "rms"])
def test_every_score_is_that_of_the_cpu(card, geometry, scoring):
    X = SETS["breast cancer"][:, :6]
    labels = runs_of(X)
    labels[::5] = -1  # no run assigns them
    labels[1::5, :3] = -1  # two runs do
    how = {"geometry": geometry, **scoring}
    with warnings.catch_warnings(action="ignore"):
        on_cpu, on_gpu = (
            confidence(X, labels, device=device, **how) for device in ("cpu", "cuda-double")
        )
    agree(on_gpu, on_cpu, 1e-9)
    assert_allclose(on_gpu.standard_errors, on_cpu.standard_errors, atol=1e-9, equal_nan=True)
    for name in ("votes", "consensus_strength", "rival"):
        assert_array_equal(getattr(on_gpu, name), getattr(on_cpu, name))


class Lowest(Fusion):
    """Of somebody else, who counts on NumPy's arrays."""

    name = "lowest"

    def __call__(self, c, g, *more):
        assert type(c) is type(g) is np.ndarray
        return np.minimum(c, g)


def test_a_fusion_of_somebody_else_gets_arrays_of_numpy(card):
    X, labels = SETS["iris"], runs_of(SETS["iris"])
    on_cpu, on_gpu = (
        confidence(X, labels, device=device, geometry="rms", fusion=Lowest())
        for device in ("cpu", "cuda")
    )
    agree(on_gpu, on_cpu, 1e-9)


def test_scores_in_blocks_of_rows_are_the_same_bits(card, monkeypatch):
    X, labels = SETS["uniform"], runs_of(SETS["uniform"])
    whole = confidence(X, labels, geometry="rms", device="cuda")
    monkeypatch.setattr(_cupy, "SHARE", 1e-6)
    in_blocks = confidence(X, labels, geometry="rms", device="cuda")
    assert_array_equal(in_blocks.scores, whole.scores)
    assert_array_equal(in_blocks.standard_errors, whole.standard_errors)


def test_one_copy_goes_to_the_card_and_one_comes_back():
    """Of what is as long as the data: the points; labels, cells, results and one column of rivals."""
    with standin_cupy.in_place():
        X = SETS["blobs"]
        for geometry in ("exact", "rms"):
            for copies in (standin_cupy.COPIES, standin_cupy.UPLOADS):
                copies.clear()
            CAKE(4, n_runs=5, random_state=0, device="cuda", geometry=geometry).fit(X)
            long = [shape for shape in standin_cupy.COPIES if 300 in shape]
            assert sorted(long) == [(5, 300), (300,), (300,), (300, 5)]
            assert [shape for shape in standin_cupy.UPLOADS if 300 in shape] == [X.shape]
        assert not _cupy._copies.held


def test_runs_and_silhouettes_copy_the_points_once():
    X = SETS["blobs"]
    with standin_cupy.in_place():
        labels = build_ensemble(X, n_clusters=4, n_runs=3, random_state=0, device="cuda").labels
        assert standin_cupy.UPLOADS.count(X.shape) == 1
        silhouettes(X, labels, geometry="exact", device="cuda")
        assert standin_cupy.UPLOADS.count(X.shape) == 2
        assert not _cupy._copies.held


def test_points_on_the_card_stay_there(card):
    X = SETS["blobs"]
    there = _cupy.cupy().asarray(X)
    standin_cupy.UPLOADS.clear()
    found = CAKE(4, n_runs=3, random_state=0).fit(there)
    assert X.shape not in standin_cupy.UPLOADS
    assert type(found.scores_) is np.ndarray
    expected = CAKE(4, n_runs=3, random_state=0, device="cuda").fit(X)
    assert_array_equal(found.scores_, expected.scores_)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(("k", "R"), [(3, 4), (15, 40), (40, 15)])
def test_the_meet_is_that_of_the_cpu(card, k, R, kind):
    """With 16**40 possible rows an id does not fit into 64 bits, so that they are compacted."""
    rng = np.random.default_rng(R)
    base = rng.integers(k, size=500)
    labels = np.where(
        rng.random((500, R)) < 0.01, rng.integers(-3, k, size=(500, R)), base[:, None]
    )
    found, expected = meet_on_gpu(labels.astype(kind)), meet(labels)
    for name in ("rows", "cell_of", "counts"):
        assert_array_equal(getattr(found, name), getattr(expected, name), strict=True)
    for mine, other in zip(found.names, expected.names, strict=True):
        assert_array_equal(mine, other)


def test_large_labels_and_none_at_all(card):
    large = np.array([[70_000, 2], [70_000, 2], [-1, 2], [5, -1]])
    larger = np.where(large == 70_000, 2**31 - 3, large)
    largest = np.where(large == 70_000, 2**62, large)
    for labels in (large, larger, largest, np.full((4, 3), -1)):
        found, expected = meet_on_gpu(labels), meet(labels)
        assert_array_equal(found.rows, expected.rows)
        assert_array_equal(found.cell_of, expected.cell_of)


@pytest.mark.parametrize("d", [1, 3, 255, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_of_clusters_are_those_of_the_cpu(card, d, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(90, d)) + 1e3).astype(dtype)
    cells = meet(rng.integers(-1, 3, size=(90, 2)))
    here, there = (cluster_moments(X, cells, on_gpu=on_gpu) for on_gpu in (False, True))
    for one, other in zip(here, there, strict=True):
        assert_allclose(one, other, rtol=1e-12)


def test_copies_are_kept_while_they_are_needed(card):
    X = SETS["iris"].copy()
    with _cupy.holding():
        first = _cupy.on_gpu(X)
        with _cupy.holding():
            assert _cupy.on_gpu(X) is first
        assert _cupy.on_gpu(X) is first
    X[0] = 0.0
    assert float(_cupy.on_gpu(X)[0].sum()) == 0


@pytest.mark.parametrize("kernel", ["self-tuning", "rbf", "linear", "polynomial"])
@pytest.mark.parametrize("name", ["iris", "moons", "copies and others"])
def test_scores_by_kernels_are_those_of_the_cpu(card, kernel, name):
    X, labels = SETS[name], runs_of(SETS[name])
    how = {"geometry": Kernel(kernel)}
    agree(confidence(X, labels, device="cuda", **how), confidence(X, labels, **how), 1e-6)


@pytest.mark.parametrize("geometry", ["exact", "rms", "kernel"])
def test_unseen_points_are_judged_as_on_the_cpu(card, geometry):
    X, new = SETS["blobs"][:200], SETS["blobs"][200:]
    cake = CAKE(3, n_runs=4, random_state=0, device="cuda", geometry=geometry).fit(X)
    assert_array_equal(cake.predict(X), cake.labels_)
    rows = cake.model_.encode(cake.ensemble_.place(new))
    on_cpu = build_model(X, cake.ensemble_, Scoring.from_params({"geometry": geometry}))
    for found, expected in zip(
        cake.model_.silhouettes(rows, new), on_cpu.silhouettes(rows, new), strict=True
    ):
        assert_allclose(found, expected, atol=1e-5)


def test_sums_in_blocks_are_the_same_bits(card, monkeypatch):
    X = SETS["forty columns"]
    labels = runs_of(X, R=4)
    whole = silhouettes(X, labels, geometry="exact", device="cuda")
    monkeypatch.setattr(_cupy, "SHARE", 1e-9)  # of the card's memory: one tile of rows at a time
    in_blocks = silhouettes(X, labels, geometry="exact", device="cuda")
    assert_allclose(in_blocks, whole, atol=1e-6)
    assert_array_equal(in_blocks, silhouettes(X, labels, geometry="exact", device="cuda"))


@pytest.mark.parametrize("name", ["blobs", "breast cancer", "a hundred columns"])
def test_smaller_cards_hold_fewer_features_at_a_time(name, monkeypatch):
    """An RTX of today has 99 KiB for a block of threads, an A100 163."""
    X, labels = SETS[name], runs_of(SETS[name])
    on_cpu = confidence(X, labels, geometry="exact")
    with standin_cupy.in_place():
        kibibytes = {1: 163, 2: 99}
        monkeypatch.setattr(standin_cupy, "SHARED", {n: k * 1024 for n, k in kibibytes.items()})
        for number, device, atol in ((1, "cuda-double", 1e-10), (2, "cuda", 1e-5)):
            monkeypatch.setattr(standin_cupy, "CURRENT", [number])
            agree(confidence(X, labels, geometry="exact", device=device), on_cpu, atol)
        with pytest.raises(ValueError, match=r"This GPU has 99 KiB .* or device='cuda' for"):
            confidence(X, labels, geometry="exact", device="cuda-double")


def test_groups_of_runs_fit_into_shared_memory(card):
    start = np.concatenate([[0], np.cumsum([300, 300, 10, 390, 5])])
    groups, points, largest = _cupy_silhouettes._groups(start)
    assert groups[0] == 0
    assert groups[-1] == 5
    assert all(
        (start[high] - start[low]) * points * 8 <= _cupy.shared_limit()
        for low, high in pairwise(groups)
    )
    assert largest == max(start[high] - start[low] for low, high in pairwise(groups))
    assert _cupy_silhouettes._groups(np.array([0, 3000]))[1] == 8
    with pytest.raises(ValueError, match="device='cuda' takes up to"):
        _cupy_silhouettes._groups(np.array([0, 10**6]))


def test_calls_of_any_size_leave_a_kernel_the_same_limit(card, monkeypatch):
    """Threads share a kernel: one that needs little must not take another's shared memory."""
    limits = []
    set_limit = _cupy.function_of

    def noted(module, name):
        function = set_limit(module, name)
        limits.append(function.max_dynamic_shared_size_bytes)
        return function

    monkeypatch.setattr(_cupy, "function_of", noted)
    X = np.random.default_rng(0).normal(size=(60, 2))
    for k in (2, 30):
        labels = np.arange(60)[:, None] % k
        silhouettes(X, labels, geometry="exact", device="cuda")
    assert set(limits) == {_cupy.shared_limit()}


def test_many_clusters_a_run(card):
    X = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.column_stack([np.arange(60) // 2, np.arange(60) // 3])
    on_cpu = silhouettes(X, labels, geometry="exact")
    assert_allclose(silhouettes(X, labels, geometry="exact", device="cuda"), on_cpu, atol=1e-6)


@pytest.mark.parametrize("init", ["kmeans", "kmeans-random"])
def test_runs_of_k_means_are_as_good_as_scikit_learns(card, init):
    X = SETS["blobs"]
    ensemble = build_ensemble(X, init, n_clusters=4, n_runs=6, random_state=0, device="cuda")
    assert ensemble.labels.shape == (300, 6)
    for run in ensemble.runs:
        distance = ((X[:, None] - run.centers[None]) ** 2).sum(axis=2)
        assert_array_equal(run.labels, distance.argmin(axis=1))
        assert_allclose(run.objective, distance.min(axis=1).sum(), rtol=1e-4)
        means = np.array([X[run.labels == c].mean(axis=0) for c in range(4)])
        assert_allclose(means, run.centers, atol=0.05)  # Lloyd has come to rest
    best = KMeans(4, n_init=10, random_state=0).fit(X).inertia_
    assert min(run.objective for run in ensemble.runs) == pytest.approx(best, rel=1e-3)


def test_a_run_depends_on_its_seed_alone(card):
    X = SETS["uniform"]
    how = {"n_clusters": 5, "device": "cuda"}
    several = build_ensemble(X, n_runs=4, random_state=[7, 8, 9, 10], **how)
    again = build_ensemble(X, n_runs=2, random_state=[9, 7], **how)
    assert_array_equal(several.labels[:, 2], again.labels[:, 0])
    assert_array_equal(several.runs[0].centers, again.runs[1].centers)


def test_fewer_distinct_points_than_clusters(card):
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 10, axis=0)
    with pytest.warns(UserWarning, match="fewer than the 4 clusters"):
        ensemble = build_ensemble(X, n_clusters=4, n_runs=3, random_state=0, device="cuda")
    assert np.isfinite([run.centers for run in ensemble.runs]).all()


def test_a_whole_fit(card):
    X = SETS["iris"]
    cake = CAKE(3, n_runs=5, random_state=0, device="cuda").fit(X)
    on_cpu = confidence(X, cake.ensemble_.labels, geometry="exact")
    assert isinstance(cake.scores_, np.ndarray)
    assert_allclose(cake.scores_, on_cpu.scores, atol=1e-5)
    again = CAKE(3, n_runs=5, random_state=0, device="cuda").fit(X)
    assert_array_equal(cake.scores_, again.scores_)


def test_other_clusterers_fit_on_the_cpu_and_are_scored_on_the_card(card):
    X = SETS["iris"]
    cake = CAKE(3, clusterer="gmm", n_runs=3, random_state=0, device="cuda").fit(X)
    on_cpu = CAKE(3, clusterer="gmm", n_runs=3, random_state=0).fit(X)
    assert_array_equal(cake.ensemble_.labels, on_cpu.ensemble_.labels)
    assert_allclose(cake.scores_, on_cpu.scores_, atol=1e-5)
    if card == "stand-in":
        assert "cell_sums" in standin_cupy.LAUNCHES
        assert "assign" not in standin_cupy.LAUNCHES


def test_an_audit_is_scored_on_the_card(card):
    X, labels = SETS["iris"], np.repeat([0, 1, 2], 50)
    here, there = (
        audit(X, labels, n_runs=8, random_state=0, geometry="exact", device=device)
        for device in ("cpu", "cuda")
    )
    assert_allclose(there.silhouette_mean, here.silhouette_mean, atol=1e-5)
    assert_array_equal(there.suggested >= 0, here.suggested >= 0)
    if card == "stand-in":
        assert "cell_sums" in standin_cupy.LAUNCHES


def test_templates_carry_the_device(card):
    X = SETS["blobs"][:80]
    cake = CAKE(3, n_runs=3, random_state=0, device="cuda", geometry="rms")
    assert null_reference(X, cake, n_surrogates=19, families=("box",)).mean > 0
    profile = choose_k(X, [2, 3], CAKE(n_runs=3, random_state=0, device="cuda"), null=None)
    assert profile.n_clusters.tolist() == [2, 3]


def test_finished_runs_are_kept_in_a_checkpoint(card, tmp_path):
    X = SETS["iris"]
    how = {"n_clusters": 3, "random_state": 0, "device": "cuda"}
    first = build_ensemble(X, n_runs=Runs(2, checkpoint=tmp_path / "kept"), **how)
    more = build_ensemble(X, n_runs=Runs(3, checkpoint=tmp_path / "kept"), **how)
    assert_array_equal(more.labels[:, :2], first.labels)


class OnTheCard(np.ndarray):
    """An array that says it lies on a GPU."""

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__


def test_auto_goes_where_the_data_are(monkeypatch):
    _cupy.compiled.cache_clear()
    monkeypatch.setattr(_cupy, "cupy", lambda: standin_cupy)
    standin_cupy.LAUNCHES.clear()
    X = SETS["iris"]
    CAKE(3, n_runs=2, random_state=0).fit(X)
    assert standin_cupy.LAUNCHES == []
    cake = CAKE(3, n_runs=2, random_state=0).fit(X.view(OnTheCard))
    assert "cell_sums" in standin_cupy.LAUNCHES
    assert type(cake.scores_) is np.ndarray
    _cupy.compiled.cache_clear()


def test_without_a_gpu_the_reason_is_given(monkeypatch):
    X = SETS["iris"]

    def missing():
        raise ImportError("No module named 'cupy'")

    monkeypatch.setattr(_cupy, "cupy", missing)
    with pytest.raises(
        ValueError, match=r"device='cuda' is not available: CuPy cannot be imported"
    ):
        CAKE(3, device="cuda").fit(X)

    def broken():
        def count():
            raise RuntimeError("CUDA driver version is insufficient")

        return SimpleNamespace(cuda=SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=count)))

    monkeypatch.setattr(_cupy, "cupy", broken)
    with pytest.raises(ValueError, match=r"no GPU answers .CUDA driver version is insufficient"):
        confidence(X, runs_of(X), device="cuda")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"device": "gpu"}, "device='gpu' is not known; .*choose one of"),
        ({"device": "cuda-half"}, "device='cuda-half' is not known; .*choose one of"),
        ({"device": "cpu-double"}, "device='cpu-double' is not known; .*choose one of"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        CAKE(3, **settings).fit(SETS["iris"])
    with pytest.raises(ValueError, match=message):
        confidence(SETS["iris"], runs_of(SETS["iris"]), **settings)


def test_data_in_blocks_are_refused(card, tmp_path):
    array = pytest.importorskip("dask.array")
    X = array.from_array(SETS["iris"], chunks=(50, 4))
    with pytest.raises(ValueError, match="device='cuda' takes data that fit into memory"):
        build_ensemble(X, n_clusters=3, device="cuda")
    np.savetxt(tmp_path / "x.csv", SETS["iris"], delimiter=",", header="a,b,c,d", comments="")
    with (
        sklearn.config_context(working_memory=0.001),
        pytest.raises(ValueError, match="device='cuda' takes data that fit into memory"),
    ):
        CAKE(3, device="cuda").fit(tmp_path / "x.csv")


def test_fixed_point_sums_cannot_overflow():
    for largest, n in ((1e-300, 5), (1.0, 10**9), (1e150, 10**6), (0.0, 3)):
        assert _cupy_sums.fixed_scale(largest, n) * largest * n < 2.0**62


def test_the_cells_on_the_card_are_those_of_the_runs(card):
    cells = meet(runs_of(SETS["iris"]))
    middle, largest = _cupy.middle_of(SETS["iris"])
    cells_on_card, none = _cupy_sums.OnCard.load(cells), (_cupy.NONE, _cupy.NONE)
    points = _cupy.lay_out(SETS["iris"], middle, cells_on_card.order, np.dtype(np.float32))
    kind = _cupy_sums.Kind(largest=largest)
    fixed, scale = _cupy_sums.sum_pairs(points, points, cells_on_card, kind, none, True)
    sums = _cupy.cupy().asnumpy(fixed)[:, : points.n] / scale
    X = SETS["iris"][cells.order]
    plain = [
        np.sqrt(((X - X[low:high, None]) ** 2).sum(axis=2)).sum(axis=0)
        for low, high in zip(cells.bounds[:-1], cells.bounds[1:], strict=True)
    ]
    assert_allclose(sums, plain, rtol=1e-6)
