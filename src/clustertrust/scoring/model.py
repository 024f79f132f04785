"""An ensemble and the data → a model, which scores its own points and unseen ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clustertrust._devices import is_on_gpu, take_rows, to_host
from clustertrust._errors import Message
from clustertrust._parallel import map_blocks
from clustertrust._types import Array, Arrays, Floats, Ints
from clustertrust._validation.arguments import warn_user
from clustertrust._views import View, distance_view, landmark_positions
from clustertrust.cells import Cells, Clusters, meet_on_gpu, meet_rows, meet_runs
from clustertrust.consensus import CONSENSUS, Votes, count_votes, runner_up
from clustertrust.distances.dissimilarity import Dissimilarity, each_silhouettes, hand_out
from clustertrust.distances.pairwise import Pairwise
from clustertrust.ensemble import Ensemble
from clustertrust.ensemble.warn import all_identical
from clustertrust.geometry.base import Geometry
from clustertrust.geometry.measuring import measure, sampling_error, warn_of_single_clusters
from clustertrust.matching import Matchings, match_runs
from clustertrust.reasons import Chance
from clustertrust.results import Confidence
from clustertrust.scoring.components import (
    Components,
    fit_components,
    fused_parts,
    used_components,
)
from clustertrust.scoring.jackknife import function_of_two, opinion_errors
from clustertrust.scoring.on_gpu import component, rows_of, score_on_gpu
from clustertrust.scoring.points import PointScores
from clustertrust.scoring.settings import Scoring
from clustertrust.stability import OVERLAPS, Stability, hint_at_jaccard, stability

Joined = TypeVar("Joined", Stability, Votes)
# Cells whose stability and votes a thread finds at a time
_ROWS = 2**13
# (n, R) silhouettes, and the nearest other cluster of each point in each run.
Silhouettes = tuple[Floats, Ints]


class TrainingScores(NamedTuple):
    """The scores of the training points, and what they are made of.

    Attributes
    ----------
    scores, labels : (n,) scores and consensus labels
    by_cell : stability of each cell
    s, g : (n, R) silhouettes that count, and (n,) S̃
    parts : (n,) other components that the fusion takes
    """

    scores: Floats
    labels: Ints
    by_cell: Stability
    s: Floats
    g: Floats
    parts: tuple[Floats, ...]


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
        return component(s, self.scoring)

    def with_components(self, X: Any) -> Model:
        """Return the model with what the fusion needs besides c and S̃, fitted to training points X.

        X are the points that the labels of the ensemble belong to: all, or those of a sample.
        """
        if not used_components(self.scoring):
            return self
        if isinstance(self.clusters, Cells):
            rows, of = self.clusters.rows, self.clusters.cell_of
        else:
            every = self.encode(self.ensemble.labels)
            of, first = meet_rows(every, self.scoring.compute.threads)
            rows = every[first]
        labels = self.votes(rows).labels[of]
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
        return self._measured.silhouettes(rows, X, training=training)

    def kept_silhouettes(
        self, rows: Ints | None = None, X: Any = None, *, training: bool = False
    ) -> Silhouettes:
        """Return the same, on the GPU if they were computed there."""
        return self._measured.kept_silhouettes(rows, X, training=training)

    @property
    def _measured(self) -> Dissimilarity:
        assert self.dissimilarity is not None
        return self.dissimilarity

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
        return self.new_fields(X, rows)["scores"]

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
        places = (None, None, False)
        fields: dict[str, Any] = self._fields(cells.rows, cells.cell_of, X, places, silhouettes)
        if not quiet:
            self.warn_of_missing(fields["scores"], built=built)
            if self.dissimilarity is not None:
                fields["sampling_error"] = sampling_error(self.dissimilarity, cells)
        return fields

    def training_scores(self, X: Any, s: Floats) -> TrainingScores:
        """Return the scores of the training points X, without errors; s (n, R) are silhouettes."""
        cells = self.cells
        of = cells.cell_of
        by_cell, labels = self.stability(cells.rows), self.votes(cells.rows).labels[of]
        parts = fused_parts(self.components.of(X, labels))
        s, _, _, g = component(s, self.scoring)
        scores = self.scoring.fusion(by_cell.c[of], g, *parts)
        return TrainingScores(scores, labels, by_cell, s, g, parts)

    def warn_of_missing(self, scores: Floats, *, built: bool = False) -> None:
        """Warn of points without a score; `built`: not if all runs are the same, see above."""
        missing = int(np.isnan(scores).sum())
        identical = missing > 0 and all_identical(self.ensemble.labels.T)
        if missing and not (identical and built):
            remedy = "Runs that differ" if identical else "More runs"
            warn_user(
                Message(
                    f"{missing} of {scores.size} points are assigned in fewer than two runs: their "
                    f"scores are NaN. {remedy}, or {{unassigned='disagree'}}, give every point a "
                    "score."
                )
            )

    def new_fields(self, X: Any, rows: Ints, *, training: bool = False) -> Arrays:
        """Return the fields of `Confidence` for points X that the runs put into `rows` (n, R)."""
        of, first = meet_rows(rows, self.scoring.compute.threads)
        return self._fields(rows[first], of, X, (rows, X, training))

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

    def _fields(
        self,
        rows: Ints,
        of: Ints,
        X: Any,
        places: tuple[Ints | None, Any, bool],
        known: Silhouettes | None = None,
    ) -> Arrays:
        """Return the fields of `Confidence`, by name.

        Points of one cell share a row of clusters: `rows` (m, R), `of` (n,) the row of each point.
        X are the points, for a fusion with persistence. `places` are what `silhouettes` takes, if
        these are not known.
        """
        scoring, (own, points, training) = self.scoring, places
        if known is None and scoring.compute.on_gpu:
            # The GPU computes them while the CPU goes on with cells and votes.
            known = self.kept_silhouettes(own, points, training=training)
        by_cell, votes = self._of_cells(rows)
        parts = self.components.of(X, votes.labels[of]) if self.components.used else {}
        fused = fused_parts(parts)
        scores = PointScores(of, by_cell, votes, scoring, fused, self.reference, self._far_rivals)
        if known is None:
            each_silhouettes(self._measured, scores.take, own, points, training=training)
            return self._allow_for_opinions(parts | scores.fields())
        s, nearest = known
        # A fusion of somebody else may count on NumPy's arrays.
        if not (is_on_gpu(s) and function_of_two(scoring)):
            hand_out((to_host(s), to_host(nearest)), scores.take, scoring.compute.threads)
            return self._allow_for_opinions(parts | scores.fields())
        of_votes = {
            "stability": by_cell.c[of],
            "labels": votes.labels[of],
            "consensus_strength": votes.strength[of],
            "votes": rows_of(votes.votes, of, scoring.compute.threads),
            "rival": self._rivals(votes, of, nearest),
        }
        scored = score_on_gpu(of, by_cell, s, scoring, fused)
        return self._allow_for_opinions(parts | scored | of_votes)

    def _allow_for_opinions(self, fields: Arrays) -> Arrays:
        """Return the fields with the errors of second opinions among the standard errors."""
        if self.components.opinions is None:
            return fields
        errors = np.hypot(fields["standard_errors"], self.opinion_errors(fields))
        return fields | {"standard_errors": errors}

    def opinion_errors(self, fields: Mapping[str, Any]) -> Any:
        """Return how far these scores may move with other second opinions, (n,) or 0."""
        opinions = self.components.opinions
        if opinions is None or not opinions.names:
            return 0.0
        c, g, parts = fields["stability"], fields["geometry"], fused_parts(fields)
        return opinion_errors(c, g, parts, len(opinions.names), self.scoring)

    def _of_cells(self, rows: Ints) -> tuple[Stability, Votes]:
        """Return the stability of rows of clusters and the votes on them, many in parts."""

        def of(part: slice) -> tuple[Stability, Votes]:
            return self.stability(rows[part]), self.votes(rows[part])

        # Overlaps of clusters are found anew in each call.
        size = max(1, len(rows)) if self.scoring.agreement in OVERLAPS else _ROWS
        parts = (slice(low, low + size) for low in range(0, max(1, len(rows)), size))
        stabilities, votes = zip(*map_blocks(of, parts, self.scoring.compute.threads), strict=True)
        return _joined(stabilities), _joined(votes)

    def _rivals(self, votes: Votes, of: Ints, nearest: Ints) -> Ints:
        """Return the label with the second most votes, else the nearest other cluster, else -1.

        The nearest is that of the reference run, if it assigns the point.
        """
        second, labels = votes.second[of], votes.labels[of]
        rivals = np.where(second >= 0, second, to_host(nearest[:, self.reference]))
        lost = np.flatnonzero((rivals < 0) & (labels >= 0))
        if lost.size:
            rivals[lost] = self._far_rivals(take_rows(nearest, lost), labels[lost])
        return rivals

    def _far_rivals(self, nearest: Ints, labels: Ints) -> Ints:
        """Return the nearest other cluster in most runs, translated to the reference run; -1: none.

        `nearest` (b, R) are those of points which the reference run does not assign.
        """
        runs = np.full(len(nearest), nearest.shape[1])
        near = count_votes(self.clusters, self.matchings, self.reference, nearest, runs).votes
        return runner_up(near, labels)


def _joined(records: Sequence[Joined]) -> Joined:
    """Put records of arrays together to one."""
    if len(records) == 1:
        return records[0]
    arrays = zip(*(vars(record).values() for record in records), strict=True)
    return type(records[0])(*map(np.concatenate, arrays))


def match_ensemble(ensemble: Ensemble, scoring: Scoring) -> Model:
    """Return a model of labels only, for silhouettes that are known."""
    labels, threads = ensemble.labels, scoring.compute.threads
    cells = meet_on_gpu(labels) if scoring.compute.on_gpu else meet_runs(labels, threads)
    matchings = match_runs(cells, threads)
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
