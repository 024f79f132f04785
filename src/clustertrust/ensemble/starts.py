"""Starts of k-means: for each seed the points that scikit-learn draws, for many runs at once.

The random numbers and the rules are scikit-learn's. Its k-means++ measures the distances of one
run's candidates at a time; here a block of points is measured against the candidates of all runs
while it is in the cache. Sums are added in another order, so wherever rounding could decide which
point is drawn, scikit-learn draws the start of that run.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus

from clustertrust._parallel import Team
from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust.distances.tiles import in_fours, tile_parts
from clustertrust.kernels import backend

# Bytes of squared distances that are held for the runs of a batch.
_BATCH = 2**26
# Up to so many points runs are computed one by one: all that they need stays in the cache.
FEW_POINTS = 1024
# Of these, runs that a thread takes at a time
RUNS = 4
_ROUNDING = 2.0**-53


class _Stream(threading.local):
    """Random numbers of each thread: to make new ones takes longer than to draw a start."""

    def __init__(self) -> None:
        self.numbers = np.random.RandomState(0)


_stream = _Stream()


def _seeded(seed: int, drawn_before: int = 0) -> np.random.RandomState:
    """Return the numbers of `RandomState(seed)` but the first, for use at once."""
    _stream.numbers.seed(seed)
    _stream.numbers.random_sample(drawn_before)
    return _stream.numbers


@dataclass(frozen=True, eq=False)
class Starts:
    """Draws the starts of runs on the same points.

    Attributes
    ----------
    X : (n, d) the points
    middle : (d,) their mean
    squares : Σ |x - middle|²
    drawn_before : random numbers of each seed that are not for starts
    rounding_may_decide : whether any start will do where rounding decides, not only scikit-learn's
    """

    X: Array
    middle: Floats
    squares: float
    drawn_before: int = 0
    rounding_may_decide: bool = False
    # By number of candidates and seeds, the positions of the last starts of k-means++, and where
    # rounding could decide
    _drawn: dict[tuple[Any, ...], tuple[Ints, Bools]] = field(default_factory=dict, repr=False)

    def draw(self, init: str, k: int, seeds: Sequence[int], team: Team) -> Floats:
        """Return the coordinates of the starts of each run, (R, k, d)."""
        n = len(self.X)
        if init == "random":
            chosen = [self._random(k, seed) for seed in seeds]
        elif self.X.dtype != np.float64 or not _same_draws():
            chosen = [self._by_sklearn(k, seed) for seed in seeds]
        else:
            size = max(1, _BATCH // (8 * n))
            batches = [seeds[low : low + size] for low in range(0, len(seeds), size)]
            chosen = [one for batch in batches for one in self._plus_plus(k, batch, team)]
        return np.asarray(self.X[np.array(chosen)], dtype=np.float64)

    @functools.cached_property
    def _shares(self) -> Floats:
        """The cumulated probabilities of points that `RandomState.choice` computes at each call."""
        weights = np.ones(len(self.X), dtype=self.X.dtype)
        shares = np.cumsum(np.asarray(weights / weights.sum(), dtype=np.float64))
        return np.asarray(shares / shares[-1])

    def _random(self, k: int, seed: int) -> Ints:
        """`choice` without replacement: it draws again only where a point was drawn twice."""
        stream = _seeded(seed, self.drawn_before)
        chosen = self._shares.searchsorted(stream.random_sample(k), side="right")
        if np.unique(chosen).size == k:
            return np.asarray(chosen)
        weights = np.ones(len(self.X), dtype=self.X.dtype)
        shares = weights / weights.sum()
        stream = _seeded(seed, self.drawn_before)
        return np.asarray(stream.choice(len(self.X), size=k, replace=False, p=shares))

    def _by_sklearn(self, k: int, seed: int) -> Ints:
        """Return the positions that scikit-learn draws, from centred data as `KMeans` does."""
        centred = self.X - self.X.mean(axis=0)
        stream = _seeded(seed, self.drawn_before)
        return np.asarray(kmeans_plusplus(centred, k, random_state=stream)[1])

    def _plus_plus(self, k: int, seeds: Sequence[int], team: Team) -> list[Ints]:
        """Return the positions of a batch of runs."""
        first, draws = self._first_and_draws(k, seeds)
        # With as many candidates a step, the start of fewer clusters begins that of more.
        key = (draws.shape[2], tuple(seeds))
        found, unsure = self._drawn.get(key, (np.empty((0, 0)), np.empty(0)))
        if found.shape[1] < k:
            draw = self._one_by_one if len(self.X) <= FEW_POINTS else self._in_step
            found, unsure = self._drawn[key] = draw(first, draws, team)
        return [
            self._by_sklearn(k, seed) if unsure[b] and not self.rounding_may_decide else own[:k]
            for b, (seed, own) in enumerate(zip(seeds, found, strict=True))
        ]

    def _first_and_draws(self, k: int, seeds: Sequence[int]) -> tuple[Ints, Floats]:
        """Return the first point of each run (B,), and where candidates lie (B, k - 1, c)."""
        trials = 2 + int(np.log(k))
        size = 1 + (k - 1) * trials
        uniform = np.array([_seeded(seed, self.drawn_before).random_sample(size) for seed in seeds])
        first: Ints = self._shares.searchsorted(uniform[:, 0], side="right")
        return first, uniform[:, 1:].reshape(len(seeds), k - 1, trials)

    def draw_numbers(self, init: str, k: int, seeds: Sequence[int]) -> tuple[Floats, Ints] | None:
        """Return what the starts of runs take from their seeds alone, on any points of this shape.

        That is where candidates lie (B, k - 1, c) and the first positions of (B, k); for random
        starts all positions, and c = 0. None where scikit-learn has to draw.
        """
        if init == "random":
            chosen = np.array([self._random(k, seed) for seed in seeds])
            return np.empty((len(seeds), k - 1, 0)), chosen
        if self.X.dtype != np.float64 or not _same_draws():
            return None
        positions = np.zeros((len(seeds), k), dtype=np.int64)
        positions[:, 0], draws = self._first_and_draws(k, seeds)
        return draws, positions

    def _one_by_one(self, first: Ints, draws: Floats, team: Team) -> tuple[Ints, Bools]:
        """Return the positions of each run, (B, k), and where rounding could decide."""
        B, steps = draws.shape[:2]
        found, unsure = np.empty((B, 1 + steps), dtype=np.int64), np.zeros(B, dtype=bool)
        found[:, 0] = first

        def work(some: slice) -> None:
            known = (self.X, self.middle, self.squares, draws[some])
            backend().plus_plus(*known, found[some], unsure[some])

        team.run(work, [slice(low, low + RUNS) for low in range(0, B, RUNS)])
        return found, unsure

    def _in_step(self, chosen: Ints, draws: Floats, team: Team) -> tuple[Ints, Bools]:
        """The same, all runs in step."""
        batch = _Batch(self, len(chosen), team)
        positions = [chosen]
        batch.measure(chosen, chosen[:, None])
        for step in range(draws.shape[1]):
            candidates = batch.locate(draws[:, step])
            batch.measure(chosen, candidates)
            chosen = batch.choose(candidates)
            positions.append(chosen)
        return np.column_stack(positions), batch.unsure


class _Batch:
    """Runs of k-means++ in step: squared distances to the nearest centre, and their sums."""

    def __init__(self, data: Starts, runs: int, team: Team) -> None:
        self.data, self.team = data, team
        n = len(data.X)
        self.tile: int = backend().TILE
        self.n_tiles = -(-n // self.tile)
        self.closest: Floats = team.full((runs, n), np.inf)
        self.unsure = np.zeros(runs, dtype=bool)
        self.reach = 0.0
        # By run: the last chosen centre, minus the middle, and Σ over the points of each tile.
        self.last: Floats = np.zeros((runs, data.X.shape[1]))
        self.sums: Floats = np.zeros((runs, self.n_tiles))

    def measure(self, chosen: Ints, candidates: Ints) -> None:
        """Bring distances up to the chosen centres (B,), and sum those to candidates (B, c)."""
        X, middle = self.data.X, self.data.middle
        rows = X[np.column_stack([chosen, candidates])] - middle
        self.last, self.among = np.ascontiguousarray(rows[:, 0]), rows[:, 1:]
        flat = in_fours(rows.reshape(-1, X.shape[1]))
        halves = (flat**2).sum(axis=1) / 2
        self.reach = max(self.reach, 2 * halves.max())
        self.by_tile = np.empty((len(chosen), self.n_tiles, candidates.shape[1]))

        def work(part: tuple[int, int]) -> None:
            backend().candidate_sums(X, middle, (flat, halves), self.closest, part, self.by_tile)

        self.team.run(work, tile_parts(self.n_tiles))
        if candidates.shape[1] == 1:
            self.sums = np.ascontiguousarray(self.by_tile[:, :, 0])

    def _margin(self, total: Floats) -> Floats:
        """How far sums may be off: rounding of each distance, and of adding n of them."""
        n, d = self.data.X.shape
        of_distances = 4 * (d + 8) * (self.data.squares + n * self.reach)
        return np.asarray(_ROUNDING * (of_distances + 16 * np.sqrt(n) * total))

    def choose(self, candidates: Ints) -> Ints:
        """Return the candidate of each run that leaves the least sum, the first on ties."""
        totals = self.by_tile.sum(axis=1)
        best = totals.argmin(axis=1)
        runs = np.arange(len(best))
        least = totals[runs, best]
        tied = totals <= (least + 2 * self._margin(least))[:, None]
        # The same point twice is no question.
        other = (self.among != self.among[runs, best][:, None]).any(axis=2)
        self.unsure |= (tied & other).any(axis=1)
        self.sums = np.ascontiguousarray(self.by_tile[runs, :, best])
        self.last = self.among[runs, best]
        return np.asarray(candidates[runs, best])

    def locate(self, shares: Floats) -> Ints:
        """Return the points where the cumulated squared distances reach `shares` (B, c) of all."""
        totals = self.sums.sum(axis=1)
        known = (self.data.X, self.data.middle, self.last, self.closest, self.sums)
        positions, gap = backend().locate(*known, shares * totals[:, None])
        self.unsure |= (gap <= self._margin(totals)[:, None]).any(axis=1)
        return np.asarray(positions)


@functools.cache
def _same_draws() -> bool:
    """Return whether scikit-learn draws by the rules known here: tried once, on a few points."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    data = Starts(X, X.mean(axis=0), float(((X - X.mean(axis=0)) ** 2).sum()))
    ours = data._plus_plus(9, range(3), Team(1))
    theirs: list[Any] = [data._by_sklearn(9, seed) for seed in range(3)]
    return np.array_equal(ours, theirs)
