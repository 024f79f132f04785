"""How much columns go together: an answer goes with most of the others, an id with none."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clustertrust._types import Floats
from clustertrust.tables.column import Columns
from clustertrust.tables.values import ENOUGH

# Columns of which each is compared with all others.
MOST_COMPARED = 300


def relations(columns: Columns) -> Floats:
    """Return (p, p) how much the columns that are used rise or fall together, from 0 to 1.

    Those are correlations of ranks, 0 on the diagonal; categories are ranked by how often each
    occurs, missing values are the mean. Too few columns or rows, and too many columns, give NaN.
    """
    used = columns.plan.used
    if not 2 < len(used) <= MOST_COMPARED or len(columns.numbers) < ENOUGH:
        return np.full((len(used), len(used)), np.nan)
    numbers, texts = iter(columns.numbers.T), iter(columns.texts)
    values = [
        next(numbers) if column.use == "number" else _frequencies(next(texts)) for column in used
    ]
    ranks = pd.DataFrame(np.column_stack(values)).rank()
    with np.errstate(invalid="ignore", divide="ignore"):
        together = np.abs(np.corrcoef(ranks.fillna(ranks.mean()).to_numpy().T))
    np.fill_diagonal(together, 0.0)
    return np.asarray(np.nan_to_num(together))


def _frequencies(texts: pd.Series) -> Floats:
    """Return for each text its rank among all by how often it occurs."""
    ranks = texts.map(texts.value_counts().rank(method="first"))
    return np.asarray(ranks, dtype=np.float64)
