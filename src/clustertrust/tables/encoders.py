"""What transformers of the user make of columns of free text and of dates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import get_tags

from clustertrust._types import Floats


def input_of(encoder: Any, frame: pd.DataFrame, name: str, kind: str) -> Any:
    """Return a column as an encoder takes it: alone if it takes texts, else as a frame."""
    column = frame[name]
    if kind == "date":
        column = pd.to_datetime(column, errors="coerce", format="mixed")
    else:
        column = column.astype(object).where(column.notna(), "").map(str)
    alone = getattr(encoder, "__single_column_transformer__", False)
    return column if alone or not get_tags(encoder).input_tags.two_d_array else column.to_frame()


def encoded_by(fitted: tuple[Any, str], frame: pd.DataFrame, name: str) -> Floats:
    """Return what an encoder makes of a column, (rows, features)."""
    encoder, kind = fitted
    values = encoder.transform(input_of(encoder, frame, name, kind))
    values = values.toarray() if hasattr(values, "toarray") else values
    return np.asarray(values, dtype=np.float64).reshape(len(frame), -1)
