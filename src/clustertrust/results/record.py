"""The record of a scoring: one number, and what lies behind it, for each point."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, Unpack

import numpy as np
import pandas as pd

from clustertrust._notebook import confidence_html
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_mapping
from clustertrust._validation.frames import is_dask
from clustertrust._validation.labels import with_nothing
from clustertrust.columns import COLUMNS, FIELDS, Column
from clustertrust.ensemble.record import Ensemble, plain_names
from clustertrust.notes import noise_text
from clustertrust.reasons import Chance, Cut, cut, margins, reasons
from clustertrust.records import Record
from clustertrust.results.explanation import (
    EXPLAINED,
    OTHER_COMPONENTS,
    STABILITY,
    Explanation,
    weakest,
)
from clustertrust.results.rows import (
    name_of,
    packed_frame,
    position_of,
    stored_frame,
    unpacked_frame,
    unstored_frame,
)
from clustertrust.summary import Tested, quote, summarize

if TYPE_CHECKING:
    from clustertrust.report import PageOptions


@dataclass(frozen=True)
class Confidence(Record):
    """How much each assignment of an ensemble can be trusted. Arrays have one entry per point.

    Attributes
    ----------
    scores : (n,) CAKE score in [0, 1]
    stability : (n,) c, the share of run pairs that agree on the point
    geometry : (n,) S̃, mean minus spread of its silhouette over the runs
    silhouette_mean, silhouette_std : (n,) of its silhouettes over the runs
    standard_errors : (n,) standard error of `scores` over other runs: the jackknife, and an
        allowance for solutions that no run has found yet, and for other second opinions; 0 only
        where stability or geometry is 0 and other runs would rarely raise it
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
    # What data without clusters rarely exceed; in a file, the number.
    chance: Any = field(default=None, repr=False, compare=False)

    def _to_stored(self) -> dict[str, Any]:
        """Return its fields; of a frame the index, in pandas, or else its kind."""
        return super()._to_stored() | {
            "frame": stored_frame(self.frame),
            "label_names": plain_names(self.label_names),
            "chance": None if self.chance is None else self.chance.level,
        }

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
        if k != max(1, len(self.label_names)) or self.agreement not in STABILITY:
            raise ValueError(f"it has votes for {k} of {len(self.label_names)} clusters")
        frame, level = unstored_frame(self.frame, self.scores), self.chance
        if level is None:
            return replace(self, frame=frame)
        if not isinstance(level, int | float) or not 0 <= level <= 1:
            raise ValueError(f"its chance is {level!r:.40}, and no score")
        return replace(self, frame=frame, chance=Chance(known=float(level)))

    def __getstate__(self) -> dict[str, Any]:
        """Return its fields, with the names of rows as an array: skops stores no pandas index."""
        return vars(self) | {"frame": packed_frame(self.frame)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields, and make a frame of the names of rows."""
        vars(self).update(state | {"frame": unpacked_frame(state["frame"])})

    def __repr__(self) -> str:
        """Return one line: the arrays would fill a screen."""
        size = f"{len(self.scores)} points, {self.n_clusters} clusters, {self.n_runs} runs"
        return (
            f"<Confidence: {size}, {self.geometry_method} silhouettes; scores, labels, to_frame(), "
            "summary(), …>"
        )

    def compute(self, rows: slice = slice(None)) -> Self:
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
            not exceed, which is computed when it is first needed; nothing is kept if barely more
            rows than these do, and no cluster stands out. Half of the median score for given labels
            and for points without coordinates.

        Returns
        -------
        Cut
            Its `threshold`; the `rule` that it comes from, "given", "chance" or "median"; `chance`,
            what data without clusters rarely exceed, and the `share` of rows above it; and the
            `verdict` in words. The last three are None where chance is not known. `clusters` are
            those of ten rows and more that mostly score above chance.
        """
        level = None if self.chance is None else self.chance.level
        scores, labels = self.scores, self.labels
        if is_dask(scores):
            # Both in one pass
            scores, labels = importlib.import_module("dask").compute(scores, labels)
        return cut(scores, threshold, level, labels)

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
        data without clusters rarely exceed, see :meth:`cut`. No other column depends on it.
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
        """Return what a page shows before the scores; only an audit has some."""
        return {}

    def _page_settings(self) -> dict[str, Any]:
        """Return what a page lists of how the scores were made, by name."""
        noise = self.ensemble.noise
        lost = np.setdiff1d(np.arange(len(self.label_names)), self.labels)
        settings = {"taken as noise": noise_text(noise)} if noise else {}
        if lost.size:
            settings["clusters without a point"] = ", ".join(map(str, self._named(lost)))
        return settings | {
            "runs": self.n_runs,
            "silhouettes": self.geometry_method,
            "reference run": self.reference_run,
            "agreement": self.agreement,
        }

    def report(
        self,
        path: str | Path,
        X: Any = None,
        *,
        tests: Iterable[Tested] = (),
        **options: Unpack[PageOptions],
    ) -> None:
        """Write an HTML page to explore the scores.

        Without `X` and `embedding` the scatter shows stability and geometry.

        Parameters
        ----------
        path : path of the file
        X : (n, d) array, CSR matrix or frame, optional
            What to draw and to show of each point.
        tests : results of `null_reference` and `choose_k`
            For the same data: the page quotes their verdicts, and says where they disagree.
        **options
            `title`, `threshold`, `settings`, `embedding`, `original` and others, see
            :func:`clustertrust.report.write_report`.
        """
        # Here, so that scoring never loads the page.
        from clustertrust.report import write_report

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
        if tests:
            options["quoted"] = quote(at, tests, len(whole.scores), whole.n_clusters)
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
        rows = self.row_names()
        i, by_name = position_of(point, rows)
        at = self._at(threshold)
        one = self.compute(slice(i, i + 1))
        row = {
            name: np.asarray(values).tolist()[0]
            for name, values in one.to_columns(at.threshold).items()
            if name in EXPLAINED
        }
        for name in row:
            if COLUMNS[name].kind == "cluster" and getattr(one, COLUMNS[name].field)[0] < 0:
                row[name] = None
        names = self._named(np.arange(len(self.label_names))).tolist()
        by_votes = np.argsort(-one.votes[0], kind="stable")
        # The label first, also in a tie.
        order = sorted(by_votes.tolist(), key=lambda label: label != one.labels[0])
        parts = ("stability", "geometry", *OTHER_COMPONENTS)
        return Explanation(
            point=i,
            **row,
            votes={names[k]: float(one.votes[0, k]) for k in order if one.votes[0, k] > 0},
            threshold=at.threshold,
            origin=at.origin,
            weak=weakest(row["reason"], {name: row[name] for name in parts if name in row}),
            agreement=self.agreement,
            name=name_of(i, rows),
            n_runs=self.n_runs,
            assigned=self._runs_that_assign(i),
            unassigned=self.unassigned,
            by_name=by_name,
        )
