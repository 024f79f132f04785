"""An ensemble and the data → scores: the parts put together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clustertrust._parallel import count_threads
from clustertrust._validation import check_choice, tell
from clustertrust.cells import Cells, Clusters, meet
from clustertrust.consensus import CONSENSUS, Votes, count_votes
from clustertrust.dissimilarity import Geometry
from clustertrust.ensemble import Ensemble
from clustertrust.fusion import FUSIONS, WITH_PERSISTENCE
from clustertrust.geometry import (
    NORMALIZATIONS,
    Options,
    build_geometry,
    check_points,
    mean_and_std,
    sampling_error,
    silhouettes_of,
    warn_of_single_clusters,
)
from clustertrust.jackknife import standard_errors
from clustertrust.matching import Matchings, match_runs
from clustertrust.persistence import Refinement, check_coordinates, refine
from clustertrust.results import Confidence
from clustertrust.stability import AGREEMENTS, UNASSIGNED, Stability, hint_at_jaccard, stability

__all__ = ["Model", "Scoring", "score_ensemble"]

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scoring:
    """The options that turn components into scores."""

    fusion: str
    normalization: str
    agreement: str
    unassigned: str
    consensus: str

    @classmethod
    def of(cls, cake: Any) -> Scoring:
        """The parameters of an estimator, checked."""
        scoring = cls(cake.fusion, cake.normalization, cake.agreement, cake.unassigned, cake.consensus)
        scoring.check()
        return scoring

    def count_runs(self, rows: Ints) -> Ints:
        """(m,) number of runs that count for rows of labels."""
        return np.full(len(rows), rows.shape[1]) if self.unassigned == "disagree" else (rows >= 0).sum(axis=1)

    @property
    def refines(self) -> bool:
        """Whether persistence is a part of the score."""
        return self.fusion in WITH_PERSISTENCE

    def check(self) -> None:
        """Raise for an unknown name."""
        check_choice("fusion", self.fusion, FUSIONS)
        check_choice("normalization", self.normalization, NORMALIZATIONS)
        check_choice("agreement", self.agreement, AGREEMENTS)
        check_choice("unassigned", self.unassigned, UNASSIGNED)
        check_choice("consensus", self.consensus, CONSENSUS)


@dataclass(frozen=True)
class Model:
    """A scored ensemble: all that scoring unseen points needs."""

    scoring: Scoring
    cells: Clusters
    matchings: Matchings
    geometry: Geometry
    reference: int
    refinement: Refinement | None = None  # there where the fusion takes persistence, and a point has a label

    def stability(self, rows: Ints) -> Stability:
        """Stability of rows of labels by the training matchings."""
        how = self.scoring
        return stability(self.cells, self.matchings, rows, agreement=how.agreement, unassigned=how.unassigned)

    def votes(self, rows: Ints) -> Votes:
        """Votes on rows of labels by the training matchings."""
        return count_votes(self.cells, self.matchings, self.reference, rows, self.scoring.count_runs(rows))

    def component(self, s: Floats, own: Ints) -> tuple[Floats, Floats, Floats, Floats]:
        """Silhouettes as they count, their mean, std and S̃."""
        if self.scoring.unassigned == "disagree":
            s = np.where(own < 0, 0.0, s)
        mean, std = mean_and_std(s)
        return s, mean, std, NORMALIZATIONS[self.scoring.normalization](mean, std)

    def refined(self, X: Any) -> Model:
        """The same with the mixtures that persistence needs, fitted to the training points X."""
        cells = self.cells
        assert isinstance(cells, Cells)  # all points are here
        labels = self.votes(cells.rows).labels[cells.of]
        return self if labels.max() < 0 else replace(self, refinement=refine(X, labels))

    def persistence(self, X: Any, labels: Ints) -> Floats | None:
        """Persistence of points with these consensus labels; None where the fusion does not take it."""
        if not self.scoring.refines:
            return None
        return np.zeros(len(labels)) if self.refinement is None else self.refinement.persistence(X, labels)

    def score(self, X: Any, rows: Ints) -> Floats:
        """CAKE scores of unseen points placed by each run into `rows` (n_new, R)."""
        *_, g = self.component(silhouettes_of(self.geometry, rows, X)[0], rows)
        p = self.persistence(X, self.votes(rows).labels)
        return FUSIONS[self.scoring.fusion](self.stability(rows).c, g, *(() if p is None else (p,)))

    def judge(self, rows: Ints, of: Ints, raw: Floats, nearest: Ints, X: Any = None) -> dict[str, NDArray]:
        """The fields of `Confidence`, by name.

        Points of one cell share a row of labels: `rows` (m, R), `of` (n,) the row of each point. `raw` and `nearest`
        (n, R) are their silhouettes and nearest other clusters. X are the points, for a fusion with persistence.
        """
        fuse, normalize = FUSIONS[self.scoring.fusion], NORMALIZATIONS[self.scoring.normalization]
        by_cell, votes = self.stability(rows), self.votes(rows)
        c = by_cell.c[of]
        s, mean, std, g = self.component(raw, rows[of])
        p = self.persistence(X, votes.labels[of])
        return ({} if p is None else {"persistence": p}) | {
            "scores": fuse(c, g, *(() if p is None else (p,))),
            "stability": c,
            "geometry": g,
            "silhouette_mean": mean,
            "silhouette_std": std,
            "standard_errors": standard_errors(of, by_cell, s, normalize, fuse, p, count_threads(self.geometry.n_jobs)),
            "labels": votes.labels[of],
            "consensus_strength": votes.strength[of],
            "votes": votes.votes[of],
            "rival": self._rivals(votes, of, nearest),
        }

    def _rivals(self, votes: Votes, of: Ints, nearest: Ints) -> Ints:
        """Label with the second most votes; where all votes agree, the nearest other cluster; -1: there is no other.

        Nearest in the reference run; where that does not assign the point, what most other runs have nearest, in the
        reference's names.
        """
        others = np.nan_to_num(votes.votes)
        labelled = np.flatnonzero(votes.labels >= 0)
        others[labelled, votes.labels[labelled]] = 0.0
        second = np.where(others.max(axis=1) > 0, others.argmax(axis=1), -1)[of]
        rivals = np.where(second >= 0, second, nearest[:, self.reference])
        labels = votes.labels[of]
        lost = np.flatnonzero((rivals < 0) & (labels >= 0))
        if lost.size:
            runs = np.full(lost.size, nearest.shape[1])
            near = count_votes(self.cells, self.matchings, self.reference, nearest[lost], runs).votes
            near[np.arange(lost.size), labels[lost]] = 0.0
            rivals[lost] = np.where(near.max(axis=1) > 0, near.argmax(axis=1), -1)
        return rivals


def score_ensemble(
    X: Any,
    ensemble: Ensemble,
    geometry: str,
    options: Options,
    scoring: Scoring,
    frame: Any,
    known: tuple[Floats, Ints] | None = None,
    quiet: bool = False,
) -> tuple[Model, Confidence]:
    """Score an ensemble.

    `frame` is what the table of results shall look like; `known` the silhouettes and nearest other clusters of all
    runs, where they have been computed before. `quiet`: say nothing of what the user hears from a later call.
    """
    if scoring.refines:
        check_coordinates(geometry, options.metric, X)
    cells = meet(ensemble.labels)
    name, built = build_geometry(X, ensemble, cells, geometry, options)
    if not quiet:
        hint_at_jaccard(cells, scoring.agreement)
        warn_of_single_clusters(cells)
    matchings = match_runs(cells)
    reference = CONSENSUS[scoring.consensus](cells, matchings, scoring.count_runs(cells.rows))
    model = Model(scoring, cells, matchings, built, reference)
    raw, nearest = silhouettes_of(built, cells.rows[cells.of]) if known is None else known
    points = None
    if scoring.refines:
        points = check_points(X, len(cells.of), geometry, options)
        model = model.refined(points)
    judged = model.judge(cells.rows, cells.of, raw, nearest, points)
    if not quiet:
        _warn_of_missing(judged["scores"])

    names = cells.names[reference]
    given = ensemble.label_names[reference]
    return model, Confidence(
        **judged,
        label_names=names if given is None else given[names],
        reference_run=reference,
        geometry_method=name,
        ensemble=ensemble,
        n_runs=ensemble.n_runs,
        sampling_error=0.0 if quiet else sampling_error(built, cells.rows[cells.of]),
        agreement=scoring.agreement,
        frame=frame,
    )


def _warn_of_missing(scores: Floats) -> None:
    missing = int(np.isnan(scores).sum())
    if missing:
        tell(
            f"{missing} of {scores.size} points are assigned in fewer than two runs: their scores are NaN. "
            "More runs, or unassigned='disagree', give every point a score."
        )
