"""A given labelling → runs that perturb data and method, and what they say of its clusters."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from clustertrust._errors import ParameterError
from clustertrust._parallel import count_threads, map_blocks, one_blas_thread
from clustertrust._types import Floats, Ints
from clustertrust.auditing.cuts import halves
from clustertrust.auditing.given import Labelling
from clustertrust.auditing.propagating import labels_of, nearest_labelled, propagate
from clustertrust.auditing.verdicts import NEIGHBOURS, Sample, judge_run
from clustertrust.auditing.votes import count, match_to_given
from clustertrust.ensemble.fitting import Run, prepare
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.running import run_all
from clustertrust.ensemble.runs import Runs
from clustertrust.ensemble.warn import warn_of_runs
from clustertrust.scoring.settings import Scoring

# One run in this many is the clusterer's, the others propagate labels
EVERY = 4
# Neighbours whose labels a run takes, in turn, and the share of points that have labels in it.
PROPAGATED = (3, 5, 9, 15)
SHARE = 0.5
# Share of the points that a run of the clusterer is fitted on
CLUSTERED = 0.8
# Neighbours known of each point: enough that hardly ever fewer than needed are drawn.
DEPTH = 4 * max(PROPAGATED)


def recipe_of(clusterer: Any, k: int, scoring: Scoring, verbose: bool) -> Recipe | None:
    """Return how clusterers make runs, with k clusters if they take a number.

    None: no clusterer was named, and the distances are not Euclidean ones between points.
    """
    geometry, metric = scoring.geometry, scoring.geometry.used_metric
    if clusterer is None:
        if not has_plain_points(scoring):
            return None
        clusterer = "kmeans"
    if geometry.is_precomputed and not metric.is_precomputed:
        raise ParameterError(
            "clusterer",
            clusterer,
            "needs points or distances, and X holds similarities",
            "leave {clusterer} out: all runs then propagate the labels",
        )
    several = list(clusterer) if isinstance(clusterer, list | tuple) else [clusterer]
    recipe = Recipe.from_params(
        {
            "clusterer": several,
            "metric": metric,
            "resample": CLUSTERED,
            "n_runs": Runs(left_out="predict"),
            "n_jobs": scoring.compute.n_jobs,
            "verbose": verbose,
        }
    )
    methods = (
        method if method.k[0] is None else prepare(one, k, metric)
        for one, method in zip(several, recipe.methods, strict=True)
    )
    return replace(recipe, methods=tuple(methods))


def has_plain_points(scoring: Scoring) -> bool:
    """Return whether X holds points that are compared by their Euclidean distance."""
    return not scoring.geometry.is_precomputed and scoring.geometry.used_metric.is_euclidean


def cluster(X: Any, labelling: Labelling, recipe: Recipe, seeds: Sequence[int]) -> list[Run]:
    """Return runs of the clusterers on resamples of the labelled points, in the given names.

    Points without a label take no part in a run, which only places them.
    """
    labelled = labelling.labelled
    rest = np.flatnonzero(labelling.labels < 0)
    recipe.check_size(labelled.size)
    # Columns are points too: those without a label go
    if recipe.is_precomputed:
        X = X[:, labelled]
    fitted = run_all(X[labelled], recipe, list(enumerate(seeds)))
    warn_of_runs(recipe, fitted)
    runs = []
    for run in fitted:
        labels = np.full(len(labelling.labels), -1, dtype=np.int64)
        labels[labelled] = run.labels
        if rest.size and run.placer is not None:
            labels[rest] = run.placer(X[rest])
        matched = match_to_given(labels, labelling.labels, labelling.k)
        runs.append(replace(run, labels=matched, placer=None, centers=None))
    return runs


class Propagated(NamedTuple):
    """Runs that propagate labels.

    Attributes
    ----------
    runs : all V of them
    outcomes, partners : (V, k) their verdicts on the clusters, as `judge_run` gives them
    near : (n, K) given labels of the nearest points of each point, -1: none
    """

    runs: list[Run]
    outcomes: Ints
    partners: Ints
    near: Ints

    def shares(self, given: Ints, k: int) -> Floats:
        """Return the share of the runs (n, k) that give a point each label; 0 where none does."""
        ballot = count(np.column_stack([run.labels for run in self.runs]), given, k)
        return np.nan_to_num(ballot.votes)


def propagate_all(X: Any, labelling: Labelling, seeds: list[int], scoring: Scoring) -> Propagated:
    """Return runs that propagate labels from half of the points."""
    hood = nearest_labelled(X, labelling.labelled, DEPTH, scoring.geometry, scoring.compute)
    flat = has_plain_points(scoring)

    def one(r: int) -> tuple[Run, tuple[Ints, Ints]]:
        began, seed = time.perf_counter(), seeds[r]
        drawn = np.random.default_rng(seed).random(len(labelling.labels)) < SHARE
        k = PROPAGATED[r % len(PROPAGATED)]
        nearest = hood.drawn(drawn, max(k, NEIGHBOURS))
        labels = propagate(nearest.of[:, :k], labelling.labels, labelling.k)
        near = nearest.of[:, :NEIGHBOURS]
        away = nearest.distances[:, :NEIGHBOURS]
        # A point's width is the distance to its last neighbour.
        width = np.where(np.isfinite(away), away, 0.0).max(axis=1)
        sample = Sample(near, width, labels, halves(X, seed) if flat else None)
        verdicts = judge_run(sample, labelling.labels, labelling.k)
        made = Run(
            labels=labels,
            placer=None,
            centers=None,
            method="propagation",
            seed=seed,
            params={"n_neighbors": k},
            seconds=time.perf_counter() - began,
        )
        return made, verdicts

    with one_blas_thread:
        each = map_blocks(one, iter(range(len(seeds))), count_threads(scoring.compute.n_jobs))
        runs, judged = (list(part) for part in zip(*each, strict=True))
    outcomes, partners = (np.array(part) for part in zip(*judged, strict=True))
    return Propagated(
        runs, outcomes, partners, labels_of(hood.of[:, :NEIGHBOURS], labelling.labels)
    )
