"""On Dask: the same labels to the bit as the out-of-core path of one machine on the same blocks."""

import os
import signal
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from clustertrust import CAKE, Ensemble, build_ensemble, confidence, streaming
from clustertrust.cli import cli
from clustertrust.sources import ArraySource
from clustertrust.stability import pairwise_stability

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    pytest.mark.xdist_group("dask"),  # one cluster
]
ROWS = 1500  # of a block


class SameBlocks(ArraySource):
    """The blocks that Dask has."""

    def read(self, rows):
        return super().read(ROWS)


@pytest.fixture(scope="module")
def points():
    return make_blobs(9000, 3, centers=4, cluster_std=2.0, random_state=0)[0]


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(streaming, "SAMPLE_POINTS", 2000)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def fit(X, **options):
    return CAKE(4, n_runs=5, random_state=0, **options).fit(X)


def fit_out_of_core(points, **options):
    with sklearn.config_context(working_memory=0.01):
        return fit(SameBlocks(points), **options)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(
    "options",
    [{}, {"geometry": "centroid"}, {"clusterer": "gmm"}, {"agreement": "jaccard"}, {"agreement": "reference"}],
    ids=str,
)
def test_same_as_out_of_core_without_a_cluster(points, options):
    cake, expected = fit(da.from_array(points, chunks=(ROWS, 3)), **options), fit_out_of_core(points, **options)
    assert isinstance(cake.scores_, da.Array)
    assert isinstance(cake.labels_, da.Array)
    assert cake.n_passes_ == expected.n_passes_
    assert_array_equal(cake.labels_.compute(), expected.labels_)
    assert_allclose(cake.scores_.compute(), expected.scores_, atol=1e-12)
    assert_allclose(cake.votes_.compute(), expected.votes_, atol=1e-12)


@pytest.mark.usefixtures("small_sample")
def test_same_on_worker_processes(points, client):
    cake, expected = fit(da.from_array(points, chunks=(ROWS, 3))), fit_out_of_core(points)
    assert_array_equal(cake.labels_.compute(), expected.labels_)
    assert_allclose(cake.scores_.compute(), expected.scores_, atol=1e-12)
    assert_array_equal(cake.predict(points[:50]), expected.predict(points[:50]))


@pytest.mark.usefixtures("small_sample")
def test_frames_keep_their_columns(points, client):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pd.DataFrame(points, columns=list("xyz")), npartitions=6)
    cake = fit(frame)
    assert cake.feature_names_in_.tolist() == ["x", "y", "z"]
    assert_array_equal(cake.labels_.compute(), fit_out_of_core(points).labels_)  # six partitions of 1500 rows


@pytest.mark.usefixtures("small_sample")
def test_a_worker_that_dies_changes_nothing(points, cluster, client):
    killed = []

    def slow(block):
        """The block; a worker that gets the fourth one dies, once."""
        from pathlib import Path

        flag = Path(folder) / "killed"
        if np.array_equal(block[0], points[3 * ROWS]) and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        X = da.from_array(points, chunks=(ROWS, 3)).map_blocks(slow, dtype=float)
        cake = fit(X)
        labels, scores = dask.compute(cake.labels_, cake.scores_)
        killed.append(os.path.exists(os.path.join(folder, "killed")))
    assert killed == [True]
    expected = fit_out_of_core(points)
    assert_array_equal(labels, expected.labels_)
    assert_allclose(scores, expected.scores_, atol=1e-12)


def test_joblib_spreads_the_runs_of_an_ensemble_in_memory(points, client):
    with joblib.parallel_config(backend="dask"):
        spread = build_ensemble(points, n_clusters=4, n_runs=4, random_state=0)
    assert_array_equal(spread.labels, build_ensemble(points, n_clusters=4, n_runs=4, random_state=0).labels)


def test_rows_may_be_cut_into_columns(points):
    whole, cut = (fit(da.from_array(points[:3000], chunks=(ROWS, width))) for width in (3, 1))
    assert_array_equal(whole.scores_.compute(), cut.scores_.compute())


# Ensembles


def build(X, **options):
    return build_ensemble(X, n_clusters=4, n_runs=5, random_state=0, **options)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("clusterer", ["kmeans", "gmm", "agglomerative"])
def test_an_ensemble_has_the_runs_of_the_fit_and_labels_of_all_rows(points, clusterer):
    X = da.from_array(points, chunks=(ROWS, 3))
    options = {"clusterer": clusterer}
    if clusterer == "agglomerative":
        options |= {"resample": 0.8, "left_out": "predict"}  # or all its runs were the same
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
    "options", [{}, {"geometry": "centroid"}, {"agreement": "jaccard", "fusion": "product"}], ids=str
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
        assert_array_equal(getattr(scored, name).compute(), getattr(cake, f"{name}_").compute(), err_msg=name)
    for name in ("scores", "stability", "geometry", "standard_errors", "votes"):
        assert_allclose(getattr(scored, name).compute(), getattr(expected, name), atol=1e-12, err_msg=name)
        assert_array_equal(getattr(scored, name).compute(), getattr(cake, f"{name}_").compute(), err_msg=name)
    pd.testing.assert_frame_equal(scored.to_frame(), expected.to_frame(), atol=1e-12, rtol=0)


def test_a_record_of_dask_data_says_what_its_stability_is(points):
    X = da.from_array(points, chunks=(ROWS, 3))
    found = confidence(X, build(X), agreement="jaccard")
    assert found.agreement == "jaccard"
    assert "how far its clusters in two runs overlap" in str(found.explain(0))


def test_labels_in_another_form_have_a_column_a_run(points):
    runs = build(da.from_array(points, chunks=(ROWS, 3)))
    assert_array_equal(runs.with_labels(runs.labels.persist()).n_clusters, runs.n_clusters)
    for labels, told in ((np.zeros((9, 3), int), r"shape \(9, 3\)"), ([[0] * 5], "type list")):
        with pytest.raises(ValueError, match=rf"labels has {told}; give an \(n, 5\) array"):
            runs.with_labels(labels)


@pytest.mark.usefixtures("small_sample")
def test_the_report_of_more_points_than_the_sample_is_made_without_them(points, tmp_path):
    found = fit(da.from_array(points, chunks=(ROWS, 3)))
    assert len(found._X) < len(points)
    found.report(tmp_path / "r.html")
    assert "The data were not given" in (tmp_path / "r.html").read_text()
    found.report(tmp_path / "r.html", points)
    assert "The data were not given" not in (tmp_path / "r.html").read_text()


@pytest.mark.usefixtures("small_sample")
def test_displays_draw_dask_records_as_those_in_memory(points):
    figures = pytest.importorskip("matplotlib.figure")
    from clustertrust import displays

    truth = np.arange(len(points)) % 4
    more = {name: [truth] for name in ("CoverageAccuracyDisplay", "DecileDisplay", "RiskCoverageDisplay")}
    more["ScoreScatterDisplay"] = [points]
    kinds = [name for name in displays.__all__ if hasattr(getattr(displays, name), "from_estimator")]
    assert len(kinds) == 9
    X = da.from_array(points, chunks=(ROWS, 3))
    cake, runs = fit(X), confidence(X, build(X))
    in_memory = confidence(points, runs.ensemble.compute(), geometry="rms")
    for name in kinds:
        display = getattr(displays, name)

        def draw(method, record, *given, made_by=display):
            return vars(getattr(made_by, method)(record, *given, ax=figures.Figure().add_subplot()))

        if name == "ConvergenceDisplay":
            with pytest.raises(ValueError, match=r"larger than memory, or Dask's.*fit a sample"):
                draw("from_estimator", cake)
            continue
        drawn = draw("from_estimator", cake, *more.get(name, []))
        assert not any(hasattr(value, "dask") for value in drawn.values())
        drawn, wanted = (draw("from_confidence", record, *more.get(name, [])) for record in (runs, in_memory))
        for key in {"scores", "counts", "aurc", "accuracy", "accuracies"} & set(drawn):
            ours, theirs = (np.hstack(of[key] if isinstance(of[key], list) else [of[key]]) for of in (drawn, wanted))
            assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [da.from_array, lambda labels, chunks: labels], ids=["Dask", "NumPy"])
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
    with pytest.raises(ValueError, match=r"labels has shape \(9000, 3\) and type float64; .* labels.compute"):
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
    with pytest.raises(ValueError, match=r"geometry='exact' needs all points at once.* X.compute\(\)"):
        confidence(X, labels, geometry="exact")
    with pytest.raises(ValueError, match=r"centers\[0\] has 1 rows"):
        confidence(X, labels + 1, geometry="centroid", centers=[np.zeros((1, 3))] * 3)
    with pytest.raises(ValueError, match="centers have 2 columns and X has 3"):
        confidence(X, labels, geometry="centroid", centers=[np.zeros((1, 2))] * 3)


def test_given_centres_are_used(points):
    labels = (points[:, :1] > [[0.0, 0.5]]).astype(int)
    centers = [np.array([[-5.0, 0, 0], [5, 0, 0]]), np.array([[-4.0, 1, 0], [4, 1, 0]])]
    X = da.from_array(points, chunks=(ROWS, 3))
    scored = confidence(X, labels, geometry="centroid", centers=centers)
    expected = confidence(points, labels, geometry="centroid", centers=centers)
    assert_allclose(scored.scores.compute(), expected.scores, atol=1e-12)


def test_what_cannot_be_built_is_told_before_a_pass(points):
    def fail(block):
        raise AssertionError("a pass was begun")

    X = da.from_array(points, chunks=(ROWS, 3)).map_blocks(fail, dtype=float, meta=np.empty((0, 0)))
    for options, what in [
        ({"clusterer": "k-means"}, "is not known"),
        ({"resample": 0.5}, "Set left_out='predict'"),
        ({"on_failure": "ignore"}, "on_failure='ignore' is not known"),
        ({"checkpoint": "runs", "random_state": None}, "give a number"),
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
    build_ensemble(da.from_array(points[:3000], chunks=(ROWS, 3)), note_process(str(tmp_path)), n_runs=2)
    assert [int(path.name) for path in tmp_path.iterdir()] == [os.getpid()]


def test_a_checkpoint_is_found_by_workers_that_stand_elsewhere(points, client, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    back = client.run(os.getcwd)
    client.run(os.chdir, str(tmp_path / "elsewhere"))
    X = da.from_array(points[:3000], chunks=(ROWS, 3))
    first = build(X, checkpoint="runs")
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*.npz")}
    again = build(X, checkpoint="runs")
    for worker, folder in back.items():
        client.run(os.chdir, folder, workers=[worker])
    assert len(kept) == 5
    assert kept == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*.npz")}
    assert_array_equal(first.labels.compute(), again.labels.compute())


# What workers hold


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads the peak of a process from Linux")
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
        X = da.map_blocks(numbers, chunks=((rows,) * blocks, (columns,)), dtype=float, meta=np.empty((0, 0)))
        cake = CAKE(3, n_runs=3, random_state=0).fit(X)
        assert 0 < cake.scores_.mean().compute() < 1
        return np.array(list(client.run(peak).values())), X.nbytes / 2**20

    (few, data), (many, more) = peaks(6), peaks(24)
    assert more - data > 3 * slack
    assert (many - few).max() <= slack, (few, many)


# Beside the fit in memory


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(
    ("spread", "ari", "mean", "largest"),
    [(0.5, 1.0, 1e-12, 1e-12), (1.0, 0.99, 1e-3, 0.03), (2.0, 0.97, 0.01, 0.2)],
    ids=["apart", "touching", "overlapping"],
)
def test_near_the_fit_in_memory(spread, ari, mean, largest):
    """Runs that start on a sample may end elsewhere, as those of another seed may; not where clusters are apart."""
    points, _ = make_blobs(9000, 3, centers=4, cluster_std=spread, random_state=0)
    cake, expected = fit(da.from_array(points, chunks=(ROWS, 3))), fit(points, geometry="rms")
    labels, scores = dask.compute(cake.labels_, cake.scores_)
    assert adjusted_rand_score(labels, expected.labels_) >= ari
    assert np.abs(scores - expected.scores_).mean() <= mean
    assert np.abs(scores - expected.scores_).max() <= largest


# What a fit leaves behind


def test_tables_have_the_row_names_of_the_frame(points):
    given = pd.DataFrame(points[:3000], columns=list("xyz"), index=pd.Index([f"cell {i:04}" for i in range(3000)]))
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(given, npartitions=3)
    cake = fit(frame)
    assert cake.to_frame().index.tolist() == given.index.tolist()
    assert confidence(frame, cake.ensemble_).to_frame().index.equals(frame.compute().index)
    assert cake.explain(2500).point == 2500


def test_table_summary_reasons_and_file_of_a_fit(points, tmp_path):
    X = da.from_array(points[:3000], chunks=(ROWS, 3))
    cake, expected = fit(X), fit(points[:3000], geometry="rms")  # the sample is all of the data
    pd.testing.assert_frame_equal(cake.to_frame(), expected.to_frame(), atol=1e-12, rtol=0)
    assert cake.summary() == expected.summary()
    assert str(cake.explain(-7)) == str(expected.explain(-7))
    cake.report(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000
    cake.save(tmp_path / "cake.model")
    loaded = CAKE.load(tmp_path / "cake.model")
    assert_allclose(loaded.scores_, expected.scores_, atol=1e-12)
    assert_array_equal(loaded.score_samples(points[:50]), cake.score_samples(points[:50]))


@pytest.mark.usefixtures("small_sample")
def test_a_model_of_many_rows_keeps_the_scores_of_its_sample(points, tmp_path):
    cake = fit(da.from_array(points, chunks=(ROWS, 3)))
    cake.save(tmp_path / "cake.model")
    loaded = CAKE.load(tmp_path / "cake.model")
    assert len(loaded.scores_) == 2000
    assert_array_equal(loaded.predict(points), cake.predict(points))


@pytest.mark.parametrize("geometry", ["rms", "exact"])
def test_unseen_points_in_blocks(points, geometry):
    cake = CAKE(4, n_runs=5, geometry=geometry, random_state=0).fit(pd.DataFrame(points[:2000], columns=list("xyz")))
    new = da.from_array(points, chunks=(ROWS, 2))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        labels, scores = cake.predict(points), cake.score_samples(points)
    assert isinstance(cake.predict(new), da.Array)
    assert_array_equal(cake.predict(new).compute(), labels)
    assert_allclose(cake.score_samples(new).compute(), scores, atol=1e-12)
    assert cake.score(new) == pytest.approx(scores.mean())
    with pytest.raises(ValueError, match="X has 2 columns; this model was fitted on 3"):
        cake.predict(new[:, :2])
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pd.DataFrame(points, columns=list("zyx")), npartitions=2)
    with pytest.raises(ValueError, match=r"fitted on \['x', 'y', 'z'\], in this order"):
        cake.predict(frame)


# What data may be like


@pytest.mark.usefixtures("small_sample")
def test_empty_partitions_change_nothing(points):
    frames = pytest.importorskip("dask.dataframe")
    frame = frames.from_pandas(pd.DataFrame(points, columns=list("xyz")), npartitions=6)
    gaps = frames.concat([frame[frame.x > 1e9], frame, frame[frame.x > 1e9]])
    assert gaps.npartitions == 18
    cake, expected = fit(gaps), fit(frame)
    assert_array_equal(cake.scores_.compute(), expected.scores_.compute())
    with pytest.raises(ValueError, match="X has 0 rows"):
        fit(frame[frame.x > 1e9])


def test_types_of_pandas_own_are_numbers_too(points):
    frames = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(points[:3000], columns=list("xyz"))
    own = frames.from_pandas(frame.astype("Float64"), npartitions=2)
    assert_array_equal(fit(own).scores_.compute(), fit(frames.from_pandas(frame, npartitions=2)).scores_.compute())
    with pytest.raises(ValueError, match=r"X has columns that are not numbers: \['kind'\]"):
        fit(frames.from_pandas(frame.assign(kind="a"), npartitions=2))
    with pytest.raises(ValueError, match=r"missing or infinite .* \('y'\)"):
        fit(frames.from_pandas(frame.astype("Float64").assign(y=pd.NA).astype("Float64"), npartitions=2))


def test_whole_numbers_that_floats_cannot_tell_apart_are_told():
    X = da.from_array(np.arange(40).reshape(20, 2) + 2**60, chunks=(10, 2))
    with pytest.raises(ValueError, match="beyond 2\\*\\*53"):
        fit(X)


def test_missing_values_are_told_with_their_place(points):
    broken = points[:3000].copy()
    broken[2500, 1] = np.nan
    with pytest.raises(ValueError, match=r"rows from 1500 on: X contains 1 value"):
        fit(da.from_array(broken, chunks=(ROWS, 3)))


def test_text_is_told():
    X = da.from_array(np.array([["a", "b"]] * 10), chunks=(5, 2))
    with pytest.raises(ValueError, match="must hold numbers"):
        fit(X)


def test_mini_batches_go_one_after_the_other_and_are_refused(points, small_sample):
    with pytest.raises(ValueError, match=r"'minibatch-kmeans' takes one mini-batch after the other.*'kmeans'"):
        fit(da.from_array(points, chunks=(ROWS, 3)), clusterer="minibatch-kmeans")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_runs_on_a_scheduler(points, cluster, tmp_path, suffix):
    frame = pd.DataFrame(points, columns=list("xyz"))
    frame.loc[:8990, "z"] = frame.loc[:8990, "z"].round()  # written as whole numbers until the last few rows
    frame.insert(0, "name", [f"{i:05}" for i in range(len(frame))])
    path = tmp_path / f"x.{suffix}"
    text = frame.assign(z=[f"{z:.0f}" if i <= 8990 else repr(z) for i, z in enumerate(frame["z"].tolist())])
    text.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    typed = ["score", path, "-k", "4", "--runs", "5", "--id", "name", "--geometry", "rms", "--out"]
    arguments = [*typed, tmp_path / "s.csv", "--scheduler", cluster.scheduler_address]
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    scores = pd.read_csv(tmp_path / "s.csv", dtype={"name": str})
    expected = CAKE(4, n_runs=5, random_state=0, geometry="rms").fit(frame[["x", "y", "z"]])
    assert scores["name"].tolist() == frame["name"].tolist()
    assert_array_equal(scores["label"], expected.labels_)  # the sample is all of the data
    assert_allclose(scores["score"], expected.scores_, atol=1e-12)
