"""Signals of an ensemble: how much its runs agree on a point."""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.baselines.memberships import one_minus_entropy
from clustertrust.building import build_ensemble
from clustertrust.cells import meet
from clustertrust.consensus import Votes, count_votes, most_central
from clustertrust.ensemble import as_ensemble
from clustertrust.matching import align_labels, match_runs, tally
from clustertrust.stability import pairwise_stability


def _consensus(labels: Any) -> tuple[Votes, Ints]:
    """Return the votes on each cell in the names of the medoid run, and the cell of each point.

    Runs that do not assign a point have no vote on it.
    """
    cells = meet(labels)
    matchings, runs = match_runs(cells), cells.assigned_runs()
    reference = most_central(matchings)
    return count_votes(cells, matchings, reference, cells.rows, runs), cells.cell_of


def consensus_agreement(labels: Any) -> Floats:
    """Return the share of the runs that give the point its consensus label.

    Runs are aligned to the medoid run.

    Parameters
    ----------
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        Negative numbers and missing values mean that the point is not assigned; such runs are left
        out.

    Returns
    -------
    (n,) array in [0, 1]; NaN where no run assigns the point

    Examples
    --------
    >>> from clustertrust.baselines import consensus_agreement
    >>> consensus_agreement([[0, 0, 1, 1], [5, 5, 7, 7], [0, 0, 0, 1]]).round(3).tolist()
    [1.0, 1.0, 0.667, 1.0]
    """
    by_cell, cell_of = _consensus(as_ensemble(labels, at_least=2).labels)
    return by_cell.strength[cell_of]


def entropy_agreement(labels: Any) -> Floats:
    """Return 1 - H(p) / log k, clipped to [0, 1].

    p are the shares of the runs that vote for each of the k consensus labels.

    Runs are aligned to the consensus labels themselves. The paper leaves open what a cluster
    without a partner counts for: here all such votes count as one further label, so that they lower
    the confidence. With a single consensus label k counts as 2.

    Parameters
    ----------
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        Negative numbers and missing values mean that the point is not assigned; such runs are left
        out.

    Returns
    -------
    (n,) array in [0, 1]; NaN where no run assigns the point

    Examples
    --------
    >>> from clustertrust.baselines import entropy_agreement
    >>> entropy_agreement([[0, 0, 1, 1], [5, 5, 7, 7], [0, 0, 0, 1]]).round(3).tolist()
    [1.0, 1.0, 0.082, 1.0]
    """
    runs = as_ensemble(labels, at_least=2).labels
    by_cell, cell_of = _consensus(runs)
    names, codes = np.unique(by_cell.labels[cell_of], return_inverse=True)
    # 0, 1, …, k - 1, and -1 where there is none
    consensus = codes - int(names[0] < 0)
    k = int(consensus.max(initial=0)) + 1
    aligned = np.column_stack([align_labels(consensus, run) for run in runs.T])
    # The last column is for votes for no consensus label.
    counts = tally(np.where((runs >= 0) & (aligned < 0), k, aligned), k + 1)
    total = counts.sum(axis=1, keepdims=True)
    p = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    # Sorted, so that equal votes give equal bits
    return one_minus_entropy(np.sort(p, axis=1), max(2, k))


def subsample_stability(labels: Any) -> Floats:
    """Return the share of run pairs that agree on the point, Eq. (7), of pairs that both have it.

    It is 0 if there is no such pair.

    Parameters
    ----------
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        Runs on subsamples; negative numbers and missing values are the points that a run left out.

    Returns
    -------
    (n,) array in [0, 1]

    Examples
    --------
    >>> from clustertrust.baselines import subsample_stability
    >>> labels = [[0, 0, 1, 1, -1], [5, 5, 7, -1, 7], [0, 0, 0, 1, -1]]
    >>> subsample_stability(labels).round(3).tolist()
    [1.0, 1.0, 0.333, 1.0, 0.0]
    """
    return np.nan_to_num(pairwise_stability(labels, unassigned="skip"), nan=0.0)


def bootstrap_stability(
    X: Any, clusterer: Any = "kmeans", *, resample: float | str = 0.8, **options: Any
) -> Floats:
    """Build an ensemble on random subsamples and return its `subsample_stability`.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    clusterer : str, estimator, function, or a list of these
        As for :func:`clustertrust.build_ensemble`.
    resample : float or "bootstrap"
        Share of the points that each run is fitted on, drawn without replacement, or n drawn with
        replacement.
    **options
        `n_clusters`, `n_runs`, `random_state`, `n_jobs` and others of
        :func:`clustertrust.build_ensemble`.

    Returns
    -------
    (n,) array in [0, 1]; 0 where no two runs have the point

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust.baselines import bootstrap_stability
    >>> bootstrap_stability(load_iris().data, n_clusters=3, random_state=0).shape
    (150,)
    """
    if resample is None:
        raise ValueError(
            "resample=None is not a subsample; give a share such as 0.8 or 'bootstrap'."
        )
    return subsample_stability(build_ensemble(X, clusterer, resample=resample, **options))
