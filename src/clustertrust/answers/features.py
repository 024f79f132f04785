"""Columns of a result, and the points themselves → what a model of right and wrong looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from clustertrust._types import Floats, Ints

__all__ = ["Features", "Scales", "features_of", "measure_scales", "split_by_label"]

EDGE = 0.02  # scores are at least this far from 0 and 1 before the logit is taken
# Components of a score beside it: the column, and whether it is a share whose logit is taken.
COMPONENTS = {
    "stability": True,
    "silhouette_mean": False,
    "silhouette_std": False,
    "persistence": True,
    "margin": False,
}


@dataclass(frozen=True)
class Scales:
    """What makes features comparable, measured on all points without their answers.

    Attributes
    ----------
    names : the components in use
    center, spread : (q,) mean and standard deviation of each component
    means : (k, d) mean of each cluster; None if the points are not known
    sizes : (k,) root mean square distance of its points from it
    """

    names: tuple[str, ...]
    center: Floats
    spread: Floats
    means: Floats | None = None
    sizes: Floats | None = None


@dataclass(frozen=True)
class Features:
    """What the model knows of some points.

    Attributes
    ----------
    labels, rivals : (m,) cluster and rival of each point, -1: none
    logits : (m,) logit of the score
    parts : (m, q) standardised components
    places : (m, d) where it lies in its cluster, in units of the cluster's size; without points,
        its components
    """

    labels: Ints
    rivals: Ints
    logits: Floats
    parts: Floats
    places: Floats

    def take(self, at: Any) -> Features:
        """Return some of the points."""
        return Features(
            self.labels[at], self.rivals[at], self.logits[at], self.parts[at], self.places[at]
        )


def split_by_label(labels: Ints) -> list[Ints]:
    """Return the positions of the points of each label, one array per label that there is."""
    order = np.argsort(labels, kind="stable")
    borders = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(order, borders) if len(order) else []


def measure_scales(columns: Mapping[str, Any], X: Floats | None) -> Scales:
    """Measure all points; components that a table lacks are left out."""
    names = tuple(name for name in COMPONENTS if columns.get(name) is not None)
    parts = [_component(columns, name) for name in names]
    center = np.array([np.nanmean(part) if np.isfinite(part).any() else 0.0 for part in parts])
    spread = np.array([np.nanstd(part) if np.isfinite(part).any() else 0.0 for part in parts])
    spread = np.where(spread > 1e-9, spread, 1.0)
    if X is None:
        return Scales(names, center, spread)
    labels = np.asarray(columns["label"])
    k = int(labels.max(initial=-1)) + 1
    means, sizes = np.zeros((k, X.shape[1])), np.ones(k)
    for at in split_by_label(labels):
        label = labels[at[0]]
        if label >= 0:
            means[label] = X[at].mean(axis=0)
            sizes[label] = np.sqrt(((X[at] - means[label]) ** 2).sum(axis=1).mean())
    return Scales(names, center, spread, means, np.where(sizes > 0, sizes, 1.0))


def features_of(columns: Mapping[str, Any], X: Floats | None, scales: Scales, at: Any) -> Features:
    """Return the features of the points at some positions."""
    labels = np.asarray(columns["label"])[at]
    rivals = columns.get("rival")
    parts = np.column_stack([_component(columns, name, at) for name in scales.names] or [labels])
    parts = (parts - scales.center) / scales.spread if scales.names else np.zeros((len(labels), 1))
    parts = np.where(np.isfinite(parts), parts, 0.0)
    if scales.means is None or scales.sizes is None or X is None:
        places = parts / np.sqrt(parts.shape[1])
    else:
        own = np.maximum(labels, 0)
        places = (X[at] - scales.means[own]) / scales.sizes[own][:, None]
    return Features(
        labels=labels,
        rivals=np.full(len(labels), -1) if rivals is None else np.asarray(rivals)[at],
        logits=logit(np.clip(np.asarray(columns["score"], dtype=float)[at], EDGE, 1 - EDGE)),
        parts=parts,
        places=places,
    )


def _component(columns: Mapping[str, Any], name: str, at: Any = slice(None)) -> Floats:
    values = np.asarray(columns[name], dtype=np.float64)[at]
    return logit(np.clip(values, EDGE, 1 - EDGE)) if COMPONENTS[name] else values
