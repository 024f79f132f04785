"""Where the page draws its points: by an embedding, by the data, or by what the table of scores
has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Ints
from clustertrust._views import View, data_view, given_view


def choose_view(
    X: Any, columns: list[str] | None, embedding: Any, table: pd.DataFrame, codes: Ints
) -> View:
    """Choose the view: the embedding, else the data, else columns of the table."""
    if embedding is not None:
        return given_view(embedding, table.index, "table")
    if X is not None and columns is not None:
        return data_view(X, columns, table["score"].to_numpy(np.float64, na_value=np.nan), "score")
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
        "The data were not given: points are placed by their score, one band per cluster, at "
        "random within it.",
    )
