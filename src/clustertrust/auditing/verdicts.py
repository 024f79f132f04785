"""What becomes of each given cluster: kept together, split, merged with another, or dissolved.

Two sets of points are apart where there is a valley between them, points at their border that lie
less densely than those inside, or where that border is thin: fewer points lie at it than where each
set is cut in two itself. Neither asks for a shape, a number of clusters or a dimension, so that
they can tell a piece of a cluster from a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.stats import binomtest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from clustertrust._parallel import collected_warnings, one_thread
from clustertrust._types import Bools, Floats, Ints
from clustertrust.auditing.propagating import labels_of
from clustertrust.matching import tally

# Positions of points → ways to part them, labels 0 and 1
Cut = Callable[[Ints], list[Ints]]

VERDICTS = ("kept together", "split", "merged", "dissolved")
KEPT, SPLIT, MERGED, DISSOLVED = range(len(VERDICTS))
# The distance of this neighbour stands for the density, as in the self-tuning kernel
NEIGHBOURS = 7
# A valley: a point of the border is sparser than one inside of the sparser set with at least this
# probability. Cuts through one cloud give 0.5 or less, they run through the middle, and up to 0.6
# where few points are cut off.
VALLEY = 0.65
# A thin border has at most this share of the points that a cut through either set has; cuts through
# one cloud have 1.2 times as many and more, since pieces are smaller than what they were cut from.
THIN = 0.6
# Share of a cluster; less is no half of it
SMALLEST_PART = 0.1
# Points for each dimension, from which on their spread is known in all directions
ROOM = 5
# Level of the intervals
LEVEL = 0.95


@dataclass(frozen=True)
class Verdict:
    """The verdict of the runs on one given cluster.

    Attributes
    ----------
    cluster : its name
    points : how many have it
    verdict : one of `VERDICTS`
    other : name of the cluster that it is merged with; None for other verdicts
    share : of the runs with this verdict (and, of merged, this other cluster)
    low, high : Wilson's 95 % interval of that share: how far it would move with other runs
    """

    cluster: Any
    points: int
    verdict: str
    other: Any
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        verdict = self.verdict if self.other is None else f"{self.verdict} with {self.other}"
        return f"{verdict} in {self.share:.0%} of the runs ({self.low:.0%} to {self.high:.0%})"


@dataclass(frozen=True)
class Sample:
    """What one run knows of its points.

    Attributes
    ----------
    near : (n, K) the nearest drawn points of each point, -1: none
    width : (n,) distance to the last of them, small where points are dense
    labels : (n,) labels that the run propagated, -1: none
    cut : ways to cut points in two; None where there are no coordinates to do so
    """

    near: Ints
    width: Floats
    labels: Ints
    cut: Cut | None

    def of(self, members: Ints) -> Sample:
        """Return the same for some points among themselves, all with one label."""
        place = np.full(len(self.near), -1)
        place[members] = np.arange(members.size)
        near = self.near[members]
        among = np.where(near >= 0, place[near], -1)
        here = None if self.cut is None else _of_members(self.cut, members)
        return Sample(among, self.width[members], np.zeros(members.size, dtype=np.int64), here)

    def halved(self) -> Sample | None:
        """Return the same with two parts as labels, cut where the border has the fewest points.

        None if every cut leaves too few points on one side.
        """
        least = max(SMALLEST_PART * len(self.near), self.near.shape[1] + 1)
        if self.cut is None or len(self.near) < 2 * least:
            return None
        ways = [
            replace(self, labels=parts)
            for parts in self.cut(np.arange(len(self.near)))
            if np.bincount(parts, minlength=2).min() >= least
        ]
        return min(ways, key=border_size, default=None)


def _of_members(cut: Cut, members: Ints) -> Cut:
    return lambda some: cut(members[some])


def judge_run(sample: Sample, given: Ints, k: int) -> tuple[Ints, Ints]:
    """Return the verdicts (k,) of one run, and what each is merged with (k,), -1: nothing.

    `given` (n,) are the labels of the k clusters, -1: none.
    """
    verdicts, others = np.full(k, KEPT), np.full(k, -1)
    held = [(sample.labels[given == a] == a).mean() for a in range(k)]
    verdicts[np.less(held, 0.5)] = DISSOLVED
    # What is left of a dissolved cluster lies within others, and is no border of theirs.
    gone = (sample.labels >= 0) & (verdicts[sample.labels] == DISSOLVED)
    sample = replace(sample, labels=np.where(gone, -1, sample.labels))
    sees = labels_near(sample.near, sample.labels, k)
    pieces = [sample.of(np.flatnonzero(sample.labels == a)) for a in range(k)]
    halves = [piece.halved() for piece in pieces]
    inner = [np.nan if half is None else border_size(half) for half in halves]
    for a in np.flatnonzero(verdicts == KEPT).tolist():
        depths = {b: valley(sample, sees, a, b) for b in _beside(sample, sees, a)}
        open_to = [
            b for b in depths if depths[b] < VALLEY and not is_thin(sample, sees, a, b, inner)
        ]
        if _falls_in_pieces(pieces[a]):
            verdicts[a] = SPLIT
        elif open_to:
            verdicts[a], others[a] = MERGED, min(open_to, key=depths.__getitem__)
        elif _falls_in_halves(halves[a]):
            verdicts[a] = SPLIT
    return verdicts, others


def _beside(sample: Sample, sees: Bools, a: int) -> list[int]:
    """Return the clusters in which a point of a has a neighbour."""
    neighbours = np.flatnonzero(sees[sample.labels == a].any(axis=0))
    return [b for b in neighbours.tolist() if b != a]


def labels_near(near: Ints, labels: Ints, k: int) -> Bools:
    """Return (n, k) whether a neighbour of each point has each label."""
    return np.asarray(tally(labels_of(near, labels), k) > 0)


def _borders(sample: Sample, sees: Bools, a: int, b: int) -> Bools:
    """Return (n,) which points of a have a neighbour in b, or the other way round."""
    in_a, in_b = sample.labels == a, sample.labels == b
    return np.asarray((in_a & sees[:, b]) | (in_b & sees[:, a]))


def border_size(halved: Sample) -> int:
    """Return the number of points at the border of the labels 0 and 1, at least one."""
    sees = labels_near(halved.near, halved.labels, 2)
    return max(1, int(_borders(halved, sees, 0, 1).sum()))


def valley(sample: Sample, sees: Bools, a: int, b: int) -> float:
    """Return the probability that a point at the border of a and b lies sparser than one inside.

    Inside means inside the sparser of the two. It is 1 if they have no border.
    """
    edge = sample.width[_borders(sample, sees, a, b)]
    if not edge.size:
        return 1.0
    sides = []
    for one in (a, b):
        own = sample.labels == one
        alone = own & (sees.sum(axis=1) == sees[:, one])
        sides.append(sample.width[alone if alone.any() else own])
    return _probability_above(edge, max(sides, key=np.median))


def is_thin(sample: Sample, sees: Bools, a: int, b: int, inner: list[float]) -> bool:
    """Return whether far fewer points lie at the border than where a or b itself is halved.

    `inner` has the points there, NaN where a cluster has no halves.
    """
    sizes = [size for size in (inner[a], inner[b]) if not np.isnan(size)]
    return bool(sizes) and _borders(sample, sees, a, b).sum() <= THIN * min(sizes)


def _probability_above(x: Floats, y: Floats) -> float:
    """Return P(x > y) + P(x = y) / 2 for a pair drawn from both."""
    ranked = np.sort(y)
    below, up_to = (np.searchsorted(ranked, x, side=side) for side in ("left", "right"))
    return float((below + up_to).mean() / (2 * len(y)))


def _falls_in_pieces(whole: Sample) -> bool:
    """Return whether the second largest piece that no neighbour links is more than a splinter."""
    row, column = np.nonzero(whole.near >= 0)
    n, k = whole.near.shape
    links = sparse.csr_array((np.ones(row.size), (row, whole.near[row, column])), shape=(n, n))
    pieces = np.sort(np.bincount(connected_components(links, directed=False)[1]))
    return bool(pieces.size > 1 and pieces[-2] >= max(SMALLEST_PART * n, k + 1))


def _falls_in_halves(half: Sample | None) -> bool:
    """Return whether the halves have a thin border that is no denser than they are inside.

    Both are asked for, so that in doubt the given cluster stays whole.
    """
    if half is None:
        return False
    sees = labels_near(half.near, half.labels, 2)
    if valley(half, sees, 0, 1) < 0.5:
        return False
    parts = [half.of(np.flatnonzero(half.labels == part)).halved() for part in (0, 1)]
    inner = [np.nan if part is None else border_size(part) for part in parts]
    return is_thin(half, sees, 0, 1, inner)


def halves(X: Any, seed: int) -> Cut:
    """Return cuts of X in two by k-means: as points lie, and with equal spread in all directions.

    The second finds two strips side by side, which the first cuts across.
    """

    def cut(members: Ints) -> list[Ints]:
        points = X[members]
        ways = [points]
        # Copies of one point fall into no two parts, and k-means warns
        with one_thread(), collected_warnings:
            if not sparse.issparse(points) and len(points) > ROOM * points.shape[1]:
                ways.append(PCA(whiten=True, svd_solver="full").fit_transform(points))
            return [KMeans(2, n_init=1, random_state=seed).fit_predict(way) for way in ways]

    return cut


def verdicts_of(
    outcomes: Ints, partners: Ints, sizes: Ints, names: list[Any]
) -> tuple[Verdict, ...]:
    """Return the most frequent verdict on each cluster; on ties the milder.

    Merged with one cluster and merged with another are different verdicts.

    `outcomes` and `partners` are (R, k), as `judge_run` gives them.
    """
    verdicts = []
    R, k = outcomes.shape
    for a, name in enumerate(names):
        counts = np.zeros((len(VERDICTS), k + 1), dtype=np.int64)
        # The last column: with none
        np.add.at(counts, (outcomes[:, a], partners[:, a]), 1)
        verdict, other = np.unravel_index(counts.argmax(), counts.shape)
        count = int(counts.max())
        partner = names[other] if other < k else None
        limits = binomtest(count, R).proportion_ci(LEVEL, method="wilson")
        shares = (count / R, *map(float, limits))
        verdicts.append(Verdict(name, int(sizes[a]), VERDICTS[verdict], partner, *shares))
    return tuple(verdicts)
