"""Silhouettes on an NVIDIA GPU: whole jobs, since what goes to the GPU and back costs more than a
block.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from clustertrust._errors import InputError
from clustertrust._types import Array, Floats, Ints
from clustertrust.kernels import _cupy
from clustertrust.kernels._cupy_sums import KernelPairs, Kind, OnCard, sum_pairs
from clustertrust.kernels.rules import Rules


def _groups(start: Ints) -> tuple[list[int], int, int]:
    """First runs of groups whose clusters fit into shared memory, points a block, and the largest
    group's clusters.
    """
    widest = int(np.diff(start).max(initial=1))
    limit = _cupy.shared_limit()
    points = 64
    while points > 1 and widest * points * 8 > limit:
        points //= 2
    if widest * points * 8 > limit:
        raise InputError(
            f"A run has {widest} clusters; {{device='cuda'}} takes up to {limit // 8}. "
            "Use {device='cpu'}."
        )
    most = limit // (points * 8)
    groups = [0]
    for r in range(1, len(start)):
        if start[r] - start[groups[-1]] > most:
            groups.append(r - 1)
    groups.append(len(start) - 1)
    largest = max(int(start[high] - start[low]) for low, high in itertools.pairwise(groups))
    return groups, points, largest


class _Results:
    """Silhouettes and nearest clusters of n points in R runs, on the GPU until they are taken."""

    def __init__(self, n: int, R: int) -> None:
        cp = _cupy.cupy()
        self.s, self.nearest = cp.empty((n, R)), cp.empty((n, R), dtype=cp.int32)

    def take(self) -> tuple[Floats, Ints]:
        cp = _cupy.cupy()
        return cp.asnumpy(self.s), cp.asnumpy(self.nearest)


def _launch(name: str, start: Ints, n: int, before: tuple[Any, ...], after: Any) -> None:
    """Run a kernel on n points and all groups of runs, which stand between its other arguments."""
    groups, points, largest = _groups(start)
    source = _cupy.compiled("silhouettes", f"-DPOINTS={points}")
    first_runs = _cupy.cupy().asarray(groups, dtype=np.int32)
    _cupy.function_of(source, name)(
        (-(-n // points), len(groups) - 1),
        (points,),
        (*before, first_runs, *after),
        shared_mem=largest * points * 8,
    )


@dataclass(frozen=True)
class _Judge:
    """What all blocks of points of one job have in common, and where their results go."""

    cells: Any
    GPU: OnCard
    rules: Rules
    out: _Results

    def block(self, sums: Any, scale: float, own: Any, place: Any, terms: Any = None) -> None:
        """Silhouettes of a block of points from their sums.

        `terms` are `within`, `diagonal` and `noise` for kernels.
        """
        GPU, (n, R) = self.GPU, own.shape
        size = (sums, np.int64(sums.shape[1]), np.int64(n), np.int32(GPU.m))
        runs = (GPU.rows, np.int32(R), GPU.start, GPU.sizes)
        kernel = (_cupy.NONE, _cupy.NONE, _cupy.NONE) if terms is None else terms
        before = (*size, np.float64(1.0 / scale), *runs, own, place)
        results = (*map(np.int32, self.rules), self.out.s, self.out.nearest)
        _launch("from_sums", self.cells.start, n, before, (*kernel, *results))


def _blocks(n: int, m: int) -> list[slice]:
    """Rows whose sums fit into the budget, in whole tiles."""
    most = _cupy.budget() // max(1, 8 * m)
    size = max(_cupy.TILE, most // _cupy.TILE * _cupy.TILE)
    return [slice(low, min(low + size, n)) for low in range(0, n, size)]


def exact_silhouettes(
    X: Array,
    cells: Any,
    own: Ints,
    new: Array | None = None,
    *,
    precision: str = "single",
) -> tuple[Floats, Ints]:
    """Silhouettes (n, R) by mean distances, and the nearest other clusters; of the training points,
    or of `new` ones.

    `own` (n, R) are the clusters of the points that are judged.
    """
    cp = _cupy.cupy()
    middle, largest = _cupy.middle_of(X if new is None else np.concatenate([X, new]))
    real = _cupy.real_type(precision)
    GPU = OnCard.load(cells)
    cols = _cupy.lay_out(X, middle, cells.order, real)
    kind = Kind(largest=largest)
    n, R = (len(X) if new is None else len(new)), cells.rows.shape[1]
    judge = _Judge(cells, GPU, Rules(new is None, new is None, False), _Results(n, R))
    place = cp.asarray(cells.order if new is None else np.arange(n), dtype=cp.int64)
    labels = cp.asarray(own, dtype=cp.int32)[place]
    blocks = _blocks(n, GPU.m)
    symmetric = new is None and len(blocks) == 1
    for block in blocks:
        if symmetric:
            rows = cols
        elif new is None:
            tiles = slice(block.start, _cupy.round_up(block.stop, _cupy.TILE))
            rows = _cupy.Layout(cp.ascontiguousarray(cols.x[:, tiles]), block.stop - block.start)
        else:
            rows = _cupy.lay_out(new[block], middle, None, real)
        sums, scale = sum_pairs(rows, cols, GPU, kind, (_cupy.NONE, _cupy.NONE), symmetric)
        judge.block(sums, scale, cp.ascontiguousarray(labels[block]), place[block])
        del sums
    return judge.out.take()


def kernel_silhouettes(
    pairs: KernelPairs, own: Ints, new: Array | None, scale: Floats | None, terms: Any
) -> tuple[Floats, Ints]:
    """Silhouettes (n, R) in the space of a kernel; `terms` are `within`, κ(x, x) and noise."""
    cp = _cupy.cupy()
    n, R = own.shape
    within, itself, noise = terms
    place = cp.asarray(pairs.cells.order if new is None else np.arange(n), dtype=cp.int64)
    labels = cp.ascontiguousarray(cp.asarray(own, dtype=cp.int32)[place])
    sums, unit = (pairs.sums, pairs.unit) if new is None else pairs.of_new(new, scale)
    more = (cp.asarray(within), cp.asarray(itself)[place], cp.asarray(noise)[place])
    judge = _Judge(pairs.cells, pairs.GPU, Rules(False, True, True), _Results(n, R))
    judge.block(sums, unit, labels, place, more)
    return judge.out.take()


def center_silhouettes(
    X: Array,
    means: tuple[Floats, Floats | None],
    clusters: Any,
    own: Ints,
    noise: Floats,
    rules: Rules,
) -> tuple[Floats, Ints]:
    """Silhouettes (n, R) by |x - center|² + spread, and the nearest other clusters.

    `means` are the centers and spreads.
    """
    cp = _cupy.cupy()
    centers, spread = means
    n, d = X.shape
    x = cp.ascontiguousarray(cp.asarray(X, dtype=cp.float64).T)
    R = len(clusters.start) - 1
    out = _Results(n, R)
    size = (x, np.int64(n), np.int64(n), np.int32(d))
    spreads = _cupy.NONE if spread is None else cp.asarray(spread)
    runs = (np.int32(R), cp.asarray(clusters.start, dtype=cp.int32), cp.asarray(clusters.sizes))
    labels = cp.asarray(own, dtype=cp.int32)
    before = (*size, cp.asarray(centers, dtype=cp.float64), spreads, *runs, labels)
    after = (cp.asarray(noise), *map(np.int32, rules), out.s, out.nearest)
    _launch("from_centers", clusters.start, n, before, after)
    return out.take()
