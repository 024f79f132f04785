"""Points and runs → silhouettes by any geometry; the one table of geometries by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._devices import check_device, resolve_device, to_host
from clustertrust._errors import ParameterTypeError
from clustertrust._types import Floats
from clustertrust._validation.arguments import check_choice, warn_user
from clustertrust.cells import Cells, Clusters, meet
from clustertrust.distances.dissimilarity import Dissimilarity
from clustertrust.distances.metrics import as_metric
from clustertrust.distances.sampled_means import SampledMeans
from clustertrust.ensemble.record import Ensemble, as_ensemble
from clustertrust.geometry.auto import Auto
from clustertrust.geometry.base import Compute, Geometry
from clustertrust.geometry.centroid import Centroid
from clustertrust.geometry.exact import Exact
from clustertrust.geometry.graph import Graph
from clustertrust.geometry.kernel import Kernel
from clustertrust.geometry.rms import Rms
from clustertrust.geometry.sampled import Sampled

# A name is the object with its defaults. A class of your own can be added under a name.
GEOMETRIES: dict[str, type[Geometry]] = {
    "auto": Auto,
    "centroid": Centroid,
    "exact": Exact,
    "graph": Graph,
    "kernel": Kernel,
    "rms": Rms,
    "sampled": Sampled,
}


def as_geometry(geometry: Any, metric: Any = "euclidean") -> Geometry:
    """Return a copy of a geometry, checked, with the metric that it uses."""
    if isinstance(geometry, str):
        check_choice("geometry", geometry, GEOMETRIES)
        geometry = GEOMETRIES[geometry]()
    elif not isinstance(geometry, Geometry):
        raise ParameterTypeError(
            "geometry",
            geometry,
            "must be a name, or an object such as Exact(metric='cosine')",
            f"choose one of {sorted(GEOMETRIES)}",
        )
    used = as_metric(metric)
    used.check()
    geometry.check()
    own: Geometry = geometry.with_metric(used)
    own.check()
    return own


def measure(
    X: Any, ensemble: Ensemble, cells: Cells, geometry: Geometry, compute: Compute
) -> tuple[Geometry, Dissimilarity]:
    """Settle `auto` and return the geometry, and what measures checked points X by it."""
    settled = geometry.resolve(X, compute)
    settled.warn(X, compute)
    return settled, settled.measure(X, cells, ensemble, compute)


def sampling_error(
    geometry: Dissimilarity, cells: Cells, points: int = 250, times: int = 12
) -> float:
    """Return the standard error of a silhouette that comes from sampling; 0 without sampling.

    It is the root mean square over some points, from the spread over the sample and `times` others
    of the same size. So it is the average error of samples of this size. All points share one
    sample, so its own error differs from the average, mostly by less than a factor of two.
    """
    if not isinstance(geometry, SampledMeans) or geometry.is_drawn.all():
        return 0.0
    some = np.random.default_rng(0).permutation(len(cells.cell_of))[:points]
    own = cells.rows[cells.cell_of[some]]
    samples = (geometry, *geometry.drawn_again(times))
    s = np.stack([one.silhouettes(own, geometry.X[some])[0] for one in samples])
    counted = np.isfinite(s).all(axis=0)
    return float(np.sqrt(s.var(axis=0, ddof=1)[counted].mean())) if counted.any() else 0.0


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
    geometry: Any = "auto",
    metric: Any = "euclidean",
    n_jobs: int | None = None,
    device: str = "auto",
) -> Floats:
    """Silhouette of every point in every run, Eq. (1), in one pass for all runs.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame; (n, n) distances, values of a kernel or weights of links
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
    geometry : str or Geometry
        How the distance from a point to a cluster is measured; see :class:`clustertrust.CAKE`.
    metric : str, function or :class:`~clustertrust.Metric`
        For "exact" and "graph".
    n_jobs : int, optional
        Number of threads; None: one per core. It does not change the result.
    device : where the kernels run; see :class:`clustertrust.CAKE`

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
    own = as_geometry(geometry, metric)
    check_device(device)
    compute = Compute(n_jobs, resolve_device(device, X))
    points = own.check_points(to_host(X), len(ensemble.labels))
    _, measured = measure(points, ensemble, meet(ensemble.labels), own, compute)
    warn_of_single_clusters(measured.cells)
    return measured.silhouettes()[0]
