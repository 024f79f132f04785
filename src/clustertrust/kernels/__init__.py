"""The few inner loops of the package, and the choice of their implementation.

`backend()` is the module with the kernels: `_numba` (compiled, loaded at first use so that
importing clustertrust stays quick), or `_numpy` (plain, the oracle) where Numba cannot be imported.
A back end for other hardware is one more module with the same functions.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import warnings
from pathlib import Path
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
        module = importlib.import_module("clustertrust.kernels._numba")
        _announce_compiling(module)
        return module
    except ImportError as error:
        warnings.warn(
            f"Numba cannot be imported ({error}), so clustertrust runs its plain NumPy kernels, "
            "which are correct but slow. Remedy: pip install --upgrade numba",
            UserWarning,
            stacklevel=3,
        )
        return importlib.import_module("clustertrust.kernels._numpy")


def _announce_compiling(module: ModuleType) -> None:
    """Tell a person at a terminal why the first fit takes longer: no kernel is in Numba's cache."""
    folder = module.lay_out.stats.cache_path
    is_watched = sys.stderr is not None and os.isatty(2)
    if is_watched and not (folder and any(Path(folder).glob("*.nbi"))):
        once = "once on this computer (about 8 s)"
        if not folder:
            once = "about 8 s; to do this only once, set NUMBA_CACHE_DIR to a writable folder"
        print(f"clustertrust: compiling the inner loops, {once} …", file=sys.stderr)  # noqa: T201
