"""Distances of pairs of points."""

from __future__ import annotations

import numpy as np

from clustertrust._types import AnyFloats, Floats


def squared_distances(rows: AnyFloats, columns: AnyFloats) -> AnyFloats:
    """|x - c|² of centres (K', d) with points in tiles (t, d, TILE): (K', t TILE)."""
    points = columns.transpose(0, 2, 1).reshape(-1, columns.shape[1])
    return np.array([((points - row) ** 2).sum(axis=1) for row in rows]).reshape(
        len(rows), len(points)
    )


def gower_distances(X: AnyFloats, points: AnyFloats) -> Floats:
    """Mean over the columns that both rows have of min(1, |a - b|): (b, n); 1 if there is none."""
    out = np.ones((len(X), len(points)))
    for i, row in enumerate(X):
        apart = np.abs(points - row)
        columns = (~np.isnan(apart)).sum(axis=1)
        total = np.minimum(np.nan_to_num(apart), 1.0).sum(axis=1)
        np.divide(total, columns, out=out[i], where=columns > 0)
    return out
