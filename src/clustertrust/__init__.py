"""clustertrust: which of these cluster assignments can I trust?"""

from clustertrust.ensemble import Ensemble, build_ensemble
from clustertrust.estimator import CAKE, confidence
from clustertrust.matching import align_labels
from clustertrust.results import Confidence, Explanation
from clustertrust.selection import select_adaptive, select_top

__version__ = "0.1.0"

__all__ = [
    "CAKE",
    "Confidence",
    "Ensemble",
    "Explanation",
    "align_labels",
    "build_ensemble",
    "confidence",
    "select_adaptive",
    "select_top",
]
