"""Data larger than memory → scores, in a few passes over blocks of rows.

1. A pass draws a random sample, of a fixed size, and the runs are fitted on it.
2. k-means goes on over all rows, all runs in step: a pass an iteration, until the centres rest (at most `MOST_STEPS`).
   MiniBatchKMeans takes one pass of mini-batches. Runs of other methods stay as the sample left them.
3. A pass sums up sizes, means, spreads and contingencies (`Totals`); the last pass of k-means has done so already.
4. A pass scores each block.

Memory holds some blocks, the sample and the totals: nothing of it grows with the rows. Blocks are worked on in parallel
and their sums added in order, so that the number of threads changes no bit; their size, which follows from
scikit-learn's `working_memory`, changes scores by rounding alone where the runs are k-means.
"""

from __future__ import annotations

import numbers
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from clustertrust._parallel import _AT_ONCE, count_threads, map_blocks, memory_budget, one_thread
from clustertrust.clusterers import Run
from clustertrust.consensus import most_central
from clustertrust.dissimilarity import Centers
from clustertrust.ensemble import Ensemble, assemble
from clustertrust.fusion import FUSIONS, WITH_PERSISTENCE
from clustertrust.geometry import silhouettes_of
from clustertrust.kernels import backend
from clustertrust.matching import match_runs
from clustertrust.placing import Nearest, place
from clustertrust.results import Confidence
from clustertrust.scoring import Model, Scoring
from clustertrust.sources import Block, Source
from clustertrust.totals import Totals, total

__all__ = [
    "GEOMETRIES",
    "SAMPLE_POINTS",
    "Judge",
    "LocalPasses",
    "Passes",
    "Streamed",
    "check_streaming",
    "collect",
    "fit_stream",
    "geometry_of",
    "passes_over",
    "rows_of_block",
    "sample_rows",
    "sum_in_pairs",
]

Floats = NDArray[np.float64]
Result = TypeVar("Result")

SAMPLE_POINTS = 100_000  # on which the runs are fitted
MOST_STEPS = 10  # of k-means over all rows; it starts where the sample's k-means ended
TOLERANCE = 1e-4  # of the mean variance of the columns, as in scikit-learn's KMeans
BATCH = 8192  # rows of a mini-batch, whatever the blocks are
GEOMETRIES = ("centroid", "rms")


class Passes(ABC):
    """How a table is gone through, block by block.

    Attributes
    ----------
    n_features : columns of the table
    columns : their names, None where they have none
    n_rows : its rows, None where only reading tells
    in_turn : whether the blocks come to this process, one after the other
    """

    in_turn = True
    n_features: int
    columns: list[str] | None
    n_rows: int | None

    @abstractmethod
    def map(self, function: Callable[[Block], Result], what: str) -> Iterator[Result]:
        """Yield function(block) for each block, in order."""

    @abstractmethod
    def sum(self, function: Callable[[Block], Totals], what: str) -> Totals:
        """Add up function(block) over all blocks, in pairs, pairs of pairs and so on: `sum_in_pairs`."""


def passes_over(source: Source, n_runs: Any, n_jobs: int | None, verbose: bool) -> LocalPasses:
    """Blocks of a table, of a size for so many runs."""
    runs = int(n_runs) if isinstance(n_runs, numbers.Integral) else 20
    return LocalPasses(source, rows_of_block(source.n_features, runs), count_threads(n_jobs), verbose=verbose)


def sum_in_pairs(parts: Iterable[Totals]) -> Totals:
    """Add neighbours, then neighbouring sums, and so on, holding one sum of each size.

    The order of additions follows from the number of parts alone, so that machines that share the work round alike.
    """
    sums: list[tuple[int, Totals]] = []  # how many parts, and their sum; the sizes fall
    for part in parts:
        sums.append((1, part))
        while len(sums) > 1 and sums[-1][0] == sums[-2][0]:
            count, last = sums.pop()
            sums[-1] = (2 * count, sums[-1][1] + last)
    while len(sums) > 1:
        count, last = sums.pop()
        sums[-1] = (sums[-1][0] + count, sums[-1][1] + last)
    return sums[0][1]


class LocalPasses(Passes):
    """Blocks read one after the other, some of them at a time worked on by threads."""

    def __init__(self, source: Source, rows: int, threads: int, *, verbose: bool = False) -> None:
        self.source, self.rows, self.threads, self.verbose = source, rows, threads, verbose
        self.n_features, self.columns, self.n_rows = source.n_features, source.columns, source.n_rows

    def map(self, function: Callable[[Block], Result], what: str) -> Iterator[Result]:
        """Yield function(block) for each block, in order."""
        blocks = self._counted(self.source.blocks(self.rows), what)
        with one_thread():
            yield from map_blocks(function, blocks, self.threads)  # type: ignore[arg-type]

    def sum(self, function: Callable[[Block], Totals], what: str) -> Totals:
        """Add up function(block) over all blocks."""
        return sum_in_pairs(self.map(function, what))

    def _counted(self, blocks: Iterable[Block], what: str) -> Iterator[Block]:
        """Show how far it is, where somebody watches."""
        shown = self.verbose and sys.stderr.isatty()
        for block in blocks:
            yield block
            if shown:
                of = f"/{self.n_rows}" if self.n_rows else ""
                sys.stderr.write(f"\r{what}: {block.before + len(block.X)}{of} rows")
                sys.stderr.flush()
        if shown:
            sys.stderr.write("\n")


@dataclass(frozen=True)
class Judge:
    """Scores blocks: all that must travel to where they are."""

    model: Model
    placers: list[Any]

    fields: ClassVar[dict[str, str]] = {
        "scores": "f8",
        "stability": "f8",
        "geometry": "f8",
        "silhouette_mean": "f8",
        "silhouette_std": "f8",
        "standard_errors": "f8",
        "labels": "i8",
        "consensus_strength": "f8",
        "votes": "f8",
        "rival": "i8",
    }

    def __call__(self, block: Block) -> dict[str, NDArray]:
        """The fields of `Confidence` of the points of a block."""
        codes = self.model.cells.encode(place(self.placers, block.X))
        of, first = backend().meet(codes)
        raw, nearest = silhouettes_of(self.model.geometry, codes, block.X, training=True)
        judged = self.model.judge(codes[first], of, raw, nearest)
        return {name: judged[name].astype(dtype, copy=False) for name, dtype in self.fields.items()}


@dataclass(frozen=True)
class Streamed:
    """A model of data that were never in memory at once.

    Attributes
    ----------
    model : what scores points
    ensemble : the runs, with their labels of the sample
    sample : (s, d) the points that they were fitted on
    n_rows : rows of the table
    n_passes : passes over the table so far; scoring takes one more
    geometry_method : `rms` or `centroid`
    """

    model: Model
    ensemble: Ensemble
    sample: NDArray
    n_rows: int
    n_passes: int
    geometry_method: str

    @property
    def judge(self) -> Judge:
        """What scores blocks."""
        return Judge(self.model, _placers(self.ensemble.runs or ()))

    def scores(self, passes: Passes) -> Iterator[tuple[Block, dict[str, NDArray]]]:
        """Yield the blocks of the table, without their numbers, each with the fields of `Confidence` of its points."""
        judge = self.judge
        yield from passes.map(lambda block: (block._replace(X=block.X[:, :0]), judge(block)), "scoring")

    def confidence(self, fields: dict[str, Any]) -> Confidence:
        """The record of these fields."""
        return Confidence(
            **fields,
            label_names=np.arange(self.n_clusters),
            reference_run=self.model.reference,
            geometry_method=self.geometry_method,
            ensemble=self.ensemble,
            n_runs=self.ensemble.n_runs,
        )

    @property
    def n_clusters(self) -> int:
        """Clusters of the reference run: columns of votes."""
        return max(1, int(self.model.cells.n_clusters[self.model.reference]))


def check_streaming(geometry: str, metric: Any, consensus: str, n_runs: Any, fusion: str = "harmonic") -> str:
    """Return the geometry; raise for what needs all points at once."""
    wanted = {
        "geometry": (geometry, [*GEOMETRIES, "auto"]),
        "metric": (metric, ["euclidean"]),
        "consensus": (consensus, ["medoid"]),
        "fusion": (fusion, sorted(set(FUSIONS) - WITH_PERSISTENCE)),
    }
    for name, (value, possible) in wanted.items():
        if not isinstance(value, str) or value not in possible:
            raise ValueError(
                f"{name}={value!r} needs all points at once, and X is larger than scikit-learn's working_memory "
                f"allows; choose one of {possible}, or allow more by sklearn.set_config(working_memory=…) (MiB)."
            )
    if isinstance(n_runs, str):
        raise ValueError(f"n_runs={n_runs!r} needs all points at once, and X is larger than memory; give a number.")
    return "rms" if geometry == "auto" else geometry


def collect(streamed: Streamed, passes: Passes, folder: Path) -> Confidence:
    """Score all rows; the fields of `Confidence` become arrays on disk."""
    fields: dict[str, Any] = {}
    for block, judged in streamed.scores(passes):
        for name, values in judged.items():
            if name not in fields:
                shape = (streamed.n_rows, *values.shape[1:])
                fields[name] = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", values.dtype, shape)
                _reserve(folder / f"{name}.npy")
            fields[name][block.before : block.before + len(values)] = values
    return streamed.confidence(fields)


def _reserve(path: Path) -> None:
    """Take the room of a file on disk now: a mapped page that finds the disk full ends the process without a word."""
    if not hasattr(os, "posix_fallocate"):
        return
    with path.open("rb+") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}: {size:,} bytes of results are wanted in {path.parent.parent}; set TMPDIR to a "
                "folder with more room",
            ) from error


def rows_of_block(n_features: int, n_runs: int) -> int:
    """Rows such that the blocks under work fit into the budget; a fixed function of the sizes."""
    bytes_per_row = 24 * n_features + 60 * n_runs  # the numbers, labels, silhouettes and results
    return int(np.clip(memory_budget() // (_AT_ONCE * bytes_per_row), 1024, 2**16))


def sample_rows(passes: Passes, size: int, seed: int) -> tuple[NDArray, int]:
    """Draw `size` rows at random in one pass, in the order of the table, and count the rows.

    Each row has a random number, which hangs on its position alone, and the rows with the smallest are kept: the same
    sample for any blocks.
    """
    # Where the rows are counted, few others than the smallest need be looked at: six standard deviations more.
    below = 1.0 if passes.n_rows is None else (size + 6 * size**0.5 + 6) / max(1, passes.n_rows)
    found: list[tuple[NDArray, ...]] = []
    n, held = 0, 0
    for rows, keys, positions, X in passes.map(partial(_candidates, seed, below), "sampling"):
        n += rows
        found.append((keys, positions, X))
        held += len(keys)
        if held > 2 * size + 1000:
            found = [_smallest(size, found)]
            held = size
    keys, positions, X = _smallest(size, found)
    return X[np.argsort(positions)], n


def _candidates(seed: int, below: float, block: Block) -> tuple[int, NDArray, NDArray, NDArray]:
    """Number of rows, and the numbers, positions and values of those whose random number is small."""
    bits = np.random.PCG64(seed)
    keys = np.random.Generator(bits.advance(block.before)).random(len(block.X))
    small = np.flatnonzero(keys < below)
    return len(keys), keys[small], block.before + small, block.X[small]


def _smallest(size: int, found: list[tuple[NDArray, ...]]) -> tuple[NDArray, ...]:
    keys, positions, X = (np.concatenate(parts) for parts in zip(*found, strict=True))
    at = np.argpartition(keys, size - 1)[:size] if len(keys) > size else np.arange(len(keys))
    return keys[at], positions[at], X[at]


def fit_stream(
    passes: Passes, fit: Callable[[NDArray], list[Run]], scoring: Scoring, *, geometry: str, seed: int
) -> Streamed:
    """Fit runs on a sample by `fit`, let k-means go on over all rows, and sum up."""
    sample, n = sample_rows(passes, SAMPLE_POINTS, seed)
    if n < 2:
        raise ValueError(f"X has {n} rows; give at least two.")
    passes.n_rows = n
    runs = fit(sample)
    done = 1
    if len(sample) < n and all(_is(run, "kmeans") for run in runs):
        runs, totals, steps = _step_together(passes, runs, TOLERANCE * sample.var(axis=0).mean())
        done += steps
    else:
        if len(sample) < n and all(_is(run, "minibatch") for run in runs):
            if not passes.in_turn:
                raise ValueError(
                    "clusterer='minibatch-kmeans': its mini-batches go one after the other, which is nothing for many "
                    "machines; choose clusterer='kmeans'."
                )
            runs = _mini_batches(passes, runs)
            done += 1
        totals = _sum_up(passes, runs, "summing up")
        done += 1
    runs = [replace(run, labels=placer(sample)) for run, placer in zip(runs, _placers(runs), strict=True)]
    ensemble = assemble(runs)
    matchings = match_runs(totals)
    model = Model(scoring, totals, matchings, geometry_of(geometry, totals, ensemble), most_central(matchings))
    return Streamed(model, ensemble, sample, n, done, geometry)


def geometry_of(geometry: str, totals: Totals, ensemble: Ensemble) -> Centers:
    """Distances by means and spreads; `centroid` by the fitted centres where the runs have them."""
    if geometry == "rms":
        return Centers(None, totals, centers=totals.means, spread=totals.variances, root=True, n_jobs=1)
    centers = totals.means
    if ensemble.centers is not None:
        centers = np.vstack([given[names] for given, names in zip(ensemble.centers, totals.names, strict=True)])
    return Centers(None, totals, centers=centers, spread=None, root=True, n_jobs=1)


def _centers(run: Run) -> NDArray:
    assert run.centers is not None  # k-means has them
    return run.centers


def _is(run: Run, kind: str) -> bool:
    """Whether a run is k-means, or its kind of mini-batches."""
    name = run.method.lower().replace("-", "").replace("_", "")
    return (
        isinstance(run.placer, Nearest)
        and {"kmeans": name in {"kmeans", "kmeansrandom"}, "minibatch": name == "minibatchkmeans"}[kind]
    )


def _placers(runs: Iterable[Run]) -> list[Any]:
    placers = [run.placer for run in runs]
    assert all(placer is not None for placer in placers)
    return placers


def _sum_up(passes: Passes, runs: list[Run], what: str) -> Totals:
    return passes.sum(partial(_total, _placers(runs)), what)


def _total(placers: list[Any], block: Block) -> Totals:
    return total(block.X, place(placers, block.X))


def _moved(run: Run, centers: NDArray) -> Run:
    return replace(run, placer=Nearest(centers, np.arange(len(centers))), centers=centers)


def _step_together(passes: Passes, runs: list[Run], tolerance: float) -> tuple[list[Run], Totals, int]:
    """Lloyd's iterations of all runs, one pass each; the sums are those of the centres that are returned."""
    for step in range(1, MOST_STEPS + 1):
        totals = _sum_up(passes, runs, f"k-means, pass {step}")
        moved = [_to_means(run, totals, r) for r, run in enumerate(runs)]
        shift = max(((_centers(new) - _centers(old)) ** 2).sum() for new, old in zip(moved, runs, strict=True))
        if shift <= tolerance:
            break
        if step < MOST_STEPS:
            runs = moved
    return runs, totals, step


def _to_means(run: Run, totals: Totals, r: int) -> Run:
    """Each centre to the mean of its points; one without points stays."""
    centers = np.array(_centers(run), dtype=np.float64)
    centers[totals.names[r]] = totals.means[totals.start[r] : totals.start[r + 1]]
    return _moved(run, centers)


def _mini_batches(passes: Passes, runs: list[Run]) -> list[Run]:
    """One pass in which each batch pulls the centres towards its means, the less the more points a centre has had."""
    counts = [np.bincount(run.labels[run.labels >= 0], minlength=len(_centers(run))).astype(float) for run in runs]
    for X in _batches(block.X for block in passes.map(lambda block: block, "mini-batches")):
        sums = total(X, place(_placers(runs), X))
        for r, run in enumerate(runs):
            names, part = sums.names[r], slice(sums.start[r], sums.start[r + 1])
            centers = np.array(_centers(run), dtype=np.float64)
            counts[r][names] += sums.sizes[part]
            centers[names] += (sums.sizes[part] / counts[r][names])[:, None] * (sums.means[part] - centers[names])
            runs[r] = _moved(run, centers)
    return runs


def _batches(blocks: Iterable[NDArray]) -> Iterator[NDArray]:
    """The same rows in batches of `BATCH`."""
    held: list[NDArray] = []
    for X in blocks:
        held.append(X)
        while sum(map(len, held)) >= BATCH:
            joined = np.concatenate(held)
            yield joined[:BATCH]
            held = [joined[BATCH:]]
    if held and len(rest := np.concatenate(held)):
        yield rest
