"""Signals of memberships: of fuzzy c-means, of mixtures, or of whatever gives a share of each
cluster to each point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import entr
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from clustertrust._types import Floats
from clustertrust._validation.arguments import (
    MOST,
    check_choice,
    check_count,
    check_floats,
    check_inside,
    warn_user,
)
from clustertrust._validation.points import check_matrix


def check_seed(random_state: Any) -> int | None:
    """Return a seed, or None."""
    return (
        None
        if random_state is None
        else check_count("random_state", random_state, at_least=0, at_most=2**32 - 1)
    )


def dense_matrix(X: Any) -> Floats:
    """Return X as an array of floats; a sparse matrix is an error."""
    X = check_matrix(X)
    if sparse.issparse(X):
        raise TypeError("X must be a dense array; use X.toarray().")
    return np.asarray(X, dtype=np.float64)


def check_clusters(n_clusters: Any, n: int) -> int:
    """Return a number of clusters that n points can have."""
    k = check_count("n_clusters", n_clusters, at_least=2)
    if k > n:
        raise ValueError(
            f"n_clusters={k} is more than the {n} points of X; ask for at most that many."
        )
    return k


COVARIANCES = ("diag", "full", "spherical", "tied")
# Memberships below this count as this in an entropy, distances below it in fuzzy c-means.
_SMALLEST = 1e-12
# Beyond this, powers of memberships leave the range of floats.
_FUZZIEST = 100


def one_minus_entropy(p: Floats, k: int) -> Floats:
    """1 - H(p) / log k, clipped to [0, 1]; p is (n, l), with 0 log 0 = 0."""
    return np.asarray(np.clip(1.0 - entr(p).sum(axis=1) / np.log(k), 0.0, 1.0))


def maximum(u: Floats) -> Floats:
    """max_ℓ u_ℓ."""
    return np.asarray(u.max(axis=1))


def margin(u: Floats) -> Floats:
    """Return the largest minus second largest u_ℓ."""
    second, first = np.sort(u, axis=1)[:, -2:].T
    return np.asarray(first - second)


def entropy(u: Floats) -> Floats:
    """1 - H(u) / log k; memberships are clipped to [1e-12, 1] and add up to 1 again."""
    u = np.clip(u, _SMALLEST, 1.0)
    return one_minus_entropy(u / u.sum(axis=1, keepdims=True), u.shape[1])


SIGNALS: dict[str, Callable[[Floats], Floats]] = {
    "entropy": entropy,
    "margin": margin,
    "maximum": maximum,
}


def membership_confidence(memberships: ArrayLike, signal: str = "maximum") -> Floats:
    """Return how clearly the memberships u of a point favour one cluster.

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
    u = check_floats("memberships", memberships, "an (n, k) array of numbers")
    if u.ndim != 2 or u.shape[1] < 2:
        raise ValueError(
            f"memberships has shape {u.shape}; give an (n, k) array with at least 2 clusters."
        )
    wrong = np.flatnonzero(~((u >= 0).all(axis=1) & (np.abs(u.sum(axis=1) - 1) < 1e-5)))
    if wrong.size:
        raise ValueError(
            f"memberships[{wrong[0]}]={u[wrong[0]]} is not a distribution; rows must not be "
            "negative and must sum to 1."
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
    """u_ℓ = d_ℓ^(-2/(m-1)) / Σ_l d_l^(-2/(m-1)), v_ℓ = Σ_i u_iℓ^m x_i / Σ_i u_iℓ^m in turn: fuzzy
    c-means.

    d_ℓ is the distance to centre v_ℓ, at least 1e-12. The start is random memberships; the end,
    when none moves by `tol` or more.

    Parameters
    ----------
    X : (n, d) array or frame
    n_clusters : int
        k, at least 2.
    fuzziness : float
        m > 1, at most 100. In many dimensions m = 2 lets all centres fall together and every
        membership be 1 / k; values nearer 1, such as 1.2, do not.
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
    X = dense_matrix(X)
    k = check_clusters(n_clusters, len(X))
    max_iter = check_count("max_iter", max_iter, at_least=1)
    usual = "2 is usual, and nearer 1 is less fuzzy"
    fuzziness = check_inside("fuzziness", fuzziness, 1.0, _FUZZIEST, ends="(]", remedy=usual)
    tol = check_inside("tol", tol, high=np.inf, ends="(]")
    u = np.random.default_rng(check_seed(random_state)).random((len(X), k))
    u /= u.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        before, u = u, _fuzzy_step(X, u, fuzziness)
        if np.abs(u - before).max() < tol:
            return u
    warn_user(
        f"Fuzzy c-means did not converge after max_iter={max_iter} iterations; allow more, or a "
        "larger tol.",
        ConvergenceWarning,
    )
    return u


def _fuzzy_step(X: Floats, u: Floats, m: float) -> Floats:
    """Compute centres from memberships, then memberships from centres."""
    weight = u**m
    centers = weight.T @ X / weight.sum(axis=0)[:, None]
    # Powers by logarithms: for m near 1 the exponent is large, and powers of distances overflow.
    power = -2.0 / (m - 1.0) * np.log(np.maximum(cdist(X, centers), _SMALLEST))
    u = np.exp(power - power.max(axis=1, keepdims=True))
    return np.asarray(u / u.sum(axis=1, keepdims=True))


def fuzzy_confidence(
    X: Any,
    n_clusters: int,
    *,
    signal: str = "maximum",
    fuzziness: float = 2.0,
    random_state: int | None = None,
) -> Floats:
    """Return `membership_confidence` of `fuzzy_memberships`; call these for other options.

    Parameters
    ----------
    X, n_clusters, fuzziness, random_state
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
    u = fuzzy_memberships(X, n_clusters, fuzziness=fuzziness, random_state=random_state)
    return membership_confidence(u, signal)


def gmm_memberships(
    X: Any,
    n_clusters: int,
    *,
    covariance_type: str = "full",
    n_init: int = 3,
    random_state: int | None = None,
) -> Floats:
    """Return the posterior of each component of scikit-learn's Gaussian mixture, by k-means starts.

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
    X = dense_matrix(X)
    check_choice("covariance_type", covariance_type, COVARIANCES)
    mixture = GaussianMixture(
        check_clusters(n_clusters, len(X)),
        covariance_type=covariance_type,
        n_init=check_count("n_init", n_init, at_least=1, at_most=MOST),
        random_state=check_seed(random_state),
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
    """Return `membership_confidence` of `gmm_memberships`.

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
    u = gmm_memberships(
        X, n_clusters, covariance_type=covariance_type, n_init=n_init, random_state=random_state
    )
    return membership_confidence(u, signal)
