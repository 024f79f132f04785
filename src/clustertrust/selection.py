"""Scores → a mask of the points to keep: a top share, above a threshold, or an adaptive share."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from clustertrust._errors import ParameterError
from clustertrust._types import Bools, Floats, Ints
from clustertrust._validation.arguments import (
    MOST,
    check_choice,
    check_count,
    check_number,
    check_scores,
    warn_user,
)
from clustertrust._validation.points import check_matrix
from clustertrust._validation.rows import check_same_length
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.record import assemble
from clustertrust.ensemble.running import run_all
from clustertrust.ensemble.runs import draw_seeds
from clustertrust.ensemble.warn import warn_of_runs
from clustertrust.geometry import silhouettes
from clustertrust.geometry.base import Compute
from clustertrust.geometry.measuring import as_geometry
from clustertrust.reasons import above, check_threshold

if TYPE_CHECKING:
    from clustertrust.estimator import CAKE

__all__ = [
    "AVERAGES",
    "COVERAGES",
    "AdaptiveSelection",
    "select_above",
    "select_adaptive",
    "select_top",
]


# The paper's grid
COVERAGES = tuple(percent / 100 for percent in range(40, 91, 5))
# Mean silhouettes this close are equal, and the larger subset wins.
NEAR = 1e-9
# Parameters of an estimator that re-fits take, and those that they have no use for
REFITTING = ("n_clusters", "clusterer", "metric", "geometry", "random_state", "n_jobs")
NOT_REFITTING = ("vary", "resample")


def plain_mean(s: Floats, labels: Ints) -> float:
    """Return the mean of s over assigned points; 0 without any, as for a run of one cluster."""
    assigned = labels >= 0
    return float(s[assigned].mean()) if assigned.any() else 0.0


def macro_mean(s: Floats, labels: Ints) -> float:
    """Return the mean over clusters of the mean of s in each: all clusters count the same."""
    clusters = np.unique(labels[labels >= 0])
    return (
        float(np.mean([s[labels == cluster].mean() for cluster in clusters]))
        if clusters.size
        else 0.0
    )


AVERAGES: dict[str, Callable[[Floats, Ints], float]] = {"macro": macro_mean, "plain": plain_mean}


@dataclass(frozen=True)
class AdaptiveSelection:
    """The share of points that `select_adaptive` chose, and the curve that it chose from.

    Attributes
    ----------
    mask : (n,) the points kept
    coverage : the coverage chosen
    coverages : (g,) the coverages tried, rising
    sizes : (g,) points kept at each
    silhouettes : (g,) mean silhouette of the re-fits at each; its largest value is the choice
    by_restart : (g, n_restarts) mean silhouette of each re-fit
    geometry : the geometry of the silhouettes, also where `auto` chose it
    """

    mask: Bools
    coverage: float
    coverages: Floats
    sizes: Ints
    silhouettes: Floats
    by_restart: Floats
    geometry: str

    def __repr__(self) -> str:
        """Return one line: the mask would fill a screen."""
        kept = f"{int(self.mask.sum())} of {len(self.mask)} points kept"
        return f"<AdaptiveSelection: {kept}, coverage {self.coverage:g}; mask, to_frame(), …>"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per coverage, with the points kept, the silhouettes, and the choice."""
        columns = {"coverage": self.coverages, "size": self.sizes, "silhouette": self.silhouettes}
        columns |= {f"restart_{r}": values for r, values in enumerate(self.by_restart.T)}
        return pd.DataFrame(columns | {"chosen": self.coverages == self.coverage})


def select_top(scores: Any, share: float, *, random_state: Any = 0) -> Bools:
    """Keep the ⌊share · n + 1e-9⌋ points with the highest scores.

    Parameters
    ----------
    scores : (n,) sequence of numbers
        Higher is surer. NaN, no score, is never kept, though the point counts in n.
    share : float
        From 0 to 1. The 1e-9 is for shares such as 0.29, of which 100 points are 28.999… in
        floating point.
    random_state : int, RandomState or None
        Which of the points that tie at the cut are kept.

    Returns
    -------
    (n,) bool array
        If fewer points than that have a score, all of these are kept, with a warning.

    Examples
    --------
    >>> from clustertrust.selection import select_top
    >>> select_top([0.9, 0.1, 0.5, 0.7, float("nan")], 0.6).tolist()
    [True, False, True, True, False]
    """
    scores = check_scores(scores)
    share = check_number("share", share)
    if not 0 <= share <= 1:
        raise ValueError(f"share={share!r} must lie between 0 and 1; 0.7 keeps 70% of the points.")
    n_kept = int(np.floor(share * len(scores) + 1e-9))
    scored = int((~np.isnan(scores)).sum())
    if scored < n_kept:
        warn_user(
            f"share={share!r} asks for {n_kept} of {len(scores)} points, but only {scored} have a "
            "score; those are kept. A point has none (NaN) if fewer than two runs assign it."
        )
    return _keep(_ranking(scores, random_state), min(n_kept, scored))


def select_above(scores: Any, threshold: float) -> Bools:
    """Keep the points with score > threshold, strictly, as in Eq. (11); NaN is never kept.

    Parameters
    ----------
    scores : (n,) sequence of numbers
    threshold : float
        :mod:`clustertrust.theory` has the number of runs that make a threshold on the stability
        safe from noise.

    Returns
    -------
    (n,) bool array

    Examples
    --------
    >>> from clustertrust.selection import select_above
    >>> select_above([0.9, 0.5, 0.2, float("nan")], 0.5).tolist()
    [True, False, False, False]
    """
    return above(check_scores(scores), check_threshold(threshold))


def select_adaptive(
    X: Any,
    scores: Any,
    cake: CAKE | int,
    *,
    coverages: Iterable[float] = COVERAGES,
    n_restarts: int = 3,
    average: str = "plain",
) -> AdaptiveSelection:
    """Keep the top share of the points whose re-fit has the largest mean silhouette.

    For each coverage c on a grid, the m = round(c n) points with the highest scores are clustered
    again, a few times, and the silhouettes of these re-fits are averaged (the paper's appendix on
    adaptive filtering). The rule uses no labels and favours small, compact subsets: it often
    chooses the lower edge of the grid, with a warning; then a fixed share may be better.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    scores : (n,) sequence of numbers
        Higher is surer; NaN is never kept. Points that tie are ordered at random, once for all
        coverages, by the seed of the first restart.
    cake : int or CAKE
        The number of clusters of each re-fit, with seeds from 0, or an estimator whose settings are
        used, such as ``CAKE(3, clusterer="gmm", random_state=0)``; it is not fitted. These are its
        `n_clusters`, `clusterer`, `metric` and `geometry`, its `random_state`, which may be a list
        of `n_restarts` seeds, and its `n_jobs`. Re-fits have all points that are kept, so it has
        neither `vary` nor `resample`. "auto" as geometry is settled by the size of X, not of the
        subsets, so that the curve is of one kind. The paper says "exact"; its authors ran
        ``CAKE(k, clusterer="kmeans-random", geometry="centroid", random_state=[123, 124, 125])``.
    coverages : iterable of float
        Shares of all n points to try, above 0 and at most 1; sorted, each once. m is rounded half
        to even, after c n is rounded to nine decimals. Shares that keep more points than have a
        score are left out, with a warning.
    n_restarts : int
        Re-fits at each coverage, at least 1. All coverages have the same seeds.
    average : {"plain", "macro"}
        Mean over the points, or over the clusters of the mean in each, which keeps small clusters
        in view. Points that a re-fit does not assign do not count.

    Returns
    -------
    AdaptiveSelection
        Mask, coverage and curve. Values within 1e-9 of the largest are equal to it; of these the
        largest subset wins.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from clustertrust import CAKE
    >>> from clustertrust.selection import select_adaptive
    >>> blobs, _ = make_blobs([80, 80], centers=[[0, 0], [4, 0]], cluster_std=0.5, random_state=0)
    >>> X = np.vstack([blobs, np.random.default_rng(0).uniform(-4, 8, (40, 2))])
    >>> scores = CAKE(n_clusters=2, random_state=0).fit(X).scores_
    >>> chosen = select_adaptive(X, scores, 2, coverages=[0.5, 0.6, 0.7, 0.8])
    >>> chosen.coverage, int(chosen.mask.sum())
    (0.6, 120)
    >>> chosen.to_frame().columns.tolist()
    ['coverage', 'size', 'silhouette', 'restart_0', 'restart_1', 'restart_2', 'chosen']
    """
    X, scores = check_matrix(X), check_scores(scores)
    check_same_length("X", range(X.shape[0]), "scores", scores)
    params = _params_of(cake)
    check_choice("average", average, AVERAGES)
    grid, sizes = _check_coverages(coverages, scores)
    n_restarts = check_count("n_restarts", n_restarts, at_least=1, at_most=MOST)
    _, seeds = draw_seeds(params.pop("random_state"), n_restarts)
    geometry = as_geometry(params.pop("geometry", "auto"), params.get("metric", "euclidean"))
    if geometry.is_precomputed or geometry.is_mixed:
        raise ParameterError(
            "cake",
            cake,
            "has no coordinates of points, which re-fits need",
            "choose another geometry and metric",
        )
    recipe = Recipe.from_params(params | {"metric": geometry.used_metric})
    recipe.check_size(int(sizes[0]))
    settled = geometry.resolve(X, Compute(recipe.n_jobs))
    order = _ranking(scores, seeds[0])
    by_restart = np.empty((len(grid), len(seeds)))
    for row, size in enumerate(sizes):
        kept = X[_keep(order, size)]
        runs = run_all(kept, recipe, list(enumerate(seeds)))
        warn_of_runs(recipe, runs, scored=False)
        ensemble = assemble(runs)
        s = silhouettes(kept, ensemble, geometry=settled, n_jobs=recipe.n_jobs)
        by_restart[row] = [
            AVERAGES[average](*run) for run in zip(s.T, ensemble.labels.T, strict=True)
        ]
    means = by_restart.mean(axis=1)
    best = int(np.flatnonzero(means >= means.max() - NEAR)[-1])
    _warn_of_edge(grid, best)
    return AdaptiveSelection(
        _keep(order, sizes[best]), float(grid[best]), grid, sizes, means, by_restart, settled.name
    )


def _params_of(cake: Any) -> dict[str, Any]:
    """Return the parameters that re-fits take from an estimator, or those of a number."""
    if isinstance(cake, numbers.Integral):
        return {"n_clusters": int(cake), "random_state": 0}
    params = cake.get_params(deep=False) if isinstance(cake, BaseEstimator) else {}
    if not params.keys() >= {*REFITTING, *NOT_REFITTING}:
        raise TypeError(
            f"cake={cake!r} must be a number of clusters or a CAKE, such as CAKE(3, "
            "clusterer='gmm')."
        )
    for name in NOT_REFITTING:
        if params[name] is not None:
            raise ParameterError(
                name,
                params[name],
                "is not used: re-fits have the same settings and all points that are kept",
                "leave it out",
            )
    return {name: params[name] for name in REFITTING}


def _ranking(scores: Floats, random_state: Any) -> Ints:
    """Return the positions by falling score, NaN last, those of equal score in random order."""
    shuffled = check_random_state(random_state).permutation(len(scores))
    return np.asarray(shuffled[np.argsort(-scores[shuffled], kind="stable")])


def _keep(order: Ints, size: int) -> Bools:
    """Return the mask of the first `size` positions of a ranking."""
    mask = np.zeros(len(order), dtype=bool)
    mask[order[:size]] = True
    return mask


def _warn_of_edge(grid: Floats, best: int) -> None:
    """Warn if the choice is at an edge of the grid, except at a coverage of 1."""
    if len(grid) > 1 and (best == 0 or (best == len(grid) - 1 and grid[best] < 1)):
        side, further = ("smallest", "smaller") if best == 0 else ("largest", "larger")
        warn_user(
            f"The coverage chosen, {grid[best]:g}, is the {side} of the grid, so the mean "
            f"silhouette may be larger still at {further} ones. Look at the curve, widen "
            "coverages, or set the share with select_top."
        )


def _check_coverages(coverages: Any, scores: Floats) -> tuple[Floats, Ints]:
    """Return the coverages, rising, and the number of points each keeps."""
    if isinstance(coverages, str) or not isinstance(coverages, Iterable):
        raise TypeError(
            f"coverages={coverages!r} must be a sequence of shares, such as [0.5, 0.7, 0.9]."
        )
    grid = np.unique([check_number("coverages", coverage) for coverage in coverages])
    if grid.size == 0:
        raise ValueError("coverages is empty; give at least one share.")
    if not ((grid > 0) & (grid <= 1)).all():
        raise ValueError(
            f"coverages={grid.tolist()} must be above 0 and at most 1; 0.7 keeps 70% of the points."
        )
    n, scored = len(scores), int((~np.isnan(scores)).sum())
    sizes = np.round(np.round(grid * n, 9)).astype(np.int64)
    if sizes[0] < 2:
        raise ValueError(
            f"coverages={grid[0]:g} keeps {sizes[0]} of {n} points; at least 2 are needed to "
            "cluster."
        )
    possible = sizes <= scored
    if not possible.any():
        raise ValueError(
            f"coverages={grid[0]:g} keeps {sizes[0]} points and only {scored} of {n} have a score "
            "(not NaN)."
        )
    if not possible.all():
        warn_user(
            f"Only {scored} of {n} points have a score (not NaN): coverages "
            f"{grid[~possible].tolist()} are left out."
        )
    return grid[possible], sizes[possible]
