"""Baseline signals: other ways to separate sure assignments from unsure ones.

Each function takes the data or an ensemble and returns one confidence per point, (n,), higher is
surer. Only their order is comparable from one signal to another. Defaults are the constants that
the paper compares CAKE with.
"""

from clustertrust.baselines.agreement import (
    bootstrap_stability,
    consensus_agreement,
    entropy_agreement,
    subsample_stability,
)
from clustertrust.baselines.density import local_outlier_confidence, outlier_confidence
from clustertrust.baselines.memberships import (
    COVARIANCES,
    SIGNALS,
    fuzzy_confidence,
    fuzzy_memberships,
    gmm_confidence,
    gmm_memberships,
    membership_confidence,
)
from clustertrust.baselines.ranks import random_confidence, rank_average

__all__ = [
    "COVARIANCES",
    "SIGNALS",
    "bootstrap_stability",
    "consensus_agreement",
    "entropy_agreement",
    "fuzzy_confidence",
    "fuzzy_memberships",
    "gmm_confidence",
    "gmm_memberships",
    "local_outlier_confidence",
    "membership_confidence",
    "outlier_confidence",
    "random_confidence",
    "rank_average",
    "subsample_stability",
]
