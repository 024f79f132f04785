"""k-means on an NVIDIA GPU: all runs of an ensemble in step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clustertrust._types import Array, Floats, Ints
from clustertrust.kernels import _cupy


@dataclass(frozen=True)
class KMeansRun:
    """One run of k-means: labels (n,), centres (k, d) in float64, sum of squared distances,
    iterations.
    """

    labels: Ints
    centers: Floats
    inertia: float
    n_iter: int


class KMeansRuns:
    """k-means with k clusters, one run a seed, all runs in step on the GPU.

    Starts are k-means++ (greedy, with 2 + ⌊log k⌋ trials, as in scikit-learn) or random points.
    Lloyd's steps end where no label changes, or where the centres move by no more than `tol` times
    the mean variance of the columns. Each run depends on the data, k, the start and its seed alone.
    """

    # Parts of the points whose sums are added up in order: two for each multiprocessor of a large
    # GPU.
    PARTS = 264

    def __init__(self, X: Array, k: int, seeds: list[int], *, tol: float) -> None:
        cp = _cupy.cupy()
        self.X, self.k, self.R = X, k, len(seeds)
        self.rngs = [np.random.default_rng(seed) for seed in seeds]
        self.middle, _ = _cupy.middle_of(X)
        self.points = _cupy.lay_out(X, self.middle, None, np.dtype(np.float32))
        self.n, self.d = X.shape
        self.tol = tol * float(_cupy.on_gpu(X).var(axis=0, dtype=cp.float64).mean())
        self.labels = cp.full((self.R, self.n), -1, dtype=cp.int32)
        self.distance = cp.empty((self.R, self.n), dtype=cp.float32)
        self.module = _cupy.compiled("kmeans")

    @property
    def _size(self) -> tuple[Any, ...]:
        """What most kernels take first: the points, their number and that of their features."""
        return *self.points.arguments, np.int32(self.d)

    def _at(self, positions: Any) -> Any:
        """Coordinates of points, (…, d)."""
        cp = _cupy.cupy()
        return cp.moveaxis(self.points.x[: self.d][:, positions], 0, -1)

    def start(self, init: str) -> Any:
        """Centres (R, k, d)."""
        cp = _cupy.cupy()
        if init == "random":
            chosen = np.array([rng.choice(self.n, self.k, replace=False) for rng in self.rngs])
            return cp.ascontiguousarray(self._at(cp.asarray(chosen)))
        return self._plus_plus()

    def _plus_plus(self) -> Any:
        cp = _cupy.cupy()
        trials = 2 + int(np.log(self.k))
        first = cp.asarray(np.array([[rng.integers(self.n)] for rng in self.rngs]))
        closest = cp.full((self.R, self.n), cp.inf, dtype=cp.float32)
        closest = self._nearer(first, closest)[:, 0]
        chosen = [first[:, 0]]
        for _ in range(1, self.k):
            running = cp.cumsum(closest, axis=1, dtype=cp.float64)
            draws = np.array([rng.random(trials) for rng in self.rngs])
            draws = cp.asarray(draws) * running[:, -1:]
            drawn = cp.stack([cp.searchsorted(running[r], draws[r]) for r in range(self.R)])
            candidates = cp.minimum(drawn, self.n - 1)
            nearer = self._nearer(candidates, closest)
            best = nearer.sum(axis=2, dtype=cp.float64).argmin(axis=1)
            every = cp.arange(self.R)
            chosen.append(candidates[every, best])
            closest = nearer[every, best]
        return cp.ascontiguousarray(self._at(cp.stack(chosen, axis=1)))

    def _nearer(self, candidates: Any, closest: Any) -> Any:
        """(R, trials, n) squared distance to the nearest centre if each candidate were one."""
        cp = _cupy.cupy()
        trials = candidates.shape[1]
        out = cp.empty((self.R, trials, self.n), dtype=cp.float32)
        drawn = (cp.ascontiguousarray(candidates, dtype=cp.int64), np.int32(trials))
        arguments = (*self._size, *drawn, cp.ascontiguousarray(closest), out)
        grid = (-(-self.n // 128), self.R, trials)
        self.module.get_function("to_candidates")(grid, (128,), arguments)
        return out

    def _assign(self, centers: Any, active: Any) -> Any:
        """Labels of the nearest centres; how many changed, by run."""
        cp = _cupy.cupy()
        changed = cp.zeros(self.R, dtype=cp.uint32)
        runs = (centers, np.int32(self.k), active, self.labels, self.distance, changed)
        _cupy.function_of(self.module, "assign")(
            (-(-self.n // 128), len(active)),
            (128,),
            (*self._size, *runs),
            shared_mem=8 * self.d * 4,
        )
        return changed

    def _move(self, centers: Any, active: Any) -> tuple[Any, Any]:
        """Move the centres to the means of their points, in place.

        Sums (R, k, d + 1), and squared shifts by run.
        """
        cp = _cupy.cupy()
        per_part = max(64, -(-self.n // self.PARTS))
        parts = -(-self.n // per_part)
        batch = 64
        while batch > 1 and 4 * (self.d * (batch + 1) + batch) > _cupy.shared_limit():
            batch //= 2
        shared = 4 * (self.d * (batch + 1) + batch)
        held = cp.empty((parts, self.R, self.k, self.d + 1))
        k, d, R = np.int32(self.k), np.int32(self.d), np.int32(self.R)
        cut = (np.int64(per_part), np.int32(batch))
        _cupy.function_of(self.module, "partial_sums")(
            (parts, len(active)),
            (256,),
            (*self._size, self.labels, k, active, R, *cut, held),
            shared_mem=shared,
        )
        sums, shift = cp.zeros((self.R, self.k, self.d + 1)), cp.zeros(self.R)
        arguments = (held, np.int32(parts), k, d, active, R, centers, sums, shift)
        self.module.get_function("move_centers")((len(active),), (128,), arguments)
        return sums, shift

    def _fill_empty(self, centers: Any, sums: Any, active: Ints) -> None:
        """Give clusters without points the points that lie farthest from their centres, as
        scikit-learn does.
        """
        cp = _cupy.cupy()
        counts = cp.asnumpy(sums[:, :, self.d])
        for run in active:
            empty = np.flatnonzero(counts[run] == 0)
            if not empty.size:
                continue
            far = cp.argsort(self.distance[run])[::-1][: empty.size]
            points = cp.asnumpy(self._at(far)).astype(np.float64)
            owners = cp.asnumpy(self.labels[run][far])
            total = cp.asnumpy(sums[run])
            moved = cp.asnumpy(centers[run])
            for c, point, owner in zip(empty, points, owners, strict=True):
                total[owner, : self.d] -= point
                total[owner, self.d] -= 1
                total[c] = [*point, 1.0]
            has_points = total[:, self.d] > 0
            moved[has_points] = (total[has_points, : self.d] / total[has_points, self.d :]).astype(
                np.float32
            )
            centers[run] = cp.asarray(moved)

    def fit(self, init: str, max_iter: int) -> list[KMeansRun]:
        """All runs."""
        cp = _cupy.cupy()
        centers = self.start(init)
        active = np.arange(self.R)
        n_iter = np.zeros(self.R, dtype=np.int64)
        # Runs whose labels belong to centres that have moved since.
        stale: list[int] = []
        for _ in range(max_iter):
            on_card = cp.asarray(active, dtype=cp.int32)
            changed = self._assign(centers, on_card)
            sums, shift = self._move(centers, on_card)
            self._fill_empty(centers, sums, active)
            n_iter[active] += 1
            same = cp.asnumpy(changed)[active] == 0
            near = cp.asnumpy(shift)[active] <= self.tol
            stale += active[near & ~same].tolist()
            active = active[~(same | near)]
            if not active.size:
                break
        stale += active.tolist()
        if stale:
            self._assign(centers, cp.asarray(sorted(stale), dtype=cp.int32))
        inertia = cp.asnumpy(self.distance.sum(axis=1, dtype=cp.float64))
        moved = cp.asnumpy(centers).astype(np.float64) + self.middle
        labels = self._place(moved)
        return [
            KMeansRun(labels[:, r], moved[r], float(inertia[r]), int(n_iter[r]))
            for r in range(self.R)
        ]

    def _place(self, centers: Floats) -> Ints:
        """(n, R) labels of the nearest centres as they will place unseen points: in float64."""
        cp = _cupy.cupy()
        x = cp.ascontiguousarray(_cupy.on_gpu(self.X, cp.float64).T)
        labels = cp.empty((self.n, self.R), dtype=cp.int32)
        size = (x, np.int64(self.n), np.int64(self.n), np.int32(self.d))
        arguments = (*size, cp.asarray(centers), np.int32(self.k), labels)
        self.module.get_function("place")((-(-self.n // 128), self.R), (128,), arguments)
        on_host = np.asarray(cp.asnumpy(labels))
        _cupy.hold(on_host, labels)
        return on_host
