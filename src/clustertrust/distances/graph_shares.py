"""A walk and cells → how much of a short random walk ends outside of each cluster, and how far off
the clusters are along the links.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from clustertrust._parallel import blocks, count_threads, map_blocks, memory_budget
from clustertrust._types import Floats, Ints, Result
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity, Reduce
from clustertrust.distances.links import FirstStep, Walk
from clustertrust.distances.moments import ROUNDING

# Points that paths lead to, of each cluster at least a few; fewer where there are very many points.
LANDMARKS, FEWEST_LANDMARKS, A_CLUSTER = 500, 50, 5
MOST_LENGTHS = 20_000_000
# Where no path leads, it counts as this many times the longest one.
UNREACHED = 10.0


@dataclass(frozen=True)
class Landmarks:
    """Some points, and the lengths of the shortest paths to them.

    Attributes
    ----------
    points : (M,) their positions, in order
    lengths : (n, M) from each point; infinite where no path leads
    """

    points: Ints
    lengths: Floats

    @classmethod
    def among(cls, links: sparse.csr_array, cells: Cells) -> Landmarks:
        """Draw landmarks from the members of clusters, and follow the links to all points."""
        points = _draw(cells)
        # SciPy 1.14 takes positions of 32 bits alone.
        parts = (links.data, links.indices.astype(np.int32), links.indptr.astype(np.int32))
        short = sparse.csr_array(parts, links.shape) if links.nnz < 2**31 else links
        return cls(points, np.ascontiguousarray(dijkstra(short, indices=points).T))

    @cached_property
    def far(self) -> float:
        """The length that stands for no path."""
        reached = self.lengths[np.isfinite(self.lengths)]
        return UNREACHED * float(reached.max(initial=0.0)) or 1.0

    def lengths_from(self, first: sparse.csr_array) -> Floats:
        """Return the lengths (b, M) from new points with these links (b, n) to the points."""
        out = np.full((first.shape[0], len(self.points)), np.inf)
        source = np.repeat(np.arange(first.shape[0]), np.diff(first.indptr))
        np.minimum.at(out, source, first.data[:, None] + self.lengths[first.indices])
        return out


def _draw(cells: Cells) -> Ints:
    """Return positions of points drawn at random, and of a few of each cluster of each run."""
    n = len(cells.cell_of)
    order = np.random.default_rng(0).permutation(n)
    size = min(LANDMARKS, max(FEWEST_LANDMARKS, MOST_LENGTHS // n))
    if n <= size:
        return np.arange(n)
    chosen = np.zeros(n, dtype=bool)
    chosen[order[:size]] = True
    for rows in cells.rows.T:
        label = rows[cells.cell_of[order]]
        by_label = np.argsort(label, kind="stable")
        counts = np.bincount(label[label >= 0])
        unassigned = n - int(counts.sum())
        starts = unassigned + np.cumsum(counts) - counts
        for start, count in zip(starts, counts, strict=True):
            chosen[order[by_label[start : start + min(count, A_CLUSTER)]]] = True
    return np.flatnonzero(chosen)


class Paths(Dissimilarity):
    """Mean length of the shortest paths along links to the landmarks in a cluster.

    A landmark leaves itself out. O(M n log n) for M landmarks, once for all runs.
    """

    leaves_self_out = False

    def __init__(self, cells: Cells, landmarks: Landmarks, *, n_jobs: int | None = None) -> None:
        super().__init__(cells, n_jobs)
        self.landmarks = landmarks

    def map(self, X: sparse.csr_array, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the lengths from new points, whose links (b, n) X are."""
        return self._map_lengths(self.landmarks.lengths_from(X), reduce)

    def map_training(self, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the lengths from the training points."""
        position = np.full(len(self.cells.cell_of), -1)
        position[self.landmarks.points] = np.arange(len(self.landmarks.points))
        return self._map_lengths(self.landmarks.lengths, reduce, position)

    def noise(self, X: object = None) -> Floats | float:
        """Sums are off by some ulps of the longest path."""
        return ROUNDING * self.landmarks.far

    def _map_lengths(
        self, lengths: Floats, reduce: Reduce[Result], position: Ints | None = None
    ) -> Iterator[Result]:
        """Yield reduce(points, mean lengths (K, b)); `position` is that of a landmark, else -1."""
        marks = self.landmarks
        members = self.cells.members.toarray()[self.cells.cell_of[marks.points]]

        def means(rows: slice) -> Floats:
            block = np.minimum(lengths[rows], marks.far)
            sums = block @ members
            counts = np.broadcast_to(members.sum(axis=0), sums.shape)
            if position is not None:
                own = position[rows]
                counts = counts - np.where(own[:, None] >= 0, members[own], 0.0)
            # A lone landmark has no other to go to; its silhouette is 0 in any case.
            return np.ascontiguousarray((sums / np.maximum(counts, 1.0)).T)

        return self._split(len(lengths), means, reduce, 24 * members.shape[1] + 8 * len(members))


# Chosen by argument and compared with others (experiments/research/graph): one step looks only
# at the neighbours, nearly all of which are in its own cluster; many steps leave small clusters.
N_NEIGHBORS = 15
N_STEPS = 4


@dataclass
class _BegunWalk:
    """A walk of new points whose first step is known."""

    steps: sparse.csr_array
    lengths: sparse.csr_array
    first: FirstStep

    def towards(self, X: Any) -> FirstStep:
        return self.first


def product(s: Floats, t: Floats) -> Floats:
    """S t where both are above 0, else the lower one.

    Walks see what is around a point, paths how far off the clusters are: both must be good.
    """
    return np.where((s > 0) & (t > 0), s * t, np.minimum(s, t))


class GraphShares(Dissimilarity):
    """1 - (share of the walks of `n_steps` steps from a point that end in the cluster).

    Ends at points that a run does not assign do not count. A point without a link has share 0 of
    every cluster, so its silhouette is 0. O(links · clusters · steps), once for all runs; a walk
    may come back, so the point itself counts, as it does in the space of a kernel.

    Silhouettes of shares alone are near 1 wherever no border is in sight, in data without clusters
    too. So they are multiplied by those of the mean lengths of paths to the clusters.
    """

    leaves_self_out = False

    def __init__(
        self,
        cells: Cells,
        walk: Walk,
        *,
        n_steps: int = N_STEPS,
        paths: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(cells, n_jobs)
        self.walk, self.n_steps, self.paths = walk, n_steps, paths

    def map(self, X: Any, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the dissimilarities of unseen points; all runs at once."""
        return self._map_walks(self.walk.towards(X).chances, reduce)

    def map_training(self, reduce: Reduce[Result]) -> Iterator[Result]:
        """Return the dissimilarities of the training points; all runs at once."""
        return self._map_walks(self.walk.steps, reduce)

    def noise(self, X: Any = None) -> Floats | float:
        """Shares are off by some ulps of 1."""
        return ROUNDING

    def silhouettes(
        self, own: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> tuple[Floats, Ints]:
        """Return silhouettes (n, R), Eq. (1), and the nearest other cluster (n, R).

        Some runs at a time, so that a value for each point and cluster of these fits into memory.
        """
        own = self.training_labels if own is None else own
        cells, walk, links = self.cells, self.walk, None
        if X is not None:
            walk = _BegunWalk(walk.steps, walk.lengths, walk.towards(X))
            links = walk.first.lengths
        parts = []
        for runs in self._groups():
            of_runs = Cells(cells.rows[:, runs], cells.cell_of, cells.counts, cells.names[runs])
            group = GraphShares(of_runs, walk, n_steps=self.n_steps, n_jobs=self.n_jobs)
            walks, near = super(GraphShares, group).silhouettes(own[:, runs], X, training=training)
            if self.paths:
                along = Paths(of_runs, self._landmarks, n_jobs=self.n_jobs)
                by_length, _ = along.silhouettes(own[:, runs], links, training=training)
                walks = product(walks, by_length)
            parts.append((walks, near))
        s, nearest = zip(*parts, strict=True)
        return np.hstack(s), np.hstack(nearest)

    @cached_property
    def _landmarks(self) -> Landmarks:
        return Landmarks.among(self.walk.lengths, self.cells)

    def _groups(self) -> Iterator[slice]:
        """Cut the runs into groups: a number for each point and cluster fits into the budget."""
        start, n = self.cells.start, len(self.cells.cell_of)
        most = max(1, memory_budget() // (16 * n))
        low = 0
        while low < self.cells.n_runs:
            high = int(np.searchsorted(start, start[low] + most, side="right")) - 1
            high = min(max(high, low + 1), self.cells.n_runs)
            yield slice(low, high)
            low = high

    def _map_walks(self, first: sparse.csr_array, reduce: Reduce[Result]) -> Iterator[Result]:
        """Yield reduce(points, 1 - shares (K, b)) of walks that begin with the steps `first`."""
        ends, column = self._ends()

        def means(rows: slice) -> Floats:
            shares = (first[rows] @ ends)[:, column]
            for low, high in pairwise(self.cells.start):
                part = shares[:, low:high]
                total = part.sum(axis=1, keepdims=True)
                np.divide(part, total, out=part, where=total > 0)
            return np.ascontiguousarray(np.clip(1.0 - shares.T, 0.0, 1.0))

        return self._split(first.shape[0], means, reduce, 16 * ends.shape[1])

    def _ends(self) -> tuple[Floats, Ints]:
        """Return the chance to be in a cluster after all steps but the first, and which it is.

        Runs often find the same cluster: chances (n, K') of each once, and the column of every
        cluster (K,).
        """
        members = self.cells.members.toarray()
        number_of: dict[bytes, int] = {}
        column = np.array(
            [number_of.setdefault(part.tobytes(), len(number_of)) for part in members.T],
            dtype=np.int64,
        )
        _, once = np.unique(column, return_index=True)
        ends = members[:, once][self.cells.cell_of]
        for _ in range(self.n_steps - 1):
            ends = self._step(ends)
        return ends, column

    def _step(self, ends: Floats) -> Floats:
        """Return the chances one step earlier, in blocks of rows."""
        steps, out = self.walk.steps, np.empty_like(ends)

        def work(rows: slice) -> None:
            out[rows] = steps[rows] @ ends

        each = 16 * ends.shape[1] + 32 * (steps.nnz // max(1, steps.shape[0]))
        for _ in map_blocks(work, blocks(len(ends), each), count_threads(self.n_jobs)):
            pass
        return out
