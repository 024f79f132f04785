"""Cells on an NVIDIA GPU: the meet of labels, and moments of the points of each cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._types import Array, Floats, Ints
from clustertrust.kernels import _cupy

# Cells are told apart by one integer each, below this.
_LARGEST_ID = 2**62
# Labels below this fit into such an integer together with the cell that the runs before make.
_LARGEST_LABEL = 2**31


def meet(labels: Ints) -> tuple[Ints, Ints] | None:
    """Cell of each row of `labels` (n, R) and first row of each cell, as the other back ends.

    Cells count up by first appearance. None where a label is too large. The cell of each row stays
    on the GPU too.
    """
    cp = _cupy.cupy()
    on_gpu = _cupy.on_gpu(labels)
    different = max(1, int(on_gpu.max()) + 2)
    if different > _LARGEST_LABEL:
        return None
    ids, count = cp.zeros(len(labels), dtype=cp.int64), 1
    for r in range(labels.shape[1]):
        if count * different > _LARGEST_ID:
            values, ids = cp.unique(ids, return_inverse=True)
            count = len(values)
        ids = ids * different + (cp.maximum(on_gpu[:, r], -1) + 1)
        count *= different
    _, first, ids = cp.unique(ids, return_index=True, return_inverse=True)
    order = cp.argsort(first)
    rank = cp.empty(len(first), dtype=cp.int64)
    rank[order] = cp.arange(len(first))
    cell_of = rank[ids]
    on_host = cp.asnumpy(cell_of)
    _cupy.hold(on_host, cell_of)
    return on_host, cp.asnumpy(first[order])


def cell_moments(X: Array, cells: Any, threads: int = 1) -> tuple[Floats, Floats]:
    """Mean (m, d) of the points of each cell, and their summed squared distances (m,) to it."""
    cp = _cupy.cupy()
    points = cp.ascontiguousarray(_cupy.on_gpu(X))
    m, d = len(cells.counts), points.shape[1]
    order = cp.argsort(_cupy.on_gpu(cells.cell_of))
    means, squares = cp.empty((m, d)), cp.empty(m)
    name = "moments_single" if points.dtype == np.float32 else "moments_double"
    bounds = cp.asarray(cells.bounds, dtype=cp.int64)
    arguments = (points, np.int32(d), order, bounds, means, squares)
    _cupy.compiled("cells").get_function(name)((m,), (256,), arguments)
    return cp.asnumpy(means), cp.asnumpy(squares)
