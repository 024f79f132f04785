"""How the kernels are compiled: which freedom the compiler has, and where machine code is kept."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching
from numba.misc import appdirs

# Views of rows, as in the kernels, have indices that cannot be negative; with sums of indices in
# their place Numba would check for that in the innermost loops, which keeps them out of the vector
# registers.

# Sums may be regrouped, which is what lets loops run in vector registers; NaN and infinity keep
# their meaning.
_REGROUP = {"reassoc", "contract", "nsz"}
# Points a tile. A tile of 20 features then fills two thirds of a first-level cache, a tile of
# distances an eighth of a second-level one.
TILE = 128


# Without types
_numba: Any = numba
_caching: Any = caching
_appdirs: Any = appdirs
# Where Numba keeps machine code, the folder that is named by `NUMBA_CACHE_DIR` first
_Locator: Any
_Locator, *_OTHERS = _caching.CompileResultCacheImpl._locator_classes


class _SharedFolder(_Locator):
    """Numba's folder of the user, the same for all environments with these kernels and this Numba.

    Numba itself keeps machine code beside each installed copy of a file, and trusts it by the
    file's date. It adds processor, Python and types of arguments to the key in either case.
    """

    def get_cache_path(self) -> str:
        """Return the folder."""
        user = _appdirs.user_cache_dir("numba", False)
        return str(Path(_numba.config.CACHE_DIR or user, f"clustertrust-{_contents()}"))

    def get_source_stamp(self) -> str:
        """Return what the code depends on: a change in any kernel makes all of it stale."""
        return _contents()

    def get_disambiguator(self) -> str:
        """Return a part of the files' names, which differ without it."""
        return "0"

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _SharedFolder | None:
        """Return the folder, or None if it cannot be written to or there are no files to hash."""
        locator = cls(py_func, py_file)
        if not Path(__file__).is_file():
            return None
        try:
            locator.ensure_cache_path()
        except OSError:
            return None
        return locator


@functools.cache
def _contents() -> str:
    """Return a hash of all kernels and of Numba's version."""
    hashed = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


class _Places(_caching.CompileResultCacheImpl):
    """Where code is kept: in the shared folder, or else where Numba keeps it."""

    _locator_classes = (_SharedFolder, *_OTHERS)


class _Cache(_caching.FunctionCache):
    """The code of one kernel on disk."""

    _impl_class = _Places


# Nobody asks for the address of a kernel, and to make it callable from C takes time.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# What a compiler sees is what it takes time for, here mostly in Python: kernels hold no memory of
# their own (an `np.empty` takes as long as a loop), a ternary expression is there for `max`, and
# inner functions cannot be called from Python.


def compiled(function: Callable[..., Any], fastmath: set[str] | bool = _REGROUP) -> Any:
    """Compile at the first call.

    Keep the machine code on disk where some folder can be written to.
    """
    kernel: Any = numba.njit(**_OPTIONS, fastmath=fastmath)(function)
    with suppress(RuntimeError):  # no folder for the cache
        # As its method `enable_caching` does, with another place
        kernel._cache = _Cache(function)
    return kernel


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


def inlined(function: Callable[..., Any]) -> Any:
    """Put its lines into the kernel that calls it in one place, which takes less time."""
    return numba.njit(**_OPTIONS, inline="always", fastmath=_REGROUP)(function)
