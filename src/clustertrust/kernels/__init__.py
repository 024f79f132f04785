"""The few inner loops of the package, and the choice of their implementation.

`backend()` is the module with the kernels: `_numba` (compiled, loaded at first use so that
importing clustertrust stays quick), or `_numpy` (plain, the oracle) where Numba cannot be imported.
A back end for other hardware is one more module with the same functions.
"""

from __future__ import annotations

import functools
import importlib
import threading
import warnings
from types import ModuleType

_lock = threading.Lock()


def backend() -> ModuleType:
    """Return the module that holds the kernels, choosing it at the first call."""
    # Threads that come first together choose, and warn, once.
    with _lock:
        return _choose()


@functools.cache
def _choose() -> ModuleType:
    try:
        return importlib.import_module("clustertrust.kernels._numba")
    except ImportError as error:
        warnings.warn(
            f"Numba cannot be imported ({error}), so clustertrust runs its plain NumPy kernels, "
            "which are correct but slow. Remedy: pip install --upgrade numba",
            UserWarning,
            stacklevel=3,
        )
        return importlib.import_module("clustertrust.kernels._numpy")
