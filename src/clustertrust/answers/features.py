"""Columns of a result, and the points themselves → what a model of right and wrong looks at."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Self

import numpy as np
from scipy.special import logit

from clustertrust._types import Floats, Ints
from clustertrust.answers.scored import COMPONENTS, Scored
from clustertrust.records import Record

# Scores are at least this far from 0 and 1 before the logit is taken
EDGE = 0.02


@dataclass(frozen=True)
class Scales(Record):
    """What makes features comparable, measured on all points without their answers.

    Attributes
    ----------
    names : the components in use
    center, spread : (q,) mean and standard deviation of each component
    means : (k, d) mean of each cluster; None if the points are not known
    sizes : (k,) root mean square distance of its points from it
    """

    names: tuple[str, ...]
    center: Annotated[Floats, "f! q"]
    spread: Annotated[Floats, "f! q"]
    means: Annotated[Floats, "f! k d"] | None = None
    sizes: Annotated[Floats, "f! k"] | None = None

    def _from_stored(self) -> Self:
        """Return them; raise unless they are of components that there are."""
        if len(self.names) != len(self.center) or not set(self.names) <= COMPONENTS.keys():
            raise ValueError(f"its scales are of {self.names}")
        return self


@dataclass(frozen=True)
class Features(Record):
    """What the model knows of some points.

    Attributes
    ----------
    labels, rivals : (m,) cluster and rival of each point, -1: none
    logits : (m,) logit of the score
    parts : (m, q) standardised components
    places : (m, d) where it lies in its cluster, in units of the cluster's size; without points,
        its components
    """

    labels: Annotated[Ints, "i m"]
    rivals: Annotated[Ints, "i m"]
    logits: Annotated[Floats, "f! m"]
    parts: Annotated[Floats, "f! m q"]
    places: Annotated[Floats, "f! m d"]

    def take(self, positions: Any) -> Features:
        """Return some of the points."""
        return Features(*(getattr(self, field.name)[positions] for field in fields(self)))


def split_by_label(labels: Ints) -> list[Ints]:
    """Return the positions of the points of each label, one array per label that there is."""
    order = np.argsort(labels, kind="stable")
    borders = np.flatnonzero(np.diff(labels[order])) + 1
    return np.split(order, borders) if len(order) else []


def measure_scales(source: Scored) -> Scales:
    """Measure all points; components that a table lacks are left out."""
    names = tuple(name for name in COMPONENTS if name in source.columns)
    parts = [_component(source, name) for name in names]
    center = np.array([np.nanmean(part) if np.isfinite(part).any() else 0.0 for part in parts])
    spread = np.array([np.nanstd(part) if np.isfinite(part).any() else 0.0 for part in parts])
    spread = np.where(spread > 1e-9, spread, 1.0)
    X, labels = source.X, source.labels
    if X is None:
        return Scales(names, center, spread)
    k = int(labels.max(initial=-1)) + 1
    means, sizes = np.zeros((k, X.shape[1])), np.ones(k)
    for members in split_by_label(labels):
        label = labels[members[0]]
        if label >= 0:
            means[label] = X[members].mean(axis=0)
            sizes[label] = np.sqrt(((X[members] - means[label]) ** 2).sum(axis=1).mean())
    return Scales(names, center, spread, means, np.where(sizes > 0, sizes, 1.0))


def features_of(source: Scored, scales: Scales, positions: Ints) -> Features:
    """Return the features of the points at some positions."""
    labels, rivals = source.labels[positions], source.columns.get("rival")
    parts = np.zeros((len(labels), 1))
    if scales.names:
        raw = np.column_stack([_component(source, name, positions) for name in scales.names])
        parts = (raw - scales.center) / scales.spread
    parts = np.where(np.isfinite(parts), parts, 0.0)
    if scales.means is None or scales.sizes is None or source.X is None:
        places = parts / np.sqrt(parts.shape[1])
    else:
        own = np.maximum(labels, 0)
        places = (source.X[positions] - scales.means[own]) / scales.sizes[own][:, None]
    return Features(
        labels=labels,
        rivals=np.full(len(labels), -1) if rivals is None else rivals[positions],
        logits=_logit(source.scores[positions]),
        parts=parts,
        places=places,
    )


def _component(source: Scored, name: str, positions: Any = slice(None)) -> Floats:
    values = source.columns[name][positions].astype(np.float64)
    return _logit(values) if COMPONENTS[name] else values


def _logit(share: Floats) -> Floats:
    return np.asarray(logit(np.clip(share, EDGE, 1 - EDGE)))
