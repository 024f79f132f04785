"""A Gaussian mixture of our own: the steps of scikit-learn's `GaussianMixture`, in fewer calls.

The start is k-means of our own with the same seed, the steps, the stopping rule and the smallest
variance are the same, so the result differs by rounding alone. All components are worked on at
once: on a few hundred points scikit-learn takes longer to check than to compute.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from clustertrust._mixtures import TOGETHER, Components, PointsByDifference, memberships
from clustertrust._types import Array, Floats
from clustertrust.ensemble.lloyd import prepare_data

_DEFAULTS = {
    "covariance_type": "full",
    "init_params": "kmeans",
    "n_init": 1,
    "warm_start": False,
    "verbose": 0,
}
_STARTS = ("weights_init", "means_init", "precisions_init")


def _estimate(points: PointsByDifference, P: Floats, least: float) -> Components:
    """Return the mixture of largest likelihood for memberships P (k, n)."""
    moments = points.moments(P)
    return Components.from_moments(moments, moments.covariances + least * np.eye(points.Z.shape[1]))


def fit_mixture(model: GaussianMixture, X: Array) -> bool:
    """Fit the model as its own `fit` would, but for rounding.

    Return False, and leave it to that, for other settings, for data that are not float64, and where
    a cluster of the start is empty or a covariance singular.
    """
    is_plain = all(getattr(model, name) is None for name in _STARTS) and all(
        getattr(model, name) == value for name, value in _DEFAULTS.items()
    )
    if type(model) is not GaussianMixture or not is_plain or model.max_iter < 1:
        return False
    if getattr(X, "dtype", None) != np.float64 or X.size * model.n_components > TOGETHER:
        return False
    data = prepare_data(X)
    start = KMeans(model.n_components, n_init=1, random_state=model.random_state)
    if data is None or not data.suits(start):
        return False
    _, run = next(data.fit([start]))
    if run is None:
        return False
    points, names = PointsByDifference(data.X), np.arange(start.n_clusters)
    likelihoods = [-np.inf]
    try:
        mixture = _estimate(points, memberships(run.labels, names), model.reg_covar)
        for _ in range(model.max_iter):
            joint = mixture.densities.log_joint(data.X)
            total = joint.total()
            mixture = _estimate(points, np.exp(joint.logs - total), model.reg_covar)
            likelihoods.append(float(total.mean()))
            model.converged_ = abs(likelihoods[-1] - likelihoods[-2]) < model.tol
            if model.converged_:
                break
        whiteners = mixture.densities.whiteners
    except np.linalg.LinAlgError:
        return False
    if not model.converged_:
        warnings.warn(
            "Best performing initialization did not converge. Try different init parameters, or "
            "increase max_iter, tol, or check for degenerate data.",
            ConvergenceWarning,
            stacklevel=2,
        )
    model.weights_, model.means_, model.covariances_ = mixture
    model.precisions_cholesky_ = whiteners
    model.precisions_ = whiteners @ whiteners.transpose(0, 2, 1)
    model.n_features_in_, model.n_iter_ = data.X.shape[1], len(likelihoods) - 1
    model.lower_bound_, model.lower_bounds_ = likelihoods[-1], likelihoods[1:]
    return True
