"""What transformers of the user make of columns of free text and of dates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils import get_tags

from clustertrust._types import Floats
from clustertrust.tables.plan import TablePlan


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


def _has_words(column: pd.Series) -> bool:
    """Return whether most texts of a column have three words or more."""
    return bool((column.dropna().map(str).str.count(r"\S+") >= 3).mean() > 0.5)


def fit_encoders(
    plan: TablePlan, frame: pd.DataFrame, *, text: Any, dates: Any
) -> tuple[TablePlan, dict[str, Any]]:
    """Return the plan with the columns that `text` and `dates` take, and fitted clones of them."""
    encoders: dict[str, Any] = {}
    columns = list(plan.columns)
    for j, column in enumerate(plan.columns):
        if column.use not in ("ignored", "id") or column.user_decided or column.numeric:
            continue
        # Comments that all differ look like names of rows.
        is_text = column.kind == "id" and _has_words(frame[column.name])
        kind = "text" if is_text else column.kind
        encoder = {"text": text, "date": dates}.get(kind)
        if encoder is None:
            continue
        made = clone(encoder)
        made.fit(input_of(made, frame, column.name, kind))
        encoders[column.name] = (made, kind)
        width = encoded_by(encoders[column.name], frame.head(1), column.name).shape[1]
        names = tuple(f"{column.name}_{position}" for position in range(width))
        reason = f"by {type(encoder).__name__}"
        columns[j] = replace(column, use="encoded", levels=names, reason=reason, override_hint="")
    return replace(plan, columns=tuple(columns)), encoders
