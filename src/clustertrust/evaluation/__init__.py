"""Labels, scores and the truth → the quality of a labelling, and of scores as error detectors.

Two rules hold throughout. **Missing scores**: points whose score is NaN are left out, and n is the
number of the others. **Ties**: points of equal score count as if in random order, and the result is
the mean over all orders, so the order of the data never matters; `ties="stable"` uses the order of
the data instead, the earlier point as the surer. (`score_quality` and the re-aligned coverage curve
document their own rule.)
"""

from clustertrust.evaluation.coverage import (
    ALIGNMENTS,
    COVERAGES,
    QUALITY_COVERAGES,
    coverage_accuracy_curve,
    score_quality,
)
from clustertrust.evaluation.labelling import (
    AGREEMENTS_WITH_TRUTH,
    accuracy,
    agreement_with_truth,
    correctness,
    subset_silhouette,
)
from clustertrust.evaluation.ranking import (
    POSITIVES,
    TIES,
    accuracy_by_bin,
    auprc,
    aurc,
    auroc,
    error_precision,
    percentile_correlation,
    risk_coverage_curve,
)
from clustertrust.evaluation.records import Curve, Interval, student_interval

__all__ = [
    "AGREEMENTS_WITH_TRUTH",
    "ALIGNMENTS",
    "COVERAGES",
    "POSITIVES",
    "QUALITY_COVERAGES",
    "TIES",
    "Curve",
    "Interval",
    "accuracy",
    "accuracy_by_bin",
    "agreement_with_truth",
    "auprc",
    "aurc",
    "auroc",
    "correctness",
    "coverage_accuracy_curve",
    "error_precision",
    "percentile_correlation",
    "risk_coverage_curve",
    "score_quality",
    "student_interval",
    "subset_silhouette",
]
