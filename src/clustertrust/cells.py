"""Labels of all runs → cells, the coarsest partition that refines every run.

Two points share a cell when no run separates them. Whatever reads labels alone is constant on a
cell, and every cluster of every run is a union of cells, so that most of the work is done on m
cells instead of n points; m is often far below n.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._parallel import map_blocks, run_blocks
from clustertrust._types import Floats, Ints
from clustertrust.kernels import _cupy_cells, backend

__all__ = ["Cells", "meet"]

# Labels below this are looked up in a table, larger ones by hashing.
_LARGEST_TABLE = 2**16
# Rows that one thread meets at a time, and more where there are very many.
_ROWS, _PARTS = 2**14, 32


def rename(labels: Ints) -> tuple[Ints, tuple[Ints, ...]]:
    """Rename the clusters of each run 0, 1, … by first appearance; negative labels become -1.

    Ties between optimal matchings are then settled by the partitions alone: what a run calls its
    clusters never changes a score.

    Returns
    -------
    codes : (n, R) int32
    names : one array per run, `names[r][code]` the label that was given
    """
    largest = int(labels.max(initial=-1))
    if largest < _LARGEST_TABLE:
        codes, behind, counts = backend().rename(labels, largest)
        return codes, tuple(run[:k] for run, k in zip(behind, counts, strict=True))
    codes = np.full(labels.shape, -1, dtype=np.int32)
    names = []
    for r, column in enumerate(labels.T):
        assigned = column >= 0
        codes[assigned, r], of_run = pd.factorize(column[assigned])
        names.append(of_run)
    return codes, tuple(names)


class Clusters(ABC):
    """The clusters of all R runs side by side, each known by the label that was given to it."""

    # One array per run.
    names: tuple[Ints, ...]
    # (K,) points in each cluster of each run, integers.
    sizes: Floats

    @property
    def n_runs(self) -> int:
        """R."""
        return len(self.names)

    @cached_property
    def n_clusters(self) -> Ints:
        """(R,) number of clusters in each run."""
        return np.array([len(names) for names in self.names], dtype=np.int64)

    @cached_property
    def start(self) -> Ints:
        """(R + 1,) with the clusters of all runs side by side, run r has columns start[r]:start[r +
        1].
        """
        return np.concatenate([[0], np.cumsum(self.n_clusters)])

    def encode(self, labels: Ints) -> Ints:
        """Given labels (n, R) → clusters (n, R); -1 for a label that no training point has."""
        codes = np.empty(labels.shape, dtype=np.int32)
        for r, names in enumerate(self.names):
            codes[:, r] = pd.Index(names).get_indexer(pd.Index(labels[:, r]))
        return codes

    @abstractmethod
    def contingencies(self, run: int, others: Ints, k: int, k_others: int) -> Ints:
        """Tables (len(others), k, k_others) of points by cluster of `run` and of each other run,
        Eq. (4).
        """


@dataclass(frozen=True)
class Cells(Clusters):
    """The meet of R runs on n points: m cells.

    Attributes
    ----------
    rows : (m, R) cluster of each cell in each run, -1 where it is not assigned
    cell_of : (n,) cell of each point
    counts : (m,) points in each cell
    names : one array per run, the label that was given to each cluster
    """

    rows: Ints
    cell_of: Ints
    counts: Ints
    names: tuple[Ints, ...]

    @cached_property
    def members(self) -> sparse.csr_array:
        """(m, K) indicator: which of the K clusters of all runs each cell is part of."""
        cell, run = np.nonzero(self.rows >= 0)
        column = self.start[run] + self.rows[cell, run]
        shape = len(self.rows), int(self.start[-1])
        return sparse.csr_array((np.ones(cell.size), (cell, column)), shape=shape)

    @cached_property
    def sizes(self) -> Floats:  # type: ignore[override]
        """(K,) points in each cluster of each run, integers."""
        # The first of each run are the points that it does not assign.
        by_run = [
            np.bincount(run + 1, self.counts, k + 1)[1:]
            for run, k in zip(self.rows.T, self.n_clusters, strict=True)
        ]
        return np.concatenate([np.zeros(0), *by_run])

    @cached_property
    def order(self) -> Ints:
        """(n,) the points sorted by cell, those of one cell in the order they came in."""
        # Two bytes are sorted digit by digit, in O(n).
        few = len(self.counts) <= 2**16
        return np.argsort(self.cell_of.astype(np.uint16) if few else self.cell_of, kind="stable")

    @cached_property
    def bounds(self) -> Ints:
        """(m + 1,) cell j is order[bounds[j]:bounds[j + 1]]."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def contingencies(self, run: int, others: Ints, k: int, k_others: int) -> Ints:
        """Tables (len(others), k, k_others) of points by cluster of `run` and of each other run,
        Eq. (4).
        """
        return np.asarray(backend().contingencies(self.rows, self.counts, run, others, k, k_others))

    def assigned_runs(self) -> Ints:
        """(m,) number of runs in which each cell is assigned."""
        return np.asarray((self.rows >= 0).sum(axis=1))


def meet(labels: Ints) -> Cells:
    """Return the cells of R runs: points share a cell if no run separates them. O(nR).

    Parameters
    ----------
    labels : (n, R) integers
        One column per run; negative: not assigned.

    Returns
    -------
    Cells

    Examples
    --------
    >>> import numpy as np
    >>> from clustertrust.cells import meet
    >>> cells = meet(np.array([[0, 5], [0, 5], [0, 7], [1, 7]]))
    >>> cells.cell_of.tolist(), cells.counts.tolist()
    ([0, 0, 1, 2], [2, 1, 1])
    """
    return meet_runs(labels, 1)


def meet_runs(labels: Ints, threads: int) -> Cells:
    """Return the same by several threads: the same cells for any number of them."""
    cell_of, first = meet_rows(labels, threads)
    # Cells count up by first appearance, so clusters appear first in the same order among them.
    rows, names = rename(labels[first])
    counts = np.bincount(cell_of, minlength=first.size)
    return Cells(rows=rows, cell_of=cell_of, counts=counts, names=names)


def meet_rows(labels: Ints, threads: int) -> tuple[Ints, Ints]:
    """Return the cell of each row of labels (n, R), and the first row of each cell.

    Threads meet parts of the rows, whose cells are then met in the order of the parts: cells count
    up by first appearance, as in one go.
    """
    n = len(labels)
    size = max(_ROWS, -(-n // _PARTS))
    if threads == 1 or n <= size:
        of, first = backend().meet(labels)
        return of, first
    parts = [slice(low, min(low + size, n)) for low in range(0, n, size)]
    found = list(map_blocks(lambda part: backend().meet(labels[part]), iter(parts), threads))
    firsts = np.concatenate(
        [part.start + first for part, (_, first) in zip(parts, found, strict=True)]
    )
    above, first = backend().meet(labels[firsts])
    ends = np.cumsum([0, *(len(first) for _, first in found)])
    cell_of = np.empty(n, dtype=np.int64)

    def write(i: int) -> None:
        np.take(above[ends[i] : ends[i + 1]], found[i][0], out=cell_of[parts[i]])

    run_blocks(write, range(len(parts)), threads)
    return cell_of, firsts[first]


def meet_on_gpu(labels: Ints) -> Cells:
    """Return the same cells, found on the GPU."""
    found = _cupy_cells.meet(labels)
    if found is None:
        return meet(labels)
    cell_of, first = found
    # Cells count up by first appearance, so clusters appear first in the same order among them.
    rows, names = rename(labels[first])
    return Cells(rows, cell_of, np.bincount(cell_of, minlength=first.size), names)
