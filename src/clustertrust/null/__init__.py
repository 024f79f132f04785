"""The same score on data without clusters, for comparison."""

from clustertrust.null.families import DEFAULT, FAMILIES, VERDICT
from clustertrust.null.reference import NullReference, null_reference

__all__ = ["DEFAULT", "FAMILIES", "VERDICT", "NullReference", "null_reference"]
