"""CuPy's interface over NumPy, as far as the GPU back end uses it; its kernels are plain twins.

With it everything around the CUDA kernels runs where there is no GPU: layouts, blocks, budgets,
dispatch and errors. The kernels themselves are tested on a GPU by `make test-gpu`.
"""

import types

import numpy as np

MEMORY = [2**34]  # free bytes of the card; tests make it small
LAUNCHES = []  # names of the kernels that were called


def asnumpy(array):
    return np.array(array)


def asarray(array, dtype=None):
    return np.array(array, dtype=dtype)  # a copy, as from the host to the card


class _Device:
    attributes = types.MappingProxyType({"MaxSharedMemoryPerBlockOptin": 227 * 1024})

    def synchronize(self):
        pass


runtime = types.SimpleNamespace(
    getDeviceCount=lambda: 1, memGetInfo=lambda: (MEMORY[0], 2 * MEMORY[0])
)
cuda = types.SimpleNamespace(runtime=runtime, Device=_Device)


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


class RawModule:
    def __init__(self, code, options):
        assert 'extern "C"' in code
        self.macros = dict(option[2:].split("=") for option in options if option.startswith("-D"))

    def get_function(self, name):
        def launch(grid, block, arguments, shared_mem=0):
            assert 0 < block[0] <= 1024
            assert shared_mem <= _Device.attributes["MaxSharedMemoryPerBlockOptin"]
            LAUNCHES.append(name)
            globals()[name](self.macros, grid, *arguments)

        return _Function(launch)


class _Function:
    max_dynamic_shared_size_bytes = 48 * 1024

    def __init__(self, launch):
        self._launch = launch

    def __call__(self, grid, block, arguments, shared_mem=0):
        assert shared_mem <= self.max_dynamic_shared_size_bytes
        self._launch(grid, block, arguments, shared_mem)


def __getattr__(name):
    """All else is NumPy's."""
    return getattr(np, name)
