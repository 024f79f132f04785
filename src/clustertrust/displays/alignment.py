"""How two runs fit together: their contingency table, clusters in the order in which they match."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clustertrust._types import Floats, Ints
from clustertrust._validation import check_label_vector, check_same_length, with_nothing
from clustertrust.cells import meet
from clustertrust.displays.shared import (
    LOW_COLOR,
    Display,
    by_name,
    check_confidence,
    confidence_of,
    require_matplotlib,
    written,
)
from clustertrust.ensemble.record import Ensemble
from clustertrust.matching import best_match, match_runs
from clustertrust.results import Confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_LONGEST_ROW = 40  # characters below the table; more are slanted
_MOST_COUNTED = 12  # clusters of a run, up to which the counts are written into the cells


@dataclass(frozen=True)
class Alignment:
    """Two labellings side by side, clusters in the order in which they match.

    Attributes
    ----------
    counts : (k, k') points in cluster a of the first and b of the second; partners are on the
        diagonal
    row_names, column_names : of the clusters
    matched : number of pairs, the first rows and columns
    left_out : points that one or both do not assign
    """

    counts: Ints
    row_names: list[str]
    column_names: list[str]
    matched: int
    left_out: int

    @property
    def agreement(self) -> float:
        """Share of the points assigned in both on which both agree; NaN where there are none."""
        total = self.counts.sum()
        return (
            float(np.trace(self.counts[: self.matched, : self.matched]) / total)
            if total
            else np.nan
        )

    @property
    def shares(self) -> Floats:
        """(k, k') counts as shares of the row; 0 in a row without points."""
        return self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)


def align(first: Any, second: Any) -> Alignment:
    """Contingency of two labellings of any kind, Eq. (4), rows by name and columns by their
    partners, Eq. (5).

    Clusters without a partner, and partners that share no point, come last.
    """
    (a, a_names), (b, b_names) = (
        check_label_vector("first", first),
        check_label_vector("second", second),
    )
    check_same_length("first", a, "second", b)
    if not (a_names.size and b_names.size):
        raise ValueError(
            f"{'second' if a_names.size else 'first'} assigns no point; there is no cluster to "
            "match."
        )
    both = (a >= 0) & (b >= 0)
    counts = np.zeros((len(a_names), len(b_names)), dtype=np.int64)
    np.add.at(counts, (a[both], b[both]), 1)
    partner = best_match(counts)
    partner[counts[np.arange(len(partner)), partner] == 0] = -1
    matched = [row for row in by_name(a_names) if partner[row] >= 0]
    rows = matched + [row for row in by_name(a_names) if partner[row] < 0]
    columns = [int(partner[row]) for row in matched]
    columns += [column for column in by_name(b_names) if column not in columns]
    return Alignment(
        counts=counts[np.ix_(rows, columns)],
        row_names=[written(a_names[row]) for row in rows],
        column_names=[written(b_names[column]) for column in columns],
        matched=len(matched),
        left_out=int((~both).sum()),
    )


def run_labels(confidence: Confidence, r: int) -> NDArray:
    """(n,) labels of run r by name, -1 or None where not assigned.

    The clusters of the reference run are called as the consensus calls them, so that they are found
    again in the other displays; those of other runs by the names they were given.
    """
    labels, names = confidence.ensemble.labels[:, r], confidence.ensemble.label_names[r]
    if (
        r == confidence.reference_run
    ):  # consensus labels number its clusters by first appearance, as codes here do
        return with_nothing(confidence.label_names)[check_label_vector("labels", labels)[0]]
    return labels if names is None else with_nothing(names)[labels]


def least_like(ensemble: Ensemble, reference: int) -> int:
    """Return the run that agrees least with the reference."""
    agreement = match_runs(meet(ensemble.labels)).agreement[reference].copy()
    agreement[reference] = np.inf
    return int(np.argmin(agreement))


class AlignmentDisplay(Display):
    """Which cluster of one run is which cluster of another, and what they do not share.

    Use :meth:`from_estimator`, :meth:`from_confidence` or, for any two labellings,
    :meth:`from_labels`. Clusters stand in the order in which they match, partners on the diagonal.
    The colour is the share of the row's points.

    Parameters
    ----------
    alignment : Alignment
    row_title, column_title : str
        What the two labellings are called.

    Attributes
    ----------
    image_ : artist of the table
    texts_ : the counts in its cells, where there are at most 12 clusters
    partners_ : frames around the cells of matched clusters
    colorbar_ : the scale of shares
    note_ : the note below the plot, or None
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clustertrust.displays import AlignmentDisplay
    >>> ax = Figure().add_subplot()
    >>> display = AlignmentDisplay.from_labels(list("aaabb"), [7, 7, 5, 5, 5], ax=ax)
    >>> display.alignment.column_names, display.alignment.counts.tolist()
    (['7', '5'], [[2, 1], [0, 2]])
    """

    def __init__(self, *, alignment: Alignment, row_title: str, column_title: str) -> None:
        self.alignment = alignment
        self.row_title = row_title
        self.column_title = column_title

    @classmethod
    def from_estimator(
        cls, cake: Any, *, runs: tuple[int, int] | None = None, ax: Axes | None = None
    ) -> AlignmentDisplay:
        """Draw two runs of a fitted CAKE.

        None: its reference run and the run that agrees least with it.
        """
        return cls.from_confidence(confidence_of(cake), runs=runs, ax=ax)

    @classmethod
    def from_confidence(
        cls, confidence: Confidence, *, runs: tuple[int, int] | None = None, ax: Axes | None = None
    ) -> AlignmentDisplay:
        """Draw two runs of a record.

        None: its reference run and the run that agrees least with it.
        """
        confidence = check_confidence(confidence)
        confidence = replace(
            confidence, ensemble=confidence.ensemble.compute()
        )  # labels may be in a Dask array
        ensemble, reference = confidence.ensemble, confidence.reference_run
        first, second = (
            (reference, least_like(ensemble, reference))
            if runs is None
            else check_runs(runs, ensemble)
        )
        titles = [f"run {r} (reference)" if r == reference else f"run {r}" for r in (first, second)]
        alignment = align(run_labels(confidence, first), run_labels(confidence, second))
        return cls(alignment=alignment, row_title=titles[0], column_title=titles[1]).plot(ax)

    @classmethod
    def from_labels(
        cls,
        first: Any,
        second: Any,
        *,
        row_title: str = "first",
        column_title: str = "second",
        ax: Axes | None = None,
    ) -> AlignmentDisplay:
        """Draw any two labellings of the same points.

        Negative and missing labels mean not assigned.
        """
        return cls(
            alignment=align(first, second), row_title=row_title, column_title=column_title
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> AlignmentDisplay:
        """Draw on `ax`, or on a new figure, and return itself."""
        require_matplotlib()
        from matplotlib.patches import Rectangle

        table = self.alignment
        rows, columns = table.counts.shape
        side = max(4.4, 1.8 + 0.24 * max(rows, columns))
        ax = self._start(ax, (side + 1.2, side))
        shares = table.shares
        self.image_ = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        self.colorbar_ = self.figure_.colorbar(
            self.image_, ax=ax, label="share of the row's points"
        )
        self.texts_ = []
        if max(rows, columns) <= _MOST_COUNTED:
            for (a, b), count in np.ndenumerate(table.counts):
                on_white = "black" if count else "0.75"
                color = "white" if shares[a, b] > 0.5 else on_white
                self.texts_.append(
                    ax.text(b, a, f"{count:,}", ha="center", va="center", color=color, size="small")
                )
        self.partners_ = [
            ax.add_patch(
                Rectangle((i - 0.5, i - 0.5), 1, 1, fill=False, edgecolor=LOW_COLOR, linewidth=1.5)
            )
            for i in range(table.matched)
        ]
        ax.set_yticks(range(rows), table.row_names)
        ax.set_xticks(range(columns), table.column_names)
        longest = max(len(name) for name in table.column_names)
        if longest > 3 and columns * longest > _LONGEST_ROW:
            ax.tick_params(axis="x", labelrotation=45)
            for label in ax.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
        if max(rows, columns) > _MOST_COUNTED:
            ax.tick_params(labelsize="small")
        ax.set(
            xlabel=f"cluster of {written(self.column_title)}",
            ylabel=f"cluster of {written(self.row_title)}",
            title=f"Agreement after matching: {table.agreement:.1%}",
        )
        self._add_notes(
            f"{table.left_out:,} points are not assigned in both and are left out"
            if table.left_out
            else ""
        )
        return self


def check_runs(runs: Any, ensemble: Ensemble) -> tuple[int, int]:
    """Return the numbers of two runs."""
    try:
        first, second = (operator.index(r) for r in runs)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"runs={runs!r} must be the numbers of two runs, such as (0, 1)."
        ) from error
    R = ensemble.n_runs
    if not (0 <= first < R and 0 <= second < R):
        raise ValueError(
            f"runs={runs!r} is out of range; there are {R} runs, numbered from 0 to {R - 1}."
        )
    return first, second
