"""An ensemble and the data → a model, which scores its own points and unseen ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clustertrust._errors import Message
from clustertrust._types import Array, Arrays, Floats, Ints
from clustertrust._validation.arguments import warn_user
from clustertrust._views import View, distance_view, landmark_positions
from clustertrust.cells import Cells, Clusters, meet
from clustertrust.consensus import CONSENSUS, Votes, count_votes, runner_up
from clustertrust.distances.dissimilarity import Dissimilarity
from clustertrust.distances.pairwise import Pairwise
from clustertrust.ensemble import Ensemble
from clustertrust.ensemble.warn import all_identical
from clustertrust.geometry.base import Geometry
from clustertrust.geometry.component import NORMALIZATIONS, mean_and_std
from clustertrust.geometry.measuring import measure, sampling_error, warn_of_single_clusters
from clustertrust.kernels import backend
from clustertrust.matching import Matchings, match_runs
from clustertrust.reasons import Chance
from clustertrust.results import Confidence
from clustertrust.scoring.components import (
    Components,
    fit_components,
    fused_parts,
    used_components,
)
from clustertrust.scoring.jackknife import standard_errors
from clustertrust.scoring.settings import Scoring
from clustertrust.stability import Stability, hint_at_jaccard, stability

# (n, R) silhouettes, and the nearest other cluster of each point in each run.
Silhouettes = tuple[Floats, Ints]


@dataclass(frozen=True)
class Model:
    """Everything needed to score points.

    Attributes
    ----------
    scoring : the settings
    ensemble : the runs
    clusters : their clusters; `Cells` if all points are in memory
    matchings : of each pair of runs
    reference : the run that gives the consensus its labels
    geometry : what silhouettes compare, never `auto`; None if all silhouettes are known
    dissimilarity : distances of points to clusters; None if all silhouettes are known
    components : what the fusion needs besides c and S̃
    """

    scoring: Scoring
    ensemble: Ensemble
    clusters: Clusters
    matchings: Matchings
    reference: int
    geometry: Geometry | None = None
    dissimilarity: Dissimilarity | None = None
    components: Components = field(default_factory=Components)

    @property
    def cells(self) -> Cells:
        """The clusters, if all points are in memory."""
        assert isinstance(self.clusters, Cells)
        return self.clusters

    def stability(self, rows: Ints) -> Stability:
        """Return the stability of rows of clusters (m, R), by the training matchings."""
        agreement, unassigned = self.scoring.agreement, self.scoring.unassigned
        return stability(
            self.clusters, self.matchings, rows, agreement=agreement, unassigned=unassigned
        )

    def votes(self, rows: Ints) -> Votes:
        """Return the votes on rows of clusters (m, R), by the training matchings."""
        return count_votes(
            self.clusters, self.matchings, self.reference, rows, self.scoring.count_runs(rows)
        )

    def component(self, s: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the silhouettes that count, their mean, std and S̃.

        They are NaN where a run does not assign the point.
        """
        if self.scoring.unassigned == "disagree":
            s = np.nan_to_num(s, nan=0.0)
        mean, std = mean_and_std(s)
        return s, mean, std, NORMALIZATIONS[self.scoring.normalization](mean, std)

    def with_components(self, X: Any) -> Model:
        """Return the model with what the fusion needs besides c and S̃, fitted to training points X.

        X are the points that the labels of the ensemble belong to: all, or those of a sample.
        """
        if not used_components(self.scoring):
            return self
        rows = self.encode(self.ensemble.labels)
        of, first = backend().meet(rows)
        labels = self.votes(rows[first]).labels[of]
        # The first seed makes second opinions follow from `random_state`, as the runs do.
        seed = (self.ensemble.seeds or (None,))[0]
        return replace(self, components=fit_components(X, labels, self.scoring, seed))

    def encode(self, labels: Ints) -> Ints:
        """Turn labels of the runs (n, R) into clusters (n, R); -1 for an unknown label."""
        return self.clusters.encode(labels)

    def silhouettes(
        self, rows: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> Silhouettes:
        """Return silhouettes of points X in clusters `rows` (n, R); None: the training points."""
        assert self.dissimilarity is not None
        return self.dissimilarity.silhouettes(rows, X, training=training)

    def view(self) -> View | None:
        """Return where to draw the training points, if they have distances but no coordinates."""
        by = self.dissimilarity
        if not isinstance(by, Pairwise) or not by.metric.is_coordinate_free:
            return None
        n = len(self.cells.cell_of)
        landmarks = landmark_positions(n)
        distances = by.to_points(landmarks)
        return None if distances is None else distance_view(distances, landmarks)

    def score(self, X: Any, rows: Ints) -> Floats:
        """Return CAKE scores of unseen points that the runs put into `rows` (n_new, R)."""
        *_, g = self.component(self.silhouettes(rows, X)[0])
        parts = self.components.of(X, self.votes(rows).labels)
        return self.scoring.fusion(self.stability(rows).c, g, *fused_parts(parts))

    def training_fields(
        self,
        X: Any,
        silhouettes: Silhouettes | None = None,
        *,
        quiet: bool = False,
        built: bool = False,
    ) -> dict[str, Any]:
        """Return the fields of `Confidence` for the training points X.

        `silhouettes` are theirs, if they are known. `quiet` leaves out the sampling error and
        the warning of points without a score. `built`: the runs were made just now, which warns of
        points that are noise in all of them if the runs are all the same.
        """
        cells = self.cells
        fields: dict[str, Any] = self.fields(
            cells.rows, cells.cell_of, silhouettes or self.silhouettes(), X
        )
        if not quiet:
            identical = all_identical(self.ensemble.labels.T)
            if not (identical and built):
                _warn_of_missing(fields["scores"], identical=identical)
            if self.dissimilarity is not None:
                fields["sampling_error"] = sampling_error(self.dissimilarity, cells)
        return fields

    def new_fields(self, X: Any, rows: Ints, *, training: bool = False) -> Arrays:
        """Return the fields of `Confidence` for points X that the runs put into `rows` (n, R)."""
        of, first = backend().meet(rows)
        return self.fields(rows[first], of, self.silhouettes(rows, X, training=training), X)

    def confidence(
        self,
        fields: Mapping[str, Any],
        *,
        frame: Any = None,
        numbered: bool = False,
        chance: Chance | None = None,
    ) -> Confidence:
        """Make the record of these fields; `frame` gives the kind and index of its table.

        `numbered` names clusters 0, 1, …, as in `CAKE`, instead of by the labels of the reference
        run. `chance` is what data without clusters rarely exceed, if that can be computed.
        """
        names = self.clusters.names[self.reference]
        of_labels = self.ensemble.label_names[self.reference]
        label_names: Array = names if of_labels is None else of_labels[names]
        return Confidence(
            **fields,
            label_names=np.arange(len(names)) if numbered else label_names,
            reference_run=self.reference,
            geometry_method="" if self.geometry is None else self.geometry.name,
            ensemble=self.ensemble,
            n_runs=self.ensemble.n_runs,
            agreement=self.scoring.agreement,
            unassigned=self.scoring.unassigned,
            frame=frame,
            chance=chance,
        )

    def fields(self, rows: Ints, of: Ints, silhouettes: Silhouettes, X: Any = None) -> Arrays:
        """Return the fields of `Confidence`, by name.

        Points of one cell share a row of clusters: `rows` (m, R), `of` (n,) the row of each point.
        `silhouettes` are theirs. X are the points, for a fusion with persistence.
        """
        raw, nearest = silhouettes
        by_cell, votes = self.stability(rows), self.votes(rows)
        c = by_cell.c[of]
        s, mean, std, g = self.component(raw)
        parts = self.components.of(X, votes.labels[of])
        return parts | {
            "scores": self.scoring.fusion(c, g, *fused_parts(parts)),
            "stability": c,
            "geometry": g,
            "silhouette_mean": mean,
            "silhouette_std": std,
            "standard_errors": standard_errors(of, by_cell, s, self.scoring, fused_parts(parts)),
            "labels": votes.labels[of],
            "consensus_strength": votes.strength[of],
            "votes": votes.votes[of],
            "rival": self._rivals(votes, of, nearest),
        }

    def _rivals(self, votes: Votes, of: Ints, nearest: Ints) -> Ints:
        """Return the label with the second most votes, else the nearest other cluster, else -1.

        The nearest is that of the reference run. If that does not assign the point, it is the
        nearest in most other runs, translated to the labels of the reference run.
        """
        second = runner_up(votes.votes, votes.labels)[of]
        rivals = np.where(second >= 0, second, nearest[:, self.reference])
        labels = votes.labels[of]
        lost = np.flatnonzero((rivals < 0) & (labels >= 0))
        if lost.size:
            runs = np.full(lost.size, nearest.shape[1])
            near = count_votes(
                self.clusters, self.matchings, self.reference, nearest[lost], runs
            ).votes
            rivals[lost] = runner_up(near, labels[lost])
        return rivals


def match_ensemble(ensemble: Ensemble, scoring: Scoring) -> Model:
    """Return a model of labels only, for silhouettes that are known."""
    cells = meet(ensemble.labels)
    matchings = match_runs(cells)
    reference = CONSENSUS[scoring.consensus](cells, matchings, scoring.count_runs(cells.rows))
    return Model(scoring, ensemble, cells, matchings, reference)


def with_geometry(model: Model, X: Any) -> Model:
    """Return the model with its geometry, built on the checked training points X."""
    scoring = model.scoring
    geometry, dissimilarity = measure(
        X, model.ensemble, model.cells, scoring.geometry, scoring.compute
    )
    return replace(model, geometry=geometry, dissimilarity=dissimilarity).with_components(X)


def build_model(X: Any, ensemble: Ensemble, scoring: Scoring, *, quiet: bool = False) -> Model:
    """Return the model of an ensemble of checked points X; `quiet` leaves out hints."""
    model = with_geometry(match_ensemble(ensemble, scoring), X)
    if not quiet:
        hint_at_jaccard(model.clusters, scoring.agreement)
        warn_of_single_clusters(model.clusters)
    return model


def _warn_of_missing(scores: Floats, *, identical: bool) -> None:
    """Warn of points without a score; `identical`: all runs are the same, so more would be too."""
    missing = int(np.isnan(scores).sum())
    if missing:
        remedy = "Runs that differ" if identical else "More runs"
        warn_user(
            Message(
                f"{missing} of {scores.size} points are assigned in fewer than two runs: their "
                f"scores are NaN. {remedy}, or {{unassigned='disagree'}}, give every point a score."
            )
        )
