"""How two runs fit together: their contingency table, clusters in the order in which they match."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from clustertrust._types import Floats, Ints
from clustertrust._validation.labels import check_label_vector, with_nothing
from clustertrust._validation.rows import check_same_length
from clustertrust.cells import meet
from clustertrust.displays.base import ConfidenceDisplay
from clustertrust.displays.shared import LOW_COLOR, by_name, written
from clustertrust.ensemble.record import Ensemble
from clustertrust.matching import best_match, match_runs
from clustertrust.results import Confidence

# Characters below the table; more are slanted
_LONGEST_ROW = 40
# Clusters of a run, up to which the counts are written into the cells
_MOST_COUNTED = 12


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
        agreeing = np.trace(self.counts[: self.matched, : self.matched])
        return float(agreeing / total) if total else np.nan

    @property
    def shares(self) -> Floats:
        """(k, k') counts as shares of the row; 0 in a row without points."""
        sizes = np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        shares: Floats = self.counts / sizes
        return shares


def align(first: Any, second: Any) -> Alignment:
    """Contingency of two labellings of any kind, Eq. (4), rows by name and columns by their
    partners, Eq. (5).

    Clusters without a partner, and partners that share no point, come last.
    """
    a, a_names = check_label_vector("first", first)
    b, b_names = check_label_vector("second", second)
    check_same_length("first", a, "second", b)
    if not (a_names.size and b_names.size):
        empty = "second" if a_names.size else "first"
        raise ValueError(f"{empty} assigns no point; there is no cluster to match.")
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


def run_labels(confidence: Confidence, ensemble: Ensemble, r: int) -> NDArray[Any]:
    """(n,) labels of run r of the ensemble by name, -1 or None where not assigned.

    The clusters of the reference run are called as the consensus calls them, so that they are found
    again in the other displays; those of other runs by the names they were given.
    """
    labels, names = ensemble.labels[:, r], ensemble.label_names[r]
    # Consensus labels number its clusters by first appearance, as codes here do
    if r == confidence.reference_run:
        return with_nothing(confidence.label_names)[check_label_vector("labels", labels)[0]]
    return labels if names is None else with_nothing(names)[labels]


def least_like(ensemble: Ensemble, reference: int) -> int:
    """Return the run that agrees least with the reference."""
    agreement = match_runs(meet(ensemble.labels)).agreement[reference].copy()
    agreement[reference] = np.inf
    return int(np.argmin(agreement))


@dataclass(kw_only=True, eq=False, repr=False)
class AlignmentDisplay(ConfidenceDisplay):
    """How the clusters of two runs correspond, and where they differ.

    Use :meth:`from_estimator`, :meth:`from_confidence` or, for any two labellings,
    :meth:`from_labels`. Clusters are ordered so that matched ones lie on the diagonal. The colour
    is the share of the row's points.

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

    alignment: Alignment
    row_title: str
    column_title: str

    @classmethod
    def _compute(cls, confidence: Confidence, *, runs: tuple[int, int] | None = None) -> Self:
        """Draw two runs of a fitted CAKE or a record.

        `runs` are their numbers; None: the reference run and the run that agrees least with it.
        """
        # Labels may be in a Dask array
        ensemble, reference = confidence.ensemble.compute(), confidence.reference_run
        if runs is None:
            runs = reference, least_like(ensemble, reference)
        runs = check_runs(runs, ensemble)
        titles = [f"run {r} (reference)" if r == reference else f"run {r}" for r in runs]
        alignment = align(*(run_labels(confidence, ensemble, r) for r in runs))
        return cls(alignment=alignment, row_title=titles[0], column_title=titles[1])

    @classmethod
    def from_labels(
        cls,
        first: Any,
        second: Any,
        *,
        row_title: str = "first",
        column_title: str = "second",
        ax: Any = None,
    ) -> Self:
        """Draw any two labellings of the same points.

        Negative and missing labels mean not assigned.
        """
        table = align(first, second)
        return cls(alignment=table, row_title=row_title, column_title=column_title).plot(ax)

    def _figsize(self) -> tuple[float, float]:
        side = max(5.2, 1.8 + 0.24 * max(self.alignment.counts.shape))
        return side + 1.2, side

    def _draw(self) -> None:
        from matplotlib.patches import Rectangle

        ax, table = self.ax_, self.alignment
        self.image_ = ax.imshow(table.shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        label = "share of the row's points"
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label=label)
        is_small = max(table.counts.shape) <= _MOST_COUNTED
        self.texts_ = self._write_counts() if is_small else []
        frame: dict[str, Any] = {"fill": False, "edgecolor": LOW_COLOR, "linewidth": 1.5}
        self.partners_ = [
            ax.add_patch(Rectangle((i - 0.5, i - 0.5), 1, 1, **frame)) for i in range(table.matched)
        ]
        ax.set_yticks(range(len(table.row_names)), table.row_names)
        ax.set_xticks(range(len(table.column_names)), table.column_names)
        longest = max(len(name) for name in table.column_names)
        if longest > 3 and len(table.column_names) * longest > _LONGEST_ROW:
            ax.tick_params(axis="x", labelrotation=45)
            for tick in ax.get_xticklabels():
                tick.set(ha="right", rotation_mode="anchor")
        if not is_small:
            ax.tick_params(labelsize="small")
        ax.set_xlabel(f"cluster of {written(self.column_title)}")
        ax.set_ylabel(f"cluster of {written(self.row_title)}")
        ax.set_title(f"Agreement after matching: {table.agreement:.1%}")
        if table.left_out:
            self._add_notes(f"{table.left_out:,} points are not assigned in both and are left out")

    def _write_counts(self) -> list[Any]:
        """Write the number of points into each cell."""
        shares, texts = self.alignment.shares, []
        for (a, b), count in np.ndenumerate(self.alignment.counts):
            on_white = "black" if count else "0.75"
            color = "white" if shares[a, b] > 0.5 else on_white
            look: dict[str, Any] = {"ha": "center", "va": "center", "size": "small"}
            texts.append(self.ax_.text(b, a, f"{count:,}", color=color, **look))
        return texts


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
