"""What scoring an ensemble gives: the record, its table, and the reasons for one point in words."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._validation import is_frame, with_nothing
from clustertrust.ensemble import Ensemble

__all__ = ["Confidence", "Explanation"]

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]

_WEAK = 0.5  # a component below this is called weak


@dataclass(frozen=True)
class Explanation:
    """Why one point scored as it did; `str()` says it in words.

    Attributes
    ----------
    point : position of the point
    label, score, standard_error, stability, geometry, silhouette_mean, silhouette_std : its values
    votes : share of the runs voting for each label, largest first, labels without a vote left out
    rival : the label with the second most votes, or, where all votes agree, the nearest other cluster of the
        reference run; None where there is no other cluster
    margin : votes for the label less votes for the rival
    weak : "stability", "geometry" or "persistence", whichever is smallest; None where all are at least 0.5
    persistence : its persistence; None where that is no part of the score
    """

    point: int
    label: Any
    score: float
    standard_error: float
    stability: float
    geometry: float
    silhouette_mean: float
    silhouette_std: float
    votes: dict[Any, float]
    rival: Any
    margin: float
    weak: str | None
    persistence: float | None = None

    def __str__(self) -> str:
        error = "" if np.isnan(self.standard_error) else f" ± {self.standard_error:.3f}"
        lines = [f"Point {self.point}: cluster {self.label}, score {self.score:.3f}{error}."]
        shares = ", ".join(f"{share:.0%} for {label}" for label, share in self.votes.items())
        lines.append(f"Votes of the runs: {shares or 'none'}.")
        if self.rival is not None:
            kind = "runner-up in the votes" if self.rival in self.votes else "nearest other cluster"
            lines.append(f"Rival: cluster {self.rival}, the {kind}.")
        lines.append(f"Stability {self.stability:.3f}: share of run pairs that put it into the same cluster.")
        lines.append(
            f"Geometry {self.geometry:.3f}: silhouette {self.silhouette_mean:.3f} on average over the runs, "
            f"less its spread of {self.silhouette_std:.3f}."
        )
        if self.persistence is not None:
            lines.append(
                f"Persistence {self.persistence:.3f}: posterior its label keeps when clusters take their own spread."
            )
        lines.append(self._verdict())
        return "\n".join(lines)

    def _verdict(self) -> str:
        if np.isnan(self.score):
            return "No score: fewer than two runs assign this point."
        if self.label is None:
            return "No cluster: no run has a vote for this point."
        if self.weak is None:
            return "Neither component is weak." if self.persistence is None else "No component is weak."
        unstable = "the runs do not agree on where it belongs"
        nearer = (
            "nearer to another cluster than" if self.silhouette_mean <= 0 else "almost as near to another cluster as"
        )
        if self.weak == "persistence":
            return "Persistence is weak: a cluster of another spread or shape explains it better, or none does."
        if max(self.stability, self.geometry) < _WEAK:
            third = self.persistence
            which = "Both components" if third is None else "All components" if third < _WEAK else "Two components"
            return f"{which} are weak: {unstable}, and it lies {nearer} to its own."
        if self.weak == "stability":
            return f"Stability is weak: {unstable}."
        return f"Geometry is weak: it lies {nearer} to its own."


@dataclass(frozen=True)
class Confidence:
    """How far each assignment of an ensemble can be trusted. Arrays have one entry a point.

    Attributes
    ----------
    scores : (n,) CAKE score in [0, 1]
    stability : (n,) c, the share of run pairs that agree on the point
    geometry : (n,) S̃, mean less spread of its silhouette over the runs
    silhouette_mean, silhouette_std : (n,)
    standard_errors : (n,) jackknife-over-runs standard error of `scores`; 0 is no certainty where the score is 0
    persistence : (n,) share of its posterior that the label keeps when clusters take their own spread and shape; None
        where it is no part of the score
    labels : (n,) consensus label, -1 where no run has a vote
    label_names : (k,) what the reference run calls each label
    consensus_strength : (n,) share of the runs voting for the label
    votes : (n, k) share of the runs voting for each label
    rival : (n,) label with the second most votes, else the nearest other cluster of the reference run; -1: none
    reference_run : the run whose labels the consensus is told in
    geometry_method : the geometry used, also where `auto` was asked for
    ensemble : the runs
    n_runs : their number
    sampling_error : of `geometry="sampled"`, standard error of a silhouette of one run, root mean square over points;
        0 where nothing is sampled
    """

    scores: Floats
    stability: Floats
    geometry: Floats
    silhouette_mean: Floats
    silhouette_std: Floats
    standard_errors: Floats
    labels: Ints
    label_names: NDArray
    consensus_strength: Floats
    votes: Floats
    rival: Ints
    reference_run: int
    geometry_method: str
    ensemble: Ensemble = field(repr=False)
    n_runs: int
    sampling_error: float = 0.0
    persistence: Floats | None = None
    frame: Any = field(default=None, repr=False)  # an empty frame of the kind that came in, with its index

    def to_columns(self) -> dict[str, NDArray]:
        """The columns of `to_frame`."""
        return {
            "label": self._named(self.labels),
            "score": self.scores,
            "standard_error": self.standard_errors,
            "stability": self.stability,
            "geometry": self.geometry,
            **({} if self.persistence is None else {"persistence": self.persistence}),
            "silhouette_mean": self.silhouette_mean,
            "silhouette_std": self.silhouette_std,
            "consensus_strength": self.consensus_strength,
            "rival": self._named(self.rival),
        }

    def to_frame(self) -> Any:
        """One row a point, as the kind of frame that came in (pandas with its index, polars), else pandas."""
        if self.frame is None or isinstance(self.frame, pd.DataFrame):
            return pd.DataFrame(self.to_columns(), index=self.row_names())
        columns = self.to_columns()  # polars takes text from lists, not from arrays of objects
        return type(self.frame)({name: c.tolist() if c.dtype == object else c for name, c in columns.items()})

    def row_names(self) -> pd.Index:
        """The index of the pandas frame that came in, else positions."""
        if isinstance(self.frame, pd.DataFrame):
            return self.frame.index
        return pd.RangeIndex(len(self.scores))

    def report(
        self,
        path: str | Path,
        X: Any = None,
        *,
        settings: Mapping[str, Any] | None = None,
        title: str | None = None,
        threshold: float = 0.5,
        embedding: Any = None,
    ) -> None:
        """Write one HTML page to explore the scores with; :func:`clustertrust.report.write_report` has the parameters.

        Without `X` and `embedding` the scatter shows stability and geometry.
        """
        from clustertrust.report import write_report  # here: scoring does not need it, and it reads this module

        index = self.row_names()
        known = {"runs": self.n_runs, "silhouettes": self.geometry_method, "reference run": self.reference_run}
        write_report(
            path,
            pd.DataFrame(self.to_columns(), index=index),
            X,
            votes=pd.DataFrame(self.votes, index=index, columns=self._named(np.arange(len(self.label_names)))),
            settings=known | dict(settings or {}),
            title=title,
            threshold=threshold,
            embedding=embedding,
        )

    def _named(self, labels: Ints) -> NDArray:
        """Labels in the names of the reference run; -1 stays -1 for numbers and is None for other names."""
        return with_nothing(self.label_names)[labels]

    def explain(self, point: int) -> Explanation:
        """Why the point at this position scored as it did: votes, rival cluster, weak component."""
        n = len(self.scores)
        try:
            i = operator.index(point)
        except TypeError as error:
            raise TypeError(f"point={point!r} must be a whole number, the position of a point.") from error
        if not -n <= i < n:
            raise IndexError(f"point={point} is out of range for {n} points; positions run from 0 to {n - 1}.")
        i %= n
        names = self._named(np.arange(len(self.label_names))).tolist()
        by_votes = np.argsort(-self.votes[i], kind="stable")
        order = sorted(by_votes.tolist(), key=lambda label: label != self.labels[i])  # the label first, also in a tie
        votes = {names[label]: float(self.votes[i, label]) for label in order if self.votes[i, label] > 0}
        label, rival = int(self.labels[i]), int(self.rival[i])
        share = [0.0 if at < 0 else float(self.votes[i, at]) for at in (label, rival)]
        components = {"stability": float(self.stability[i]), "geometry": float(self.geometry[i])}
        if self.persistence is not None:
            components["persistence"] = float(self.persistence[i])
        weakest = min(reversed(components), key=components.__getitem__)  # of equals the last
        return Explanation(
            point=i,
            label=None if label < 0 else names[label],
            score=float(self.scores[i]),
            standard_error=float(self.standard_errors[i]),
            **components,
            silhouette_mean=float(self.silhouette_mean[i]),
            silhouette_std=float(self.silhouette_std[i]),
            votes=votes,
            rival=None if rival < 0 else names[rival],
            margin=share[0] - share[1],
            weak=None if components[weakest] >= _WEAK or np.isnan(self.stability[i]) else weakest,
        )


def frame_of(X: Any) -> Any:
    """What `to_frame` needs to know of the data: its kind of frame and its index, without its columns."""
    if not is_frame(X):
        return None
    return X[[]] if isinstance(X, pd.DataFrame) else X.clear()
