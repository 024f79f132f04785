"""Blocks of rows → sizes, means and spreads of clusters, and contingencies, for scoring.

Everything is a sum over blocks, so data larger than memory, or on many machines, need one pass. The
memory grows with the runs and clusters, not with the points.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from sklearn.utils.extmath import row_norms

from clustertrust._dask import open_client, results
from clustertrust._types import Array, Floats, Ints
from clustertrust.cells import Cells, Clusters, meet
from clustertrust.distances.moments import ROUNDING, cluster_moments
from clustertrust.records import Record


@dataclass(frozen=True)
class Totals(Clusters, Record):
    """Sums over some points.

    Attributes
    ----------
    names : one array per run, the labels of its clusters by first appearance
    sizes : (K,) points in each cluster
    means : (K, d) of each cluster
    squares : (K,) sum of squared distances of the members of each cluster to its mean
    tables : (R, R, k, k) points by cluster of one run and of another, Eq. (4)
    """

    names: tuple[Annotated[Ints, "i k"], ...]
    sizes: Annotated[Floats, "f! K"]
    means: Annotated[Floats, "f! K d"]
    squares: Annotated[Floats, "f! K"]
    tables: Annotated[Ints, "i R R k k"]

    def _from_stored(self) -> Totals:
        """Return it; raise if its sums are not those of its clusters."""
        lengths = [len(np.unique(names[names >= 0])) for names in self.names]
        R, widest = len(lengths), max([1, *map(len, self.names)])
        fits = self.tables.shape == (R, R, widest, widest) and self.tables.min(initial=0) >= 0
        if not fits or sum(lengths) != len(self.sizes) or lengths != [*map(len, self.names)]:
            raise ValueError("its totals are not those of its clusters")
        return self

    def contingencies(self, run: int, others: Ints, k: int, k_others: int) -> Ints:
        """Tables (len(others), k, k_others) of points by cluster of `run` and of each other run,
        Eq. (4).
        """
        return np.ascontiguousarray(self.tables[run, others, :k, :k_others])

    @property
    def variances(self) -> Floats:
        """(K,) mean squared distance of the members to the mean; 0 where only rounding is left."""
        variances = self.squares / self.sizes
        return np.where(
            variances > ROUNDING**2 * row_norms(self.means, squared=True), variances, 0.0
        )

    def __add__(self, other: Totals) -> Totals:
        """Return the sums over both, this one's clusters first, by Chan's formula."""
        names = tuple(
            _united(mine, theirs) for mine, theirs in zip(self.names, other.names, strict=True)
        )
        one, two = self._among(names), other._among(names)
        sizes = one.sizes + two.sizes
        shift = (two.means - one.means) * (two.sizes / sizes)[:, None]
        apart = ((two.means - one.means) ** 2).sum(axis=1) * (one.sizes * two.sizes / sizes)
        return Totals(
            names=names,
            sizes=sizes,
            means=one.means + shift,
            squares=one.squares + two.squares + apart,
            tables=one.tables + two.tables,
        )

    def _among(self, names: tuple[Ints, ...]) -> Totals:
        """The same sums with these clusters, of which some may have no point here."""
        if all(
            np.array_equal(mine, theirs) for mine, theirs in zip(self.names, names, strict=True)
        ):
            return self
        places = [
            pd.Index(theirs).get_indexer(pd.Index(mine))
            for mine, theirs in zip(self.names, names, strict=True)
        ]
        start = np.concatenate([[0], np.cumsum([len(theirs) for theirs in names])])
        columns = np.concatenate([low + i for low, i in zip(start[:-1], places, strict=True)])
        widest = max(len(theirs) for theirs in names)
        sizes, squares = np.zeros(start[-1]), np.zeros(start[-1])
        means = np.zeros((start[-1], self.means.shape[1]))
        sizes[columns], squares[columns], means[columns] = self.sizes, self.squares, self.means
        tables = np.zeros((len(names), len(names), widest, widest), dtype=np.int64)
        for r, rows in enumerate(places):
            for q, cols in enumerate(places):
                tables[r, q][np.ix_(rows, cols)] = self.tables[r, q, : len(rows), : len(cols)]
        return Totals(names, sizes, means, squares, tables)


def _united(mine: Ints, theirs: Ints) -> Ints:
    return np.concatenate([mine, theirs[~np.isin(theirs, mine)]])


def total(X: Array, labels: Ints) -> Totals:
    """Return the sums over one block of points with labels (b, R)."""
    cells = meet(labels)
    means, variances = cluster_moments(X, cells)
    return Totals(
        names=cells.names,
        sizes=cells.sizes,
        means=means,
        squares=variances * cells.sizes,
        tables=_tables(cells),
    )


def _tables(cells: Cells) -> Ints:
    R, widest = cells.n_runs, int(cells.n_clusters.max(initial=1))
    tables = np.zeros((R, R, widest, widest), dtype=np.int64)
    for r in range(R):
        others = np.arange(r, R)
        k = int(cells.n_clusters[r])
        tables[r, r:, :k] = cells.contingencies(r, others, k, widest)
        tables[r:, r] = tables[r, r:].transpose(0, 2, 1)
    return tables


def sum_in_pairs(parts: Iterable[Totals]) -> Totals:
    """Add neighbours, then neighbouring sums, and so on, holding one sum of each size.

    The order of additions follows from the number of parts alone, so that machines that share the
    work round alike.
    """
    # How many parts, and their sum; the sizes fall.
    sums: list[tuple[int, Totals]] = []
    for part in parts:
        sums.append((1, part))
        while len(sums) > 1 and sums[-1][0] == sums[-2][0]:
            count, last = sums.pop()
            sums[-1] = (2 * count, sums[-1][1] + last)
    while len(sums) > 1:
        count, last = sums.pop()
        sums[-1] = (sums[-1][0] + count, sums[-1][1] + last)
    return sums[0][1]


def total_of_labels(labels: Any) -> Totals:
    """Sizes and contingencies of the clusters of labels (n, R) in a Dask array, in one pass."""
    delayed = importlib.import_module("dask").delayed
    parts = labels.rechunk({1: -1}).to_delayed()[:, 0]
    added: Totals = next(results(open_client(), [sum_in_pairs(map(delayed(_count), parts))]))
    return added


def _count(labels: Array) -> Totals:
    return total(np.empty((len(labels), 0)), labels)
