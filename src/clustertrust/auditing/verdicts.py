"""What becomes of each given cluster: kept together, split, merged with another, or dissolved.

Two sets of points are apart where there is a valley between them, points at their border that lie
less densely than those inside, or where that border is thin: fewer points lie at it than where each
set is cut in two itself. Neither asks for a shape, a number of clusters or a dimension, so that
they can tell a piece of a cluster from a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.stats import binomtest

from clustertrust._types import Bools, Floats, Ints
from clustertrust.auditing.cuts import Cut
from clustertrust.auditing.given import FEWEST
from clustertrust.auditing.lines import probability_above
from clustertrust.auditing.propagating import labels_of

VERDICTS = ("kept together", "split", "merged", "dissolved", "unclear")
KEPT, SPLIT, MERGED, DISSOLVED, UNCLEAR = range(len(VERDICTS))
# The distance of this neighbour stands for the density, as in the self-tuning kernel
NEIGHBOURS = 7
# A valley: a point of the border is sparser than one inside of the sparser set with at least this
# probability. Cuts through one cloud give 0.5 or less, they run through the middle, and up to 0.6
# where few points are cut off.
VALLEY = 0.65
# A thin border has at most this share of the points that a cut through either set has; cuts through
# one cloud have 1.2 times as many and more, since pieces are smaller than what they were cut from.
THIN = 0.6
# Share of a cluster; less is no half of it, and what it is merged with has at least as many points
SMALLEST_PART = 0.1
# A classifier sees more than chance in a cluster if the probability that one of its points ranks
# higher is so many standard errors from that of labels at random, above or below. Below is no
# chance either: points between those of other clusters.
FROM_CHANCE = 2
# The same for two clusters, by the best of several lines and a classifier
ABOVE_CHANCE = 4
# Share of the runs that a verdict needs; below it is unclear
MAJORITY = 0.5
# Level of the intervals
LEVEL = 0.95


@dataclass(frozen=True)
class Verdict:
    """The verdict of the runs on one given cluster.

    Attributes
    ----------
    cluster : its name
    points : how many have it
    verdict : one of `VERDICTS`; "unclear" if fewer than half of the runs share one, of a cluster
        with fewer than three points, or if runs dissolve a cluster in which the classifier sees
        more than chance, or merge two that merely overlap
    other : name of the cluster that it is merged with; None for other verdicts
    share : of the runs with this verdict (and, of merged, this other cluster); of unclear, with
        the most frequent one
    low, high : Wilson's 95 % interval of that share: how much it would change with other runs
    """

    cluster: Any
    points: int
    verdict: str
    other: Any
    share: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.verdict == VERDICTS[UNCLEAR]:
            return self.verdict
        verdict = self.verdict if self.other is None else f"{self.verdict} with {self.other}"
        if verdict == VERDICTS[SPLIT]:
            # Not an error of the label: the parts of a class may well lie apart.
            verdict = "in parts that lie apart, perhaps subgroups,"
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

    def pieces(self, k: int) -> list[Sample]:
        """Return the points of each of the labels 0 to k - 1 among themselves, all with one label.

        O(n) for all of them.
        """
        members = members_of(self.labels, k)
        place = np.full(len(self.near), -1)
        for points in members:
            place[points] = np.arange(points.size)
        # Links within a label
        same = (self.near >= 0) & (self.labels[self.near] == self.labels[:, None])
        among = np.where(same, place[self.near], -1)
        return [
            Sample(
                among[points],
                self.width[points],
                np.zeros(points.size, dtype=np.int64),
                None if self.cut is None else _of_members(self.cut, points),
            )
            for points in members
        ]

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


def members_of(labels: Ints, k: int) -> list[Ints]:
    """Return the positions of the points of each label from 0 to k - 1, rising. O(n log n)."""
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(k + 1))
    return [order[low:high] for low, high in pairwise(starts.tolist())]


@dataclass(frozen=True)
class Borders:
    """Where the points of each label meet those of others.

    Attributes
    ----------
    edges : widths of the points of a that have a neighbour in b, by (a, b); only where there are
    inside : for each label the widths of its points that have no neighbour with another label,
        rising; of all its points if there are none
    """

    edges: Mapping[tuple[int, int], Floats]
    inside: Sequence[Floats]

    @classmethod
    def between(cls, sample: Sample, k: int) -> Borders:
        """Find the borders of the labels 0 to k - 1. O(n K log n) for all pairs at once."""
        beside = _others_near(sample)
        point, rank = np.nonzero(beside >= 0)
        # Each point once for each label beside it, grouped by both labels
        point, other = np.divmod(np.unique(point * k + beside[point, rank]), k)
        pair = sample.labels[point] * k + other
        order = np.argsort(pair, kind="stable")
        pairs, starts = np.unique(pair[order], return_index=True)
        widths = sample.width[point[order]]
        alone: Bools = np.asarray((beside < 0).all(axis=1))
        inside = []
        for points in members_of(sample.labels, k):
            inner = points[alone[points]]
            inside.append(np.sort(sample.width[inner if inner.size else points]))
        limits = pairwise([*starts.tolist(), widths.size])
        edges = {
            divmod(number, k): widths[low:high]
            for number, (low, high) in zip(pairs.tolist(), limits, strict=True)
        }
        return cls(edges, inside)

    def beside(self) -> dict[int, list[int]]:
        """Return, for each label, those in which one of its points has a neighbour, rising."""
        found: dict[int, list[int]] = {}
        for a, b in self.edges:
            found.setdefault(a, []).append(b)
        return found

    def of(self, a: int, b: int) -> Floats:
        """Return the widths of the points of a that have a neighbour in b, and the other way."""
        none = np.empty(0)
        return np.concatenate([self.edges.get((a, b), none), self.edges.get((b, a), none)])

    def valley(self, a: int, b: int) -> float:
        """Return the probability that a point at the border of a and b is sparser than one inside.

        Inside means inside the sparser of the two. It is 1 if they have no border.
        """
        edge = self.of(a, b)
        if not edge.size:
            return 1.0
        return probability_above(edge, max((self.inside[a], self.inside[b]), key=_median))

    def is_thin(self, a: int, b: int, inner: Sequence[float]) -> bool:
        """Return whether far fewer points lie at the border than where a or b itself is halved.

        `inner` has the points there, NaN where a cluster has no halves.
        """
        sizes = [size for size in (inner[a], inner[b]) if not np.isnan(size)]
        return bool(sizes) and self.of(a, b).size <= THIN * min(sizes)


def _others_near(sample: Sample) -> Ints:
    """Return the labels (n, K) of neighbours that differ from the point's own; -1 for all else."""
    of = labels_of(sample.near, sample.labels)
    own = sample.labels[:, None]
    return np.where((own >= 0) & (of != own), of, -1)


def border_size(halved: Sample) -> int:
    """Return the number of points that have a neighbour with another label, at least one."""
    return max(1, int((_others_near(halved) >= 0).any(axis=1).sum()))


def judge_run(sample: Sample, given: Ints, k: int) -> tuple[Ints, Ints]:
    """Return the verdicts (k,) of one run, and what each is merged with (k,), -1: nothing.

    `given` (n,) are the labels of the k clusters, -1: none.
    """
    verdicts, others = np.full(k, KEPT), np.full(k, -1)
    has = given >= 0
    kept = np.bincount(given[has & (sample.labels == given)], minlength=k)
    verdicts[kept < 0.5 * np.bincount(given[has], minlength=k)] = DISSOLVED
    absorbed = _absorbed(sample.labels, given, k)
    swallowed = (verdicts == DISSOLVED) & (absorbed >= 0)
    verdicts[swallowed], others[swallowed] = MERGED, absorbed[swallowed]
    # What is left of a dissolved cluster lies within others, and is no border of theirs.
    gone = (sample.labels >= 0) & (verdicts[sample.labels] != KEPT)
    sample = replace(sample, labels=np.where(gone, -1, sample.labels))
    borders = Borders.between(sample, k)
    halves = [piece.halved() for piece in sample.pieces(k)]
    inner = [np.nan if half is None else border_size(half) for half in halves]
    in_pieces, beside = _fall_in_pieces(sample, k), borders.beside()
    sizes = np.bincount(sample.labels[sample.labels >= 0], minlength=k)
    for a in np.flatnonzero(verdicts == KEPT).tolist():
        # Not with mere splinters: there may be many, and any would hide what else there is.
        near = [b for b in beside.get(a, ()) if sizes[b] >= SMALLEST_PART * sizes[a]]
        depths = {b: borders.valley(a, b) for b in near}
        open_to = [b for b in depths if depths[b] < VALLEY and not borders.is_thin(a, b, inner)]
        if in_pieces[a]:
            verdicts[a] = SPLIT
        elif open_to:
            verdicts[a], others[a] = MERGED, min(open_to, key=depths.__getitem__)
        elif _falls_in_halves(halves[a]):
            verdicts[a] = SPLIT
    return verdicts, others


def _absorbed(labels: Ints, given: Ints, k: int) -> Ints:
    """Return for each given cluster the other that takes nearly all of its points (k,), -1: none.

    Nearly all: a share above (1 + s) / 2, where s is the other's share of all points, so that
    points at random are absorbed by none.
    """
    both = (labels >= 0) & (given >= 0)
    table = np.zeros((k, k))
    np.add.at(table, (given[both], labels[both]), 1.0)
    of_all = table.sum(axis=0) / max(1.0, table.sum())
    shares = table / np.maximum(table.sum(axis=1, keepdims=True), 1.0)
    np.fill_diagonal(shares, 0.0)
    most = shares.argmax(axis=1)
    return np.where(shares.max(axis=1) > (1 + of_all[most]) / 2, most, -1)


def _median(rising: Floats) -> float:
    """Return the median of values that rise."""
    return float(rising[(len(rising) - 1) // 2] + rising[len(rising) // 2]) / 2


def _fall_in_pieces(sample: Sample, k: int) -> Bools:
    """Return (k,) whether the second largest piece without a link is more than a splinter."""
    n, depth = sample.near.shape
    of = labels_of(sample.near, sample.labels)
    row, column = np.nonzero((of >= 0) & (of == sample.labels[:, None]))
    links = sparse.csr_array(
        (np.ones(row.size, dtype=bool), (row, sample.near[row, column])), shape=(n, n)
    )
    piece_of = connected_components(links, directed=False)[1]
    has = sample.labels >= 0
    pieces, sizes = np.unique(piece_of[has] * k + sample.labels[has], return_counts=True)
    result = np.zeros(k, dtype=bool)
    for a, members in enumerate(members_of(pieces % k, k)):
        second = np.sort(sizes[members])[-2:]
        least = max(SMALLEST_PART * sizes[members].sum(), depth + 1)
        result[a] = second.size > 1 and second[0] >= least
    return result


def _falls_in_halves(half: Sample | None) -> bool:
    """Return whether the halves have a thin border that is no denser than they are inside.

    Both are asked for, so that in doubt the given cluster stays whole.
    """
    if half is None:
        return False
    borders = Borders.between(half, 2)
    if borders.valley(0, 1) < 0.5:
        return False
    parts = [piece.halved() for piece in half.pieces(2)]
    inner = [np.nan if part is None else border_size(part) for part in parts]
    return borders.is_thin(0, 1, inner)


def verdicts_of(
    outcomes: Ints, partners: Ints, sizes: Ints, names: list[Any], known: Bools | None = None
) -> tuple[Verdict, ...]:
    """Return the verdict on each cluster that most runs share; on ties the milder.

    `outcomes` and `partners` are (R, k), as `judge_run` gives them. Merged with one cluster and
    merged with another are different verdicts. It is unclear if fewer than half of the runs share
    one, if a cluster is dissolved that is `known` (k,) to a classifier, or has one or two points,
    of which nothing can be said.
    """
    verdicts = []
    R, k = outcomes.shape
    for a in range(k):
        counts = np.zeros((len(VERDICTS), k + 1), dtype=np.int64)
        # The last column: with none
        np.add.at(counts, (outcomes[:, a], partners[:, a]), 1)
        verdict, other = divmod(int(counts.argmax()), k + 1)
        count = int(counts.max())
        is_known = verdict == DISSOLVED and known is not None and known[a]
        if count < MAJORITY * R or is_known or sizes[a] < FEWEST:
            verdict, other = UNCLEAR, k
        limits = binomtest(count, R).proportion_ci(LEVEL, method="wilson")
        shares = (count / R, *map(float, limits))
        partner = names[other] if other < k else None
        verdicts.append(Verdict(names[a], int(sizes[a]), VERDICTS[verdict], partner, *shares))
    return tuple(verdicts)


def recognised(probabilities: Floats, labels: Ints) -> Bools:
    """Return (k,) whether a classifier sees more in the points of each label than chance.

    It does if the probability that a point of the label has a higher probability of it than one of
    the others is more than two standard errors from 0.5: a test at a level of 5 %.
    """
    has = labels >= 0
    result = np.zeros(probabilities.shape[1], dtype=bool)
    for a in range(len(result)):
        own, others = (probabilities[has & of, a] for of in (labels == a, labels != a))
        auroc = probability_above(own, np.sort(others))
        result[a] = abs(auroc - 0.5) > FROM_CHANCE * error_by_chance(own.size, others.size)
    return result


def error_by_chance(n: int, m: int) -> float:
    """Return the standard error of the AUROC of n and m points with labels at random.

    That of the test of Mann and Whitney.
    """
    return float(np.sqrt((n + m + 1) / (12 * n * m)))
