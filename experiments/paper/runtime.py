"""Runtime against R and n, measured on the machine it runs on, and how near the centroid proxy comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

from clustertrust import Ensemble, confidence
from clustertrust.fusion import harmonic
from experiments.paper import authors, runs
from experiments.paper.protocols import Protocol
from experiments.paper.results import PRINTED

# The paper's caption says R = 20, its numbers R = 10.
SWEEPS = {"R": "R, with n = 10,000", "n": "n, with R = 10"}
TIMES = {
    "ensemble_s": "ensemble",
    "cake_exact_s": "exact silhouettes",
    "cake_approx_s": "centroid proxy",
}

CAUSES: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    "times are ours, on another machine.": lambda rows: rows["quantity"].str.endswith("_s"),
    "the paper cuts most of these numbers and rounds some: these are the ones that it cuts.": (
        lambda rows: rows["quantity"].isin(["pearson", "mae"])
    ),
}


@lru_cache(maxsize=1)
def blobs(n: int) -> NDArray:
    """The authors' points: ten clouds in twenty dimensions, in single precision."""
    return make_blobs(n, centers=10, n_features=20, cluster_std=1.0, random_state=0)[0].astype(
        np.float32
    )


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of three calls, and what the last returned."""
    taken = []
    for _ in range(3):
        began = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - began)
    return min(taken), result


@cache
def measure(sweep: str, size: int) -> dict[str, float]:
    """Times of one row of the printed tables, and Pearson and MAE between exact and proxy scores.

    The clouds are of equal size, so that matchings tie where a run merges two; which one is taken moves both numbers,
    so that stability is that of the authors' code. Times are those of the library.
    """
    n, R = (10_000, size) if sweep == "R" else (size, 10)
    X = blobs(n)
    found: dict[str, float] = {}
    ensemble: Ensemble
    found["ensemble_s"], ensemble = seconds(lambda: runs.build(X, "kmeans-random", 10, range(R)))
    with runs.hushed():
        found["cake_exact_s"], exact = seconds(lambda: confidence(X, ensemble, geometry="exact"))
        found["cake_approx_s"], proxy = seconds(
            lambda: confidence(X, ensemble, geometry="centroid")
        )
    c = authors.stability(ensemble.labels)
    scores = [harmonic(c, of.geometry) for of in (exact, proxy)]
    found["pearson"] = float(np.corrcoef(*scores)[0, 1])
    found["mae"] = float(np.abs(scores[0] - scores[1]).mean())
    return found


def sizes(sweep: str, protocol: Protocol) -> list[int]:
    """The sizes of the printed table, or the first three."""
    printed = pd.read_csv(PRINTED / f"runtime_vs_{sweep}.csv")[sweep].tolist()
    return printed[:3] if protocol.quick else printed


def against(sweep: str) -> Callable[[str, Protocol], Iterator[dict[str, Any]]]:
    """Make the experiment for runtime against R or n."""

    def run(name: str, protocol: Protocol) -> Iterator[dict[str, Any]]:
        printed = pd.read_csv(PRINTED / f"runtime_vs_{sweep}.csv", dtype=str).set_index(sweep)
        for size in sizes(sweep, protocol):
            for quantity, value in measure(sweep, size).items():
                paper = printed.loc[str(size), quantity]
                yield {
                    "dataset": name,
                    sweep: size,
                    "quantity": quantity,
                    "value": value,
                    "paper": paper,
                }

    return run


def kind(rows: pd.DataFrame) -> pd.Series:
    """Times are of another machine; Pearson and MAE are not."""
    return rows["quantity"].str.endswith("_s").map({True: "time", False: "table"})
