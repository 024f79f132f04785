"""Silhouettes s (n, R) of all runs → the geometric component g = S̃, Eqs. (1) to (3).

`clustertrust.distances.dissimilarity` answers, for a block of rows, how far each point is from each
cluster of each run. From there the silhouette is one formula for every geometry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS

from clustertrust._devices import check_device, resolve_device, to_host
from clustertrust._parallel import count_threads
from clustertrust._types import Floats, Ints
from clustertrust._validation import (
    MOST,
    check_choice,
    check_count,
    check_matrix,
    check_square,
    warn_user,
)
from clustertrust.cells import Cells, Clusters, meet
from clustertrust.distances.dissimilarity import (
    Centers,
    Cosine,
    Dissimilarity,
    Euclidean,
    cluster_means,
    cluster_moments,
)
from clustertrust.distances.graph_shares import N_NEIGHBORS, N_STEPS, GraphShares
from clustertrust.distances.kernel_means import KernelMeans
from clustertrust.distances.links import DistanceWalk, NearestWalk, Walk, WeightWalk
from clustertrust.distances.metrics import fitted_metric, is_name
from clustertrust.distances.mixed import as_mixed
from clustertrust.distances.on_gpu import CentersOnGpu, EuclideanOnGpu, KernelMeansOnGpu
from clustertrust.distances.pairwise import Pairwise
from clustertrust.distances.sampled_means import SampledMeans
from clustertrust.ensemble.record import Ensemble, as_ensemble

__all__ = [
    "GEOMETRIES",
    "GRAPH_PARAMS",
    "KERNELS",
    "NORMALIZATIONS",
    "GeometryOptions",
    "affine",
    "choose_geometry",
    "clip",
    "mean_and_std",
    "silhouettes",
]

SQUARING = (
    "euclidean",
    "l2",
    "sqeuclidean",
    "nan_euclidean",
    "seuclidean",
    "cosine",
    "correlation",
)  # metrics

GRAPH_PARAMS = {"n_neighbors": N_NEIGHBORS, "n_steps": N_STEPS}
KERNELS = ("linear", "polynomial", "precomputed", "rbf", "self-tuning")
EXACT_POINTS = 50_000  # `auto` takes exact silhouettes up to this many points,
EXACT_WORK = 5e11  # while n² d is at most this
GPU_WORK = 1e14  # the same on a GPU
# About n² d per second and thread on today's machines (benchmarks/fashion.py)
EXACT_PACE = 1e10
LONG = 1800.0  # seconds; above this a warning names cheaper geometries


def mean_and_std(s: Floats) -> tuple[Floats, Floats]:
    """μ and σ over the runs that count, Eq. (2).

    `s` is (n, R), NaN where a run does not count; σ divides by the number of runs that count.
    """
    counts = np.isfinite(s)
    if counts.all():
        mean = s.mean(axis=1)
        deviation = s - mean[:, None]
        return mean, np.sqrt(np.square(deviation, out=deviation).mean(axis=1))
    runs = counts.sum(axis=1)
    divisor = np.where(runs > 0, runs, np.nan)
    mean = np.where(counts, s, 0.0).sum(axis=1) / divisor
    deviation = np.where(counts, s - mean[:, None], 0.0)
    return mean, np.sqrt((deviation**2).sum(axis=1) / divisor)


def clip(mean: Floats, std: Floats) -> Floats:
    """S̃ = max(0, μ - σ), Eq. (3)."""
    return np.maximum(mean - std, 0.0)


def affine(mean: Floats, std: Floats) -> Floats:
    """((μ - σ) + 1) / 2, the footnote to Eq. (3), clipped because μ - σ may fall to -√2."""
    return np.clip((mean - std + 1.0) / 2.0, 0.0, 1.0)


NORMALIZATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {"affine": affine, "clip": clip}


@dataclass(frozen=True)
class GeometryOptions:
    """What a silhouette compares.

    Attributes
    ----------
    method : a name of `GEOMETRIES`, or "auto"
    metric, metric_params, kernel, kernel_params, graph_params : as in `CAKE`
    centers : one (k, d) array a run, row ℓ for label ℓ
    n_jobs : threads
    device, precision : where the kernels run, and in which numbers on a GPU
    """

    method: str = "auto"
    metric: Any = "euclidean"
    metric_params: dict | None = None
    kernel: Any = "self-tuning"
    kernel_params: dict | None = None
    graph_params: dict | None = None
    centers: Any = None
    n_jobs: int | None = None
    device: str = "auto"
    precision: str = "single"

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> GeometryOptions:
        """Check the parameters of `silhouettes`, given by name; ignore others."""
        names = [f.name for f in fields(cls) if f.name in params]
        method = {"method": params["geometry"]} if "geometry" in params else {}
        options = cls(**method, **{name: params[name] for name in names})
        options.check()
        return options

    def check(self) -> None:
        """Raise for an option that the geometry would ignore."""
        check_choice("geometry", self.method, [*GEOMETRIES, "auto"])
        check_device(self.device, self.precision)
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS)
        if not callable(self.metric) and not isinstance(self.metric, str):
            raise TypeError(
                f"metric={self.metric!r} must be a name, such as 'manhattan', or a function of two "
                "rows."
            )
        for name in ("metric_params", "kernel_params", "graph_params"):
            params = getattr(self, name)
            if params is not None and not isinstance(params, dict):
                raise TypeError(f"{name}={params!r} must be a dict of parameters, or None.")
        used_by = {
            "metric": ("exact", "graph", "auto"),
            "metric_params": ("exact", "graph", "auto"),
            "centers": ("centroid",),
            "kernel": ("kernel", "graph"),
            "kernel_params": ("kernel",),
            "graph_params": ("graph",),
        }
        for name, methods in used_by.items():
            value = getattr(self, name)
            given = (
                value is not None
                if name == "centers"
                else (value or None) != getattr(GeometryOptions, name)
            )
            if given and self.method not in methods:
                raise ValueError(
                    f"{name} is used only by geometry={' or '.join(map(repr, methods))}, not by "
                    f"geometry={self.method!r}; leave {name} out or change the geometry."
                )
        plain = {
            "metric": ("euclidean", "precomputed"),
            "kernel": ("self-tuning", "linear", "precomputed"),
        }
        for name, without in plain.items():
            value = getattr(self, name)
            if getattr(self, f"{name}_params") and isinstance(value, str) and value in without:
                raise ValueError(f"{name}={value!r} takes no parameters; leave {name}_params out.")
        if self.method == "graph":
            self._check_graph()

    def _check_graph(self) -> None:
        """Raise for options that a graph does not have."""
        if not any(is_name(self.kernel, name) for name in ("self-tuning", "precomputed")):
            raise ValueError(
                f"kernel={self.kernel!r} does not weigh the links of geometry='graph'; leave it "
                "out, or give the weights as X with kernel='precomputed'."
            )
        if self.has_weights and (self.metric != "euclidean" or self.metric_params):
            raise ValueError(
                f"kernel='precomputed' says that X holds weights, so metric={self.metric!r} would "
                "not be used; leave one of them out."
            )
        for name, value in (self.graph_params or {}).items():
            check_choice("graph_params", name, GRAPH_PARAMS)
            check_count(f"graph_params[{name!r}]", value, at_least=1, at_most=MOST)
        if self.has_weights and "n_neighbors" in (self.graph_params or {}):
            raise ValueError(
                "graph_params['n_neighbors'] is not used where X holds the weights of all links "
                "(kernel='precomputed'); leave it out."
            )

    @property
    def is_precomputed(self) -> bool:
        """Return whether X is a matrix of distances or kernel values instead of points."""
        if self.method == "kernel":
            return is_name(self.kernel, "precomputed")
        return self.has_weights or is_name(self.metric, "precomputed")

    @property
    def has_weights(self) -> bool:
        """Return whether X holds the weights of the links of a graph."""
        return self.method == "graph" and is_name(self.kernel, "precomputed")

    @property
    def is_mixed(self) -> bool:
        """Return whether X is a table of numbers and categories, which Gower's distance takes."""
        return self.takes_metric and is_name(self.metric, "gower")

    @property
    def has_closed_form(self) -> bool:
        """Return whether a cluster's mean and variance, or mean direction, give its distances."""
        return self.metric in ("sqeuclidean", "cosine") and not self.metric_params

    @property
    def on_gpu(self) -> bool:
        """Whether the kernels run on a GPU; `device` is settled by then."""
        return self.device == "cuda"

    @property
    def takes_metric(self) -> bool:
        """Return whether this geometry uses the metric."""
        return self.method in {"exact", "graph", "auto"} and not self.has_weights

    def check_points(self, X: Any, n: int) -> Any:
        """Return X as the geometry needs it, points or a square matrix; try the metric on a row."""
        if self.is_precomputed:
            self.check_given(X)
            return check_square("X", X, n)
        if self.is_mixed:
            X = as_mixed(X, self.metric_params)[1]
        else:
            squares = not self.takes_metric or self.metric in SQUARING
            X = check_matrix(X, squares=squares)
        if X.shape[0] != n:
            raise ValueError(
                f"X has {X.shape[0]} points and labels has {n}; both must describe the same "
                "points. An array of labels is (n, R), a list holds one label vector per run."
            )
        self.try_metric(X)
        return X

    def check_given(self, X: Any) -> None:
        """Raise for a sparse graph that the geometry cannot use."""
        if not sparse.issparse(X):
            return
        if self.method not in ("graph", "auto"):
            raise TypeError(
                f"X is a sparse graph, and geometry={self.method!r} needs all distances; give a "
                "dense matrix (X.toarray() only if it is complete), or geometry='graph'."
            )
        if "n_neighbors" in (self.graph_params or {}):
            raise ValueError(
                "graph_params['n_neighbors'] is not used where X is a sparse graph, all of "
                "whose links count; leave it out."
            )

    def try_metric(self, X: Any) -> None:
        """Try the metric on one point, so that a bad one fails before the work starts."""
        metric = self.metric
        if (
            not self.takes_metric
            or metric == "euclidean"
            or self.has_closed_form
            or self.is_precomputed
            or self.is_mixed
        ):
            return
        if sparse.issparse(X) and metric not in PAIRWISE_DISTANCE_FUNCTIONS:
            raise ValueError(
                f"metric={metric!r} needs dense data; use X.toarray() or another metric."
            )
        try:
            fitted_metric(metric, self.metric_params, X).between(X[:1], X[:1])
        except ValueError as error:
            if "'metric' parameter" not in str(error):
                raise
            raise ValueError(
                f"metric={metric!r} is not known; choose one that "
                "sklearn.metrics.pairwise_distances has, such as 'manhattan', 'cosine' or "
                "'correlation', or 'gower' for tables with categories."
            ) from error

    def resolved(self, n: int, d: int, *, is_graph: bool = False) -> str:
        """Return the method; `auto` is resolved for n points with d columns, or for a graph."""
        if self.method != "auto":
            return self.method
        if is_graph:
            return "graph"
        return choose_geometry(n, d, self.metric, on_gpu=self.on_gpu)


def exact(X: Any, cells: Cells, options: GeometryOptions) -> Dissimilarity:
    """Return the mean distance to the members; closed forms for `sqeuclidean` and `cosine`."""
    if options.has_closed_form and options.metric == "sqeuclidean":
        return _mean_squares(X, cells, options, root=False)
    if options.has_closed_form:
        return Cosine(X, cells, n_jobs=options.n_jobs)
    if options.metric == "euclidean" and not sparse.issparse(X):
        if options.on_gpu:
            return EuclideanOnGpu(X, cells, precision=options.precision, n_jobs=options.n_jobs)
        return Euclidean(X, cells, n_jobs=options.n_jobs)
    metric = fitted_metric(options.metric, options.metric_params, X)
    return Pairwise(X, cells, metric=metric, n_jobs=options.n_jobs)


def centroid(X: Any, cells: Cells, options: GeometryOptions) -> Dissimilarity:
    """Distance to the given centres, else to the means of the clusters (the paper's proxy)."""
    if options.centers is None:
        centers = cluster_means(X, cells)
    else:
        # Row ℓ belongs to label ℓ; names[r] are the labels that occur, so centres of empty clusters
        # drop out.
        centers = np.vstack(
            [given[names] for given, names in zip(options.centers, cells.names, strict=True)]
        )
    kind = CentersOnGpu if options.on_gpu and not sparse.issparse(X) else Centers
    return kind(X, cells, centers=centers, spread=None, root=True, n_jobs=options.n_jobs)


def rms(X: Any, cells: Cells, options: GeometryOptions) -> Dissimilarity:
    """Root-mean-square distance to the members: √(|x - mean|² + variance)."""
    return _mean_squares(X, cells, options, root=True)


def sampled(X: Any, cells: Cells, options: GeometryOptions) -> Dissimilarity:
    """Return the mean Euclidean distance to the members, estimated from a sample of each cell."""
    if sparse.issparse(X):
        raise ValueError("geometry='sampled' needs dense data; use X.toarray(), or geometry='rms'.")
    return SampledMeans(X, cells, n_jobs=options.n_jobs)


def kernel(X: Any, cells: Cells, options: GeometryOptions) -> Dissimilarity:
    """Return the distance to the mean of the members in the space of a kernel, Eq. (9)."""
    named = isinstance(options.kernel, str) and options.kernel != "precomputed"
    kind = KernelMeansOnGpu if options.on_gpu and named and not sparse.issparse(X) else KernelMeans
    return kind(
        X,
        cells,
        kernel=options.kernel,
        kernel_params=options.kernel_params,
        n_jobs=options.n_jobs,
    )


def graph(X: Any, cells: Cells, options: GeometryOptions) -> Dissimilarity:
    """Return the share of short random walks on the neighbours that ends outside of a cluster."""
    params = GRAPH_PARAMS | (options.graph_params or {})
    walk: Walk
    if options.has_weights:
        walk = WeightWalk(X)
    elif options.is_precomputed and sparse.issparse(X):
        walk = DistanceWalk(X)
    else:
        metric = fitted_metric(options.metric, options.metric_params, X)
        walk = NearestWalk(X, params["n_neighbors"], metric=metric, n_jobs=options.n_jobs)
    return GraphShares(cells, walk, n_steps=params["n_steps"], n_jobs=options.n_jobs)


def _mean_squares(X: Any, cells: Cells, options: GeometryOptions, *, root: bool) -> Centers:
    means, variances = cluster_moments(X, cells)
    kind = CentersOnGpu if options.on_gpu and not sparse.issparse(X) else Centers
    return kind(X, cells, centers=means, spread=variances, root=root, n_jobs=options.n_jobs)


GEOMETRIES: dict[str, Callable[[Any, Cells, GeometryOptions], Dissimilarity]] = {
    "centroid": centroid,
    "exact": exact,
    "graph": graph,
    "kernel": kernel,
    "rms": rms,
    "sampled": sampled,
}


def choose_geometry(n: int, d: int, metric: Any, *, on_gpu: bool = False) -> str:
    """Resolve `auto`: exact if affordable, or if the metric is not Euclidean; otherwise rms."""
    work = n * n * d
    affordable = work <= GPU_WORK if on_gpu else n <= EXACT_POINTS and work <= EXACT_WORK
    return "exact" if affordable or metric != "euclidean" else "rms"


def sampling_error(geometry: Dissimilarity, own: Ints, points: int = 250, times: int = 12) -> float:
    """Return the standard error of a silhouette that comes from sampling; 0 without sampling.

    It is the root mean square over some points, from the spread over the sample and `times` others
    of the same size. So it is the average error of samples of this size. All points share one
    sample, so its own error differs from the average, mostly by less than a factor of two.
    """
    if not isinstance(geometry, SampledMeans) or geometry.is_drawn.all():
        return 0.0
    some = np.random.default_rng(0).permutation(len(own))[:points]
    samples = (geometry, *geometry.drawn_again(times))
    s = np.stack([one.silhouettes(own[some], geometry.X[some])[0] for one in samples])
    known = np.isfinite(s).all(axis=0)
    return float(np.sqrt(s.var(axis=0, ddof=1)[known].mean())) if known.any() else 0.0


def warn_of_long_work(n: int, d: int, threads: int) -> None:
    """Warn if exact silhouettes will take long, and name cheaper geometries."""
    seconds = n * n * d / (EXACT_PACE * threads)
    if seconds > LONG:
        hours, minutes = f"{seconds / 3600:.1f} hours", f"{seconds / 60:.0f} minutes"
        warn_user(
            f"Exact silhouettes of {n} points with {d} columns take about "
            f"{hours if seconds > 3600 else minutes} on {threads} threads. geometry='sampled' "
            "comes close in a fraction of the time, geometry='rms' takes seconds."
        )


def warn_of_single_clusters(cells: Clusters) -> None:
    """Warn of runs that have only one cluster."""
    single = np.flatnonzero(cells.n_clusters == 1).tolist()
    if single:
        which = (
            f"All {len(single)} runs" if len(single) == len(cells.n_clusters) else f"Runs {single}"
        )
        warn_user(
            f"{which} have one cluster, so there is no other to compare with: their silhouettes "
            "are 0."
        )


def silhouettes(
    X: Any,
    labels: Any,
    *,
    centers: Any = None,
    geometry: str = "auto",
    metric: Any = "euclidean",
    metric_params: dict[str, Any] | None = None,
    kernel: Any = "self-tuning",
    kernel_params: dict[str, Any] | None = None,
    graph_params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    device: str = "auto",
    precision: str = "single",
) -> Floats:
    """Silhouette of every point in every run, Eq. (1), in one pass for all runs.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame; (n, n) where `metric` or `kernel` is "precomputed"
        For "graph" it may be sparse then: distances to neighbours, or weights of links.
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
    centers : sequence of R arrays, optional
        For `geometry="centroid"`: row ℓ of the array of a run is the centre of its label ℓ.
        Otherwise the centres of the Ensemble, or else the means of the clusters.
    geometry : {"auto", "exact", "sampled", "centroid", "rms", "kernel", "graph"}
        What stands for the distance to a cluster; see :class:`clustertrust.CAKE`.
    metric, metric_params : for "exact" and "graph"
    kernel, kernel_params : for "kernel"
    graph_params : for "graph"
    n_jobs : int, optional
        Number of threads; None: one per core. It does not change the result.
    device, precision : where the kernels run; see :class:`clustertrust.CAKE`

    Returns
    -------
    (n, R) array in [-1, 1], NaN where the point is not assigned

    Examples
    --------
    >>> from clustertrust.geometry import silhouettes
    >>> X, labels = [[0.0], [1.0], [5.0]], [[0, 0, 1], [0, 1, 1]]
    >>> silhouettes(X, labels, geometry="exact").round(2).tolist()
    [[0.8, 0.0], [0.75, -0.75], [0.0, 0.2]]
    """
    ensemble = as_ensemble(labels)
    options = GeometryOptions(
        geometry,
        metric,
        metric_params,
        kernel,
        kernel_params,
        graph_params,
        centers,
        n_jobs,
        device,
        precision,
    )
    options.check()
    options = replace(options, device=resolve_device(device, X))
    X = to_host(X)
    X = options.check_points(X, len(ensemble.labels))
    _, built = build_geometry(X, ensemble, meet(ensemble.labels), options)
    warn_of_single_clusters(built.cells)
    return built.silhouettes(built.cells.rows[built.cells.of])[0]


def build_geometry(
    X: Any, ensemble: Ensemble, cells: Cells, options: GeometryOptions
) -> tuple[str, Dissimilarity]:
    """Settle `auto` and return the geometry's name, and what measures checked points X by it."""
    n, d = X.shape
    method = options.resolved(n, d, is_graph=options.is_precomputed and sparse.issparse(X))
    if options.method == "exact" and not options.has_closed_form and not options.on_gpu:
        warn_of_long_work(n, d, count_threads(options.n_jobs))
    if method == "centroid":
        if options.centers is not None:
            ensemble = ensemble.with_centers(options.centers)
        options = replace(options, centers=ensemble.centers)
        check_centers(ensemble, d)
    return method, GEOMETRIES[method](X, cells, options)


def check_centers(ensemble: Ensemble, d: int) -> None:
    """Raise where centres have other columns than the data."""
    if ensemble.centers is not None and ensemble.centers[0].shape[1] != d:
        raise ValueError(
            f"centers have {ensemble.centers[0].shape[1]} columns and X has {d}; they must agree."
        )
