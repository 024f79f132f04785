"""Exact silhouettes on an NVIDIA GPU of points that are in many blocks, one of them at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clustertrust._types import AnyFloats, Floats, Ints
from clustertrust.kernels import _cupy
from clustertrust.kernels._cupy_silhouettes import Judge, OnGpu, blocks_of_rows, results
from clustertrust.kernels._cupy_sums import Kind, OnCard, fixed_scale, sum_pairs
from clustertrust.kernels.rules import Rules


@dataclass(frozen=True)
class Whole:
    """What all blocks have in common: the clusters of all n points.

    Attributes
    ----------
    rows : (m, R) cluster of each cell in each run, -1 where it is not assigned
    start : (R + 1,) with the clusters of all runs side by side, the first of each run
    sizes : (K,) points in each cluster
    n : the number of points
    largest : a bound of their distances
    """

    rows: Ints
    start: Ints
    sizes: Floats
    n: int
    largest: float


def block_silhouettes(
    points: AnyFloats, own: Ints, parts: Iterable[tuple[AnyFloats, Ints]], whole: Whole
) -> OnGpu:
    """Silhouettes of a block of points by their mean distances to the members of clusters.

    Each of the `parts` is a block too: its points, and the cell of each. `own` (b, R) are the
    clusters of the points that are judged. Sums are whole numbers: neither the order of the parts
    nor which GPU adds them changes a bit.
    """
    cp = _cupy.cupy()
    parts = list(parts)
    cells = OnCard(
        m=len(whole.rows),
        order=None,
        cell_of=None,
        rows=cp.asarray(whole.rows, dtype=cp.int32),
        start=cp.asarray(whole.start, dtype=cp.int32),
        sizes=cp.asarray(whole.sizes, dtype=cp.float64),
        bounds=None,
    )
    kind, scale = Kind(largest=whole.largest), fixed_scale(whole.largest, whole.n)
    judge = Judge(whole, cells, Rules(True, True, False), results(*own.shape))
    labels = cp.asarray(own, dtype=cp.int32)
    place = cp.arange(len(points), dtype=cp.int64)
    none = (_cupy.NONE, _cupy.NONE)
    for block in blocks_of_rows(len(points), cells.m):
        rows = _cupy.lay_out(points[block], None, None, points.dtype)
        sums = cp.zeros((cells.m, rows.ld), dtype=cp.int64)
        for members, cell_of in parts:
            on_gpu = cp.asarray(cell_of, dtype=cp.int32)
            order = cp.argsort(on_gpu)
            cols = _cupy.lay_out(members, None, order, points.dtype)
            sorted_cells = replace(cells, cell_of=on_gpu[order])
            sum_pairs(rows, cols, sorted_cells, kind, none, False, (sums, scale))
        judge.block(sums, scale, labels[block], place[block])
        del sums
    return judge.out


def centred(X: AnyFloats, middle: Floats, precision: str) -> tuple[Any, float]:
    """Points less `middle`, in this precision, and the largest distance to it."""
    away = np.asarray(X, dtype=np.float64) - middle
    farthest = float(np.sqrt((away**2).sum(axis=1).max(initial=0.0)))
    return away.astype(_cupy.real_type(precision)), farthest
