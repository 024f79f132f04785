"""What the signals check first."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from clustertrust._types import Floats
from clustertrust._validation.arguments import check_count
from clustertrust._validation.points import check_matrix


def check_seed(random_state: Any) -> int | None:
    """Return a seed, or None."""
    return (
        None
        if random_state is None
        else check_count("random_state", random_state, at_least=0, at_most=2**32 - 1)
    )


def dense_matrix(X: Any) -> Floats:
    """Return X as an array of floats; a sparse matrix is an error."""
    X = check_matrix(X)
    if sparse.issparse(X):
        raise TypeError("X must be a dense array; use X.toarray().")
    return np.asarray(X, dtype=np.float64)


def check_clusters(n_clusters: Any, n: int) -> int:
    """Return a number of clusters that n points can have."""
    k = check_count("n_clusters", n_clusters, at_least=2)
    if k > n:
        raise ValueError(
            f"n_clusters={k} is more than the {n} points of X; ask for at most that many."
        )
    return k
