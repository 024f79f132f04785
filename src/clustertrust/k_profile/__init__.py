"""Scores over a range of k, beside those of data without clusters: how many clusters there are."""

from clustertrust.k_profile.one_k import QUANTILES
from clustertrust.k_profile.profile import KProfile, choose_k

__all__ = ["QUANTILES", "KProfile", "choose_k"]
