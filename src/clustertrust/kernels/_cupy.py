"""An NVIDIA GPU, by CuPy: the device, its memory, compiled sources, and points laid out on it.

Coordinates are float32 unless `precision` is "double"; they are centred in float64 first, so that
data far from the origin lose no digits that their distances have.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from clustertrust._types import Array, Floats

# Points a tile of pairs.
TILE = 128
# Of the free memory of the GPU that sums may take.
SHARE = 0.7
# A null pointer.
NONE = np.uint64(0)


def cupy() -> Any:
    """The module CuPy, at whose import nothing happens before it is asked for."""
    return importlib.import_module("cupy")


def usable() -> str | None:
    """Why no GPU can be used here; None where one can."""
    try:
        cp = cupy()
    except ImportError as error:
        return f'CuPy cannot be imported ({error}): pip install "clustertrust[gpu]"'
    try:
        count = cp.cuda.runtime.getDeviceCount()
    except Exception as error:  # CuPy's own kinds, of a driver that is missing or too old
        return f"no GPU answers ({error})"
    return None if count else "there is no GPU"


class _Copies(threading.local):
    """What this thread holds on the GPU: arrays of the host, with their copies, by identity."""

    def __init__(self) -> None:
        self.depth = 0
        self.held: dict[int, tuple[Array, Any]] = {}


_copies = _Copies()


@contextmanager
def holding() -> Iterator[None]:
    """Keep copies of arrays on the GPU for the work inside, so that each is copied once.

    Nobody may change those arrays meanwhile.
    """
    _copies.depth += 1
    try:
        yield
    finally:
        _copies.depth -= 1
        if _copies.depth == 0:
            _copies.held.clear()


def hold(array: Array, copy: Any) -> None:
    """Let `on_gpu` return this copy of an array, inside `holding`."""
    if _copies.depth:
        # With the array: while it lives, no other has its identity.
        _copies.held[id(array)] = array, copy


def on_gpu(array: Array, dtype: Any = None) -> Any:
    """Return an array on the GPU: the copy that is held there, or a new one."""
    if id(array) in _copies.held:
        copy = _copies.held[id(array)][1]
    else:
        copy = cupy().asarray(array)
        hold(array, copy)
    return copy if dtype is None else copy.astype(dtype, copy=False)


# Two blocks at once could ask for more memory than there is.
one_at_a_time = threading.Lock()


@functools.cache
def compiled(name: str, *options: str) -> Any:
    """A CUDA source, compiled for these options and kept."""
    code = files("clustertrust.kernels").joinpath("cuda", f"{name}.cu").read_text(encoding="utf-8")
    return cupy().RawModule(code=code, options=("-std=c++17", *options))


def shared_limit() -> int:
    """Bytes of shared memory that a block may ask for on this GPU."""
    return _shared_limit_of(cupy().cuda.Device().id)


@functools.cache
def _shared_limit_of(device: int) -> int:
    """The same for the GPU of this number; asked once, since it takes a call for each attribute."""
    return int(cupy().cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"])


def function_of(module: Any, name: str) -> Any:
    """A kernel of a compiled source that may take as much shared memory as the GPU allows.

    The limit belongs to the kernel, not to a call. So it is always the same: a thread that needs
    less must not lower it between another's call of this function and its launch.
    """
    function = module.get_function(name)
    function.max_dynamic_shared_size_bytes = shared_limit()
    return function


def round_up(n: int, step: int) -> int:
    """The least multiple of `step` that is not below n."""
    return -(-n // step) * step


@dataclass(frozen=True)
class Layout:
    """Points on the GPU, features first (d', n'), padded with zeros to whole tiles and to fours of
    features.
    """

    x: Any
    n: int

    @property
    def ld(self) -> int:
        """n', from one feature to the next."""
        return int(self.x.shape[1])

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What kernels take of them: the points, n' and n."""
        return self.x, np.int64(self.ld), np.int64(self.n)


def lay_out(X: Array, middle: Floats | None, order: Any, real: Any) -> Layout:
    """Points less `middle`, on the GPU; `order` is there too, None: as they are."""
    cp = cupy()
    points = on_gpu(X)
    if order is not None:
        points = points[order]
    if middle is not None:
        points = points.astype(cp.float64, copy=False) - cp.asarray(middle)
    n, d = points.shape
    x = cp.zeros((round_up(d, 4), round_up(n, TILE)), dtype=real)
    x[:d, :n] = points.T
    return Layout(x, n)


def budget() -> int:
    """Bytes of the GPU that sums may take."""
    cp = cupy()
    # What CuPy keeps for later is free for us.
    free = cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes()
    return int(SHARE * free)


def real_type(precision: str) -> Any:
    """The type of coordinates for `precision`."""
    return np.dtype(np.float64 if precision == "double" else np.float32)


def middle_of(X: Array) -> tuple[Floats, float]:
    """Mean of the points, and a bound of their distances."""
    cp = cupy()
    points = on_gpu(X)
    middle = points.mean(axis=0, dtype=cp.float64)
    farthest = float(cp.sqrt(((points - middle) ** 2).sum(axis=1).max()))
    return cp.asnumpy(middle), 2.0 * farthest * (1 + 1e-5)
