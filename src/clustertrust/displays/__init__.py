"""Plots, in scikit-learn's Display form: one class per figure.

``from_estimator(cake, …)`` and ``from_confidence(confidence, …)`` compute and draw; the display
keeps the numbers as attributes and the artists as attributes with a trailing underscore, and
``plot(ax)`` draws it again elsewhere. What `choose_k` and `calibration.reliability` return has
displays too: ``KProfileDisplay.from_profile(profile)``,
``ReliabilityDisplay.from_reliability(record)``. Drawing needs matplotlib: ``pip install
"clustertrust[plot]"``.
"""

from clustertrust.displays.alignment import AlignmentDisplay
from clustertrust.displays.clusters import ScoreBarsDisplay, ScoreDistributionDisplay
from clustertrust.displays.components import StabilityGeometryDisplay
from clustertrust.displays.convergence import ConvergenceDisplay
from clustertrust.displays.k_profile import KProfileDisplay
from clustertrust.displays.reliability import ReliabilityDisplay
from clustertrust.displays.scatter import ScoreScatterDisplay
from clustertrust.displays.shared import score_colors
from clustertrust.displays.truth import CoverageAccuracyDisplay, DecileDisplay, RiskCoverageDisplay

__all__ = [
    "AlignmentDisplay",
    "ConvergenceDisplay",
    "CoverageAccuracyDisplay",
    "DecileDisplay",
    "KProfileDisplay",
    "ReliabilityDisplay",
    "RiskCoverageDisplay",
    "ScoreBarsDisplay",
    "ScoreDistributionDisplay",
    "ScoreScatterDisplay",
    "StabilityGeometryDisplay",
    "score_colors",
]
