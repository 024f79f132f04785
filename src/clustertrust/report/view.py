"""The data → two coordinates a point, with the names of the axes and a word on where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from clustertrust._validation import check_floats, check_same_length, check_same_rows, is_frame

__all__ = ["View", "choose_view"]

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]


@dataclass(frozen=True)
class View:
    """Where the scatter puts its points.

    Attributes
    ----------
    xy : (n, 2) coordinates, NaN for points that have none
    names : what the two axes are
    origin : one sentence on where the coordinates come from
    is_plane : whether it is the plane of stability and geometry, so that no other plot need show that
    """

    xy: Floats
    names: tuple[str, str]
    origin: str
    is_plane: bool = False


def choose_view(X: Any, columns: list[str] | None, embedding: Any, table: pd.DataFrame, codes: Ints) -> View:
    """The embedding, else the data, else what the table has: stability and geometry, or scores by cluster."""
    if embedding is not None:
        return _embedded(embedding, table)
    if X is not None and columns is not None:
        return _of_data(X, columns, table)
    if {"stability", "geometry"} <= set(table.columns):
        return View(
            table[["geometry", "stability"]].to_numpy(np.float64, na_value=np.nan),
            ("geometry", "stability"),
            "The data were not given: points are placed by their geometry and stability.",
            is_plane=True,
        )
    spread = np.random.default_rng(0).uniform(-0.35, 0.35, len(table))
    return View(
        np.column_stack([table["score"].to_numpy(np.float64, na_value=np.nan), codes + spread]),
        ("score", "cluster"),
        "The data were not given: points are placed by their score, one band a cluster, at random within it.",
    )


def _embedded(embedding: Any, table: pd.DataFrame) -> View:
    xy = check_floats("embedding", embedding, "an (n, 2) array of numbers")
    if xy.ndim != 2 or xy.shape[1] != 2:
        raise ValueError(f"embedding has shape {xy.shape}; give an (n, 2) array, two coordinates a point.")
    check_same_length("embedding", xy, "table", table)
    if isinstance(embedding, pd.DataFrame):
        check_same_rows("embedding", embedding.index, "table", table.index)
    x, y = map(str, embedding.columns) if is_frame(embedding) else ("embedding 1", "embedding 2")
    return View(xy, (x, y), "Points are placed by the embedding that was given.")


def _of_data(X: Any, columns: list[str], table: pd.DataFrame) -> View:
    """One column against the score, two as they are, more by their principal components."""
    if len(columns) <= 2:
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if len(columns) == 2:
            return View(dense, (columns[0], columns[1]), "Points are placed by the two columns of the data.")
        xy = np.column_stack([dense[:, 0], table["score"].to_numpy(np.float64, na_value=np.nan)])
        return View(xy, (columns[0], "score"), "The data have one column: it is drawn against the score.")
    xy, shares = _principal_components(X)
    names = [f"principal component {j + 1} ({share:.0%} of the variance)" for j, share in enumerate(shares)]
    return View(
        xy,
        (names[0], names[1]),
        f"Points are placed by the first two principal components of {len(columns)} columns; what looks near here may "
        "lie apart in the others.",
    )


def _principal_components(X: Any) -> tuple[Floats, Floats]:
    """Coordinates (n, 2) of the rows without missing values, NaN for the others, and shares of the variance."""
    from sklearn.decomposition import PCA, TruncatedSVD  # here: a scored ensemble needs neither

    whole = np.isfinite(np.asarray(X.sum(axis=1)).ravel())
    xy = np.full((X.shape[0], 2), np.nan)
    if whole.sum() < 2:
        return xy, np.zeros(2)
    # A sparse matrix that is centred is sparse no more, so its directions are those through the origin.
    method = TruncatedSVD(2, random_state=0) if sparse.issparse(X) else PCA(2, random_state=0)
    with np.errstate(divide="ignore", invalid="ignore"):  # points that are all the same have no variance to share
        xy[whole] = method.fit_transform(X[whole])
    return xy, np.nan_to_num(method.explained_variance_ratio_)
