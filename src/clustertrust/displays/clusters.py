"""Scores by cluster: their distribution, and one bar per point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust._validation import MOST, check_count
from clustertrust.displays.shared import (
    ALL_COLOR,
    CLUSTER_COLORS,
    FEW_NAMES,
    LOW_COLOR,
    MISSING_COLOR,
    RASTER_POINTS,
    Display,
    Group,
    check_confidence,
    confidence_of,
    groups_of,
    keep_apart,
    missing_note,
    require_matplotlib,
    scale_top,
)
from clustertrust.results import Confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MOST_BARS = 2_000  # of a cluster: more than a screen has lines
_ROW = 0.85  # height of the tallest bar; the next row begins at 1


def scored_groups(confidence: Confidence) -> tuple[Floats, list[Group]]:
    """Return known scores, and their clusters as positions among these points."""
    there = ~np.isnan(confidence.scores)
    return confidence.scores[there], groups_of(confidence.labels[there], confidence.label_names)


class ScoreDistributionDisplay(Display):
    """Histogram of all scores, and below it one of each cluster.

    Use :meth:`from_estimator` or :meth:`from_confidence`. Each row is as high as its own tallest
    bar; a line marks its median.

    Parameters
    ----------
    edges : (b + 1,) array
        Edges of the bins.
    counts : (rows, b) array
        Points in each bin; the first row is of all points.
    medians : (rows,) array
    row_names : list of str
    colors : list of str, one per row
    missing : str
        Note below the plot about points without a score.

    Attributes
    ----------
    rows_ : artist of each row, the first of all points
    medians_ : artist of the lines at the medians
    note_ : the note below the plot
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clustertrust import confidence
    >>> from clustertrust.displays import ScoreDistributionDisplay
    >>> record = confidence([[0.0], [0.1], [1.2], [2.0], [2.1]], [list("aaabb"), list("aabbb")])
    >>> ax = Figure().add_subplot()
    >>> display = ScoreDistributionDisplay.from_confidence(record, n_bins=5, ax=ax)
    >>> display.row_names, display.counts[0].tolist()
    (['all (5)', 'a (3)', 'b (2)'], [1, 0, 0, 0, 4])
    """

    def __init__(
        self,
        *,
        edges: Floats,
        counts: Ints,
        medians: Floats,
        row_names: list[str],
        colors: list[str],
        missing: str = "",
    ) -> None:
        self.edges = edges
        self.counts = counts
        self.medians = medians
        self.row_names = row_names
        self.colors = colors
        self.missing = missing

    @classmethod
    def from_estimator(
        cls, cake: Any, *, n_bins: int = 25, ax: Axes | None = None
    ) -> ScoreDistributionDisplay:
        """Draw the scores of a fitted CAKE in `n_bins` bins."""
        return cls.from_confidence(confidence_of(cake), n_bins=n_bins, ax=ax)

    @classmethod
    def from_confidence(
        cls, confidence: Confidence, *, n_bins: int = 25, ax: Axes | None = None
    ) -> ScoreDistributionDisplay:
        """Draw the scores of a record in `n_bins` bins."""
        n_bins = check_count("n_bins", n_bins, at_least=1, at_most=MOST)
        confidence = check_confidence(confidence)
        scores, groups = scored_groups(confidence)
        rows = [scores, *(scores[group.members] for group in groups)]
        names = ["all", *(group.name for group in groups)]
        edges = np.linspace(0.0, scale_top(scores), n_bins + 1)
        display = cls(
            edges=edges,
            counts=np.array([np.histogram(row, edges)[0] for row in rows]),
            medians=np.array([np.median(row) if row.size else np.nan for row in rows]),
            row_names=[f"{name} ({row.size:,})" for name, row in zip(names, rows, strict=True)],
            colors=[
                ALL_COLOR,
                *(CLUSTER_COLORS[0] if group.assigned else MISSING_COLOR for group in groups),
            ],
            missing=missing_note(confidence.scores),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> ScoreDistributionDisplay:
        """Draw on `ax`, or on a new figure, and return itself."""
        require_matplotlib()
        R = len(self.row_names)
        ax = self._start(ax, (6.4, 1.4 + max(0.27 * R, 2.4)))
        base = np.arange(R, dtype=np.float64)
        self.rows_ = [
            # The axis points down, so that rows read from the top and bars rise towards smaller
            # numbers.
            ax.stairs(
                b - _ROW * row / max(row.max(), 1), self.edges, baseline=b, fill=True, color=color
            )
            for b, row, color in zip(base, self.counts, self.colors, strict=True)
        ]
        ax.hlines(base, 0, self.edges[-1], color="0.85", linewidth=0.6, zorder=0)
        self.medians_ = ax.vlines(self.medians, base - _ROW, base, color=LOW_COLOR, linewidth=2)
        ax.axhline(0.12, color="0.2", linewidth=0.8)  # all points above, clusters below
        ax.set_yticks(base - 0.3, self.row_names)
        ax.tick_params(axis="y", length=0)
        ax.set(
            xlim=(0, self.edges[-1]),
            ylim=(R - 0.75, -1.05),
            xlabel="score",
            ylabel="cluster (points)",
            title="Scores, of all points and by cluster",
        )
        self._add_notes("line: median; each row is scaled to its own tallest bar", self.missing)
        return self


def thinned(scores: Floats) -> tuple[Floats, Floats]:
    """Return values and edges of bars for sorted scores.

    There is one bar per point, or 2,000 bars, each the middle of a few points.
    """
    bars = min(scores.size, _MOST_BARS)
    edges = np.linspace(0, scores.size, bars + 1).round()
    return scores[((edges[:-1] + edges[1:]) / 2).astype(np.int64)], edges


class ScoreBarsDisplay(Display):
    """One bar per point, sorted by score within each cluster, as in a silhouette plot.

    Use :meth:`from_estimator` or :meth:`from_confidence`. The height of a cluster is its number of
    points.

    Parameters
    ----------
    scores : list of arrays
        Scores of each cluster's points, decreasing, without NaN.
    names : list of str
        Name of each cluster, in the same order.
    colors : list of str
    missing : str
        Note below the plot about points without a score.

    Attributes
    ----------
    bars_ : artist of each cluster; `get_data()` has the scores and their edges. Above 2,000 points
        of a cluster a bar stands for several, and the figure says so
    mean_ : artist of the line at the mean of all scores
    note_ : the note below the plot, or None
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clustertrust import confidence
    >>> from clustertrust.displays import ScoreBarsDisplay
    >>> record = confidence([[0.0], [0.1], [1.2], [2.0], [2.1]], [list("aaabb"), list("aabbb")])
    >>> display = ScoreBarsDisplay.from_confidence(record, ax=Figure().add_subplot())
    >>> display.names, display.scores[0].round(2).tolist()
    (['a', 'b'], [0.82, 0.81, 0.0])
    """

    def __init__(
        self, *, scores: list[Floats], names: list[str], colors: list[str], missing: str = ""
    ) -> None:
        self.scores = scores
        self.names = names
        self.colors = colors
        self.missing = missing

    @classmethod
    def from_estimator(cls, cake: Any, *, ax: Axes | None = None) -> ScoreBarsDisplay:
        """Draw the scores of a fitted CAKE."""
        return cls.from_confidence(confidence_of(cake), ax=ax)

    @classmethod
    def from_confidence(cls, confidence: Confidence, *, ax: Axes | None = None) -> ScoreBarsDisplay:
        """Draw the scores of a record."""
        confidence = check_confidence(confidence)
        scores, groups = scored_groups(confidence)
        display = cls(
            scores=[np.sort(scores[group.members])[::-1] for group in groups],
            names=[group.name for group in groups],
            colors=[
                CLUSTER_COLORS[i % 2] if group.assigned else MISSING_COLOR
                for i, group in enumerate(groups)
            ],
            missing=missing_note(confidence.scores),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> ScoreBarsDisplay:
        """Draw on `ax`, or on a new figure, and return itself."""
        require_matplotlib()
        k = len(self.names)
        ax = self._start(ax, (6.4, max(4.8, 1.2 + 0.21 * k)))
        n = sum(row.size for row in self.scores)
        everything = np.concatenate([np.zeros(0), *self.scores])
        gap = min(0.02, 0.2 / max(k, 1)) * n
        height = n + gap * max(k - 1, 0)
        start = np.cumsum([0.0, *(row.size + gap for row in self.scores)])[:k]
        look: dict[str, Any] = {
            "orientation": "horizontal",
            "fill": True,
            "rasterized": n > RASTER_POINTS,
        }
        self.bars_ = []
        for first, row, color in zip(start, self.scores, self.colors, strict=True):
            values, edges = thinned(row)
            self.bars_.append(ax.stairs(values, first + edges, color=color, **look))
        mean = float(everything.mean()) if n else np.nan
        self.mean_ = ax.axvline(mean, color=LOW_COLOR, linestyle="--", label=f"mean {mean:.2f}")
        middle = np.array(
            [first + row.size / 2 for first, row in zip(start, self.scores, strict=True)]
        )
        self._write_names(middle, height)
        ax.set(
            xlim=(0, scale_top(everything)),
            ylim=(height, 0) if n else (1, 0),
            xlabel="score",
            title="Score of each point, sorted by cluster",
        )
        ax.legend(loc="lower right", fontsize="small", framealpha=0.9)
        largest = max((row.size for row in self.scores), default=0)
        several = (
            f"a bar stands for up to {-(-largest // _MOST_BARS)} points"
            if largest > _MOST_BARS
            else ""
        )
        self._add_notes(several, self.missing)
        return self

    def _write_names(self, middle: Floats, height: float) -> None:
        """Name of each cluster beside its bars.

        Those of small clusters move apart, with a line back to their place.
        """
        letters = 10.0 if len(self.names) <= FEW_NAMES else 8.0
        tall = 72 * self.ax_.bbox.height / self.figure_.dpi  # of the axes, in points of print
        at = keep_apart(middle, 1.4 * letters * height / tall, 0.0, height)
        sizes = [row.size for row in self.scores]
        labels = [f"{name} ({size:,})" for name, size in zip(self.names, sizes, strict=True)]
        self.ax_.set_yticks(at, labels)
        self.ax_.tick_params(axis="y", length=0, pad=10, labelsize=letters)
        self.ax_.set_ylabel("cluster (points)")
        for place, bars in zip(at, middle, strict=True):
            self.ax_.plot(
                [-0.02, 0],
                [place, bars],
                transform=self.ax_.get_yaxis_transform(),
                color="0.5",
                linewidth=0.8,
                clip_on=False,
            )
