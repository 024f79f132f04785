"""The kernels on an NVIDIA GPU, by CuPy: whole jobs, since what goes to the card and back costs
more than a block.

Coordinates are float32 unless `precision` is "double"; they are centred in float64 first, so that
data far from the origin lose no digits that their distances have. Sums are whole numbers (fixed
point): the same bits in any order.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "KernelPairs",
    "Rules",
    "center_silhouettes",
    "cupy",
    "exact_silhouettes",
    "kernel_silhouettes",
    "kmeans_runs",
    "sums_by_cell",
    "usable",
]

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]

TILE = 128  # points a tile of pairs
SPAN = 64  # tiles of columns that a block goes through
SHARE = 0.7  # of the free memory of the card that sums may take
SHARED = 200 * 1024  # bytes of shared memory that a block may ask for
NONE = np.uint64(0)  # a null pointer
KINDS = {"euclidean": 0, "self-tuning": 1, "rbf": 2, "polynomial": 3}


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


@functools.cache
def _module(name: str, *options: str) -> Any:
    """A CUDA source, compiled for these options and kept."""
    code = files("clustertrust.kernels").joinpath("cuda", f"{name}.cu").read_text(encoding="utf-8")
    return cupy().RawModule(code=code, options=("-std=c++17", *options))


def _function(module: Any, name: str, shared: int) -> Any:
    function = module.get_function(name)
    if shared > 48 * 1024:
        function.max_dynamic_shared_size_bytes = shared
    return function


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


@dataclass(frozen=True)
class Layout:
    """Points on the card, features first (d', n'), padded with zeros to whole tiles and to fours of
    features.
    """

    x: Any
    n: int

    @property
    def ld(self) -> int:
        """n', from one feature to the next."""
        return int(self.x.shape[1])


def lay_out(X: NDArray, middle: Floats | None, order: Ints | None, real: Any) -> Layout:
    """Points less `middle`, in this order, on the card."""
    cp = cupy()
    points = cp.asarray(X)
    if order is not None:
        points = points[cp.asarray(order)]
    if middle is not None:
        points = points.astype(cp.float64, copy=False) - cp.asarray(middle)
    n, d = points.shape
    x = cp.zeros((_up(d, 4), _up(n, TILE)), dtype=real)
    x[:d, :n] = points.T
    return Layout(x, n)


@dataclass(frozen=True)
class Kind:
    """What is summed over pairs: distances, or values of a kernel, each at most `largest` in size.

    `scale` are the scales of the training points for "self-tuning"; gamma, shift and degree are for
    the others.
    """

    name: str = "euclidean"
    largest: float = 0.0
    gamma: float = 1.0
    shift: float = 0.0
    degree: int = 1


def _budget() -> int:
    return int(SHARE * cupy().cuda.runtime.memGetInfo()[0])


def _fixed_scale(largest: float, n: int) -> float:
    """A power of two such that n values of at most `largest` add up below 2**62."""
    if largest == 0:
        return 1.0
    return float(
        np.ldexp(1.0, int(np.clip(61 - np.ceil(np.log2(largest) + np.log2(n)), -1000, 1000)))
    )


def _options(real: Any, rows: Layout, kind: Kind) -> tuple[str, ...]:
    """What the source of the sums is compiled for."""
    name = "float" if real == np.float32 else "double"
    return f"-DREAL={name}", f"-DD={rows.x.shape[0]}", f"-DKIND={KINDS[kind.name]}"


def _sum_pairs(
    rows: Layout, cols: Layout, cells: Any, kind: Kind, scales: tuple[Any, Any], symmetric: bool
) -> Any:
    """Fixed-point sums (m, n') of the rows' points over the cells of the columns' points, and their
    scale.
    """
    cp = cupy()
    real = rows.x.dtype
    d = rows.x.shape[0]
    options = _options(real, rows, kind)
    chunk = d if d <= 32 else 16
    stages = 3 if d <= 32 else 4
    shared = int(real.itemsize * (stages * chunk * TILE + TILE * (TILE + 1)))
    function = _function(_module("sums", *options), "cell_sums", shared)
    scale = _fixed_scale(kind.largest, cols.n)
    out = cp.zeros((cells.m, rows.ld), dtype=cp.int64)
    tiles_rows, tiles_cols = rows.ld // TILE, cols.ld // TILE
    grid = (tiles_rows, -(-tiles_cols // SPAN))
    arguments = (
        *(rows.x, np.int64(rows.ld), np.int64(rows.n), cells.of if symmetric else NONE, scales[0]),
        *(cols.x, np.int64(cols.ld), np.int64(cols.n), cells.of, scales[1]),
        *(np.int32(symmetric), np.int32(SPAN), np.float64(scale)),
        *(
            real.type(kind.gamma),
            real.type(kind.shift),
            np.int32(kind.degree),
            out,
            np.int64(rows.ld),
        ),
    )
    function(grid, (256,), arguments, shared_mem=shared)
    return out, scale


@dataclass(frozen=True)
class OnCard:
    """What the kernels read of cells and runs: labels of cells (m, R), the cell of each point in
    sorted order, …
    """

    m: int
    of: Any
    rows: Any
    start: Any
    sizes: Any
    bounds: Any

    @classmethod
    def load(cls, cells: Any) -> OnCard:
        """Copy the cells to the card."""
        cp = cupy()
        return cls(
            m=len(cells.counts),
            of=cp.asarray(cells.of[cells.order].astype(np.int32)),
            rows=cp.asarray(np.ascontiguousarray(cells.rows, dtype=np.int32)),
            start=cp.asarray(cells.start.astype(np.int32)),
            sizes=cp.asarray(cells.sizes.astype(np.float64)),
            bounds=cp.asarray(cells.bounds.astype(np.int64)),
        )


def _groups(start: Ints) -> tuple[list[int], int, int]:
    """First runs of groups whose clusters fit into shared memory, points a block, and the largest
    group's clusters.
    """
    widest = int(np.diff(start).max(initial=1))
    points = 64
    while points > 1 and widest * points * 8 > SHARED:
        points //= 2
    if widest * points * 8 > SHARED:
        raise ValueError(
            f"A run has {widest} clusters; device='cuda' takes up to {SHARED // 8}. Use "
            "device='cpu'."
        )
    most = SHARED // (points * 8)
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
        cp = cupy()
        self.s, self.nearest = cp.empty((n, R)), cp.empty((n, R), dtype=cp.int32)

    def take(self) -> tuple[Floats, Ints]:
        cp = cupy()
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
    cp = cupy()
    groups, points, largest = _groups(cells.start)
    shared = largest * points * 8
    function = _function(_module("silhouettes", f"-DPOINTS={points}"), "from_sums", shared)
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
            *((NONE, NONE, NONE) if terms is None else terms),
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
    most = _budget() // max(1, 8 * m)
    size = max(TILE, most // TILE * TILE)
    return [slice(low, min(low + size, n)) for low in range(0, n, size)]


def sums_by_cell(X: NDArray, cells: Any, *, precision: str = "single") -> Floats:
    """Σ of distances from each point to the points of each cell: (m, n), points sorted by cell, as
    `tiles` has it.
    """
    cp = cupy()
    middle, largest = _middle(X)
    real = _real(precision)
    rows = lay_out(X, middle, cells.order, real)
    sums, scale = _sum_pairs(
        rows, rows, OnCard.load(cells), Kind(largest=largest), (NONE, NONE), True
    )
    return np.asarray(cp.asnumpy(sums[:, : rows.n].astype(cp.float64) / scale))


def _real(precision: str) -> Any:
    return np.dtype(np.float64 if precision == "double" else np.float32)


def _middle(X: NDArray) -> tuple[Floats, float]:
    """Mean of the points, and a bound of their distances."""
    cp = cupy()
    points = cp.asarray(X)
    middle = points.mean(axis=0, dtype=cp.float64)
    farthest = float(cp.sqrt(((points - middle) ** 2).sum(axis=1).max()))
    return cp.asnumpy(middle), 2.0 * farthest * (1 + 1e-5)


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
    cp = cupy()
    middle, largest = _middle(X if new is None else np.concatenate([X, new]))
    real = _real(precision)
    card = OnCard.load(cells)
    cols = lay_out(X, middle, cells.order, real)
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
        sums, scale = _sum_pairs(cols, cols, card, kind, (NONE, NONE), True)
        _judge(sums, scale, cells, card, cp.ascontiguousarray(labels), place, rules, out)
        return out.take()
    for block in blocks:
        if new is None:
            rows = Layout(
                cp.ascontiguousarray(cols.x[:, block.start : _up(block.stop, TILE)]),
                block.stop - block.start,
            )
        else:
            rows = lay_out(new[block], middle, None, real)
        sums, scale = _sum_pairs(rows, cols, card, kind, (NONE, NONE), False)
        _judge(
            sums, scale, cells, card, cp.ascontiguousarray(labels[block]), place[block], rules, out
        )
        del sums
    return out.take()


class KernelPairs:
    """Sums of kernel values over the pairs of the training points, in float64, kept on the card."""

    def __init__(self, X: NDArray, cells: Any, kernel: str, params: Any, scale: Any) -> None:
        cp = cupy()
        self.cells, self.card = cells, OnCard.load(cells)
        self.cols = lay_out(X, None, cells.order, np.dtype(np.float64))
        self.kind = _kernel_kind(X, kernel, params)
        self.scale = NONE if scale is None else self._padded(scale[cells.order])
        self.sums, self.unit = _sum_pairs(
            self.cols, self.cols, self.card, self.kind, (self.scale, self.scale), True
        )
        cp.cuda.Device().synchronize()

    @staticmethod
    def _padded(scale: Floats) -> Any:
        """Scales of points, and 1 for what stands beyond them."""
        cp = cupy()
        out = cp.ones(_up(len(scale), TILE))
        out[: len(scale)] = cp.asarray(scale)
        return out

    def within(self) -> Floats:
        """(K,) mean of κ over the pairs of each cluster."""
        cp = cupy()
        m = self.card.m
        totals = cp.empty((m, m))
        _module("sums", *_options(np.dtype(np.float64), self.cols, self.kind)).get_function(
            "cell_totals"
        )(
            (m, m),
            (128,),
            (
                *(self.sums, np.int64(self.sums.shape[1]), self.card.bounds),
                *(np.int32(m), np.float64(1.0 / self.unit), totals),
            ),
        )
        members = cp.asarray(self.cells.members.toarray())
        return np.asarray(
            cp.asnumpy(((totals @ members) * members).sum(axis=0)) / self.cells.sizes**2
        )

    def of_new(self, points: NDArray, scale: Floats | None) -> tuple[Any, float]:
        """Sums of κ between unseen points and the cells."""
        rows = lay_out(points, None, None, np.dtype(np.float64))
        scales = (NONE if scale is None else self._padded(scale), self.scale)
        return _sum_pairs(rows, self.cols, self.card, self.kind, scales, False)


def _kernel_kind(X: NDArray, kernel: str, params: Any) -> Kind:
    if kernel == "self-tuning":
        return Kind("self-tuning", largest=1.0)
    if kernel == "rbf":
        return Kind("rbf", largest=1.0, gamma=float(params["gamma"]))
    gamma, shift, degree = (
        (1.0, 0.0, 1)
        if kernel == "linear"
        else (float(params["gamma"]), float(params["coef0"]), int(params["degree"]))
    )
    # Unseen points may have larger products: sixteen times is allowed for.
    farthest = float((np.asarray(X, np.float64) ** 2).sum(axis=1).max(initial=0.0))
    largest = 16.0 * (abs(gamma) * farthest + abs(shift)) ** degree
    return Kind("polynomial", largest, gamma, shift, degree)


def kernel_silhouettes(
    pairs: KernelPairs, own: Ints, new: NDArray | None, scale: Floats | None, terms: Any
) -> tuple[Floats, Ints]:
    """Silhouettes (n, R) in the space of a kernel; `terms` are `within`, κ(x, x) and noise."""
    cp = cupy()
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
    cp = cupy()
    n, d = X.shape
    x = cp.ascontiguousarray(cp.asarray(X, dtype=cp.float64).T)
    groups, points, largest = _groups(clusters.start)
    shared = largest * points * 8
    function = _function(_module("silhouettes", f"-DPOINTS={points}"), "from_centers", shared)
    R = len(clusters.start) - 1
    out = _Results(n, R)
    function(
        (-(-n // points), len(groups) - 1),
        (points,),
        (
            *(x, np.int64(n), np.int64(n), np.int32(d), cp.asarray(centers, dtype=cp.float64)),
            *(
                NONE if spread is None else cp.asarray(spread),
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


@dataclass(frozen=True)
class KMeansRun:
    """One run of k-means: labels (n,), centres (k, d) in float64, sum of squared distances,
    iterations.
    """

    labels: Ints
    centers: Floats
    inertia: float
    n_iter: int


class KMeansRuns:
    """k-means with k clusters, one run a seed, all runs in step on the card.

    Starts are k-means++ (greedy, with 2 + ⌊log k⌋ trials, as in scikit-learn) or random points.
    Lloyd's steps end where no label changes, or where the centres move by no more than `tol` times
    the mean variance of the columns.
    """

    # parts of the points whose sums are added up in order: two for each multiprocessor of a large
    # card
    PARTS = 264

    def __init__(self, X: NDArray, k: int, seeds: list[int], *, tol: float = 1e-4) -> None:
        cp = cupy()
        self.X, self.k, self.R = X, k, len(seeds)
        self.rngs = [np.random.default_rng(seed) for seed in seeds]
        self.middle, _ = _middle(X)
        self.points = lay_out(X, self.middle, None, np.dtype(np.float32))
        self.n, self.d = X.shape
        self.tol = tol * float(cp.asarray(X).var(axis=0, dtype=cp.float64).mean())
        self.labels = cp.full((self.R, self.n), -1, dtype=cp.int32)
        self.distance = cp.empty((self.R, self.n), dtype=cp.float32)
        self.module = _module("kmeans")

    def _at(self, positions: Any) -> Any:
        """Coordinates of points, (…, d)."""
        cp = cupy()
        return cp.moveaxis(self.points.x[: self.d][:, positions], 0, -1)

    def start(self, init: str) -> Any:
        """Centres (R, k, d)."""
        cp = cupy()
        if init == "random":
            chosen = np.array([rng.choice(self.n, self.k, replace=False) for rng in self.rngs])
            return cp.ascontiguousarray(self._at(cp.asarray(chosen)))
        return self._plus_plus()

    def _plus_plus(self) -> Any:
        cp = cupy()
        trials = 2 + int(np.log(self.k))
        first = cp.asarray(np.array([[rng.integers(self.n)] for rng in self.rngs]))
        closest = cp.full((self.R, self.n), cp.inf, dtype=cp.float32)
        closest = self._nearer(first, closest)[:, 0]
        chosen = [first[:, 0]]
        for _ in range(1, self.k):
            running = cp.cumsum(closest, axis=1, dtype=cp.float64)
            draws = (
                cp.asarray(np.array([rng.random(trials) for rng in self.rngs])) * running[:, -1:]
            )
            at = cp.stack([cp.searchsorted(running[r], draws[r]) for r in range(self.R)])
            candidates = cp.minimum(at, self.n - 1)
            nearer = self._nearer(candidates, closest)
            best = nearer.sum(axis=2, dtype=cp.float64).argmin(axis=1)
            every = cp.arange(self.R)
            chosen.append(candidates[every, best])
            closest = nearer[every, best]
        return cp.ascontiguousarray(self._at(cp.stack(chosen, axis=1)))

    def _nearer(self, candidates: Any, closest: Any) -> Any:
        """(R, trials, n) squared distance to the nearest centre if each candidate were one."""
        cp = cupy()
        trials = candidates.shape[1]
        out = cp.empty((self.R, trials, self.n), dtype=cp.float32)
        self.module.get_function("to_candidates")(
            (-(-self.n // 128), self.R, trials),
            (128,),
            (
                *(self.points.x, np.int64(self.points.ld), np.int64(self.n), np.int32(self.d)),
                *(
                    cp.ascontiguousarray(candidates, dtype=cp.int64),
                    np.int32(trials),
                    cp.ascontiguousarray(closest),
                    out,
                ),
            ),
        )
        return out

    def _assign(self, centers: Any, active: Any) -> Any:
        """Labels of the nearest centres; how many changed, by run."""
        cp = cupy()
        changed = cp.zeros(self.R, dtype=cp.uint32)
        shared = 8 * self.d * 4
        _function(self.module, "assign", shared)(
            (-(-self.n // 128), len(active)),
            (128,),
            (
                *(
                    self.points.x,
                    np.int64(self.points.ld),
                    np.int64(self.n),
                    np.int32(self.d),
                    centers,
                    np.int32(self.k),
                ),
                *(active, self.labels, self.distance, changed),
            ),
            shared_mem=shared,
        )
        return changed

    def _move(self, centers: Any, active: Any) -> tuple[Any, Any]:
        """Move the centres to the means of their points, in place.

        Sums (R, k, d + 1), and squared shifts by run.
        """
        cp = cupy()
        per_part = max(64, -(-self.n // self.PARTS))
        parts = -(-self.n // per_part)
        batch = 64
        while batch > 1 and 4 * (self.d * (batch + 1) + batch) > SHARED:
            batch //= 2
        shared = 4 * (self.d * (batch + 1) + batch)
        held = cp.empty((parts, self.R, self.k, self.d + 1))
        _function(self.module, "partial_sums", shared)(
            (parts, len(active)),
            (256,),
            (
                *(
                    self.points.x,
                    np.int64(self.points.ld),
                    np.int64(self.n),
                    np.int32(self.d),
                    self.labels,
                ),
                *(
                    np.int32(self.k),
                    active,
                    np.int32(self.R),
                    np.int64(per_part),
                    np.int32(batch),
                    held,
                ),
            ),
            shared_mem=shared,
        )
        sums, shift = cp.zeros((self.R, self.k, self.d + 1)), cp.zeros(self.R)
        self.module.get_function("move_centers")(
            (len(active),),
            (128,),
            (
                *(
                    held,
                    np.int32(parts),
                    np.int32(self.k),
                    np.int32(self.d),
                    active,
                    np.int32(self.R),
                ),
                *(centers, sums, shift),
            ),
        )
        return sums, shift

    def _fill_empty(self, centers: Any, sums: Any, active: Ints) -> None:
        """Give clusters without points the points that lie farthest from their centres, as
        scikit-learn does.
        """
        cp = cupy()
        counts = cp.asnumpy(sums[:, :, self.d])
        for run in active:
            empty = np.flatnonzero(counts[run] == 0)
            if not empty.size:
                continue
            far = cp.argsort(self.distance[run])[::-1][: empty.size]
            points, owners = (
                cp.asnumpy(self._at(far)).astype(np.float64),
                cp.asnumpy(self.labels[run][far]),
            )
            total = cp.asnumpy(sums[run])
            moved = cp.asnumpy(centers[run])
            for c, point, owner in zip(empty, points, owners, strict=True):
                total[owner, : self.d] -= point
                total[owner, self.d] -= 1
                total[c] = [*point, 1.0]
            known = total[:, self.d] > 0
            moved[known] = (total[known, : self.d] / total[known, self.d :]).astype(np.float32)
            centers[run] = cp.asarray(moved)

    def fit(self, init: str, max_iter: int = 300) -> list[KMeansRun]:
        """All runs."""
        cp = cupy()
        centers = self.start(init)
        active = np.arange(self.R)
        n_iter = np.zeros(self.R, dtype=np.int64)
        stale: list[int] = []  # runs whose labels belong to centres that have moved since
        for _ in range(max_iter):
            on_card = cp.asarray(active, dtype=cp.int32)
            changed = self._assign(centers, on_card)
            sums, shift = self._move(centers, on_card)
            self._fill_empty(centers, sums, active)
            n_iter[active] += 1
            same = cp.asnumpy(changed)[active] == 0
            near = cp.asnumpy(shift)[active] <= self.tol
            stale += active[near & ~same].tolist()
            active = active[~(same | near)]
            if not active.size:
                break
        stale += active.tolist()
        if stale:
            self._assign(centers, cp.asarray(sorted(stale), dtype=cp.int32))
        inertia = cp.asnumpy(self.distance.sum(axis=1, dtype=cp.float64))
        found = cp.asnumpy(centers).astype(np.float64) + self.middle
        labels = self._place(found)
        return [
            KMeansRun(labels[:, r], found[r], float(inertia[r]), int(n_iter[r]))
            for r in range(self.R)
        ]

    def _place(self, centers: Floats) -> Ints:
        """(n, R) labels of the nearest centres as they will place unseen points: in float64."""
        cp = cupy()
        x = cp.ascontiguousarray(cp.asarray(self.X, dtype=cp.float64).T)
        labels = cp.empty((self.n, self.R), dtype=cp.int32)
        self.module.get_function("place")(
            (-(-self.n // 128), self.R),
            (128,),
            (
                x,
                np.int64(self.n),
                np.int64(self.n),
                np.int32(self.d),
                cp.asarray(centers),
                np.int32(self.k),
                labels,
            ),
        )
        return np.asarray(cp.asnumpy(labels))


def kmeans_runs(
    X: NDArray,
    k: int,
    seeds: list[int],
    *,
    init: str = "k-means++",
    max_iter: int = 300,
    tol: float = 1e-4,
) -> list[KMeansRun]:
    """k-means once a seed, all runs in step.

    Each run depends on the data, k, the start and its seed alone.
    """
    return KMeansRuns(X, k, seeds, tol=tol).fit(init, max_iter)
