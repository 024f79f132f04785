"""Scores by cluster: their distribution, and one bar per point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import MOST, check_count
from clustertrust.displays.base import ConfidenceDisplay
from clustertrust.displays.shared import (
    ALL_COLOR,
    CLUSTER_COLORS,
    LOW_COLOR,
    MISSING_COLOR,
    RASTER_POINTS,
    keep_apart,
    letter_size,
    missing_note,
    scale_top,
    scored_groups,
    without_nan,
)
from clustertrust.results import Confidence

# Of a cluster: more than a screen has lines
_MOST_BARS = 2_000
# Height of the tallest bar; the next row begins at 1
_ROW = 0.85


@dataclass(kw_only=True, eq=False, repr=False)
class ScoreDistributionDisplay(ConfidenceDisplay):
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

    edges: Floats
    counts: Ints
    medians: Floats
    row_names: list[str]
    colors: list[str]
    missing: str = ""

    @classmethod
    def _compute(cls, confidence: Confidence, *, n_bins: int = 25) -> Self:
        """Draw the scores of a fitted CAKE or a record in `n_bins` bins."""
        n_bins = check_count("n_bins", n_bins, at_least=1, at_most=MOST)
        scores, groups = scored_groups(confidence)
        rows = [scores, *(scores[group.members] for group in groups)]
        names = ["all", *(group.name for group in groups)]
        edges = np.linspace(0.0, scale_top(scores), n_bins + 1)
        of_groups = (CLUSTER_COLORS[0] if group.assigned else MISSING_COLOR for group in groups)
        return cls(
            edges=edges,
            counts=np.array([np.histogram(row, edges)[0] for row in rows]),
            medians=np.array([np.median(without_nan(row)) for row in rows]),
            row_names=[f"{name} ({row.size:,})" for name, row in zip(names, rows, strict=True)],
            colors=[ALL_COLOR, *of_groups],
            missing=missing_note(confidence.scores),
        )

    def _figsize(self) -> tuple[float, float]:
        return 6.4, 1.4 + max(0.27 * len(self.row_names), 2.4)

    def _draw(self) -> None:
        ax, n_rows = self.ax_, len(self.row_names)
        base = np.arange(n_rows, dtype=np.float64)
        # The axis points down, so that rows read from the top and bars rise towards smaller
        # numbers.
        tops = base[:, None] - _ROW * self.counts / np.maximum(self.counts.max(axis=1), 1)[:, None]
        self.rows_ = [
            ax.stairs(top, self.edges, baseline=b, fill=True, color=color)
            for top, b, color in zip(tops, base, self.colors, strict=True)
        ]
        ax.hlines(base, 0, self.edges[-1], color="0.5", alpha=0.4, linewidth=0.6, zorder=0)
        self.medians_ = ax.vlines(self.medians, base - _ROW, base, color=LOW_COLOR, linewidth=2)
        # All points above, clusters below
        ax.axhline(0.12, color="0.5", linewidth=0.8)
        ax.set_yticks(base - 0.3, self.row_names)
        ax.tick_params(axis="y", length=0)
        ax.set(xlim=(0, self.edges[-1]), ylim=(n_rows - 0.75, -1.05))
        ax.set(xlabel="score", ylabel="cluster (points)")
        ax.set_title(f"Scores of all points (median {self.medians[0]:.2f}) and by cluster")
        self._add_notes("line: median; each row is scaled to its own tallest bar")


def thinned(scores: Floats) -> tuple[Floats, Floats]:
    """Return values and edges of bars for sorted scores: one per point, or 2,000, each of a few."""
    bars = min(scores.size, _MOST_BARS)
    edges = np.linspace(0, scores.size, bars + 1).round()
    return scores[((edges[:-1] + edges[1:]) / 2).astype(np.int64)], edges


@dataclass(kw_only=True, eq=False, repr=False)
class ScoreBarsDisplay(ConfidenceDisplay):
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
    bars_ : artist of each cluster; `get_data()` has the scores and their edges. In clusters of more
        than 2,000 points a bar stands for several points, and the figure says so
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

    scores: list[Floats]
    names: list[str]
    colors: list[str]
    missing: str = ""

    @classmethod
    def _compute(cls, confidence: Confidence) -> Self:
        """Draw the scores of a fitted CAKE or a record."""
        scores, groups = scored_groups(confidence)
        return cls(
            scores=[np.sort(scores[group.members])[::-1] for group in groups],
            names=[group.name for group in groups],
            colors=[
                CLUSTER_COLORS[i % 2] if group.assigned else MISSING_COLOR
                for i, group in enumerate(groups)
            ],
            missing=missing_note(confidence.scores),
        )

    def _figsize(self) -> tuple[float, float]:
        return 6.4, max(4.8, 1.2 + 0.21 * len(self.names))

    def _draw(self) -> None:
        ax, k = self.ax_, len(self.names)
        sizes = np.array([row.size for row in self.scores], dtype=np.int64)
        n, largest = int(sizes.sum()), int(sizes.max(initial=0))
        gap = min(0.02, 0.2 / max(k, 1)) * n
        height = n + gap * max(k - 1, 0)
        starts = np.cumsum([0.0, *(sizes + gap)])[:k]
        look: dict[str, Any] = {"orientation": "horizontal", "rasterized": n > RASTER_POINTS}
        self.bars_ = []
        for start, row, color in zip(starts, self.scores, self.colors, strict=True):
            values, edges = thinned(row)
            self.bars_.append(ax.stairs(values, start + edges, fill=True, color=color, **look))
        everything = np.concatenate([np.zeros(0), *self.scores])
        mean = float(without_nan(everything).mean())
        self.mean_ = ax.axvline(mean, color=LOW_COLOR, linestyle="--", label=f"mean {mean:.2f}")
        self._write_names(sizes, starts + sizes / 2, height)
        ax.set(xlim=(0, scale_top(everything)), ylim=(height if n else 1, 0))
        ax.set(xlabel="score", title="Score of each point, sorted by cluster")
        ax.legend(loc="lower right", fontsize="small", framealpha=0.9)
        if largest > _MOST_BARS:
            self._add_notes(f"a bar stands for up to {-(-largest // _MOST_BARS)} points")

    def _write_names(self, sizes: Ints, middle: Floats, height: float) -> None:
        """Write names of clusters next to their bars, apart, with lines back to their places."""
        ax, letters = self.ax_, letter_size(len(self.names))
        # Of the axes, in points of print
        tall = 72 * ax.bbox.height / self.figure_.dpi
        places = keep_apart(middle, 1.4 * letters * height / tall, 0.0, height)
        labels = [f"{name} ({size:,})" for name, size in zip(self.names, sizes, strict=True)]
        ax.set_yticks(places, labels)
        ax.tick_params(axis="y", length=0, pad=10, labelsize=letters)
        ax.set_ylabel("cluster (points)")
        beside = ax.get_yaxis_transform()
        line: dict[str, Any] = {"color": "0.5", "linewidth": 0.8, "clip_on": False}
        for ends in zip(places, middle, strict=True):
            ax.plot([-0.02, 0], ends, transform=beside, **line)
