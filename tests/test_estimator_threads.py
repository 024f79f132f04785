"""CAKE among threads, and in forked children."""

import functools
import itertools
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from fits import X, assert_same_fit, fitted
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info, threadpool_limits

from clustertrust import confidence
from clustertrust._caught import collected_warnings
from clustertrust._parallel import (
    Order,
    Team,
    kept_threads,
    map_blocks,
    one_thread,
    run_blocks,
    stack_columns,
)
from clustertrust.cells import meet_runs, rename
from clustertrust.columns import FIELDS


@pytest.fixture(autouse=True)
def two_threads_from_outside():
    """Give BLAS two threads, since `make test` gives each process one.

    By threads that end: newer versions of threadpoolctl listen to the first one while it lives.
    """
    limits = []
    in_threads(lambda: limits.append(threadpool_limits(2, user_api="blas")))
    yield
    in_threads(limits[0].restore_original_limits)


def limits_of_thread_pools():
    return sorted((pool["filepath"], pool["num_threads"]) for pool in threadpool_info())


def state_of_warnings():
    return list(warnings.filters), warnings.showwarning


def in_threads(*functions):
    """Results of functions that start at the same moment."""
    barrier, results = threading.Barrier(len(functions)), {}

    def run(name, function):
        barrier.wait()
        try:
            results[name] = function()
        except Exception as error:  # shown by the caller's assertion, not lost in the thread
            results[name] = error

    threads = [
        threading.Thread(target=run, args=item, daemon=True) for item in enumerate(functions)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    return [results.get(i) for i in range(len(functions))]


def test_two_fits_at_once():
    fitted()  # what is set once, at the first use, is no change
    pools, filters = limits_of_thread_pools(), state_of_warnings()
    alone = [fitted(), fitted(n_clusters=3, geometry="kernel", random_state=5)]
    for _ in range(3):
        one, other = in_threads(
            fitted, lambda: fitted(n_clusters=3, geometry="kernel", random_state=5)
        )
        assert_same_fit(one, alone[0])
        assert_same_fit(other, alone[1])
        assert limits_of_thread_pools() == pools
    fitted()  # the libraries below may have put back what they found while the other fit was on
    assert state_of_warnings() == filters


def test_warnings_kept_by_others_past_the_end_of_a_fit():
    """A `catch_warnings` that begins in a fit and ends after it, as those of other threads may."""
    told = []
    with warnings.catch_warnings():
        warnings.showwarning = show = lambda message, *rest: told.append(str(message))
        warnings.simplefilter("always")
        with collected_warnings:
            others = warnings.catch_warnings()
            others.__enter__()
        others.__exit__(None, None, None)
        warnings.warn("after", stacklevel=1)
        with collected_warnings as caught:
            warnings.warn("inside", stacklevel=1)
            thread = threading.Thread(target=warnings.warn, args=("beside",))
            thread.start()
            thread.join()
        assert [str(warning.message) for warning in caught] == ["inside"]
        assert told == ["after", "beside"]
        assert warnings.showwarning is show


# On data made ready for all runs, and by a `fit` of each.
@pytest.mark.parametrize("n_init", [1, 2])
def test_every_run_has_one_thread(monkeypatch, n_init):
    seen, start = [], KMeans._init_centroids

    def looking_round(self, *args, **kwargs):
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return start(self, *args, **kwargs)

    monkeypatch.setattr(KMeans, "_init_centroids", functools.wraps(start)(looking_round))
    fitted(clusterer=KMeans(3, n_init=n_init), n_jobs=2)
    assert len(seen) >= 6
    assert set(seen) == {1}


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


# Some versions of threadpoolctl listen to the first thread that sets a limit, and to no other while
# that one lives.


def test_limits_hold_after_another_thread_has_set_them():
    left, end = threading.Event(), threading.Event()

    def first():
        with one_thread():
            pass
        left.set()
        end.wait(30)

    before = blas_threads()
    thread = threading.Thread(target=first, daemon=True)
    thread.start()
    assert left.wait(30)
    with one_thread():
        inside = blas_threads()
    after = blas_threads()
    end.set()
    thread.join(30)
    assert inside == {1}
    assert after == before


def test_limits_are_lifted_by_the_last_to_leave():
    entered, leave, left, end = (threading.Event() for _ in range(4))

    def first():
        with one_thread():
            entered.set()
            leave.wait(30)
        left.set()
        end.wait(30)

    before = blas_threads()
    thread = threading.Thread(target=first, daemon=True)
    thread.start()
    assert entered.wait(30)
    with one_thread():
        leave.set()
        assert left.wait(30)
        inside = blas_threads()
    after = blas_threads()
    end.set()
    thread.join(30)
    assert inside == {1}
    assert after == before


def test_filters_that_another_thread_puts_back_during_a_fit(monkeypatch):
    """Every check of an array in scikit-learn saves the filters of the whole process and puts them
    back.
    """
    started, go_on, start = threading.Event(), threading.Event(), KMeans._init_centroids

    def slow(self, *args, **kwargs):
        started.set()
        go_on.wait(30)
        return start(self, *args, **kwargs)

    monkeypatch.setattr(KMeans, "_init_centroids", functools.wraps(start)(slow))
    before = state_of_warnings()
    settings = {"n_jobs": 1, "clusterer": KMeans(n_init=1)}
    thread = threading.Thread(target=fitted, kwargs=settings, daemon=True)
    thread.start()
    assert started.wait(30)
    with warnings.catch_warnings():
        go_on.set()
        thread.join(30)
    filters, show = state_of_warnings()
    assert filters == before[0]
    # It comes back as ours, which hands on what it is not meant to collect.
    warnings.showwarning = before[1]
    with pytest.warns(UserWarning, match="to whom it may concern"):
        show("to whom it may concern", UserWarning, "here", 1)


def test_a_fit_that_fails_puts_limits_and_filters_back():
    def broken(x, y):
        raise RuntimeError("no distance today")

    fitted()
    pools, filters = limits_of_thread_pools(), state_of_warnings()
    with pytest.raises(RuntimeError, match="no distance today"):
        fitted(metric=broken)
    assert limits_of_thread_pools() == pools
    assert state_of_warnings() == filters


def test_warnings_of_fits_at_once_all_arrive():
    duplicates = np.repeat(X[:3], 5, axis=0)
    before = state_of_warnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        in_threads(*[lambda: fitted(duplicates, n_clusters=5)] * 2)
    assert sum("found fewer than the 5 clusters" in str(w.message) for w in caught) == 2
    assert len(caught) == 2
    assert state_of_warnings() == before


# So many columns that neighbours are found by OpenMP loops.
WIDE = np.random.default_rng(2).normal(size=(200, 20))


def _send_scores(connection, points, options):
    connection.send(fitted(points, **options).scores_)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
# Python 3.12: the forking process has threads.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    "options", [{"geometry": name} for name in ("exact", "rms", "kernel", "graph")], ids=str
)
@pytest.mark.parametrize("points", [X, WIDE], ids=["narrow", "wide"])
def test_fit_in_a_forked_child(options, points):
    """A pool of threads that lived on in the parent would be dead in the child, and the fit would
    wait for ever.
    """
    here = fitted(points, n_jobs=2, **options).scores_
    # OpenMP's own threads are running now.
    KMeans(3, n_init=1, random_state=0).fit(np.tile(X, (10, 1)))
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_send_scores, args=(sender, points, options | {"n_jobs": 2}))
    child.start()
    try:
        assert receiver.poll(30), "the fit hangs in the child"
        assert_array_equal(receiver.recv(), here)
    finally:
        child.kill()
        child.join()


def run_python(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_import_is_quiet_and_light():
    code = """
import sys
import clustertrust.displays
print([name for name in ("numba", "llvmlite", "matplotlib", "polars", "hypothesis") if name in sys.modules])
"""
    done = run_python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_whoever_stops_early_does_not_wait_for_work_that_has_not_begun():
    done = []

    def work(part):
        time.sleep(0.05)
        done.append(part)

    results = map_blocks(work, iter(range(100)), threads=2)
    next(results)
    results.close()
    assert len(done) <= 4


def test_parts_that_follow_an_error_are_not_begun():
    done = []

    def work(part):
        time.sleep(0.02)
        done.append(part)
        if part == 1:
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        run_blocks(work, range(100), threads=2)
    assert len(done) <= 4


@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=2), max_size=40), st.integers(1, 4)
)
def test_parts_with_an_item_in_common_go_in_order(parts, threads):
    begun, ended = {}, {}

    def work(i):
        begun[i] = len(begun) + len(ended)
        time.sleep(0)
        ended[i] = len(begun) + len(ended)

    with Team(threads) as team:
        team.run_in_order(work, Order.of(parts))
    assert sorted(ended) == list(range(len(parts)))
    for i, j in itertools.combinations(range(len(parts)), 2):
        assert not set(parts[i]) & set(parts[j]) or ended[i] < begun[j]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_ends_work_in_order(threads):
    done = []

    def work(i):
        time.sleep(0.01)
        done.append(i)
        if i == 3:
            raise ValueError("stop")

    with Team(threads) as team, pytest.raises(ValueError, match="stop"):
        team.run_in_order(work, Order.of([(i % 3,) for i in range(300)]))
    assert len(done) < 30


def test_threads_work_side_by_side_on_parts_that_share_nothing():
    meeting = threading.Barrier(3, timeout=20)
    with Team(3) as team:
        order = Order.of([(0,), (1,), (2,), (0,)])
        team.run_in_order(lambda i: meeting.wait() if i < 3 else None, order)


def threads_of_two_teams():
    """The threads that meet in two teams of three, one after the other."""
    seen = []
    for _ in range(2):
        meeting = threading.Barrier(3, timeout=20)
        with Team(3) as team:
            team.run(
                lambda _, here=meeting: (here.wait(), seen.append(threading.get_ident())), range(3)
            )
    return seen[:3], seen[3:]


def test_threads_are_kept_for_one_piece_of_work():
    before = threading.active_count()
    with kept_threads():
        with kept_threads():
            first, second = map(set, threads_of_two_teams())
        assert threading.active_count() == before + 2
        assert list(map_blocks(abs, iter([-1, -2, -3]), 3)) == [1, 2, 3]
        assert threading.active_count() <= before + 3
    assert threading.active_count() == before
    assert first == second
    assert threading.get_ident() in first


def test_work_inside_of_work_needs_no_more_threads():
    """All threads are busy with parts that begin others: whoever waits does them."""
    done = []

    def outer(i):
        run_blocks(lambda j: done.append((i, j)), range(4), threads=2)

    with kept_threads():
        for i, _ in zip(range(3), map_blocks(outer, iter(range(3)), 2), strict=True):
            outer(10 + i)
    assert sorted(done) == [(i, j) for i in (0, 1, 2, 10, 11, 12) for j in range(4)]


def test_nothing_is_left_of_blocks_that_nobody_takes():
    done = []

    def work(part):
        time.sleep(0.05)
        done.append(part)

    with kept_threads():
        next(map_blocks(work, iter(range(100)), threads=2))
    assert len(done) <= 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_threads_are_not_kept_in_a_forked_child():
    fork = multiprocessing.get_context("fork")
    with kept_threads():
        threads_of_two_teams()
        child = fork.Process(target=threads_of_two_teams)
        child.start()
        child.join(30)
        hangs = child.is_alive()
        child.kill()
    assert not hangs
    assert child.exitcode == 0


def test_columns_are_stacked_as_numpy_does():
    columns = [np.arange(40_000, dtype=kind) for kind in (np.int32, np.int64, np.int32)]
    for threads in (1, 3):
        stacked = stack_columns(columns, threads)
        assert stacked.dtype == np.int64
        assert_array_equal(stacked, np.column_stack(columns))
    with Team(2) as team:
        filled = team.full((3, 70_000), -1, np.float32)
    assert filled.dtype == np.float32
    assert (filled == -1).all()


def noisy_runs(cells, n=50_000, R=5):
    """Labels (n, R) with about so many cells, some not assigned, and points."""
    rng = np.random.default_rng(cells)
    rows = rng.integers(-1, 9, size=(cells, R))
    of = rng.integers(cells, size=n)
    return rows[of] * 3, rows[of, :3] + rng.normal(size=(n, 3))


@pytest.mark.parametrize("cells", [40, 30_000])
@pytest.mark.parametrize("threads", [2, 5])
def test_cells_are_the_same_for_any_number_of_threads(cells, threads):
    labels, _ = noisy_runs(cells)
    one, other = (meet_runs(labels, jobs) for jobs in (1, threads))
    assert_array_equal(other.rows[other.cell_of], one.rows[one.cell_of])
    for name in ("rows", "cell_of", "counts", "sizes", "order"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    for mine, theirs in zip(one.names, other.names, strict=True):
        assert_array_equal(mine, theirs)
    # Renamed by first appearance, point by point
    codes, names = rename(labels)
    assert_array_equal(one.rows[one.cell_of], codes)
    for mine, theirs in zip(one.names, names, strict=True):
        assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("ignore:.*assigned in fewer than two runs")
@pytest.mark.parametrize("agreement", ["matching", "jaccard"])
@pytest.mark.parametrize("cells", [40, 30_000])
def test_scores_have_the_same_bits_for_any_number_of_threads(cells, agreement):
    labels, points = noisy_runs(cells)
    how = {"geometry": "rms", "agreement": agreement}
    one, *others = (confidence(points, labels, n_jobs=jobs, **how) for jobs in (1, 2, 5))
    assert len(np.unique(one.silhouette_mean)) > 10_000
    for other in others:
        for name in FIELDS:
            assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
