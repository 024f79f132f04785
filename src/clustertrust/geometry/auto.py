"""The geometry that fits the size of the data."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from clustertrust.geometry.base import Compute, Geometry, MetricGeometry
from clustertrust.geometry.exact import Exact
from clustertrust.geometry.graph import Graph
from clustertrust.geometry.rms import Rms

# Exact silhouettes up to this many points, while n² d is at most this; the latter on a GPU.
EXACT_POINTS = 50_000
EXACT_WORK = 5e11
GPU_WORK = 1e14


class Auto(MetricGeometry):
    """`Exact` if it is affordable or the metric is not Euclidean; `Graph` for a graph; else `Rms`.

    A fixed function of the size of the data, never of measured time.
    """

    name = "auto"
    in_blocks = True

    def resolve(self, X: Any, compute: Compute) -> Geometry:
        """Return the geometry for checked points X."""
        if self.is_precomputed and sparse.issparse(X):
            return Graph(metric=self.metric)
        n, d = X.shape
        work = n * n * d
        affordable = (
            work <= GPU_WORK if compute.on_gpu else n <= EXACT_POINTS and work <= EXACT_WORK
        )
        return (
            Exact(metric=self.metric) if affordable or not self.used_metric.is_euclidean else Rms()
        )

    def resolve_blocks(self) -> Geometry:
        """Return the geometry for data in blocks."""
        return Exact(metric=self.metric) if self.used_metric.is_cosine else Rms()
