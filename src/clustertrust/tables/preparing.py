"""A table and its plan → the rows and columns that are clustered, for use in Python."""

from __future__ import annotations

import numpy as np
import pandas as pd

from clustertrust._validation import warn_user
from clustertrust.tables.looking import look
from clustertrust.tables.plan import TablePlan
from clustertrust.tables.scales import measures


def prepare(frame: pd.DataFrame, plan: TablePlan | None = None) -> pd.DataFrame:
    """Return a table as `clustertrust score` clusters it: numbers, without gaps, comparable.

    Means and scales are those of `frame`: prepare new rows together with the old ones, or let
    `clustertrust predict` do it.

    Parameters
    ----------
    frame : DataFrame, one row per point, text and numbers
    plan : TablePlan, optional; None: what `look` finds, and its warnings are given

    Returns
    -------
    DataFrame
        The columns `plan.features`, and the rows that are clustered; the column that names the
        rows is its index. If the plan is for Gower's distance (`encode="match"`), categories stay
        texts and gaps stay gaps.

    Examples
    --------
    >>> import pandas as pd
    >>> from clustertrust.tables import prepare
    >>> table = pd.DataFrame({"id": ["a", "b", "c"], "price": ["$1,200", "$950", "$87"]})
    >>> prepare(table)
         price
    id
    a   1200.0
    b    950.0
    c     87.0
    """
    # Who gives a plan has seen its warnings.
    warnings = plan is None
    plan = plan or look(frame)
    if plan.problems:
        raise ValueError(" ".join(str(problem.text) for problem in plan.problems))
    for warning in plan.warnings if warnings else ():
        warn_user(warning)
    X = plan.apply(frame)
    if plan.id is not None:
        names = [str(name) for name in frame.columns]
        X.index = pd.Index(frame.iloc[:, names.index(plan.id)], name=plan.id)
    X = X[(plan.rows_out(X, plan.rows) == "").to_numpy()]
    if plan.is_mixed or X.empty:
        return X
    values = X.to_numpy(np.float64)
    comparable = measures(plan, values)
    filled = np.where(np.isfinite(values), values, np.nanmean(values, axis=0))
    scaled = (filled - comparable.centers) / comparable.scales
    scaled = np.clip(scaled, -comparable.limit, comparable.limit)
    return pd.DataFrame(scaled, columns=X.columns, index=X.index)
