"""The columns of a table of results: the one list that tables, files and pages read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Column:
    """A column of a table of results.

    Attributes
    ----------
    field : what `Confidence` calls it
    kind : "number"; "cluster", a label that has a name; "flag", true or false; or "reason"
    stored : whether it is a field of `Confidence`; otherwise it follows from other fields
    limits : smallest and largest number that a score, a share or a silhouette can be
    listed : whether a summary shows it for the most ambiguous points
    averaged : whether a summary shows its mean in each cluster
    """

    field: str
    kind: str = "number"
    stored: bool = True
    limits: tuple[float, float] = (0.0, 1.0)
    listed: bool = False
    averaged: bool = False


# The one list of the columns of `Confidence.to_frame`, of result files, of summaries and pages, and
# of AnnData annotations. `suggested`, `suggested_score`, `issue` and `classifier_margin` are of a
# given labelling; `persistence`, `second_opinions` and `second_choice` are of scores that use them.
COLUMNS = {
    "label": Column("labels", "cluster", listed=True),
    "suggested": Column("_suggested", "cluster", stored=False, listed=True),
    "suggested_score": Column("suggested_score", stored=False),
    "issue": Column("issues", "flag", stored=False),
    "score": Column("scores", listed=True, averaged=True),
    "standard_error": Column("standard_errors", limits=(0.0, np.inf)),
    "stability": Column("stability", listed=True, averaged=True),
    "geometry": Column("geometry", listed=True, averaged=True),
    "persistence": Column("persistence", listed=True, averaged=True),
    "second_opinions": Column("second_opinions", listed=True, averaged=True),
    "second_choice": Column("second_choice", "cluster"),
    "classifier_margin": Column("classifier_margin", stored=False, limits=(-1.0, 1.0), listed=True),
    "silhouette_mean": Column("silhouette_mean", limits=(-1.0, 1.0)),
    "silhouette_std": Column("silhouette_std"),
    "consensus_strength": Column("consensus_strength"),
    "rival": Column("rival", "cluster", listed=True),
    "margin": Column("margin", stored=False, listed=True),
    "reason": Column("reasons", "reason", stored=False, listed=True),
}
_TYPES = {"number": "f8", "cluster": "i8"}
# The fields of `Confidence` that have one entry per point, with their types.
FIELDS = {column.field: _TYPES[column.kind] for column in COLUMNS.values() if column.stored} | {
    "votes": "f8"
}


def beside_results(name: str) -> str:
    """Return what a column of the user's is called next to results: `score` is `score_input`."""
    return f"{name}_input" if name in COLUMNS else name
