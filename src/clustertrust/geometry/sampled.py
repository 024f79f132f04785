"""Silhouettes by mean distances to some members of each cell."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from clustertrust._errors import ParameterError
from clustertrust._validation.arguments import MOST, check_count
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity
from clustertrust.distances.sampled_means import MEMBERS, SampledMeans
from clustertrust.ensemble.record import Ensemble
from clustertrust.geometry.base import Compute, Geometry


class Sampled(Geometry):
    """Silhouettes by mean distances to a sample of the members of clusters.

    The sample is drawn from all cells, so that it stands for the clusters of all runs. Its cost,
    O(n s d) for s members, is between those of `Rms` and `Exact`.

    Parameters
    ----------
    n_members : int
        How many members are drawn in all; at least two of each cell.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.geometry import Sampled
    >>> cake = CAKE(3, geometry=Sampled(n_members=60), random_state=0).fit(load_iris().data)
    >>> cake.geometry_method_
    'sampled'
    """

    name = "sampled"

    def __init__(self, n_members: int = MEMBERS) -> None:
        self.n_members = n_members

    def check(self) -> None:
        """Raise for an invalid number of members."""
        check_count("n_members", self.n_members, at_least=2, at_most=MOST)

    def try_on(self, X: Any) -> None:
        """Raise for sparse points."""
        if sparse.issparse(X):
            raise ParameterError(
                "geometry", self.name, "needs dense data", "use X.toarray(), or {geometry='rms'}"
            )

    def measure(self, X: Any, cells: Cells, ensemble: Ensemble, compute: Compute) -> Dissimilarity:
        """Return the mean distances, estimated from the sample."""
        return SampledMeans(X, cells, members=self.n_members, n_jobs=compute.n_jobs)
