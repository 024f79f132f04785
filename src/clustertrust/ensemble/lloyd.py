"""k-means of our own: many runs on the same data, all in one pass.

A block of points is compared with the centres of all runs while it is in the cache, by products in
float32; where their rounding could decide, float64 does, so labels depend neither on the processor
nor on the number of threads. A point is compared again only when the centres have drifted farther
than the lead of its nearest one (Hamerly, 2010), with the same result. Sums of clusters are in
float64, and only points that change move them. Starts, stopping and empty clusters are as in
`KMeans(n_init=1, random_state=seed)`; labels differ from its labels only where rounding decides.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from clustertrust._parallel import Team
from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust.distances.metrics import is_name
from clustertrust.distances.tiles import part_size, tile_parts
from clustertrust.ensemble.starts import RUNS, Starts
from clustertrust.kernels import backend

# Up to so many points each run takes all steps by itself: what it needs stays in the cache.
FEW_POINTS = 4096
# Up to so many it does once no more than this share of them changes in a step: steps are so short
# by then that threads would mostly wait for each other.
_MANY_POINTS, _SETTLED = 2**18, 1 / 64
# Bytes for what clusters gain and lose, by part of the points.
_MOVES = 2**26
# Of all norms together: beyond these they are scaled, so that squares stay within float32.
_SMALLEST, _LARGEST = 2.0**-10, 2.0**40
# Drifts are rounded up.
_UP = 1 + 1e-6
# Below this share of all squares, their difference has lost too many digits.
_CANCELLED = 1e-6


@dataclass(frozen=True, eq=False)
class Fitted:
    """One run: labels (n,), centres (k, d), sum of squared distances, steps, and its seconds."""

    labels: Ints
    centers: Floats
    inertia: float
    n_iter: int
    seconds: float


@dataclass(frozen=True, eq=False)
class PreparedData:
    """Points prepared for any number of runs of k-means, and for finding the nearest of centres.

    Attributes
    ----------
    X : (n, d) the points
    middle : (d,) what is subtracted from them: their mean, or that of the centres
    scale : power of two that they are multiplied by, in float32
    tiles, lengths : the result, laid out for the kernel, and its norms
    squares : Σ |x - middle|²
    """

    X: Array
    middle: Floats
    scale: float
    tiles: Array
    lengths: Array
    squares: float

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """Pickle as None: another process prepares the data itself, without a second copy of X."""
        return type(None), ()

    @property
    def points(self) -> tuple[Array, Array, Array]:
        """The points as kernels take them."""
        return self.X, self.tiles, self.lengths

    def suits(self, model: Any) -> bool:
        """Return whether it is k-means with valid parameters that asks for one plain start."""
        if type(model) is not KMeans or model.verbose or not is_name(model.algorithm, "lloyd"):
            return False
        once = isinstance(model.n_init, Integral) and model.n_init == 1
        if is_name(model.init, "k-means++"):
            once = once or is_name(model.n_init, "auto")
        elif not is_name(model.init, "random"):
            return False
        numbers = (model.n_clusters, model.max_iter, model.random_state)
        # An abstract class takes ten times as long to ask.
        whole = all(
            type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))
            for value in numbers
        )
        return bool(
            once
            and whole
            and isinstance(model.tol, Real)
            and float(model.tol) >= 0
            and 1 <= model.n_clusters <= len(self.X)
            and model.max_iter >= 1
            and 0 <= model.random_state < 2**32
        )

    def fit(
        self, models: Sequence[KMeans], threads: int = 1, starts: Starts | None = None
    ) -> Iterator[tuple[int, Fitted | None]]:
        """Yield the position of each model that suits, in the order in which they end, and its run.

        None in place of a run that left clusters empty: `KMeans.fit` warns of that. A run depends
        on the data and its model alone. `starts` are drawn as scikit-learn does, unless given.
        """
        alike: dict[tuple[Any, ...], list[int]] = {}
        for position, model in enumerate(models):
            settings = (model.n_clusters, model.init, model.max_iter, float(model.tol))
            alike.setdefault(settings, []).append(position)
        parts = tile_parts(len(self.tiles))
        with Team(threads if len(parts) > 1 else 1) as team:
            starts = starts or Starts(self.X, self.middle, self.squares)
            # The largest k first: starts of fewer clusters may begin as those of more.
            by_k = sorted(alike.items(), key=lambda item: -item[0][0])
            for (k, init, max_iter, tol), positions in by_k:
                size = max(1, _MOVES // (8 * len(parts) * k * self.X.shape[1]))
                for low in range(0, len(positions), size):
                    batch = positions[low : low + size]
                    began = time.perf_counter()
                    drawn = starts.draw(init, k, [models[i].random_state for i in batch], team)
                    seconds = (time.perf_counter() - began) / len(batch)
                    work = _Batch(self, drawn, team, seconds)
                    for r, run in work.run(int(max_iter), tol * self.squares / self.X.size):
                        yield batch[r], run

    def nearest(self, centers: Floats) -> Ints:
        """Return the nearest of centers (A, k, d) for each point, (A, n), the first on ties."""
        A, k, _ = centers.shape
        labels = np.full((A, len(self.X)), -1, dtype=np.int32)
        counts, changed = np.zeros((1, A, k), dtype=np.int64), np.zeros((1, A), dtype=np.int64)
        # Without the sums of their features
        moved = (self.middle, np.zeros((1, A, k, 0)), counts, changed)
        drift = np.zeros((A, k), dtype=np.float32)
        runs = (np.arange(A), *self.lay_out_centers(centers), drift)
        known = (labels, np.full(labels.shape, -1, dtype=np.float32))
        backend().assign(self.points, runs, np.array([[0, len(self.tiles)]]), known, moved)
        return labels

    def lay_out_centers(self, centers: Floats) -> tuple[Array, Array, Array, Floats]:
        """Return centres (A, k, d) as the kernel takes them, with half squares and norms."""
        A, k, d = centers.shape
        apart = self.scale * (centers - self.middle)
        squares = np.einsum("rkf,rkf->rk", apart, apart)
        rows = np.zeros((A, -(-k // 4) * 4, self.tiles.shape[1]), dtype=np.float32)
        halves, lengths = np.zeros(rows.shape[:2], np.float32), np.zeros(rows.shape[:2], np.float32)
        rows[:, :k, :d], halves[:, :k], lengths[:, :k] = apart, squares / 2, np.sqrt(squares)
        return rows, halves, lengths, np.ascontiguousarray(centers)


class _Batch:
    """Runs of the same k from given starts."""

    def __init__(self, data: PreparedData, start: Floats, team: Team, seconds: float) -> None:
        self.data, self.team = data, team
        R, k, d = start.shape
        # Where points are, and what is added up, is minus the middle.
        self.start = start - data.middle
        self.centers = self.start.copy()
        self.labels = team.full((R, len(data.X)), -1, np.int32)
        self.sums, self.counts = np.zeros((R, k, d)), np.zeros((R, k), dtype=np.int64)
        self.seconds = np.full(R, seconds)
        # Steps taken, and whether a run lacks but the labels of its last centres.
        self.steps, self.ending = np.zeros(R, dtype=np.int64), np.zeros(R, dtype=bool)
        # How far centres have drifted, and up to which drift a label is sure to hold.
        self.placed, self.drift = start.copy(), np.zeros((R, k))
        self.until = team.full(self.labels.shape, -1, np.float32)

    def run(self, max_iter: int, tol: float) -> Iterator[tuple[int, Fitted | None]]:
        """Yield each run when it ends: by Lloyd's steps, with the stopping rule of `KMeans`.

        In step at first, so that a block of points is read once for all runs; then each by itself.
        """
        active, n = np.arange(len(self.steps)), len(self.data.X)
        may_settle, settled = n <= _MANY_POINTS, n <= FEW_POINTS
        while active.size:
            began = time.perf_counter()
            if settled:
                ends = self._finish(active, max_iter, tol)
                may_settle = settled = False
            else:
                changes = self._assign(active)
                ends = self._move(active, changes > 0, max_iter, tol)
                settled = may_settle and changes.mean() <= _SETTLED * n
            self.seconds[active] += (time.perf_counter() - began) / len(active)
            for r in active[ends]:
                yield int(r), self._result(r)
            active = active[~ends]

    def _finish(self, active: Ints, max_iter: int, tol: float) -> Bools:
        """Take the steps that are left, each run by itself; return which of them are at their end.

        The others left a cluster empty, and are at their start again.
        """
        data = self.data
        known = (data.middle, data.scale)
        limits = (max_iter, tol)
        at_last = (self.until, self.placed, self.drift)
        runs = (self.centers, self.labels, self.sums, self.counts, self.steps, self.ending, at_last)
        size = part_size(len(data.tiles))

        def work(some: Ints) -> None:
            backend().lloyd(data.points, known, size, limits, some, runs)

        each = RUNS if len(data.X) <= FEW_POINTS else 1
        self.team.run(work, [active[low : low + each] for low in range(0, len(active), each)])
        empty = active[self.steps[active] < 0]
        self.centers[empty], self.placed[empty] = self.start[empty], self.start[empty] + data.middle
        self.labels[empty] = self.until[empty] = -1
        for state in (self.sums, self.counts, self.steps, self.ending, self.drift):
            state[empty] = 0
        return ~np.isin(active, empty)

    def _move(self, active: Ints, changed: Bools, max_iter: int, tol: float) -> Bools:
        """Move centres to the means of their points; return which of the runs are at their end."""
        ends = self.ending[active]
        moving, changed = active[~ends], changed[~ends]
        if moving.size:
            self.steps[moving] += 1
            centers = self._means(moving)
            shift = ((centers - self.centers[moving]) ** 2).sum(axis=(1, 2))
            self.centers[moving] = centers
            self.ending[moving] = ((shift <= tol) | (self.steps[moving] >= max_iter)) & changed
            ends[~ends] = ~changed
        return ends

    def _assign(self, active: Ints) -> Ints:
        """Label the points in the active runs, update sums, and return how many labels changed."""
        data = self.data
        placed = self.centers[active] + data.middle
        runs = (active, *data.lay_out_centers(placed), self._drifted(active, placed))
        known = (self.labels, self.until)
        parts = np.array(tile_parts(len(data.tiles)))
        shape = (len(parts), len(active), *self.centers.shape[1:])
        sums, counts = np.zeros(shape), np.zeros(shape[:3], dtype=np.int64)
        changed = np.zeros(shape[:2], dtype=np.int64)

        def work(some: slice) -> None:
            moved = (data.middle, sums[some], counts[some], changed[some])
            backend().assign(data.points, runs, parts[some], known, moved)

        self.team.run(work, self.team.shares(len(parts)))
        # Added up in order, whoever came first.
        self.sums[active] += sums.sum(axis=0)
        self.counts[active] += counts.sum(axis=0)
        return np.asarray(changed.sum(axis=0))

    def _drifted(self, active: Ints, placed: Floats) -> Array:
        """Return by how much others can have come nearer than the own centre, up to here: (A, k).

        In each step at most by how far the own centre moved, and the one of the others that moved
        most. A label holds until this exceeds the lead of the nearest centre.
        """
        steps = np.linalg.norm(self.data.scale * (placed - self.placed[active]), axis=2)
        self.placed[active] = placed
        rows, first = np.arange(len(active)), steps.argmax(axis=1)
        others = steps.copy()
        others[rows, first] = 0
        farthest = np.repeat(steps.max(axis=1, keepdims=True), steps.shape[1], axis=1)
        farthest[rows, first] = others.max(axis=1)
        self.drift[active] += _UP * (steps + farthest)
        return np.asarray(self.drift[active], dtype=np.float32)

    def _means(self, moving: Ints) -> Floats:
        """Return the means of clusters in some runs."""
        sums, counts = self.sums[moving], self.counts[moving]
        for a in np.flatnonzero((counts == 0).any(axis=1)):
            sums[a], counts[a] = self._fill_empty(moving[a], sums[a], counts[a])
        return np.asarray(sums / counts[:, :, None])

    def _fill_empty(self, r: int, sums: Floats, counts: Ints) -> tuple[Floats, Ints]:
        """Move the points farthest from their centres to the empty clusters, as `KMeans` does.

        Those that stay empty, since there are no more points apart, go to the largest cluster.
        """
        empty = np.flatnonzero(counts == 0)
        squares = self._squares(r)
        for cluster in empty if squares.max() > 0 else ():
            i = squares.argmax()
            squares[i] = -1
            x, owner = self.data.X[i] - self.data.middle, self.labels[r, i]
            sums[owner] -= x
            counts[owner] -= 1
            sums[cluster], counts[cluster] = x, 1
        largest = counts.argmax()
        lost = counts == 0
        sums[lost], counts[lost] = sums[largest], counts[largest]
        return sums, counts

    def _squares(self, r: int) -> Floats:
        """Return the squared distance of each point to the centre of its cluster in run r."""
        data, out = self.data, np.empty(len(self.data.X))
        known = (data.X, data.middle, self.labels[r], self.centers[r])

        def work(part: slice) -> None:
            backend().own_squares(*known, (part.start, min(part.stop, len(out))), out)

        self.team.run(work, self.team.shares(len(out)))
        return out

    def _result(self, r: int) -> Fitted | None:
        if not self.counts[r].all():
            return None
        centers, total = self.centers[r], self.data.squares
        lengths = (centers**2).sum(axis=1)
        inertia = total - 2 * (centers * self.sums[r]).sum() + (self.counts[r] * lengths).sum()
        if inertia < _CANCELLED * total:
            inertia = self._squares(r).sum()
        placed = centers + self.data.middle
        n_iter, seconds = int(self.steps[r]), float(self.seconds[r])
        return Fitted(self.labels[r], placed, float(inertia), n_iter, seconds)


def prepare_data(X: Any, centers: Floats | None = None, threads: int = 1) -> PreparedData | None:
    """Prepare dense data, for runs or to find the nearest of `centers`; None for other data."""
    if not isinstance(X, np.ndarray) or X.dtype not in (np.float64, np.float32):
        return None
    X = np.ascontiguousarray(X)
    n, d = X.shape
    tile = backend().TILE
    tiles = np.zeros((-(-n // tile), -(-d // 4) * 4, tile), dtype=np.float32)
    lengths = np.zeros(len(tiles) * tile, dtype=np.float32)
    parts = tile_parts(len(tiles))
    with Team(threads if len(parts) > 1 else 1) as team:

        def add_up(part: tuple[int, int]) -> Floats:
            return np.asarray(X[part[0] * tile : part[1] * tile].sum(axis=0, dtype=np.float64))

        # Added up in order, whoever came first
        middle = sum(team.map(add_up, parts)) / n if centers is None else centers.mean(axis=0)

        def lay_out(scale: float) -> float:
            def work(part: tuple[int, int]) -> float:
                return float(backend().lay_out(X, middle, scale, part, tiles, lengths))

            return sum(team.map(work, parts))

        scale, squares = 1.0, lay_out(1.0)
        size = np.sqrt(squares + (0 if centers is None else ((centers - middle) ** 2).sum()))
        if size > 0 and not _SMALLEST <= size <= _LARGEST:
            if np.isinf(size):
                size = max(np.abs(one - middle).max() for one in (X, centers) if one is not None)
                size *= d
            scale = float(2.0 ** -np.frexp(size)[1])
            lay_out(scale)
    return PreparedData(X, middle, scale, tiles, lengths, squares)
