"""Functions that score a block of rows, small enough to send to workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clustertrust._types import Arrays, Ints
from clustertrust.columns import FIELDS
from clustertrust.distances.in_blocks import Among, InBlocks, Part, United, unite
from clustertrust.distances.on_gpu import to_gpu
from clustertrust.ensemble.placing import place
from clustertrust.files.sources import Block
from clustertrust.kernels._cupy import one_at_a_time
from clustertrust.scoring.model import Model


def block_labels(placers: list[Any] | None, block: Block) -> Ints:
    """Return the labels (b, R) that the placers give to a block, else those that it brings."""
    if placers is not None:
        return place(placers, block.X)
    assert block.labels is not None
    return block.labels


@dataclass(frozen=True)
class BlockScorer:
    """A function that scores a block, small enough to send to workers.

    Without `placers` the blocks must have labels.
    """

    model: Model
    placers: list[Any] | None

    @property
    def fields(self) -> dict[str, str]:
        """The fields that it returns, with their types."""
        none = self.model.components.of(np.empty((0, 0)), np.empty(0, dtype=np.int64))
        unused = {"persistence", "second_opinions", "second_choice"} - none.keys()
        return {name: dtype for name, dtype in FIELDS.items() if name not in unused}

    def __call__(self, block: Block) -> Arrays:
        """Return the fields of `Confidence` for the points of a block."""
        scored = self.model.new_fields(block.X, self.clusters(block), training=True)
        return {name: scored[name].astype(dtype, copy=False) for name, dtype in self.fields.items()}

    def clusters(self, block: Block) -> Ints:
        """Return the cluster (b, R) of each point of a block in each run."""
        return self.model.encode(block_labels(self.placers, block))


@dataclass(frozen=True)
class GpuScorer(BlockScorer):
    """The same on the GPU of a worker, one block at a time."""

    def __call__(self, block: Block) -> Arrays:
        """Return the fields of `Confidence` for the points of a block."""
        with one_at_a_time:
            return super().__call__(block)


@dataclass(frozen=True)
class PairScorer(BlockScorer):
    """The same by the distances to the points of all blocks, on the GPU of a worker."""

    def part(self, block: Block) -> Part:
        """Return a block as the others need it."""
        return self._by.part(block.X, self.clusters(block))

    def unite(self, n: int, parts: list[Part]) -> United:
        """Return the cells of all blocks, which have n points, from summaries of their parts."""
        return unite(self.model.clusters, n, parts)

    def __call__(self, block: Block, *among: Any) -> Arrays:
        """Return the fields of a block; `among` are all cells, and the parts of all blocks."""
        model = replace(self.model, dissimilarity=self._by.with_all(Among(*among)))
        return GpuScorer(model, self.placers)(block)

    @property
    def _by(self) -> InBlocks:
        assert isinstance(self.model.dissimilarity, InBlocks)
        return self.model.dissimilarity


def scorer_on(device: str, model: Model, placers: list[Any] | None) -> BlockScorer:
    """Return the function that scores blocks on this device."""
    by, scoring = model.dissimilarity, model.scoring.on(device)
    if device == "cpu" or by is None:
        return BlockScorer(model, placers)
    if isinstance(by, InBlocks):
        by = InBlocks(by.cells, by.middle, scoring.compute.precision)
        return PairScorer(replace(model, scoring=scoring, dissimilarity=by), placers)
    return GpuScorer(replace(model, scoring=scoring, dissimilarity=to_gpu(by)), placers)
