"""Silhouettes by distances to the centres of clusters, the paper's cheaper proxy."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from clustertrust._types import Floats
from clustertrust.cells import Cells, Clusters
from clustertrust.distances.dissimilarity import Centers, Dissimilarity
from clustertrust.distances.moments import cluster_means
from clustertrust.distances.on_gpu import CentersOnGpu
from clustertrust.ensemble.record import Ensemble
from clustertrust.geometry.base import Compute, Geometry


class Centroid(Geometry):
    """Silhouettes by distances to the centres of clusters, O(n k d). Works in blocks.

    Parameters
    ----------
    centers : sequence of R arrays, optional
        For :func:`~clustertrust.confidence`: in the array of each run, row ℓ is the centre of label
        ℓ. None: the centres of the runs if their clusterer has them, else the means of the
        clusters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.geometry import Centroid
    >>> cake = CAKE(3, geometry=Centroid(), random_state=0).fit(load_iris().data)
    >>> cake.geometry_method_
    'centroid'
    """

    name = "centroid"
    in_blocks = True

    def __init__(self, centers: Any = None) -> None:
        self.centers = centers

    def check_runs(self, ensemble: Ensemble, n_features: int) -> None:
        """Raise for centres that do not fit the labels or the columns."""
        self._with_centers(ensemble, n_features)

    def measure(self, X: Any, cells: Cells, ensemble: Ensemble, compute: Compute) -> Dissimilarity:
        """Return the distances to the centres."""
        centers = self._centers(ensemble, cells, X.shape[1])
        if centers is None:
            centers = cluster_means(X, cells)
        kind = CentersOnGpu if compute.on_gpu and not sparse.issparse(X) else Centers
        return kind(X, cells, centers=centers, spread=None, root=True, n_jobs=compute.n_jobs)

    def measure_totals(self, totals: Any, ensemble: Ensemble) -> Dissimilarity:
        """Return the distances to the centres, or to the means of all rows."""
        centers = self._centers(ensemble, totals, totals.means.shape[1])
        if centers is None:
            centers = totals.means
        return Centers(None, totals, centers=centers, spread=None, root=True, n_jobs=1)

    def _centers(self, ensemble: Ensemble, cells: Clusters, d: int) -> Floats | None:
        """Return the centres (K, d) of all clusters that occur, given or of the runs; else None."""
        ensemble = self._with_centers(ensemble, d)
        if ensemble.centers is None:
            return None
        pairs = zip(ensemble.centers, cells.names, strict=True)
        return np.vstack([centers[names] for centers, names in pairs])

    def _with_centers(self, ensemble: Ensemble, d: int) -> Ensemble:
        if self.centers is not None:
            ensemble = ensemble.with_centers(self.centers)
        if ensemble.centers is not None and ensemble.centers[0].shape[1] != d:
            columns = ensemble.centers[0].shape[1]
            raise ValueError(f"centers have {columns} columns and X has {d}; they must agree.")
        return ensemble
