"""What `CAKE.fit` says about the columns of a frame: it changes nothing, and warns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clustertrust._types import Array
from clustertrust._validation.arguments import warn_user
from clustertrust.tables.kinds import COUNTING, counts_rows, is_named_as_id
from clustertrust.tables.values import ENOUGH, are_whole, words_of

# Share of the squared distances that one or two columns make up.
DOMINANT = 0.95
# Rows that tell nearly all columns from row numbers.
FIRST = 50


def warn_of_columns(X: Any, names: Sequence[Any]) -> None:
    """Warn of ids, and of one or two named columns that make up nearly all of the distances.

    Columns without names, such as those of embeddings, raise no warning, nor do sparse ones.
    """
    if not isinstance(X, np.ndarray) or len(names) < 2 or len(X) < 3:
        return
    ids = _warn_of_ids(X, names)
    others = [j for j in range(len(names)) if j not in ids]
    _warn_of_scales(X[:, others] if ids else X, [names[j] for j in others])


def _warn_of_ids(X: Array, names: Sequence[Any]) -> set[int]:
    """Warn of columns that look like ids; return their positions."""
    reasons = {j: _why_an_id(str(name), X[:, j]) for j, name in enumerate(names)}
    ids = {j: why for j, why in reasons.items() if why}
    if ids:
        shown = ", ".join(f"{str(names[j])!r} looks like an id ({why})" for j, why in ids.items())
        warn_user(
            f"{shown}, and distances are measured in it. If it is one, leave it out: "
            f"X.drop(columns={[str(names[j]) for j in ids]!r})."
        )
    return set(ids)


def _why_an_id(name: str, values: Array) -> str:
    """Return why a column seems to be an id, else an empty text; cheap for other columns."""
    if is_named_as_id(words_of(name)) and are_whole(values):
        return "by its name"
    if len(values) < ENOUGH or not counts_rows(values[:FIRST]) or not counts_rows(values):
        return ""
    return COUNTING[1]


def _warn_of_scales(X: Array, names: Sequence[Any]) -> None:
    spread = X.var(axis=0, dtype=np.float64)
    if not len(spread) or not np.isfinite(spread).all() or spread.sum() == 0:
        return
    order = np.argsort(-spread, kind="stable")
    shares = spread[order] / spread.sum()
    for count in (1, 2):
        # In one unit, few columns may vary most; in other units the smallest are out of sight.
        if shares[:count].sum() >= DOMINANT and count < len(names) / 2:
            verb = "makes" if count == 1 else "make"
            shown = " and ".join(repr(str(names[j])) for j in order[:count])
            warn_user(
                f"{shown} {verb} up {shares[:count].sum():.1%} of the squared distances between "
                f"the rows; the other {len(names) - count} columns barely count. If columns have "
                "different units, standardise them first (sklearn.preprocessing.StandardScaler)."
            )
            return
