"""The data at each k, the signals that support a k, and the comparison with data without clusters.

No single index finds the number of clusters everywhere. Here few signals that fail in different
ways give each k a probability (`combine`), and surrogates without clusters say whether there is
anything to count (`null_test`).
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from clustertrust._devices import resolve_device
from clustertrust._errors import ParameterError
from clustertrust._parallel import kept_threads, one_blas_thread
from clustertrust._progress import progress
from clustertrust._types import Array, Floats
from clustertrust._validation.arguments import MOST, check_choice, check_count, check_list
from clustertrust.distances.shared import shared_silhouettes
from clustertrust.ensemble.runs import spawn_seeds
from clustertrust.estimator import CAKE
from clustertrust.k_profile.mixtures import MOST_AXES
from clustertrust.k_profile.null_test import EFFORTS, Comparison
from clustertrust.k_profile.one_k import Row, score_one_k
from clustertrust.k_profile.record import KProfile
from clustertrust.k_profile.signals import Signal, likelihoods, why_no_mixture
from clustertrust.null.reference import check_level
from clustertrust.null.templates import (
    check_has_coordinates,
    check_template,
    draw_entropy,
    draw_sample,
)
from clustertrust.scoring.settings import Settings
from clustertrust.surrogates.drawn import build_each, seeded
from clustertrust.surrogates.families import VERDICT, check_families

# Runs of each ensemble, where no template is given
RUNS = 10
# Most points that mixtures are fitted to
MOST_POINTS = 1000
# First number of the spawn key of their sample
_MIXED = 90


def check_ks(ks: Any, n_points: int) -> list[int]:
    """Return the numbers of clusters to try, in ascending order."""
    checked = sorted(check_count("ks", k, at_least=2) for k in check_list("ks", ks, "range(2, 13)"))
    if len(checked) < 2 or len(set(checked)) < len(checked):
        raise ValueError(
            f"ks={ks!r} must hold at least two different numbers, each once, such as range(2, 13)."
        )
    if checked[-1] >= n_points:
        raise ValueError(
            f"ks={ks!r} goes up to {checked[-1]}; stay below the number of points, {n_points}."
        )
    return checked


def check_open_template(cake: Any) -> CAKE:
    """Return the estimator whose settings are used; `ks` sets its number of clusters."""
    if cake is None:
        return CAKE(n_runs=RUNS)
    if isinstance(cake, numbers.Integral):
        raise TypeError(f"cake={cake!r} must be a CAKE; the numbers of clusters to try are ks.")
    template = check_template(cake)
    if template.n_clusters is not None:
        raise ParameterError(
            "n_clusters",
            template.n_clusters,
            "of the CAKE is not used: ks sets it",
            "leave it out",
        )
    if template.vary is not None and "n_clusters" in template.vary:
        raise ValueError(
            "vary['n_clusters'] cannot be combined with ks, which sets the number of clusters; "
            "drop one."
        )
    return template


@kept_threads()
def choose_k(
    X: Any,
    ks: Iterable[int] = range(2, 13),
    cake: CAKE | None = None,
    *,
    null: Sequence[str] | None = VERDICT,
    effort: str = "quick",
    n_surrogates: int = 19,
    level: float = 0.05,
    max_points: int | None = 2000,
) -> KProfile:
    """Recommend a number of clusters, with a probability, or say that there are none.

    Parameters
    ----------
    X : (n, d) array or frame
        The points; not sparse.
    ks : range or list of int
        The numbers of clusters to try, each at least 2.
    cake : CAKE, optional
        An estimator whose settings are used, such as ``CAKE(clusterer="gmm", random_state=0)``,
        without `n_clusters`; it is not fitted. Its clusterer must take a number of clusters. With
        its `random_state` the data get the scores of its own fit with k clusters; the surrogates
        have their own seeds. Its `n_jobs` is the number of runs or surrogates at a time; it does
        not change the result. With `verbose` a progress bar is shown. None: ``CAKE(n_runs=10)``.
    null : sequence of {"box", "gaussian", "permuted", "hull"}, or None
        Kinds of surrogates, see :func:`clustertrust.null_reference`. One that does not apply, such
        as the hull in more than three dimensions, is left out; ``profile.null_test.left_out`` says
        why. None: no comparison, and the answer is never 1.
    effort : {"quick", "full"}
        How surrogates are compared. "quick": 400 points of the data and of each surrogate,
        clustered once with up to six of the k, by mean silhouettes. "full": every surrogate is
        scored as the data are, by mean scores; this takes about forty times as long as the data.
    n_surrogates : int
        B, number of surrogates of each family: the same for all k.
    level : float
        The data are structured if the largest p-value, over the whole range of k, is at most this.
    max_points : int or None
        If there are more points, a random sample of this size is scored. None: all are scored.

    Returns
    -------
    KProfile
        `best` is the recommendation, `confidence` its probability, `plausible` the numbers that may
        well be right, `to_frame()` the table behind them.

    Notes
    -----
    Two signals count where both apply: *likelihood*, that of Gaussian mixtures that start at the
    clusters of the best run, with a price for every parameter; and *stability*, how much the runs
    agree. A third, *separation*, the mean silhouette of the best run, is always shown but counts
    only where one of these is missing. Each k is compared with the best of each signal, in standard
    errors t, and its probability is proportional to 1/k, the prior, times the product of
    (1 + t)^-w. The weights w are those that made the right k most probable on development sets;
    that of separation, given the other two, was 0. A signal that does not apply (likelihood
    without coordinates, or for clusterers whose clusters have any shape; stability where all runs
    agree) is left out, and `left_out` says why. Mixtures are fitted to at most 1,000 of the points,
    in the first ten principal axes.

    If data without clusters score as high, `best` is 1. The result is the number of groups that
    this clusterer separates, which may differ from the number of classes.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from clustertrust import CAKE, choose_k
    >>> X = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)[0]
    >>> profile = choose_k(X, range(2, 6), CAKE(n_runs=5, random_state=0))
    >>> profile.best, profile.structured, profile.plausible
    (3, True, (3,))
    """
    otherwise = ", or None for no comparison"
    families = None if null is None else check_families("null", null, otherwise)
    check_choice("effort", effort, EFFORTS)
    B = check_count("n_surrogates", n_surrogates, at_least=2, at_most=MOST)
    level = check_level(level, B)
    cake = check_open_template(cake)
    if families is not None:
        check_has_coordinates(cake, "{choose_k.null=None} compares the numbers of clusters alone")
    entropy = draw_entropy(cake.random_state)
    sample, _, points = draw_sample(X, max_points, entropy, cake)
    tried = check_ks(ks, len(points))
    device = resolve_device(cake.device, X)
    first = Settings.from_estimator(clone(cake).set_params(n_clusters=tried[0])).on(device)
    first.check_points(sample)
    plans = [replace(first, recipe=first.recipe.with_k(k)) for k in tried]
    for plan in plans:
        plan.recipe.check_size(len(points))
    seeds = spawn_seeds(entropy, plans[0].recipe.count())
    null_test = None
    # Set once for all that follows
    with one_blas_thread:
        rows = _score(sample, plans, seeds)
        columns: dict[str, Any] = {
            name: np.array([row.columns[name] for row in rows]) for name in rows[0].columns
        }
        if families is not None:
            scores = columns["mean_score"]
            null_test = EFFORTS[effort](
                Comparison(sample, np.array(tried), plans, scores, families, B, entropy)
            )
        signals = _signals(sample, plans[0], rows, entropy)
    return KProfile(
        **columns,
        **signals,
        n_clusters=np.array(tried),
        null_test=null_test,
        level=level,
        n_points=len(points),
        n_rows=len(X),
        n_runs=len(seeds),
    )


def _score(X: Array, plans: Sequence[Settings], seeds: Sequence[int]) -> list[Row]:
    """Cluster the data with each k, then score them; each shows its progress."""
    q, is_shown = len(plans), plans[0].recipe.verbose
    quiet = [replace(plan, recipe=replace(plan.recipe, verbose=False)) for plan in plans]
    models = list(progress(build_each(X, quiet, seeds), q, "numbers of clusters", verbose=is_shown))
    measures = [model.dissimilarity for model in models if model.dissimilarity is not None]
    by_model = zip(models, shared_silhouettes(measures), strict=True)
    rows = (score_one_k(X, model, s) for model, (s, _) in by_model)
    return list(progress(rows, q, "scores", verbose=is_shown))


def _signals(X: Array, settings: Settings, rows: Sequence[Row], entropy: int) -> dict[str, Any]:
    """Return the fields of the profile that hold signals, and what was left out."""
    likelihood: Floats | str | None = why_no_mixture(settings)
    notes = []
    if likelihood is None:
        rng = seeded(entropy, _MIXED, 0)
        part = np.sort(rng.permutation(len(X))[:MOST_POINTS])
        likelihood, reduced = likelihoods(X[part], [row.partition[part] for row in rows])
        if len(part) < len(X):
            notes.append(f"Likelihood from {len(part)} of the points.")
        if reduced:
            notes.append(
                f"Likelihood in the first {MOST_AXES} principal axes of {X.shape[1]} columns."
            )
    agreement = np.column_stack([row.agreement for row in rows])
    differ = np.nanmin(agreement, initial=1.0) < 1.0
    # By point and k, or why there are none.
    by_name: dict[str, Floats | str] = {
        "separation": np.column_stack([row.separation for row in rows]),
        "likelihood": likelihood,
        "stability": agreement if differ else "all runs agree at every k",
    }
    left_out = {name: reason for name, reason in by_name.items() if isinstance(reason, str)}
    signals = {
        name: Signal.from_points(name, values)
        for name, values in by_name.items()
        if not isinstance(values, str)
    }
    return {"signals": signals, "left_out": left_out, "notes": tuple(notes)}
