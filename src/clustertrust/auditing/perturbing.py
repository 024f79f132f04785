"""A given labelling → runs that perturb data and method, and what they say of its clusters."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from clustertrust._errors import ParameterError
from clustertrust._parallel import count_threads, map_blocks, one_blas_thread
from clustertrust._types import Ints
from clustertrust.auditing.cuts import halves
from clustertrust.auditing.given import Labelling
from clustertrust.auditing.lines import FEW_COLUMNS, has_valley
from clustertrust.auditing.propagating import labels_of, nearest_labelled, propagate
from clustertrust.auditing.verdicts import (
    MERGED,
    NEIGHBOURS,
    UNCLEAR,
    Sample,
    judge_run,
    members_of,
    most_frequent,
)
from clustertrust.auditing.votes import match_to_given
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
# Share of a cluster's points with a neighbour in another, from which on it is part of that one
BESIDE = 0.5
# Neighbours known of each point: enough that hardly ever fewer than needed are drawn.
DEPTH = 4 * max(PROPAGATED)


def recipe_of(clusterer: Any, k: int, scoring: Scoring, verbose: bool) -> Recipe | None:
    """Return how clusterers make runs, with k clusters if they take a number.

    None: no clusterer was named, and the distances are not Euclidean ones between points.
    """
    geometry, metric = scoring.geometry, scoring.geometry.used_metric
    if clusterer is None:
        if not _has_plain_points(scoring):
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


def _has_plain_points(scoring: Scoring) -> bool:
    """Return whether X holds points that are compared by their Euclidean distance."""
    return not scoring.geometry.is_precomputed and scoring.geometry.used_metric.is_euclidean


def cluster(X: Any, labelling: Labelling, recipe: Recipe, seeds: list[int]) -> list[Run]:
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


def propagate_all(
    X: Any, labelling: Labelling, seeds: list[int], scoring: Scoring
) -> tuple[list[Run], Ints, Ints]:
    """Return runs that propagate labels from half of the points, and their verdicts (V, k)."""
    hood = nearest_labelled(X, labelling.labelled, DEPTH, scoring.geometry, scoring.compute)
    flat = _has_plain_points(scoring)

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
    if flat and X.shape[1] > FEW_COLUMNS:
        near = labels_of(hood.of[:, :NEIGHBOURS], labelling.labels)
        for a, b in _doubted(X, labelling, near, (outcomes, partners), seeds[0]):
            outcomes[(outcomes[:, a] == MERGED) & (partners[:, a] == b), a] = UNCLEAR
        partners[outcomes == UNCLEAR] = -1
    return runs, outcomes, partners


def _doubted(
    X: Any, labelling: Labelling, near: Ints, judged: tuple[Ints, Ints], seed: int
) -> list[tuple[int, int]]:
    """Return the clusters that most runs merge, and with what, though there are two clouds.

    Not where most points of one have a neighbour in the other: it is not a separate cloud. `near`
    (n, K) are the given labels of neighbours.
    """
    members = members_of(labelling.labels, labelling.k)

    def apart(a: int, b: int) -> bool:
        shares = [(near[members[c]] == d).any(axis=1).mean() for c, d in ((a, b), (b, a))]
        return max(shares) < BESIDE and has_valley(X, members[a], members[b], seed)

    merged = {a: b for a, (verdict, b) in enumerate(most_frequent(*judged)) if verdict == MERGED}
    pairs = {(min(pair), max(pair)) for pair in merged.items()}
    valleys = {pair: apart(*pair) for pair in sorted(pairs)}
    return [(a, b) for a, b in merged.items() if valleys[min(a, b), max(a, b)]]
