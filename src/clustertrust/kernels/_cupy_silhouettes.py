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

# Silhouettes (n, R) and the nearest other clusters (n, R), on the GPU.
OnGpu = tuple[Any, Any]
# Blocks of points that share the memory of a multiprocessor.
SHARING = 4


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
    # Smaller groups let several blocks share a multiprocessor, which hides how long loads take.
    most = max(widest, limit // (SHARING * points * 8))
    groups = [0]
    for r in range(1, len(start)):
        if start[r] - start[groups[-1]] > most:
            groups.append(r - 1)
    groups.append(len(start) - 1)
    largest = max(int(start[high] - start[low]) for low, high in itertools.pairwise(groups))
    return groups, points, largest


def results(n: int, R: int) -> OnGpu:
    """Room for silhouettes and nearest clusters of n points in R runs."""
    cp = _cupy.cupy()
    return cp.empty((n, R)), cp.empty((n, R), dtype=cp.int32)


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
class Judge:
    """What all blocks of points of one job have in common, and where their results go."""

    cells: Any
    GPU: OnCard
    rules: Rules
    out: OnGpu

    def block(self, sums: Any, scale: float, own: Any, place: Any, terms: Any = None) -> None:
        """Silhouettes of a block of points from their sums.

        `terms` are `within`, `diagonal` and `noise` for kernels.
        """
        GPU, (n, R) = self.GPU, own.shape
        size = (sums, np.int64(sums.shape[1]), np.int64(n), np.int32(GPU.m))
        runs = (GPU.rows, np.int32(R), GPU.start, GPU.sizes)
        kernel = (_cupy.NONE, _cupy.NONE, _cupy.NONE) if terms is None else terms
        before = (*size, np.float64(1.0 / scale), *runs, own, place)
        results = (*map(np.int32, self.rules), *self.out)
        _launch("from_sums", self.cells.start, n, before, (*kernel, *results))


def blocks_of_rows(n: int, m: int) -> list[slice]:
    """Rows whose sums fit into the budget, in whole tiles."""
    most = _cupy.budget() // max(1, 8 * m)
    size = max(_cupy.TILE, most // _cupy.TILE * _cupy.TILE)
    return [slice(low, min(low + size, n)) for low in range(0, n, size)]


@_cupy.holding()
def exact_silhouettes(
    X: Array,
    cells: Any,
    own: Ints | None = None,
    new: Array | None = None,
    *,
    precision: str = "single",
) -> OnGpu:
    """Silhouettes by mean distances: of the training points, or of `new` ones.

    `own` (n, R) are the clusters of the points that are judged; None: those of the cells.
    """
    cp = _cupy.cupy()
    middle, largest = _cupy.middle_of(X if new is None else np.concatenate([X, new]))
    real = _cupy.real_type(precision)
    GPU = OnCard.load(cells)
    cols = _cupy.lay_out(X, middle, GPU.order, real)
    kind = Kind(largest=largest)
    n, R = (len(X) if new is None else len(new)), cells.rows.shape[1]
    judge = Judge(cells, GPU, Rules(new is None, new is None, False), results(n, R))
    place = GPU.order if new is None else cp.arange(n, dtype=cp.int64)
    labels = GPU.rows[GPU.cell_of] if own is None else cp.asarray(own, dtype=cp.int32)[place]
    blocks = blocks_of_rows(n, GPU.m)
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
    return judge.out


def kernel_silhouettes(
    pairs: KernelPairs, own: Ints, new: Array | None, scale: Floats | None, terms: Any
) -> OnGpu:
    """Silhouettes in the space of a kernel; `terms` are `within`, κ(x, x) and noise."""
    cp = _cupy.cupy()
    n, R = own.shape
    within, itself, noise = terms
    place = pairs.GPU.order if new is None else cp.arange(n, dtype=cp.int64)
    labels = cp.ascontiguousarray(cp.asarray(own, dtype=cp.int32)[place])
    sums, unit = (pairs.sums, pairs.unit) if new is None else pairs.of_new(new, scale)
    more = (cp.asarray(within), cp.asarray(itself)[place], cp.asarray(noise)[place])
    judge = Judge(pairs.cells, pairs.GPU, Rules(False, True, True), results(n, R))
    judge.block(sums, unit, labels, place, more)
    return judge.out


def center_silhouettes(
    X: Array,
    means: tuple[Floats, Floats | None],
    clusters: Any,
    own: Ints | None,
    noise: float,
    rules: Rules,
) -> OnGpu:
    """Silhouettes by |x - center|² + spread.

    `means` are the centers and spreads, `own` (n, R) the clusters of the points; None: those of the
    cells. `noise` is what rounding may make of 0, as a share of |x|².
    """
    cp = _cupy.cupy()
    centers, spread = means
    n, d = X.shape
    x = cp.ascontiguousarray(_cupy.on_gpu(X, cp.float64).T)
    R = len(clusters.start) - 1
    size = (x, np.int64(n), np.int64(n), np.int32(d))
    spreads = _cupy.NONE if spread is None else cp.asarray(spread)
    runs = (np.int32(R), cp.asarray(clusters.start, dtype=cp.int32), cp.asarray(clusters.sizes))
    if own is None:
        rows = cp.asarray(clusters.rows, dtype=cp.int32)
        labels = rows[_cupy.on_gpu(clusters.cell_of)]
    else:
        labels = cp.asarray(own, dtype=cp.int32)
    out = results(n, R)
    before = (*size, cp.asarray(centers, dtype=cp.float64), spreads, *runs, labels)
    after = ((x**2).sum(axis=0) * noise, *map(np.int32, rules), *out)
    _launch("from_centers", clusters.start, n, before, after)
    return out
