"""A Reliability record as a picture: what happened where a probability was foretold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clustertrust._types import Floats
from clustertrust.calibration import Calibrator, Reliability, reliability
from clustertrust.displays.shared import MISSING_COLOR, Display, require_matplotlib

__all__ = ["ReliabilityDisplay"]


class ReliabilityDisplay(Display):
    """Share of right assignments over the probability foretold, one point per bin, beside the
    diagonal of a perfect one.

    Parameters
    ----------
    predicted, observed, low, high : (b,) numbers of the bins, see
        :class:`clustertrust.calibration.Reliability`
    counts : (b,) points in each
    brier_score, expected_calibration_error : float
    name : str, what the legend calls it

    Attributes
    ----------
    points_ : the bins with their intervals
    diagonal_ : the line of a perfect calibration
    ax_, figure_ : where it was drawn

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clustertrust.displays import ReliabilityDisplay
    >>> p, right, ax = [0.2, 0.2, 0.8, 0.8], [False, False, True, True], Figure().add_subplot()
    >>> ReliabilityDisplay.from_predictions(p, right, n_bins=2, ax=ax).observed.tolist()
    [0.0, 1.0]
    """

    def __init__(
        self,
        *,
        predicted: Floats,
        observed: Floats,
        low: Floats,
        high: Floats,
        counts: NDArray,
        brier_score: float,
        expected_calibration_error: float,
        name: str = "",
    ) -> None:
        self.predicted, self.observed = predicted, observed
        self.low, self.high, self.counts = low, high, counts
        self.brier_score, self.expected_calibration_error = brier_score, expected_calibration_error
        self.name = name

    @classmethod
    def from_reliability(
        cls, record: Reliability, *, name: str = "", ax: Any = None
    ) -> ReliabilityDisplay:
        """Draw what `reliability` found."""
        if not isinstance(record, Reliability):
            raise TypeError(
                f"record={record!r} must be what clustertrust.calibration.reliability returns."
            )
        return cls(**vars(record), name=name).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        probability: Any,
        correct: Any,
        *,
        n_bins: int = 10,
        strategy: str = "quantile",
        name: str = "",
        ax: Any = None,
    ) -> ReliabilityDisplay:
        """Draw probabilities against what is right.

        Arguments of :func:`clustertrust.calibration.reliability`.
        """
        return cls.from_reliability(
            reliability(probability, correct, n_bins=n_bins, strategy=strategy), name=name, ax=ax
        )

    @classmethod
    def from_calibrator(
        cls, calibrator: Calibrator, scores: Any, correct: Any, *, n_bins: int = 10, ax: Any = None
    ) -> ReliabilityDisplay:
        """Draw what a fitted calibrator says of points that it was not fitted on."""
        if not isinstance(calibrator, Calibrator):
            raise TypeError(
                f"calibrator={calibrator!r} must be a fitted clustertrust.calibration.Calibrator."
            )
        return cls.from_predictions(
            calibrator.predict(scores), correct, n_bins=n_bins, name=calibrator.method_, ax=ax
        )

    def plot(self, ax: Any = None) -> ReliabilityDisplay:
        """Draw on `ax`, or on a new figure, and return itself."""
        require_matplotlib()
        ax = self._start(ax, (4.6, 4.4))
        (self.diagonal_,) = ax.plot([0, 1], [0, 1], color=MISSING_COLOR, linewidth=1, zorder=0)
        errors = np.abs(np.vstack([self.observed - self.low, self.high - self.observed]))
        measured = f"ECE {self.expected_calibration_error:.3f}, Brier {self.brier_score:.3f}"
        label = f"{self.name}: {measured}" if self.name else measured
        self.points_ = ax.errorbar(
            self.predicted, self.observed, errors, marker="o", capsize=2, label=label
        )
        ax.set(
            xlabel="probability foretold",
            ylabel="share of assignments that are right",
            xlim=(0, 1),
            ylim=(0, 1.02),
        )
        ax.set_aspect("equal")
        ax.legend(loc="lower right", fontsize="small")
        return self
