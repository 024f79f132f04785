"""Rows that show what a cluster is: those nearest to its centre, those farthest from it, and those
with the lowest scores.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustertrust._types import Floats, Ints
from clustertrust.report.material import Material
from clustertrust.report.profiles import Moments, is_categories

# Rows of each kind, and clusters that have them
ROWS, MOST_CLUSTERS = 5, 200
# Letters of a text on average, from which on it is shown as text
LONG = 20
LOOK_AT = 200


def center_distances(X: Any, codes: Ints, moments: Moments, *, scaled: bool) -> Floats:
    """Return the distance of each point to the mean of its cluster; NaN without a cluster.

    Missing values count as equal to the mean. `scaled`: columns are divided by their standard
    deviations first.
    """
    weights = np.ones(X.shape[1])
    if scaled:
        variance = moments.of_all[1]
        weights = np.divide(1.0, variance, out=np.zeros(len(variance)), where=variance > 0)
    means = np.nan_to_num(moments.means)
    squares = np.full(len(codes), np.nan)
    for cluster, mean in enumerate(means):
        rows = np.flatnonzero(codes == cluster)
        if sparse.issparse(X):
            part = X[rows]
            lengths = np.asarray(part.multiply(part) @ weights).ravel()
            squares[rows] = lengths - 2 * (part @ (weights * mean)) + (weights * mean) @ mean
        else:
            squares[rows] = np.nan_to_num((X[rows] - mean) ** 2) @ weights
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def cluster_examples(page: Material) -> list[dict[str, list[int]]]:
    """Return typical (central, else high-scoring), far and doubtful rows of each cluster."""
    distances, shown = None, page.shown
    if page.data is not None:
        scaled = page.plan is not None and page.plan.scale != "none"
        distances = center_distances(page.data.matrix, page.codes, page.data.moments, scaled=scaled)
    examples = []
    labels, of_shown = page.codes[shown], page.scores[shown]
    for cluster in range(min(page.k, MOST_CLUSTERS)):
        rows = np.flatnonzero(labels == cluster)
        by_score = rows[np.argsort(of_shown[rows], kind="stable")]
        by_score = by_score[~np.isnan(of_shown[by_score])]
        if distances is None:
            typical, far = by_score[::-1], rows[:0]
        else:
            typical = rows[np.argsort(distances[shown][rows], kind="stable")]
            far = typical[::-1]
        # A small cluster has each row once.
        near = typical[:ROWS]
        far = far[~np.isin(far, near)][:ROWS]
        low = by_score[~np.isin(by_score, near)][:ROWS]
        examples.append(
            {
                "typical": shown[near].tolist(),
                "far": shown[far].tolist(),
                "doubtful": shown[low].tolist(),
            }
        )
    return examples


def nearest_rivals(rivals: Ints | None, codes: Ints, k: int) -> list[list[float] | None]:
    """Return for each cluster the rival of most of its points and its share; None: it has none."""
    nearest: list[list[float] | None] = []
    for cluster in range(k):
        own = np.empty(0, dtype=np.int64) if rivals is None else rivals[codes == cluster]
        counts = np.bincount(own[own >= 0], minlength=k)
        most = int(counts.argmax()) if counts.size else 0
        nearest.append([most, float(counts[most] / len(own))] if counts.any() else None)
    return nearest


def text_column(original: pd.DataFrame | None, packed: Collection[str]) -> str | None:
    """Return the column of the page whose texts are the longest on average; None: none."""
    best, length = None, float(LONG)
    for j in range(0 if original is None else original.shape[1]):
        assert original is not None
        column = original.iloc[:LOOK_AT, j]
        numeric = pd.api.types.is_numeric_dtype(column)
        if str(original.columns[j]) not in packed or numeric or is_categories(column):
            continue
        texts = column.dropna().astype(str)
        mean = float(texts.str.len().mean()) if len(texts) else 0.0
        if mean > length and not texts.str.startswith("data:").any():
            best, length = str(original.columns[j]), mean
    return best
