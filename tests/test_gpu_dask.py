"""Dask arrays scored on the GPUs of workers: as in memory, whatever the blocks.

The workers have the stand-in for CuPy; on a machine with a GPU, `make test-gpu` runs the same with
two workers that share it.
"""

import importlib
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest
import standin_cupy
from dask_fits import ON_A_CLUSTER
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from test_gpu import REAL

from clustertrust import CAKE, build_ensemble, confidence
from clustertrust.geometry import Exact
from clustertrust.kernels import _cupy

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = ON_A_CLUSTER
CLOSE = {"cuda": 1e-5, "cuda-double": 1e-10}
X = make_blobs(400, 5, centers=4, cluster_std=3.0, random_state=0)[0] + 100.0
LABELS = build_ensemble(X, n_clusters=4, n_runs=4, random_state=0).labels.copy()
LABELS[::17, 0] = -1
LABELS[5] = -1


@pytest.fixture(params=["stand-in", REAL])
def card(request):
    with standin_cupy.in_place() if request.param == "stand-in" else nullcontext():
        yield request.param


@pytest.fixture
def workers(card, cluster):
    """Two processes; the stand-in is put into them."""
    with distributed.Client(cluster) as client:
        if card == "stand-in":
            client.run(put_standin, str(Path(__file__).parent))
        yield client
        client.run(take_standin)


def put_standin(folder):
    sys.path.insert(0, folder)
    import standin_cupy

    _cupy.compiled.cache_clear()
    _cupy.cupy = lambda: standin_cupy


def take_standin():
    importlib.reload(_cupy)


def on_dask(rows=150, labels=LABELS, **how):
    """Scores of the blocks, computed."""
    chunks = da.from_array(X, chunks=(rows, 5))
    with warnings.catch_warnings(action="ignore"):
        scored = confidence(chunks, da.from_array(labels, chunks=(100, 4)), **how)
        return scored, dask.compute(FIELDS(scored))[0]


def FIELDS(scored):  # noqa: N802
    names = ("scores", "stability", "geometry", "labels", "votes", "rival", "standard_errors")
    return {name: getattr(scored, name) for name in names}


def in_memory(**how):
    with warnings.catch_warnings(action="ignore"):
        return FIELDS(confidence(X, LABELS, **how))


def same(found, expected, atol):
    for name, values in expected.items():
        assert_allclose(found[name], values, atol=atol, rtol=0, equal_nan=True, err_msg=name)


@pytest.mark.parametrize("rows", [400, 130, 37])
@pytest.mark.parametrize("device", CLOSE)
@pytest.mark.parametrize("geometry", ["exact", "rms", "centroid"])
def test_scores_are_those_in_memory(card, geometry, device, rows):
    scored, found = on_dask(rows, geometry=geometry, device=device)
    assert isinstance(scored.scores, da.Array)
    assert scored.geometry_method == geometry
    same(found, in_memory(geometry=geometry), CLOSE[device] if geometry == "exact" else 1e-9)
    if card == "stand-in":
        assert ("cell_sums" if geometry == "exact" else "from_centers") in standin_cupy.LAUNCHES


@pytest.mark.parametrize("geometry", ["exact", "rms"])
def test_on_two_workers(workers, geometry):
    how = {"geometry": geometry, "unassigned": "disagree", "fusion": "product"}
    scored, found = on_dask(100, device="cuda-double", **how)
    same(found, in_memory(**how), 1e-9)
    again = dask.compute(scored.scores)[0]
    assert_array_equal(again, found["scores"])  # whichever worker takes which block


def test_blocks_larger_than_the_memory_of_the_card(card, monkeypatch):
    whole = on_dask(400, geometry="exact", device="cuda-double")[1]
    monkeypatch.setattr(_cupy, "SHARE", 1e-9)
    in_tiles = on_dask(400, geometry="exact", device="cuda-double")[1]
    assert_array_equal(in_tiles["scores"], whole["scores"])


@pytest.mark.parametrize("geometry", ["exact", "rms"])
def test_a_whole_fit(card, geometry):
    chunks = da.from_array(X, chunks=(150, 5))
    how = {"n_runs": 3, "random_state": 0, "geometry": geometry}
    cake = CAKE(4, **how, device="cuda-double").fit(chunks)
    labels = cake.ensemble_.place(X)
    expected = confidence(X, labels, geometry=geometry)
    assert_allclose(cake.scores_.compute(), expected.scores, atol=1e-9)
    assert_array_equal(cake.predict(chunks).compute(), cake.labels_.compute())
    assert cake.confidence_.chance is not None
    if geometry == "rms":
        assert cake.score_samples(X).shape == (400,)
        return
    assert cake.n_passes_ == CAKE(4, **how | {"geometry": "rms"}).fit(chunks).n_passes_ + 1
    for work in (lambda: cake.score_samples(X), lambda: cake.save("model.npz")):
        with pytest.raises(ValueError, match="geometry='exact' needs all points of the fit"):
            work()


def test_persistence_takes_the_points_as_they_are(card):
    how = {"geometry": "exact", "fusion": "refined"}
    chunks = da.from_array(X, chunks=(150, 5))
    cake = CAKE(4, n_runs=3, random_state=0, device="cuda-double", **how).fit(chunks)
    expected = confidence(X, cake.ensemble_.place(X), **how)
    assert_allclose(cake.scores_.compute(), expected.scores, atol=1e-6)


def test_two_points_in_each_block(card):
    few, labels = X[:8], LABELS[:8]
    with warnings.catch_warnings(action="ignore"):
        expected = confidence(few, labels, geometry="exact")
        found = confidence(
            da.from_array(few, chunks=(2, 5)), labels, geometry="exact", device="cuda-double"
        )
    assert_allclose(found.scores.compute(), expected.scores, atol=1e-9, equal_nan=True)


def test_chunks_may_be_on_the_card(card):
    cp = _cupy.cupy()
    parts = [dask.delayed(cp.asarray, pure=False)(X[low : low + 100]) for low in range(0, 400, 100)]
    chunks = da.concatenate([da.from_delayed(part, (100, 5), float) for part in parts])
    for device in ("cuda-double", "auto"):
        scored = confidence(chunks, LABELS % 4, geometry="rms", device=device)
        expected = confidence(X, LABELS % 4, geometry="rms")
        assert_allclose(scored.scores.compute(), expected.scores, atol=1e-9)


def test_a_worker_without_a_gpu_is_named(cluster):
    if _cupy.usable() is None:
        pytest.skip("there is a GPU")
    message = r"device='cuda' is not available on the worker tcp:.*start one worker for each GPU"
    with distributed.Client(cluster), pytest.raises(ValueError, match=message):
        on_dask(device="cuda", geometry="exact")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"device": "cpu"}, "geometry='exact' needs all points at once"),
        ({"geometry": Exact(metric="manhattan")}, "needs all points at once"),
        ({"geometry": "kernel"}, "geometry='kernel' needs all points at once"),
    ],
)
def test_what_needs_all_points_is_refused(how, message):
    with standin_cupy.in_place(), pytest.raises(ValueError, match=message):
        on_dask(**{"geometry": "exact", "device": "cuda"} | how)


def test_cosine_distances_stay_on_the_cpu(card):
    how = {"geometry": Exact(metric="cosine")}
    same(on_dask(device="cuda", **how)[1], in_memory(**how), 1e-9)
