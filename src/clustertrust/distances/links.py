"""Points, distances or weights → a random walk on links between neighbours, and their lengths.

A link between i and j has the weight exp(-d² / (σ_i σ_j)) of the self-tuning kernel, where σ is the
distance to a point's 7th neighbour. A step takes a link in proportion to its weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from clustertrust._parallel import blocks
from clustertrust._types import Floats, Ints
from clustertrust.distances.metrics import EUCLIDEAN, Metric
from clustertrust.distances.neighbors import SCALE_NEIGHBOR, Neighbors, drop_self
from clustertrust.distances.precomputed import check_entries

# Of the exponent of a weight, so that lengths of paths keep their digits.
STEEPEST = 20.0


class FirstStep(NamedTuple):
    """Links of new points to the training points, (b, n).

    Attributes
    ----------
    chances : of each step; a row has the sum 1, or no entry if there is no link
    lengths : of the links
    """

    chances: sparse.csr_array
    lengths: sparse.csr_array


class Walk(Protocol):
    """A random walk on the training points.

    `steps` (n, n) is the chance of each step. A row has the sum 1, or no entry if there is no link.
    `lengths` (n, n) are those of the links.
    """

    steps: sparse.csr_array
    lengths: sparse.csr_array

    def towards(self, X: Any) -> FirstStep:
        """Return the links of new points."""


class NearestWalk:
    """The walk on links between each point and its k nearest, by a metric. O(n² d) to find them.

    With the metric "precomputed", X (n, n) are distances, and new points are rows of these.
    """

    def __init__(
        self,
        X: Any,
        k: int,
        *,
        metric: Metric = EUCLIDEAN,
        n_jobs: int | None = None,
    ) -> None:
        n = X.shape[0]
        self.k, self._points, self._metric = k, X, metric
        self._tree = Neighbors(X, n_jobs) if metric.is_euclidean else None
        links = _to_nearest(*drop_self(*self._nearest(X, min(k, n - 1) + 1)), n)
        self._scales = _Scales.of_links(links)
        self.steps, self.lengths = self._scales.step(links.both_ways(np.minimum), own=True)

    def towards(self, X: Any) -> FirstStep:
        """Return the links of new points: to their k nearest."""
        n = self.steps.shape[0]
        links = _to_nearest(*self._nearest(X, min(self.k, n)), n)
        return self._scales.step(links, own=False)

    def _nearest(self, X: Any, k: int) -> tuple[Floats, Ints]:
        """Return the distances to the k nearest training points and their positions: (b, k)."""
        if self._tree is not None:
            return self._tree.nearest(X, k)
        if self._metric.is_precomputed:
            _check_rows(X)
        return self._metric.nearest(X, self._points, k)


class DistanceWalk:
    """The walk on the stored entries of a sparse graph (n, n): distances to neighbours."""

    def __init__(self, X: Any) -> None:
        links = _stored(X, "distance", own=True).both_ways(np.minimum)
        self._scales = _Scales.of_links(links)
        self.steps, self.lengths = self._scales.step(links, own=True)

    def towards(self, X: Any) -> FirstStep:
        """Return the links of new points, rows of distances (b, n)."""
        return self._scales.step(_stored(X, "distance", own=False), own=False)


class WeightWalk:
    """The walk on given weights (n, n), such as connectivities; entries of 0 are no links.

    A link is as long as the inverse of its weight: as resistances are, where weights conduct.
    """

    def __init__(self, X: Any) -> None:
        links = _stored(X, "weight", own=True).both_ways(np.maximum)
        self.steps, self.lengths = _in_proportion(links), _resistances(links)

    def towards(self, X: Any) -> FirstStep:
        """Return the links of new points, rows of weights (b, n)."""
        links = _stored(X, "weight", own=False)
        return FirstStep(_in_proportion(links), _resistances(links))


def as_distances(X: Any) -> sparse.csr_array:
    """Return weights w (n, n) as distances √(-log w) along the same links, both ways.

    Weights are first divided by the largest, so that exp(-d²) gives them back but for a factor.
    """
    links = _stored(X, "weight", own=True).both_ways(np.maximum)
    there = links.values > 0
    values = links.values[there]
    away = np.sqrt(-np.log(values / values.max())) if values.size else values
    return sparse.csr_array((away, (links.source[there], links.target[there])), shape=X.shape)


def nearest_linked(X: Any, among: Ints, k: int, *, weights: bool) -> tuple[Floats, Ints]:
    """Return the distances to the k nearest linked points at positions `among`, and these: (n, k).

    X (n, n) holds distances, or `weights`, of which √(-log) is the distance, 0 for the largest.
    Infinite and -1 where there are no more.
    """
    links = _stored(as_distances(X) if weights else X, "distance", own=True).both_ways(np.minimum)
    wanted = np.zeros(X.shape[0], dtype=bool)
    wanted[among] = True
    keep = wanted[links.target]
    source, target, away = links.source[keep], links.target[keep], links.values[keep]
    order = np.lexsort((target, away, source))
    counts = np.bincount(source, minlength=X.shape[0])
    rank = np.arange(source.size) - np.repeat(np.cumsum(counts) - counts, counts)
    first = rank < k
    place = source[order][first], rank[first]
    distances, near = np.full((X.shape[0], k), np.inf), np.full((X.shape[0], k), -1)
    distances[place], near[place] = away[order][first], target[order][first]
    return distances, near


@dataclass(frozen=True)
class _Links:
    """Links from `shape[0]` points to `shape[1]` others, each once.

    Attributes
    ----------
    source, target : (L,) positions
    values : (L,) distances, or weights
    """

    source: Ints
    target: Ints
    values: Floats
    shape: tuple[int, int]

    def both_ways(self, keep: Any) -> _Links:
        """Return them in both directions; where two join the same points, `keep` of the values."""
        source = np.concatenate([self.source, self.target])
        target = np.concatenate([self.target, self.source])
        values = np.concatenate([self.values, self.values])
        pair = source * self.shape[1] + target
        order = np.argsort(pair, kind="stable")
        first = np.flatnonzero(np.diff(pair[order], prepend=-1))
        one_each = order[first]
        kept = keep.reduceat(values[order], first) if one_each.size else values
        return _Links(source[one_each], target[one_each], kept, self.shape)


def _to_nearest(away: Floats, near: Ints, n: int) -> _Links:
    """Return links from each row to its neighbours `near` (b, k), at distances `away`."""
    b, k = near.shape
    source = np.repeat(np.arange(b), k)
    return _Links(source, near.ravel(), np.asarray(away.ravel(), dtype=np.float64), (b, n))


def _stored(X: Any, what: str, *, own: bool) -> _Links:
    """Return the stored entries of a matrix, a stored 0 too; `own`: leave the diagonal out."""
    entries = sparse.coo_array(X)
    entries.sum_duplicates()
    source, target = (part.astype(np.int64) for part in entries.coords)
    values = np.asarray(entries.data, dtype=np.float64)
    keep = source != target if own else slice(None)
    _check_stored(source, target, values, what)
    return _Links(source[keep], target[keep], values[keep], X.shape)


def _check_stored(source: Ints, target: Ints, values: Floats, what: str) -> None:
    """Raise for the first stored value that is not finite, or below 0."""
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        first = bad[0]
        raise ValueError(
            f"X[{source[first]}, {target[first]}] = {values[first]} is not a valid {what}; "
            f"{what}s are finite and not negative."
        )


def _check_rows(X: Any) -> None:
    """Raise for the first distance of a dense matrix that is not finite, or below 0."""
    for rows in blocks(X.shape[0], 24 * X.shape[1]):
        block = np.asarray(X[rows])
        check_entries(
            block,
            rows.start,
            np.isfinite(block) & (block >= 0),
            "distance; distances are finite and not negative",
        )


@dataclass(frozen=True)
class _Scales:
    """The scales of the training points: (n,), and the smallest that a point may have."""

    scale: Floats
    floor: float

    @classmethod
    def of_links(cls, links: _Links) -> _Scales:
        """Distance to the 7th neighbour, or to the last where there are fewer."""
        scale = _to_seventh(links)
        positive = scale[scale > 0] if scale.any() else links.values[links.values > 0]
        # If no two points differ, every link has weight 1.
        floor = float(positive.min()) if positive.size else np.inf
        return cls(np.maximum(scale, floor), floor)

    def step(self, links: _Links, *, own: bool) -> FirstStep:
        """Return the chance of each step, and lengths; `own`: links among the training points.

        The largest weight of a row is 1 before the rest is computed, so that no row vanishes. A
        length is the distance divided by the weight: a link that leaps over a gap is a long one.
        """
        start = self.scale if own else np.maximum(_to_seventh(links), self.floor)
        exponents = links.values / start[links.source] * (links.values / self.scale[links.target])
        least = np.full(links.shape[0], np.inf)
        np.minimum.at(least, links.source, exponents)
        weights = np.exp(least[links.source] - exponents)
        lengths = links.values * np.exp(np.minimum(exponents, STEEPEST))
        ends = links.source, links.target
        return FirstStep(
            _in_proportion(_Links(*ends, weights, links.shape)),
            sparse.csr_array((lengths, ends), shape=links.shape),
        )


def _to_seventh(links: _Links) -> Floats:
    """Return the distance of each source to its 7th nearest target, or to its last; 0: no link."""
    order = np.lexsort((links.values, links.source))
    counts = np.bincount(links.source, minlength=links.shape[0])
    last = np.cumsum(counts) - counts + np.minimum(counts, SCALE_NEIGHBOR) - 1
    distances = np.zeros(links.shape[0])
    distances[counts > 0] = links.values[order][last[counts > 0]]
    return distances


def _in_proportion(links: _Links) -> sparse.csr_array:
    """Return weights as chances: each row divided by its sum."""
    total = np.bincount(links.source, weights=links.values, minlength=links.shape[0])
    there = links.values > 0
    source, target = links.source[there], links.target[there]
    chances = links.values[there] / total[source]
    return sparse.csr_array((chances, (source, target)), shape=links.shape)


def _resistances(links: _Links) -> sparse.csr_array:
    """Return 1 / weight of each link whose weight is not 0."""
    there = links.values > 0
    ends = links.source[there], links.target[there]
    return sparse.csr_array((1.0 / links.values[there], ends), shape=links.shape)
