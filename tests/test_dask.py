"""On Dask: the same labels to the bit as the out-of-core path of one machine on the same blocks."""

import os
import signal

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from clustertrust import CAKE, build_ensemble, streaming
from clustertrust.cli import cli
from clustertrust.sources import ArraySource

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
    "options", [{}, {"geometry": "centroid"}, {"clusterer": "gmm"}, {"agreement": "jaccard"}], ids=str
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
    with pytest.raises(ValueError, match="mini-batches go one after the other"):
        fit(da.from_array(points, chunks=(ROWS, 3)), clusterer="minibatch-kmeans")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_command_runs_on_a_scheduler(points, cluster, tmp_path, suffix):
    frame = pd.DataFrame(points, columns=list("xyz"))
    frame.insert(0, "name", [f"{i:05}" for i in range(len(frame))])
    path = tmp_path / f"x.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    typed = ["score", path, "-k", "4", "--runs", "5", "--id", "name", "--geometry", "rms", "--out"]
    arguments = [*typed, tmp_path / "s.csv", "--scheduler", cluster.scheduler_address]
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    scores = pd.read_csv(tmp_path / "s.csv", dtype={"name": str})
    expected = CAKE(4, n_runs=5, random_state=0, geometry="rms").fit(frame[["x", "y", "z"]])
    assert scores["name"].tolist() == frame["name"].tolist()
    assert_array_equal(scores["label"], expected.labels_)  # the sample is all of the data
    assert_allclose(scores["score"], expected.scores_, atol=1e-12)
