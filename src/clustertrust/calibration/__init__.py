"""Scores and a few labels → probabilities, a threshold with a guarantee, and training sets.

A score ranks assignments; what 0.6 means in shares of right ones only labels can tell.
:class:`Calibrator` turns scores into probabilities, :func:`reliability` says how good these are.
:func:`risk_threshold` finds how many points can be kept with an error that is proven small, from
labels of a random sample, which :func:`suggest` draws. What counts as right is what
:func:`map_clusters` says: which class each cluster stands for. :func:`pseudo_labels` and
:func:`sample_weight` hand clusters to classifiers.
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
