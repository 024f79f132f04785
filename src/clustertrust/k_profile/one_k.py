"""The data at one k: mean score, stability and geometry with errors, and the weakest cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clustertrust._parallel import blocks
from clustertrust._types import Array, Floats, Ints
from clustertrust.geometry.component import NORMALIZATIONS
from clustertrust.kernels import backend
from clustertrust.scoring.model import Model, TrainingScores
from clustertrust.stability import pairs
from clustertrust.surrogates.drawn import mean_by_cluster, mean_score

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class Row(NamedTuple):
    """One row of the profile.

    Attributes
    ----------
    columns : its entries in the columns of the profile, by name
    separation : (n,) silhouettes in the run whose mean silhouette is the largest
    agreement : (n,) stability
    partition : (n,) that run
    """

    columns: dict[str, Any]
    separation: Floats
    agreement: Floats
    partition: Ints


def _means_without_each_run(model: Model, scored: TrainingScores) -> Floats:
    """Return the mean score, stability and geometry without run 0, without run 1, …: (R, 3).

    No run is fitted or matched again. Other components are held fixed.
    """
    of, by_cell = model.cells.cell_of, scored.by_cell
    agreed = by_cell.sums.sum(axis=1, keepdims=True) / 2 - by_cell.sums
    left = pairs(by_cell.runs[:, None] - by_cell.counted)
    stability = np.divide(agreed, left, out=np.full(left.shape, np.nan), where=left > 0)
    normalize = NORMALIZATIONS[model.scoring.normalization]
    fuse = model.scoring.fusion
    sums, counts = np.zeros((2, 3, scored.s.shape[1]))
    # The arrays of a block stay in the cache.
    for rows in blocks(len(of), 16 * 8 * scored.s.shape[1], largest=2048):
        c, g = stability[of[rows]], normalize(*backend().moments_without_each(scored.s[rows]))
        parts = (part[rows, None] for part in scored.parts)
        for i, values in enumerate((fuse(c, g, *parts), c, g)):
            total: Any = values.sum(axis=0)
            there: Any = len(values)
            if np.isnan(total).any():
                total, there = np.nansum(values, axis=0), (~np.isnan(values)).sum(axis=0)
            sums[i] += total
            counts[i] += there
    return np.asarray(sums / np.maximum(counts, 1)).T


def _jackknife(without: Floats) -> Floats:
    """se² = (R - 1)/R Σ_r (θ₋ᵣ - θ̄)² for each column of (R, q); NaN where R < 3."""
    R = len(without)
    if R < 3:
        return np.full(without.shape[1], np.nan)
    return np.asarray(np.sqrt((R - 1) / R * ((without - without.mean(axis=0)) ** 2).sum(axis=0)))


def score_one_k(X: Array, model: Model, s: Floats) -> Row:
    """Score the data, clustered with one k; s (n, R) are their silhouettes."""
    scored = model.training_scores(X, s)
    model.warn_of_missing(scored.scores)
    means = scored.s.mean(axis=0)
    if np.isnan(means).any():
        means = np.array([mean_score(run) for run in scored.s.T])
    best = int(means.argmax())
    stability = scored.by_cell.c[model.cells.cell_of]
    parts = {"score": scored.scores, "stability": stability, "geometry": scored.g}
    columns: dict[str, Any] = {f"mean_{name}": mean_score(part) for name, part in parts.items()}
    without = _means_without_each_run(model, scored)
    for name, error in zip(parts, _jackknife(without), strict=True):
        columns[f"{name}_error"] = error
    scores = scored.scores[~np.isnan(scored.scores)]
    columns["quantiles"] = np.full(len(QUANTILES), np.nan)
    columns |= {"weakest_label": -1, "weakest_points": 0, "weakest_score": np.nan}
    if scores.size:
        columns["quantiles"] = np.quantile(scores, QUANTILES)
    by_cluster = mean_by_cluster(scored.scores, scored.labels)
    if np.isfinite(by_cluster).any():
        weakest = int(np.nanargmin(by_cluster))
        columns["weakest_label"] = weakest
        columns["weakest_points"] = int((scored.labels == weakest).sum())
        columns["weakest_score"] = float(by_cluster[weakest])
    return Row(columns, scored.s[:, best], stability, model.ensemble.labels[:, best])
