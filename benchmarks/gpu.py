"""On an NVIDIA GPU: absolute seconds, and how far the kernel of distances is from the card's limit.

Run where there is one: `python -m benchmarks.gpu`. It writes `gpu.csv`, and `gpu.png` where there
is matplotlib. The peer on the CPU runs in the same process on all its cores.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from clustertrust import CAKE, build_ensemble, choose_k, confidence
from clustertrust.cells import meet
from clustertrust.kernels import _cupy, _cupy_silhouettes, _cupy_sums

HERE = Path(__file__).parent
OPERATIONS = 2  # of FP32 for each feature of a pair: a difference, and a product added
ROWS = tuple[str, float, str, str]  # work, seconds, goal, remark


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """The median of some calls after one that compiles."""
    work()
    cp = _cupy.cupy()
    taken = []
    for _ in range(times):
        cp.cuda.Device().synchronize()
        began = time.perf_counter()
        work()
        cp.cuda.Device().synchronize()
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))


def lanes() -> float:
    """FP32 operations a second: one for each lane and clock."""
    about = _cupy.cupy().cuda.runtime.getDeviceProperties(0)
    return about["multiProcessorCount"] * 128 * about["clockRate"] * 1e3


def points(n: int, d: int = 20, k: int = 10) -> np.ndarray:
    """Blobs that overlap, so that runs differ."""
    return make_blobs(n, d, centers=k, cluster_std=4.0, random_state=0)[0]


def sums(n: int, d: int = 20, m: int = 1000) -> tuple[float, float]:
    """Seconds of the sums of distances to m cells, and the limit for each pair of points once."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    cells = meet(rng.integers(m, size=(n, 1)))
    card = _cupy_sums.OnCard.load(cells)
    middle, largest = _cupy.middle_of(X)
    rows = _cupy.lay_out(X, middle, cells.order, np.dtype(np.float32))
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
    exact = CAKE(10, random_state=0, device="cuda", geometry="exact")
    cells = len(meet(exact.fit(X).ensemble_.labels).counts)
    whole = seconds(lambda: exact.fit(X))
    yield "whole fit, exact, 1,000,000 × 20, R = 20", whole, "≤ 4", f"m = {cells:,}"
    rms = CAKE(10, random_state=0, device="cuda", geometry="rms")
    yield "whole fit, rms, on the GPU", seconds(lambda: rms.fit(X)), "", ""
    on_cpu = CAKE(10, random_state=0, geometry="rms")
    yield "whole fit, rms, on the CPU", seconds(lambda: on_cpu.fit(X), 1), "", "same machine"
    rng = np.random.default_rng(0)
    fashion = rng.normal(size=(60_000, 784)).astype(np.float32)  # of the size of Fashion-MNIST
    labels = noisy(60_000, 10, 0.02)
    scored = seconds(lambda: confidence(fashion, labels, geometry="exact", device="cuda"))
    m = len(meet(labels).counts)
    yield "exact score, 60,000 × 784, R = 20, given ensemble", scored, "≤ 0.5", f"m = {m:,}"
    letter = rng.normal(size=(20_000, 16))
    labels = noisy(20_000, 26, 0.04)
    cells = meet(labels)
    own = cells.rows[cells.cell_of]
    taken = seconds(lambda: _cupy_silhouettes.exact_silhouettes(letter, cells, own))
    yield "exact silhouettes, 20,000 × 16, R = 20", taken, "≤ 0.1", f"m = {len(cells.counts):,}"


def profiles() -> Iterator[ROWS]:
    """`choose_k` on the GPU and on the CPU."""
    X = points(2000)
    for device in ("cuda", "cpu"):
        cake = CAKE(random_state=0, device=device)
        taken = seconds(lambda cake=cake: choose_k(X, range(2, 13), cake, effort="full"), 1)
        yield f"choose_k 2 to 12, n = 2,000, {device}", taken, "", "19 surrogates of each family"


def noisy(n: int, k: int, share: float, R: int = 20) -> np.ndarray:
    """(n, R) labels: one partition, of which each run changes a share."""
    rng = np.random.default_rng(0)
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


def main() -> None:
    """Measure, print and write."""
    about = _cupy.cupy().cuda.runtime.getDeviceProperties(0)["name"].decode()
    found = []
    parts = {"claims": claims, "growth": growth, "profiles": profiles}
    for part in sys.argv[1:] or parts:
        for row in parts[part]():
            print(f"{row[0]}: {row[1]:.3f} s {row[2]} {row[3]}", flush=True)
            found.append(row)
    if any(row[0].startswith("sums against") for row in found):
        draw(found)
    with (HERE / "gpu.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["work", "seconds", "goal", "remark", "card"])
        writer.writerows([*row[:1], f"{row[1]:.4g}", *row[2:], about] for row in found)


if __name__ == "__main__":
    main()
