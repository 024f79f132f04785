"""Rival signals: what else could tell a sure assignment from an unsure one.

Each function takes the data or an ensemble and returns one confidence a point, (n,), higher is surer. Only their
order is comparable from one signal to another. Defaults are the constants that the paper compares CAKE with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import entr
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor

from clustertrust._validation import check_choice, check_count, check_matrix, tell
from clustertrust.cells import meet
from clustertrust.consensus import Votes, count_votes, medoid
from clustertrust.ensemble import as_ensemble, build_ensemble
from clustertrust.matching import align_labels, match_runs
from clustertrust.stability import pairwise_stability

__all__ = [
    "COVARIANCES",
    "SIGNALS",
    "bootstrap_stability",
    "consensus_agreement",
    "entropy_agreement",
    "fuzzy_confidence",
    "fuzzy_memberships",
    "gmm_confidence",
    "gmm_memberships",
    "local_outlier_confidence",
    "membership_confidence",
    "outlier_confidence",
    "random_confidence",
    "rank_average",
    "subsample_stability",
]

Floats = NDArray[np.float64]

COVARIANCES = ("diag", "full", "spherical", "tied")
_SMALLEST = 1e-12  # memberships below this count as this in an entropy, distances below it in fuzzy c-means
_SMALL_CLUSTER = 3  # clusters of fewer points have no local outlier factor,
_OF_SMALL_CLUSTERS = 0.5  # and their points this confidence


def random_confidence(X: Any, *, random_state: int | None = None) -> Floats:
    """Uniform random numbers: what any other signal has to beat.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    random_state : int, optional

    Returns
    -------
    (n,) array in [0, 1)

    Examples
    --------
    >>> from clustertrust.baselines import random_confidence
    >>> random_confidence([[0.0], [1.0]], random_state=0).round(2).tolist()
    [0.64, 0.27]
    """
    return np.random.default_rng(_seed(random_state)).random(check_matrix(X).shape[0])


# Signals of an ensemble


def _consensus(labels: Any) -> Votes:
    """Votes on each point in the names of the medoid run; runs that do not assign a point have no vote on it."""
    cells = meet(labels)
    matchings, runs = match_runs(cells), cells.assigned_runs()
    by_cell = count_votes(cells, matchings, medoid(cells, matchings, runs), cells.rows, runs)
    return Votes(by_cell.labels[cells.of], by_cell.votes[cells.of], by_cell.strength[cells.of])


def consensus_agreement(labels: Any) -> Floats:
    """Share of the runs, aligned to the medoid run, that give the point its consensus label.

    Parameters
    ----------
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        Negative numbers and missing values mean that the point is not assigned; such runs are left out.

    Returns
    -------
    (n,) array in [0, 1]; NaN where no run assigns the point

    Examples
    --------
    >>> from clustertrust.baselines import consensus_agreement
    >>> consensus_agreement([[0, 0, 1, 1], [5, 5, 7, 7], [0, 0, 0, 1]]).round(3).tolist()
    [1.0, 1.0, 0.667, 1.0]
    """
    return _consensus(as_ensemble(labels, at_least=2).labels).strength


def entropy_agreement(labels: Any) -> Floats:
    """1 - H(p) / log k, clipped to [0, 1], p the shares of the runs for each of the k labels of the consensus.

    Runs are aligned to the consensus labels themselves. The paper leaves open what a cluster without a partner counts
    for: here all such votes count as one further label, so that they lower the confidence. With a single consensus
    label k counts as 2.

    Parameters
    ----------
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        Negative numbers and missing values mean that the point is not assigned; such runs are left out.

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
    found = _consensus(runs).labels
    names, codes = np.unique(found, return_inverse=True)
    consensus = codes - int(names[0] < 0)  # 0, 1, …, k - 1, and -1 where there is none
    k = int(consensus.max(initial=0)) + 1
    counts = np.zeros((len(runs), k + 1))  # the last column, that of label -1, is for votes for no consensus label
    for run in runs.T:
        voting = np.flatnonzero(run >= 0)
        counts[voting, align_labels(consensus, run)[voting]] += 1
    total = counts.sum(axis=1, keepdims=True)
    p = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    return _one_minus_entropy(np.sort(p, axis=1), max(2, k))  # sorted, so that equal votes give equal bits


def subsample_stability(labels: Any) -> Floats:
    """Share of run pairs that agree on the point, Eq. (7), of the pairs with the point in both; 0 where there is none.

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
    >>> subsample_stability([[0, 0, 1, 1, -1], [5, 5, 7, -1, 7], [0, 0, 0, 1, -1]]).round(3).tolist()
    [1.0, 1.0, 0.333, 1.0, 0.0]
    """
    return np.nan_to_num(pairwise_stability(labels, unassigned="skip"), nan=0.0)


def bootstrap_stability(
    X: Any,
    clusterer: Any = "kmeans",
    *,
    n_clusters: int | None = None,
    n_runs: int = 20,
    resample: float | str = 0.8,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Floats:
    """Stability over runs on random subsamples: `subsample_stability` of an ensemble that is built here.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    clusterer, n_clusters, n_runs, random_state, n_jobs
        As for :func:`clustertrust.build_ensemble`.
    resample : float or "bootstrap"
        Share of the points that each run is fitted on, drawn without replacement, or n drawn with replacement.

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
        raise ValueError("resample=None is no subsample; give a share such as 0.8 or 'bootstrap'.")
    ensemble = build_ensemble(
        X,
        clusterer,
        n_clusters=n_clusters,
        n_runs=n_runs,
        resample=resample,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return subsample_stability(ensemble)


# Signals of memberships


def _one_minus_entropy(p: Floats, k: int) -> Floats:
    """1 - H(p) / log k, clipped to [0, 1]; p is (n, l), with 0 log 0 = 0."""
    return np.clip(1.0 - entr(p).sum(axis=1) / np.log(k), 0.0, 1.0)


def maximum(u: Floats) -> Floats:
    """max_ℓ u_ℓ."""
    return u.max(axis=1)


def margin(u: Floats) -> Floats:
    """Largest minus second largest u_ℓ."""
    second, first = np.sort(u, axis=1)[:, -2:].T
    return first - second


def entropy(u: Floats) -> Floats:
    """1 - H(u) / log k; memberships are clipped to [1e-12, 1] and add up to 1 again."""
    u = np.clip(u, _SMALLEST, 1.0)
    return _one_minus_entropy(u / u.sum(axis=1, keepdims=True), u.shape[1])


SIGNALS: dict[str, Callable[[Floats], Floats]] = {"entropy": entropy, "margin": margin, "maximum": maximum}


def membership_confidence(memberships: ArrayLike, signal: str = "maximum") -> Floats:
    """How clearly the memberships u of a point speak for one cluster.

    Parameters
    ----------
    memberships : (n, k) array, k at least 2
        Shares or probabilities of the k clusters; rows sum to 1.
    signal : {"maximum", "margin", "entropy"}
        max u; largest minus second largest u; 1 - H(u) / log k.

    Returns
    -------
    (n,) array in [0, 1]

    Examples
    --------
    >>> from clustertrust.baselines import membership_confidence
    >>> u = [[0.9, 0.1, 0.0], [0.4, 0.3, 0.3]]
    >>> membership_confidence(u).tolist(), membership_confidence(u, "margin").round(3).tolist()
    ([0.9, 0.4], [0.8, 0.1])
    """
    check_choice("signal", signal, SIGNALS)
    u = np.asarray(memberships, dtype=np.float64)
    if u.ndim != 2 or u.shape[1] < 2:
        raise ValueError(f"memberships has shape {u.shape}; give an (n, k) array with at least 2 clusters.")
    wrong = np.flatnonzero(~((u >= 0).all(axis=1) & (np.abs(u.sum(axis=1) - 1) < 1e-5)))
    if wrong.size:
        raise ValueError(
            f"memberships[{wrong[0]}]={u[wrong[0]]} is no distribution; rows must not be negative and must sum to 1."
        )
    return SIGNALS[signal](u)


def fuzzy_memberships(
    X: Any,
    n_clusters: int,
    *,
    fuzziness: float = 2.0,
    max_iter: int = 200,
    tol: float = 1e-5,
    random_state: int | None = None,
) -> Floats:
    """u_ℓ = d_ℓ^(-2/(m-1)) / Σ_l d_l^(-2/(m-1)), v_ℓ = Σ_i u_iℓ^m x_i / Σ_i u_iℓ^m in turn: fuzzy c-means.

    d_ℓ is the distance to centre v_ℓ, at least 1e-12. The start is random memberships; the end, when none moves by
    `tol` or more.

    Parameters
    ----------
    X : (n, d) array or frame
    n_clusters : int
        k, at least 2.
    fuzziness : float
        m > 1. In many dimensions m = 2 lets all centres fall together and every membership be 1 / k; values nearer
        1, such as 1.2, do not.
    max_iter : int
        Iterations at most; a ConvergenceWarning says when they did not suffice.
    tol : float
        Largest change of a membership at which to stop.
    random_state : int, optional
        Seed of the start.

    Returns
    -------
    (n, k) array, rows sum to 1

    Examples
    --------
    >>> from clustertrust.baselines import fuzzy_memberships
    >>> u = fuzzy_memberships([[0.0], [1.0], [9.0], [10.0]], 2, random_state=0)
    >>> u.max(axis=1).round(2).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    X = _dense(X)
    k = _clusters(n_clusters, len(X))
    max_iter = check_count("max_iter", max_iter, at_least=1)
    if not fuzziness > 1:
        raise ValueError(f"fuzziness={fuzziness!r} must be above 1; 2 is usual, and nearer 1 is less fuzzy.")
    if not tol > 0:
        raise ValueError(f"tol={tol!r} must be positive.")
    u = np.random.default_rng(_seed(random_state)).random((len(X), k))
    u /= u.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        before, u = u, _fuzzy_step(X, u, fuzziness)
        if np.abs(u - before).max() < tol:
            return u
    tell(
        f"Fuzzy c-means has not settled after max_iter={max_iter} iterations; allow more, or a larger tol.",
        ConvergenceWarning,
    )
    return u


def _fuzzy_step(X: Floats, u: Floats, m: float) -> Floats:
    """Centres from memberships, then memberships from centres."""
    weight = u**m
    centers = weight.T @ X / weight.sum(axis=0)[:, None]
    # Powers by logarithms: for m near 1 the exponent is large, and powers of distances overflow.
    power = -2.0 / (m - 1.0) * np.log(np.maximum(cdist(X, centers), _SMALLEST))
    u = np.exp(power - power.max(axis=1, keepdims=True))
    return u / u.sum(axis=1, keepdims=True)


def fuzzy_confidence(
    X: Any,
    n_clusters: int,
    *,
    signal: str = "maximum",
    fuzziness: float = 2.0,
    max_iter: int = 200,
    tol: float = 1e-5,
    random_state: int | None = None,
) -> Floats:
    """`membership_confidence` of `fuzzy_memberships`.

    Parameters
    ----------
    X, n_clusters, fuzziness, max_iter, tol, random_state
        As for :func:`fuzzy_memberships`.
    signal : {"maximum", "margin", "entropy"}
        As for :func:`membership_confidence`; the paper has "maximum" (FCM1) and "entropy" (FCM2).

    Returns
    -------
    (n,) array in [0, 1]

    Examples
    --------
    >>> from clustertrust.baselines import fuzzy_confidence
    >>> fuzzy_confidence([[0.0], [1.0], [5.0], [9.0], [10.0]], 2, random_state=0).round(2).tolist()
    [0.99, 1.0, 0.5, 1.0, 0.99]
    """
    check_choice("signal", signal, SIGNALS)
    u = fuzzy_memberships(X, n_clusters, fuzziness=fuzziness, max_iter=max_iter, tol=tol, random_state=random_state)
    return membership_confidence(u, signal)


def gmm_memberships(
    X: Any, n_clusters: int, *, covariance_type: str = "full", n_init: int = 3, random_state: int | None = None
) -> Floats:
    """Posterior probability of each component of a Gaussian mixture: scikit-learn's, with k-means starts.

    Parameters
    ----------
    X : (n, d) array or frame
    n_clusters : int
        Components k, at least 2.
    covariance_type : {"full", "tied", "diag", "spherical"}
    n_init : int
        Starts, of which the best is kept.
    random_state : int, optional

    Returns
    -------
    (n, k) array, rows sum to 1

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust.baselines import gmm_memberships
    >>> gmm_memberships(load_iris().data, 3, random_state=0).shape
    (150, 3)
    """
    X = _dense(X)
    check_choice("covariance_type", covariance_type, COVARIANCES)
    mixture = GaussianMixture(
        _clusters(n_clusters, len(X)),
        covariance_type=covariance_type,
        n_init=check_count("n_init", n_init, at_least=1),
        random_state=_seed(random_state),
    )
    return np.asarray(mixture.fit(X).predict_proba(X))


def gmm_confidence(
    X: Any,
    n_clusters: int,
    *,
    signal: str = "maximum",
    covariance_type: str = "full",
    n_init: int = 3,
    random_state: int | None = None,
) -> Floats:
    """`membership_confidence` of `gmm_memberships`.

    Parameters
    ----------
    X, n_clusters, covariance_type, n_init, random_state
        As for :func:`gmm_memberships`.
    signal : {"maximum", "margin", "entropy"}
        As for :func:`membership_confidence`: the paper's GMM1, GMM2 and GMM3.

    Returns
    -------
    (n,) array in [0, 1]

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust.baselines import gmm_confidence
    >>> bool(gmm_confidence(load_iris().data, 3, random_state=0).min() > 0.5)
    True
    """
    check_choice("signal", signal, SIGNALS)
    u = gmm_memberships(X, n_clusters, covariance_type=covariance_type, n_init=n_init, random_state=random_state)
    return membership_confidence(u, signal)


# Signals of density


def outlier_confidence(X: Any, *, n_neighbors: int = 20) -> Floats:
    """Minus the local outlier factor of the point in the whole data set: about -1 for typical points, lower for others.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    n_neighbors : int
        Neighbours to compare with; n - 1 where there are fewer.

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> from clustertrust.baselines import outlier_confidence
    >>> outlier_confidence([[0.0], [1.0], [2.0], [3.0], [9.0]], n_neighbors=2).round(2).tolist()
    [-1.0, -1.0, -1.0, -1.0, -4.33]
    """
    return _minus_lof(check_matrix(X), check_count("n_neighbors", n_neighbors, at_least=1))


def local_outlier_confidence(X: Any, labels: Any, *, n_neighbors: int = 20) -> Floats:
    """Mean over runs of 1 / max(1, LOF), LOF the local outlier factor inside the cluster that holds the point.

    In a cluster of fewer than three points the confidence is 0.5.

    Parameters
    ----------
    X : (n, d) array, CSR matrix or frame
    labels : Ensemble, list of R label vectors, or array or DataFrame of shape (n, R)
        Negative numbers and missing values mean that the point is not assigned; such runs are left out.
    n_neighbors : int
        Neighbours to compare with; all others of the cluster where there are fewer.

    Returns
    -------
    (n,) array in [0, 1]; NaN where no run assigns the point

    Examples
    --------
    >>> from clustertrust.baselines import local_outlier_confidence
    >>> X = [[0.0], [1.0], [2.0], [3.0], [9.0], [10.0]]
    >>> local_outlier_confidence(X, [[0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 1, 1]], n_neighbors=2).round(2).tolist()
    [1.0, 1.0, 1.0, 1.0, 0.37, 0.5]
    """
    X = check_matrix(X)
    n_neighbors = check_count("n_neighbors", n_neighbors, at_least=1)
    ensemble = as_ensemble(labels)
    if X.shape[0] != len(ensemble.labels):
        raise ValueError(f"X has {X.shape[0]} points and labels has {len(ensemble.labels)}; give the same points.")
    cells = meet(ensemble.labels)
    known: dict[bytes, Floats] = {}  # the same cluster often comes back in other runs
    values = np.full(ensemble.labels.shape, np.nan)
    for r in range(cells.n_runs):
        for cluster in range(cells.n_clusters[r]):
            inside = cells.rows[:, r] == cluster
            members = np.flatnonzero(inside[cells.of])
            if inside.tobytes() not in known:
                known[inside.tobytes()] = _typicality(X[members], n_neighbors)
            values[members, r] = known[inside.tobytes()]
    runs = (ensemble.labels >= 0).sum(axis=1)
    return np.divide(np.nansum(values, axis=1), runs, out=np.full(len(runs), np.nan), where=runs > 0)


def _typicality(X: Any, n_neighbors: int) -> Floats:
    """1 / max(1, LOF) of the points of one cluster."""
    if X.shape[0] < _SMALL_CLUSTER:
        return np.full(X.shape[0], _OF_SMALL_CLUSTERS)
    return 1.0 / np.maximum(1.0, -_minus_lof(X, n_neighbors))


def _minus_lof(X: Any, n_neighbors: int) -> Floats:
    """scikit-learn's negative outlier factor with at most n - 1 neighbours."""
    lof = LocalOutlierFactor(n_neighbors=min(n_neighbors, X.shape[0] - 1))
    return np.asarray(lof.fit(X).negative_outlier_factor_, dtype=np.float64)


# Fusion


def rank_average(signals: Iterable[ArrayLike]) -> Floats:
    """Mean over signals of rank / n, ties at their average rank: one confidence from signals of any scale.

    Parameters
    ----------
    signals : sequence of (n,) arrays
        Confidences of the same points, higher is surer. Ranks are among the points that a signal knows.

    Returns
    -------
    (n,) array in (0, 1]; NaN where a signal is NaN

    Examples
    --------
    >>> from clustertrust.baselines import rank_average
    >>> rank_average([[0.1, 0.9, 0.5, 0.9], [-7, -1, -2, -3]]).tolist()
    [0.25, 0.9375, 0.625, 0.6875]
    """
    given = [np.asarray(signal, dtype=np.float64) for signal in signals]
    if not given:
        raise ValueError("signals is empty; give at least one.")
    shapes = sorted({signal.shape for signal in given})
    if len(shapes) > 1 or len(shapes[0]) != 1:
        raise ValueError(f"signals have shapes {shapes}; give flat arrays of the same n points.")
    ranks = rankdata(np.stack(given), axis=1, nan_policy="omit")
    return np.asarray((ranks / np.isfinite(ranks).sum(axis=1, keepdims=True)).mean(axis=0))


# Checks


def _seed(random_state: Any) -> int | None:
    return None if random_state is None else check_count("random_state", random_state, at_least=0)


def _dense(X: Any) -> Floats:
    X = check_matrix(X)
    if sparse.issparse(X):
        raise TypeError("X must be a dense array; use X.toarray().")
    return np.asarray(X, dtype=np.float64)


def _clusters(n_clusters: Any, n: int) -> int:
    k = check_count("n_clusters", n_clusters, at_least=2)
    if k > n:
        raise ValueError(f"n_clusters={k} is more than the {n} points of X; ask for at most that many.")
    return k
