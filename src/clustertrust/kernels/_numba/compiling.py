"""How the kernels are compiled: which freedom the compiler has, and where machine code is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

# Views of rows, as in the kernels, have indices that cannot be negative; with sums of indices in
# their place Numba would check for that in the innermost loops, which keeps them out of the vector
# registers.

# Sums may be regrouped, which is what lets loops run in vector registers; NaN and infinity keep
# their meaning.
_REGROUP = {"reassoc", "contract", "nsz"}
# Points a tile. A tile of 20 features then fills two thirds of a first-level cache, a tile of
# distances an eighth of a second-level one.
TILE = 128


# Nobody asks for the address of a kernel, and to make it callable from C takes time.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# What a compiler sees is what it takes time for, here mostly in Python: kernels hold no memory of
# their own (an `np.empty` takes as long as a loop), a ternary expression is there for `max`, and
# inner functions cannot be called from Python.


def compiled(function: Callable[..., Any], fastmath: set[str] | bool = _REGROUP) -> Any:
    """Compile at the first call.

    Keep the machine code on disk where some folder can be written to.
    """
    try:
        return numba.njit(**_OPTIONS, cache=True, fastmath=fastmath)(function)
    except RuntimeError:  # no folder for the cache
        return numba.njit(**_OPTIONS, fastmath=fastmath)(function)


def strictly(function: Callable[..., Any]) -> Any:
    """Compile without regrouping: the same bits on every processor."""
    return compiled(function, fastmath=False)


def inner(function: Callable[..., Any], fastmath: set[str] | bool = _REGROUP) -> Any:
    """Compile as part of the kernels that call it; Python cannot."""
    options = _OPTIONS | {"no_cpython_wrapper": True}
    return numba.njit(**options, fastmath=fastmath)(function)


def inner_strictly(function: Callable[..., Any]) -> Any:
    """Compile as `inner` does, without regrouping."""
    return inner(function, fastmath=False)
