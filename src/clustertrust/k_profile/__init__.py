"""Signals and scores over a range of k, compared with data without clusters."""

from clustertrust.k_profile.null_test import NullTest
from clustertrust.k_profile.one_k import QUANTILES
from clustertrust.k_profile.profile import choose_k
from clustertrust.k_profile.record import KProfile
from clustertrust.k_profile.signals import Signal

__all__ = ["QUANTILES", "KProfile", "NullTest", "Signal", "choose_k"]
