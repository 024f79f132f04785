"""Links and cells → mean length of the shortest paths from each point to each cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from clustertrust._types import Floats, Ints, Result
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity, Reduce
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
