"""A Reliability record as a picture: outcomes against predicted probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.calibration import Calibrator, Reliability, reliability
from clustertrust.displays.base import Display
from clustertrust.displays.shared import MISSING_COLOR


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Share of right assignments over the predicted probability, one point per bin, with the
    diagonal of a perfect calibration.

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

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    counts: Ints
    brier_score: float
    expected_calibration_error: float
    name: str = ""

    @classmethod
    def from_reliability(cls, record: Reliability, *, name: str = "", ax: Any = None) -> Self:
        """Draw what `reliability` returns."""
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
    ) -> Self:
        """Draw probabilities against what is right.

        Arguments of :func:`clustertrust.calibration.reliability`.
        """
        return cls.from_reliability(
            reliability(probability, correct, n_bins=n_bins, strategy=strategy), name=name, ax=ax
        )

    @classmethod
    def from_calibrator(
        cls, calibrator: Calibrator, scores: Any, correct: Any, *, n_bins: int = 10, ax: Any = None
    ) -> Self:
        """Draw what a fitted calibrator says of points that it was not fitted on."""
        if not isinstance(calibrator, Calibrator):
            raise TypeError(
                f"calibrator={calibrator!r} must be a fitted clustertrust.calibration.Calibrator."
            )
        return cls.from_predictions(
            calibrator.predict(scores), correct, n_bins=n_bins, name=calibrator.method_, ax=ax
        )

    def _figsize(self) -> tuple[float, float]:
        return 4.6, 4.4

    def _draw(self) -> None:
        ax = self.ax_
        (self.diagonal_,) = ax.plot([0, 1], [0, 1], color=MISSING_COLOR, linewidth=1, zorder=0)
        errors = np.abs(np.vstack([self.observed - self.low, self.high - self.observed]))
        measured = f"ECE {self.expected_calibration_error:.3f}, Brier {self.brier_score:.3f}"
        label = f"{self.name}: {measured}" if self.name else measured
        self.points_ = ax.errorbar(
            self.predicted, self.observed, errors, marker="o", capsize=2, label=label
        )
        ax.set(xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
        ax.set(xlabel="predicted probability", ylabel="share of assignments that are right")
        ax.legend(loc="lower right", fontsize="small")
