"""One given labelling → runs that perturb data and method, matched to it → an Audit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clustertrust._devices import resolve_device, to_host
from clustertrust._errors import InputError, Message, ParameterError
from clustertrust._parallel import count_threads, map_blocks, one_blas_thread
from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust._validation import (
    MOST,
    check_count,
    is_dask,
    read_label_vector,
    warn_user,
)
from clustertrust.auditing.classifying import (
    AUTO,
    check_classifier,
    check_probabilities,
    cross_validate,
    name_of,
)
from clustertrust.auditing.cuts import halves
from clustertrust.auditing.propagating import nearest_labelled, propagate
from clustertrust.auditing.record import Audit
from clustertrust.auditing.verdicts import NEIGHBOURS, Sample, judge_run
from clustertrust.auditing.votes import (
    count,
    margin_of,
    match_to_given,
    smoothed,
    standard_errors,
    weight_of,
)
from clustertrust.cells import meet
from clustertrust.consensus import runner_up
from clustertrust.ensemble.fitting import Run, prepare
from clustertrust.ensemble.labels import in_order_of
from clustertrust.ensemble.recipe import Recipe, draw_seeds, run_all
from clustertrust.ensemble.record import Ensemble
from clustertrust.ensemble.runs import Runs
from clustertrust.geometry.component import NORMALIZATIONS
from clustertrust.geometry.measuring import measure
from clustertrust.notes import note_on_noise
from clustertrust.results import frame_of
from clustertrust.scoring.components import fit_components, fused_parts
from clustertrust.scoring.settings import Scoring

N_RUNS = 40
# One run in so many is the clusterer's, the others propagate labels
EVERY = 4
# Neighbours whose labels a run takes, in turn, and the share of points that have labels in it.
PROPAGATED = (3, 5, 9, 15)
SHARE = 0.5
# Share of the points that a run of the clusterer is fitted on
CLUSTERED = 0.8
# Neighbours known of each point: enough that hardly ever fewer than needed are drawn.
DEPTH = 4 * max(PROPAGATED)


@dataclass(frozen=True)
class _Labelling:
    """The given labelling: codes (n,), -1 for none, the name behind each code, and noise."""

    labels: Ints
    names: Array
    noise: Mapping[str, int]

    @property
    def k(self) -> int:
        return len(self.names)

    @property
    def labelled(self) -> Ints:
        """Positions of the points that have a label."""
        return np.flatnonzero(self.labels >= 0)


def audit(
    X: Any,
    labels: Any,
    *,
    clusterer: Any = None,
    classifier: Any = AUTO,
    pred_probs: Any = None,
    n_runs: int = N_RUNS,
    fusion: Any = "harmonic",
    geometry: Any = "auto",
    metric: Any = "euclidean",
    normalization: str = "affine",
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    device: str = "auto",
) -> Audit:
    """Score one labelling that you already have, from any tool or person.

    Runs perturb the data and the method. Three of four propagate the given labels: half of the
    points are drawn, and every point takes the label of most of its 3, 5, 9 or 15 nearest
    neighbours among them, without its own label. One of four clusters 80 % of the points into the
    given number of clusters, and its clusters are matched to the given ones. Stability is the share
    of runs that agree with the given label; geometry is the point's silhouette among the given
    clusters. A classifier that has not seen the point's label votes too: its margin, the
    probability of the given label less the largest other, is averaged with what the runs and
    geometry give. The weights follow from how many of the given labels each side gets wrong.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame; (n, n) distances, values of a kernel or weights of links
    labels : (n,) labels of any kind, or Ensemble of one run
        At least two clusters. Noise and missing values mean that the point has no label: it gets no
        score, but a suggestion. :meth:`clustertrust.Ensemble.from_labels` says what is noise, and
        its option changes that. A pandas Series with the index of X in another order is put into
        the order of X, with a warning.
    clusterer : str, estimator, function, or a list of these, optional
        As in :class:`clustertrust.CAKE`; those that take a number of clusters get the given one.
        None: "kmeans" for points and the Euclidean metric; otherwise all runs propagate labels.
    classifier : "auto", scikit-learn classifier or None
        It is cross-validated on five random folds, with about as many points of each label in
        each. "auto": extra trees for points with coordinates, and none for distances, graphs and
        tables with categories. None: runs and geometry alone.
    pred_probs : (n, k) array or frame, optional
        Probabilities of the labels that you have, made without the point itself, in place of
        `classifier`. The columns of an array are in the sorted order of the labels, as in cleanlab;
        those of a frame have the names of the labels.
    n_runs : int
        R, at least 4.
    fusion, geometry, metric
        See :class:`clustertrust.CAKE`; a metric serves the neighbours too.
    normalization : {"affine", "clip"}
        See :class:`clustertrust.CAKE`. Here "affine" is the default: it ranks points whose
        silhouette is below 0 as well.
    random_state : int, RandomState, sequence of R seeds or None
        The seed of run r depends on `random_state` and r alone.
    n_jobs : int, optional
        Threads; None: every core. The result is the same for any number.
    verbose : bool
        Show a progress bar while the clusterer runs, where there is a terminal.
    device
        Where silhouettes are computed; see :class:`clustertrust.CAKE`. Runs are made on the CPU.

    Returns
    -------
    Audit
        A :class:`clustertrust.Confidence` with `issues`, `suggested` labels and `verdicts` on the
        clusters.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import audit
    >>> X, y = load_iris(return_X_y=True)
    >>> species = ["setosa", "versicolor", "virginica"]
    >>> names = [species[label] for label in y]
    >>> names[3] = "virginica"  # a slip
    >>> audited = audit(X, names, random_state=0)
    >>> names[3], str(audited.suggested[3]), bool(audited.issues[3]), bool(audited.scores[3] < 0.1)
    ('virginica', 'setosa', True, True)
    """
    # All parameters by name.
    scoring = Scoring.from_params(locals())
    n_runs = check_count("n_runs", n_runs, at_least=EVERY, at_most=MOST)
    check_classifier(classifier, pred_probs)
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection; audit needs all points in memory: give X.compute()."
        )
    scoring = scoring.on(resolve_device(device, X))
    X = to_host(X)
    labelling = _read(X, labels)
    votes = None
    if pred_probs is not None:
        votes = check_probabilities(X, pred_probs, len(labelling.labels), labelling.names)
    points = scoring.check_points(X, len(labelling.labels))
    is_used = pred_probs is not None or _takes_classifier(classifier, scoring)
    recipe = _recipe(clusterer, labelling.k, scoring, verbose)
    _, seeds = draw_seeds(random_state, n_runs)
    by_kind: dict[bool, list[int]] = {True: [], False: []}
    clusters = [recipe is not None and r % EVERY == 0 for r in range(n_runs)]
    for is_clustered, seed in zip(clusters, seeds, strict=True):
        by_kind[is_clustered].append(seed)
    clustered = [] if recipe is None else _cluster(points, labelling, recipe, by_kind[True])
    propagated, outcomes, partners = _propagate(points, labelling, by_kind[False], scoring)
    made = {True: iter(clustered), False: iter(propagated)}
    runs = [next(made[is_clustered]) for is_clustered in clusters]
    if votes is None and is_used:
        codes, k = labelling.labels, labelling.k
        votes = cross_validate(points, codes, k, classifier, seeds[0], scoring.compute.n_jobs)
    return Audit(
        **_score(points, labelling, runs, scoring, votes),
        classifier=name_of(classifier, pred_probs) if is_used else None,
        reference_run=0,
        n_runs=n_runs,
        agreement="given",
        outcomes=outcomes,
        partners=partners,
        frame=frame_of(X),
    )


def _read(X: Any, labels: Any) -> _Labelling:
    """Check a labelling."""
    is_read = isinstance(labels, Ensemble)
    ensemble = labels if is_read else Ensemble.from_labels(in_order_of(X, labels))
    if ensemble.n_runs != 1 or is_dask(ensemble.labels):
        raise ValueError(
            f"labels has {ensemble.n_runs} run(s); an audit takes one labelling in memory. Score "
            "several with clustertrust.confidence(X, labels)."
        )
    codes, names, noise = ensemble.labels[:, 0], ensemble.label_names[0], ensemble.noise
    codes = codes.astype(np.int64)
    if names is None:
        codes, names, _ = read_label_vector("labels", codes)
    if len(names) < 2:
        problem = f"labels has {len(names)} cluster(s); an audit compares at least 2. "
        why = note_on_noise(noise) or (Message("Missing values do not count as a cluster."),)
        raise InputError(why[0].after(problem))
    if noise and not is_read:
        count = f"{sum(noise.values())} of {len(codes)} points have no score: "
        warn_user(note_on_noise(noise)[0].after(count))
    return _Labelling(codes, names, noise)


def _recipe(clusterer: Any, k: int, scoring: Scoring, verbose: bool) -> Recipe | None:
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


def _takes_classifier(classifier: Any, scoring: Scoring) -> bool:
    """Return whether a classifier is fitted; raise for one where points have no coordinates."""
    geometry = scoring.geometry
    has_points = not geometry.is_precomputed and not geometry.used_metric.is_coordinate_free
    if classifier is None or has_points:
        return classifier is not None
    if isinstance(classifier, str):
        return False
    raise ParameterError(
        "classifier",
        classifier,
        "needs points with coordinates",
        "leave {classifier} out, or give the probabilities that you have as {pred_probs}",
    )


def _has_plain_points(scoring: Scoring) -> bool:
    """Return whether X holds points that are compared by their Euclidean distance."""
    return not scoring.geometry.is_precomputed and scoring.geometry.used_metric.is_euclidean


def _cluster(X: Any, labelling: _Labelling, recipe: Recipe, seeds: list[int]) -> list[Run]:
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
    recipe.warn_of(fitted)
    runs = []
    for run in fitted:
        labels = np.full(len(labelling.labels), -1, dtype=np.int64)
        labels[labelled] = run.labels
        if rest.size and run.placer is not None:
            labels[rest] = run.placer(X[rest])
        matched = match_to_given(labels, labelling.labels, labelling.k)
        runs.append(replace(run, labels=matched, placer=None, centers=None))
    return runs


def _propagate(
    X: Any, labelling: _Labelling, seeds: list[int], scoring: Scoring
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
    return runs, outcomes, partners


def _score(
    X: Any,
    labelling: _Labelling,
    runs: list[Run],
    scoring: Scoring,
    probabilities: Floats | None,
) -> dict[str, Any]:
    """Return the fields of `Audit` that come from runs, given clusters and the classifier."""
    labels, k = labelling.labels, labelling.k
    ballot = count(np.column_stack([run.labels for run in runs]), labels, k)
    alone = Ensemble(labels[:, None].astype(np.int32), (labelling.names,))
    geometry, built = measure(X, alone, meet(alone.labels), scoring.geometry, scoring.compute)
    by_run, others = built.silhouettes(built.cells.rows[built.cells.cell_of])
    s, nearest = by_run[:, 0], others[:, 0]
    std = np.where(np.isnan(s), np.nan, 0.0)
    g = NORMALIZATIONS[scoring.normalization](s, std)
    parts = fit_components(X, labels, scoring).of(X, labels)
    unlabelled = labels < 0
    weight, classified = 0.0, np.zeros(len(labels))
    if probabilities is not None:
        weight = weight_of(probabilities, ballot.votes, labels)
        classified = (1 + margin_of(probabilities, labels)) / 2

    def fuse(c: Floats) -> Floats:
        by_runs = scoring.fusion(c, g, *fused_parts(parts))
        return np.asarray(weight * classified + (1 - weight) * by_runs)

    stability = np.where(unlabelled, np.nan, ballot.stability)
    shares = np.where(unlabelled, np.nan, smoothed(ballot.agree, ballot.runs))
    scores = np.where(ballot.runs > 0, fuse(shares), np.nan)
    _warn_of_missing(unlabelled, scores)
    rival = runner_up(ballot.votes, labels)
    return parts | {
        "scores": scores,
        "stability": stability,
        "geometry": g,
        "silhouette_mean": s,
        "silhouette_std": std,
        "standard_errors": np.where(unlabelled, np.nan, standard_errors(ballot, fuse)),
        "labels": labels,
        "label_names": labelling.names,
        "consensus_strength": stability,
        "votes": ballot.votes,
        "probabilities": probabilities,
        "classifier_weight": weight,
        # The nearest other cluster, where no other has a vote.
        "rival": np.where(rival >= 0, rival, nearest),
        "geometry_method": geometry.name,
        "ensemble": _ensemble(labelling, runs),
    }


def _ensemble(labelling: _Labelling, runs: list[Run]) -> Ensemble:
    """Return the given labelling and the runs side by side, in the given names."""
    as_given = Run(labelling.labels, None, None, "given", None, {})
    stacked = np.column_stack([labelling.labels, *(run.labels for run in runs)]).astype(np.int32)
    names: list[Array | None] = []
    for highest in stacked.max(axis=0):
        extra = [f"another {number}" for number in range(1, highest - labelling.k + 2)]
        names.append(np.array([*labelling.names.tolist(), *extra]) if extra else labelling.names)
    return Ensemble(stacked, tuple(names), None, (as_given, *runs), labelling.noise)


def _warn_of_missing(unlabelled: Bools, scores: Floats) -> None:
    lost = int((np.isnan(scores) & ~unlabelled).sum())
    if lost:
        warn_user(f"{lost} of {scores.size} points are assigned in no run: their scores are NaN.")
