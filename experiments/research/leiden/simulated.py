"""Simulated counts of cells with known types, and the graph of neighbours that scanpy would make."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def counts(
    n: int, *, types: int, strength: float, genes: int = 1000, seed: int = 0
) -> tuple[Floats, Ints]:
    """Draw counts (n, genes) of negative binomials, and the type of each cell.

    A tenth of the genes of each type differ by a factor exp(N(0, strength)); types differ in size, cells in their number of reads.
    """
    rng = np.random.default_rng(seed)
    base = rng.gamma(0.6, 3.0, genes)
    differs = rng.random((types, genes)) < 0.1
    factors = np.exp(np.where(differs, rng.normal(0, strength, (types, genes)), 0.0))
    y = rng.choice(types, n, p=rng.dirichlet(np.full(types, 4.0)))
    profile = base * factors
    profile /= profile.sum(axis=1, keepdims=True)
    mean = profile[y] * rng.lognormal(7.5, 0.4, n)[:, None]
    return rng.poisson(mean * rng.gamma(5.0, 1 / 5.0, mean.shape)).astype(np.float64), y


def components(reads: Floats, d: int = 30) -> Floats:
    """Return principal components of the logarithms of normalised counts."""
    total = reads.sum(axis=1, keepdims=True)
    logs = np.log1p(reads / total * np.median(total))
    return np.asarray(PCA(d, svd_solver="covariance_eigh").fit_transform(logs))


def connectivities(X: Floats, k: int = 15) -> sparse.csr_matrix:
    """Return UMAP's weights of the links to the k nearest, which `scanpy.pp.neighbors` stores."""
    from umap.umap_ import fuzzy_simplicial_set

    away, near = NearestNeighbors(n_neighbors=k, n_jobs=-1).fit(X).kneighbors(X)
    state = np.random.RandomState(0)
    made = fuzzy_simplicial_set(X, k, state, "euclidean", knn_indices=near, knn_dists=away)
    return sparse.csr_matrix(made[0])


def annotated(X: Floats, k: int = 15) -> Any:
    """Return an AnnData object with components and graph, as scanpy leaves them."""
    from anndata import AnnData

    adata = AnnData(np.zeros((len(X), 1), dtype=np.float32), obsm={"X_pca": X})
    weights = connectivities(X, k)
    adata.obsp["connectivities"] = weights
    # Leiden does not read them, but scanpy looks for the key.
    adata.obsp["distances"] = sparse.csr_matrix(weights.shape)
    adata.uns["neighbors"] = {
        "connectivities_key": "connectivities",
        "distances_key": "distances",
        "params": {"n_neighbors": k, "method": "umap"},
    }
    return adata
