"""Why points scored as they did, in the words of `Confidence.explain`: a few sentences, and the one of each point."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust.results import Explanation

__all__ = ["reasons"]

_WEAK = 0.5
# Files of scores need not hold silhouettes; without them this is all that can be said of a weak geometry.
_KNOWN, _UNKNOWN = (
    "it lies almost as near to another cluster as to its own",
    "it does not lie clearly nearer to its own cluster than to another",
)


def reasons(table: pd.DataFrame, codes: NDArray[np.integer]) -> tuple[NDArray[np.integer], list[str]] | None:
    """Return the sentence of each point, by number, and the sentences; None without stability and geometry.

    Parameters
    ----------
    table : frame with score, stability and geometry, and silhouette_mean and persistence where they are known
    codes : (n,) cluster of each point, negative: none
    """
    if not {"stability", "geometry"} <= set(table.columns):
        return None
    score, c, g = (table[name].to_numpy(np.float64, na_value=np.nan) for name in ("score", "stability", "geometry"))
    known = "silhouette_mean" in table.columns
    mean = table["silhouette_mean"].to_numpy(np.float64, na_value=np.nan) if known else np.ones(len(table))
    p = table["persistence"].to_numpy(np.float64, na_value=np.nan) if "persistence" in table.columns else None
    third = np.ones(len(table)) if p is None else p
    lower = third <= np.minimum(c, g)
    # Points that are alike in all of these get the same sentence.
    alike = np.column_stack([np.isnan(score), codes < 0, c < g, c < _WEAK, g < _WEAK, mean <= 0, lower, third < _WEAK])
    _, first, of = np.unique(alike @ (1 << np.arange(alike.shape[1])), return_index=True, return_inverse=True)
    sentences = [
        _sentence(score[i], c[i], g[i], mean[i], None if p is None else p[i], assigned=codes[i] >= 0) for i in first
    ]
    return of.ravel(), sentences if known else [sentence.replace(_KNOWN, _UNKNOWN) for sentence in sentences]


def _sentence(score: float, c: float, g: float, mean: float, p: float | None, *, assigned: bool) -> str:
    weak = None if min(c, g) >= _WEAK or np.isnan(c) else "stability" if c < g else "geometry"
    if p is not None and p < _WEAK and p <= min(c, g):
        weak = "persistence"
    point = Explanation(0, 0 if assigned else None, score, np.nan, c, g, mean, np.nan, {}, None, 0.0, weak, p)
    return point._verdict()
