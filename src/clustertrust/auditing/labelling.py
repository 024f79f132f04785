"""One given labelling → runs that perturb data and method, matched to it → an Audit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from clustertrust._devices import resolve_device, to_host
from clustertrust._errors import ParameterError
from clustertrust._types import Array, Bools, Floats
from clustertrust._validation.arguments import MOST, check_count, warn_user
from clustertrust._validation.frames import is_dask, is_frame
from clustertrust.auditing.classifying import (
    AUTO,
    check_classifier,
    check_probabilities,
    cross_validate,
    name_of,
)
from clustertrust.auditing.given import Labelling, read_labelling
from clustertrust.auditing.pairs import reconsider, space_of
from clustertrust.auditing.perturbing import (
    EVERY,
    cluster,
    propagate_all,
    recipe_of,
)
from clustertrust.auditing.record import Audit
from clustertrust.auditing.verdicts import recognised
from clustertrust.auditing.votes import (
    count,
    margin_of,
    pool,
    smoothed,
    standard_errors,
    weights_of,
)
from clustertrust.cells import meet
from clustertrust.consensus import runner_up
from clustertrust.ensemble.fitting import Run
from clustertrust.ensemble.record import Ensemble
from clustertrust.ensemble.runs import draw_seeds
from clustertrust.geometry.component import NORMALIZATIONS
from clustertrust.geometry.measuring import measure
from clustertrust.results import frame_of
from clustertrust.scoring.components import fit_components, fused_parts
from clustertrust.scoring.settings import Scoring

N_RUNS = 40


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
    clusters. Classifiers that have not seen the point's label vote too: their margin, the
    probability of the given label less the largest other, is averaged with what the runs and
    geometry give. The weights follow from how many of the given labels each of them, and the runs,
    get wrong.

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
        each. "auto": for points with coordinates extra trees, logistic regression, and logistic
        regression of the nearness to 100 of the points; none for distances, graphs and tables with
        categories. A classifier of yours gets the rows of a frame as a frame, and may encode its
        categories. None: runs and geometry alone.
    pred_probs : (n, k) array or frame, optional
        Your own probabilities of the labels, from a model that has not seen the point, in place of
        `classifier`. The columns of an array are in the sorted order of the labels, as in cleanlab;
        those of a frame have the names of the labels.
    n_runs : int
        R, at least 4.
    fusion, geometry, metric
        See :class:`clustertrust.CAKE`; a metric serves the neighbours too.
    normalization : {"affine", "clip", "smooth"}
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
    >>> names[3] = "virginica"  # an error
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
    labelling = read_labelling(X, labels)
    opinions = []
    if pred_probs is not None:
        opinions = [check_probabilities(X, pred_probs, len(labelling.labels), labelling.names)]
    points = scoring.check_points(X, len(labelling.labels))
    is_used = pred_probs is not None or _takes_classifier(X, classifier, scoring)
    recipe = recipe_of(clusterer, labelling.k, scoring, verbose)
    _, seeds = draw_seeds(random_state, n_runs)
    clusters = [recipe is not None and r % EVERY == 0 for r in range(n_runs)]
    clustered = [] if recipe is None else cluster(points, labelling, recipe, seeds[::EVERY])
    others = [seed for seed, is_clustered in zip(seeds, clusters, strict=True) if not is_clustered]
    propagated = propagate_all(points, labelling, others, scoring)
    made = iter(propagated.runs), iter(clustered)
    runs = [next(made[is_clustered]) for is_clustered in clusters]
    codes, k = labelling.labels, labelling.k
    if is_used and not opinions:
        # A classifier of the user's may choose columns by name.
        by_name = is_frame(X) and not isinstance(classifier, str) and not sparse.issparse(points)
        rows = X if by_name else points
        opinions = cross_validate(rows, codes, k, classifier, seeds[0], scoring.compute.n_jobs)
    scored = _score(points, labelling, runs, scoring, opinions)
    # The rules for pairs were chosen with the trees alone, the first. Where no classifier votes,
    # the runs do, which have not seen the point's label either.
    first = opinions[0] if opinions else propagated.shares(codes, k)
    space = space_of(points, scoring)
    outcomes, partners = reconsider(space, labelling, propagated, first, seeds[0])
    return Audit(
        **scored,
        classifier=name_of(classifier, pred_probs) if is_used else None,
        recognised=recognised(scored["probabilities"] if opinions else first, codes),
        reference_run=0,
        n_runs=n_runs,
        agreement="given",
        outcomes=outcomes,
        partners=partners,
        frame=frame_of(X),
    )


def _takes_classifier(X: Any, classifier: Any, scoring: Scoring) -> bool:
    """Return whether a classifier is fitted; raise for one where points have no coordinates.

    The default ones need numbers; one of the user's may encode the categories of a frame.
    """
    geometry, is_default = scoring.geometry, isinstance(classifier, str)
    has_numbers = not geometry.used_metric.is_coordinate_free
    has_points = not geometry.is_precomputed and (has_numbers or (is_frame(X) and not is_default))
    if classifier is None or has_points:
        return classifier is not None
    if is_default:
        return False
    raise ParameterError(
        "classifier",
        classifier,
        "needs points with coordinates",
        "leave {classifier} out, or give the probabilities that you have as {pred_probs}",
    )


def _score(
    X: Any,
    labelling: Labelling,
    runs: list[Run],
    scoring: Scoring,
    opinions: list[Floats],
) -> dict[str, Any]:
    """Return the fields of `Audit` that come from runs, given clusters and classifiers."""
    labels, k = labelling.labels, labelling.k
    ballot = count(np.column_stack([run.labels for run in runs]), labels, k)
    alone = Ensemble(labels[:, None].astype(np.int32), (labelling.names,))
    geometry, built = measure(X, alone, meet(alone.labels), scoring.geometry, scoring.compute)
    by_run, others = built.silhouettes()
    s, nearest = by_run[:, 0], others[:, 0]
    std = np.where(np.isnan(s), np.nan, 0.0)
    g = NORMALIZATIONS[scoring.normalization](s, std)
    parts = fit_components(X, labels, scoring).of(X, labels)
    unlabelled = labels < 0
    probabilities, weight, classified = None, 0.0, np.zeros(len(labels))
    if opinions:
        probabilities = pool(opinions, labels)
        weight = float(weights_of([*opinions, ballot.votes], labels)[:-1].sum())
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


def _ensemble(labelling: Labelling, runs: list[Run]) -> Ensemble:
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
