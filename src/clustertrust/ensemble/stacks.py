"""Many small data sets of one shape, such as surrogates: one run of k-means on each.

As `clustertrust.ensemble.lloyd` runs them, in one call of a kernel for all data sets: on some
hundred points, what Python does for a run takes as long as the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust.ensemble.lloyd import PreparedData, prepare_data
from clustertrust.ensemble.starts import FEW_POINTS, Starts
from clustertrust.kernels import backend


@dataclass(frozen=True, eq=False)
class Stack:
    """Data sets of one shape, prepared for k-means.

    Attributes
    ----------
    first : the first of them
    points : X (B, n, d), and what `prepare_data` laid out: tiles and lengths
    known : the means (B, d), sums of squares and scales (B,)
    """

    first: PreparedData
    points: tuple[Floats, Array, Array]
    known: tuple[Floats, Floats, Floats]

    @classmethod
    def from_points(cls, sets: Sequence[Array]) -> Stack | None:
        """Prepare data sets; None for those that are too large, or not of float64."""
        if any(X.dtype != np.float64 or len(X) > FEW_POINTS for X in sets):
            return None
        data = [one for one in map(prepare_data, sets) if one is not None]
        X, tiles, lengths = map(np.stack, zip(*(one.points for one in data), strict=True))
        known = ((one.middle, one.squares, one.scale) for one in data)
        middles, squares, scales = map(np.array, zip(*known, strict=True))
        return cls(data[0], (X, tiles, lengths), (middles, squares, scales))

    def fit(self, model: KMeans, seeds: Sequence[int]) -> tuple[Ints, Bools]:
        """Return the labels (B, n) of one run on each data set, and whether each may be used.

        They are those of `PreparedData.fit` with these seeds, which is also for runs that may not
        be used: where rounding could decide, or a cluster is left empty.
        """
        first, (B, n, _) = self.first, self.points[0].shape
        starts = Starts(first.X, first.middle, first.squares)
        numbers = starts.draw_numbers(model.init, int(model.n_clusters), seeds)
        if numbers is None:
            return np.full((B, n), -1, dtype=np.int32), np.zeros(B, dtype=bool)
        limits = (int(model.max_iter), float(model.tol))
        labels, fine = backend().kmeans_each(self.points, self.known, numbers, limits)
        return labels, fine
