"""AnnData objects → what cells are clustered, scored and drawn by."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import normalize

from clustertrust._errors import ParameterError
from clustertrust._types import Floats
from clustertrust._validation.arguments import check_inside, check_list
from clustertrust.anndata.geometry import GraphAndPoints
from clustertrust.building import build_ensemble
from clustertrust.chance import chance_level
from clustertrust.distances.graph_shares import N_NEIGHBORS
from clustertrust.distances.links import as_distances
from clustertrust.distances.metrics import as_metric
from clustertrust.ensemble.leiden import Leiden
from clustertrust.ensemble.record import Ensemble
from clustertrust.estimator import CAKE, confidence
from clustertrust.files.h5ad import check_adata, representation
from clustertrust.fusion import as_fusion
from clustertrust.geometry.auto import Auto
from clustertrust.geometry.graph import Graph
from clustertrust.reasons import Chance
from clustertrust.results import Confidence
from clustertrust.scoring.settings import Settings
from clustertrust.surrogates.drawn import SAMPLE, seeded

# What the runs of Leiden draw from by default, measured by experiments/research/leiden/run.py
RESOLUTIONS = tuple(round(0.5 + 0.025 * step, 3) for step in range(41))

# How such runs are scored: their numbers of clusters differ, and so do the silhouettes of a cell.
SCORED_BY = {"agreement": "jaccard", "normalization": "smooth"}

# Where scanpy describes the graph by default
NEIGHBORS = "neighbors"
# Where cells are drawn: the first of these that is there
BASES = ("X_umap", "X_tsne", "X_pca")

# Cells without clusters that chance is measured on, and runs on them
SURROGATE_CELLS, SURROGATE_RUNS = 2000, 8


@dataclass(frozen=True)
class CellData:
    """What the cells are clustered and scored by: a representation, or a graph of neighbours.

    Attributes
    ----------
    X : (n, d) points, or (n, n) weights of links if `is_graph`
    named : where it was found, as settings
    geometry : what their silhouettes compare
    is_graph : whether X holds the weights of links
    points : (n, d) coordinates that the graph was made from; None: not known, or no graph
    n_neighbors : links of each cell that the graph was made with
    """

    X: Any
    named: dict[str, Any]
    geometry: Any
    is_graph: bool = False
    points: Any = None
    n_neighbors: int = N_NEIGHBORS

    def rows(self, kept: Any) -> CellData:
        """Return some of the cells of a graph."""
        points = None if self.points is None else self.points[kept]
        return replace(self, X=sparse.csr_array(self.X[kept][:, kept]), points=points)

    def cluster(self, cake: CAKE) -> Confidence:
        """Cluster the cells with the settings of an estimator, and score them."""
        if not self.is_graph:
            fitted: CAKE = clone(cake).fit(self.X)
            return fitted.confidence_
        runs = self.build(cake)
        return replace(self.score(runs, cake), chance=self._chance(cake, runs))

    def _chance(self, cake: CAKE, runs: Ensemble) -> Chance | None:
        """Return what cells without clusters rarely exceed; None if there are no coordinates.

        Points without clusters are drawn that have the spread of the coordinates, and linked to
        their neighbours; the level barely depends on their number.
        """
        entropy = (runs.seeds or (None,))[0]
        if self.points is None or entropy is None or as_fusion(cake.fusion).uses_opinions:
            return None
        n = len(self.points)
        drawn = seeded(entropy, SAMPLE, 0).choice(n, SURROGATE_CELLS, replace=n < SURROGATE_CELLS)
        k = self.n_neighbors
        twin = clone(cake).set_params(
            clusterer=Leiden(n_neighbors=k),
            geometry=clone(self.geometry).set_params(weights=False, n_neighbors=k),
            n_runs=min(runs.n_runs, SURROGATE_RUNS),
            verbose=False,
        )
        settings = Settings.from_estimator(twin)
        return Chance(partial(chance_level, self.points[drawn], settings, entropy, 1))

    def build(self, cake: CAKE) -> Ensemble:
        """Cluster the cells with the settings of an estimator."""
        params = taken_by(build_ensemble, cake)
        if not self.is_graph:
            return build_ensemble(self.X, **params)
        leiden = Leiden(n_neighbors=None, weighted=True, metric="precomputed")
        on_graph = {"clusterer": leiden, "metric": "precomputed"}
        return build_ensemble(as_distances(self.X), **params | on_graph)

    def score(
        self, runs: Ensemble, cake: CAKE, by: Callable[..., Confidence] = confidence
    ) -> Confidence:
        """Score partitions of the cells, or audit one, with the settings of an estimator."""
        geometry = self.geometry
        if isinstance(geometry, GraphAndPoints):
            geometry = clone(geometry).set_params(points=self.points)
        return by(self.X, runs, **taken_by(by, cake) | {"geometry": geometry})


def check_target(adata: Any, key: Any) -> None:
    """Raise for something else than AnnData, and for a name that results cannot begin with."""
    if not isinstance(key, str) or not key or "/" in key:
        raise ValueError(f"key_added={key!r} must be a name without '/', such as 'cake'.")
    check_adata(adata)


def taken_by(function: Callable[..., Any], cake: CAKE) -> dict[str, Any]:
    """Return the parameters of an estimator that a function takes too."""
    taken = inspect.signature(function).parameters
    return {name: value for name, value in cake.get_params(deep=False).items() if name in taken}


def with_variation(params: Mapping[str, Any], resolution: Any = None) -> dict[str, Any]:
    """Return the parameters of runs; those of Leiden draw a resolution if nothing else varies.

    They draw it from half of `resolution` to one and a half of it, or from several; with something
    else that varies it is fixed.
    """
    vary = params.get("vary") or {}
    varies = bool(vary) or params.get("resample") is not None
    if resolution is None:
        usual = varies or params["clusterer"] != "leiden"
        return dict(params) if usual else dict(params) | {"vary": {"resolution": RESOLUTIONS}}
    if params["clusterer"] != "leiden" or "resolution" in vary:
        raise ParameterError(
            "resolution",
            resolution,
            "is for runs of Leiden that do not set their own",
            "leave it out, or n_clusters, or what cake sets",
        )
    if not np.isscalar(resolution):
        drawn = check_resolutions(resolution)
    elif varies:
        drawn = check_resolutions([resolution])
    else:
        (middle,) = check_resolutions([resolution])
        drawn = [round(middle * step, 6) for step in RESOLUTIONS]
    return dict(params) | {"vary": {**vary, "resolution": drawn}}


def check_resolutions(values: Any) -> list[float]:
    """Return resolutions, positive numbers, as floats."""
    numbers = check_list("resolution", values, "[0.5, 1.0, 2.0]")
    if not numbers:
        raise ParameterError("resolution", values, "is empty", "give at least one")
    return [check_inside("resolution", one, 0.0, np.inf) for one in numbers]


def cells_of(
    adata: Any, cake: CAKE, use_rep: str | None = None, neighbors_key: str | None = None
) -> CellData:
    """Return the graph of neighbours where an estimator can use it, otherwise a representation.

    An estimator whose clusterer is None clusters nothing, or anything.
    """
    needs = [] if use_rep is None else [f"use_rep={use_rep!r}"]
    needs += _needs_points(cake)
    weights = None if needs and neighbors_key is None else _connectivities(adata, neighbors_key)
    if weights is not None and needs:
        raise ValueError(
            f"neighbors_key={neighbors_key!r} names a graph, and {' and '.join(needs)} needs "
            "coordinates; leave one of them out."
        )
    if weights is not None:
        key = neighbors_key or NEIGHBORS
        points, k = _linked_points(adata, key) if cake.clusterer == "leiden" else (None, 0)
        geometry: Any = _along_weights(cake.geometry)
        if points is not None and _is_auto(cake.geometry):
            geometry = GraphAndPoints(weights=True)
        return CellData(weights, {"neighbors_key": key}, geometry, True, points, k)
    rep = use_rep or "X_pca"
    return CellData(representation(adata, rep), {"use_rep": rep}, cake.geometry)


def _needs_points(cake: CAKE) -> list[str]:
    """Return the parameters, with their values, that a graph does not serve."""
    fusion = as_fusion(cake.fusion)
    serves = {
        "geometry": _along_weights(cake.geometry) is not None,
        "metric": as_metric(cake.metric).is_default,
        "n_clusters": cake.n_clusters is None,
        "clusterer": cake.clusterer in (None, "leiden"),
        "fusion": not (fusion.uses_persistence and fusion.needs_coordinates),
    }
    return [f"{name}={getattr(cake, name)!r}" for name, served in serves.items() if not served]


def _along_weights(geometry: Any) -> Graph | None:
    """Return silhouettes along given weights; None if the geometry needs points or distances.

    By walks alone, unless a `Graph` is given: path lengths made of connectivities rank cells worse
    (experiments/research/leiden/counts.py).
    """
    if _is_auto(geometry) or geometry == "graph":
        return Graph(weights=True, paths=False)
    if not isinstance(geometry, Graph) or (geometry.n_neighbors, geometry.metric) != (None, None):
        return None
    along: Graph = clone(geometry).set_params(weights=True)
    return along


def _is_auto(geometry: Any) -> bool:
    return isinstance(geometry, Auto) or geometry == "auto"


def _linked_points(adata: Any, key: str) -> tuple[Floats | None, int]:
    """Return the coordinates that the graph at `uns[key]` was made from, and its links of a cell.

    None where they are not in obsm. With the metric "cosine" they have unit length, since straight
    distances between them say the same then.
    """
    described = adata.uns[key]
    params = described.get("params", {}) if isinstance(described, Mapping) else {}
    rep = str(params.get("use_rep", "X_pca"))
    # scanpy counts the cell itself.
    k = (_positive(params.get("n_neighbors")) or N_NEIGHBORS + 1) - 1 or 1
    if rep not in adata.obsm:
        return None, k
    points = representation(adata, rep)
    if sparse.issparse(points) or points.ndim != 2 or points.dtype.kind not in "iuf":
        return None, k
    points = np.asarray(points[:, : _positive(params.get("n_pcs"))], dtype=np.float64)
    if not np.isfinite(points).all():
        return None, k
    return normalize(points) if params.get("metric") == "cosine" else points, k


def _positive(value: Any) -> int | None:
    """Return a positive whole number, which files may hold as an array of one; else None."""
    numbers = np.ravel(value)
    is_number = numbers.size == 1 and numbers.dtype.kind in "iuf" and numbers[0] >= 1
    return int(numbers[0]) if is_number else None


def _connectivities(adata: Any, neighbors_key: str | None) -> Any:
    """Return the weights of the graph (n, n); None if none was asked for and there is none."""
    described = adata.uns.get(neighbors_key or NEIGHBORS)
    keys = described if isinstance(described, Mapping) else {}
    # Older files do not say it.
    name = str(keys.get("connectivities_key", "connectivities"))
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
    """Return the first two columns of `obsm[basis]`; None: of the first of `BASES`, if any."""
    if basis is None:
        basis = next((name for name in BASES if name in adata.obsm), None)
        if basis is None:
            return None
    if basis not in adata.obsm:
        raise ValueError(
            f"basis={basis!r} is not in adata.obsm, which has {list(adata.obsm)}; "
            "scanpy.tl.umap(adata) makes 'X_umap'."
        )
    return np.asarray(representation(adata, basis))[:, :2]


def described(adata: Any, key_added: str = "cake") -> pd.DataFrame | None:
    """Return the columns of `obs` that are no results of ours; None if there are none."""
    prefix = f"{key_added}_"
    others = adata.obs[[name for name in adata.obs if not str(name).startswith(prefix)]]
    return others if others.shape[1] else None
