"""Means and scales of columns, measured over a table or its blocks, and how they are applied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clustertrust._types import Floats
from clustertrust.tables import TablePlan, measures


@dataclass(frozen=True)
class Preparation:
    """What was done to the columns before the fit, and must be done to new rows as well.

    Attributes
    ----------
    means : (d,) means of the columns over the known values
    scales : (d,) what columns were divided by, as a rule their standard deviations, else None
    impute : whether missing values become the means
    centers : (d,) what was subtracted first, where that is not the means
    limit : values beyond this were held there, after scaling; None: all are as they are
    """

    means: Floats
    scales: Floats | None
    impute: bool
    centers: Floats | None = None
    limit: float | None = None

    @property
    def is_scaled(self) -> bool:
        """Whether columns were divided by something."""
        return self.scales is not None

    def fill(self, X: NDArray[Any]) -> NDArray[Any]:
        """Replace missing values by the means."""
        return np.where(np.isfinite(X), X, self.means.astype(X.dtype))

    def scale(self, X: Any) -> Any:
        """Return values as they were clustered."""
        if self.scales is None:
            return X
        scaled = (X - (self.means if self.centers is None else self.centers)) / self.scales
        return scaled if self.limit is None else scaled.clip(-self.limit, self.limit)

    def unscale(self, X: Any) -> Any:
        """Return clustered values as they are in the file."""
        if self.scales is None:
            return X
        return X * self.scales + (self.means if self.centers is None else self.centers)

    def to_json(self) -> dict[str, Any]:
        """Return what is stored in a model file."""
        scales = None if self.scales is None else self.scales.tolist()
        kept = {"means": self.means.tolist(), "scales": scales, "impute": self.impute}
        if self.centers is not None:
            kept["centers"] = self.centers.tolist()
        return kept if self.limit is None else kept | {"limit": self.limit}

    @classmethod
    def from_json(cls, kept: Any) -> Preparation | None:
        """Read what is stored in a model file; None if it has no preparation."""
        if kept is None:
            return None
        scales = None if kept["scales"] is None else np.array(kept["scales"])
        centers = None if kept.get("centers") is None else np.array(kept["centers"])
        limit = None if kept.get("limit") is None else float(kept["limit"])
        return cls(np.array(kept["means"]), scales, kept["impute"], centers, limit)


def fit_preparation(plan: TablePlan, values: NDArray[Any]) -> Preparation:
    """Return what is done to the columns of a plan, measured on (rows, features) values."""
    moments = total_of([moments_of(values)], plan.features)
    base = measured(moments, standardize=plan.scale == "standard", impute=plan.missing != "drop")
    plain = all(column.use == "number" for column in plan.used)
    if plain and plan.scale in ("none", "standard"):
        return base
    return with_measures(base, plan, values)


def with_measures(base: Preparation, plan: TablePlan, values: NDArray[Any]) -> Preparation:
    """Return the preparation with the scales of a plan, measured on (rows, features) values."""
    found = measures(plan, np.where(np.isfinite(values), values, np.nan).astype(np.float64))
    limit = None if np.isinf(found.limit) else float(found.limit)
    return replace(base, scales=found.scales, centers=found.centers, limit=limit)


def with_categories(base: Preparation, plan: TablePlan, moments: Moments) -> Preparation:
    """Return the preparation with categories that weigh as much as a number, from moments alone."""
    scales = np.ones(len(base.means)) if base.scales is None else base.scales.copy()
    is_category = np.array([plan.used[at].use == "category" for at in plan.sources])
    variances = (moments.squares / np.maximum(moments.known, 1) / scales**2)[~is_category]
    weight = variances.mean() if len(variances) and variances.mean() > 0 else 1.0
    for at, column in enumerate(plan.used):
        if column.use == "category":
            mine = plan.sources == at
            spread = (moments.means[mine] * (1 - moments.means[mine])).sum()
            scales[mine] = np.sqrt(spread / weight) if spread > 0 else 1.0
    own = base.means if base.centers is None else base.centers
    centers = np.where(is_category, base.means, own if base.is_scaled else 0.0)
    return replace(base, scales=scales, centers=centers)


def with_ranges(base: Preparation, moments: Moments) -> Preparation:
    """Return the preparation with columns from 0 to 1, from moments alone."""
    scales = moments.highs - moments.lows
    flat = scales <= 1e-12 * np.maximum(np.abs(moments.lows), 1e-300)
    return replace(base, scales=np.where(flat, 1.0, scales), centers=moments.lows)


class Moments(NamedTuple):
    """The number of some rows; for each column the known values, mean, squares around it, ends."""

    rows: int
    known: NDArray[Any]
    means: Floats
    squares: Floats
    lows: Floats
    highs: Floats


def moments_of(X: NDArray[Any]) -> Moments:
    """Return the moments of the columns of X (b, d), without missing values."""
    finite = np.isfinite(X)
    known = finite.sum(axis=0)
    lows = np.where(finite, X, np.inf).min(axis=0, initial=np.inf)
    highs = np.where(finite, X, -np.inf).max(axis=0, initial=-np.inf)
    X = np.where(finite, X, 0.0).astype(np.float64, copy=False)
    means = X.sum(axis=0) / np.maximum(known, 1)
    squares = (np.where(finite, X - means, 0.0) ** 2).sum(axis=0)
    return Moments(len(X), known, means, squares, lows, highs)


def total_of(parts: Iterable[Moments], names: Sequence[Any]) -> Moments:
    """Return the moments of all blocks by Chan's formula; raise for a column without values."""
    d = len(names)
    rows, counts, means, squares = 0, np.zeros(d), np.zeros(d), np.zeros(d)
    lows, highs = np.full(d, np.inf), np.full(d, -np.inf)
    for part in parts:
        lows, highs = np.minimum(lows, part.lows), np.maximum(highs, part.highs)
        both = np.maximum(counts + part.known, 1)
        shift = part.means - means
        squares += part.squares + shift**2 * (counts * part.known / both)
        means = means + shift * (part.known / both)
        counts += part.known
        rows += part.rows
    empty = [name for name, count in zip(names, counts, strict=True) if count == 0]
    if empty:
        raise ValueError(
            f"The column {str(empty[0])!r} has no known value and so no mean; leave it out with "
            "--drop."
        )
    return Moments(rows, counts, means, squares, lows, highs)


def measured(moments: Moments, *, standardize: bool, impute: bool) -> Preparation:
    """Return means, and standard deviations if asked for.

    Missing values do not count in the means, and count as the mean in the deviations.
    """
    scales = None
    if standardize:
        scales = np.sqrt(moments.squares / max(1, moments.rows))
        # A column of equal values stays; its spread may be a rounding error of its mean.
        scales[scales <= 1e-12 * np.abs(moments.means)] = 1.0
    return Preparation(moments.means, scales, impute)
