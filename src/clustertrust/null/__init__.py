"""The same score on data without clusters, for comparison."""

from clustertrust.null.reference import NullReference, null_reference
from clustertrust.null.surrogates import FAMILIES, VERDICT

__all__ = ["FAMILIES", "VERDICT", "NullReference", "null_reference"]
