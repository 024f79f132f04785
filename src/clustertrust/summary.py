"""A Confidence record → a short text for a person: quantiles, a table by cluster, the most ambiguous points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clustertrust.results import Confidence

__all__ = ["ambiguous_points", "by_cluster", "lay_out", "quantiles", "summarize"]


def quantiles(confidence: Confidence) -> pd.Series:
    """Minimum, quartiles and maximum of the scores; NaN left out."""
    at = {"minimum": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "maximum": 1.0}
    scores = confidence.scores[~np.isnan(confidence.scores)]
    values = np.quantile(scores, list(at.values())) if scores.size else [np.nan] * len(at)
    return pd.Series(values, index=list(at), name="score")


def by_cluster(confidence: Confidence, *, threshold: float = 0.5) -> pd.DataFrame:
    """One row a consensus cluster: size, mean score, and the share of its points below `threshold`."""
    table = pd.DataFrame(confidence.to_columns())
    groups = table.groupby("label", sort=True, dropna=False)
    return pd.DataFrame(
        {
            "points": groups.size(),
            "mean score": groups["score"].mean(),
            "mean stability": groups["stability"].mean(),
            "mean geometry": groups["geometry"].mean(),
            f"below {threshold:g}": groups["score"].apply(lambda score: float((score < threshold).mean())),
        }
    )


def ambiguous_points(confidence: Confidence, *, points: int = 5) -> pd.DataFrame:
    """The points with the lowest scores, the least sure first; equal scores by how little the runs agree."""
    table = pd.DataFrame(confidence.to_columns())
    table.index = confidence.row_names()
    worst = table.dropna(subset="score").sort_values(["score", "stability"], kind="stable").head(points)
    return worst[["label", "rival", "score", "stability", "geometry", "consensus_strength"]]


def summarize(confidence: Confidence, *, threshold: float = 0.5, points: int = 5) -> str:
    """Quantiles of the scores, a table by cluster and the most ambiguous points, as text."""
    confidence = confidence.compute()
    n, k = len(confidence.scores), len(confidence.label_names)
    return lay_out(
        f"{n} points, {k} clusters, {_runs(confidence)}, {confidence.geometry_method} silhouettes",
        quantiles(confidence),
        by_cluster(confidence, threshold=threshold),
        ambiguous_points(confidence, points=points),
    )


def _runs(confidence: Confidence) -> str:
    """How many runs there are, and of how many clusters where they differ."""
    k = confidence.ensemble.n_clusters
    differ = f" of {k.min()} to {k.max()} clusters" if k.min() < k.max() else ""
    return f"{confidence.n_runs} runs{differ}"


def lay_out(headline: str, scores: pd.Series, clusters: pd.DataFrame, ambiguous: pd.DataFrame) -> str:
    """The text of a summary."""

    def text(table: Any) -> str:
        return str(table.to_string(float_format=lambda value: f"{value:.3f}"))

    return "\n\n".join(
        [
            headline,
            f"Scores (0: ambiguous, 1: sure)\n{text(scores.to_frame().T)}",
            f"By cluster\n{text(clusters)}",
            f"Most ambiguous points\n{text(ambiguous)}",
        ]
    )
