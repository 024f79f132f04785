"""Scores and a few labels → probabilities, a threshold with a guarantee, and training sets.

A score ranks assignments; only labels show what share of the points with score 0.6 is right.
:class:`Calibrator` turns scores into probabilities, :func:`reliability` measures how good these
are. :func:`risk_threshold` finds how many points can be kept with a guaranteed small error, from
labels of a random sample, which :func:`suggest` draws. :func:`map_clusters` defines what is right:
it assigns a class to each cluster. :func:`pseudo_labels` and :func:`sample_weight` prepare clusters
for training classifiers.
"""

from clustertrust.calibration.calibrator import METHODS, Calibrator
from clustertrust.calibration.classes import MAPPINGS, ClusterMap, map_clusters
from clustertrust.calibration.measures import (
    STRATEGIES,
    Reliability,
    brier_score,
    expected_calibration_error,
    reliability,
)
from clustertrust.calibration.sampling import DESIGNS, PURPOSES, Sample, suggest
from clustertrust.calibration.thresholds import RiskThreshold, risk_threshold
from clustertrust.calibration.training import pseudo_labels, sample_weight

__all__ = [
    "DESIGNS",
    "MAPPINGS",
    "METHODS",
    "PURPOSES",
    "STRATEGIES",
    "Calibrator",
    "ClusterMap",
    "Reliability",
    "RiskThreshold",
    "Sample",
    "brier_score",
    "expected_calibration_error",
    "map_clusters",
    "pseudo_labels",
    "reliability",
    "risk_threshold",
    "sample_weight",
    "suggest",
]
