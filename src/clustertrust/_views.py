"""Where points are drawn: two coordinates per point, the names of the axes, and their origin.

Scatter display and report share this, so the same data give the same picture with the same names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import check_floats
from clustertrust._validation.frames import is_frame
from clustertrust._validation.rows import check_same_points

# Extra directions and iterations, which make the first two accurate
_MORE, _STEPS = 10, 7
# Points whose distances place all others in a picture
LANDMARKS = 400


@dataclass(frozen=True)
class View:
    """Where a scatter puts its points.

    Attributes
    ----------
    xy : (n, 2) coordinates, NaN for points that have none
    names : names of the two axes
    origin : one sentence on where the coordinates come from
    is_plane : whether it is the plane of stability and geometry; then no other plot need show it
    """

    xy: Floats
    names: tuple[str, str]
    origin: str
    is_plane: bool = False


def round_range(values: Floats) -> tuple[float, float]:
    """Return round numbers around the values, as near as their spread allows; (0, 1) without any.

    A scatter of shares shows what is there, not the whole range from 0 to 1.
    """
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    spread = float(finite.max() - finite.min())
    step = min(0.1, 10.0 ** np.floor(np.log10(spread))) if spread > 1e-9 else 0.1
    high = float(np.ceil(finite.max() / step - 1e-6) * step)
    return min(float(np.floor(finite.min() / step + 1e-6) * step), high - step), high


def given_view(embedding: Any, row_names: pd.Index, data_name: str) -> View:
    """Return the given coordinates, one pair for each row of `data_name`."""
    if isinstance(embedding, View):
        return embedding
    xy = check_floats("embedding", embedding, "an (n, 2) array of numbers")
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise ValueError(
            f"embedding has shape {xy.shape}; give an (n, 2) array, two coordinates per point."
        )
    check_same_points("embedding", embedding if is_frame(embedding) else xy, data_name, row_names)
    x, y = map(str, embedding.columns) if is_frame(embedding) else ("embedding 1", "embedding 2")
    return View(xy, (x, y), "Points are placed by the embedding that was given.")


def data_view(X: Any, columns: Sequence[str], heights: Floats, heights_name: str) -> View:
    """Draw two columns of X, dense or CSR, one against `heights`; more by principal components."""
    if len(columns) > 2:
        return principal_view(X, f"{len(columns)} columns")
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if len(columns) == 2:
        return View(
            dense, (columns[0], columns[1]), "Points are placed by the two columns of the data."
        )
    xy = np.column_stack([dense[:, 0], heights])
    return View(
        xy,
        (columns[0], heights_name),
        f"The data have one column: it is drawn against the {heights_name}.",
    )


def landmark_positions(n: int) -> Ints:
    """Return positions of the points, evenly spaced, whose distances place all others."""
    return np.unique(np.linspace(0, n - 1, min(n, LANDMARKS)).round().astype(np.int64))


def distance_view(distances: Floats, landmarks: Ints) -> View:
    """Draw points by the distances (n, L) from each to L of them, at positions `landmarks`.

    Classical scaling (principal coordinates) of the landmarks; other points are placed by their
    squared distances to them, as in de Silva and Tenenbaum (2004).
    """
    squares = np.asarray(distances, dtype=np.float64) ** 2
    own = squares[landmarks]
    mean = own.mean(axis=0)
    products = -0.5 * (own - mean - mean[:, None] + mean.mean())
    values, vectors = np.linalg.eigh((products + products.T) / 2)
    top = np.argsort(values)[::-1][:2]
    lengths, axes = np.maximum(values[top], 0.0), vectors[:, top]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    # The same sign everywhere
    axes = axes * np.where(largest < 0, -1.0, 1.0)
    scale = np.divide(1.0, np.sqrt(lengths), out=np.zeros(len(top)), where=lengths > 0)
    xy = np.zeros((len(squares), 2))
    xy[:, : len(top)] = -0.5 * (squares - mean) @ (axes * scale)
    total = max(float(np.abs(values).sum()), np.finfo(float).tiny)
    shares = np.zeros(2)
    shares[: len(top)] = lengths / total
    x, y = (f"coordinate {j} ({share:.0%})" for j, share in enumerate(shares, start=1))
    return View(
        xy,
        (x, y),
        "Points are placed by two principal coordinates of their distances; points that are close "
        "here may be apart in the others.",
    )


def principal_view(X: Any, data_name: str) -> View:
    """Return the first two principal components of X, named with their shares of the variance."""
    xy, shares = principal_components(X)
    x, y = (
        f"principal component {j} ({share:.0%} of the variance)"
        for j, share in enumerate(shares, start=1)
    )
    return View(
        xy,
        (x, y),
        f"Points are placed by the first two principal components of {data_name}; points that are "
        "close here may be apart in the others.",
    )


def principal_components(X: Any) -> tuple[Floats, Floats]:
    """Return coordinates (n, 2), NaN for rows with missing values, and shares of the variance.

    Sparse data are centred too, without becoming dense.
    """
    whole = np.isfinite(np.asarray(X.sum(axis=1)).ravel())
    xy = np.full((X.shape[0], 2), np.nan)
    if whole.sum() < 2:
        return xy, np.zeros(2)
    xy[whole], shares = (_of_sparse if sparse.issparse(X) else _of_dense)(X[whole])
    return xy, np.nan_to_num(shares)


def _of_dense(X: Any) -> tuple[Floats, Floats]:
    # Here, since a scored ensemble does not need it
    from sklearn.decomposition import PCA

    pca = PCA(2, random_state=0)
    # Points that are all the same have no variance to share
    with np.errstate(divide="ignore", invalid="ignore"):
        xy = pca.fit_transform(X)
    return xy, pca.explained_variance_ratio_


def _of_sparse(X: Any) -> tuple[Floats, Floats]:
    """Find the components by subspace iteration on X minus its means, which stays sparse.

    It takes a few products with X. scikit-learn's PCA iterates until it is exact, which takes
    several times as long if X is mostly noise.
    """
    X = X.astype(np.float64)
    means = np.asarray(X.mean(axis=0)).ravel()
    ones = np.ones(X.shape[0])
    basis = np.random.default_rng(0).normal(size=(X.shape[1], min(2 + _MORE, *X.shape)))
    for _ in range(_STEPS):
        left = np.linalg.qr(X @ basis - np.outer(ones, means @ basis))[0]
        basis = np.linalg.qr(X.T @ left - np.outer(means, ones @ left))[0]
    u, s, v = np.linalg.svd(X @ basis - np.outer(ones, means @ basis), full_matrices=False)
    directions = v[:2] @ basis.T
    # The same sign as scikit-learn's PCA, so that dense and sparse data give the same picture.
    largest = directions[np.arange(2), np.abs(directions).argmax(axis=1)]
    total = X.multiply(X).sum() - X.shape[0] * (means @ means)
    shares = s[:2] ** 2 / total if total > 1e-12 * X.shape[0] * (means @ means) else np.zeros(2)
    return u[:, :2] * s[:2] * np.where(largest < 0, -1.0, 1.0), shares
