"""On an NVIDIA GPU: absolute seconds, and how far the kernel of distances is from the card's limit.

Run where there is one: `python -m benchmarks.gpu`. It writes `gpu.csv` row by row, so that a run that
is cut short leaves what it measured, and `gpu.png` where there is matplotlib. Work that fails is
named, and the rest is measured. The peer on the CPU runs in the same process on all its cores.
"""

from __future__ import annotations

import csv
import importlib
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from clustertrust import CAKE, build_ensemble, choose_k, confidence
from clustertrust.cells import meet, meet_on_gpu
from clustertrust.kernels import _cupy, _cupy_silhouettes, _cupy_sums
from clustertrust.scoring.model import match_ensemble, with_geometry
from clustertrust.scoring.on_gpu import score_on_gpu
from clustertrust.scoring.settings import Scoring

HERE = Path(__file__).parent
OPERATIONS = 2  # of FP32 for each feature of a pair: a difference, and a product added
ROWS = tuple[str, float, str, str]  # work, seconds, goal, remark
SHRINK, TIMES = 1, 3  # a test divides the numbers of points, and measures once


def once(work: Callable[[], Any]) -> float:
    """Seconds of one call."""
    device = _cupy.cupy().cuda.Device()
    device.synchronize()
    began = time.perf_counter()
    work()
    device.synchronize()
    return time.perf_counter() - began


def seconds(work: Callable[[], Any], times: int | None = None) -> float:
    """The median of some calls after one that compiles."""
    work()
    return float(np.median([once(work) for _ in range(times or TIMES)]))


def lanes() -> float:
    """FP32 operations a second: one for each lane and clock."""
    about = _cupy.cupy().cuda.Device().attributes
    return about["MultiProcessorCount"] * 128 * about["ClockRate"] * 1e3


def size(n: int) -> int:
    """A number of points, or fewer where a test tries the script."""
    return max(60, n // SHRINK)


def points(n: int, d: int = 20, k: int = 10) -> np.ndarray:
    """Blobs that overlap, so that runs differ."""
    return make_blobs(size(n), d, centers=k, cluster_std=4.0, random_state=0)[0]


def sums(n: int, d: int = 20, m: int = 1000) -> tuple[float, float]:
    """Seconds of the sums of distances to m cells, and the limit for each pair of points once."""
    rng = np.random.default_rng(0)
    n = size(n)
    X = rng.normal(size=(n, d))
    cells = meet(rng.integers(m, size=(n, 1)))
    card = _cupy_sums.OnCard.load(cells)
    middle, largest = _cupy.middle_of(X)
    rows = _cupy.lay_out(X, middle, card.order, np.dtype(np.float32))
    kind, none = _cupy_sums.Kind(largest=largest), (_cupy.NONE, _cupy.NONE)
    taken = seconds(lambda: _cupy_sums.sum_pairs(rows, rows, card, kind, none, True))
    return taken, n * n / 2 * d * OPERATIONS / lanes()


def claims() -> Iterator[ROWS]:
    """The work that has a goal, with it."""
    taken, limit = sums(10**6)
    yield "exact sums, 1,000,000 × 20, m = 1,000", taken, "≤ 1.2", f"FP32 limit {limit:.2f}"
    X = points(10**6)
    ensemble = seconds(
        lambda: build_ensemble(X, n_clusters=10, n_runs=20, random_state=0, device="cuda")
    )
    yield "k-means ensemble, 1,000,000 × 20, k = 10, R = 20", ensemble, "≤ 1", ""
    yield whole_fit("1,000,000 × 20, R = 20", X, 10, "≤ 1.8")
    rms = CAKE(10, random_state=0, device="cuda", geometry="rms")
    yield "whole fit, rms, on the GPU", seconds(lambda: rms.fit(X)), "≤ 0.8", ""
    on_cpu = CAKE(10, random_state=0, geometry="rms")
    yield "whole fit, rms, on the CPU", seconds(lambda: on_cpu.fit(X), 1), "", "same machine"
    rng = np.random.default_rng(0)
    fashion = rng.normal(size=(size(60_000), 784)).astype(np.float32)  # as large as Fashion-MNIST
    labels = noisy(60_000, 10, 0.02)
    scored = seconds(lambda: confidence(fashion, labels, geometry="exact", device="cuda"))
    m = len(meet(labels).counts)
    yield "exact score, 60,000 × 784, R = 20, given ensemble", scored, "≤ 0.5", f"m = {m:,}"
    letter = rng.normal(size=(size(20_000), 16))
    labels = noisy(20_000, 26, 0.04)
    cells = meet(labels)
    taken = seconds(lambda: _cupy_silhouettes.exact_silhouettes(letter, cells))
    yield "exact silhouettes, 20,000 × 16, R = 20", taken, "≤ 0.1", f"m = {len(cells.counts):,}"


def others() -> Iterator[ROWS]:
    """More whole fits: many clusters, more points, an array on the GPU, and one of Dask."""
    yield whole_fit("1,000,000 × 20, k = 50", points(10**6, k=50), 50, "≤ 3.5")
    yield whole_fit("2,000,000 × 10, k = 10", points(2 * 10**6, 10), 10)
    X = points(10**6)
    there = _cupy.cupy().asarray(X)
    rms = CAKE(10, random_state=0, geometry="rms")
    yield "whole fit, rms, X on the GPU", seconds(lambda: rms.fit(there)), "", ""
    array = importlib.import_module("dask.array")
    chunks = array.from_array(X[: size(300_000)], chunks=(size(100_000), 20))
    labels = noisy(300_000, 10, 0.02)
    how = {"geometry": "exact", "device": "cuda"}
    taken = seconds(lambda: confidence(chunks, labels, **how).scores.compute(), 1)
    yield "exact score, 300,000 × 20, Dask array of 3 blocks", taken, "", "one GPU, one process"


def steps() -> Iterator[ROWS]:
    """The whole exact fit, step by step."""
    for k in (10, 50):
        X = points(10**6, k=k)
        # The first time compiles.
        yield from [list(_steps(X, k)) for _ in range(2)][1]


def _steps(X: np.ndarray, k: int) -> Iterator[ROWS]:
    kept: dict[str, Any] = {}

    def timed(name: str, work: Callable[[], Any]) -> ROWS:
        taken = once(lambda: kept.update({name: work()}))
        return f"step of an exact fit, k = {k}: {name}", taken, "", ""

    scoring = Scoring.from_params({"geometry": "exact"}).on("cuda")
    with _cupy.holding():
        how = {"n_clusters": k, "n_runs": 20, "random_state": 0, "device": "cuda"}
        yield timed("runs", lambda: build_ensemble(X, **how))
        labels = kept["runs"].labels
        yield timed("cells", lambda: meet_on_gpu(labels))
        yield timed("matchings", lambda: match_ensemble(kept["runs"], scoring))
        yield timed("silhouettes", lambda: with_geometry(kept["matchings"], X).kept_silhouettes())
        cells = kept["cells"]
        by_cell = kept["matchings"].stability(cells.rows)
        s = kept["silhouettes"][0]
        yield timed("scores", lambda: score_on_gpu(cells.cell_of, by_cell, s, scoring))
        votes = kept["matchings"].votes(cells.rows).votes
        yield timed("votes of points", lambda: votes[cells.cell_of])


def whole_fit(what: str, X: np.ndarray, k: int, goal: str = "") -> ROWS:
    """A whole fit with exact silhouettes."""
    cake = CAKE(k, random_state=0, device="cuda", geometry="exact")
    taken = seconds(lambda: cake.fit(X))
    return f"whole fit, exact, {what}", taken, goal, f"m = {len(cake.model_.cells.counts):,}"


def profiles() -> Iterator[ROWS]:
    """`choose_k` on the GPU and on the CPU."""
    X = points(2000)
    for device in ("cuda", "cpu"):
        cake = CAKE(random_state=0, device=device)
        taken = once(lambda cake=cake: choose_k(X, range(2, 13), cake, effort="full"))
        yield f"choose_k 2 to 12, n = 2,000, {device}", taken, "", "19 surrogates of each family"


def noisy(n: int, k: int, share: float, R: int = 20) -> np.ndarray:
    """(n, R) labels: one partition, of which each run changes a share."""
    rng = np.random.default_rng(0)
    n = size(n)
    base = rng.integers(k, size=n)
    runs = [np.where(rng.random(n) < share, rng.integers(k, size=n), base) for _ in range(R)]
    return np.stack(runs, axis=1)


def growth() -> Iterator[ROWS]:
    """Sums of distances against n, d and m."""
    for n in (10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 2 * 10**6):
        taken, limit = sums(n)
        yield f"sums against n, n = {n:,}", taken, "", f"FP32 limit {limit:.6f}"
    for d in (4, 20, 64, 256):
        taken, limit = sums(10**5, d)
        yield f"sums against d, d = {d}", taken, "", f"FP32 limit {limit:.6f}"
    for m in (10, 100, 1000, 10_000):
        taken, limit = sums(10**5, m=m)
        yield f"sums against m, m = {m:,}", taken, "", f"FP32 limit {limit:.6f}"


def draw(found: list[ROWS]) -> None:
    """Time against n, d and m, beside the limit of the card."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    for ax, letter in zip(figure.subplots(1, 3), "ndm", strict=True):
        rows = [row for row in found if row[0].startswith(f"sums against {letter},")]
        at = [float(row[0].split("= ")[1].replace(",", "")) for row in rows]
        ax.loglog(at, [row[1] for row in rows], "o-", color="#0072b2", label="measured")
        limits = [float(row[3].removeprefix("FP32 limit ")) for row in rows]
        ax.loglog(at, limits, "--", color="0.4", label="FP32 limit")
        ax.set(xlabel=letter, ylabel="seconds")
    figure.axes[0].set_title("points: d = 20, m = 1,000")
    figure.axes[1].set_title("features: n = 100,000, m = 1,000")
    figure.axes[2].set_title("cells: n = 100,000, d = 20")
    figure.axes[0].legend()
    figure.savefig(HERE / "gpu.png", dpi=110)


PARTS = {
    "claims": claims,
    "others": others,
    "steps": steps,
    "growth": growth,
    "profiles": profiles,
}


def write(rows: list[ROWS], about: str) -> None:
    """Write the rows measured so far."""
    with (HERE / "gpu.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["work", "seconds", "goal", "remark", "card"])
        writer.writerows([*row[:1], f"{row[1]:.4g}", *row[2:], about] for row in rows)


def main(names: list[str]) -> None:
    """Measure, print and write; exit with an error if some work failed."""
    about = _cupy.cupy().cuda.runtime.getDeviceProperties(0)["name"].decode()
    rows: list[ROWS] = []
    failed = []
    for name in names or PARTS:
        try:
            for row in PARTS[name]():
                print(f"{row[0]}: {row[1]:.3f} s {row[2]} {row[3]}", flush=True)
                rows.append(row)
                write(rows, about)
        except Exception:  # what a GPU may raise is of CuPy's kinds
            traceback.print_exc()
            failed.append(name)
    if any(row[0].startswith("sums against") for row in rows):
        draw(rows)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
