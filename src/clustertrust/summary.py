"""A Confidence record → a short text for a person: quantiles, clusters, reasons, the most ambiguous points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clustertrust._validation import check_count
from clustertrust.reasons import THRESHOLD, above, check_threshold
from clustertrust.results import Confidence

__all__ = [
    "ambiguous_points",
    "by_cluster",
    "by_reason",
    "clusters_of",
    "lay_out",
    "not_kept",
    "quantiles",
    "runs_of",
    "summarize",
]


# What is told of each ambiguous point, where it is there.
SHOWN = ["label", "rival", "score", "stability", "geometry", "persistence", "margin", "reason"]


def quantiles(confidence: Confidence) -> pd.Series:
    """Minimum, quartiles and maximum of the scores; NaN left out."""
    at = {"minimum": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "maximum": 1.0}
    scores = confidence.scores[~np.isnan(confidence.scores)]
    values = np.quantile(scores, list(at.values())) if scores.size else [np.nan] * len(at)
    return pd.Series(values, index=list(at), name="score")


def not_kept(scores: Any, threshold: float) -> Any:
    """Which points have a score that is not above the threshold; those without a score are neither kept nor counted."""
    return ~above(scores, threshold) & ~np.isnan(np.asarray(scores))


def by_cluster(confidence: Confidence, *, threshold: float = THRESHOLD) -> pd.DataFrame:
    """One row a consensus cluster: size, mean score, and the share of its points with a score up to `threshold`."""
    threshold = check_threshold(threshold)
    table = pd.DataFrame(confidence.to_columns())
    groups = table.groupby("label", sort=True, dropna=False)
    parts = [name for name in ("score", "stability", "geometry", "persistence") if name in table]
    dropped = groups["score"].apply(lambda score: float(not_kept(score, threshold).mean()))
    return pd.DataFrame(
        {"points": groups.size()}
        | {f"mean {name}": groups[name].mean() for name in parts}
        | {f"up to {threshold:g}": dropped}
    )


def by_reason(confidence: Confidence, *, threshold: float = THRESHOLD) -> pd.Series:
    """Points by reason, in the order of :data:`clustertrust.reasons.REASONS`; those that no point has are left out."""
    found = pd.Series(confidence.reasons(threshold)).value_counts(sort=False)
    return found[found > 0].rename("points").rename_axis("reason")


def ambiguous_points(confidence: Confidence, *, threshold: float = THRESHOLD, points: int = 5) -> pd.DataFrame:
    """The points with the lowest scores, the least sure first; equal scores by how little the runs agree."""
    points = check_count("points", points, at_least=0)
    table = pd.DataFrame(confidence.to_columns(threshold))
    table.index = confidence.row_names()
    worst = table.dropna(subset="score").sort_values(["score", "stability"], kind="stable").head(points)
    return worst[[name for name in SHOWN if name in worst]]


def summarize(confidence: Confidence, *, threshold: float = THRESHOLD, points: int = 5) -> str:
    """Quantiles of the scores, a table by cluster, reasons and the most ambiguous points, as text."""
    confidence = confidence.compute()
    n, k = len(confidence.scores), len(confidence.label_names)
    return lay_out(
        f"{n} points, {clusters_of(k)}, {runs_of(confidence)}, {confidence.geometry_method} silhouettes",
        quantiles(confidence),
        by_cluster(confidence, threshold=threshold),
        by_reason(confidence, threshold=threshold),
        ambiguous_points(confidence, threshold=threshold, points=points),
        threshold,
    )


def clusters_of(k: int) -> str:
    """How many clusters there are, in words."""
    return "1 cluster" if k == 1 else f"{k} clusters"


def runs_of(confidence: Confidence) -> str:
    """How many runs there are, and of how many clusters where they differ."""
    k = confidence.ensemble.n_clusters
    differ = f" of {k.min()} to {k.max()} clusters" if k.min() < k.max() else ""
    return f"{confidence.n_runs} runs{differ}"


def lay_out(
    headline: str,
    scores: pd.Series,
    clusters: pd.DataFrame,
    reasons: pd.Series,
    ambiguous: pd.DataFrame,
    threshold: float,
) -> str:
    """The text of a summary."""

    def text(table: Any) -> str:
        return str(table.to_string(float_format=lambda value: f"{value:.3f}"))

    counted = ", ".join(f"{name} {count}" for name, count in reasons.items())
    return "\n\n".join(
        [
            headline,
            f"Scores (0: ambiguous, 1: sure)\n{text(scores.to_frame().T)}",
            f"By cluster\n{text(clusters)}",
            f"By reason (core: a score above {threshold:g})\n{counted}",
            f"Most ambiguous points\n{text(ambiguous)}",
        ]
    )
