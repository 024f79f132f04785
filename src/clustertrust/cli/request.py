"""What the user asked a command to do, as one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clustertrust.cli.options import Columns, Method

__all__ = ["Request", "ScoreRequest"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The request to a command that reads a table.

    Attributes
    ----------
    data : path of the table, or - for standard input
    columns : how it is read
    paths : where each output goes, by option
    threshold : above this a score is kept; None: half of the median score
    as_json : whether the summary is printed as JSON
    to_stdout : whether the table of results is printed
    only_scores : whether the table of results has no columns of the input but its names
    """

    data: str
    columns: Columns
    paths: Mapping[str, Path]
    threshold: float | None = None
    as_json: bool = False
    to_stdout: bool = False
    only_scores: bool = False

    def threshold_for(self, scores: Any) -> float:
        """Return the threshold that was typed, or the one that fits these scores."""
        # Here: it imports pandas, and help needs none.
        from clustertrust.reasons import threshold_or_first

        return threshold_or_first(self.threshold, scores)


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(Request):
    """The request to `score`.

    Attributes
    ----------
    method : how points are clustered and scored
    labels : path of partitions to score, without clustering, or of one labelling to audit
    labels_column : column of the data that holds one labelling to audit
    noise : labels that mean noise; "auto": by the rule; None: every label is a cluster
    typed : parameters of the method that the user typed; the others have their defaults
    checkpoint : folder that keeps finished runs
    scheduler : address of a Dask cluster that does the work
    distances : whether DATA holds the distances of all pairs of points
    """

    method: Method
    labels: str | None = None
    labels_column: str | None = None
    noise: str | tuple[str, ...] | None = "auto"
    typed: frozenset[str] = frozenset()
    checkpoint: str | None = None
    scheduler: str | None = None
    distances: bool = False
