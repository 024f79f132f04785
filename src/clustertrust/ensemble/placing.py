"""How a run places points that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from scipy import sparse
from sklearn.mixture import GaussianMixture

from clustertrust._balls import Balls, balls_of_densities, balls_of_points
from clustertrust._mixtures import Densities
from clustertrust._parallel import blocks, one_thread
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.points import as_type
from clustertrust.distances.dissimilarity import squared_distances
from clustertrust.distances.metrics import EUCLIDEAN, Metric, unit_rows
from clustertrust.distances.precomputed import check_new_distances, nearest_column
from clustertrust.ensemble.lloyd import prepare_data
from clustertrust.records import Record, check_fields, check_finite, register

# Where a larger share of the points is not known, all are placed: a copy of most takes longer.
_MOST = 0.8
# Numbers in the points of several searches at once
_TOGETHER = 2**21
# Far more than rounding takes from the logarithm of a density
_ROUNDING = 1e-3


@runtime_checkable
class Placer(Protocol):
    """A rule that labels points: (n, d) → (n,)."""

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""


def nearest_point(points: Any, X: Any, metric: Metric = EUCLIDEAN) -> Ints:
    """Return the position in `points` nearest to each row of X, the first on ties. O(n n' d).

    The Euclidean distance comes from differences, so that data far from the origin lose no digits,
    except for sparse X.
    """
    if not metric.is_euclidean:
        return metric.nearest(X, points, 1)[1][:, 0]
    points = points.toarray() if sparse.issparse(points) else np.asarray(points, dtype=np.float64)
    if not sparse.issparse(X):
        return np.asarray(nearest_points(points[None], X)[0])
    _check_columns(X, points.shape[1])
    parts = blocks(X.shape[0], 24 * len(points), largest=1024)
    found = [squared_distances(points, X[rows]).argmin(axis=0) for rows in parts]
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def nearest_points(points: Floats, X: Array) -> Ints:
    """Return which of the points (A, n', d) is nearest to each row of X, (A, n), block by block."""
    A, _, d = points.shape
    _check_columns(X, d)
    labels = np.empty((A, X.shape[0]), dtype=np.int32)
    for rows in blocks(X.shape[0], 24 * (A + d), largest=8192):
        data = prepare_data(np.asarray(X[rows], dtype=np.float64), points.reshape(-1, d))
        assert data is not None
        labels[:, rows] = data.nearest(points)
    return labels


def _check_columns(X: Any, d: int) -> None:
    """Raise for another number of columns: compiled loops would read beyond the end."""
    if X.shape[1] != d:
        raise ValueError(f"X has {X.shape[1]} columns; the runs were fitted on {d}.")


@dataclass(frozen=True)
class Nearest(Record):
    """The label of the nearest centre; a label may have several.

    `of_directions`: rows are scaled to unit length before.
    """

    centers: Annotated[Floats, "f k d"]
    labels: Annotated[Ints, "i k"]
    metric: Metric = field(default=EUCLIDEAN)
    of_directions: bool = False

    def _from_stored(self) -> Nearest:
        """Return it; raise for centers that are not finite. Gower's may have gaps."""
        if self.metric.name != "gower":
            check_finite("centers", self.centers)
        return self

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""
        X = unit_rows(X) if self.of_directions else X
        return self.labels[nearest_point(self.centers, X, self.metric)]

    @property
    def points(self) -> Floats:
        """The points of which the nearest one gives the label."""
        return self.centers

    @property
    def is_straight(self) -> bool:
        """Whether it is the nearest in a straight line from the rows as they are."""
        return not self.of_directions and self.metric.is_euclidean

    def balls(self, centers: Floats) -> Balls | None:
        """Return balls in which all points get one label; None: not for this metric."""
        return balls_of_points(self.points, self.labels, centers) if self.is_straight else None


@dataclass(frozen=True)
class PrecomputedNearest(Record):
    """The label of the nearest training point, by rows of given distances to them.

    `columns` are positions among the n training points (None: all), `labels` their labels.
    """

    columns: Annotated[Ints, "i m"] | None
    labels: Annotated[Ints, "i labelled"]
    n: int

    def _from_stored(self) -> PrecomputedNearest:
        """Return it; raise if it has not one label for each column."""
        _check_positions(self.columns, self.labels, self.n)
        return self

    def __call__(self, X: Any) -> Ints:
        """Label each row of distances (n_new, n); -1 where a sparse row has none to the columns."""
        nearest = nearest_column(check_new_distances(X, self.n), self.columns)
        return np.where(nearest < 0, -1, self.labels[nearest])


@dataclass(frozen=True)
class NearestTrainingPoint(Record):
    """The label of the nearest training point, for methods without a model.

    `X` are the data of all runs, `rows` those of this run (None: all), `labels` their labels.
    """

    X: Annotated[Any, "f n d", sparse.csr_array, None]
    rows: Annotated[Ints, "i m"] | None
    labels: Annotated[Ints, "i labelled"]
    metric: Metric = field(default=EUCLIDEAN)

    def _from_stored(self) -> NearestTrainingPoint:
        """Return it; raise if it has not one label for each row."""
        return self.on(self.X)

    def on(self, X: Any) -> NearestTrainingPoint:
        """Return the same rule with these training data (None: without); raise if they misfit."""
        if X is not None:
            _check_positions(self.rows, self.labels, X.shape[0])
        return replace(self, X=X)

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""
        return self.labels[nearest_point(self.points, X, self.metric)]

    @property
    def points(self) -> Any:
        """The points of which the nearest one gives the label."""
        return self.X if self.rows is None else self.X[self.rows]

    @property
    def is_straight(self) -> bool:
        """Whether it is the nearest in a straight line, of dense data."""
        return self.metric.is_euclidean and not sparse.issparse(self.X)

    def balls(self, centers: Floats) -> Balls | None:
        """Return balls in which all points get one label; None: not for this metric."""
        return balls_of_points(self.points, self.labels, centers) if self.is_straight else None


_COVARIANCES = {"full": "k d d", "tied": "d d", "diag": "k d", "spherical": "k"}
_MIXTURE = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")
register(GaussianMixture, fitted=(*_MIXTURE, "n_features_in_"))


@dataclass(frozen=True)
class Predict(Record):
    """The prediction of the fitted model.

    `dtype` is the type of the data that it was fitted on; None: it accepts any.
    """

    model: Any
    dtype: Any = None

    def _to_stored(self) -> dict[str, Any]:
        """Return its fields, the type as text."""
        return {"model": self.model, "dtype": self.dtype and np.dtype(self.dtype).str}

    def _from_stored(self) -> Predict:
        """Return it; raise if the parts of its mixture misfit."""
        shape = _COVARIANCES[self.model.covariance_type]
        axes = dict.fromkeys(_MIXTURE, f"f {shape}")
        axes |= {"weights_": "f! k", "means_": "f! k d", "precisions_cholesky_": f"f! {shape}"}
        check_fields("mixture", {name: getattr(self.model, name) for name in _MIXTURE}, axes)
        # Weights or precisions below 0 have no logarithm.
        with np.errstate(invalid="raise", divide="raise"):
            self.model.score_samples(self.model.means_[:1])
        return replace(self, dtype=self.dtype and np.dtype(self.dtype))

    @cached_property
    def _densities(self) -> Densities | None:
        """Those of a mixture of Gaussians with covariances of their own; of others None."""
        model = self.model
        if type(model) is not GaussianMixture or model.covariance_type != "full":
            return None
        whiteners = np.asarray(model.precisions_cholesky_, dtype=np.float64)
        heights = np.log(np.diagonal(whiteners, axis1=1, axis2=2)).sum(axis=1)
        peaks = np.log(model.weights_) + heights
        return Densities(peaks, np.asarray(model.means_, dtype=np.float64), whiteners)

    def __call__(self, X: Any) -> Ints:
        """Label each row of X."""
        # Compiled loops of some models accept no other type.
        X = X if self.dtype is None else as_type(X, self.dtype)
        densities = self._densities
        with one_thread():
            if densities is None:
                return np.asarray(self.model.predict(X))
            X = np.asarray(X, dtype=np.float64)
            some = blocks(len(X), 24 * len(densities.peaks), largest=8192)
            labels = [densities.labels(X[rows].T) for rows in some]
        return np.concatenate([np.empty(0, dtype=np.int64), *labels])

    def balls(self, centers: Floats) -> Balls | None:
        """Return balls in which all points get one label; None: not for this model."""
        densities = self._densities
        if densities is None or self.dtype not in (None, np.float64):
            return None
        return balls_of_densities(densities, centers, ahead=_ROUNDING)


def _check_positions(rows: Ints | None, labels: Ints, n: int) -> None:
    """Raise unless there is a label for each row, or each of n points, and all rows exist."""
    if len(labels) != (n if rows is None else len(rows)):
        raise ValueError(f"a run has labels for {len(labels)} of its training points")
    if rows is not None and rows.size and not 0 <= rows.min() <= rows.max() < n:
        raise ValueError(f"a run was fitted on rows beyond the {n} training points")


def place(placers: Sequence[Placer], X: Any) -> Ints:
    """Return the label of each row of X in each run, (n, R).

    Runs that use all training points share one search, and those that search among equally many
    points share what is prepared of X.
    """
    labels = np.empty((X.shape[0], len(placers)), dtype=np.int32)
    # By whether the metric is Euclidean: an ensemble has at most one other.
    nearest: dict[bool, Ints] = {}
    alike: dict[int, list[int]] = {}
    for run, placer in enumerate(placers):
        if isinstance(placer, NearestTrainingPoint) and placer.rows is None:
            metric = placer.metric
            if metric.is_euclidean not in nearest:
                nearest[metric.is_euclidean] = nearest_point(placer.X, X, metric)
            labels[:, run] = placer.labels[nearest[metric.is_euclidean]]
        elif getattr(placer, "is_straight", False) and not sparse.issparse(X):
            alike.setdefault(len(placer.labels), []).append(run)  # type: ignore[attr-defined]
        else:
            labels[:, run] = placer(X)
    for n, runs in alike.items():
        some = max(1, _TOGETHER // max(1, n * X.shape[1]))
        for low in range(0, len(runs), some):
            searches: list[Any] = [placers[run] for run in runs[low : low + some]]
            points = np.stack([search.points for search in searches]).astype(np.float64, copy=False)
            for i, positions in enumerate(nearest_points(points, X)):
                labels[:, runs[low + i]] = searches[i].labels[positions]
    return labels


class KnownNear:
    """Labels that runs give to points near one of a few centers, for points that have one each.

    `centers` (g, d) are any points, best in the middle of clusters.
    """

    def __init__(self, placers: list[Placer], centers: Floats) -> None:
        self.placers, self.centers = placers, centers
        # Of a run that knows nothing each point is beyond
        nothing = Balls(np.full(len(centers), -1), np.zeros(len(centers)))
        balls = [(by.balls(centers) if hasattr(by, "balls") else None) or nothing for by in placers]
        self._labels = np.column_stack([own.labels for own in balls])
        self._radii = np.column_stack([own.radii for own in balls])

    def place(self, X: Any, of: Ints) -> Ints:
        """Return what `place` does, (n, R), for points X with a center each; -1: none."""
        far = np.linalg.norm(X - self.centers[of], axis=1)
        is_known = (far[:, None] < self._radii[of]) & (of >= 0)[:, None]
        labels = self._labels[of].astype(np.int32)
        whole = [run for run, known in enumerate(is_known.mean(axis=0)) if known < 1 - _MOST]
        if whole:
            labels[:, whole] = place([self.placers[run] for run in whole], X)
        for run in set(range(len(self.placers))) - set(whole):
            rows = np.flatnonzero(~is_known[:, run])
            if rows.size:
                labels[rows, run] = self.placers[run](X[rows])
        return labels
