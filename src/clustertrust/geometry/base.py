"""What every geometry has: parameters, their checks, abilities, and a way to measure points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS

from clustertrust._errors import ParameterError
from clustertrust._parallel import count_threads
from clustertrust._validation.points import check_matrix, check_square
from clustertrust.cells import Cells, Clusters
from clustertrust.distances.dissimilarity import Dissimilarity
from clustertrust.distances.metrics import EUCLIDEAN, Metric, as_metric
from clustertrust.distances.mixed import as_mixed
from clustertrust.ensemble.record import Ensemble
from clustertrust.records import register

# Metrics that square differences of coordinates, which then must not overflow.
SQUARING = (
    "euclidean",
    "l2",
    "sqeuclidean",
    "nan_euclidean",
    "seuclidean",
    "cosine",
    "correlation",
)


@dataclass(frozen=True)
class Compute:
    """Where and on how many threads work is done; results do not depend on the threads.

    `device` is settled: "cpu", "cuda" or "cuda-double".
    """

    n_jobs: int | None = None
    device: str = "cpu"

    @property
    def on_gpu(self) -> bool:
        """Whether the kernels run on a GPU."""
        return self.device != "cpu"

    @property
    def precision(self) -> str:
        """The numbers that distances are computed in on a GPU."""
        return "double" if self.device == "cuda-double" else "single"

    @property
    def threads(self) -> int:
        """The number of threads."""
        return count_threads(self.n_jobs)

    def alone(self) -> Compute:
        """Return the same with one thread, for one of many parallel jobs."""
        return replace(self, n_jobs=1)


class Geometry(BaseEstimator):
    """How silhouettes measure distance; base class of `Exact`, `Rms`, the others and your own.

    Your own geometry is a subclass with a method `measure`. It may have parameters, as any
    scikit-learn estimator has, and is given as ``CAKE(geometry=Mine(width=2))``.

    Attributes
    ----------
    name : what `geometry_method_` says
    takes_metric : whether the metric of `CAKE` is used
    has_coordinates : whether distances are those of the coordinates, so that Gaussians fit them
    in_blocks : whether `measure_totals` works with sums over blocks of rows, for data larger than
        memory and Dask data
    """

    # Whether the distances of all pairs of blocks can be summed, on the GPUs of Dask workers.
    sums_pairs: bool = False

    name: ClassVar[str] = "own"
    takes_metric: ClassVar[bool] = False
    has_coordinates: ClassVar[bool] = True
    in_blocks: ClassVar[bool] = False
    # X is a graph of weights.
    has_weights: bool = False

    def __init_subclass__(cls) -> None:
        """Let a model with this geometry be stored: its parameters are."""
        register(cls)

    def check(self) -> None:
        """Raise for a parameter that cannot be used; called before the runs."""

    def with_metric(self, metric: Metric) -> Self:
        """Return a copy with the metric of `CAKE`; raise if it would not be used."""
        if not metric.is_default:
            raise ParameterError(
                "metric",
                metric.given,
                "is not used by {geometry=}",
                "leave one of the two out, or choose {geometry='exact'}",
                geometry=self.name,
            )
        return self._copy()

    def _copy(self, **params: Any) -> Self:
        """Return a geometry with the same parameters, but for these."""
        copied: Self = clone(self).set_params(**params)
        return copied

    @property
    def used_metric(self) -> Metric:
        """The distance between points that neighbours and runs share with the silhouettes."""
        return EUCLIDEAN

    @property
    def is_precomputed(self) -> bool:
        """Whether X holds the distances of all pairs in place of points."""
        return self.used_metric.is_precomputed

    @property
    def is_mixed(self) -> bool:
        """Whether X is a table of numbers and categories, for Gower's distance."""
        return self.used_metric.is_mixed

    def why_no_coordinates(self) -> str | None:
        """Return the option because of which there are no coordinates to fit Gaussians in."""
        if not self.has_coordinates:
            return f"{{geometry={self.name!r}}}"
        name = self.used_metric.name
        if isinstance(name, str) and name in ("euclidean", "sqeuclidean"):
            return None
        return f"{{metric={name!r}}}" if isinstance(name, str) else f"metric={name!r}"

    def check_fit(self) -> None:
        """Raise if it cannot be used with runs of the same X."""
        self.check()

    def check_points(self, X: Any, n: int) -> Any:
        """Return X, checked: the points that n labels describe, or a matrix of all pairs."""
        if self.is_precomputed:
            self.check_precomputed(X)
            return check_square("X", X, n)
        X = self._check_matrix(X)
        if X.shape[0] != n:
            raise ValueError(
                f"X has {X.shape[0]} points and labels has {n}; both must describe the same "
                "points. An array of labels is (n, R), a list holds one label vector per run."
            )
        self.try_on(X)
        return X

    def _check_matrix(self, X: Any) -> Any:
        return check_matrix(X)

    def check_precomputed(self, X: Any) -> None:
        """Raise for a matrix of pairs that it cannot use."""

    def try_on(self, X: Any) -> None:
        """Raise if it cannot measure checked points X; before the runs, so it must be cheap."""

    def resolve(self, X: Any, compute: Compute) -> Geometry:
        """Return the geometry for checked points X; only "auto" returns another one."""
        return self

    @property
    def takes_totals(self) -> bool:
        """Whether `measure_totals` works with sums over blocks, with these parameters."""
        return self.in_blocks

    def resolve_blocks(self) -> Geometry:
        """Return the geometry for data in blocks."""
        return self

    def check_runs(self, ensemble: Ensemble, n_features: int) -> None:
        """Raise if its parameters do not fit the runs; called before any pass."""

    def warn(self, X: Any, compute: Compute) -> None:
        """Warn about what the user may not expect, such as hours of work."""

    def measure(self, X: Any, cells: Cells, ensemble: Ensemble, compute: Compute) -> Dissimilarity:
        """Return what gives the distances of points to all clusters.

        Parameters
        ----------
        X : (n, d) checked points
        cells : the clusters of all runs: points that no run separates share a cell
        ensemble : the runs, with centres if their clusterer has them
        compute : threads and device
        """
        raise NotImplementedError(f"{type(self).__name__} needs a method measure.")

    def measure_totals(self, totals: Clusters, ensemble: Ensemble) -> Dissimilarity:
        """Return the same from sums over blocks of rows; for geometries with `in_blocks`."""
        raise NotImplementedError(f"{type(self).__name__} needs all points at once.")


class MetricGeometry(Geometry):
    """A geometry by any distance between rows; `metric=None` is that of `CAKE`."""

    takes_metric = True

    def __init__(self, *, metric: Any = None) -> None:
        self.metric = metric

    @property
    def used_metric(self) -> Metric:
        """The distance between points; Euclidean unless another is given."""
        return EUCLIDEAN if self.metric is None else as_metric(self.metric)

    def check(self) -> None:
        """Raise for a metric that cannot be used."""
        self.used_metric.check()

    def with_metric(self, metric: Metric) -> Self:
        """Return a copy with the metric; raise if it has another one itself."""
        if self.metric is None:
            return self._copy() if metric.is_default else self._copy(metric=metric)
        if not (metric.is_default or metric.equals(self.used_metric)):
            raise ParameterError(
                "metric",
                metric.given,
                f"and {type(self).__name__}(metric={self.used_metric.given!r}) differ",
                "give the metric once",
            )
        return self._copy()

    def _check_matrix(self, X: Any) -> Any:
        metric = self.used_metric
        if metric.is_mixed:
            return as_mixed(X, metric.params)[1]
        return check_matrix(X, squares=metric.name in SQUARING)

    def try_on(self, X: Any) -> None:
        """Try the metric on one point, so that a bad one fails before the work starts."""
        metric = self.used_metric
        if metric.is_coordinate_free or metric.is_euclidean or metric.is_closed:
            return
        if sparse.issparse(X) and metric.name not in PAIRWISE_DISTANCE_FUNCTIONS:
            raise ParameterError(
                "metric", metric.given, "needs dense data", "use X.toarray() or another metric"
            )
        try:
            metric.fit(X).between(X[:1], X[:1])
        except ValueError as error:
            if "'metric' parameter" not in str(error):
                raise
            raise ParameterError(
                "metric",
                metric.given,
                "is not known",
                "choose one that sklearn.metrics.pairwise_distances has, such as 'manhattan', "
                "'cosine' or 'correlation', or 'gower' for tables with categories",
            ) from error
