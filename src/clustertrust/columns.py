"""The columns of a table of results: the one list that tables, files and pages read."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COLUMNS", "FIELDS", "Column"]


@dataclass(frozen=True)
class Column:
    """A column of a table of results.

    Attributes
    ----------
    field : what `Confidence` calls it
    kind : "number"; "cluster", a label that has a name; or "reason"
    stored : whether it is a field of `Confidence`; otherwise it follows from other fields
    """

    field: str
    kind: str = "number"
    stored: bool = True


# The one list of the columns of `Confidence.to_frame`, of result files and of AnnData annotations.
COLUMNS = {
    "label": Column("labels", "cluster"),
    "suggested": Column("suggested", "cluster", stored=False),  # of a given labelling
    "score": Column("scores"),
    "standard_error": Column("standard_errors"),
    "stability": Column("stability"),
    "geometry": Column("geometry"),
    "persistence": Column("persistence"),  # where it is a part of the score
    "silhouette_mean": Column("silhouette_mean"),
    "silhouette_std": Column("silhouette_std"),
    "consensus_strength": Column("consensus_strength"),
    "rival": Column("rival", "cluster"),
    "margin": Column("margin", stored=False),
    "reason": Column("reasons", "reason", stored=False),
}
_TYPES = {"number": "f8", "cluster": "i8"}
# The fields of `Confidence` that have one entry per point, with their types.
FIELDS = {column.field: _TYPES[column.kind] for column in COLUMNS.values() if column.stored} | {
    "votes": "f8"
}
