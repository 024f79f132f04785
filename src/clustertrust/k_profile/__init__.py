"""Scores over a range of k: how many clusters the data bear, beside what data without clusters
would give.
"""

from clustertrust.k_profile.one_k import QUANTILES
from clustertrust.k_profile.profile import KProfile, choose_k

__all__ = ["QUANTILES", "KProfile", "choose_k"]
