"""The same score on data without clusters, for comparison."""

from clustertrust.null.reference import NullReference, null_reference
from clustertrust.surrogates.families import DEFAULT, FAMILIES, VERDICT

__all__ = ["DEFAULT", "FAMILIES", "VERDICT", "NullReference", "null_reference"]
