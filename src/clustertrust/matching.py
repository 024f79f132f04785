"""Which cluster of one run is which cluster of another: Eqs. (4) and (5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from clustertrust._parallel import map_blocks
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.labels import check_label_vector, with_nothing
from clustertrust._validation.rows import check_same_length
from clustertrust.cells import Cells, Clusters
from clustertrust.kernels import backend

# Contingency tables held at once
_TABLE_BYTES = 2**26
# From here on threads count them.
_MANY_CELLS = 2**12


def contingency_tables(cells: Clusters, threads: int = 1) -> Iterator[tuple[int, Ints, Ints]]:
    """Yield (r, others, M) with M[t, a, b] the points in cluster a of run r and b of run others[t],
    Eq. (4).

    Each pair of runs comes once, r the smaller number. Only points assigned in both runs are
    counted.
    """
    k = cells.n_clusters

    def jobs() -> Iterator[tuple[int, Ints, int]]:
        for r in range(cells.n_runs - 1):
            widest = int(k[r + 1 :].max())
            at_once = max(1, _TABLE_BYTES // max(1, threads * 8 * int(k[r]) * widest))
            for low in range(r + 1, cells.n_runs, at_once):
                yield r, np.arange(low, min(low + at_once, cells.n_runs)), widest

    def count(job: tuple[int, Ints, int]) -> tuple[int, Ints, Ints]:
        r, others, widest = job
        return r, others, cells.contingencies(r, others, int(k[r]), widest)

    # Little work is done before other threads have started.
    many = isinstance(cells, Cells) and len(cells.counts) > _MANY_CELLS
    return map_blocks(count, jobs(), threads if many else 1)


def best_match(table: Ints) -> Ints:
    """π* = argmax Σ_a M[a, π(a)], Eq. (5): the column of each row, -1 for a row left over."""
    row, column = linear_sum_assignment(table, maximize=True)
    if len(row) == len(table):
        return np.asarray(column)
    match = np.full(len(table), -1)
    match[row] = column
    return match


def count_pairs(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Ints:
    """M[a, b] = points with a in `rows` and b in `columns`; points without either do not count."""
    both = (rows >= 0) & (columns >= 0)
    table = np.zeros(shape, dtype=np.int64)
    np.add.at(table, (rows[both], columns[both]), 1)
    return table


def tally(votes: Ints, k: int) -> Floats:
    """(m, k) how often each row of votes (m, R) has 0, 1, …, k - 1; other votes do not count."""
    counts = np.zeros((len(votes), k))
    for run in votes.T:
        voting = np.flatnonzero((run >= 0) & (run < k))
        counts[voting, run[voting]] += 1
    return counts


@dataclass(frozen=True)
class Matchings:
    """The matching of every pair of runs.

    Attributes
    ----------
    to : (R, k, R) cluster of run q matched to cluster a of run r is to[r, a, q]; -2, which is no
        label, for none
    agreement : (R, R) share of the points assigned in both runs on which the two agree; 1 on the
        diagonal
    """

    to: Ints
    agreement: Floats

    def partners(self, rows: Ints, reference: int) -> Ints:
        """(m, R) cluster of the reference matched to that of each row and run; negative: none."""
        # The last entry is for rows that are not assigned, whose label is -1.
        partners = np.pad(self.to[:, :, reference], ((0, 0), (0, 1)), constant_values=-2)
        return np.stack([partners[r][run] for r, run in enumerate(rows.T)]).T


def match_runs(cells: Clusters, threads: int = 1) -> Matchings:
    """Match each pair of runs once (Eq. 5); the inverse serves the other direction."""
    R = cells.n_runs
    to = np.full((R, int(cells.n_clusters.max(initial=1)), R), -2, dtype=np.int32)
    agreement = np.eye(R)
    for r, k in enumerate(cells.n_clusters):
        to[r, :k, r] = np.arange(k)
    for r, others, tables in contingency_tables(cells, threads):
        match, settled = backend().strict_matches(tables, cells.n_clusters[others])
        for t in np.flatnonzero(~settled):
            match[t] = best_match(tables[t, :, : cells.n_clusters[others[t]]])
        pair, a = np.nonzero(match >= 0)
        b = match[pair, a]
        to[r, a, others[pair]] = b
        to[others[pair], b, r] = a
        agreed = np.bincount(pair, weights=tables[pair, a, b], minlength=others.size)
        agreement[r, others] = agreement[others, r] = agreed / np.maximum(
            tables.sum(axis=(1, 2)), 1
        )
    return Matchings(to, agreement)


def align_labels(target: ArrayLike, source: ArrayLike) -> Array:
    """Rename the clusters of `source` to match those of `target` as well as possible, Eq. (5).

    Parameters
    ----------
    target, source : (n,) labels of the same points, of any kind
        Negative numbers and missing values mean that the point is not assigned.

    Returns
    -------
    (n,) array
        `source` in the names of `target`. Points of source clusters without a partner, and points
        that `source` does not assign, get -1 (None where the names of `target` are not numbers).

    Examples
    --------
    >>> from clustertrust import align_labels
    >>> align_labels(["a", "a", "b", "b"], [1, 1, 0, 0]).tolist()
    ['a', 'a', 'b', 'b']
    """
    into, names = check_label_vector("target", target)
    codes, source_names = check_label_vector("source", source)
    check_same_length("target", into, "source", codes)
    table = count_pairs(codes, into, (len(source_names), len(names)))
    # The last entry is for points that are not assigned.
    partner = np.append(best_match(table), -1)
    return np.asarray(with_nothing(names)[partner[codes]])
