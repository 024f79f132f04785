"""What surrogates are drawn from: a checked sample of the data, and an estimator as a template."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from clustertrust._devices import to_host
from clustertrust._errors import InputError, ParameterError
from clustertrust._types import Array, Ints
from clustertrust._validation.arguments import check_count
from clustertrust.distances.metrics import as_metric
from clustertrust.distances.precomputed import among
from clustertrust.ensemble.runs import as_runs, draw_seeds
from clustertrust.estimator import CAKE
from clustertrust.results import frame_of
from clustertrust.scoring.settings import Settings
from clustertrust.surrogates.drawn import SAMPLE, seeded

# For points far out: smallest data set, neighbors, radii
FEWEST, NEIGHBORS, FAR = 20, 7, 2.0


def check_has_coordinates(cake: CAKE, remedy: str) -> None:
    """Raise if the metric of a template leaves no points to draw surrogates from."""
    if as_metric(cake.metric).is_coordinate_free:
        raise InputError(
            "Surrogates are points without clusters, and there are no points with coordinates "
            f"where {{metric=}}; {remedy}.",
            metric=cake.metric,
        )


def draw_sample(
    X: Any, max_points: int | None, entropy: int, cake: CAKE
) -> tuple[Array, Any, Ints]:
    """Check X and draw the sample; return it, the frame for its table, and its positions."""
    frame = frame_of(X)
    recipe = Settings.from_estimator(cake).recipe
    recipe.check_place(X)
    X = recipe.check_points(to_host(X))
    if sparse.issparse(X):
        raise ValueError(
            "X is sparse, and surrogates are dense; reduce it first "
            "(sklearn.decomposition.TruncatedSVD)."
        )
    if not np.ptp(X, axis=0).any():
        raise ValueError(
            "X has no spread: all its rows are equal, so there is nothing to compare with."
        )
    n = len(X)
    points = np.arange(n)
    if max_points is not None and n > check_count("max_points", max_points, at_least=2):
        rng = seeded(entropy, SAMPLE, 0)
        points = np.sort(rng.choice(n, max_points, replace=False))
    if len(points) < n and isinstance(frame, pd.DataFrame):
        frame = frame.iloc[points]
    if recipe.is_precomputed:
        return among(X, points if len(points) < n else None), frame, points
    return X[points] if len(points) < n else X, frame, points


def far_out(X: Array) -> Ints:
    """Return positions of points whose seventh neighbour is unusually far.

    Unusual is more than the median of such distances plus two radii of the cloud; the radius is the
    median distance from the column-wise median. A group of eight points or more is never far out:
    it may be a cluster.
    """
    if len(X) < FEWEST:
        return np.zeros(0, dtype=np.int64)
    X = np.asarray(X, dtype=np.float64)
    gap = NearestNeighbors(n_neighbors=NEIGHBORS).fit(X).kneighbors()[0][:, -1]
    radius = np.median(np.linalg.norm(X - np.median(X, axis=0), axis=1))
    return np.flatnonzero(gap > np.median(gap) + FAR * radius)


def draw_entropy(random_state: Any) -> int:
    """Return the number behind all seeds; raise for a list, which has no seeds for surrogates."""
    if isinstance(random_state, Sequence | np.ndarray):
        raise ValueError(
            f"random_state={random_state!r} must be a number or None: surrogates need their own "
            "seeds."
        )
    entropy, _ = draw_seeds(random_state, 1)
    assert entropy is not None
    return entropy


def check_template(cake: Any) -> CAKE:
    """Return the estimator whose settings are used, from an estimator or a number of clusters."""
    if cake is None or isinstance(cake, numbers.Integral):
        cake = CAKE(cake if cake is None else int(cake))
    if not isinstance(cake, CAKE):
        raise TypeError(
            f"cake={cake!r} must be a number of clusters or a CAKE, such as CAKE(3, "
            "clusterer='gmm')."
        )
    runs = as_runs(cake.n_runs)
    if isinstance(runs.n_runs, str):
        raise ParameterError(
            "n_runs", runs.n_runs, "does not suit surrogates", "give a number, such as 20"
        )
    if runs.checkpoint is not None:
        raise ParameterError(
            "checkpoint",
            runs.checkpoint,
            "keeps the runs of one fit, but here many data sets are fitted",
            "leave it out",
        )
    return cake
