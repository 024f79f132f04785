"""Single cells: which metric, how many components, and the graph that is there already.

`python -m experiments.research.leiden.cells` takes a minute; it needs leidenalg and scanpy, which brings the cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from clustertrust import CAKE, Confidence
from clustertrust.anndata.data import RESOLUTIONS, SCORED_BY, cells_of
from clustertrust.evaluation import auroc
from experiments.paper.page import markdown
from experiments.paper.results import write
from experiments.paper.runs import hushed
from experiments.research import folder, publish
from experiments.research.graph.run import right

COMPONENTS = (10, 20, 30, 50)
METRICS = ("euclidean", "cosine")
RUNS, SEEDS = 10, 2


def leiden(seed: int, **settings: Any) -> CAKE:
    """Return runs of Leiden with varying resolutions."""
    vary = {"resolution": RESOLUTIONS}
    runs = CAKE(clusterer="leiden", vary=vary, agreement="jaccard", n_runs=RUNS, random_state=seed)
    return runs.set_params(**settings)


def score_points(X: Any, metric: str, geometry: str, seed: int) -> Confidence:
    """Leiden on the neighbours of points."""
    return leiden(seed, metric=metric, geometry=geometry).fit(X).confidence_


# Along the graph alone, and the default
ON_GRAPH: dict[str, dict[str, Any]] = {
    "graph": {"geometry": "graph"},
    "graph and points": SCORED_BY,
}


def score_graph(adata: Any, seed: int, silhouettes: str) -> Confidence:
    """Leiden on the graph that the cells came with."""
    cake = leiden(seed, **ON_GRAPH[silhouettes])
    return cells_of(adata, cake).cluster(cake)


def measure(adata: Any) -> Iterator[dict[str, Any]]:
    """Score the cells every way, for every seed."""
    y = adata.obs["bulk_labels"].cat.codes.to_numpy(dtype=np.int64)
    X = np.asarray(adata.obsm["X_pca"], dtype=np.float64)
    ways = [
        (f"{d} components, {metric}", geometry, X[:, :d], metric)
        for geometry in ("exact", "graph")
        for metric in METRICS
        for d in COMPONENTS
    ]
    for seed in range(SEEDS):
        for neighbours, geometry, points, metric in ways:
            with hushed():
                found = score_points(points, metric, geometry, seed)
            yield {"neighbours": neighbours, "silhouettes": geometry} | figures(found, y, seed)
        for silhouettes in ON_GRAPH:
            with hushed():
                found = score_graph(adata, seed, silhouettes)
            named = {"neighbours": "the graph of the file", "silhouettes": silhouettes}
            yield named | figures(found, y, seed)


def figures(found: Confidence, y: Any, seed: int) -> dict[str, Any]:
    """How good the consensus is, and how well the score ranks its labels."""
    correct = right(found.labels, y, "leiden")
    isolated = np.asarray(found.reasons(0.5) == "stable but isolated")
    return {
        "seed": seed,
        "clusters": len(found.label_names),
        "ari": adjusted_rand_score(y, found.labels),
        "accuracy": correct.mean(),
        "auroc": auroc(found.scores, correct),
        "isolated": isolated.mean(),
    }


def table_of(rows: pd.DataFrame) -> str:
    """One row for each way."""
    lines = []
    for (neighbours, geometry), of in rows.groupby(["neighbours", "silhouettes"], sort=False):
        means = of[["clusters", "ari", "accuracy", "auroc", "isolated"]].mean()
        lines.append(
            [
                str(neighbours),
                str(geometry),
                f"{means['clusters']:.1f}",
                f"{means['ari']:.2f}",
                f"{means['accuracy']:.2f}",
                f"{means['auroc']:.2f}",
                f"{means['isolated']:.0%}",
            ]
        )
    heads = ["neighbours", "silhouettes", "clusters", "ARI", "right", "AUROC", "isolated"]
    note = (
        f"scanpy's `pbmc68k_reduced`, 700 cells; {RUNS} runs of Leiden with resolutions from 0.5 to 1.5, means of {SEEDS} seeds. *ARI*: of the "
        "consensus, with the ten types that the file gives. *right*: cells of the type of most cells of their cluster. *AUROC*: how "
        'often a right cell scores above another. *isolated*: cells whose reason is "stable but isolated". Made by `python -m '
        "experiments.research.leiden.cells`."
    )
    return f"{note}\n\n{markdown(heads, lines)}"


def main() -> None:
    """Run, and write the table."""
    import scanpy

    rows = pd.DataFrame(list(measure(scanpy.datasets.pbmc68k_reduced())))
    out = folder("leiden")
    write(out / "cells.csv", rows.to_csv(index=False, float_format="%.6g"))
    publish({"cells": table_of(rows)}, out / "cells.md", "anndata.md", full=True)


if __name__ == "__main__":
    main()
