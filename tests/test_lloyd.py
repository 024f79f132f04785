"""k-means of our own against `KMeans` from the same starts, and against plain loops."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from clustertrust import build_ensemble
from clustertrust._parallel import Team, one_thread
from clustertrust.ensemble import lloyd, starts
from clustertrust.ensemble.placing import nearest_point
from clustertrust.kernels import _numba, _numpy

IRIS = load_iris().data
BLOBS = make_blobs(3000, 6, centers=5, cluster_std=2.5, random_state=1)[0] + 1e3
DIGITS = load_digits().data
INITS = {"kmeans": "k-means++", "kmeans-random": "random"}


def sklearn_runs(X, k, init, seeds):
    with one_thread():
        return [KMeans(k, init=init, n_init=1, random_state=seed).fit(X) for seed in seeds]


@pytest.mark.parametrize("name", INITS)
@pytest.mark.parametrize(
    "X",
    [
        IRIS,
        BLOBS,
        np.asfortranarray(BLOBS),
        BLOBS.astype(np.float32),
        1e140 * BLOBS,
        1e-100 * BLOBS,
    ],
    ids=["iris", "blobs", "fortran", "float32", "huge", "tiny"],
)
def test_runs_are_those_of_kmeans_but_for_rounding(X, name):
    seeds = [0, 3, 2**32 - 1]
    ensemble = build_ensemble(X, name, n_clusters=4, n_runs=3, random_state=seeds)
    rtol = 1e-4 if X.dtype == np.float32 else 1e-9
    for run, theirs in zip(ensemble.runs, sklearn_runs(X, 4, INITS[name], seeds), strict=True):
        assert run.iterations == theirs.n_iter_
        assert_array_equal(run.labels, theirs.labels_)
        assert_allclose(run.centers, theirs.cluster_centers_, rtol=rtol)
        assert_allclose(run.objective, theirs.inertia_, rtol=rtol)


def test_most_runs_on_data_full_of_ties_end_at_the_same_inertia():
    seeds = range(12)
    X = DIGITS[:1000]
    for name, init in INITS.items():
        runs = build_ensemble(X, name, n_clusters=10, n_runs=12, random_state=list(seeds)).runs
        theirs = np.array([one.inertia_ for one in sklearn_runs(X, 10, init, seeds)])
        ours = np.array([run.objective for run in runs])
        assert (abs(ours / theirs - 1) < 1e-5).mean() > 0.8
        assert_allclose(ours.mean(), theirs.mean(), rtol=0.005)


def test_an_estimator_is_scikit_learns_to_the_last_bit():
    X = BLOBS[:700]
    ensemble = build_ensemble(X, KMeans(4, n_init=1), n_runs=3, random_state=[1, 2, 3])
    for run, alone in zip(ensemble.runs, sklearn_runs(X, 4, "k-means++", [1, 2, 3]), strict=True):
        assert_array_equal(run.centers, alone.cluster_centers_)
        assert (run.objective, run.iterations) == (alone.inertia_, alone.n_iter_)


@pytest.mark.parametrize("name", INITS)
def test_a_run_depends_neither_on_threads_nor_on_other_runs(name):
    X = np.repeat(BLOBS, 2, axis=0)
    X += np.random.default_rng(0).normal(size=X.shape)
    settings = {"n_clusters": 7, "random_state": [4, 5, 6, 7]}
    one = build_ensemble(X, name, n_runs=4, n_jobs=1, **settings)
    for n_jobs in (2, 3):
        other = build_ensemble(X, name, n_runs=4, n_jobs=n_jobs, **settings)
        assert_array_equal(one.labels, other.labels)
        assert_array_equal(one.centers, other.centers)
    alone = build_ensemble(X, name, n_clusters=7, n_runs=2, random_state=[7, 4])
    assert_array_equal(alone.centers[0], one.centers[3])
    varied = {"vary": {"n_clusters": [7]}, "n_runs": 4, "random_state": [4, 5, 6, 7]}
    assert_array_equal(build_ensemble(X, name, **varied).centers, one.centers)


def test_labels_are_those_that_the_run_gives_to_unseen_points():
    # A grid has points as far from one centre as from another.
    X = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), -1).reshape(-1, 2)
    for run in build_ensemble(X, n_clusters=6, n_runs=8, random_state=0).runs:
        assert_array_equal(run.placer(X), run.labels)
        assert_array_equal(run.placer(X[::-1] + 0.0)[::-1], run.labels)


def test_squares_to_the_own_centre_are_plain_ones():
    X, middle, centers = BLOBS, BLOBS.mean(axis=0), BLOBS[:3] - BLOBS.mean(axis=0)
    own = np.arange(len(X), dtype=np.int32) % 3
    for kernel in (_numba, _numpy):
        out = np.zeros(len(X))
        for rows in ((0, 100), (100, len(X))):
            kernel.own_squares(X, middle, own, centers, rows, out)
        assert_allclose(out, ((X - X[own]) ** 2).sum(axis=1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("X", [IRIS, BLOBS, DIGITS, np.repeat(IRIS[:9], 30, axis=0)])
@pytest.mark.parametrize("k", [1, 2, 9, 30])
def test_starts_are_scikit_learns_points(X, k):
    X = X + 0.0
    data = starts.Starts(X, X.mean(axis=0), ((X - X.mean(axis=0)) ** 2).sum())
    with Team(2) as team:
        drawn = data.draw("k-means++", k, range(4), team)
    centred = X - X.mean(axis=0)
    theirs = [kmeans_plusplus(centred, k, random_state=seed)[1] for seed in range(4)]
    assert_array_equal(drawn, X[np.array(theirs)])
    stream, shares = np.random.RandomState(5), np.full(len(X), 1 / len(X))
    chosen = stream.choice(len(X), size=k, replace=False, p=shares)
    assert_array_equal(data.draw("random", k, [5], Team(1))[0], X[chosen])


def test_rules_that_another_version_of_scikit_learn_changes_are_not_guessed_at(monkeypatch):
    starts._same_draws.cache_clear()

    def others(X, n_clusters, *, random_state):
        return X[:n_clusters], np.arange(n_clusters)

    with monkeypatch.context() as patch:
        patch.setattr(starts, "kmeans_plusplus", others)
        data = starts.Starts(IRIS, IRIS.mean(axis=0), 1.0)
        assert_array_equal(data.draw("k-means++", 3, [0], Team(1))[0], IRIS[:3])
    starts._same_draws.cache_clear()


def test_a_draw_that_rounding_decides_is_left_to_scikit_learn(monkeypatch):
    # The corners of a square: two candidates leave the same sum.
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    asked = []

    def ask(X, n_clusters, *, random_state):
        asked.append(random_state)
        return kmeans_plusplus(X, n_clusters, random_state=random_state)

    starts._same_draws()
    monkeypatch.setattr(starts, "kmeans_plusplus", ask)
    starts.Starts(X, X.mean(axis=0), 2.0).draw("k-means++", 3, range(8), Team(1))
    assert asked


def test_an_empty_cluster_gets_the_farthest_point():
    X = np.concatenate([np.zeros((50, 1)), np.full((50, 1), 10.0), [[14.0]]])
    data = lloyd.prepare_data(X)
    start = np.array([[[0.0], [10.0], [1e6]]])
    (_, run), *_ = lloyd._Batch(data, start, Team(1), 0.0).run(300, 1e-4)
    theirs = KMeans(3, init=start[0], n_init=1).fit(X)
    assert_array_equal(run.labels, theirs.labels_)
    assert_allclose(run.centers, theirs.cluster_centers_, atol=1e-12)


@pytest.mark.parametrize("tol", [0.0, 1e-2])
@pytest.mark.parametrize("max_iter", [1, 3, 300])
def test_runs_stop_where_kmeans_does(max_iter, tol):
    varied = {"max_iter": [max_iter], "tol": [tol]}
    runs = build_ensemble(BLOBS, n_clusters=8, n_runs=3, random_state=0, vary=varied).runs
    for run in runs:
        with one_thread():
            model = KMeans(8, n_init=1, random_state=run.seed, max_iter=max_iter, tol=tol)
            model.fit(BLOBS)
        assert run.iterations == model.n_iter_
        assert_allclose(run.objective, model.inertia_, rtol=1e-9)


class Child(KMeans):
    """A class of its own may fit otherwise."""


@pytest.mark.parametrize(
    "model",
    [
        KMeans(3, n_init=2, random_state=0),
        KMeans(3, n_init="auto", init="random", random_state=0),
        KMeans(3, n_init=1, algorithm="elkan", random_state=0),
        KMeans(3, n_init=1, init=IRIS[:3], random_state=0),
        KMeans(3, n_init=1, random_state=None),
        KMeans(3, n_init=1, tol=-1.0, random_state=0),
        KMeans(0, n_init=1, random_state=0),
        KMeans(151, n_init=1, random_state=0),
        KMeans(3, n_init=1, max_iter=0, random_state=0),
        KMeans(3, n_init=1, init="other", random_state=0),
        Child(3, n_init=1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,  # not its repr, which may hold an address
)
def test_other_models_fit_themselves(model):
    assert not lloyd.prepare_data(IRIS).suits(model)


def test_empty_clusters_are_told_in_the_words_of_kmeans():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 20, axis=0)
    with pytest.warns(ConvergenceWarning, match="found fewer than the 3 clusters"):
        ensemble = build_ensemble(X, n_clusters=3, n_runs=3, random_state=0)
    assert all("distinct clusters" in run.warnings[0].message for run in ensemble.runs)


def test_prepared_data_stay_in_their_process():
    assert pickle.loads(pickle.dumps(lloyd.prepare_data(IRIS))) is None


def test_what_is_no_dense_array_of_floats_is_not_prepared():
    assert lloyd.prepare_data(IRIS.astype(int)) is None
    assert lloyd.prepare_data(IRIS.tolist()) is None


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (129, 4, 3), (300, 21, 10), (500, 3, 400)])
def test_the_nearest_centre_is_scipys(n, d, k, offset):
    rng = np.random.default_rng(n)
    X, centers = offset + rng.normal(size=(n, d)), offset + rng.normal(size=(k, d))
    assert_array_equal(nearest_point(centers, X), cdist(X, centers).argmin(axis=1))


def test_float64_decides_where_float32_cannot():
    # Nearer by less than float32 can tell, beside a centre that is far away; the first on ties.
    centers = np.array([[1e9, 0.0], [1.0 + 1e-12, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    X = np.array([[0.0, 0.0], [1e-13, 5.0], [-1e-13, 5.0], [0.9, 0.0], [6e8, 0.0]])
    assert nearest_point(centers, X).tolist() == [2, 3, 2, 3, 0]


def plain_run(X, middle, start, block):
    """Lloyd's steps point by point: every point is compared with every centre in float64."""
    k = len(start)
    centers, labels = start - middle, np.full(len(X), -1)
    sums = np.zeros(centers.shape)
    while True:
        squares, placed = np.zeros((k, len(X))), centers + middle
        for f, column in enumerate(X.T):
            squares += (column - placed[:, f, None]) ** 2
        new, old = squares.argmin(axis=0), labels
        parts = []
        for low in range(0, len(X), block):
            gained = np.zeros(centers.shape)
            for i in low + np.flatnonzero((new != old)[low : low + block]):
                gained[new[i]] += X[i] - middle
                if old[i] >= 0:
                    gained[old[i]] -= X[i] - middle
            parts.append(gained)
        sums += np.sum(parts, axis=0)
        labels, counts = new, np.bincount(new, minlength=k)
        centers = sums / counts[:, None]
        if (new == old).all():
            return labels, centers + middle


@pytest.mark.parametrize("few", [0, 4096])
@pytest.mark.parametrize("offset", [0.0, 1e7])
@pytest.mark.parametrize(("n", "d", "k"), [(1500, 3, 6), (2500, 9, 12), (1100, 1, 4)])
def test_points_that_are_not_compared_again_would_keep_their_label(
    n, d, k, offset, few, monkeypatch
):
    # In step and then run by run, or run by run from the start
    monkeypatch.setattr(lloyd, "FEW_POINTS", few)
    # To the bit: a single point with another label would move all centres after it.
    X = offset + np.random.default_rng(d).normal(size=(n, d)).round(2 if offset else 9)
    data = lloyd.prepare_data(X)
    start = data.X[np.random.default_rng(1).permutation(n)[: 3 * k].reshape(3, k)]
    for r, run in lloyd._Batch(data, start, Team(1), 0.0).run(300, 0.0):
        labels, centers = plain_run(X, data.middle, start[r], 8 * _numba.TILE)
        assert run.n_iter > 9
        assert_array_equal(run.labels, labels)
        assert_array_equal(run.centers, centers)


@pytest.mark.parametrize("step", [1, 3, 50, 127])
def test_only_points_whose_label_may_not_hold_are_compared(step):
    X = np.random.default_rng(0).normal(size=(2000, 5))
    data, centers = lloyd.prepare_data(X), X[None, :6]
    nearest = cdist(X, X[:6]).argmin(axis=1)
    # The first and last of a tile among them, with others in between or all of them.
    asked = np.unique(np.r_[256:384:step, 383, 1990:2000])
    labels, until = np.full((1, 2000), 7, dtype=np.int32), np.full((1, 2000), 2, dtype=np.float32)
    until[0, asked] = 1
    # Of eight clusters: 7 is a label that no point may keep.
    drift = np.ones((1, 8), dtype=np.float32)
    runs = (np.arange(1), *data.lay_out_centers(centers), drift)
    counts = np.zeros((2, 1, 8), dtype=int), np.zeros((2, 1), dtype=int)
    moved = (data.middle, np.zeros((2, 1, 8, 5)), *counts)
    points = (data.X, data.tiles, data.lengths)
    _numba.assign(points, runs, np.array([[0, 5], [5, 16]]), (labels, until), moved)
    expected = np.full(2000, 7)
    expected[asked] = nearest[asked]
    assert_array_equal(labels[0], expected)
    assert moved[3].sum() == asked.size
    assert (moved[3] > 0).all()


def test_kernels_equal_plain_ones():
    data, centers = lloyd.prepare_data(BLOBS), BLOBS[np.arange(15).reshape(3, 5)]
    active = np.array([0, 2])
    drift = np.ones((2, 5), dtype=np.float32)
    runs = (active, *data.lay_out_centers(centers[active]), drift)
    results = []
    for kernel in (_numba, _numpy):
        labels = np.random.default_rng(0).integers(-1, 5, size=(3, len(BLOBS))).astype(np.int32)
        sums, counts = np.zeros((3, 2, 5, 6)), np.zeros((3, 2, 5), dtype=np.int64)
        changed = np.zeros((3, 2), dtype=np.int64)
        kernel.assign(
            (data.X, data.tiles, data.lengths),
            runs,
            np.array([[2, 10], [10, 11], [11, 24]]),
            (labels, np.zeros(labels.shape, dtype=np.float32)),
            (data.middle, sums, counts, changed),
        )
        tiles, lengths = np.zeros_like(data.tiles), np.zeros_like(data.lengths)
        squares = kernel.lay_out(BLOBS, data.middle, 0.5, (2, 24), tiles, lengths)
        results.append((labels, counts, changed, sums, squares, tiles, lengths))
    for i, (ours, plain) in enumerate(zip(*results, strict=True)):
        assert_allclose(ours, plain, rtol=0 if i < 3 else 1e-6, atol=0 if i < 3 else 1e-6)


def test_steps_of_k_means_plus_plus_equal_plain_ones():
    rng = np.random.default_rng(0)
    X, middle = rng.normal(size=(300, 3)), np.full(3, 0.5)
    rows = np.zeros((8, 4))
    rows[:6, :3] = rng.normal(size=(6, 3))
    results = []
    for kernel in (_numba, _numpy):
        closest, sums = np.full((2, 300), 3.0), np.zeros((2, 3, 2))
        kernel.candidate_sums(X, middle, (rows, (rows**2).sum(axis=1) / 2), closest, (0, 3), sums)
        last = rows[[1, 4], :3]
        whole = np.array(
            [
                np.minimum(known, ((X - middle - one) ** 2).sum(axis=1))
                for known, one in zip(closest, last, strict=True)
            ]
        )
        by_tile = np.add.reduceat(whole, [0, 128, 256], axis=1)
        draws = np.array([[0.0, 0.3, 0.99], [0.2, 0.5, 1.0]]) * by_tile.sum(axis=1)[:, None]
        results.append((closest, sums, *kernel.locate(X, middle, last, closest, by_tile, draws)))
    for ours, plain in zip(*results, strict=True):
        assert_allclose(ours, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", INITS)
@pytest.mark.parametrize(
    "X",
    [
        IRIS,
        BLOBS[:900],
        BLOBS[:300].astype(np.float32),
        DIGITS[:400],
        np.repeat(IRIS[:9], 30, axis=0),
        1e6 + np.random.default_rng(0).normal(size=(900, 3)),
    ],
    ids=["iris", "blobs", "float32", "digits", "duplicates", "far from the origin"],
)
def test_runs_on_few_points_equal_those_in_step_to_the_bit(X, name, monkeypatch):
    found = {}
    # All steps together, or up to the first or a later one, or none
    for most, settled in [(0, 0), (0, 1), (0, 1 / 64), (starts.FEW_POINTS, 0)]:
        monkeypatch.setattr(starts, "FEW_POINTS", most)
        monkeypatch.setattr(lloyd, "FEW_POINTS", most)
        monkeypatch.setattr(lloyd, "_SETTLED", settled)
        for k in (1, 2, 9):
            runs = build_ensemble(X, name, n_clusters=k, n_runs=6, random_state=3, n_jobs=2).runs
            found.setdefault(k, []).append(runs)
    for in_step, *others in found.values():
        for one, *same in zip(in_step, *others, strict=True):
            for other in same:
                assert_array_equal(one.labels, other.labels)
                assert_array_equal(one.centers, other.centers)
                assert (one.objective, one.iterations) == (other.objective, other.iterations)


def test_a_run_that_empties_a_cluster_by_itself_begins_anew(monkeypatch):
    # Between far groups a centre loses its points to others in the second step or later.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(scale=0.2, size=(60, 1)) + at for at in (0, 1, 5, 9, 10)])
    data = lloyd.prepare_data(X)
    start = rng.uniform(-9, 20, size=(400, 6, 1))
    emptied, found = [], []
    finish = lloyd._Batch._finish

    def watched(self, active, *limits):
        ends = finish(self, active, *limits)
        emptied.extend(active[~ends])
        return ends

    monkeypatch.setattr(lloyd, "FEW_POINTS", 0)
    monkeypatch.setattr(lloyd._Batch, "_finish", watched)
    for settled in (0, 1):
        monkeypatch.setattr(lloyd, "_SETTLED", settled)
        found.append(dict(lloyd._Batch(data, start, Team(1), 0.0).run(300, 0.0)))
    assert emptied
    in_step, by_itself = found
    for r in range(400):
        assert (in_step[r] is None) == (by_itself[r] is None)
        if in_step[r] is not None:
            assert_array_equal(in_step[r].labels, by_itself[r].labels)
            assert_array_equal(in_step[r].centers, by_itself[r].centers)


def test_whole_runs_equal_plain_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + 4 * rng.integers(3, size=(300, 1))
    data = lloyd.prepare_data(X)
    # The last run starts with a centre that no point is near to.
    start = np.concatenate([X[rng.integers(300, size=(3, 5))], X[None, :5] + [[[1e3], *[[0]] * 4]]])
    uniform = rng.random((2, 6, 3))
    results = []
    for kernel in (_numba, _numpy):
        sums, counts = np.zeros(start.shape), np.zeros(start.shape[:2], dtype=np.int64)
        labels, steps = np.full((4, 300), -1, dtype=np.int32), np.zeros(4, dtype=np.int64)
        centers, ending = start - data.middle, np.zeros(4, dtype=bool)
        at_last = (np.full((4, 300), -1, dtype=np.float32), start.copy(), np.zeros((4, 5)))
        runs = (centers, labels, sums, counts, steps, ending, at_last)
        # Up to the middle of the runs, and on from there
        for most, chosen in [(2, [0, 1]), (5, [3, 0, 2, 1])]:
            ending[:] = False
            known = (data.middle, 1.0)
            kernel.lloyd(data.points, known, 2, (most, 1e-3), np.array(chosen), runs)
        chosen, unsure = np.full((2, 7), 11), np.zeros(2, dtype=bool)
        kernel.plus_plus(X, data.middle, data.squares, uniform, chosen, unsure)
        results.append((labels, steps, counts, chosen, unsure, sums, centers))
    for ours, plain in zip(*results, strict=True):
        assert_allclose(ours, plain, rtol=1e-9, atol=1e-9)
    assert results[0][1][3] == -1
    assert (results[0][1][:3] > 1).all()
    assert len(set(results[0][3][0])) == 7


@pytest.mark.parametrize("kernel", [_numba, _numpy])
def test_whole_starts_say_where_rounding_could_decide(kernel):
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    chosen, unsure = np.zeros((1, 2), dtype=np.int64), np.zeros(1, dtype=bool)
    # Both candidates leave the same sum.
    kernel.plus_plus(X, X.mean(axis=0), 2.0, np.array([[[0.1, 0.3]]]), chosen, unsure)
    assert unsure[0]
