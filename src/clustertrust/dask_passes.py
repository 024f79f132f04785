"""The passes of `clustertrust.streaming` over a Dask array or frame: one task a block of rows, sums as trees.

Only small things travel: what places points (centres), sums over blocks, the model, and the sample that the runs are
fitted on. The blocks stay where they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clustertrust.sources import Block, checked
from clustertrust.streaming import Judge, Passes, sum_in_pairs
from clustertrust.totals import Totals

__all__ = ["DaskPasses", "is_dask"]

Result = TypeVar("Result")
_AT_ONCE = 64  # results that are on their way to this process


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or frame; Dask is not imported for the question."""
    return type(X).__module__.split(".")[0] in {"dask", "dask_expr"} and type(X).__name__ in {"Array", "DataFrame"}


class DaskPasses(Passes):
    """Blocks of a Dask collection, worked on wherever its scheduler has them worked on."""

    in_turn = False

    def __init__(self, X: Any, *, id: str | None = None) -> None:
        dask = importlib.import_module("dask")
        self._delayed, self._compute = dask.delayed, dask.compute
        self.columns = [str(name) for name in X.columns if name != id] if hasattr(X, "columns") else None
        if self.columns is None:
            if X.ndim != 2:
                raise ValueError(f"X has shape {X.shape}; it must have rows and columns.")
            if len(X.chunks[1]) > 1:
                X = X.rechunk({1: -1})  # rows stay whole
            parts = X.to_delayed()[:, 0].tolist()
            rows = [int(size) if size == size else None for size in X.chunks[0]]
        else:
            parts, rows = list(X.to_delayed()), [None] * X.npartitions
        if None in rows:  # only counting tells: a pass
            rows = list(self._compute(*(self._delayed(len)(part) for part in parts)))
        self.sizes = [int(size) for size in rows if size is not None]
        self.n_rows = sum(self.sizes)
        self.n_features = int(X.shape[1]) if self.columns is None else len(self.columns)
        before = np.concatenate([[0], np.cumsum(self.sizes)])[:-1]
        as_block = self._delayed(_as_block)
        self.blocks = [as_block(part, int(at), self.columns, id) for part, at in zip(parts, before, strict=True)]

    def _tasks(self, function: Callable[[Block], Any]) -> list[Any]:
        shared = self._delayed(function, pure=False)  # travels once to each worker, not with every task
        return [self._delayed(_call)(shared, block) for block in self.blocks]

    def map(self, function: Callable[[Block], Result], what: str) -> Iterator[Result]:
        """Yield function(block) for each block, in order."""
        tasks = self._tasks(function)
        for low in range(0, len(tasks), _AT_ONCE):
            yield from self._compute(*tasks[low : low + _AT_ONCE])

    def sum(self, function: Callable[[Block], Totals], what: str) -> Totals:
        """Add up function(block) over all blocks: the same additions as on one machine."""
        return self._compute(sum_in_pairs(self._tasks(function)))[0]

    def judge(self, judge: Judge, n_clusters: int) -> dict[str, Any]:
        """The fields of `Confidence` of all points as Dask arrays, computed when they are asked for."""
        array = importlib.import_module("dask.array")
        tasks = self._tasks(judge)
        fields = {}
        for name, dtype in judge.fields.items():
            more = (n_clusters,) if name == "votes" else ()
            parts = [
                array.from_delayed(task[name], (size, *more), dtype)
                for task, size in zip(tasks, self.sizes, strict=True)
            ]
            fields[name] = array.concatenate(parts)
        return fields


def _call(function: Callable[[Block], Result], block: Block) -> Result:
    return function(block)


def _as_block(part: Any, before: int, columns: list[str] | None, id: str | None) -> Block:
    """Numbers of a chunk or partition, checked, and the names of its rows."""
    ids = None if id is None else part[id].to_numpy()
    X: NDArray = np.asarray(part if id is None else part[columns])
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X has type {X.dtype}; it must hold numbers. Leave out columns that do not.")
    X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
    return checked(Block(X, ids, before), columns)
