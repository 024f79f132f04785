"""Passes over a Dask array or frame: one task per block of rows, sums as trees.

Only small things are sent: centres, sums over blocks, the model, and the sample that the runs are
fitted on. The blocks stay where they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

from clustertrust._dask import open_client, results
from clustertrust._devices import to_host
from clustertrust._types import Array, Ints, Result
from clustertrust._validation.frames import check_whole_numbers
from clustertrust._validation.points import as_type
from clustertrust.distances.in_blocks import Part
from clustertrust.ensemble.placing import place
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.record import Ensemble
from clustertrust.files.sources import Block, checked, numbers_of
from clustertrust.results import Confidence
from clustertrust.scoring.model import Model
from clustertrust.scoring.settings import Scoring
from clustertrust.streaming.passes import BlockReader
from clustertrust.streaming.scorers import BlockScorer, PairScorer, scorer_on
from clustertrust.streaming.stream import build_stream, check_streaming, model_of, sum_up
from clustertrust.totals import Totals, sum_in_pairs

# Results that are on their way to this process.
_AT_ONCE = 64


class DaskReader(BlockReader):
    """Reads the blocks of a Dask collection, on the machines of its scheduler.

    `labels` (n, R) go with the rows of X.
    """

    in_turn = False
    remedy = "X is a Dask array or frame: X.compute() loads it into memory, if it fits"

    def __init__(self, X: Any, *, labels: Any = None) -> None:
        self.columns = [str(name) for name in X.columns] if hasattr(X, "columns") else None
        # For the names of its rows.
        self._frame = None if self.columns is None else X[[]]
        if self.columns is None:
            if X.ndim != 2:
                raise ValueError(f"X has shape {X.shape}; it must have rows and columns.")
            if len(X.chunks[1]) > 1:
                # Rows stay whole.
                X = X.rechunk({1: -1})
            parts = X.to_delayed()[:, 0].tolist()
            rows = [int(size) if size == size else None for size in X.chunks[0]]
        else:
            parts, rows = list(X.to_delayed()), [None] * X.npartitions
        self.n_features = int(X.shape[1]) if self.columns is None else len(self.columns)
        # Unknown: count them in a pass.
        self._keep(parts, count_rows(parts) if None in rows else rows, labels)

    def _keep(self, parts: list[Any], rows: list[Any], labels: Any = None) -> None:
        """Keep the parts that have rows."""
        self._delayed = importlib.import_module("dask").delayed
        # Filters leave partitions without rows behind.
        counted = [(part, int(size)) for part, size in zip(parts, rows, strict=True) if size]
        self.sizes = [size for _, size in counted]
        self.n_rows = sum(self.sizes)
        before = np.concatenate([[0], np.cumsum(self.sizes)])[:-1].tolist()
        label_parts = [None] * len(counted) if labels is None else self._cut(labels)
        self._blocks = [
            (part, of_part, first, self.columns)
            for (part, _), of_part, first in zip(counted, label_parts, before, strict=True)
        ]

    def _cut(self, labels: Any) -> list[Any]:
        """Return the labels in the blocks of the rows."""
        array = importlib.import_module("dask.array")
        if len(labels) != self.n_rows:
            raise ValueError(
                f"X has {self.n_rows} points and labels has {len(labels)}; both must describe the "
                "same points."
            )
        labels = array.asarray(labels).rechunk((tuple(self.sizes), labels.shape[1]))
        return list(labels.to_delayed()[:, 0])

    def _tasks(
        self, function: Callable[..., Any], which: slice = slice(None), *more: Any
    ) -> list[Any]:
        # It travels once to each worker, not with every task.
        shared = self._delayed(function, pure=False)
        # One task from the numbers as they are read to the result: no worker holds blocks that
        # wait.
        return [self._delayed(_call)(shared, *block, *more) for block in self._blocks[which]]

    def _scored(self, scorer: BlockScorer) -> list[Any]:
        """Return tasks that score the blocks; by distances of all pairs, each needs all blocks."""
        if not isinstance(scorer, PairScorer):
            return self._tasks(scorer)
        parts = self._tasks(scorer.part)
        summaries = [self._delayed(Part.summary)(part) for part in parts]
        united = self._delayed(scorer.unite, pure=False)(self.n_rows, summaries)
        return self._tasks(scorer, slice(None), united, parts)

    def map(self, function: Callable[[Block], Result], what: str) -> Iterator[Result]:
        """Yield function(block) for each block, in order."""
        for low in range(0, len(self._blocks), _AT_ONCE):
            yield from results(open_client(), self._tasks(function, slice(low, low + _AT_ONCE)))

    def sum(self, function: Callable[[Block], Totals], what: str) -> Totals:
        """Add up function(block) over all blocks: the same additions as on one machine."""
        added: Totals = next(results(open_client(), [sum_in_pairs(self._tasks(function))]))
        return added

    def workers(self) -> AbstractContextManager[Any]:
        """Return a context that fits runs on the workers of the open client, or else on threads."""
        return nullcontext() if open_client() is None else joblib.parallel_config(backend="dask")

    def labels(self, placers: list[Any]) -> Any:
        """Label of each row in each run as a Dask array (n, R), found when it is asked for."""
        return self._stack(self._tasks(_Place(placers)), np.int32, len(placers))

    def score_new(self, model: Model, placers: list[Any], dtype: Any, what: str) -> Any:
        """Return `labels` or `scores` of all points, as new ones, in a Dask array."""
        tasks = self._tasks(_New(model, placers, dtype, what))
        return self._stack(tasks, {"labels": np.int64, "scores": np.float64}[what])

    def score_blocks(self, scorer: BlockScorer) -> dict[str, Any]:
        """Return the arguments of `Model.confidence` for all points, as lazy Dask arrays."""
        tasks = self._scored(scorer)
        clusters = scorer.model.clusters
        wide = {"votes": [max(1, int(clusters.n_clusters[scorer.model.reference]))]}
        fields = {
            name: self._stack([task[name] for task in tasks], dtype, *wide.get(name, []))
            for name, dtype in scorer.fields.items()
        }
        return {"fields": fields, "frame": self._frame}

    def _stack(self, tasks: list[Any], dtype: Any, *more: int) -> Any:
        """Return the results of the blocks, one below the other, as a Dask array."""
        array = importlib.import_module("dask.array")
        parts = [
            array.from_delayed(task, (size, *more), dtype)
            for task, size in zip(tasks, self.sizes, strict=True)
        ]
        return array.concatenate(parts)


class TaskReader(DaskReader):
    """Reads the blocks that Dask tasks give."""

    def __init__(
        self, tasks: list[Any], rows: list[int], columns: list[str] | None, n_features: int
    ) -> None:
        self.columns, self.n_features, self._frame = columns, n_features, None
        self._keep(tasks, rows)


@dataclass(frozen=True)
class _Place:
    """Labels of a block in each run."""

    placers: list[Any]

    def __call__(self, block: Block) -> Ints:
        return place(self.placers, block.X)


@dataclass(frozen=True)
class _New:
    """Consensus labels or scores of a block of unseen points."""

    model: Model
    placers: list[Any]
    dtype: Any
    what: str

    def __call__(self, block: Block) -> Array:
        X = as_type(block.X, self.dtype)
        rows = self.model.encode(place(self.placers, X))
        return self.model.score(X, rows) if self.what == "scores" else self.model.votes(rows).labels


def _call(
    function: Callable[..., Result],
    part: Any,
    labels: Array | None,
    before: int,
    columns: list[str] | None,
    *more: Any,
) -> Result:
    """The function of a block, a chunk or a partition: its numbers, checked, their labels, and
    `more` that it takes.
    """
    if isinstance(part, Block):
        return function(checked(part._replace(before=before), columns), *more)
    if columns is not None:
        X = numbers_of(part, "X")
    else:
        # Chunks may be on the GPU of the worker.
        X = np.asarray(to_host(part))
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X has type {X.dtype}; it must hold numbers.")
        check_whole_numbers(X)
        X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
    return function(checked(Block(X, None, before, labels), columns), *more)


def count_rows(parts: list[Any]) -> list[int]:
    """Return how many rows the blocks, chunks or partitions of tasks have, in one pass."""
    delayed = importlib.import_module("dask").delayed
    return list(results(open_client(), [delayed(_count)(part) for part in parts]))


def _count(part: Any) -> int:
    return len(part.X if isinstance(part, Block) else part)


def build_on_dask(X: Any, recipe: Recipe) -> Ensemble:
    """Runs as `build_stream` makes them, with their labels of all rows as a Dask array."""
    reader = DaskReader(X)
    # What is wrong is raised before a pass.
    recipe.check_size(reader.n_rows or 0)
    built = build_stream(reader, recipe)
    return built.ensemble.with_labels(reader.labels(built.ensemble.placers))


def score_on_dask(X: Any, ensemble: Ensemble, scoring: Scoring) -> Confidence:
    """Score an ensemble of Dask rows: a pass to sum up, and one when scores are asked for."""
    reader = DaskReader(X, labels=ensemble.labels)
    scoring = check_streaming(reader, scoring)
    scoring.geometry.check_runs(ensemble, reader.n_features)
    directions = scoring.geometry.used_metric.is_cosine
    totals = sum_up(reader, None, "summing up", directions)
    # Here there may be no GPU: only workers use theirs.
    model = model_of(totals, ensemble, scoring.on("cpu"))
    scorer = scorer_on(scoring.compute.device, model, None)
    return model.confidence(**reader.score_blocks(scorer))
