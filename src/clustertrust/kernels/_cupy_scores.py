"""Moments of silhouettes on an NVIDIA GPU, and one copy of what was computed from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clustertrust._types import Arrays
from clustertrust.kernels import _cupy

# Arrays of a row's numbers that are in use at once, at most.
_TEMPORARIES = 24


def moments(s: Any) -> tuple[Any, Any]:
    """Mean and standard deviation (n,) of each row of s (n, R), without its NaN."""
    cp = _cupy.cupy()
    counted = ~cp.isnan(s)
    runs = counted.sum(axis=1)
    mean = cp.where(counted, s, 0.0).sum(axis=1) / runs
    away = cp.where(counted, s - mean[:, None], 0.0)
    return mean, cp.sqrt((away**2).sum(axis=1) / runs)


def in_blocks(
    compute: Callable[[slice], Mapping[str, Any]], shape: tuple[int, int], names: tuple[str, ...]
) -> Arrays:
    """Fields (n,) of the rows of an array (n, R), by name, computed on the GPU in blocks of rows.

    They come back in one copy.
    """
    cp = _cupy.cupy()
    n, R = shape
    out = cp.empty((len(names), n))
    size = max(1, _cupy.budget() // (8 * _TEMPORARIES * R))
    for low in range(0, n, size):
        rows = slice(low, min(low + size, n))
        fields = compute(rows)
        for values, name in zip(out, names, strict=True):
            values[rows] = fields[name]
    return dict(zip(names, cp.asnumpy(out), strict=True))
