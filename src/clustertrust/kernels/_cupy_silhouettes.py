"""Silhouettes on an NVIDIA GPU: whole jobs, since what goes to the card and back costs more than a
block.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clustertrust.kernels import _cupy
from clustertrust.kernels._cupy_sums import KernelPairs, Kind, OnCard, sum_pairs

__all__ = [
    "Rules",
    "center_silhouettes",
    "exact_silhouettes",
    "kernel_silhouettes",
]

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


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
        raise ValueError(
            f"A run has {widest} clusters; device='cuda' takes up to {limit // 8}. "
            "Use device='cpu'."
        )
    most = limit // (points * 8)
    groups = [0]
    for r in range(1, len(start)):
        if start[r] - start[groups[-1]] > most:
            groups.append(r - 1)
    groups.append(len(start) - 1)
    largest = max(int(start[high] - start[low]) for low, high in itertools.pairwise(groups))
    return groups, points, largest


@dataclass(frozen=True)
class Rules:
    """How a silhouette treats the point itself: see `silhouettes` in `_numpy`."""

    leaves_out: bool
    lone_zero: bool
    root: bool = False


class _Results:
    """Silhouettes and nearest clusters of n points in R runs, on the card until they are taken."""

    def __init__(self, n: int, R: int) -> None:
        cp = _cupy.cupy()
        self.s, self.nearest = cp.empty((n, R)), cp.empty((n, R), dtype=cp.int32)

    def take(self) -> tuple[Floats, Ints]:
        cp = _cupy.cupy()
        return cp.asnumpy(self.s), cp.asnumpy(self.nearest)


def _judge(
    sums: Any,
    scale: float,
    cells: Any,
    card: OnCard,
    own: Any,
    place: Any,
    rules: Rules,
    out: _Results,
    terms: Any = None,
) -> None:
    """Silhouettes of a block of points from their sums.

    `terms` are `within`, `diagonal` and `noise` for kernels.
    """
    cp = _cupy.cupy()
    groups, points, largest = _groups(cells.start)
    shared = largest * points * 8
    function = _cupy.function_of(_cupy.compiled("silhouettes", f"-DPOINTS={points}"), "from_sums")
    n, R = own.shape
    function(
        (-(-n // points), len(groups) - 1),
        (points,),
        (
            *(
                sums,
                np.int64(sums.shape[1]),
                np.int64(n),
                np.int32(card.m),
                np.float64(1.0 / scale),
            ),
            *(
                card.rows,
                np.int32(R),
                card.start,
                card.sizes,
                own,
                place,
                cp.asarray(groups, dtype=cp.int32),
            ),
            *((_cupy.NONE, _cupy.NONE, _cupy.NONE) if terms is None else terms),
            *(
                np.int32(rules.leaves_out),
                np.int32(rules.lone_zero),
                np.int32(rules.root),
                out.s,
                out.nearest,
            ),
        ),
        shared_mem=shared,
    )


def _blocks(n: int, m: int) -> list[slice]:
    """Rows whose sums fit into the budget, in whole tiles."""
    most = _cupy.budget() // max(1, 8 * m)
    size = max(_cupy.TILE, most // _cupy.TILE * _cupy.TILE)
    return [slice(low, min(low + size, n)) for low in range(0, n, size)]


def exact_silhouettes(
    X: NDArray,
    cells: Any,
    own: Ints | None = None,
    new: NDArray | None = None,
    *,
    precision: str = "single",
) -> tuple[Floats, Ints]:
    """Silhouettes (n, R) by mean distances, and the nearest other clusters; of the training points,
    or of `new` ones.

    `own` (n, R) are the clusters of the points that are judged, None for the training points as
    they are.
    """
    cp = _cupy.cupy()
    middle, largest = _cupy.middle_of(X if new is None else np.concatenate([X, new]))
    real = _cupy.real_type(precision)
    card = OnCard.load(cells)
    cols = _cupy.lay_out(X, middle, cells.order, real)
    kind = Kind(largest=largest)
    n, R = (len(X) if new is None else len(new)), cells.rows.shape[1]
    out = _Results(n, R)
    rules = Rules(leaves_out=new is None, lone_zero=new is None)
    place = cp.asarray(cells.order if new is None else np.arange(n), dtype=cp.int64)
    if own is None:
        labels = card.rows[card.of]
    else:
        labels = cp.asarray(own, dtype=cp.int32)[place]
    blocks = _blocks(n, card.m)
    if new is None and len(blocks) == 1:
        sums, scale = sum_pairs(cols, cols, card, kind, (_cupy.NONE, _cupy.NONE), True)
        _judge(sums, scale, cells, card, cp.ascontiguousarray(labels), place, rules, out)
        return out.take()
    for block in blocks:
        if new is None:
            rows = _cupy.Layout(
                cp.ascontiguousarray(
                    cols.x[:, block.start : _cupy.round_up(block.stop, _cupy.TILE)]
                ),
                block.stop - block.start,
            )
        else:
            rows = _cupy.lay_out(new[block], middle, None, real)
        sums, scale = sum_pairs(rows, cols, card, kind, (_cupy.NONE, _cupy.NONE), False)
        _judge(
            sums, scale, cells, card, cp.ascontiguousarray(labels[block]), place[block], rules, out
        )
        del sums
    return out.take()


def kernel_silhouettes(
    pairs: KernelPairs, own: Ints, new: NDArray | None, scale: Floats | None, terms: Any
) -> tuple[Floats, Ints]:
    """Silhouettes (n, R) in the space of a kernel; `terms` are `within`, κ(x, x) and noise."""
    cp = _cupy.cupy()
    n, R = own.shape
    within, itself, noise = terms
    out = _Results(n, R)
    place = cp.asarray(pairs.cells.order if new is None else np.arange(n), dtype=cp.int64)
    labels = cp.ascontiguousarray(cp.asarray(own, dtype=cp.int32)[place])
    sums, unit = (pairs.sums, pairs.unit) if new is None else pairs.of_new(new, scale)
    more = (cp.asarray(within), cp.asarray(itself)[place], cp.asarray(noise)[place])
    rules = Rules(leaves_out=False, lone_zero=True, root=True)
    _judge(sums, unit, pairs.cells, pairs.card, labels, place, rules, out, more)
    return out.take()


def center_silhouettes(
    X: NDArray,
    centers: Floats,
    spread: Floats | None,
    clusters: Any,
    own: Ints,
    noise: Floats,
    rules: Rules,
) -> tuple[Floats, Ints]:
    """Silhouettes (n, R) by |x - centre|² + spread, and the nearest other clusters."""
    cp = _cupy.cupy()
    n, d = X.shape
    x = cp.ascontiguousarray(cp.asarray(X, dtype=cp.float64).T)
    groups, points, largest = _groups(clusters.start)
    shared = largest * points * 8
    function = _cupy.function_of(
        _cupy.compiled("silhouettes", f"-DPOINTS={points}"), "from_centers"
    )
    R = len(clusters.start) - 1
    out = _Results(n, R)
    function(
        (-(-n // points), len(groups) - 1),
        (points,),
        (
            *(x, np.int64(n), np.int64(n), np.int32(d), cp.asarray(centers, dtype=cp.float64)),
            *(
                _cupy.NONE if spread is None else cp.asarray(spread),
                np.int32(R),
                cp.asarray(clusters.start, dtype=cp.int32),
            ),
            *(
                cp.asarray(clusters.sizes),
                cp.asarray(own, dtype=cp.int32),
                cp.asarray(groups, dtype=cp.int32),
            ),
            *(
                cp.asarray(noise),
                np.int32(rules.leaves_out),
                np.int32(rules.lone_zero),
                np.int32(rules.root),
            ),
            *(out.s, out.nearest),
        ),
        shared_mem=shared,
    )
    return out.take()
