"""Labels that are given, in a file or a column: partitions to score, or one labelling to audit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clustertrust import Confidence, Ensemble, audit, confidence
from clustertrust.cli.options import AUDITING, NOT_AUDITING
from clustertrust.cli.points import Points
from clustertrust.cli.printing import is_interactive
from clustertrust.cli.request import AuditRequest, ScoreRequest
from clustertrust.files import FORMATS, Reading, format_of, read_table


def score_given(request: ScoreRequest, points: Points, graph: Any) -> Confidence:
    """Score given partitions, or audit one labelling."""
    if request.labels is not None:
        runs = _read_partitions(request.labels, request.columns.id, points)
    else:
        assert points.labels is not None
        runs = points.labels[points.kept].reset_index(drop=True)
    typed, method = request.typed, request.method
    is_one = runs.shape[1] == 1
    if isinstance(request, AuditRequest) and not is_one:
        raise ValueError(
            f"{request.labels} has {runs.shape[1]} columns; an audit takes one, of labels. Score "
            "several runs with clustertrust score --labels."
        )
    why = "one labelling is audited" if is_one else "nothing is clustered"
    request.refuse(NOT_AUDITING if is_one else AUDITING, f"With --labels {why}")
    X, params = points.X, method.auditing(typed) if is_one else method.scoring()
    if graph is not None:
        X, params = graph.X, params | {"geometry": graph.geometry}
    labels = Ensemble.from_labels(runs, noise=request.noise_rule)
    if is_one:
        return audit(X, labels, **params, **_classifier(request, points), verbose=is_interactive())
    return confidence(X, labels, **params)


def _classifier(request: ScoreRequest, points: Points) -> dict[str, Any]:
    """Return what votes besides the runs, as parameters of `audit`."""
    if not isinstance(request, AuditRequest):
        return {}
    if request.pred_probs is None:
        return {"classifier": None if request.classifier == "none" else request.classifier}
    # Labels may be numbers, and names of columns then look like values.
    kind = FORMATS[format_of(request.pred_probs)]
    header = True if "header" in kind.options else None
    shares = _read_rows(request.pred_probs, request.columns.id, points, header)
    # A file of an array has no names: its columns are in the order of the labels.
    has_names = kind not in (FORMATS["npy"], FORMATS["npz"])
    return {"pred_probs": shares if has_names else shares.to_numpy()}


def _read_partitions(path: str, id: str | None, points: Points) -> pd.DataFrame:
    """Read partitions of the used points: one column per run, and perhaps one of row names."""
    runs = _read_rows(path, id, points)
    if runs.shape[1] == 0:
        raise ValueError(f"{path} has no column of labels besides the names of the rows.")
    distinct = [name for name in runs if len(runs) > 2 and runs[name].nunique() == len(runs)]
    if distinct:
        raise ValueError(
            f"{path}: the column {str(distinct[0])!r} has a different value in every row, so it is "
            "not a partition. Remove it from the file, or name the rows by it with --id."
        )
    return runs


def _read_rows(
    path: str, id: str | None, points: Points, header: bool | None = None
) -> pd.DataFrame:
    """Read a table about the rows of the data that are used; names, which must match, drop out."""
    table = read_table(path, Reading(text=() if id is None else (id,), header=header)).data
    if not isinstance(table, pd.DataFrame):
        raise ValueError(f"{path} holds a sparse matrix; give a table.")
    if len(table) != len(points.kept):
        raise ValueError(
            f"{path} has {len(table)} rows and the data have {len(points.kept)}; give the same "
            "rows in the same order."
        )
    if id is not None and id in table:
        names = table.pop(id).map(str).to_numpy()
        differ = np.flatnonzero(names != points.ids.map(str).to_numpy())
        if differ.size:
            raise ValueError(
                f"{path} names row {differ[0]} {names[differ[0]]!r}, and the data "
                f"{points.ids[differ[0]]!r}; give the same rows in the same order."
            )
    return table[points.kept].reset_index(drop=True)
