"""X and consensus labels → second opinions: do other methods put a point into the same cluster?

Runs of one method repeat its mistakes: k-means cuts a long cluster in two each time, and all its
runs agree. Other methods make other mistakes. Here a few small runs of other methods are matched to
the consensus; the second opinion on a point is the share of them that give it the same label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from clustertrust._errors import ParameterError
from clustertrust._mixtures import memberships
from clustertrust._parallel import blocks, count_threads, map_blocks
from clustertrust._types import Floats, Ints
from clustertrust.distances.metrics import EUCLIDEAN, Metric
from clustertrust.ensemble.clusterers import CLUSTERERS
from clustertrust.ensemble.placing import KnownNear, Placer, place
from clustertrust.ensemble.recipe import Recipe
from clustertrust.ensemble.running import run_all
from clustertrust.ensemble.runs import Runs, draw_seeds

# A mixture follows spreads and shapes that k-means does not, spectral clustering follows paths.
# Chosen on development data: experiments/research/opinions.
METHODS = ("gmm", "spectral")
# The same where there are distances but no coordinates.
METHODS_BY_DISTANCE = ("kmedoids", "agglomerative", "spectral")
# A run is fitted on half of the points, on this many at most, and on some of each cluster.
MOST_POINTS, POINTS_A_CLUSTER = 500, 10
# Rows that a thread places at a time.
BLOCK_ROWS = 8_192
# Points whose means are taken for the middles of clusters.
MIDDLE_POINTS = 10_000


@dataclass(frozen=True)
class Opinions:
    """Runs of other methods, matched to the clusters of a consensus.

    Attributes
    ----------
    placers : how each run labels points; none where there is only one cluster to choose
    names : for each run the consensus label of each of its clusters, -1: none
    n_labels : number of consensus labels
    n_jobs : threads that place points
    """

    placers: list[Placer]
    names: list[Ints]
    n_labels: int
    n_jobs: int | None = None

    def votes(self, X: Any, labels: Ints) -> Floats:
        """Return the share of the runs that give each label: (n, n_labels).

        `labels` (n,) are those of the consensus; they save time with many points.
        """
        near = self._near(X, labels)

        def of_rows(rows: slice) -> Floats:
            placed = place(self.placers, X[rows]) if near is None else near(rows)
            named = _translate(placed, self.names)
            # One more for those without a label
            at = np.arange(len(named))[:, None] * (self.n_labels + 1) + named + 1
            counts = np.bincount(at.ravel(), minlength=len(named) * (self.n_labels + 1))
            return np.asarray(counts.reshape(len(named), -1)[:, 1:] / named.shape[1])

        some = blocks(X.shape[0], 8 * (X.shape[1] + MOST_POINTS), largest=BLOCK_ROWS)
        parts = map_blocks(of_rows, some, count_threads(self.n_jobs))
        return np.concatenate([np.empty((0, self.n_labels)), *parts])

    def _near(self, X: Any, labels: Ints) -> Callable[[slice], Ints] | None:
        """Return what places rows of X by the middles of the consensus clusters; None: nothing."""
        n = len(labels)
        if n <= BLOCK_ROWS or not isinstance(X, np.ndarray):
            return None
        # Any point may be a center; the mean of some members is in the middle of all.
        some = slice(None, None, max(1, n // MIDDLE_POINTS))
        P = memberships(labels[some], np.arange(self.n_labels))
        centers = P @ X[some] / np.maximum(P.sum(axis=1), 1)[:, None]
        known = KnownNear(self.placers, centers)
        return lambda rows: known.place(X[rows], labels[rows])

    def of(self, X: Any, labels: Ints) -> tuple[Floats, Ints]:
        """Return the share of the runs that give each point its label, and the label most give.

        The share is 0 where the label is -1. In a tie the point's own label wins; -1 if no
        run gives one.
        """
        own = np.maximum(labels, 0)
        if not self.placers:
            return np.where(labels >= 0, 1.0, 0.0), labels
        votes = self.votes(X, labels)
        everyone = np.arange(len(own))
        share = np.where(labels >= 0, votes[everyone, own], 0.0)
        choice = np.where(votes.max(axis=1) > 0, votes.argmax(axis=1), -1)
        kept = (labels >= 0) & (share >= votes.max(axis=1)) & (share > 0)
        return share, np.where(kept, labels, choice)


def _translate(labels: Ints, names: Sequence[Ints]) -> Ints:
    """Return labels of runs (n, R) as labels of the consensus, -1: none."""
    columns = []
    for run, own in zip(labels.T, names, strict=True):
        matched = (run >= 0) & (run < len(own))
        columns.append(np.where(matched, own[np.where(matched, run, 0)], -1))
    return np.column_stack(columns)


def _match(run: Ints, labels: Ints, n_labels: int) -> Ints:
    """Return the consensus label of each cluster of a run, so that most points agree."""
    both = (run >= 0) & (labels >= 0)
    table = np.zeros((int(run.max(initial=-1)) + 1, n_labels))
    np.add.at(table, (run[both], labels[both]), 1)
    names = np.full(len(table), -1)
    clusters, partners = linear_sum_assignment(table, maximize=True)
    names[clusters] = np.where(table[clusters, partners] > 0, partners, -1)
    return names


def check_methods(methods: Sequence[Any], metric: Metric) -> None:
    """Raise for a method that is none, or that the metric does not suit."""
    try:
        _recipe(methods, metric)
    except ParameterError as error:
        # Of these methods, not of the clusterer of the runs that are scored
        name = "methods" if error.parameter == "clusterer" else error.parameter
        kind = type(error)
        raise kind(name, error.value, error.problem, error.remedy, **error.others) from None


def _recipe(methods: Sequence[Any], metric: Metric, **others: Any) -> Recipe:
    return Recipe.from_params({"clusterer": list(methods), "metric": metric, **others})


def default_methods(X: Any, metric: Metric, k: int) -> tuple[str, ...]:
    """Return the methods that suit the data: points, distances, or a sparse graph of these.

    Those that need more points for k clusters are left out.
    """
    names: tuple[str, ...] = METHODS if metric.is_euclidean else METHODS_BY_DISTANCE
    if metric.is_precomputed and sparse.issparse(X):
        names = tuple(name for name in names if CLUSTERERS[name].takes_graph)
    able = tuple(name for name in names if CLUSTERERS[name].fewest_points(k) <= X.shape[0])
    return able or names


def gather_opinions(
    X: Any,
    labels: Ints,
    *,
    methods: Sequence[Any] | None = None,
    n_runs: int = 4,
    metric: Metric = EUCLIDEAN,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Opinions:
    """Fit `n_runs` runs of each method, and match them to consensus labels (n,); -1: none.

    X is checked: points, or distances where the metric says so. Each run is fitted on at most
    `MOST_POINTS` points, so the cost is that of small fits and of placing points. Methods that
    take a number of clusters get that of the labels.
    """
    n_labels = int(labels.max(initial=-1)) + 1
    k = len(np.unique(labels[labels >= 0]))
    if k < 2:
        return Opinions([], [], max(n_labels, 1))
    n = X.shape[0]
    size = min(max(n // 2, POINTS_A_CLUSTER * k), max(MOST_POINTS, POINTS_A_CLUSTER * k))
    chosen = default_methods(X, metric, k) if methods is None else methods
    count = n_runs * len(chosen)
    # One run is a second opinion, though no ensemble. A run that is left out places no point; its
    # model does, below.
    dropping = Runs(max(count, 2), on_failure="drop")
    resample = size / n if size < n else None
    recipe = _recipe(chosen, metric, n_runs=dropping, resample=resample, n_jobs=n_jobs).with_k(k)
    seeds = enumerate(draw_seeds(seed, count)[1])
    runs = run_all(X, recipe, list(seeds), what="runs for second opinions")
    if not runs:
        raise ValueError(
            f"No run of {', '.join(map(str, chosen))} gave a second opinion; name other methods: "
            "fusion=Combined(methods=['kmeans', 'agglomerative'])."
        )
    # By the points that a run was fitted on: the others are -1 in it.
    names = [_match(run.labels, labels, n_labels) for run in runs]
    placers = [run.placer for run in runs if run.placer is not None]
    return Opinions(placers, names, n_labels, n_jobs)
