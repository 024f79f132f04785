"""Dask ensembles and the workers that fit them: the same runs, also when workers die."""

import os
import signal
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from dask_fits import ON_A_CLUSTER, ROWS, fit, fit_out_of_core
from numpy.testing import assert_allclose, assert_array_equal

from clustertrust import CAKE, Ensemble, Runs, _dask, build_ensemble, confidence
from clustertrust.geometry import Centroid
from clustertrust.stability import pairwise_stability

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
pytestmark = ON_A_CLUSTER


# Ensembles


def build(X, **options):
    return build_ensemble(X, **{"n_clusters": 4, "n_runs": 5, "random_state": 0} | options)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("clusterer", ["kmeans", "gmm", "agglomerative"])
def test_an_ensemble_has_the_runs_of_the_fit_and_labels_of_all_rows(points, clusterer):
    X = da.from_array(points, chunks=(ROWS, 3))
    options = {"clusterer": clusterer}
    if clusterer == "agglomerative":
        # or all its runs were the same
        options |= {"resample": 0.8, "n_runs": Runs(5, left_out="predict")}
    ensemble, cake = build(X, **options), fit_out_of_core(points, **options)
    assert isinstance(ensemble.labels, da.Array)
    assert ensemble.labels.shape == (9000, 5)
    whole = ensemble.compute()
    assert_array_equal(whole.labels, cake.ensemble_.place(points))
    assert ensemble.seeds == cake.ensemble_.seeds
    assert_array_equal(ensemble.runs[3].labels.compute(), whole.runs[3].labels)
    if clusterer == "kmeans":
        assert_allclose(ensemble.centers, cake.ensemble_.centers, atol=1e-12)
    assert_array_equal(ensemble.n_clusters, whole.n_clusters)
    assert ensemble.diversity() == pytest.approx(whole.diversity(), abs=1e-12)
    pd.testing.assert_frame_equal(ensemble.summary(), whole.summary())
    assert_array_equal(ensemble.place(points[:100]), whole.labels[:100])


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(
    "options",
    [{}, {"geometry": "centroid"}, {"agreement": "jaccard", "fusion": "product"}],
    ids=str,
)
def test_an_ensemble_is_scored_as_in_memory_and_as_by_the_fit(points, options):
    X = da.from_array(points, chunks=(ROWS, 3))
    ensemble = build(X)
    scored, cake = confidence(X, ensemble, **options), fit(X, **options)
    expected = confidence(points, ensemble.compute(), **({"geometry": "rms"} | options))
    assert isinstance(scored.scores, da.Array)
    assert scored.reference_run == expected.reference_run == cake.reference_run_
    assert_array_equal(scored.label_names, expected.label_names)
    for name in ("labels", "rival"):
        assert_array_equal(getattr(scored, name).compute(), getattr(expected, name), err_msg=name)
        assert_array_equal(
            getattr(scored, name).compute(), getattr(cake, f"{name}_").compute(), err_msg=name
        )
    for name in ("scores", "stability", "geometry", "standard_errors", "votes"):
        assert_allclose(
            getattr(scored, name).compute(), getattr(expected, name), atol=1e-12, err_msg=name
        )
        assert_array_equal(
            getattr(scored, name).compute(), getattr(cake, f"{name}_").compute(), err_msg=name
        )
    pd.testing.assert_frame_equal(scored.to_frame(), expected.to_frame(), atol=1e-12, rtol=0)


def test_a_record_of_dask_data_says_what_its_stability_is(points):
    X = da.from_array(points, chunks=(ROWS, 3))
    found = confidence(X, build(X), agreement="jaccard")
    assert found.agreement == "jaccard"
    assert "how much its clusters in two runs overlap" in str(found.explain(0))


def test_labels_in_another_form_have_a_column_a_run(points):
    runs = build(da.from_array(points, chunks=(ROWS, 3)))
    assert_array_equal(runs.with_labels(runs.labels.persist()).n_clusters, runs.n_clusters)
    for labels, told in ((np.zeros((9, 3), int), r"shape \(9, 3\)"), ([[0] * 5], "type list")):
        with pytest.raises(ValueError, match=rf"labels has {told}; give an \(n, 5\) array"):
            runs.with_labels(labels)


@pytest.mark.usefixtures("small_sample")
def test_the_report_of_more_points_than_the_sample_is_made_without_them(points, tmp_path):
    found = fit(da.from_array(points, chunks=(ROWS, 3)))
    assert len(found.X_fit_) < len(points)
    found.report(tmp_path / "r.html")
    assert "The data were not given" in (tmp_path / "r.html").read_text()
    found.report(tmp_path / "r.html", points)
    assert "The data were not given" not in (tmp_path / "r.html").read_text()


@pytest.mark.usefixtures("small_sample")
def test_displays_draw_dask_records_as_those_in_memory(points):
    figures = pytest.importorskip("matplotlib.figure")
    from clustertrust import displays

    truth = np.arange(len(points)) % 4
    more = {
        name: [truth]
        for name in ("CoverageAccuracyDisplay", "DecileDisplay", "RiskCoverageDisplay")
    }
    more["ScoreScatterDisplay"] = [points]
    kinds = [
        name for name in displays.__all__ if hasattr(getattr(displays, name), "from_estimator")
    ]
    assert len(kinds) == 9
    X = da.from_array(points, chunks=(ROWS, 3))
    cake, runs = fit(X), confidence(X, build(X))
    in_memory = confidence(points, runs.ensemble.compute(), geometry="rms")
    for name in kinds:
        display = getattr(displays, name)

        def draw(method, record, *given, made_by=display):
            return vars(getattr(made_by, method)(record, *given, ax=figures.Figure().add_subplot()))

        if name == "ConvergenceDisplay":
            with pytest.raises(
                ValueError, match=r"larger than memory, or on Dask data.*fit a sample"
            ):
                draw("from_estimator", cake)
            continue
        drawn = draw("from_estimator", cake, *more.get(name, []))
        assert not any(hasattr(value, "dask") for value in drawn.values())
        drawn, wanted = (
            draw("from_confidence", record, *more.get(name, [])) for record in (runs, in_memory)
        )
        for key in {"scores", "counts", "aurc", "accuracy", "accuracies"} & set(drawn):
            ours, theirs = (
                np.hstack(of[key] if isinstance(of[key], list) else [of[key]])
                for of in (drawn, wanted)
            )
            assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "kind", [da.from_array, lambda labels, chunks: labels], ids=["Dask", "NumPy"]
)
@pytest.mark.parametrize("dtype", [np.int64, np.uint8])
def test_given_labels_may_be_any_whole_numbers_in_any_blocks(points, kind, dtype):
    rng = np.random.default_rng(0)
    labels = np.array([7, 3, 200])[rng.integers(0, 3, (3000, 4))].astype(dtype)
    if dtype is np.int64:
        labels[rng.random(labels.shape) < 0.1] = -5  # not assigned
        labels[:, 3] = -1  # in a whole run
    labels[1500:, 2] = 11  # a cluster that the first blocks do not have
    X = da.from_array(points[:3000], chunks=(1100, 2))
    options = {"geometry": "rms", "agreement": "jaccard"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of points that few runs assign
        expected = confidence(points[:3000], labels, **options)
    scored = confidence(X, kind(labels, chunks=(700, 2)), **options)
    assert_allclose(scored.scores.compute(), expected.scores, atol=1e-12)
    pd.testing.assert_frame_equal(scored.to_frame(), expected.to_frame(), atol=1e-12, rtol=0)


def test_what_dask_labels_cannot_be_is_told(points):
    X = da.from_array(points, chunks=(ROWS, 3))
    labels = da.from_array(np.zeros((9000, 3), dtype=int), chunks=(ROWS, 3))
    with pytest.raises(
        ValueError, match=r"labels has shape \(9000, 3\) and type float64; .* labels.compute"
    ):
        confidence(X, labels.astype(float))
    with pytest.raises(ValueError, match=r"shape \(9000,\).* dask.array.stack"):
        confidence(X, labels[:, 0])
    with pytest.raises(ValueError, match=r"labels has 3000"):
        confidence(X, labels[:3000])
    with pytest.raises(ValueError, match=r"needed in memory here: give ensemble.compute\(\)"):
        confidence(points, labels)
    with pytest.raises(ValueError, match=r"needed in memory here"):
        pairwise_stability(labels)
    with pytest.raises(ValueError, match=r"compute\(\).save\(path\)"):
        Ensemble.from_labels(labels).save("x.npz")
    with pytest.raises(
        ValueError, match=r"geometry='exact' needs all points at once.* X.compute\(\)"
    ):
        confidence(X, labels, geometry="exact")
    with pytest.raises(ValueError, match=r"centers\[0\] has 1 rows"):
        confidence(X, labels + 1, geometry=Centroid([np.zeros((1, 3))] * 3))
    with pytest.raises(ValueError, match="centers have 2 columns and X has 3"):
        confidence(X, labels, geometry=Centroid([np.zeros((1, 2))] * 3))


def test_given_centres_are_used(points):
    labels = (points[:, :1] > [[0.0, 0.5]]).astype(int)
    centers = [np.array([[-5.0, 0, 0], [5, 0, 0]]), np.array([[-4.0, 1, 0], [4, 1, 0]])]
    X = da.from_array(points, chunks=(ROWS, 3))
    scored = confidence(X, labels, geometry=Centroid(centers))
    expected = confidence(points, labels, geometry=Centroid(centers))
    assert_allclose(scored.scores.compute(), expected.scores, atol=1e-12)


def test_what_cannot_be_built_is_told_before_a_pass(points):
    def fail(block):
        raise AssertionError("a pass was begun")

    X = da.from_array(points, chunks=(ROWS, 3)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    for options, what in [
        ({"clusterer": "k-means"}, "is not known"),
        ({"resample": 0.5}, "set left_out='predict'"),
        ({"n_runs": Runs(3, on_failure="ignore")}, "on_failure='ignore' is not known"),
        ({"n_runs": Runs(3, checkpoint="runs"), "random_state": None}, "give a number"),
        ({"n_runs": "auto"}, "n_runs='auto' needs all points at once"),
        ({"n_runs": 1}, "must be at least 2"),
        ({"n_clusters": 10_000}, "is more than the 9000 points"),
    ]:
        with pytest.raises(ValueError, match=what):
            build_ensemble(X, **({"n_clusters": 4, "n_runs": 3, "random_state": 0} | options))


# The runs go to the workers


def note_process(folder):
    """A clusterer that leaves the number of its process behind."""

    def cluster(X, rng):
        import os
        import time
        from pathlib import Path

        Path(folder, str(os.getpid())).touch()
        time.sleep(0.5)
        return (X[:, 0] > rng.normal()).astype(int)

    return cluster


@pytest.mark.parametrize("made_by", ["fit", "build_ensemble"])
def test_workers_fit_the_runs(points, client, tmp_path, made_by):
    X = da.from_array(points[:3000], chunks=(ROWS, 3))
    clusterer = note_process(str(tmp_path))
    if made_by == "fit":
        CAKE(clusterer=clusterer, n_runs=4, random_state=0).fit(X)
    else:
        build_ensemble(X, clusterer, n_runs=4, random_state=0)
    seen = {int(path.name) for path in tmp_path.iterdir()}
    assert seen  # one worker may have been quick enough to fit all of them
    assert seen <= set(client.run(os.getpid).values())  # and not this process


def test_without_a_client_the_runs_stay_here(points, tmp_path):
    build_ensemble(
        da.from_array(points[:3000], chunks=(ROWS, 3)), note_process(str(tmp_path)), n_runs=2
    )
    assert [int(path.name) for path in tmp_path.iterdir()] == [os.getpid()]


def test_a_checkpoint_is_found_by_workers_that_stand_elsewhere(
    points, client, tmp_path, monkeypatch
):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    back = client.run(os.getcwd)
    client.run(os.chdir, str(tmp_path / "elsewhere"))
    X = da.from_array(points[:3000], chunks=(ROWS, 3))
    first = build(X, n_runs=Runs(5, checkpoint="runs"))
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*.npz")}
    again = build(X, n_runs=Runs(5, checkpoint="runs"))
    for worker, folder in back.items():
        client.run(os.chdir, folder, workers=[worker])
    assert len(kept) == 5
    assert kept == {
        path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*.npz")
    }
    assert_array_equal(first.labels.compute(), again.labels.compute())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
@pytest.mark.parametrize("data", ["Dask's", "in memory"])
def test_workers_that_die_while_runs_are_fitted_change_nothing(points, client, tmp_path, data):
    """Each of the two workers dies once, in the middle of a run: whatever lived on them alone is
    lost.
    """
    before = set(client.run(os.getpid).values())

    def dying(X, rng):
        import os
        import signal
        import time
        from pathlib import Path

        flag = Path(folder, str(os.getpid()))
        if os.getpid() in before and not flag.exists():
            time.sleep(0.2)
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.1)
        return (X[:, 0] > rng.normal()).astype(int)

    folder = str(tmp_path)
    options = {"clusterer": dying, "n_runs": 12, "random_state": 0}
    if data == "in memory":
        with joblib.parallel_config(backend="dask"):
            found = build_ensemble(points[:3000], **options)
    else:
        found = build_ensemble(da.from_array(points[:3000], chunks=(ROWS, 3)), **options).compute()
    assert {int(path.name) for path in tmp_path.iterdir()} == before
    before = set()
    assert_array_equal(found.labels, build_ensemble(points[:3000], **options).labels)


def test_a_task_that_kills_its_workers_is_an_error(points, cluster, client, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)

    def deadly(X, rng):
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(
        RuntimeError, match="Several workers died, one after the other, at the same task"
    ):
        build_ensemble(
            da.from_array(points[:3000], chunks=(ROWS, 3)), deadly, n_runs=2, random_state=0
        )


def test_a_timeout_of_a_task_is_its_error_and_is_not_waited_for(client):
    def late(data):
        raise TimeoutError("a file server did not answer")

    with pytest.raises(TimeoutError, match="a file server did not answer"):
        list(_dask.run_on_workers(client, late, 7, [()]))


def test_nobody_waits_for_workers_for_ever(points, monkeypatch):
    monkeypatch.setattr(_dask, "LOOK", 0.1)
    monkeypatch.setattr(_dask, "PATIENCE", 0.5)
    X = da.from_array(points[:3000], chunks=(ROWS, 3))
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        distributed.Client(empty),
        pytest.raises(
            TimeoutError,
            match=r"Dask has had no worker for 0.5 seconds .*client.wait_for_workers\(1\)",
        ),
    ):
        build_ensemble(X, n_clusters=4, n_runs=2, random_state=0)


# What workers hold


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="reads the peak of a process from Linux"
)
@pytest.mark.usefixtures("small_sample")
def test_memory_of_a_worker_does_not_grow_with_the_rows(client):
    """Four times the rows, 105 MiB more in all, and the peak of a worker grows by 30 MiB at most."""
    columns, rows, slack = 64, 12_000, 30.0

    def numbers(block_id):
        return np.random.default_rng(block_id[0]).random((rows, columns)) + 3 * (block_id[0] % 3)

    def peak():
        from pathlib import Path

        told = Path("/proc/self/status").read_text()
        return int(told.split("VmHWM:")[1].split()[0]) / 1024

    def peaks(blocks):
        X = da.map_blocks(
            numbers, chunks=((rows,) * blocks, (columns,)), dtype=float, meta=np.empty((0, 0))
        )
        cake = CAKE(3, n_runs=3, random_state=0).fit(X)
        assert 0 < cake.scores_.mean().compute() < 1
        return np.array(list(client.run(peak).values())), X.nbytes / 2**20

    (few, data), (many, more) = peaks(6), peaks(24)
    assert more - data > 3 * slack
    assert (many - few).max() <= slack, (few, many)
