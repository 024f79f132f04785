"""Scores against the truth: risk and accuracy over coverage, accuracy by decile of the score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clustertrust._palette import BLACK, BLUE, ORANGE, PINK
from clustertrust._types import Bools, Floats, Ints
from clustertrust._validation.arguments import check_flag
from clustertrust.displays.base import ConfidenceDisplay
from clustertrust.displays.shared import CLUSTER_COLORS, LOW_COLOR, halo, missing_note, written
from clustertrust.evaluation import (
    COVERAGES,
    Curve,
    accuracy_by_bin,
    aurc,
    correctness,
    coverage_accuracy_curve,
    risk_coverage_curve,
)
from clustertrust.results import Confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Four that differ in lightness as well as in hue, so that they stay apart in grey
CURVE_COLORS = (BLUE, ORANGE, BLACK, PINK)
CURVE_DASHES = ("-", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_CURVE = "clustertrust-curve"
# Bins, up to which accuracies and scores are written next to the bars
_MOST_LABELLED = 12
_COVERAGE = "coverage: share of the points kept, the surest first"


def scores_and_correct(confidence: Confidence, y: Any) -> tuple[Floats, Bools]:
    """Return scores that are numbers, and whether their points, matched among them, are right."""
    scores = confidence.scores
    truth = np.asarray(y)
    if truth.shape != scores.shape:
        raise ValueError(
            f"y has shape {truth.shape}; give the true class of each of the {scores.size} points."
        )
    is_scored = ~np.isnan(scores)
    if not is_scored.any():
        raise ValueError(
            "confidence has no score that is a number; there is nothing to compare with y."
        )
    return scores[is_scored], correctness(confidence.labels[is_scored], truth[is_scored])


class CurveDisplay(ConfidenceDisplay):
    """A curve over the share of points kept, with lines to compare it with."""

    def _draw(self, *, name: str = "CAKE", references: bool = True) -> None:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None: a new figure. Further curves on the same axes take the next colour.
        name : str
            Of the score, for the legend.
        references : bool
            Whether to draw the lines to compare with: a random and the best order, or all points.

        Returns
        -------
        Display
            Itself.
        """
        self._draw_curve(name, check_flag("references", references))

    # Draws the curve, and the lines to compare it with.
    def _draw_curve(self, name: str, references: bool) -> None:
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class RiskCoverageDisplay(CurveDisplay):
    """Share of errors among the surest points, as more of them are kept.

    Use :meth:`from_estimator` or :meth:`from_confidence`; the true classes y are needed. Two lines
    frame the curve: the risk of random scores, and of scores that rank every error last.

    Parameters
    ----------
    curve : Curve
        Coverage and risk, of :func:`clustertrust.evaluation.risk_coverage_curve`.
    ideal : Curve
        The same for the best order there is.
    aurc : float
        Area under the curve.
    missing : str
        Note below the plot about points without a score.

    Attributes
    ----------
    line_ : artist of the curve
    chance_, ideal_ : artists of the lines that frame it, or None
    note_ : the note below the plot, or None
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clustertrust import confidence
    >>> from clustertrust.displays import RiskCoverageDisplay
    >>> record = confidence([[0.0], [0.1], [1.2], [2.0], [2.1]], [list("aaabb"), list("aabbb")])
    >>> ax = Figure().add_subplot()
    >>> display = RiskCoverageDisplay.from_confidence(record, [0, 0, 1, 1, 1], ax=ax)
    >>> display.curve.value.tolist()
    [0.0, 0.0, 0.0, 0.0, 0.2]
    """

    curve: Curve
    ideal: Curve
    aurc: float
    missing: str = ""

    @classmethod
    def _compute(cls, confidence: Confidence, y: Any) -> Self:
        """Compare a fitted CAKE or a record with the classes y.

        The other arguments are those of :meth:`plot`.
        """
        scores, correct = scores_and_correct(confidence, y)
        return cls(
            curve=risk_coverage_curve(scores, correct),
            ideal=risk_coverage_curve(correct.astype(np.float64), correct),
            aurc=aurc(scores, correct),
            missing=missing_note(confidence.scores),
        )

    def _draw_curve(self, name: str, references: bool) -> None:
        ax = self.ax_
        self.line_ = draw_curve(ax, self.curve, f"{written(name)} (area {self.aurc:.3f})")
        self.chance_ = self.ideal_ = None
        if references:
            chance, ideal = self.curve.value[-1], self.ideal
            self.chance_ = ax.axhline(chance, color="0.4", linestyle=":", label="random order")
            look: dict[str, Any] = {"color": "0.4", "linestyle": "--", "zorder": 1}
            (self.ideal_,) = ax.plot(ideal.coverage, ideal.value, label="best order", **look)
        ax.set(xlabel=_COVERAGE, ylabel="risk: share of errors among them", xlim=(0, 1))
        ax.set_title(f"Errors among the points kept: {self.curve.value[-1]:.1%} if all are")
        top = max(0.01, *(np.asarray(line.get_ydata(), dtype=float).max() for line in ax.lines))
        # A risk of 0 stays visible above the axis
        ax.set_ylim(-0.02 * top, 1.05 * top)
        ax.legend(fontsize="small")


@dataclass(kw_only=True, eq=False, repr=False)
class CoverageAccuracyDisplay(CurveDisplay):
    """Accuracy among the surest points, as more of them are kept.

    Use :meth:`from_estimator` or :meth:`from_confidence`; the true classes y are needed.

    Parameters
    ----------
    curve : Curve
        Coverage and accuracy, of :func:`clustertrust.evaluation.coverage_accuracy_curve`.
    accuracy : float
        Of all points that have a score.
    missing : str
        Note below the plot about points without a score.

    Attributes
    ----------
    line_ : artist of the curve
    all_ : artist of the line at the accuracy of all points, or None
    note_ : the note below the plot, or None
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clustertrust import confidence
    >>> from clustertrust.displays import CoverageAccuracyDisplay
    >>> record = confidence([[0.0], [0.1], [1.2], [2.0], [2.1]], [list("aaabb"), list("aabbb")])
    >>> y, ax = [0, 0, 1, 1, 1], Figure().add_subplot()
    >>> display = CoverageAccuracyDisplay.from_confidence(record, y, coverages=[0.8, 1.0], ax=ax)
    >>> display.curve.value.tolist()
    [1.0, 0.8]
    """

    curve: Curve
    accuracy: float
    missing: str = ""

    @classmethod
    def _compute(
        cls,
        confidence: Confidence,
        y: Any,
        *,
        coverages: Any = tuple(COVERAGES),
        alignment: str = "global",
    ) -> Self:
        """Compare a fitted CAKE or a record with the classes y.

        Parameters
        ----------
        cake, confidence : fitted CAKE, or Confidence
        y : (n,) true classes
        coverages : sequence of numbers in (0, 1]
        alignment : {"global", "subset"}
            Match clusters with classes once, or again among the points kept.
        ax, name, references
            As for :meth:`plot`.
        """
        _, correct = scores_and_correct(confidence, y)
        return cls(
            curve=coverage_accuracy_curve(
                confidence.scores, confidence.labels, y, coverages=coverages, alignment=alignment
            ),
            accuracy=float(correct.mean()),
            missing=missing_note(confidence.scores),
        )

    def _draw_curve(self, name: str, references: bool) -> None:
        ax = self.ax_
        self.all_ = draw_accuracy(ax, self.accuracy, "0.4", ":") if references else None
        self.line_ = draw_curve(ax, self.curve, written(name), marker="o")
        ax.set(xlabel=_COVERAGE, ylabel="accuracy among them", xlim=(0, 1.02))
        ax.set_title(f"Accuracy of the points kept: {self.accuracy:.1%} if all are")
        # Around one value matplotlib leaves room on both sides; further curves may still move the
        # lower end
        if ax.get_ylim()[1] > 1.02:
            ax.set_ylim(top=1.02, auto=None)
        ax.legend(fontsize="small")


def draw_curve(ax: Axes, curve: Curve, label: str, marker: str = "") -> Any:
    """Draw one more curve on these axes, in its own colour and dash."""
    drawn = sum(line.get_gid() == _CURVE for line in ax.lines)
    i = drawn % len(CURVE_COLORS)
    look: dict[str, Any] = {"color": CURVE_COLORS[i], "linestyle": CURVE_DASHES[i]}
    look |= {"linewidth": 2, "marker": marker, "label": label, "gid": _CURVE}
    (line,) = ax.plot(curve.coverage, curve.value, **look)
    return line


def draw_accuracy(ax: Axes, accuracy: float, color: str, dash: str) -> Any:
    """Draw the line at the accuracy of all points."""
    return ax.axhline(accuracy, color=color, linestyle=dash, label=f"all points: {accuracy:.3f}")


def highest_by_bin(scores: Floats, n_bins: int) -> Floats:
    """(n_bins,) highest score in each bin of `accuracy_by_bin`, least sure first."""
    return np.array([part[0] for part in np.array_split(np.sort(scores)[::-1], n_bins)])[::-1]


@dataclass(kw_only=True, eq=False, repr=False)
class DecileDisplay(ConfidenceDisplay):
    """Accuracy by decile of the score, or by any other number of bins of equal size.

    Use :meth:`from_estimator` or :meth:`from_confidence`; the true classes y are needed. If the
    score is useful, the bars rise from left to right.

    Parameters
    ----------
    accuracies : (bins,) array
        Accuracy in each bin, least sure first, of :func:`clustertrust.evaluation.accuracy_by_bin`.
    highest : (bins,) array
        Highest score in each bin.
    accuracy : float
        Of all points that have a score.
    missing : str
        Note below the plot about points without a score.

    Attributes
    ----------
    bars_ : artist of the bars
    all_ : artist of the line at the accuracy of all points
    note_ : the note below the plot, or None
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clustertrust import confidence
    >>> from clustertrust.displays import DecileDisplay
    >>> record = confidence([[0.0], [0.1], [1.2], [2.0], [2.1]], [list("aaabb"), list("aabbb")])
    >>> ax = Figure().add_subplot()
    >>> display = DecileDisplay.from_confidence(record, [0, 0, 1, 1, 1], n_bins=5, ax=ax)
    >>> display.accuracies.tolist()
    [0.0, 1.0, 1.0, 1.0, 1.0]
    """

    accuracies: Floats
    highest: Floats
    accuracy: float
    missing: str = ""

    @classmethod
    def _compute(cls, confidence: Confidence, y: Any, *, n_bins: int = 10) -> Self:
        """Compare a fitted CAKE or a record with the classes y in `n_bins` bins."""
        scores, correct = scores_and_correct(confidence, y)
        return cls(
            accuracies=accuracy_by_bin(scores, correct, n_bins=n_bins),
            highest=highest_by_bin(scores, n_bins),
            accuracy=float(correct.mean()),
            missing=missing_note(confidence.scores),
        )

    def _figsize(self) -> tuple[float, float]:
        return 7.2, 4.8

    def _draw(self) -> None:
        ax, n_bins = self.ax_, len(self.accuracies)
        bins = np.arange(1, n_bins + 1)
        self.bars_ = ax.bar(bins, self.accuracies, color=CLUSTER_COLORS[0], width=0.85)
        self.all_ = draw_accuracy(ax, self.accuracy, LOW_COLOR, "--")
        xlabel = f"{'decile' if n_bins == 10 else 'bin'} of the score, the least sure points first"
        if n_bins <= _MOST_LABELLED:
            xlabel += ", and its highest score"
            self._label_bars(bins)
        # Room for the legend above the bars
        ax.set(ylim=(0, 1.2), yticks=np.arange(6) / 5)
        ax.set(xlabel=xlabel, ylabel="accuracy", title=self._title())
        ax.legend(loc="upper left", fontsize="small")

    def _title(self) -> str:
        low, high = self.accuracies[[0, -1]]
        return f"Accuracy by score: {low:.0%} where it is lowest, {high:.0%} where highest"

    def _label_bars(self, bins: Ints) -> None:
        """Write the accuracy above each bar, and the highest score of its bin below."""
        # Legible also where the line at the accuracy of all points crosses them
        texts = [f"{accuracy:.2f}" for accuracy in self.accuracies]
        self.ax_.bar_label(
            self.bars_, texts, size="small", padding=2, path_effects=halo(self.ax_, 3.0)
        )
        ticks = [f"{i}\n≤ {highest:.2f}" for i, highest in zip(bins, self.highest, strict=True)]
        self.ax_.set_xticks(bins, ticks)
