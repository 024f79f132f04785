"""Labels that look wrong in an audit, with what they should be, and verdicts on clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Ints
from clustertrust._validation.arguments import check_mapping


def suspected(table: pd.DataFrame, scores: Any) -> Ints:
    """Return positions of the rows whose label looks wrong, the least trusted first."""
    flags = table["issue"].map(lambda flag: str(flag).strip().lower() in ("true", "1", "1.0"))
    rows = np.flatnonzero(flags.to_numpy(bool))
    by = [np.nan_to_num(np.asarray(scores)[rows])]
    if "suggested_score" in table:
        by.append(-table["suggested_score"].to_numpy(np.float64, na_value=0.0)[rows])
    return rows[np.lexsort(by)]


def pack_audit(
    rows: Ints | None, codes: Ints, clusters: list[str], findings: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return what the page of an audit begins with; None if there is no audit.

    `findings` are what `Audit.findings` gives: how many labels look wrong, verdicts by name of the
    cluster, and the clusters to doubt.
    """
    of_audit = check_mapping("findings", findings)
    if rows is None and not of_audit:
        return None
    verdicts = {str(name): str(text) for name, text in of_audit.get("verdicts", {}).items()}
    at = np.empty(0, dtype=np.int64) if rows is None else rows
    issues = np.bincount(codes[at][codes[at] >= 0], minlength=len(clusters))
    sizes = np.bincount(codes[codes >= 0], minlength=len(clusters))
    return {
        "rows": at.tolist(),
        "found": str(of_audit.get("wrong_labels", "")),
        "verdicts": [
            [name, int(sizes[j]), int(issues[j]), verdicts.get(name, "")]
            for j, name in enumerate(clusters)
            if sizes[j]
        ],
        "doubtful": [str(name) for name in of_audit.get("doubtful", ())],
    }
