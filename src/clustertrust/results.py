"""The results of scoring: the record, its table, and the explanation of one point in words."""

from __future__ import annotations

import difflib
import importlib
import operator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Self, Unpack

import numpy as np
import pandas as pd

from clustertrust._notebook import confidence_html
from clustertrust._shares import percents
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation import (
    check_mapping,
    check_same_length,
    is_dask,
    is_frame,
    only_counts,
    with_nothing,
)
from clustertrust.columns import COLUMNS, FIELDS, Column
from clustertrust.ensemble.record import Ensemble, plain_names
from clustertrust.notes import noise_text
from clustertrust.reasons import (
    SENTENCES,
    Chance,
    Cut,
    cut,
    error_text,
    lies_near,
    margins,
    reasons,
)
from clustertrust.records import Record
from clustertrust.report import PageOptions, write_report
from clustertrust.summary import summarize

# What stability is, by agreement; {} is what was counted.
_STABILITY = {
    "element-centric": "points that its clusters in two runs share, of the larger one, on average "
    "over {}",
    "given": "share of {} that agree with the given label",
    "jaccard": "how much its clusters in two runs overlap, on average over {}",
    "matching": "share of {} that put it into the same cluster",
    "reference": "share of {} that put it into the same cluster of the run that agrees most with "
    "all others",
}
# Why votes and stability may count differently.
_PAIRS_ALONE = (
    " Votes compare each run with one reference run, stability compares the runs in pairs, and two "
    "runs do not agree where a cluster has no partner in the other."
)
# Reasons that name a component.
_WEAK = {"stable but isolated": "geometry", "compact but unstable": "stability"}
# Components that no reason names.
_OTHER_COMPONENTS = ("persistence", "second_opinions")


@dataclass(frozen=True)
class Explanation:
    """The explanation of one point's score; `str()` puts it into words.

    Attributes
    ----------
    point : position of the point
    label, score, standard_error, stability, geometry, silhouette_mean, silhouette_std : its values
    votes : share of the runs voting for each label, largest first; labels without votes are omitted
    rival : the label with the second most votes, or, where all votes agree, the nearest other
        cluster of the reference run; None where there is no other cluster
    margin : votes for the label minus votes for the rival
    reason : one of :data:`clustertrust.reasons.REASONS`, at this `threshold`
    threshold : above this a score is kept
    origin : where the threshold comes from, in words; empty if it was given
    weak : "stability", "geometry" or, where it is a part of the score, "persistence": as the reason
        says, else the smallest; None for core and unassigned points
    agreement : what stability averages over pairs of runs: a name of AGREEMENTS;
        "given": the share of runs that agree with a given label
    persistence : its persistence; None where that is no part of the score
    second_opinions : share of the runs of other methods that give it this label, likewise
    second_choice : the label that most of these runs give, likewise
    name : the point's label in the index of the pandas frame; None if that only counts rows
    suggested : the label that is suggested for a point of a given labelling; else None
    suggested_score : share of the votes of runs and classifier for it, likewise
    classifier_margin : probability of the given label by a classifier, less the largest other;
        None where there was no classifier
    n_runs : number of runs
    assigned : number of runs that assign the point; None if that is not known
    unassigned : "skip": only runs that assign the point count; "disagree": all count
    by_name : whether the point was asked for by its label in the index, not by its position
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
    reason: str
    threshold: float
    weak: str | None
    origin: str = ""
    agreement: str = "matching"
    persistence: float | None = None
    second_opinions: float | None = None
    second_choice: Any = None
    name: Any = None
    suggested: Any = None
    suggested_score: float | None = None
    classifier_margin: float | None = None
    n_runs: int = 0
    assigned: int | None = None
    unassigned: str = "skip"
    by_name: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        label = "no cluster" if self.label is None else f"cluster {self.label}"
        scored = not np.isnan(self.score)
        lines = [f"{self._called()}: {label}, {self._scored() if scored else 'no score'}."]
        votes = dict(self.votes)
        left = 1 - sum(votes.values())
        # Their cluster has no partner in the reference run, or they do not have the point.
        if votes and left > 1e-9:
            votes["none"] = left
        each = zip(percents(list(votes.values())), votes, strict=True)
        shares = [f"{share} for {label}" for share, label in each]
        lines.append(f"Votes of {self._runs()}: {', '.join(shares) or 'none'}.")
        if self.suggested not in (None, self.label):
            lines.append(f"Suggested: cluster {self.suggested}{self._sureness()}.")
        elif self.rival is not None:
            kind = "runner-up in the votes" if self.rival in self.votes else "nearest other cluster"
            lines.append(f"Rival: cluster {self.rival}, the {kind}.")
        return "\n".join([*lines, *(self._components() if scored else ()), self._verdict()])

    def _called(self) -> str:
        """Return what the point is called, and whether that is its position or its index label."""
        if self.name is None:
            return f"Point {self.point}"
        if self.by_name:
            return f"Point {self.name} (its label in the index; position {self.point})"
        return f"Point {self.point} (its position; label {self.name} in the index)"

    def _scored(self) -> str:
        """Return the score with its error, and the threshold if it is not kept."""
        error = error_text(self.standard_error)
        kept = self.score > self.threshold
        below = "" if kept else f", not above the threshold of {self.threshold:g}{self.origin}"
        return f"score {self.score:.3f}{error}{below}"

    @property
    def _is_left_out(self) -> bool:
        """Whether some runs do not assign the point."""
        return self.assigned is not None and self.assigned < self.n_runs

    @property
    def _counted(self) -> int:
        """The runs that count."""
        if self.assigned is None or self.unassigned == "disagree":
            return self.n_runs
        return self.assigned

    def _runs(self) -> str:
        """Return the runs that vote, in words."""
        if not self._is_left_out or not self.votes:
            return "the runs"
        if self.unassigned == "skip":
            return f"the {self.assigned} of {self.n_runs} runs that assign it"
        return f"all {self.n_runs} runs, of which {self.assigned} assign it"

    def _stability(self) -> str:
        """Return what stability counts, and why it may differ from the votes."""
        if self.agreement == "given":
            return _STABILITY["given"].format(self._runs()) + "."
        pairs = self._counted * (self._counted - 1) // 2
        which = f"the {pairs} pairs of runs" if pairs > 1 else "the one pair of runs"
        if self._is_left_out:
            skips = self.unassigned == "skip"
            which += " that assign it" if skips else ", those without it included,"
        sentence = _STABILITY[self.agreement].format(which) + "."
        voters = np.array([*self.votes.values()]) * self._counted
        by_votes = float((voters * (voters - 1)).sum() / 2)
        differs = abs(by_votes - self.stability * pairs) > 0.5
        return sentence + (_PAIRS_ALONE if self.agreement == "matching" and differs else "")

    def _components(self) -> list[str]:
        """Return the components of the score, one line each."""
        placed = [
            f"Geometry {self.geometry:.3f}: silhouette {self.silhouette_mean:.3f} on average over "
            f"the runs, less its spread of {self.silhouette_std:.3f}.",
        ]
        if self.agreement == "given":
            own = f"silhouette {self.silhouette_mean:.3f} among the given clusters"
            placed = [f"Geometry {self.geometry:.3f}: {own}."]
        lines = [f"Stability {self.stability:.3f}: {self._stability()}", *placed]
        if self.persistence is not None:
            lines.append(
                f"Persistence {self.persistence:.3f}: share of its posterior that the label keeps "
                "when each cluster may take its own spread."
            )
        if self.classifier_margin is not None:
            lines.append(
                f"Classifier {self.classifier_margin:+.3f}: the probability of the given label "
                "less the largest other."
            )
        if self.second_opinions is not None:
            lines.append(f"Second opinions {self.second_opinions:.3f}: {self._opinions()}")
        return lines

    def _sureness(self) -> str:
        """Return the share of the votes for the suggested label."""
        share = self.suggested_score
        if share is None:
            return ""
        by = "votes" if self.classifier_margin is None else "votes of runs and classifier"
        return f", with {share:.0%} of the {by}"

    def _opinions(self) -> str:
        """Return what the runs of other methods say."""
        share = f"{self.second_opinions:.0%} of the runs of other methods put it there"
        if self.second_choice in (None, self.label):
            return f"{share}."
        return f"{share}; most put it into {self.second_choice}."

    def _between(self) -> str:
        """Return how a boundary arises: by votes that are divided, or by distances alone."""
        name = f"Boundary between {self.label} and {self.rival}"
        ours, theirs = (self.votes.get(cluster, 0.0) for cluster in (self.label, self.rival))
        if lies_near(self.stability, ours):
            votes = "all votes are" if ours == 1 else f"{ours:.0%} of the votes are"
            other = "another cluster" if theirs > 0 else self.rival
            return f"{name}: {votes} for {self.label}, but {other} lies about as near."
        shares = f"{' and '.join(percents([ours, theirs]))} of the votes"
        if theirs == 0:
            shares = f"no run votes for {self.rival}, which lies about as near"
        return f"{name} ({shares}): {SENTENCES['boundary']}"

    def _verdict(self) -> str:
        """Return the reason as a sentence, with the names of the clusters."""
        if self.agreement == "given" and self.label is None:
            return "Unassigned: no score, because the point was given no label."
        if np.isnan(self.score):
            return "Unassigned: no score, because fewer than two runs assign this point."
        if self.label is None:
            return "Unassigned: no cluster, because no run votes on this point."
        name = self.reason.capitalize()
        if self.reason == "core":
            return (
                f"{name} of {self.label}: its score is above the threshold of "
                f"{self.threshold:g}{self.origin}."
            )
        sentence = f"{name}: {SENTENCES[self.reason]}"
        if self.reason == "boundary" and self.rival is not None:
            sentence = self._between()
        if self.suggested not in (None, self.label):
            name = sentence.partition(":")[0]
            sentence = f"{name}: {self.suggested} is suggested instead."
        if self.reason == "stable but isolated" and self.rival is None:
            sentence = (
                f"{name}: the runs agree on it, and there is no other cluster to compare its own "
                "with."
            )
        if self.weak == "persistence":
            sentence += (
                " Persistence is weakest: a cluster of another spread or shape explains it better, "
                "or none does."
            )
        if self.weak == "second_opinions":
            sentence += f" Other methods disagree: {self._opinions()}"
        return sentence


@dataclass(frozen=True)
class Confidence(Record):
    """How much each assignment of an ensemble can be trusted. Arrays have one entry per point.

    Attributes
    ----------
    scores : (n,) CAKE score in [0, 1]
    stability : (n,) c, the share of run pairs that agree on the point
    geometry : (n,) S̃, mean minus spread of its silhouette over the runs
    silhouette_mean, silhouette_std : (n,)
    standard_errors : (n,) standard error of `scores` over other runs: the jackknife, and runs of a
        kind not seen yet; 0 only where the score is 0 and other runs would hardly lift it
    persistence : (n,) share of its posterior that the label keeps when each cluster may take its
        own spread and shape; None if the score does not use it
    second_opinions : (n,) share of the runs of other methods that give the same label, likewise
    second_choice : (n,) the label that most of these runs give, -1: none; likewise
    labels : (n,) consensus label, -1 where no run has a vote
    label_names : (k,) the name of each label in the reference run
    consensus_strength : (n,) share of the runs voting for the label
    votes : (n, k) share of the runs voting for each label
    rival : (n,) label with the second most votes, else the nearest other cluster of the reference
        run; -1: none
    reference_run : the run that gives the consensus its labels
    geometry_method : the geometry used; never `auto`
    ensemble : the runs
    n_runs : their number
    sampling_error : with `geometry="sampled"`, standard error of a silhouette of one run, root mean
        square over points; 0 without sampling
    agreement : what stability averages over pairs of runs: a name of AGREEMENTS;
        "given": the share of runs that agree with a given label
    unassigned : "skip": only runs that assign a point count for it; "disagree": all count
    """

    scores: Annotated[Floats, "f n"]
    stability: Annotated[Floats, "f n"]
    geometry: Annotated[Floats, "f n"]
    silhouette_mean: Annotated[Floats, "f n"]
    silhouette_std: Annotated[Floats, "f n"]
    standard_errors: Annotated[Floats, "f n"]
    labels: Annotated[Ints, "i n"]
    label_names: Annotated[Array, "iufbUM names"]
    consensus_strength: Annotated[Floats, "f n"]
    votes: Annotated[Floats, "f n k"]
    rival: Annotated[Ints, "i n"]
    reference_run: int
    geometry_method: str
    ensemble: Ensemble = field(repr=False)
    n_runs: int
    sampling_error: float = 0.0
    agreement: str = "matching"
    unassigned: str = "skip"
    persistence: Annotated[Floats, "f n"] | None = None
    second_opinions: Annotated[Floats, "f n"] | None = None
    second_choice: Annotated[Ints, "i n"] | None = None
    # An empty frame of the kind that came in, with its index.
    frame: Any = field(default=None, repr=False)
    # What data without clusters hardly reach; in a file, the number.
    chance: Any = field(default=None, repr=False, compare=False)

    def _to_stored(self) -> dict[str, Any]:
        """Return its fields; of a frame the index, in pandas, or else its kind."""
        frame: Any = None if self.frame is None or is_dask(self.frame) else "polars"
        if isinstance(self.frame, pd.DataFrame):
            index = self.frame.index.to_numpy()
            frame = index if index.dtype.kind in "iuf" else index.astype(str)
        names = plain_names(self.label_names)
        level = None if self.chance is None else self.chance.level
        return super()._to_stored() | {"frame": frame, "label_names": names, "chance": level}

    def _from_stored(self) -> Self:
        """Return it with its frame; raise for values that no scoring gives."""
        k, R = self.votes.shape[1], self.ensemble.n_runs
        stored = [column for column in COLUMNS.values() if column.stored]
        ranges = {c.field: (-1, k - 1) if c.kind == "cluster" else c.limits for c in stored}
        ranges |= {"votes": (0, 1), "sampling_error": (0, 1), "reference_run": (0, R - 1)}
        # No R runs give a score in [0, 1] a larger error.
        ranges["standard_errors"] = (0, R)
        for name, (low, high) in ranges.items():
            values = getattr(self, name)
            values = np.nan if values is None else values
            # Rounding may take a share out of its range; NaN is allowed for points without a score.
            if np.any(np.less(values, low - 1e-6) | np.greater(values, high + 1e-6)):
                raise ValueError(f"its {name} are not all between {low} and {high}")
        if k != max(1, len(self.label_names)) or self.agreement not in _STABILITY:
            raise ValueError(f"it has votes for {k} of {len(self.label_names)} clusters")
        frame = self.frame
        if isinstance(frame, np.ndarray):
            check_same_length("frame", frame, "scores", self.scores)
            frame = pd.DataFrame(index=frame)
        elif frame is not None:
            frame = importlib.import_module("polars").DataFrame()
        level = self.chance
        if level is None:
            return replace(self, frame=frame)
        if not isinstance(level, int | float) or not 0 <= level <= 1:
            raise ValueError(f"its chance is {level!r:.40}, and no score")
        return replace(self, frame=frame, chance=Chance(known=float(level)))

    def __getstate__(self) -> dict[str, Any]:
        """Return its fields, with the names of rows as an array: skops stores no pandas index."""
        state = dict(vars(self))
        if isinstance(self.frame, pd.DataFrame):
            index = self.frame.index
            if isinstance(index, pd.RangeIndex):
                state["frame"] = {"rows": [index.start, index.stop, index.step], "name": index.name}
            elif isinstance(index.dtype, np.dtype) and type(index) is pd.Index:
                state["frame"] = {"rows": index.to_numpy(), "name": index.name}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields, and make a frame of the names of rows."""
        frame = state["frame"]
        if isinstance(frame, dict):
            rows, name = frame["rows"], frame["name"]
            index: Any = pd.RangeIndex(*rows) if isinstance(rows, list) else pd.Index(rows)
            index.name = name
            state = state | {"frame": pd.DataFrame(index=index)}
        vars(self).update(state)

    def __repr__(self) -> str:
        """Return one line: the arrays would fill a screen."""
        size = f"{len(self.scores)} points, {self.n_clusters} clusters, {self.n_runs} runs"
        return (
            f"<Confidence: {size}, {self.geometry_method} silhouettes; scores, labels, to_frame(), "
            "summary(), …>"
        )

    def compute(self, rows: slice = slice(None)) -> Confidence:
        """Return the record, or some of its `rows`, with Dask arrays computed together."""
        if not is_dask(self.scores):
            whole = {name: getattr(self, name) for name in FIELDS}
            some: dict[str, Any] = {name: v[rows] for name, v in whole.items() if v is not None}
            return self if rows == slice(None) else replace(self, **some)
        names = [
            f.name for f in fields(self) if f.name != "frame" and is_dask(getattr(self, f.name))
        ]
        computed: dict[str, Any] = {name: getattr(self, name)[rows] for name in names}
        computed = importlib.import_module("dask").compute(computed)[0]
        # Apart: Dask warns of arrays and frames together, and its frames have no positions.
        if is_dask(self.frame):
            computed["frame"] = self.frame.compute() if rows == slice(None) else None
        return replace(self, **computed)

    @property
    def n_clusters(self) -> int:
        """Number of clusters that have a point.

        The consensus may leave a cluster of the reference run without any. Labels in a Dask array
        are not computed for this: all clusters of the reference run count.
        """
        if is_dask(self.labels):
            return len(self.label_names)
        return np.unique(self.labels[self.labels >= 0]).size

    @property
    def margin(self) -> Floats:
        """(n,) votes for the label minus votes for the rival."""
        whole = self.compute()
        return margins(whole.votes, whole.labels, whole.rival)

    def cut(self, threshold: float | None = None) -> Cut:
        """Return where the scores are cut, and whether they show structure.

        Parameters
        ----------
        threshold : float, optional
            Above this a score is kept. None: what 95 % of the points of data without clusters do
            not exceed, which is computed when it is first needed; nothing is kept if hardly more
            than these do. Half of the median score for given labels and for points without
            coordinates.

        Returns
        -------
        Cut
            Its `threshold`; the `rule` that it comes from, "given", "chance" or "median"; `chance`,
            what data without clusters hardly reach, and the `share` of rows above it; and the
            `verdict` in words. The last three are None where chance is not known.
        """
        level = None if self.chance is None else self.chance.level
        return cut(self.scores, threshold, level)

    def _at(self, threshold: float | None) -> Cut:
        """Return where the scores are cut; chance is not computed for a threshold that is given."""
        return self.cut() if threshold is None else cut(self.scores, threshold)

    def reasons(self, threshold: float | None = None) -> pd.Categorical:
        """Return the reason of each point, (n,); see :func:`clustertrust.reasons.reasons`."""
        whole = self.compute()
        threshold = whole._at(threshold).threshold
        names = ("labels", "scores", "stability", "silhouette_mean", "silhouette_std")
        return reasons(*(getattr(whole, name) for name in names), threshold=threshold)

    def to_columns(self, threshold: float | None = None) -> dict[str, Any]:
        """Return the columns of `to_frame`."""
        whole = self.compute()
        columns = {name: whole._column(column, threshold) for name, column in COLUMNS.items()}
        return {name: values for name, values in columns.items() if values is not None}

    def _column(self, column: Column, threshold: float | None) -> Any:
        """Return a column of `to_frame`; None if these results do not have it."""
        if column.kind == "reason":
            return self.reasons(threshold)
        # Some are of a given labelling alone.
        values = getattr(self, column.field, None)
        return self._named(values) if column.kind == "cluster" and values is not None else values

    def to_frame(self, threshold: float | None = None) -> Any:
        """Return a table with one row per point: a pandas or polars frame, as X was, else pandas.

        For a Dask frame it is a pandas frame with the index of `X.compute()`. The column "reason"
        says why a point is kept, or why not if its score is not above `threshold`; None is what
        data without clusters hardly reach, see :meth:`cut`. No other column depends on it.
        """
        if is_dask(self.scores):
            return self.compute().to_frame(threshold)
        columns = self.to_columns(threshold)
        if self.frame is None or isinstance(self.frame, pd.DataFrame):
            return pd.DataFrame(columns, index=self.row_names())
        polars = importlib.import_module("polars")
        names = columns.pop("reason")
        # polars takes text from lists, not from arrays of objects
        frame = polars.DataFrame(
            {name: c.tolist() if c.dtype == object else c for name, c in columns.items()}
        )
        return frame.with_columns(
            reason=polars.Series(names.tolist(), dtype=polars.Enum(names.categories.tolist()))
        )

    def row_names(self) -> pd.Index:
        """Return the index of the pandas frame that X was, else positions."""
        if isinstance(self.frame, pd.DataFrame):
            return self.frame.index
        return pd.RangeIndex(len(self.scores))

    @property
    def null_quantiles(self) -> tuple[float, ...]:
        """Quantiles of the scores of data without clusters, where `cut` drew such data."""
        return () if self.chance is None else tuple(self.chance.quantiles)

    def findings(self) -> dict[str, Any]:
        """Return what a page begins with beside the scores; an audit has some."""
        return {}

    def _page_settings(self) -> dict[str, Any]:
        """Return what a page lists of how the scores were made, by name."""
        noise = self.ensemble.noise
        return ({"taken as noise": noise_text(noise)} if noise else {}) | {
            "runs": self.n_runs,
            "silhouettes": self.geometry_method,
            "reference run": self.reference_run,
            "agreement": self.agreement,
        }

    def report(self, path: str | Path, X: Any = None, **options: Unpack[PageOptions]) -> None:
        """Write an HTML page to explore the scores.

        Without `X` and `embedding` the scatter shows stability and geometry.

        Parameters
        ----------
        path : path of the file
        X : (n, d) array, CSR matrix or frame, optional
            What to draw and to show of each point.
        **options
            `title`, `threshold`, `settings`, `embedding`, `original` and others, see
            :func:`clustertrust.report.write_report`.
        """
        whole = self.compute()
        index, names = whole.row_names(), whole._named(np.arange(len(whole.label_names)))
        at = whole.cut(options.get("threshold"))
        table = pd.DataFrame(whole.to_columns(at.threshold), index=index)
        votes = pd.DataFrame(whole.votes, index=index, columns=names)
        more = check_mapping("settings", options.get("settings"))
        options["settings"] = whole._page_settings() | more
        options["chance"] = options.get("chance", at.chance)
        options.setdefault("null_scores", whole.null_quantiles)
        options.setdefault("findings", whole.findings())
        write_report(path, table, X, votes=votes, **options)

    def _repr_html_(self) -> str | None:
        """Return what a notebook shows; nothing where the scores are not in memory."""
        return None if is_dask(self.scores) else confidence_html(self)

    def summary(self, threshold: float | None = None, points: int = 5) -> str:
        """Return a short text: score quantiles, a table by cluster, reasons, ambiguous points."""
        return summarize(self, threshold=threshold, points=points)

    def _named(self, labels: Ints) -> Array:
        """Replace labels by their names; -1 stays -1 for numbers and is None for other names."""
        return with_nothing(self.label_names)[labels]

    def _name(self, i: int) -> Any:
        """Return a point's name in the index; None if that only counts rows."""
        rows = self.row_names()
        return None if only_counts(rows) else rows[i : i + 1].tolist()[0]

    def _position(self, point: Any) -> tuple[int, bool]:
        """Return the position of a point, and whether the point was given by its index label."""
        n, rows = len(self.scores), self.row_names()
        try:
            i = operator.index(point)
        except TypeError:
            return position_of_name(point, rows), True
        if not only_counts(rows) and _positions(i, rows).size:
            return position_of_name(i, rows), True
        if not -n <= i < n:
            raise IndexError(
                f"point={point} is out of range for {n} points; positions run from 0 to {n - 1}."
            )
        return i % n, False

    def _runs_that_assign(self, i: int) -> int | None:
        """Return the number of runs that assign a point; None if their labels are not here."""
        labels = self.ensemble.labels
        # They are those of a sample, or of other points.
        if len(labels) != len(self.scores):
            return None
        # a given labelling stands before the runs
        return int((np.asarray(labels[i])[-self.n_runs :] >= 0).sum())

    def explain(self, point: Any, threshold: float | None = None) -> Explanation:
        """Explain the score of a point: votes, rival cluster, weak component, reason.

        Parameters
        ----------
        point : int, or label of the index
            If X was a pandas frame whose index has this label, the row of that label; otherwise a
            position, and a negative one counts from the end. The explanation says which it was.
        threshold : float, optional
            Above this a score is kept, and the reason is "core". None: see :meth:`cut`.

        Returns
        -------
        Explanation
            `print` says it in words.
        """
        i, by_name = self._position(point)
        at = self._at(threshold)
        one = self.compute(slice(i, i + 1))
        row = {
            name: np.asarray(values).tolist()[0]
            for name, values in one.to_columns(at.threshold).items()
            if name in _EXPLAINED
        }
        for name in row:
            if COLUMNS[name].kind == "cluster" and getattr(one, COLUMNS[name].field)[0] < 0:
                row[name] = None
        names = self._named(np.arange(len(self.label_names))).tolist()
        by_votes = np.argsort(-one.votes[0], kind="stable")
        # The label first, also in a tie.
        order = sorted(by_votes.tolist(), key=lambda label: label != one.labels[0])
        parts = ("stability", "geometry", *_OTHER_COMPONENTS)
        return Explanation(
            point=i,
            **row,
            votes={names[k]: float(one.votes[0, k]) for k in order if one.votes[0, k] > 0},
            threshold=at.threshold,
            origin=at.origin,
            weak=_weakest(row["reason"], {name: row[name] for name in parts if name in row}),
            agreement=self.agreement,
            name=self._name(i),
            n_runs=self.n_runs,
            assigned=self._runs_that_assign(i),
            unassigned=self.unassigned,
            by_name=by_name,
        )


# Columns of `Confidence.to_frame` that an explanation has too.
_EXPLAINED = {part.name for part in fields(Explanation)} & COLUMNS.keys()


def _weakest(reason: str, components: dict[str, float]) -> str | None:
    """Return the weak component: the one that the reason names, else the smallest."""
    if reason in {"core", "unassigned"}:
        return None
    weakest = min(reversed(components), key=components.__getitem__)
    return weakest if weakest in _OTHER_COMPONENTS else _WEAK.get(reason, weakest)


def position_of_name(name: Any, rows: pd.Index) -> int:
    """Return where the row of this name stands; raise if there is none, or more than one."""
    if only_counts(rows) or isinstance(name, float):
        raise TypeError(
            f"point={name!r} must be an integer, the position of a point"
            + ("; the rows of X have no names." if only_counts(rows) else ", or the name of a row.")
        )
    positions = _positions(name, rows)
    if positions.size == 1:
        return int(positions[0])
    if positions.size > 1:
        raise ValueError(
            f"point={name!r} names {positions.size} rows, at positions {positions[:3].tolist()}"
            f"{' and more' if positions.size > 3 else ''}; "
            + (
                "score X.reset_index(drop=True) to explain rows by their position."
                if isinstance(name, int)
                else "give the position."
            )
        )
    near = difflib.get_close_matches(str(name), [str(row) for row in rows[:100_000]], 1)
    hint = f"did you mean {near[0]!r}?" if near else f"they look like {str(rows[0])!r}."
    raise ValueError(f"point={name!r} is not the name of a row of X; {hint}")


def _positions(name: Any, rows: pd.Index) -> Ints:
    """Return the positions of the rows of this name."""
    try:
        same = [row == name for row in rows] if isinstance(rows, pd.MultiIndex) else rows == name
        return np.flatnonzero(same)
    except (TypeError, ValueError):
        return np.array([], dtype=int)


def frame_of(X: Any) -> Any:
    """Return an empty frame of the same kind and index as X, for `to_frame`."""
    if not is_frame(X):
        return None
    return X[[]] if isinstance(X, pd.DataFrame) else X.clear()
