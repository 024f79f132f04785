"""AnnData files: the defaults of `clustertrust.anndata.score`, for the command."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from sklearn.base import clone

from clustertrust import CAKE, Confidence
from clustertrust.cli.options import CakeOptions, ReadOptions
from clustertrust.cli.points import Points
from clustertrust.cli.request import ScoreRequest


def is_h5ad(data: str, columns: ReadOptions) -> bool:
    """Return whether the file is AnnData."""
    # A folder has no format of its own.
    if data == "-" or Path(data).is_dir():
        return False
    return columns.format_of(data) == "h5ad"


def for_cells(method: CakeOptions, typed: Collection[str]) -> CakeOptions:
    """Return the method with the default for cells: Leiden, unless -k or --clusterer is typed."""
    if "clusterer" in typed or method.n_clusters is not None:
        return method
    from clustertrust.anndata.data import SCORED_BY

    scored_by: Any = {name: value for name, value in SCORED_BY.items() if name not in typed}
    return replace(method, clusterer=("leiden",), **scored_by)


def graph_of(request: ScoreRequest, points: Points, cake: CAKE) -> Any:
    """Return the graph of neighbours of the cells, as :class:`clustertrust.anndata.data.CellData`.

    None where there is none, or where coordinates are needed.
    """
    if points.adata is None:
        return None
    from clustertrust.anndata.data import cells_of

    if request.has_labels and "clusterer" not in request.typed:
        # Nothing is clustered, or by what suits the data.
        cake = clone(cake).set_params(clusterer=None)
    cells = cells_of(points.adata, cake, request.columns.use_rep)
    if not cells.is_graph:
        return None
    return cells.rows(points.kept)


def score_graph(request: ScoreRequest, graph: Any, cake: CAKE) -> Confidence:
    """Cluster and score the graph of neighbours of cells."""
    refused = ["--model"] * ("--model" in request.paths) + ["--checkpoint"] * bool(
        request.checkpoint
    )
    if refused:
        raise click.UsageError(
            f"{refused[0]} needs coordinates, and the graph of neighbours of the cells is "
            "clustered; add --use-rep X_pca."
        )
    scored: Confidence = graph.cluster(cake)
    return scored
