"""Exact distances among points that are in blocks on several machines, computed on their GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clustertrust._errors import ParameterError
from clustertrust._types import AnyFloats, Array, Floats, Ints
from clustertrust.cells import Clusters
from clustertrust.distances.dissimilarity import Reduce
from clustertrust.distances.on_gpu import OnGpu
from clustertrust.kernels import backend
from clustertrust.kernels._cupy_blocks import Whole, block_silhouettes, centred


@dataclass(frozen=True)
class Part:
    """A block as every machine needs it.

    Attributes
    ----------
    points : (b, d) its points, less the middle of all
    cell_of : (b,) cell of each, of those of this block
    rows : (c, R) cluster of each of these cells in each run
    farthest : the largest distance to the middle
    """

    points: AnyFloats
    cell_of: Ints
    rows: Ints
    farthest: float

    def summary(self) -> Part:
        """Return it without its points."""
        return replace(self, points=self.points[:0], cell_of=self.cell_of[:0])


class InBlocks(OnGpu):
    """Mean Euclidean distance to the members of clusters, which are in many blocks.

    Each block meets all others on one GPU, which needs the points of one more at a time; sums are
    whole numbers, so that their order changes no bit.
    """

    def __init__(
        self, clusters: Any, middle: Floats, precision: str = "single", among: Among | None = None
    ) -> None:
        super().__init__(clusters, n_jobs=1)
        self.middle, self.precision, self.among = middle, precision, among

    def part(self, X: Array, own: Ints) -> Part:
        """Return a block, with clusters `own` (b, R), as the others need it."""
        points, farthest = centred(X, self.middle, self.precision)
        of, first = backend().meet(own)
        return Part(points, of.astype(np.int32), own[first], farthest)

    def with_all(self, among: Among) -> InBlocks:
        """Return the same with the points of all blocks."""
        return InBlocks(self.cells, self.middle, self.precision, among)

    def kept_silhouettes(
        self, own: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> tuple[Any, Any]:
        """Return silhouettes and nearest other clusters of a block of the fit, on the GPU."""
        if self.among is None or own is None or not training:
            raise _needs_all()
        points, _ = centred(X, self.middle, self.precision)
        return block_silhouettes(points, own, self.among.members(), self.among.whole)

    def map(self, X: Any, reduce: Reduce[Any]) -> Iterator[Any]:
        """Raise: unseen points would need all blocks again."""
        raise _needs_all()

    def map_training(self, reduce: Reduce[Any]) -> Iterator[Any]:
        """Raise: the blocks are on other machines."""
        raise _needs_all()


def _needs_all() -> ParameterError:
    return ParameterError(
        "geometry",
        "exact",
        "needs all points of the fit, which stayed in the blocks of a Dask array",
        "choose {geometry='rms'} to score other points, or to store the model",
    )


@dataclass(frozen=True)
class United:
    """The cells of all blocks as one: `whole`, and the number of each block's cells in it."""

    whole: Whole
    numbers: list[Ints]


@dataclass(frozen=True)
class Among:
    """All blocks of a fit."""

    united: United
    parts: Sequence[Part]

    @property
    def whole(self) -> Whole:
        """What the blocks have in common."""
        return self.united.whole

    def members(self) -> Iterator[tuple[AnyFloats, Ints]]:
        """Yield the points of each block, and the cell of each."""
        for part, numbers in zip(self.parts, self.united.numbers, strict=True):
            yield part.points, numbers[part.cell_of]


def unite(clusters: Clusters, n: int, parts: Sequence[Part]) -> United:
    """Unite the cells of blocks; summaries of the parts are enough."""
    rows = np.concatenate([part.rows for part in parts])
    of, first = backend().meet(rows)
    # Two points are on either side of the middle at most; rounding adds some ulps of float32.
    largest = 2.0 * max(part.farthest for part in parts) * (1 + 1e-5)
    whole = Whole(rows[first], clusters.start, clusters.sizes, n, largest)
    ends = np.cumsum([len(part.rows) for part in parts])
    return United(whole, [ids.astype(np.int32) for ids in np.split(of, ends[:-1])])
