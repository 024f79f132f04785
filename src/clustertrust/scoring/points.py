"""Cells and silhouettes → scores of points, with all that belongs to them, in one pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clustertrust._types import Arrays, Floats, Ints
from clustertrust.consensus import Votes
from clustertrust.distances.dissimilarity import hand_out
from clustertrust.geometry.component import NORMALIZATIONS
from clustertrust.kernels import backend
from clustertrust.kernels.rules import Fusing
from clustertrust.scoring.jackknife import Z, function_of_two, jackknife
from clustertrust.scoring.settings import Scoring
from clustertrust.stability import Stability

# Nearest other clusters (b, R) of points with these labels → their rivals
FindRivals = Callable[[Ints, Ints], Ints]


class PointScores:
    """Scores of n points, which threads fill in block by block.

    Parameters
    ----------
    of : (n,) row of `by_cell` and `votes` that each point belongs to
    by_cell : the stability of those rows, with per-run sums
    votes : the votes on them
    scoring : how c, μ and σ become a score
    parts : (n,) other components that the fusion takes, such as persistence
    reference : the run whose nearest other cluster is the rival where none has votes
    find_rivals : tells the rival where that run has none
    """

    def __init__(
        self,
        of: Ints,
        by_cell: Stability,
        votes: Votes,
        scoring: Scoring,
        parts: tuple[Floats, ...] = (),
        reference: int = 0,
        find_rivals: FindRivals | None = None,
    ) -> None:
        self._of, self._by_cell, self._scoring, self._parts = of, by_cell, scoring, parts
        self._reference, self._find_rivals = reference, find_rivals
        self._of_two = function_of_two(scoring)
        disagree = scoring.unassigned == "disagree"
        is_affine = scoring.normalization == "affine"
        self._fusing = Fusing(self._of_two == "harmonic", is_affine, disagree, len(parts), Z)
        self._extra = np.asarray(sum(parts, start=np.zeros(len(of) if parts else 0)))
        self._cells = (np.stack([by_cell.c, by_cell.runs, votes.strength]), by_cell.sums)
        self._ballots = (np.stack([votes.labels, votes.second]), votes.votes)
        n, k = len(of), votes.votes.shape[1]
        self._out = (np.empty((7, n)), np.empty((n, k)), np.empty((2, n), dtype=np.int64))

    def take(self, points: Any, s: Floats, nearest: Ints) -> None:
        """Score points at these positions by silhouettes and nearest other clusters (b, R)."""
        at = np.arange(points.start, points.stop) if isinstance(points, slice) else points
        near = (s, nearest, self._reference)
        lost = backend().score(
            at,
            self._of,
            self._cells,
            self._ballots,
            near,
            self._extra,
            self._fusing,
            self._out,
        )
        if lost and self._find_rivals is not None:
            labels, rivals = self._out[2]
            which = np.flatnonzero((rivals[at] < 0) & (labels[at] >= 0))
            rivals[at[which]] = self._find_rivals(nearest[which], labels[at[which]])
        if not self._of_two:
            counted = np.nan_to_num(s, nan=0.0) if self._fusing.disagree else s
            more = tuple(part[at, None] for part in self._parts)
            of = self._of[at]
            errors = jackknife(of, self._by_cell, counted, self._scoring, more)
            self.errors[at] = np.hypot(*errors)

    @property
    def errors(self) -> Floats:
        """(n,) the standard errors of the scores."""
        return np.asarray(self._out[0][5])

    def fields(self) -> Arrays:
        """Return the fields of `Confidence`, by name, once all points were taken."""
        (scores, c, g, mean, std, _, strength), votes, (labels, rivals) = self._out
        if not self._of_two:
            g = NORMALIZATIONS[self._scoring.normalization](mean, std)
        return {
            "scores": scores if self._of_two else self._scoring.fusion(c, g, *self._parts),
            "stability": c,
            "geometry": g,
            "silhouette_mean": mean,
            "silhouette_std": std,
            "standard_errors": self.errors,
            "labels": labels,
            "consensus_strength": strength,
            "votes": votes,
            "rival": rivals,
        }


def standard_errors(
    of: Ints,
    stability: Stability,
    s: Floats,
    scoring: Scoring,
    parts: tuple[Floats, ...] = (),
) -> Floats:
    """se² = jackknife² + unseen², see `jackknife` and `unseen_errors`; NaN where R_i < 3.

    Parameters
    ----------
    of : (n,) row of `stability` that each point belongs to
    stability : the stability of those rows, with per-run sums
    s : (n, R) silhouettes, NaN where a run does not count
    scoring : how c, μ and σ become a score, and on how many threads
    parts : (n,) other components that the fusion takes, such as persistence; held fixed, so the
        error is that of c and S̃ only
    """
    m = len(stability.c)
    zeros = np.zeros(m, dtype=np.int64)
    none = Votes(zeros, np.zeros((m, 1)), np.zeros(m), zeros)
    scores = PointScores(of, stability, none, scoring, parts)
    s = np.ascontiguousarray(s, dtype=np.float64)
    hand_out((s, np.zeros(s.shape, dtype=np.int32)), scores.take, scoring.compute.threads)
    return scores.errors
