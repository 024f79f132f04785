"""The data at one k: mean score, stability and geometry with errors, and the weakest cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from clustertrust._types import Array, Floats, Ints
from clustertrust.geometry.component import NORMALIZATIONS, mean_and_std
from clustertrust.scoring.components import fused_parts
from clustertrust.scoring.model import Model
from clustertrust.scoring.settings import Settings
from clustertrust.stability import pairs
from clustertrust.surrogates.drawn import build_seeded, mean_by_cluster, mean_score

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


def _means_without_each_run(
    model: Model, s: Floats, parts: tuple[Floats, ...]
) -> Iterator[list[float]]:
    """Yield mean score, stability and geometry without run 0, without run 1, ….

    No run is fitted or matched again. Other components are held fixed.
    """
    cells = model.cells
    by_cell, of = model.stability(cells.rows), cells.cell_of
    fuse, normalize = model.scoring.fusion, NORMALIZATIONS[model.scoring.normalization]
    for r in range(s.shape[1]):
        left = pairs(by_cell.runs - by_cell.counted[:, r])
        agreed = by_cell.sums.sum(axis=1) / 2 - by_cell.sums[:, r]
        c = np.divide(agreed, left, out=np.full(len(left), np.nan), where=left > 0)[of]
        g = normalize(*mean_and_std(np.delete(s, r, axis=1)))
        yield [mean_score(values) for values in (fuse(c, g, *parts), c, g)]


def _jackknife(without: Floats) -> Floats:
    """se² = (R - 1)/R Σ_r (θ₋ᵣ - θ̄)² for each column of (R, q); NaN where R < 3."""
    R = len(without)
    if R < 3:
        return np.full(without.shape[1], np.nan)
    return np.asarray(np.sqrt((R - 1) / R * ((without - without.mean(axis=0)) ** 2).sum(axis=0)))


def score_one_k(X: Array, settings: Settings, seeds: Sequence[int]) -> Row:
    """Cluster and score the data with one k."""
    model = build_seeded(X, settings, seeds)
    silhouettes = model.silhouettes()
    fields = model.training_fields(X, silhouettes)
    scored = model.confidence(fields)
    s = model.component(silhouettes[0])[0]
    best = int(np.argmax([mean_score(run) for run in s.T]))
    without = np.array(list(_means_without_each_run(model, s, fused_parts(fields))))
    parts = {"score": scored.scores, "stability": scored.stability, "geometry": scored.geometry}
    columns: dict[str, Any] = {f"mean_{name}": mean_score(part) for name, part in parts.items()}
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
    return Row(columns, s[:, best], scored.stability, model.ensemble.labels[:, best])
