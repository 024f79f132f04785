"""Fixtures that several files of tests share."""

import signal

import pandas as pd
import pytest
import sklearn
from browsing import chromium_or_skip
from skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401
from sklearn.datasets import load_iris, make_blobs

from clustertrust import CAKE
from clustertrust.streaming import stream

# A shell starts what runs in the background without Ctrl+C, and tests that send it would wait for
# processes that inherit this.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# The state of the random numbers of a module when its first test began
_FIRST: dict[str, dict] = {}


# Folders and output


@pytest.fixture(autouse=True)
def no_width_from_outside(monkeypatch):
    """Let no width of the caller's terminal wrap what the command prints."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def same_draws(request):
    """Let a test draw the same numbers whichever tests of its module came before it."""
    numbers = getattr(request.module, "RNG", None)
    if numbers is not None:
        state = _FIRST.setdefault(request.module.__name__, numbers.bit_generator.state)
        numbers.bit_generator.state = state


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


# The report in a browser


@pytest.fixture(scope="module")
def flowers():
    names = pd.Index([f"flower {i}" for i in range(150)], name="flower")
    return load_iris(as_frame=True).data.set_axis(names, axis=0)


@pytest.fixture(scope="module")
def chromium():
    with chromium_or_skip() as browser:
        yield browser


@pytest.fixture
def visit(chromium):
    """Open a report.

    At the end, nothing may have gone wrong and nothing may have been asked of the network.
    """
    contexts, wrong = [], []

    def is_page(request):
        return request.resource_type == "document" and request.url.startswith("file:")

    def open_report(file, ready="body.ready", **how):
        size = {"viewport": {"width": 1280, "height": 900}}
        context = chromium.new_context(offline=True, **(size | how))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if is_page(request) else wrong.append(request.url))
        page.goto(file.as_uri())
        page.wait_for_selector(ready)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert wrong == []
