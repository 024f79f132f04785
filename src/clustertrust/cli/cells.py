"""AnnData files: the defaults of `clustertrust.anndata.score`, for the command."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from scipy import sparse

from clustertrust.cli.options import Columns, Method
from clustertrust.cli.points import Points
from clustertrust.cli.request import ScoreRequest
from clustertrust.files import format_of

__all__ = ["for_cells", "graph_of", "is_h5ad", "runs_of"]


def is_h5ad(data: str, columns: Columns) -> bool:
    """Return whether the file is AnnData."""
    return data != "-" and (columns.format or format_of(data)) == "h5ad"


def for_cells(method: Method, typed: Collection[str]) -> Method:
    """Return the method with the default for cells: Leiden, unless -k or --clusterer is typed."""
    if "clusterer" in typed or method.n_clusters is not None:
        return method
    agreement = method.agreement if "agreement" in typed else "jaccard"
    return replace(method, clusterer=("leiden",), agreement=agreement)


def runs_of(request: ScoreRequest) -> dict[str, Any]:
    """Return the parameters that make the runs."""
    building = request.method.building()
    if not is_h5ad(request.data, request.columns):
        return building
    from clustertrust.cell_data import with_variation

    return with_variation(building)


def graph_of(request: ScoreRequest, points: Points) -> Any:
    """Return the graph of neighbours of the cells, as :class:`clustertrust.cell_data.CellData`.

    None where there is none, or where coordinates are needed.
    """
    if points.adata is None:
        return None
    from clustertrust.cell_data import cells_of

    given = request.method.scoring()
    given |= {"geometry": given["geometry"] if "geometry" in request.typed else None}
    building = request.method.building()
    if request.labels is not None or request.labels_column is not None:
        building |= {} if "clusterer" in request.typed else {"clusterer": None}
    cells = cells_of(points.adata, request.columns.use_rep, None, given, building)
    if not cells.is_graph:
        return None
    kept = points.kept
    return replace(cells, X=sparse.csr_array(cells.X[kept][:, kept]))
