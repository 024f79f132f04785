"""The default score of 50,000 cells beside one run of scanpy's Leiden on the same graph, in CPU seconds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from experiments.research.leiden.simulated import annotated

import clustertrust.anndata
from benchmarks.common import Row, Timing

N, TYPES, D = 50_000, 15, 30
ROUNDS = 1


def cells(n: int) -> Any:
    """Cells of types that touch, with 30 components and a graph of 15 neighbours."""
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 6 / np.sqrt(D), (TYPES, D))
    types = rng.choice(TYPES, n, p=rng.dirichlet(np.full(TYPES, 2.0)))
    return annotated(centers[types] + rng.normal(size=(n, D)))


def _timed(function: Callable[[], Any]) -> float:
    began = time.process_time()
    function()
    return time.process_time() - began


def run() -> Iterator[Row]:
    """Yield the ratio: 20 runs and their scores against one run of scanpy's, by turns."""
    with warnings.catch_warnings():
        # scanpy's own, of what it depends on
        warnings.simplefilter("ignore")
        import scanpy

        def theirs(adata: Any) -> None:
            scanpy.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False)

        def ours(adata: Any) -> None:
            clustertrust.anndata.score(adata, n_jobs=1)

        small, adata = cells(1000), cells(N)
        theirs(small)
        ours(small)
        peer, mine = [_timed(lambda: theirs(adata))], []
        for _ in range(ROUNDS):
            mine.append(_timed(lambda: ours(adata)))
            peer.append(_timed(lambda: theirs(adata)))
    ours_timing, peer_timing = Timing(tuple(mine)), Timing(tuple(peer))
    yield Row.within(
        f"default score of {N:,} cells with their graph, 20 runs of Leiden: CPU",
        ours_timing.median,
        "one sc.tl.leiden (igraph)",
        peer_timing.median,
        15,
        f"{ours_timing.spread}; {peer_timing.spread}",
    )
