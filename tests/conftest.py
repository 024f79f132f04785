"""Fixtures that several files of tests share."""

import pytest
import sklearn
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE
from clustertrust.streaming import stream


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    with sklearn.config_context():  # --memory sets it for the process
        yield tmp_path


# Displays


@pytest.fixture
def no_figure_stays_open():
    yield
    pytest.importorskip("matplotlib.pyplot").close("all")


@pytest.fixture(scope="module")
def iris():
    data = load_iris(as_frame=True).data
    return CAKE(3, clusterer="kmeans-random", n_runs=12, random_state=0).fit(data)


# Dask


@pytest.fixture(scope="module")
def points():
    return make_blobs(9000, 3, centers=4, cluster_std=2.0, random_state=0)[0]


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(stream, "SAMPLE_POINTS", 2000)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as client:
        yield client
