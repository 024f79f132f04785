"""The evidence for a number of clusters: signals that are means over points, with errors.

Each signal gives every point a number at every k, so that two k are compared point by point: how
far one is behind the other, in standard errors of the mean difference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.k_profile.mixtures import explain_all, reduce
from clustertrust.scoring.settings import Settings

# Standard errors at most, for differences without any spread
MOST_ERRORS = 1e6


@dataclass(frozen=True)
class Signal:
    """One signal over the numbers of clusters.

    Attributes
    ----------
    name : "separation", "likelihood" or "stability"
    mean : (q,) over points; higher favours k
    errors : (q,) their standard errors over points
    behind : (q,) how many standard errors k is behind the best k of this signal
    """

    name: str
    mean: Floats
    errors: Floats = field(repr=False)
    behind: Floats

    @classmethod
    def from_points(cls, name: str, contributions: Floats) -> Signal:
        """Make a signal of one number per point and k, (n, q); NaN where a point has none."""
        values, errors = _mean_and_error(contributions)
        return cls(name, values, errors, behind(contributions, int(values.argmax())))

    @property
    def ranks(self) -> Ints:
        """(q,) 1 for the best k, 2 for the next, …; equal values share the lower number."""
        return np.array([1 + int((self.mean > value).sum()) for value in self.mean])


def _mean_and_error(values: Floats) -> tuple[Floats, Floats]:
    """Return the mean of each column of (n, q) and its standard error, without NaN."""
    counted = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    mean = np.nansum(values, axis=0) / counted
    squares = np.nansum((values - mean) ** 2, axis=0)
    return mean, np.sqrt(squares / np.maximum(counted - 1, 1) / counted)


def behind(contributions: Floats, best: int) -> Floats:
    """Return how many standard errors each column's mean is behind that of column `best`.

    The difference is taken point by point, so that what all k have in common cancels.
    """
    mean, error = _mean_and_error(contributions[:, [best]] - contributions)
    # where the rest is rounding, there is no difference
    size = np.nanmax(np.abs(contributions), initial=0.0)
    mean = np.where(np.abs(mean) <= 1e-12 * size, 0.0, np.maximum(mean, 0.0))
    return np.minimum(
        np.divide(mean, error, out=np.where(mean > 0, np.inf, 0.0), where=error > 0), MOST_ERRORS
    )


def why_no_mixture(settings: Settings) -> str | None:
    """Return why mixtures say nothing about these clusters; None if they do."""
    if settings.scoring.geometry.why_no_coordinates() is not None:
        return "there are no coordinates to fit Gaussians in"
    for method in settings.recipe.methods:
        if not method.is_round:
            return f"clusters of {method.name} may have any shape, but those of a mixture are round"
    return None


def _without_gaps(Z: Floats, labels: Ints) -> Ints:
    """Return labels 0, 1, …; points of no cluster go to the nearest mean."""
    if (labels < 0).any():
        names = np.unique(labels[labels >= 0])
        means = np.array([Z[labels == name].mean(axis=0) for name in names])
        lost = np.flatnonzero(labels < 0)
        nearest = ((Z[lost, None] - means) ** 2).sum(axis=2).argmin(axis=1)
        labels = labels.copy()
        labels[lost] = names[nearest]
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def likelihoods(X: Any, partitions: list[Ints]) -> tuple[Floats, bool]:
    """Return those of the best mixture of each partition (n, q), and if columns were left out."""
    plane = reduce(X)
    mixtures = explain_all(plane, [_without_gaps(plane.columns.T, labels) for labels in partitions])
    return np.column_stack([mixture.per_point for mixture in mixtures]), plane.dropped
