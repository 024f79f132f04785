"""Silhouettes in the space of a kernel, Eq. (9)."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from clustertrust._errors import ParameterError, ParameterTypeError
from clustertrust._validation.arguments import check_choice, check_number
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity
from clustertrust.distances.kernel_means import KernelMeans
from clustertrust.distances.on_gpu import KernelMeansOnGpu
from clustertrust.ensemble.record import Ensemble
from clustertrust.geometry.base import Compute, Geometry

# The named kernels, with the parameters that each takes.
KERNELS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "polynomial": ("gamma", "degree", "coef0"),
    "precomputed": (),
    "rbf": ("gamma",),
    "self-tuning": (),
}


class Kernel(Geometry):
    """Silhouettes by distances to the means of clusters in the space of a kernel, O(n² d).

    Parameters
    ----------
    kernel : {"self-tuning", "rbf", "linear", "polynomial", "precomputed"} or function of two rows
        "self-tuning" is a Gaussian whose scale at a point is the distance to its 7th neighbour.
        "precomputed" is for :func:`~clustertrust.confidence` and :func:`~clustertrust.audit`: X
        holds the values of the kernel for all pairs.
    gamma : float, optional
        Of "rbf" and "polynomial"; None: 1 / number of columns.
    degree, coef0 : float, optional
        Of "polynomial"; None: 3 and 1.
    params : dict, optional
        Parameters of a function.

    Examples
    --------
    >>> from clustertrust.geometry import Kernel
    >>> Kernel("rbf", gamma=0.5)
    Kernel(gamma=0.5, kernel='rbf')
    """

    name = "kernel"
    has_coordinates = False

    def __init__(
        self,
        kernel: Any = "self-tuning",
        *,
        gamma: float | None = None,
        degree: float | None = None,
        coef0: float | None = None,
        params: dict[str, Any] | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.params = params

    @property
    def is_precomputed(self) -> bool:
        """Whether X holds the kernel's values for all pairs."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def check(self) -> None:
        """Raise for a kernel that is not known, and for a parameter that it does not take."""
        numbers = {name: getattr(self, name) for name in ("gamma", "degree", "coef0")}
        if callable(self.kernel):
            takes: tuple[str, ...] = ()
        else:
            check_choice("kernel", self.kernel, KERNELS)
            takes = KERNELS[self.kernel]
        for name, value in numbers.items():
            if value is None:
                continue
            check_number(name, value)
            if name not in takes:
                raise ParameterError(
                    name, value, "is not used by {kernel=}", "leave it out", kernel=self.kernel
                )
        if self.params is not None and not isinstance(self.params, dict):
            raise ParameterTypeError(
                "params", self.params, "must be a dict of parameters, or None", "leave it out"
            )
        if self.params and not callable(self.kernel):
            raise ParameterError(
                "params",
                self.params,
                "belongs to a function, and this is {kernel=}",
                "give gamma, degree or coef0 by name",
                kernel=self.kernel,
            )

    def check_fit(self) -> None:
        """Raise for values of pairs: the runs need points."""
        self.check()
        if self.is_precomputed:
            raise ParameterError(
                "kernel",
                self.kernel,
                "is only for confidence(X, labels): CAKE clusters the points",
                "give the points, or their distances with {metric='precomputed'}",
            )

    def check_precomputed(self, X: Any) -> None:
        """Raise for sparse values of pairs."""
        if sparse.issparse(X):
            raise ParameterTypeError(
                "kernel",
                self.kernel,
                "needs the values of all pairs, and X is sparse",
                "give a dense matrix (X.toarray() only if it is complete), or {geometry='graph'}",
            )

    def measure(self, X: Any, cells: Cells, ensemble: Ensemble, compute: Compute) -> Dissimilarity:
        """Return the distances to the means in the space of the kernel."""
        on_gpu = compute.on_gpu and isinstance(self.kernel, str) and not self.is_precomputed
        kind = KernelMeansOnGpu if on_gpu and not sparse.issparse(X) else KernelMeans
        numbers = {name: getattr(self, name) for name in ("gamma", "degree", "coef0")}
        params = {name: value for name, value in numbers.items() if value is not None}
        return kind(
            X,
            cells,
            kernel=self.kernel,
            kernel_params=params | (self.params or {}),
            n_jobs=compute.n_jobs,
        )
