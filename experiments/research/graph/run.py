"""Silhouettes on a graph of neighbours, beside those by straight and by kernel distances.

How well does the score rank right above wrong assignments? `python -m experiments.research.graph.run` is a trial of half a
minute and goes to `results/quick`; `--full` takes some three. It needs leidenalg, and scanpy for its cells.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path
from sklearn.datasets import make_circles, make_moons
from sklearn.neighbors import kneighbors_graph

from clustertrust import Confidence, Ensemble, Runs, build_ensemble, confidence
from clustertrust.evaluation import auroc, correctness
from clustertrust.geometry import Graph
from experiments.paper import data
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import command, folder, publish

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

CELLS = "pbmc68k"
SHAPES = ("moons", "rings")
# Shapes, cells, and four of the paper's sets that straight distances suit. Listed before anything was measured.
SETS = (*SHAPES, CELLS, "S4", "Ir", "Dg", "Pd")
NEAR = 15
FEWEST = 5  # wrong points: with fewer the AUROC is left to chance, and the case is left out


class Size(NamedTuple):
    """How much is run."""

    points: int
    runs: int
    repetitions: int
    sets: tuple[str, ...]


QUICK = Size(300, 5, 1, ("moons", "Ir"))
FULL = Size(500, 10, 2, SETS)


def points_of(name: str, size: Size, repetition: int) -> tuple[Floats, Labels]:
    """Some points of a set, and their classes."""
    if name == "moons":
        return make_moons(size.points, noise=0.12, random_state=repetition)
    if name == "rings":
        return make_circles(size.points, noise=0.08, factor=0.5, random_state=repetition)
    if name == CELLS:
        return cells()
    case = data.load(name)
    rows = np.random.default_rng([19, repetition]).permutation(len(case.X))[: size.points]
    return np.asarray(case.X[rows], dtype=np.float64), np.unique(case.y[rows], return_inverse=True)[
        1
    ]


def cells() -> tuple[Floats, Labels]:
    """Return scanpy's 700 blood cells in 50 principal components, with the types given to them."""
    import scanpy

    adata = scanpy.datasets.pbmc68k_reduced()
    kinds = adata.obs["bulk_labels"].cat.codes.to_numpy(dtype=np.int64)
    return np.asarray(adata.obsm["X_pca"], dtype=np.float64), kinds


def drawn_again(name: str) -> bool:
    """Whether another repetition has other points; if not, it has other seeds."""
    return name not in (CELLS, "Ir")


# A clusterer, and what makes its runs differ.
CLUSTERERS: dict[str, dict[str, Any]] = {
    "kmeans": {},
    "spectral": {"vary": {"n_neighbors": range(8, 16)}},
    "leiden": {"resample": 0.8},
}


def runs_of(X: Floats, clusterer: str, k: int, n_runs: int, seed: int) -> Ensemble:
    """Return the runs; Leiden finds its own number of clusters."""
    number = {} if clusterer == "leiden" else {"n_clusters": k}
    how = CLUSTERERS[clusterer]
    runs = Runs(n_runs, left_out="predict" if "resample" in how else "skip")
    return build_ensemble(X, clusterer, n_runs=runs, random_state=seed, **number, **how)


def right(labels: Labels, y: Labels, clusterer: str) -> NDArray[np.bool_]:
    """Which labels are right: of the class matched to the cluster, or, for Leiden, of most of its points."""
    if clusterer != "leiden":
        return correctness(y, labels)
    table = pd.crosstab(labels, y)
    return table.idxmax(axis=1).loc[labels].to_numpy() == y


def steps(n: int) -> Callable[[Floats, Ensemble], Confidence]:
    """Walks of n steps."""
    return lambda X, runs: confidence(X, runs, geometry=Graph(n_steps=n))


def unweighted(X: Floats, runs: Ensemble) -> Confidence:
    """All links of the same weight."""
    links = kneighbors_graph(X, NEAR)
    return confidence(links, runs, geometry=Graph(weights=True))


def by_paths(X: Floats, runs: Ensemble) -> Confidence:
    """Mean length of the shortest paths to the members; O(n² log n). Parts without a path: twice the longest."""
    D = shortest_path(kneighbors_graph(X, NEAR, mode="distance"), directed=False)
    D[np.isinf(D)] = 2 * D[np.isfinite(D)].max()
    return confidence(np.minimum(D, D.T), runs, geometry="exact", metric="precomputed")


SIGNALS: dict[str, Callable[[Floats, Ensemble], Confidence]] = {
    "exact": lambda X, runs: confidence(X, runs, geometry="exact"),
    "kernel": lambda X, runs: confidence(X, runs, geometry="kernel"),
    "graph": lambda X, runs: confidence(X, runs, geometry="graph"),
    "1 step": steps(1),
    "2 steps": steps(2),
    "8 steps": steps(8),
    "16 steps": steps(16),
    "no weights": unweighted,
    "paths": by_paths,
}
SHOWN = ("exact", "kernel", "graph")


def measure(size: Size) -> Iterator[dict[str, Any]]:
    """AUROC of the score by every geometry, on every set and clusterer."""
    for name in size.sets:
        began = time.perf_counter()
        for repetition in range(size.repetitions):
            X, y = points_of(name, size, repetition if drawn_again(name) else 0)
            for clusterer in CLUSTERERS:
                with hushed():
                    runs = runs_of(X, clusterer, len(np.unique(y)), size.runs, repetition)
                    found = {signal: score(X, runs) for signal, score in SIGNALS.items()}
                one = found["exact"]
                correct = right(one.labels, y, clusterer)
                few = (~correct).sum() < FEWEST
                for signal, scored in found.items():
                    yield {
                        "dataset": name,
                        "clusterer": clusterer,
                        "repetition": repetition,
                        "accuracy": correct.mean(),
                        "all agree": np.mean(one.stability == 1),
                        "signal": signal,
                        "auroc": np.nan if few else auroc(scored.scores, correct),
                    }
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


def sets_table(rows: pd.DataFrame, size: Size) -> str:
    """One row for each set and clusterer."""
    lines = []
    for (name, clusterer), part in rows.groupby(["dataset", "clusterer"], sort=False):
        of = part.groupby("signal")["auroc"].mean()
        best = of[list(SHOWN)].max()
        shown = [f"**{of[s]:.3f}**" if of[s] == best else f"{of[s]:.3f}" for s in SHOWN]
        shown = ["–"] * len(SHOWN) if np.isnan(best) else shown
        lines.append([name, clusterer, f"{part['accuracy'].mean():.3f}", *shown])
    heads = ["data set", "clusterer", "right", *SHOWN]
    return f"{_how(size)}\n\n{markdown(heads, lines)}"


def means_table(rows: pd.DataFrame) -> str:
    """Means over the shapes, the cells and the other sets, by every geometry."""
    groups = {
        "moons and rings": rows["dataset"].isin(SHAPES),
        "cells": rows["dataset"] == CELLS,
        "other sets": ~rows["dataset"].isin([*SHAPES, CELLS]),
        "all": rows["dataset"].notna(),
    }
    lines = [
        [
            signal,
            *(
                f"{rows[of & (rows['signal'] == signal)]['auroc'].mean():.3f}"
                for of in groups.values()
            ),
        ]
        for signal in SIGNALS
    ]
    return markdown(["geometry", *groups], lines)


def _how(size: Size) -> str:
    return (
        f"AUROC of the score: how often a right assignment scores above a wrong one. At most {size.points} points, "
        f"{size.runs} runs, {size.repetitions} repetitions. Spectral runs draw 8 to 15 neighbours, runs of Leiden "
        "80 % of the points, and Leiden finds its own number of clusters: a label is right there if it is that of "
        f"most points of the cluster. –: fewer than {FEWEST} are wrong. Made by `python -m experiments.research.graph.run{' --full' if size is FULL else ''}`."
    )


def main() -> None:
    """Run, and write the tables."""
    parser = command("graph", __doc__, "all data sets: some three minutes")
    chosen = parser.parse_args()
    data.find_data()
    size, out = FULL if chosen.full else QUICK, folder("graph", full=chosen.full)
    rows = pd.DataFrame(list(measure(size)))
    write(out / "graph.csv", rows.to_csv(index=False, float_format="%.6g"))
    tables = {"graph": sets_table(rows, size), "graph means": means_table(rows)}
    publish(tables, out / "graph.md", "graph.md", full=chosen.full)


if __name__ == "__main__":
    main()
