"""Scores against the truth: risk and accuracy over coverage, accuracy by decile of the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clustertrust._palette import BLACK, BLUE, ORANGE, PINK
from clustertrust._types import Bools, Floats
from clustertrust._validation import check_flag
from clustertrust.displays.shared import (
    CLUSTER_COLORS,
    LOW_COLOR,
    Display,
    check_confidence,
    confidence_of,
    missing_note,
    require_matplotlib,
    written,
)
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


# Four that differ in lightness as well as in hue, so that they stay apart in grey.
CURVE_COLORS = (BLUE, ORANGE, BLACK, PINK)
CURVE_DASHES = ("-", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_CURVE = "clustertrust-curve"
_MOST_LABELLED = 12  # bins, up to which accuracies and scores are written beside the bars


def scores_and_correct(confidence: Confidence, y: Any) -> tuple[Floats, Bools]:
    """Return known scores, and whether each point is right after the best matching of these."""
    confidence = check_confidence(confidence)
    scores = confidence.scores
    truth = np.asarray(y)
    if truth.shape != scores.shape:
        raise ValueError(
            f"y has shape {truth.shape}; give the true class of each of the {scores.size} points."
        )
    there = ~np.isnan(scores)
    if not there.any():
        raise ValueError(
            "confidence has no score that is a number; there is nothing to compare with y."
        )
    return scores[there], correctness(confidence.labels[there], truth[there])


class RiskCoverageDisplay(Display):
    """Share of errors among the surest points, as more of them are kept.

    Use :meth:`from_estimator` or :meth:`from_confidence`; the true classes y are needed. Two lines
    frame the curve: the risk of a score that knows nothing, and of one that puts every error last.

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

    def __init__(self, *, curve: Curve, ideal: Curve, aurc: float, missing: str = "") -> None:
        self.curve = curve
        self.ideal = ideal
        self.aurc = aurc
        self.missing = missing

    @classmethod
    def from_estimator(
        cls,
        cake: Any,
        y: Any,
        *,
        ax: Axes | None = None,
        name: str = "CAKE",
        references: bool = True,
    ) -> RiskCoverageDisplay:
        """Compare a fitted CAKE with the classes y.

        The other arguments are those of :meth:`plot`.
        """
        return cls.from_confidence(confidence_of(cake), y, ax=ax, name=name, references=references)

    @classmethod
    def from_confidence(
        cls,
        confidence: Confidence,
        y: Any,
        *,
        ax: Axes | None = None,
        name: str = "CAKE",
        references: bool = True,
    ) -> RiskCoverageDisplay:
        """Compare a record with the classes y; the other arguments are those of :meth:`plot`."""
        scores, correct = scores_and_correct(confidence, y)
        display = cls(
            curve=risk_coverage_curve(scores, correct),
            ideal=risk_coverage_curve(correct.astype(np.float64), correct),
            aurc=aurc(scores, correct),
            missing=missing_note(confidence.scores),
        )
        return display.plot(ax, name=name, references=references)

    def plot(
        self, ax: Axes | None = None, *, name: str = "CAKE", references: bool = True
    ) -> RiskCoverageDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None: a new figure. Further curves on the same axes take the next colour.
        name : str
            Of the score, for the legend.
        references : bool
            Whether to draw the lines of no knowledge and of the best order.

        Returns
        -------
        RiskCoverageDisplay
            Itself.
        """
        require_matplotlib()
        ax = self._start(ax, (6.4, 4.8))
        self.line_ = draw_curve(ax, self.curve, f"{written(name)} (area {self.aurc:.3f})")
        self.chance_ = self.ideal_ = None
        if check_flag("references", references):
            self.chance_ = ax.axhline(
                self.curve.value[-1], color="0.4", linestyle=":", label="random order"
            )
            (self.ideal_,) = ax.plot(
                self.ideal.coverage,
                self.ideal.value,
                color="0.4",
                linestyle="--",
                label="best order",
                zorder=1,
            )
        ax.set(
            xlabel="coverage: share of the points kept, the surest first",
            ylabel="risk: share of errors among them",
            title="Risk and coverage",
            xlim=(0, 1),
        )
        top = max(0.01, *(np.asarray(line.get_ydata(), dtype=float).max() for line in ax.lines))
        ax.set_ylim(-0.02 * top, 1.05 * top)  # a risk of 0 stays visible above the axis
        ax.legend(fontsize="small")
        self._add_notes(self.missing)
        return self


class CoverageAccuracyDisplay(Display):
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

    def __init__(self, *, curve: Curve, accuracy: float, missing: str = "") -> None:
        self.curve = curve
        self.accuracy = accuracy
        self.missing = missing

    @classmethod
    def from_estimator(
        cls,
        cake: Any,
        y: Any,
        *,
        coverages: Any = tuple(COVERAGES),
        alignment: str = "global",
        ax: Axes | None = None,
        name: str = "CAKE",
        references: bool = True,
    ) -> CoverageAccuracyDisplay:
        """Compare a fitted CAKE with the classes y.

        The arguments are those of :meth:`from_confidence`.
        """
        how: dict[str, Any] = {
            "coverages": coverages,
            "alignment": alignment,
            "name": name,
            "references": references,
        }
        return cls.from_confidence(confidence_of(cake), y, ax=ax, **how)

    @classmethod
    def from_confidence(
        cls,
        confidence: Confidence,
        y: Any,
        *,
        coverages: Any = tuple(COVERAGES),
        alignment: str = "global",
        ax: Axes | None = None,
        name: str = "CAKE",
        references: bool = True,
    ) -> CoverageAccuracyDisplay:
        """Compare a record with the classes y.

        Parameters
        ----------
        confidence : Confidence
        y : (n,) true classes
        coverages : sequence of numbers in (0, 1]
        alignment : {"global", "subset"}
            Match clusters with classes once, or again among the points kept.
        ax, name, references
            As for :meth:`plot`.
        """
        _, correct = scores_and_correct(confidence, y)
        display = cls(
            curve=coverage_accuracy_curve(
                confidence.scores, confidence.labels, y, coverages=coverages, alignment=alignment
            ),
            accuracy=float(correct.mean()),
            missing=missing_note(confidence.scores),
        )
        return display.plot(ax, name=name, references=references)

    def plot(
        self, ax: Axes | None = None, *, name: str = "CAKE", references: bool = True
    ) -> CoverageAccuracyDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None: a new figure. Further curves on the same axes take the next colour.
        name : str
            Of the score, for the legend.
        references : bool
            Whether to draw the line at the accuracy of all points.

        Returns
        -------
        CoverageAccuracyDisplay
            Itself.
        """
        require_matplotlib()
        ax = self._start(ax, (6.4, 4.8))
        self.all_ = None
        if check_flag("references", references):
            self.all_ = ax.axhline(
                self.accuracy, color="0.4", linestyle=":", label=f"all points: {self.accuracy:.3f}"
            )
        self.line_ = draw_curve(ax, self.curve, written(name), marker="o")
        ax.set(
            xlabel="coverage: share of the points kept, the surest first",
            ylabel="accuracy among them",
            title="Coverage and accuracy",
            xlim=(0, 1.02),
        )
        if ax.get_ylim()[1] > 1.02:  # around one value matplotlib leaves room on both sides
            ax.set_ylim(top=1.02, auto=None)  # further curves may still move the lower end
        ax.legend(fontsize="small")
        self._add_notes(self.missing)
        return self


def draw_curve(ax: Axes, curve: Curve, label: str, marker: str = "") -> Any:
    """Draw one more curve on these axes, in its own colour and dash."""
    drawn = sum(line.get_gid() == _CURVE for line in ax.lines)
    (line,) = ax.plot(
        curve.coverage,
        curve.value,
        color=CURVE_COLORS[drawn % len(CURVE_COLORS)],
        linestyle=CURVE_DASHES[drawn % len(CURVE_DASHES)],
        linewidth=2,
        marker=marker,
        label=label,
        gid=_CURVE,
    )
    return line


def highest_by_bin(scores: Floats, n_bins: int) -> Floats:
    """(n_bins,) highest score in each bin of `accuracy_by_bin`, least sure first."""
    return np.array([part[0] for part in np.array_split(np.sort(scores)[::-1], n_bins)])[::-1]


class DecileDisplay(Display):
    """Accuracy by decile of the score, or by any other number of bins of equal size.

    Use :meth:`from_estimator` or :meth:`from_confidence`; the true classes y are needed. A score
    that is worth its name climbs from left to right.

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

    def __init__(
        self, *, accuracies: Floats, highest: Floats, accuracy: float, missing: str = ""
    ) -> None:
        self.accuracies = accuracies
        self.highest = highest
        self.accuracy = accuracy
        self.missing = missing

    @classmethod
    def from_estimator(
        cls, cake: Any, y: Any, *, n_bins: int = 10, ax: Axes | None = None
    ) -> DecileDisplay:
        """Compare a fitted CAKE with the classes y in `n_bins` bins."""
        return cls.from_confidence(confidence_of(cake), y, n_bins=n_bins, ax=ax)

    @classmethod
    def from_confidence(
        cls, confidence: Confidence, y: Any, *, n_bins: int = 10, ax: Axes | None = None
    ) -> DecileDisplay:
        """Compare a record with the classes y in `n_bins` bins."""
        scores, correct = scores_and_correct(confidence, y)
        display = cls(
            accuracies=accuracy_by_bin(scores, correct, n_bins=n_bins),
            highest=highest_by_bin(scores, n_bins),
            accuracy=float(correct.mean()),
            missing=missing_note(confidence.scores),
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> DecileDisplay:
        """Draw on `ax`, or on a new figure, and return itself."""
        require_matplotlib()
        from matplotlib.patheffects import withStroke

        ax = self._start(ax, (7.2, 4.8))
        n_bins = len(self.accuracies)
        at = np.arange(1, n_bins + 1)
        self.bars_ = ax.bar(at, self.accuracies, color=CLUSTER_COLORS[0], width=0.85)
        self.all_ = ax.axhline(
            self.accuracy, color=LOW_COLOR, linestyle="--", label=f"all points: {self.accuracy:.3f}"
        )
        kind, few = "decile" if n_bins == 10 else "bin", n_bins <= _MOST_LABELLED
        if few:
            texts = ax.bar_label(
                self.bars_,
                labels=[f"{value:.2f}" for value in self.accuracies],
                size="small",
                padding=2,
            )
            for (
                text
            ) in texts:  # legible also where the line at the accuracy of all points crosses them
                text.set_path_effects([withStroke(linewidth=3, foreground="white")])
            ax.set_xticks(
                at, [f"{i}\n≤ {highest:.2f}" for i, highest in zip(at, self.highest, strict=True)]
            )
        ax.set(
            xlabel=f"{kind} of the score, the least sure points first"
            + (", and its highest score" if few else ""),
            ylabel="accuracy",
            title="Accuracy by score",
            ylim=(0, 1.2),  # room for the legend above the bars
            yticks=np.arange(6) / 5,
        )
        ax.legend(loc="upper left", fontsize="small")
        self._add_notes(self.missing)
        return self
