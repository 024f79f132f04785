"""Exact silhouettes: mean distances to the members of clusters."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from clustertrust._errors import Message, ParameterTypeError
from clustertrust._validation.arguments import warn_user
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Cosine, Dissimilarity, Euclidean
from clustertrust.distances.in_blocks import InBlocks
from clustertrust.distances.on_gpu import EuclideanOnGpu
from clustertrust.distances.pairwise import Pairwise
from clustertrust.ensemble.record import Ensemble
from clustertrust.geometry.base import Compute, MetricGeometry
from clustertrust.geometry.rms import mean_squares

# About n² d per second and thread on today's machines (benchmarks/fashion.py).
PACE = 1e10
# Seconds; above this a warning names cheaper geometries.
LONG = 1800.0
# Columns, and n² d, from which on fewer columns are worth a line.
WIDE = 200
LENGTHY = 1e10
COMPONENTS = 50


class Exact(MetricGeometry):
    """Silhouettes by mean distances to the members of clusters, Eq. (1).

    One pass over the distances serves all runs, O(n² d). "sqeuclidean" and "cosine" have closed
    forms in O(n k d).

    Parameters
    ----------
    metric : str, function or :class:`~clustertrust.Metric`, optional
        None: the metric of :class:`~clustertrust.CAKE`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.geometry import Exact
    >>> cake = CAKE(3, geometry=Exact(metric="sqeuclidean"), random_state=0)
    >>> cake.set_params(geometry__metric="euclidean").fit(load_iris().data).geometry_method_
    'exact'
    """

    name = "exact"

    @property
    def takes_totals(self) -> bool:
        """Whether the metric is the cosine, which needs mean directions alone."""
        return self.used_metric.is_cosine

    @property
    def sums_pairs(self) -> bool:  # type: ignore[override]
        """Whether the metric is the Euclidean one, whose sums GPUs compute."""
        return self.used_metric.is_euclidean

    def check_precomputed(self, X: Any) -> None:
        """Raise for a sparse graph: all distances are needed."""
        if sparse.issparse(X):
            raise ParameterTypeError(
                "geometry",
                self.name,
                "needs all distances, and X is a sparse graph",
                "give a dense matrix (X.toarray() only if it is complete), or {geometry='graph'}",
            )

    def warn(self, X: Any, compute: Compute) -> None:
        """Warn if the work will take long, and name cheaper geometries."""
        if compute.on_gpu or self.used_metric.is_closed or self.is_precomputed:
            return
        n, d = X.shape
        seconds = n * n * d / (PACE * compute.threads)
        if d >= WIDE and n * n * d >= LENGTHY:
            _warn_of_width(X)
        if seconds > LONG:
            hours, minutes = f"{seconds / 3600:.1f} hours", f"{seconds / 60:.0f} minutes"
            warn_user(
                Message(
                    f"Exact silhouettes of {n} points with {d} columns take about "
                    f"{hours if seconds > 3600 else minutes} on {compute.threads} threads. "
                    "{geometry='sampled'} comes close in a fraction of the time, {geometry='rms'} "
                    "takes seconds."
                )
            )

    def measure(self, X: Any, cells: Cells, ensemble: Ensemble, compute: Compute) -> Dissimilarity:
        """Return the mean distances to the members."""
        metric = self.used_metric
        if metric.is_closed and metric.name == "sqeuclidean":
            return mean_squares(X, cells, compute, root=False)
        if metric.is_closed:
            return Cosine(X, cells, n_jobs=compute.n_jobs)
        if metric.is_euclidean and not sparse.issparse(X):
            if compute.on_gpu:
                precision = compute.precision
                return EuclideanOnGpu(X, cells, precision=precision, n_jobs=compute.n_jobs)
            return Euclidean(X, cells, n_jobs=compute.n_jobs)
        return Pairwise(X, cells, metric=metric.fit(X), n_jobs=compute.n_jobs)

    def measure_totals(self, totals: Any, ensemble: Ensemble) -> Dissimilarity:
        """Return the distances from sums over all rows.

        For "cosine" these have unit length; Euclidean distances are summed later, among all blocks.
        """
        if not self.used_metric.is_cosine:
            middle = totals.sizes @ totals.means / max(1.0, totals.sizes.sum())
            return InBlocks(totals, middle)
        return Cosine(None, totals, means=totals.means, n_jobs=1)


def _warn_of_width(X: Any) -> None:
    """Say how wide data become faster."""
    by = "TruncatedSVD" if sparse.issparse(X) else "PCA"
    warn_user(
        f"X has {X.shape[1]} columns, which take most of the time. {COMPONENTS} components are "
        "several times as fast, and often rank the points as well: X = sklearn.decomposition."
        f"{by}({COMPONENTS}, random_state=0).fit_transform(X)"
    )
