"""Silhouettes of cells: along their graph of neighbours and by straight distances, averaged."""

from __future__ import annotations

from typing import Any

from clustertrust._types import Floats, Ints
from clustertrust.cells import Cells
from clustertrust.distances.dissimilarity import Dissimilarity
from clustertrust.distances.graph_shares import GraphShares
from clustertrust.ensemble.record import Ensemble
from clustertrust.geometry.base import Compute
from clustertrust.geometry.graph import Graph
from clustertrust.geometry.rms import Rms

# Steps of a walk. With straight distances for the wider view, walks need not go far
# (experiments/research/leiden/counts.py).
N_STEPS = 2


class GraphAndPoints(Graph):
    """The mean of two silhouettes: by short walks along links, and by root-mean-square distances.

    A graph of neighbours shows on which side of a border a cell lies, straight distances whether
    its cluster is one cloud or two.

    Parameters
    ----------
    points : (n, d) array, optional
        Coordinates of what X links. None: X are points, and both silhouettes are theirs.
    n_neighbors, n_steps, metric, weights, paths
        See :class:`clustertrust.geometry.Graph`.
    """

    name = "graph and points"

    def __init__(
        self,
        points: Any = None,
        *,
        n_neighbors: int | None = None,
        n_steps: int = N_STEPS,
        metric: Any = None,
        weights: bool = False,
        paths: bool = False,
    ) -> None:
        super().__init__(n_neighbors, n_steps=n_steps, metric=metric, weights=weights, paths=paths)
        self.points = points

    def measure(self, X: Any, cells: Cells, ensemble: Ensemble, compute: Compute) -> Dissimilarity:
        """Return the shares of walks, which know the straight distances too."""
        points = X if self.points is None else self.points
        return _Both(
            cells,
            self._walk(X, compute),
            Rms().measure(points, cells, ensemble, compute),
            n_steps=self.n_steps,
            paths=self.paths,
            n_jobs=compute.n_jobs,
        )


class _Both(GraphShares):
    """Shares of walks, with silhouettes that are half straight."""

    def __init__(self, cells: Cells, walk: Any, straight: Dissimilarity, **how: Any) -> None:
        super().__init__(cells, walk, **how)
        self.straight = straight

    def silhouettes(
        self, own: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> tuple[Floats, Ints]:
        """Return the means of both silhouettes (n, R), and the nearest other cluster by walks."""
        along, nearest = super().silhouettes(own, X, training=training)
        across, _ = self.straight.silhouettes(own, X, training=training)
        return (along + across) / 2, nearest
