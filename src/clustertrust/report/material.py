"""What a page is made of: the user's tables and options, checked and brought to one order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from clustertrust._errors import Wording, as_python
from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import check_option_names
from clustertrust.reasons import Cut, check_threshold, cut
from clustertrust.report.contents import (
    ClusterNames,
    Named,
    check_original,
    check_unasked,
    question_order,
    read_data,
    read_scores,
    read_votes,
    sample,
)
from clustertrust.report.opening import suspected
from clustertrust.report.profiles import Moments, moments_of
from clustertrust.tables.plan import TablePlan

# Points in the plots and in the table of points; the rest are counted and can be downloaded.
MOST_DRAWN = 100_000


class PageOptions(TypedDict, total=False):
    """What can be asked of a page; :func:`write_report` says what each option means."""

    settings: Mapping[str, Any] | None
    title: str | None
    threshold: float | None
    chance: float | None
    embedding: Any
    original: pd.DataFrame | None
    folder: str | Path | None
    rows: Any
    unasked: Sequence[str]
    null_scores: Any
    plan: TablePlan | None
    wording: Wording
    names: Mapping[Any, str] | None
    findings: Mapping[str, Any] | None
    quoted: Sequence[str]


@dataclass(frozen=True)
class Data:
    """The data behind the scores, dense or CSR, with names of the columns and sums by cluster."""

    matrix: Any
    columns: list[str]
    moments: Moments


@dataclass(frozen=True)
class Material:
    """The points of a page and what is known of them.

    Attributes
    ----------
    numbers : columns of numbers of the scores; the index names the points
    clusters : names of all clusters, which codes refer to
    codes : (n,) cluster of each point, -1: none
    others : the same for other columns of clusters, such as "rival"
    id_name, unassigned : what the table calls its index, and points in no cluster
    votes : (n, c) shares and the cluster of each column; None: not given
    data : None where no data were given
    at : the threshold and where it comes from
    suspects : rows whose label looks wrong; None where this is no audit
    questions : points to ask about, at random and uncertain ones
    drawn : points in the plots; None: all
    original, unasked : the user's own table, and the columns that the review does not show
    plan, wording : what was done with each column, and how parameters are written
    """

    numbers: pd.DataFrame
    clusters: ClusterNames
    codes: Ints
    others: dict[str, Ints]
    id_name: str
    unassigned: str
    votes: tuple[Floats, Ints] | None
    data: Data | None
    at: Cut
    suspects: Ints | None
    questions: tuple[Ints, Ints]
    drawn: Ints | None
    original: pd.DataFrame | None
    unasked: list[str]
    plan: TablePlan | None
    wording: Wording

    @property
    def scores(self) -> Floats:
        """(n,) score of each point."""
        return self.numbers["score"].to_numpy()

    @property
    def k(self) -> int:
        """Number of clusters."""
        return len(self.clusters)

    @property
    def columns(self) -> list[str]:
        """Names of the columns of the data."""
        return [] if self.data is None else self.data.columns

    @property
    def shown(self) -> Ints:
        """Positions of the points in the plots."""
        return np.arange(len(self.numbers)) if self.drawn is None else self.drawn


def gather(table: Any, X: Any, votes: Any, options: PageOptions) -> Material:
    """Check what was given for a page and number the clusters in all of it alike."""
    check_option_names("a page", options, PageOptions.__annotations__)
    threshold, original = options.get("threshold"), options.get("original")
    if threshold is not None and not 0 <= check_threshold(threshold) <= 1:
        raise ValueError(
            f"threshold={threshold!r} must be a number from 0 to 1, the range of the page's slider."
        )
    points = read_scores(table)
    check_original(original, points.numbers)
    unasked = check_unasked(options.get("unasked", ()), original)
    data = None if X is None else read_data(X, points.numbers)
    shares, voted = (None, []) if votes is None else read_votes(votes, points.numbers)
    clusters, voted = _name_clusters([points.labels, *points.others.values()], voted)
    codes = clusters.code(*points.labels)
    scores = points.numbers["score"].to_numpy()
    questions = question_order(scores, codes, MOST_DRAWN)
    is_audit = {"issue", "suggested"} <= set(table.columns)
    return Material(
        numbers=points.numbers,
        clusters=clusters,
        codes=codes,
        others={name: clusters.code(*other) for name, other in points.others.items()},
        id_name=points.id_name,
        unassigned=points.unassigned,
        votes=None if shares is None else (shares, clusters.code(np.arange(len(voted)), voted)),
        data=None if data is None else Data(*data, moments_of(data[0], codes, len(clusters))),
        at=cut(scores, threshold, options.get("chance"), codes),
        suspects=suspected(table, scores) if is_audit else None,
        questions=questions,
        drawn=sample(scores, MOST_DRAWN, np.concatenate(questions)),
        original=original,
        unasked=unasked,
        plan=options.get("plan"),
        wording=options.get("wording", as_python),
    )


def _name_clusters(
    columns: Sequence[Named], voted: Sequence[Any]
) -> tuple[ClusterNames, list[Any]]:
    """Return the names in all columns and votes as text, and the votes' as in the columns."""
    named = [name for _, names in columns for name in names]
    by_text = {str(name): name for name in named}
    votes = [by_text.get(str(name), name) for name in voted]
    return ClusterNames([*named, *votes]), votes
