"""What the tests of the estimator share: data, geometries and small fits."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from clustertrust import CAKE
from clustertrust.geometry import Graph, Kernel

# Three clusters that overlap, so that runs differ and scores are neither 0 nor 1.
X = make_blobs(150, centers=[[0, 0, 0], [4, 0, 0], [1, 4, 0]], cluster_std=1.3, random_state=0)[0]
NEW = np.random.default_rng(1).uniform(X.min(axis=0) - 2, X.max(axis=0) + 2, size=(40, 3))
GEOMETRIES = [
    {"geometry": "exact"},
    {"geometry": "exact", "metric": "manhattan"},
    {"geometry": "exact", "metric": "sqeuclidean"},
    {"geometry": "exact", "metric": "cosine"},
    {"geometry": "centroid"},
    {"geometry": "rms"},
    {"geometry": "kernel"},
    {"geometry": "graph"},
    {"geometry": Graph(n_steps=2), "metric": "manhattan"},
    {"geometry": Kernel("rbf")},
    {"geometry": Kernel("linear")},
    {"geometry": Kernel("polynomial")},
]
every_geometry = pytest.mark.parametrize(
    "options", GEOMETRIES, ids=lambda options: "-".join(map(str, options.values()))
)


def fitted(points=X, n_clusters=4, n_runs=6, random_state=0, **options):
    """A small model; four clusters where there are three make the runs differ."""
    return CAKE(n_clusters, n_runs=n_runs, random_state=random_state, **options).fit(points)


def assert_same_fit(one, other):
    for name in (
        "scores_",
        "stability_",
        "geometry_",
        "standard_errors_",
        "labels_",
        "votes_",
        "rival_",
    ):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert_array_equal(one.ensemble_.labels, other.ensemble_.labels)
