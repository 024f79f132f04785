"""The dissimilarities that have kernels on the GPU. What they do not override runs on the CPU."""

from __future__ import annotations

from typing import Any

from clustertrust._devices import to_host
from clustertrust._types import Array, Floats, Ints
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Centers, Dissimilarity, Euclidean
from clustertrust.distances.kernel_means import KernelMeans
from clustertrust.distances.moments import ROUNDING
from clustertrust.kernels._cupy_silhouettes import (
    center_silhouettes,
    exact_silhouettes,
    kernel_silhouettes,
)
from clustertrust.kernels._cupy_sums import KernelPairs


class OnGpu(Dissimilarity):
    """Silhouettes are computed on the GPU, and come back where they are asked for as arrays."""

    def silhouettes(
        self, own: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> tuple[Floats, Ints]:
        """Return silhouettes and nearest other clusters, computed in one job on the GPU."""
        s, nearest = self.kept_silhouettes(own, X, training=training)
        return to_host(s), to_host(nearest)


class EuclideanOnGpu(OnGpu, Euclidean):
    """Mean Euclidean distance to the members of each cluster: distances in `precision`, sums
    without rounding.
    """

    def __init__(
        self, X: Array, cells: Cells, *, precision: str, n_jobs: int | None = None
    ) -> None:
        super().__init__(X, cells, n_jobs=n_jobs)
        self.precision = precision

    def kept_silhouettes(
        self, own: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> tuple[Any, Any]:
        """Return silhouettes and nearest other clusters, on the GPU."""
        if training and X is not None:
            return Euclidean.silhouettes(self, own, X, training=training)
        return exact_silhouettes(self.X, self.cells, own, X, precision=self.precision)


class CentersOnGpu(OnGpu, Centers):
    """Squared distance to a centre, plus its spread, in float64."""

    def kept_silhouettes(
        self, own: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> tuple[Any, Any]:
        """Return silhouettes and nearest other clusters, on the GPU."""
        points, means = self.X if X is None else X, (self.centers, self.spread)
        rules = self.rules(training or X is None)
        return center_silhouettes(points, means, self.cells, own, ROUNDING**2, rules)


def to_gpu(by: Dissimilarity) -> Dissimilarity:
    """Return what computes the same on the GPU, from sums over blocks; the same if it cannot."""
    if type(by) is not Centers:
        return by
    means, spread = by.centers, by.spread
    return CentersOnGpu(
        by.X, by.cells, centers=means, spread=spread, root=by.root, n_jobs=by.n_jobs
    )


class KernelMeansOnGpu(OnGpu, KernelMeans):
    """Squared distance to the mean of each cluster in the space of a kernel, in float64.

    Distances of this kind are differences of sums that are nearly equal, so that single precision
    would lose their digits.
    """

    def kept_silhouettes(
        self, own: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> tuple[Any, Any]:
        """Return silhouettes and nearest other clusters, on the GPU if it has this kernel."""
        own = self.training_labels if own is None else own
        if not self._fits or (training and X is not None):
            return KernelMeans.silhouettes(self, own, X, training=training)
        points, scale, itself = None, None, self.itself
        if X is not None:
            points = self._moved(X)
            scale, itself = self._scale_of(points), self._with_itself(points)
        terms = self.within, itself, self.noise_of(X, len(own))
        return kernel_silhouettes(self._pairs, own, points, scale, terms)

    @property
    def _fits(self) -> bool:
        """Whether the GPU has this kernel: only integer degrees."""
        return float(self.params.get("degree", 1)).is_integer()

    def _within(self) -> Floats:
        if not self._fits:
            return super()._within()
        defaults = {"coef0": 1, "degree": 3} if self.kernel == "polynomial" else {}
        params = defaults | self.params
        self._pairs = KernelPairs(self.X, self.cells, self.kernel, params, self.scale)
        return self._pairs.within()
