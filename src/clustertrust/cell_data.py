"""AnnData objects → what cells are clustered, scored and drawn by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust.building import build_ensemble
from clustertrust.distances.links import as_distances
from clustertrust.ensemble.leiden import Leiden
from clustertrust.estimator import CAKE, confidence
from clustertrust.files.h5ad import representation
from clustertrust.geometry.graph import Graph
from clustertrust.results import Confidence

__all__ = [
    "NEIGHBORS",
    "RESOLUTIONS",
    "CellData",
    "cells_of",
    "described",
    "placed",
    "with_variation",
]

# What the runs of Leiden draw from by default, measured by experiments/research/leiden/run.py
RESOLUTIONS = tuple(round(0.5 + 0.025 * step, 3) for step in range(41))

OF_POINTS = ("clusterer", "n_clusters")  # parameters of runs that a graph does not take
NEIGHBORS = "neighbors"  # where scanpy describes the graph, unless it is told otherwise


@dataclass(frozen=True)
class CellData:
    """What the cells are clustered and scored by: a representation, or a graph of neighbours.

    Attributes
    ----------
    X : (n, d) points, or (n, n) weights of links if `is_graph`
    named : where it was found, as settings
    """

    X: Any
    named: dict[str, Any]
    is_graph: bool = False

    def scoring(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of scoring, with the geometry settled."""
        geometry = Graph(weights=True) if self.is_graph else given["geometry"] or "auto"
        return dict(given) | {"geometry": geometry}

    def cluster(
        self, building: Mapping[str, Any], scoring: Mapping[str, Any], verbose: bool
    ) -> Confidence:
        """Cluster the cells and score them."""
        if not self.is_graph:
            return CAKE(**building, **scoring, verbose=verbose).fit(self.X).confidence_
        how = {name: value for name, value in building.items() if name not in OF_POINTS}
        how |= {"n_jobs": scoring["n_jobs"], "verbose": verbose}
        leiden = Leiden(n_neighbors=None, weighted=True, metric="precomputed")
        runs = build_ensemble(as_distances(self.X), leiden, metric="precomputed", **how)
        return confidence(self.X, runs, **scoring)


def with_variation(building: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of runs; those of Leiden draw a resolution if nothing else varies."""
    plain = building.get("vary") is None and building.get("resample") is None
    if not plain or building["clusterer"] != "leiden":
        return dict(building)
    return dict(building) | {"vary": {"resolution": RESOLUTIONS}}


def cells_of(
    adata: Any,
    use_rep: str | None,
    neighbors_key: str | None,
    given: Mapping[str, Any],
    building: Mapping[str, Any],
) -> CellData:
    """Return the graph of neighbours where it can be used, otherwise a representation."""
    needs = [f"use_rep={use_rep!r}"] if use_rep is not None else []
    needs += [
        f"{name}={given[name]!r}"
        for name, fine in (("geometry", (None, "graph")), ("metric", ("euclidean",)))
        if given[name] not in fine
    ]
    needs += [] if building["n_clusters"] is None else [f"n_clusters={building['n_clusters']}"]
    if building["clusterer"] not in (None, "leiden"):
        needs.append(f"clusterer={building['clusterer']!r}")
    if given["fusion"] == "refined":
        needs.append("fusion='refined'")
    weights = None if needs and neighbors_key is None else _connectivities(adata, neighbors_key)
    if weights is not None and needs:
        raise ValueError(
            f"neighbors_key={neighbors_key!r} names a graph, and {' and '.join(needs)} needs "
            "coordinates; leave one of them out."
        )
    if weights is not None:
        return CellData(weights, {"neighbors_key": neighbors_key or NEIGHBORS}, is_graph=True)
    rep = use_rep or "X_pca"
    return CellData(representation(adata, rep), {"use_rep": rep})


def _connectivities(adata: Any, neighbors_key: str | None) -> Any:
    """Return the weights of the graph (n, n); None if none was asked for and there is none."""
    described = adata.uns.get(neighbors_key or NEIGHBORS)
    known = described if isinstance(described, Mapping) else {}
    name = str(known.get("connectivities_key", "connectivities"))  # older files do not say it
    if described is None or name not in adata.obsp:
        if neighbors_key is None:
            return None
        raise ValueError(
            f"neighbors_key={neighbors_key!r} is not in adata.uns with its connectivities in "
            f"adata.obsp, which have {list(adata.uns)} and {list(adata.obsp)}. Make it with "
            f"scanpy.pp.neighbors(adata, key_added={neighbors_key!r})."
        )
    return sparse.csr_array(adata.obsp[name])


def placed(adata: Any, basis: str | None = None) -> Any:
    """Return the first two columns of `obsm[basis]`; None: of X_umap, or nothing without it."""
    if basis is None and "X_umap" not in adata.obsm:
        return None
    if basis is not None and basis not in adata.obsm:
        raise ValueError(
            f"basis={basis!r} is not in adata.obsm, which has {list(adata.obsm)}; "
            "scanpy.tl.umap(adata) makes 'X_umap'."
        )
    return np.asarray(representation(adata, basis or "X_umap"))[:, :2]


def described(adata: Any, key_added: str = "cake") -> pd.DataFrame | None:
    """Return the columns of `obs` that are no results of ours; None if there are none."""
    prefix = f"{key_added}_"
    found = adata.obs[[name for name in adata.obs if not str(name).startswith(prefix)]]
    return found if found.shape[1] else None
