"""Files: what comes back is what went in, a crash loses nothing, and foreign or damaged files are
told.
"""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from clustertrust import CAKE, Ensemble, Metric, Runs, build_ensemble, storage
from clustertrust.fusion import Product
from clustertrust.geometry import Exact, Graph, Kernel, Sampled
from clustertrust.storage import read_arrays, write_arrays

# Neighbours alone do not link the setosas with the rest, of which spectral clustering warns.
pytestmark = pytest.mark.filterwarnings("ignore:Graph is not fully connected")

X = load_iris().data
NEW = X[::7] + 0.05
STORABLE = ["kmeans", "minibatch-kmeans", "gmm", "kmedoids", "birch", "spectral", "agglomerative"]


@pytest.mark.parametrize("resample", [None, 0.9])
@pytest.mark.parametrize("name", STORABLE)
def test_an_ensemble_comes_back_whole(tmp_path, name, resample):
    settings = {"vary": {"linkage": ["ward", "average"]}} if name == "agglomerative" else {}
    ensemble = build_ensemble(
        X, name, n_clusters=3, n_runs=3, resample=resample, random_state=0, **settings
    )
    ensemble.save(tmp_path / "ensemble.npz")
    back = Ensemble.load(tmp_path / "ensemble.npz")
    assert_array_equal(back.labels, ensemble.labels)
    assert back.seeds == ensemble.seeds
    assert back.summary().equals(ensemble.summary())
    assert_array_equal(back.place(NEW), ensemble.place(NEW))
    assert (back.centers is None) == (ensemble.centers is None)
    for ours, theirs in zip(back.centers or (), ensemble.centers or (), strict=True):
        assert_array_equal(ours, theirs)


def test_given_labels_come_back_with_their_names(tmp_path):
    ensemble = Ensemble.from_labels(
        [["a", "b", None, "a"], [True, False, True, True], [3, 9, -1, 3]]
    )
    ensemble.save(tmp_path / "e.npz")
    back = Ensemble.load(tmp_path / "e.npz")
    assert_array_equal(back.labels, ensemble.labels)
    assert [None if n is None else n.tolist() for n in back.label_names] == [
        ["a", "b"],
        [True, False],
        None,
    ]
    with pytest.raises(ValueError, match=r"Runs \[0, 1, 2\] cannot place unseen points"):
        back.place(X)


def test_a_model_that_cannot_be_stored_keeps_its_labels(tmp_path):
    ensemble = build_ensemble(X, "bisecting-kmeans", n_clusters=3, n_runs=2, random_state=0)
    ensemble.save(tmp_path / "e.npz")
    back = Ensemble.load(tmp_path / "e.npz")
    assert_array_equal(back.labels, ensemble.labels)
    with pytest.raises(ValueError, match="their model could not be stored"):
        back.place(X)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "e.npz"
    old = Ensemble.from_labels([[0, 0, 1], [0, 1, 1]])
    old.save(path)

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("clustertrust.storage.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        Ensemble.from_labels([[0, 1, 1], [1, 1, 0]]).save(path)
    assert_array_equal(Ensemble.load(path).labels, old.labels)
    assert os.listdir(tmp_path) == ["e.npz"]


def test_files_have_the_permissions_of_any_file(tmp_path):
    path = tmp_path / "e.npz"
    ensemble = Ensemble.from_labels([[0, 0, 1], [0, 1, 1]])
    before = os.umask(0o027)
    try:
        ensemble.save(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o604)
    ensemble.save(path)
    assert path.stat().st_mode & 0o777 == 0o604


@pytest.mark.parametrize(
    "damage", ["cut", "flip", "text", "empty", "pickle", "foreign", "version", "kind"]
)
def test_damaged_and_foreign_files_are_refused(tmp_path, monkeypatch, damage):
    path = tmp_path / "e.npz"
    Ensemble.from_labels(np.arange(60).reshape(30, 2) % 3).save(path)
    whole = path.read_bytes()
    if damage == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "flip":
        path.write_bytes(whole[:60] + bytes(byte ^ 0xFF for byte in whole[60:90]) + whole[90:])
    elif damage == "text":
        path.write_text("label\n1\n2\n")
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "pickle":
        with path.open("wb") as file:
            np.savez(file, **{"meta.json": np.array([{"format": "clustertrust"}], dtype=object)})
    elif damage == "foreign":
        np.savez(path, X=X)
    elif damage == "version":
        monkeypatch.setattr("clustertrust.storage.VERSION", 99)
        write_arrays(path, "ensemble", {}, {})
        monkeypatch.undo()
    elif damage == "kind":
        write_arrays(path, "run", {}, {})
    told = {
        "version": "has version 99, and this clustertrust reads 2",
        "kind": "does not hold a clustertrust ensemble",
        "foreign": "not written by clustertrust",
    }
    with pytest.raises(ValueError, match=rf"e\.npz' .*{told.get(damage, 'is damaged')}"):
        Ensemble.load(path)
    with pytest.raises(FileNotFoundError, match=r"no file .*missing\.npz"):
        Ensemble.load(tmp_path / "missing.npz")


def test_objects_are_never_written(tmp_path):
    with pytest.raises(TypeError, match="'a' holds Python objects"):
        write_arrays(tmp_path / "x.npz", "run", {}, {"a": np.array([object()])})
    assert not list(tmp_path.iterdir())


def test_a_build_goes_on_where_another_stopped(tmp_path):
    settings = {"clusterer": ["kmeans", "gmm"], "n_clusters": 3, "random_state": 0, "resample": 0.9}
    whole = build_ensemble(X, n_runs=6, **settings)
    build_ensemble(X, n_runs=Runs(3, checkpoint=tmp_path / "runs"), **settings)
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    resumed = build_ensemble(X, n_runs=Runs(6, checkpoint=tmp_path / "runs"), **settings)
    assert_array_equal(resumed.labels, whole.labels)
    assert_array_equal(resumed.place(NEW), whole.place(NEW))
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
    assert {name: after[name] for name in before} == before  # nothing was made or written again


def test_a_build_without_a_seed_goes_on_with_its_own(tmp_path):
    first = build_ensemble(X, n_clusters=3, n_runs=Runs(3, checkpoint=tmp_path / "runs"))
    more = build_ensemble(X, n_clusters=3, n_runs=Runs(5, checkpoint=tmp_path / "runs"))
    assert_array_equal(more.labels[:, :3], first.labels)
    assert len(set(more.seeds)) == 5


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"X": X + 1}, "data"),
        ({"X": X.astype(np.float32)}, "data"),
        ({"n_clusters": 4}, "clusterer"),
        ({"clusterer": "gmm"}, "clusterer"),
        ({"clusterer": KMeans(3, n_init=2)}, "clusterer"),
        ({"random_state": 1}, "random_state"),
        ({"resample": 0.5}, "resample"),
        ({"vary": {"max_iter": [5, 6]}}, "vary"),
    ],
)
def test_other_data_or_settings_are_refused(tmp_path, other, named):
    settings = {"X": X, "clusterer": "kmeans", "n_clusters": 3, "random_state": 0}
    runs = Runs(2, checkpoint=tmp_path / "runs")
    build_ensemble(n_runs=runs, **settings)
    with pytest.raises(ValueError, match=f"was begun with other .*{named}"):
        build_ensemble(n_runs=runs, **(settings | other))


KILLED_AT_A_WRITE = """
import os, signal, sys
from sklearn.datasets import load_iris
from clustertrust import Runs, build_ensemble
real, done = os.replace, []
def replace(source, target):
    done.append(target)
    if len(done) > {whole}:
        os.kill(os.getpid(), signal.SIGKILL)
    real(source, target)
os.replace = replace
runs = Runs(3, checkpoint=sys.argv[1])
build_ensemble(load_iris().data, n_clusters=3, n_runs=runs, random_state=0, n_jobs=1)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("whole", [0, 2])
def test_what_a_killed_build_was_writing_is_cleaned(tmp_path, whole):
    runs = tmp_path / "runs"
    done = subprocess.run([sys.executable, "-c", KILLED_AT_A_WRITE.format(whole=whole), str(runs)])
    assert done.returncode == -signal.SIGKILL
    assert len(list(runs.glob(".*.part"))) == 1
    assert len(list(runs.glob("[!.]*"))) == whole
    resumed = build_ensemble(X, n_clusters=3, n_runs=Runs(3, checkpoint=runs), random_state=0)
    assert sorted(os.listdir(runs)) == [
        "run-00000.npz",
        "run-00001.npz",
        "run-00002.npz",
        "settings.json",
    ]
    assert_array_equal(
        resumed.labels, build_ensemble(X, n_clusters=3, n_runs=3, random_state=0).labels
    )


@pytest.mark.parametrize(
    "name", [".settings.json.backup.part", ".notes.0123abcd.part", "settings.json.0123abcd.part"]
)
def test_what_only_looks_like_a_leftover_is_not_touched(tmp_path, name):
    for file in (name, ".settings.json.0123abcd.part"):
        (tmp_path / file).write_text("years of work")
    with pytest.raises(ValueError, match="holds other files"):
        build_ensemble(X, n_clusters=3, n_runs=Runs(2, checkpoint=tmp_path))
    assert sorted(os.listdir(tmp_path)) == sorted([name, ".settings.json.0123abcd.part"])


def test_a_file_under_work_that_another_process_cleans_is_written_again(tmp_path, monkeypatch):
    real, taken = os.replace, []

    def replace(source, target):
        if not taken:
            taken.append(source)
            os.unlink(source)
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    build_ensemble(X, n_clusters=3, n_runs=Runs(2, checkpoint=tmp_path / "runs"), random_state=0)
    assert len(taken) == 1
    assert sorted(os.listdir(tmp_path / "runs")) == [
        "run-00000.npz",
        "run-00001.npz",
        "settings.json",
    ]


def test_a_file_that_is_open_for_a_moment_on_windows_is_tried_again(tmp_path, monkeypatch):
    real, refusals = os.replace, iter([True, True, False])

    def replace(source, target):
        if next(refusals):
            raise PermissionError(13, "Access is denied", str(source), 5, str(target))
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    ensemble = Ensemble.from_labels([[0, 1], [1, 0]])
    with pytest.raises(PermissionError, match="Access is denied"):
        ensemble.save(tmp_path / "e.npz")
    monkeypatch.setattr(storage, "ON_WINDOWS", True)
    monkeypatch.setattr(storage, "WAITS", (0.0, 0.0))
    ensemble.save(tmp_path / "e.npz")
    assert os.listdir(tmp_path) == ["e.npz"]


def test_a_folder_of_other_things_is_not_touched(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ValueError, match="holds other files"):
        build_ensemble(X, n_clusters=3, n_runs=Runs(2, checkpoint=tmp_path))
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_damaged_run_is_told(tmp_path):
    build_ensemble(X, n_clusters=3, n_runs=Runs(2, checkpoint=tmp_path / "runs"), random_state=0)
    (tmp_path / "runs" / "run-00001.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"run-00001.npz' is damaged"):
        build_ensemble(
            X, n_clusters=3, n_runs=Runs(2, checkpoint=tmp_path / "runs"), random_state=0
        )
    (tmp_path / "runs" / "settings.json").write_text("{")
    with pytest.raises(ValueError, match=r"unreadable settings\.json"):
        build_ensemble(
            X, n_clusters=3, n_runs=Runs(2, checkpoint=tmp_path / "runs"), random_state=0
        )


BUILD = """
import sys
from sklearn.datasets import load_iris
from clustertrust import Runs, build_ensemble
runs = Runs(40, checkpoint=sys.argv[1])
build_ensemble(load_iris().data, ["kmeans", "gmm"], n_clusters=3, n_runs=runs, random_state=0,
               n_jobs=2).save(sys.argv[2])
"""


def test_a_killed_build_ends_as_an_undisturbed_one(tmp_path):
    """Killed at random moments, as often as it takes.

    The committed experiment does the same twenty times.
    """
    whole = build_ensemble(X, ["kmeans", "gmm"], n_clusters=3, n_runs=40, random_state=0)
    rng = np.random.default_rng(0)
    command = [sys.executable, "-c", BUILD, str(tmp_path / "runs"), str(tmp_path / "out.npz")]
    killed = 0
    while not (tmp_path / "out.npz").exists():
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 120
        wanted = len(list((tmp_path / "runs").glob("run-*.npz"))) + int(rng.integers(8, 20))
        while process.poll() is None and time.monotonic() < deadline:
            if len(list((tmp_path / "runs").glob("run-*.npz"))) >= wanted:
                time.sleep(rng.random() * 0.01)
                process.send_signal(signal.SIGKILL)
                killed += 1
                break
            time.sleep(0.001)
        _, said = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), said.decode()
    assert killed
    back = Ensemble.load(tmp_path / "out.npz")
    assert_array_equal(back.labels, whole.labels)
    assert_array_equal(back.place(NEW), whole.place(NEW))


def test_meta_is_json_and_arrays_are_plain(tmp_path):
    build_ensemble(X, "gmm", n_clusters=3, n_runs=2, random_state=0).save(tmp_path / "e.npz")
    meta, arrays = read_arrays(tmp_path / "e.npz", "ensemble")
    json.dumps(meta)
    assert all(array.dtype.kind in "if" for array in arrays.values())


# --- fitted models ---


@pytest.mark.parametrize(
    "options",
    [
        {"geometry": Kernel("rbf", gamma=0.3)},
        {"geometry": Graph(9, n_steps=2, metric="manhattan")},
        {"geometry": Exact(), "metric": Metric("minkowski", {"p": 3})},
        {"geometry": Sampled(40), "fusion": Product()},
        {"n_runs": Runs(3, left_out="predict", on_failure="drop"), "resample": 0.8},
    ],
    ids=str,
)
def test_a_model_keeps_the_objects_it_was_given(tmp_path, options):
    how = {"clusterer": "kmedoids", "n_runs": 3, "random_state": 0} | options
    cake = CAKE(3, **how).fit(X)
    cake.save(tmp_path / "model")
    again = CAKE.load(tmp_path / "model")
    assert repr(again.get_params()) == repr(cake.get_params())
    assert repr(again.fitted_geometry_) == repr(cake.fitted_geometry_)
    assert_array_equal(again.score_samples(X + 0.1), cake.score_samples(X + 0.1))


@pytest.mark.parametrize(
    "options",
    [
        {"geometry": Kernel(lambda x, y: float(x @ y))},
        {"metric": Metric(lambda x, y: float(np.abs(x - y).sum()))},
    ],
)
def test_functions_in_objects_cannot_be_stored(tmp_path, options):
    cake = CAKE(3, n_runs=2, random_state=0, **options).fit(X[:40])
    with pytest.raises(ValueError, match=r"=<function .* is not a name or plain value"):
        cake.save(tmp_path / "model")


@pytest.mark.parametrize("geometry", ["exact", "centroid", "rms", "kernel"])
@pytest.mark.parametrize("clusterer", ["kmeans", ["kmeans", "gmm"], "spectral"])
def test_a_model_comes_back_whole(tmp_path, clusterer, geometry):
    cake = CAKE(3, clusterer=clusterer, n_runs=4, geometry=geometry, random_state=0).fit(X)
    cake.save(tmp_path / "model")
    back = CAKE.load(tmp_path / "model")
    assert back.get_params() == cake.get_params()
    assert_array_equal(back.predict(NEW), cake.predict(NEW))
    assert_allclose(back.score_samples(NEW), cake.score_samples(NEW), atol=1e-12)
    assert back.to_frame().equals(cake.to_frame())
    assert str(back.explain(50)) == str(cake.explain(50))
    assert back.n_features_in_ == 4


def test_a_model_of_frames_keeps_names_and_index(tmp_path):
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    frame = pd.DataFrame(X, columns=list("abcd"), index=[f"flower {i}" for i in range(150)])
    for data in (frame, pl.DataFrame(frame)):
        cake = CAKE(3, n_runs=3, random_state=0).fit(data)
        cake.save(tmp_path / "model")
        back = CAKE.load(tmp_path / "model")
        assert back.to_frame().equals(cake.to_frame())
        assert back.feature_names_in_.tolist() == list("abcd")
        assert_array_equal(back.predict(data), cake.labels_)
    named = CAKE(3, n_runs=3, random_state=0).fit(frame.rename_axis("flower"))
    named.save(tmp_path / "model")
    back = CAKE.load(tmp_path / "model")
    assert back.to_frame().index.name == "flower"
    assert back.summary() == named.summary()


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"clusterer": KMeans(3, n_init=1)}, "clusterer"),
        ({"clusterer": "bisecting-kmeans"}, "bisecting-kmeans"),
        ({"metric": lambda x, y: abs(x - y).sum()}, "metric"),
    ],
)
def test_what_cannot_be_stored_is_told(tmp_path, settings, named):
    cake = CAKE(3, n_runs=2, random_state=0, **settings).fit(X[:30])
    with pytest.raises(ValueError, match=f"cannot be stored.*{named}|{named}.*cannot be stored"):
        cake.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
