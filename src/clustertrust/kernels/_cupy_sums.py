"""Sums over pairs of points on an NVIDIA GPU: of distances, or of a kernel's values, by cell.

Sums are integers (fixed point): the same bits in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clustertrust._errors import InputError
from clustertrust._types import Array, Floats
from clustertrust.kernels import _cupy

# Tiles of columns that a block goes through.
SPAN = 64
KINDS = {"euclidean": 0, "self-tuning": 1, "rbf": 2, "polynomial": 3}


@dataclass(frozen=True)
class Kind:
    """What is summed over pairs: distances, or values of a kernel, each at most `largest` in size.

    `scale` are the scales of the training points for "self-tuning"; gamma, shift and degree are for
    the others.
    """

    name: str = "euclidean"
    largest: float = 0.0
    gamma: float = 1.0
    shift: float = 0.0
    degree: int = 1


def fixed_scale(largest: float, n: int) -> float:
    """A power of two such that n values of at most `largest` add up below 2**62."""
    if largest == 0:
        return 1.0
    return float(
        np.ldexp(1.0, int(np.clip(61 - np.ceil(np.log2(largest) + np.log2(n)), -1000, 1000)))
    )


def _chunk(d: int, itemsize: int) -> tuple[int, int]:
    """Features in shared memory at a time, as many as fit, and the bytes of a block.

    Two blocks of the largest kind share a multiprocessor of an H200.
    """
    limit = _cupy.shared_limit()
    for chunk in (d if d <= 32 else 16, 16, 8, 4):
        # One tile of rows where all its features are there, else two; two of columns.
        tiles = (3 if chunk >= d else 4) * min(chunk, d) * _cupy.TILE
        needed = itemsize * (tiles + _cupy.TILE * (_cupy.TILE + 1))
        if needed <= limit:
            return min(chunk, d), needed
    single = "" if itemsize == 4 else ", or {device='cuda'} for distances in single precision"
    raise InputError(
        f"This GPU has {limit // 1024} KiB of shared memory for a block of threads, and sums of "
        f"distances need {needed / 1024:.0f}. Use {{device='cpu'}}{single}."
    )


def _options(real: Any, rows: _cupy.Layout, kind: Kind) -> tuple[str, ...]:
    """What the source of the sums is compiled for."""
    name = "float" if real == np.float32 else "double"
    d = rows.x.shape[0]
    chunk = _chunk(d, real.itemsize)[0]
    return f"-DREAL={name}", f"-DD={d}", f"-DCHUNK={chunk}", f"-DKIND={KINDS[kind.name]}"


def sum_pairs(
    rows: _cupy.Layout,
    cols: _cupy.Layout,
    cells: Any,
    kind: Kind,
    scales: tuple[Any, Any],
    symmetric: bool,
    sums: tuple[Any, float] | None = None,
) -> tuple[Any, float]:
    """Fixed-point sums (m, n') of the rows' points over the cells of the columns' points, and their
    scale.

    They are added to `sums` of the same kind where those are given.
    """
    cp = _cupy.cupy()
    real = rows.x.dtype
    options = _options(real, rows, kind)
    _, shared = _chunk(rows.x.shape[0], real.itemsize)
    function = _cupy.function_of(_cupy.compiled("sums", *options), "cell_sums")
    if sums is None:
        sums = cp.zeros((cells.m, rows.ld), dtype=cp.int64), fixed_scale(kind.largest, cols.n)
    out, scale = sums
    tiles_rows, tiles_cols = rows.ld // _cupy.TILE, cols.ld // _cupy.TILE
    grid = (tiles_rows, -(-tiles_cols // SPAN))
    numbers = (real.type(kind.gamma), real.type(kind.shift), np.int32(kind.degree))
    arguments = (
        *(*rows.arguments, cells.cell_of if symmetric else _cupy.NONE, scales[0]),
        *(*cols.arguments, cells.cell_of, scales[1]),
        *(np.int32(symmetric), np.int32(SPAN), np.float64(scale)),
        *(*numbers, out, np.int64(rows.ld)),
    )
    function(grid, (256,), arguments, shared_mem=shared)
    return out, scale


@dataclass(frozen=True)
class OnCard:
    """What the kernels read of cells and runs: the points sorted by cell, `order` (n,), their cells
    in that order, labels of cells (m, R), …
    """

    m: int
    order: Any
    cell_of: Any
    rows: Any
    start: Any
    sizes: Any
    bounds: Any

    @classmethod
    def load(cls, cells: Any) -> OnCard:
        """Copy the cells to the GPU."""
        cp = _cupy.cupy()
        cell_of = _cupy.on_gpu(cells.cell_of)
        order = cp.argsort(cell_of)
        return cls(
            m=len(cells.counts),
            order=order,
            cell_of=cell_of[order].astype(cp.int32),
            rows=cp.asarray(np.ascontiguousarray(cells.rows, dtype=np.int32)),
            start=cp.asarray(cells.start.astype(np.int32)),
            sizes=cp.asarray(cells.sizes.astype(np.float64)),
            bounds=cp.asarray(cells.bounds.astype(np.int64)),
        )


class KernelPairs:
    """Sums of kernel values over the pairs of the training points, in float64, kept on the GPU."""

    def __init__(self, X: Array, cells: Any, kernel: str, params: Any, scale: Any) -> None:
        cp = _cupy.cupy()
        self.cells, self.GPU = cells, OnCard.load(cells)
        self.cols = _cupy.lay_out(X, None, self.GPU.order, np.dtype(np.float64))
        self.kind = _kernel_kind(X, kernel, params)
        self.scale = _cupy.NONE if scale is None else self._padded(scale, self.GPU.order)
        self.sums, self.unit = sum_pairs(
            self.cols, self.cols, self.GPU, self.kind, (self.scale, self.scale), True
        )
        cp.cuda.Device().synchronize()

    @staticmethod
    def _padded(scale: Floats, order: Any = slice(None)) -> Any:
        """Scales of points in this order, and 1 for what stands beyond them."""
        cp = _cupy.cupy()
        out = cp.ones(_cupy.round_up(len(scale), _cupy.TILE))
        out[: len(scale)] = cp.asarray(scale)[order]
        return out

    def within(self) -> Floats:
        """(K,) mean of κ over the pairs of each cluster."""
        cp = _cupy.cupy()
        m = self.GPU.m
        totals = cp.empty((m, m))
        source = _cupy.compiled("sums", *_options(np.dtype(np.float64), self.cols, self.kind))
        size = (self.sums, np.int64(self.sums.shape[1]), self.GPU.bounds, np.int32(m))
        arguments = (*size, np.float64(1.0 / self.unit), totals)
        source.get_function("cell_totals")((m, m), (128,), arguments)
        members = cp.asarray(self.cells.members.toarray())
        return np.asarray(
            cp.asnumpy(((totals @ members) * members).sum(axis=0)) / self.cells.sizes**2
        )

    def of_new(self, points: Array, scale: Floats | None) -> tuple[Any, float]:
        """Sums of κ between unseen points and the cells."""
        rows = _cupy.lay_out(points, None, None, np.dtype(np.float64))
        scales = (_cupy.NONE if scale is None else self._padded(scale), self.scale)
        return sum_pairs(rows, self.cols, self.GPU, self.kind, scales, False)


def _kernel_kind(X: Array, kernel: str, params: Any) -> Kind:
    if kernel == "self-tuning":
        return Kind("self-tuning", largest=1.0)
    if kernel == "rbf":
        return Kind("rbf", largest=1.0, gamma=float(params["gamma"]))
    gamma, shift, degree = (
        (1.0, 0.0, 1)
        if kernel == "linear"
        else (float(params["gamma"]), float(params["coef0"]), int(params["degree"]))
    )
    # Unseen points may have larger products: sixteen times is allowed for.
    farthest = float((np.asarray(X, np.float64) ** 2).sum(axis=1).max(initial=0.0))
    largest = 16.0 * (abs(gamma) * farthest + abs(shift)) ** degree
    return Kind("polynomial", largest, gamma, shift, degree)
