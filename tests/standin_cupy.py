"""CuPy's interface over NumPy, as far as the GPU back end uses it; its kernels are plain twins.

With it everything around the CUDA kernels runs where there is no GPU: layouts, blocks, budgets,
dispatch and errors. It is strict: an array of the card mixes with numbers and its own kind alone,
and becomes a NumPy array by `asnumpy` alone, which is counted; a kernel is called with the types
that its CUDA source declares. The kernels themselves are tested on a GPU by `make test-gpu`,
and compiled for the CPU by `make test-emulated`.
"""

import os
import re
import sys
import types
from contextlib import contextmanager

import emulated_cuda
import numpy as np
import pytest

from clustertrust.kernels import _cupy

# Whether the CUDA sources run, compiled for the CPU, in place of their twins.
EMULATED = os.environ.get("CLUSTERTRUST_EMULATE_CUDA") == "1"
MEMORY = [2**34]  # free bytes of the card; tests make it small
LAUNCHES = []  # names of the kernels that were called
COPIES = []  # shapes of the arrays that were copied to the host
UPLOADS = []  # and of those that were copied to the card
METHODS = {
    *("all", "any", "argmax", "argmin", "argsort", "astype", "copy", "cumsum", "max", "mean"),
    *("min", "ravel", "reshape", "sum", "var"),
}
FUNCTIONS = {
    *(
        "absolute",
        "arange",
        "argsort",
        "ascontiguousarray",
        "bincount",
        "clip",
        "concatenate",
        "cumsum",
    ),
    *("divide", "empty", "full", "hypot", "isnan", "maximum", "minimum", "moveaxis", "nan_to_num"),
    *("ones", "searchsorted", "sqrt", "stack", "take", "unique", "where", "zeros", "zeros_like"),
}
TYPES = {"bool_", "float32", "float64", "int32", "int64", "uint32", "inf", "nan"}


@contextmanager
def in_place():
    """The stand-in in place of CuPy; kernels are compiled anew."""
    _cupy.compiled.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cupy, "cupy", lambda: _self)
        for noted in (LAUNCHES, COPIES, UPLOADS):
            noted.clear()
        yield
    _cupy.compiled.cache_clear()


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):  # noqa: N801
    """An array on the card."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__" or ufunc.__name__ not in {*FUNCTIONS, *OPERATORS}:
            return NotImplemented
        return _call(ufunc, *inputs, **kwargs)

    def __array_function__(self, function, kinds, args, kwargs):
        if not all(issubclass(kind, ndarray) for kind in kinds):
            return NotImplemented
        return getattr(_self, function.__name__)(*args, **kwargs)

    @property
    def __cuda_array_interface__(self):
        return self._values.__array_interface__

    def __getattr__(self, name):
        if name in {"shape", "dtype", "ndim", "size", "itemsize", "flags", "nbytes"}:
            return getattr(self._values, name)
        if name not in METHODS:
            raise AttributeError(f"the stand-in for CuPy's arrays has no {name}")
        method = getattr(type(self._values), name)
        return lambda *args, **kwargs: _call(method, self, *args, **kwargs)

    @property
    def T(self):  # noqa: N802
        return ndarray(self._values.T)

    def __len__(self):
        return len(self._values)

    def __getitem__(self, index):
        return ndarray(self._values[_index(index)])

    def __setitem__(self, index, value):
        self._values[_index(index)] = _plain(value)

    def __float__(self):
        return float(asnumpy(self))

    def __int__(self):
        return int(asnumpy(self))

    def __bool__(self):
        return bool(asnumpy(self))

    def __reduce__(self):
        raise TypeError("an array of the card is not sent to another process")


OPERATORS = {
    *("add", "subtract", "multiply", "negative", "power", "floor_divide", "remainder"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("bitwise_and", "bitwise_or", "invert", "matmul"),
}


def _plain(value):
    """What NumPy takes of a value that may meet arrays of the card."""
    if isinstance(value, ndarray):
        return value._values
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    return value


def _index(index):
    if isinstance(index, tuple):
        return tuple(_plain(part) for part in index)
    return _plain(index)


def _wrapped(result):
    if isinstance(result, tuple):
        return tuple(map(_wrapped, result))
    return ndarray(result) if isinstance(result, np.ndarray | np.generic) else result


def _call(function, *args, **kwargs):
    assert not {"where", "casting", "order"} & kwargs.keys(), "CuPy does not have this option"
    args = [list(map(_plain, arg)) if isinstance(arg, list) else _plain(arg) for arg in args]
    kwargs = {name: _plain(value) for name, value in kwargs.items()}
    with np.errstate(divide="ignore", invalid="ignore"):  # CuPy never warns
        return _wrapped(function(*args, **kwargs))


def asnumpy(array):
    COPIES.append(array.shape)
    return np.array(array._values if isinstance(array, ndarray) else array)


def asarray(array, dtype=None):
    if isinstance(array, ndarray):
        return ndarray(array._values.astype(dtype or array.dtype, copy=False))
    array = np.array(array, dtype=dtype)
    UPLOADS.append(array.shape)
    return ndarray(array)


def argsort(array, axis=-1):
    return _call(np.argsort, array, axis=axis, kind="stable")


SHARED = {0: 227 * 1024}  # bytes that a block of threads may use, by GPU
CURRENT = [0]  # the GPU in use; tests add smaller ones


class _Device:
    def __init__(self, id=None):
        self.id = CURRENT[0] if id is None else id

    @property
    def attributes(self):
        rest = {"ClockRate": 10**6, "MultiProcessorCount": 100}
        return {"MaxSharedMemoryPerBlockOptin": SHARED[self.id], **rest}

    def synchronize(self):
        pass


runtime = types.SimpleNamespace(
    getDeviceCount=lambda: 1,
    getDeviceProperties=lambda device: {"name": b"a stand-in"},
    memGetInfo=lambda: (MEMORY[0], 2 * MEMORY[0]),
)
cuda = types.SimpleNamespace(runtime=runtime, Device=_Device)


def get_default_memory_pool():
    return types.SimpleNamespace(free_bytes=lambda: 0)


def _dissimilarity(kind, a, b, si, sj, gamma, shift, degree):
    if kind == 3:
        return (gamma * (a @ b.T) + shift) ** degree
    squares = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    if kind == 0:
        return np.sqrt(squares)
    if kind == 1:
        return np.exp(-squares / (si[:, None] * sj[None]))
    return np.exp(-gamma * squares)


def cell_sums(
    macros, grid, rows, ld_rows, n_rows, row_cell, row_scale, cols, ld_cols, n_cols, col_cell, *rest
):
    col_scale, symmetric, span, scale, gamma, shift, degree, out, ld_out = rest
    assert out.shape[1] == ld_out == ld_rows
    assert grid == (ld_rows // 128, -(-(ld_cols // 128) // span))
    assert not symmetric or rows is cols
    a, b = rows[:, :n_rows].T, cols[:, :n_cols].T
    of_rows = row_scale[:n_rows] if isinstance(row_scale, np.ndarray) else None
    of_cols = col_scale[:n_cols] if isinstance(col_scale, np.ndarray) else None
    values = _dissimilarity(int(macros["KIND"]), a, b, of_rows, of_cols, gamma, shift, degree)
    for j in range(len(out)):
        sums = values[:, col_cell[:n_cols] == j].sum(axis=1, dtype=np.float64)
        out[j, :n_rows] += np.rint(sums * scale).astype(np.int64)


def cell_totals(macros, grid, sums, ld, bounds, m, unscale, totals):
    for a in range(m):
        totals[a] = (sums[:, bounds[a] : bounds[a + 1]] * unscale).sum(axis=1)


def _judge(means, own, sizes, noise, leaves_out, lone_zero, root):
    """One point in one run, as the kernels of silhouettes have it."""
    if own < 0:
        return np.nan, -1
    others = np.where(np.arange(len(means)) == own, np.inf, means)
    nearest = int(others.argmin())
    a, b = means[own], others[nearest]
    if leaves_out:
        a = max(a * sizes[own], 0.0) / max(sizes[own] - 1, 1.0)
    if np.isinf(b):
        return 0.0, -1
    if lone_zero and sizes[own] == 1:
        return 0.0, nearest
    a, b = (x if x > noise else 0.0 for x in (a, b))
    if root:
        a, b = np.sqrt(a), np.sqrt(b)
    return (0.0 if max(a, b) == 0 else (b - a) / max(a, b)), nearest


def from_sums(
    macros, grid, sums, ld, n, m, unscale, cell_rows, R, start, sizes, own, place, group, *rest
):
    within, diagonal, noise, leaves_out, lone_zero, root, s, nearest = rest
    assert grid == (-(-n // int(macros["POINTS"])), len(group) - 1)
    for i in range(n):
        for r in range(R):
            of_run = slice(start[r], start[r + 1])
            held = np.zeros(start[r + 1] - start[r], dtype=np.int64)
            for j in range(m):
                if cell_rows[j, r] >= 0:
                    held[cell_rows[j, r]] += sums[j, i]
            means = held * unscale / sizes[of_run]
            if isinstance(within, np.ndarray):
                means = np.maximum(diagonal[i] - 2 * means + within[of_run], 0.0)
            floor = noise[i] if isinstance(noise, np.ndarray) else 0.0
            at = place[i], r
            s[at], nearest[at] = _judge(
                means, own[i, r], sizes[of_run], floor, leaves_out, lone_zero, root
            )


def from_centers(
    macros, grid, x, ld, n, d, centers, spread, R, start, sizes, own, group, noise, *rest
):
    leaves_out, lone_zero, root, s, nearest = rest
    for i in range(n):
        squares = ((x[:, i] - centers) ** 2).sum(axis=1)
        if isinstance(spread, np.ndarray):
            squares = squares + spread
        for r in range(R):
            of_run = slice(start[r], start[r + 1])
            s[i, r], nearest[i, r] = _judge(
                squares[of_run], own[i, r], sizes[of_run], noise[i], leaves_out, lone_zero, root
            )


def assign(macros, grid, x, ld, n, d, centers, k, active, labels, distance, changed):
    for run in active:
        squares = ((x[:d, :n].T[:, None] - centers[run][None]) ** 2).sum(axis=2)
        found = squares.argmin(axis=1)
        changed[run] += (labels[run] != found).sum()
        labels[run], distance[run] = found, squares.min(axis=1)


def partial_sums(macros, grid, x, ld, n, d, labels, k, active, R, per_part, batch, parts):
    for part in range(len(parts)):
        of_part = slice(part * per_part, min(n, (part + 1) * per_part))
        for run in active:
            for c in range(k):
                members = x[:d, of_part][:, labels[run, of_part] == c]
                parts[part, run, c, :d] = members.sum(axis=1, dtype=np.float64)
                parts[part, run, c, d] = members.shape[1]


def move_centers(macros, grid, parts, n_parts, k, d, active, R, centers, sums, shift):
    assert len(parts) == n_parts
    for run in active:
        sums[run] = parts[:, run].sum(axis=0)
        before = centers[run].astype(np.float64)
        known = sums[run, :, d] > 0
        centers[run, known] = sums[run, known, :d] / sums[run, known, d:]
        shift[run] = ((centers[run] - before) ** 2).sum()


def place(macros, grid, x, ld, n, d, centers, k, labels):
    for run in range(len(centers)):
        labels[:, run] = ((x.T[:, None] - centers[run][None]) ** 2).sum(axis=2).argmin(axis=1)


def to_candidates(macros, grid, x, ld, n, d, candidates, trials, closest, out):
    points = x[:d, :n].T
    for run, chosen in enumerate(candidates):
        for trial, p in enumerate(chosen):
            out[run, trial] = np.minimum(((points - points[p]) ** 2).sum(axis=1), closest[run])


def moments_double(macros, grid, x, d, order, bounds, means, squares):
    assert grid == (len(means),)
    for j in range(len(means)):
        points = x[order[bounds[j] : bounds[j + 1]]].astype(np.float64)
        means[j] = points.mean(axis=0)
        squares[j] = ((points - means[j]) ** 2).sum()


moments_single = moments_double


class RawModule:
    def __init__(self, code, options):
        self.macros = dict(option[2:].split("=") for option in options if option.startswith("-D"))
        self.signatures = dict(_signatures(code))
        self.library = emulated_cuda.load(code, options, self.signatures) if EMULATED else None

    def get_function(self, name):
        most, declared = self.signatures[name]

        def launch(grid, block, arguments, shared_mem=0):
            assert 0 < block[0] <= int(self.macros.get(most, most))
            assert all(
                0 < size < 2**31 if axis == 0 else 0 < size < 2**16
                for axis, size in enumerate(grid)
            )
            assert shared_mem <= SHARED[CURRENT[0]]
            for kind, argument in zip(declared, arguments, strict=True):
                _check_argument(kind, argument, self.macros)
            LAUNCHES.append(name)
            plain = list(map(_plain, arguments))
            if self.library is not None:
                emulated_cuda.launch(self.library, name, grid, block, plain, shared_mem)
                return
            with np.errstate(divide="ignore", invalid="ignore"):
                globals()[name](self.macros, grid, *plain)

        return _Function(launch)


# In bytes, and whether they are numbers with a fraction.
WORDS = {
    "float": (4, True),
    "double": (8, True),
    "int": (4, False),
    "unsigned": (4, False),
    "long long": (8, False),
    "Word": (8, False),
    "Fixed": (8, False),
    "bool": (1, False),
}


def _signatures(code):
    """The kernels of a source: name, most threads a block, and the types of the arguments."""
    pattern = (
        r'extern "C" __global__ void\s+(?:__launch_bounds__\((\w+).*?\)\s+)?(\w+)\((.*?)\)\s*\{'
    )
    for most, name, declared in re.findall(pattern, code, flags=re.DOTALL):
        kinds = [
            re.fullmatch(
                r"\s*(?:const )?([\w ]+?)\s*(\*?)\s*(?:__restrict__)?\s*\w+\s*", one
            ).groups()
            for one in declared.split(",")
        ]
        yield name, (most or "1024", kinds)


def _check_argument(kind, argument, macros):
    word, star = kind
    size, is_real = WORDS[macros.get(word, word)]
    if star and isinstance(argument, np.uint64):
        assert argument == 0  # a null pointer
        return
    assert isinstance(argument, ndarray if star else np.generic), (kind, type(argument))
    assert argument.dtype.itemsize == size, (kind, argument.dtype)
    assert (argument.dtype.kind == "f") == is_real, (kind, argument.dtype)
    assert not star or argument.flags.c_contiguous, kind


class _Function:
    max_dynamic_shared_size_bytes = 48 * 1024

    def __init__(self, launch):
        self._launch = launch

    def __call__(self, grid, block, arguments, shared_mem=0):
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        self._launch(grid, block, arguments, shared_mem)


def __getattr__(name):
    """Functions and types that CuPy has under NumPy's names."""
    if name in TYPES:
        return getattr(np, name)
    if name not in FUNCTIONS:
        raise AttributeError(f"the stand-in for CuPy has no {name}")
    return lambda *args, **kwargs: _call(getattr(np, name), *args, **kwargs)


_self = sys.modules[__name__]
