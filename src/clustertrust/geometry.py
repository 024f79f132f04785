"""Silhouettes s (n, R) of all runs → the geometric component g = S̃, Eqs. (1) to (3).

`clustertrust.dissimilarity` answers, for a block of rows, how far each point is from each cluster of each
run. From there the silhouette is one formula for every geometry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS, pairwise_distances

from clustertrust._parallel import count_threads
from clustertrust._validation import check_choice, check_matrix, check_square, tell
from clustertrust.cells import Cells, Clusters, meet
from clustertrust.dissimilarity import (
    Centers,
    Cosine,
    Euclidean,
    Geometry,
    Pairwise,
    as_truths,
    cluster_means,
    cluster_moments,
    fixed_parameters,
    is_name,
)
from clustertrust.ensemble import Ensemble, as_ensemble
from clustertrust.kernel_means import KernelMeans
from clustertrust.kernels import backend
from clustertrust.sampled_means import SampledMeans

__all__ = [
    "GEOMETRIES",
    "KERNELS",
    "NORMALIZATIONS",
    "Options",
    "affine",
    "choose_geometry",
    "clip",
    "mean_and_std",
    "silhouettes",
    "silhouettes_of",
]

SQUARING = ("euclidean", "l2", "sqeuclidean", "nan_euclidean", "seuclidean", "cosine", "correlation")  # metrics
Ints = NDArray[np.integer]
Floats = NDArray[np.float64]

KERNELS = ("linear", "polynomial", "precomputed", "rbf", "self-tuning")
EXACT_POINTS = 50_000  # `auto` takes exact silhouettes up to this many points,
EXACT_WORK = 5e11  # while n² d is at most this
EXACT_PACE = 1e10  # n² d a second and thread, roughly: what one sees on today's machines (benchmarks/fashion.py)
LONG = 1800.0  # seconds, from which on a warning says what is cheaper


def mean_and_std(s: Floats) -> tuple[Floats, Floats]:
    """μ and σ over the runs that count, Eq. (2); `s` is (n, R) with NaN elsewhere; σ divides by their number."""
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
class Options:
    """What the user asked of the geometry; `centers` is one (k, d) array a run, row ℓ for label ℓ."""

    metric: Any = "euclidean"
    metric_params: dict | None = None
    kernel: Any = "self-tuning"
    kernel_params: dict | None = None
    centers: Any = None
    n_jobs: int | None = None

    @classmethod
    def of(cls, cake: Any) -> Options:
        """The parameters of an estimator; centres are for partitions that are given."""
        return cls(cake.metric, cake.metric_params, cake.kernel, cake.kernel_params, None, cake.n_jobs)


def exact(X: Any, cells: Cells, options: Options) -> Geometry:
    """Mean distance to the members; closed forms for `sqeuclidean` and `cosine`."""
    if has_closed_form(options) and options.metric == "sqeuclidean":
        return _mean_squares(X, cells, root=False, n_jobs=options.n_jobs)
    if has_closed_form(options):
        return Cosine(X, cells, n_jobs=options.n_jobs)
    if options.metric == "euclidean" and not sparse.issparse(X):
        return Euclidean(X, cells, n_jobs=options.n_jobs)
    return Pairwise(X, cells, metric=options.metric, metric_params=options.metric_params, n_jobs=options.n_jobs)


def centroid(X: Any, cells: Cells, options: Options) -> Geometry:
    """Distance to the given centres, else to the means of the clusters (the paper's proxy)."""
    if options.centers is None:
        centers = cluster_means(X, cells)
    else:
        # Row ℓ belongs to label ℓ; names[r] are the labels that occur, so that centres of empty clusters drop out.
        centers = np.vstack([given[names] for given, names in zip(options.centers, cells.names, strict=True)])
    return Centers(X, cells, centers=centers, spread=None, root=True, n_jobs=options.n_jobs)


def rms(X: Any, cells: Cells, options: Options) -> Geometry:
    """Root-mean-square distance to the members: √(|x - mean|² + variance)."""
    return _mean_squares(X, cells, root=True, n_jobs=options.n_jobs)


def sampled(X: Any, cells: Cells, options: Options) -> Geometry:
    """Mean Euclidean distance to the members, estimated from a sample of each cell."""
    if sparse.issparse(X):
        raise ValueError("geometry='sampled' needs dense data; use X.toarray(), or geometry='rms'.")
    return SampledMeans(X, cells, n_jobs=options.n_jobs)


def kernel(X: Any, cells: Cells, options: Options) -> Geometry:
    """Distance to the mean of the members in the space of a kernel, Eq. (9)."""
    return KernelMeans(X, cells, kernel=options.kernel, kernel_params=options.kernel_params, n_jobs=options.n_jobs)


def _mean_squares(X: Any, cells: Cells, *, root: bool, n_jobs: int | None) -> Centers:
    means, variances = cluster_moments(X, cells)
    return Centers(X, cells, centers=means, spread=variances, root=root, n_jobs=n_jobs)


GEOMETRIES: dict[str, Callable[[Any, Cells, Options], Geometry]] = {
    "centroid": centroid,
    "exact": exact,
    "kernel": kernel,
    "rms": rms,
    "sampled": sampled,
}


def choose_geometry(n: int, d: int, metric: Any) -> str:
    """Resolve `auto`: exact where it is affordable, and for any metric but the Euclidean; else rms."""
    affordable = n <= EXACT_POINTS and n * n * d <= EXACT_WORK
    return "exact" if affordable or metric != "euclidean" else "rms"


def check_options(geometry: str, options: Options) -> None:
    """Raise for an option that the geometry would not use: nothing is accepted and ignored."""
    check_choice("geometry", geometry, [*GEOMETRIES, "auto"])
    if not callable(options.kernel):
        check_choice("kernel", options.kernel, KERNELS)
    if not callable(options.metric) and not isinstance(options.metric, str):
        raise TypeError(f"metric={options.metric!r} must be a name, such as 'manhattan', or a function of two rows.")
    for name in ("metric_params", "kernel_params"):
        params = getattr(options, name)
        if params is not None and not isinstance(params, dict):
            raise TypeError(f"{name}={params!r} must be a dict of parameters, or None.")
    used_by = {"metric": ("exact", "auto"), "metric_params": ("exact", "auto"), "centers": ("centroid",)}
    used_by |= {"kernel": ("kernel",), "kernel_params": ("kernel",)}
    default = Options()
    for name, geometries in used_by.items():
        value = getattr(options, name)
        given = value is not None if name == "centers" else (value or None) != getattr(default, name)
        if given and geometry not in geometries:
            raise ValueError(
                f"{name} is used by geometry={' or '.join(map(repr, geometries))} alone, not by geometry={geometry!r}; "
                f"leave {name} out or change the geometry."
            )
    for name, plain in (("metric", ("euclidean", "precomputed")), ("kernel", ("self-tuning", "linear", "precomputed"))):
        value = getattr(options, name)
        if getattr(options, f"{name}_params") and isinstance(value, str) and value in plain:
            raise ValueError(f"{name}={value!r} takes no parameters; leave {name}_params out.")


def is_precomputed(geometry: str, options: Options) -> bool:
    """Whether X is a matrix of distances or kernel values instead of points."""
    value = options.kernel if geometry == "kernel" else options.metric
    return is_name(value, "precomputed")


def check_points(X: Any, n: int, geometry: str, options: Options) -> Any:
    """Return X as the geometry needs it: points, or a square matrix; the metric is tried on a row."""
    if is_precomputed(geometry, options):
        return check_square("X", X, n)
    squares = geometry not in {"exact", "auto"} or options.metric in SQUARING
    X = check_matrix(X, squares=squares)
    if X.shape[0] != n:
        raise ValueError(
            f"X has {X.shape[0]} points and labels has {n}; both must describe the same points. An array of labels is "
            "(n, R), a list holds one label vector a run."
        )
    if geometry in {"exact", "auto"}:
        check_metric(X, options)
    return X


def has_closed_form(options: Options) -> bool:
    """Whether the mean over a cluster follows from its mean and variance or its mean direction alone."""
    return options.metric in ("sqeuclidean", "cosine") and not options.metric_params


def check_metric(X: Any, options: Options) -> None:
    """Try the metric on a point, so that what cannot work fails at once and not in the middle."""
    if options.metric == "euclidean" or has_closed_form(options) or is_precomputed("exact", options):
        return
    if sparse.issparse(X) and options.metric not in PAIRWISE_DISTANCE_FUNCTIONS:
        raise ValueError(f"metric={options.metric!r} needs dense data; use X.toarray() or another metric.")
    params = fixed_parameters(X, options.metric) | (options.metric_params or {})
    try:
        pairwise_distances(as_truths(X[:1], options.metric), metric=options.metric, **params)
    except ValueError as error:
        if "'metric' parameter" not in str(error):
            raise
        raise ValueError(
            f"metric={options.metric!r} is not known; choose one that sklearn.metrics.pairwise_distances has, such as "
            "'manhattan', 'cosine' or 'correlation'."
        ) from error


def silhouettes_of(geometry: Geometry, own: Ints, X: Any = None, *, training: bool = False) -> tuple[Floats, Ints]:
    """Silhouettes (n, R), Eq. (1), and the nearest other cluster (n, R) of points with labels `own` (n, R).

    X None: the training points; with `training`, X are some of them. Otherwise unseen points, whose mean over a
    cluster is over all its members.
    NaN and -1 where the point is not assigned. A point alone in its cluster has silhouette 0.
    """
    cells = geometry.cells
    training = training or X is None
    s = np.empty(own.shape)
    nearest = np.empty(own.shape, dtype=np.int32)
    noise = np.broadcast_to(np.asarray(geometry.noise(X), np.float64), len(own))
    own_dissimilarity = 0.0 if geometry.self_dissimilarity is None or not training else geometry.self_dissimilarity
    itself = np.broadcast_to(np.asarray(own_dissimilarity, np.float64), len(own))

    def keep(points: Any, means: Floats) -> None:
        values, others = backend().silhouettes(
            np.ascontiguousarray(means),
            np.ascontiguousarray(own[points].T),
            cells.start,
            cells.sizes,
            np.ascontiguousarray(itself[points]),
            np.ascontiguousarray(noise[points]),
            training and geometry.leaves_self_out,
            training or not geometry.leaves_self_out,
            geometry.root,
        )
        s[points], nearest[points] = values.T, others.T

    for _ in geometry.map_training(keep) if X is None else geometry.map(X, keep):
        pass
    return s, nearest


def sampling_error(geometry: Geometry, own: Ints, points: int = 250, times: int = 12) -> float:
    """Standard error of a silhouette by sampling its members, root mean square over some points; 0 without sampling.

    From the spread over the sample and `times` others of the same size. It is what samples of this size err on average.
    All points share one sample, so what one sample errs differs from that: mostly by less than a factor of two.
    """
    if not isinstance(geometry, SampledMeans) or geometry.is_drawn.all():
        return 0.0
    some = np.random.default_rng(0).permutation(len(own))[:points]
    samples = (geometry, *geometry.drawn_again(times))
    s = np.stack([silhouettes_of(one, own[some], geometry.X[some])[0] for one in samples])
    known = np.isfinite(s).all(axis=0)
    return float(np.sqrt(s.var(axis=0, ddof=1)[known].mean())) if known.any() else 0.0


def warn_of_long_work(n: int, d: int, threads: int) -> None:
    """Say how long exact silhouettes will take, roughly, where that is long, and what else there is."""
    seconds = n * n * d / (EXACT_PACE * threads)
    if seconds > LONG:
        told = f"{seconds / 3600:.1f} hours" if seconds > 3600 else f"{seconds / 60:.0f} minutes"
        tell(
            f"Exact silhouettes of {n} points with {d} columns take {told}, roughly, on {threads} threads. "
            "geometry='sampled' is near them in a small part of the time, geometry='rms' in seconds."
        )


def warn_of_single_clusters(cells: Clusters) -> None:
    """Say once which runs have no other cluster to compare with."""
    single = np.flatnonzero(cells.n_clusters == 1).tolist()
    if single:
        which = f"All {len(single)} runs" if len(single) == len(cells.n_clusters) else f"Runs {single}"
        tell(f"{which} have one cluster, so there is no other to compare with: their silhouettes are 0.")


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
    n_jobs: int | None = None,
) -> Floats:
    """Silhouette of every point in every run, Eq. (1), in one pass for all runs.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame; (n, n) where `metric` or `kernel` is "precomputed"
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
    centers : sequence of R arrays, optional
        For `geometry="centroid"`: row ℓ of the array of a run is the centre of its label ℓ. Otherwise the centres
        of the Ensemble, or else the means of the clusters.
    geometry : {"auto", "exact", "sampled", "centroid", "rms", "kernel"}
        What stands for the distance to a cluster; see :class:`clustertrust.CAKE`.
    metric, metric_params : for "exact"
    kernel, kernel_params : for "kernel"
    n_jobs : int, optional
        Threads; None: every core. The result is the same for any number.

    Returns
    -------
    (n, R) array in [-1, 1], NaN where the point is not assigned

    Examples
    --------
    >>> from clustertrust.geometry import silhouettes
    >>> silhouettes([[0.0], [1.0], [5.0]], [[0, 0, 1], [0, 1, 1]], geometry="exact").round(2).tolist()
    [[0.8, 0.0], [0.75, -0.75], [0.0, 0.2]]
    """
    ensemble = as_ensemble(labels)
    options = Options(metric, metric_params, kernel, kernel_params, centers, n_jobs)
    _, built = build_geometry(X, ensemble, meet(ensemble.labels), geometry, options)
    warn_of_single_clusters(built.cells)
    return silhouettes_of(built, built.cells.rows[built.cells.of])[0]


def build_geometry(X: Any, ensemble: Ensemble, cells: Cells, geometry: str, options: Options) -> tuple[str, Geometry]:
    """Check X and the options, settle `auto`, and return the geometry's name and the geometry."""
    check_options(geometry, options)
    X = check_points(X, len(ensemble.labels), geometry, options)
    if geometry == "auto":
        geometry = choose_geometry(X.shape[0], X.shape[1], options.metric)
    elif geometry == "exact" and not has_closed_form(options):
        warn_of_long_work(X.shape[0], X.shape[1], count_threads(options.n_jobs))
    if geometry == "centroid":
        if options.centers is not None:
            ensemble = ensemble.with_centers(options.centers)
        options = replace(options, centers=ensemble.centers)
        if ensemble.centers is not None and ensemble.centers[0].shape[1] != X.shape[1]:
            raise ValueError(
                f"centers have {ensemble.centers[0].shape[1]} columns and X has {X.shape[1]}; they must agree."
            )
    return geometry, GEOMETRIES[geometry](X, cells, options)
