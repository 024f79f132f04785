"""Warnings about the runs of a recipe, once for all of them."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from clustertrust._errors import Message
from clustertrust._types import Ints
from clustertrust._validation.arguments import warn_user
from clustertrust.distances.metrics import Metric
from clustertrust.ensemble.by_distance import wants_distances
from clustertrust.ensemble.clusterers import names_by_distance
from clustertrust.ensemble.fitting import DEFAULT_CLUSTERS, Method, Run, is_random
from clustertrust.ensemble.recipe import Recipe

# What k-means and the like cluster by.
_STRAIGHT = ("euclidean", "l2", "sqeuclidean")


def warn_of_runs(recipe: Recipe, runs: Sequence[Run], *, scored: bool = True) -> None:
    """Warn once, for all runs, of what did not go well; `scored`: points will have scores."""
    _warn_of_coordinates(recipe.methods, recipe.metric)
    _warn_of_default_k(recipe)
    _warn_of_copies(recipe, runs, scored)
    asked = [method.k for method in recipe.methods]
    wanted = [_wanted(run, *asked[r % len(asked)]) for r, run in enumerate(runs)]
    counts = [_count_clusters(run.labels, k) for run, k in zip(runs, wanted, strict=True)]
    fewer = [r for r, k in enumerate(counts) if wanted[r] > k]
    if fewer:
        r = fewer[0]
        what = (
            f"{len(fewer)} of {len(runs)} runs found fewer than the {wanted[r]} clusters asked "
            f"for (run {r} found {counts[r]})"
        )
        warn_user(f"{what}; the data may have too few distinct points.", ConvergenceWarning)
    for warning in dict.fromkeys(warning for run in runs for warning in run.warnings):
        # scikit-learn's own of the same
        if "distinct clusters" in warning.message and fewer:
            continue
        where = [r for r, run in enumerate(runs) if warning in run.warnings]
        warn_user(f"{warning.message} (runs {where})", warning.category)


def _count_clusters(labels: Ints, wanted: int) -> int:
    """Return the number of clusters, or `wanted` if the first points have so many."""
    # Labels 0, 1, … are the rule, and counted in less time than others.
    first = np.clip(labels[:1024], -1, wanted) + 1
    if np.bincount(first, minlength=wanted + 1)[1 : wanted + 1].all():
        return wanted
    # Hashing is faster than sorting.
    return int((pd.unique(labels) >= 0).sum())


def _warn_of_copies(recipe: Recipe, runs: Sequence[Run], scored: bool) -> None:
    """Warn of runs that are the same by construction, or that leave out the same points."""
    noise = _of_noise(runs) if scored else ""
    remedy = "vary their data ({resample=0.8}) or their parameters to make them differ."
    same_rows = not recipe.drawing.vary and recipe.drawing.resample is None
    repeated = recipe.methods if same_rows and len(recipe.methods) < len(runs) else ()
    fixed = [method.name for method in repeated if not is_random(method.estimator)]
    if fixed:
        what = f"{' and '.join(fixed)} is deterministic, so all its runs are the same and agree"
        warn_user(Message(f"{what} by construction{noise}; {remedy}"))
    elif noise:
        warn_user(Message(f"All {len(runs)} runs are the same{noise}; {remedy}"))


def _warn_of_default_k(recipe: Recipe) -> None:
    """Warn of clusterers whose number of clusters nobody chose."""
    names = dict.fromkeys(one.name for one in recipe.methods if one.has_default_k)
    if names and "n_clusters" not in recipe.drawing.vary:
        warn_user(
            Message(
                f"{{n_clusters}} is not given, so {' and '.join(names)} took k = "
                f"{DEFAULT_CLUSTERS}. Set {{n_clusters}}; clustertrust.choose_k(X) recommends "
                "one."
            )
        )


def _warn_of_coordinates(methods: tuple[Method, ...], metric: Metric) -> None:
    """Warn of clusterers that do not use the metric of the silhouettes."""
    if isinstance(metric.name, str) and metric.name in _STRAIGHT:
        return
    for method in methods:
        by_metric = wants_distances(method.estimator) or method.takes_directions(metric)
        by_points = not (method.is_function or by_metric)
        if by_points and getattr(method.estimator, "metric", None) != metric.name:
            text = "clusters by coordinates; only the silhouettes use {metric=}. "
            values = {"clusterer": method.name, "metric": metric.given}
            others = f"{names_by_distance(cosine=metric.is_cosine)} cluster by the metric too."
            warn_user(Message(text + others, values, "clusterer"))


def _of_noise(runs: Sequence[Run]) -> str:
    """Return what happens to points that no run assigns, if all runs are the same; else nothing."""
    none = runs[0].labels < 0
    if not none.any() or not all_identical([run.labels for run in runs]):
        return ""
    return (
        f", and {none.sum()} of {none.size} points are noise in all of them, so they have no "
        "score, or 0 with {unassigned='disagree'}"
    )


def all_identical(columns: Iterable[Ints]) -> bool:
    """Return whether all labellings are the same, label by label."""
    first, *others = columns
    return all(np.array_equal(first, other) for other in others)


def _wanted(run: Run, key: str | None, value: Any) -> int:
    """Return the number of clusters that the run should find; 0 if the method chooses it."""
    value = value if key is None else run.params.get(key, value)
    return int(value) if isinstance(value, numbers.Integral) else 0
