"""The results of scoring: the record, its table, and the explanation of one point in words."""

from clustertrust.results.explanation import Explanation
from clustertrust.results.record import Confidence
from clustertrust.results.rows import frame_of

__all__ = ["Confidence", "Explanation", "frame_of"]
