"""Signals of density: how typical a point is of its surroundings, or of its cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import LocalOutlierFactor

from clustertrust._types import Floats
from clustertrust._validation.arguments import check_count
from clustertrust._validation.points import check_matrix
from clustertrust._validation.rows import check_same_length
from clustertrust.cells import meet
from clustertrust.ensemble.record import as_ensemble

# Clusters of fewer points have no local outlier factor, and their points this confidence.
_SMALL_CLUSTER = 3
_OF_SMALL_CLUSTERS = 0.5


def outlier_confidence(X: Any, *, n_neighbors: int = 20) -> Floats:
    """Return minus the local outlier factor: about -1 for typical points, lower for others.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    n_neighbors : int
        Neighbours to compare with; n - 1 where there are fewer.

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> from clustertrust.baselines import outlier_confidence
    >>> outlier_confidence([[0.0], [1.0], [2.0], [3.0], [9.0]], n_neighbors=2).round(2).tolist()
    [-1.0, -1.0, -1.0, -1.0, -4.33]
    """
    return _minus_lof(check_matrix(X), check_count("n_neighbors", n_neighbors, at_least=1))


def local_outlier_confidence(X: Any, labels: Any, *, n_neighbors: int = 20) -> Floats:
    """Return the mean over runs of 1 / max(1, LOF), the outlier factor in the point's cluster.

    In a cluster of fewer than three points the confidence is 0.5.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        Negative numbers and missing values mean that the point is not assigned; such runs are left
        out.
    n_neighbors : int
        Neighbours to compare with; all others of the cluster where there are fewer.

    Returns
    -------
    (n,) array in [0, 1]; NaN where no run assigns the point

    Examples
    --------
    >>> from clustertrust.baselines import local_outlier_confidence
    >>> X = [[0.0], [1.0], [2.0], [3.0], [9.0], [10.0]]
    >>> labels = [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1]]
    >>> local_outlier_confidence(X, labels, n_neighbors=2).round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 0.37, 0.5]
    """
    X = check_matrix(X)
    n_neighbors = check_count("n_neighbors", n_neighbors, at_least=1)
    ensemble = as_ensemble(labels)
    check_same_length("X", X, "labels", ensemble.labels)
    cells = meet(ensemble.labels)
    # The same cluster often comes back in other runs
    by_cluster: dict[bytes, Floats] = {}
    values = np.full(ensemble.labels.shape, np.nan)
    for r in range(cells.n_runs):
        for cluster in range(cells.n_clusters[r]):
            inside = cells.rows[:, r] == cluster
            members = np.flatnonzero(inside[cells.cell_of])
            if inside.tobytes() not in by_cluster:
                by_cluster[inside.tobytes()] = _typicality(X[members], n_neighbors)
            values[members, r] = by_cluster[inside.tobytes()]
    runs = (ensemble.labels >= 0).sum(axis=1)
    return np.asarray(
        np.divide(np.nansum(values, axis=1), runs, out=np.full(len(runs), np.nan), where=runs > 0)
    )


def _typicality(X: Any, n_neighbors: int) -> Floats:
    """1 / max(1, LOF) of the points of one cluster."""
    if X.shape[0] < _SMALL_CLUSTER:
        return np.full(X.shape[0], _OF_SMALL_CLUSTERS)
    return 1.0 / np.maximum(1.0, -_minus_lof(X, n_neighbors))


def _minus_lof(X: Any, n_neighbors: int) -> Floats:
    """scikit-learn's negative outlier factor with at most n - 1 neighbours."""
    lof = LocalOutlierFactor(n_neighbors=min(n_neighbors, X.shape[0] - 1))
    return np.asarray(lof.fit(X).negative_outlier_factor_, dtype=np.float64)
