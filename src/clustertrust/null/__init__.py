"""The same score where there is no structure: what the mean score, a cluster and a point are
compared with.
"""

from clustertrust.null.reference import NullReference, null_reference
from clustertrust.null.surrogates import FAMILIES, VERDICT

__all__ = ["FAMILIES", "VERDICT", "NullReference", "null_reference"]
