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


def compiled(function: Callable[..., Any], fastmath: set[str] | bool = _REGROUP) -> Any:
    """Compile at the first call.

    Keep the machine code on disk where some folder can be written to.
    """
    try:
        return numba.njit(nogil=True, cache=True, fastmath=fastmath, error_model="numpy")(function)
    except RuntimeError:  # no folder for the cache
        return numba.njit(nogil=True, fastmath=fastmath, error_model="numpy")(function)


def strictly(function: Callable[..., Any]) -> Any:
    """Compile without regrouping: the same bits on every processor."""
    return compiled(function, fastmath=False)
