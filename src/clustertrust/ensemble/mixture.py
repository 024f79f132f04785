"""A Gaussian mixture of our own: the steps of scikit-learn's `GaussianMixture`, compiled.

The start is k-means of our own with the same seed, the steps, the stopping rule and the smallest
variance are the same, so the result differs by rounding alone.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from clustertrust._mixtures import Components, Moments, log_height, memberships
from clustertrust._types import Array
from clustertrust.ensemble.lloyd import prepare_data
from clustertrust.kernels import backend
from clustertrust.kernels.rules import FULL, Mixing

_DEFAULTS = {
    "covariance_type": "full",
    "init_params": "kmeans",
    "n_init": 1,
    "warm_start": False,
    "verbose": 0,
}
# Columns, beyond which the matrix products of scikit-learn are as fast, and steps
_WIDEST, _MOST_STEPS = 200, 100_000
_STARTS = ("weights_init", "means_init", "precisions_init")


def fit_mixture(model: GaussianMixture, X: Array) -> bool:
    """Fit the model as its own `fit` would, but for rounding.

    Return False, and leave it to that, for other settings, for data that are not float64 or have
    too many columns, and where a cluster of the start is empty or a covariance singular.
    """
    is_plain = all(getattr(model, name) is None for name in _STARTS) and all(
        getattr(model, name) == value for name, value in _DEFAULTS.items()
    )
    steps = model.max_iter
    if type(model) is not GaussianMixture or not is_plain or not 1 <= steps <= _MOST_STEPS:
        return False
    if getattr(X, "dtype", None) != np.float64 or X.shape[1] > _WIDEST:
        return False
    data = prepare_data(X)
    start = KMeans(model.n_components, n_init=1, random_state=model.random_state)
    if data is None or not data.suits(start):
        return False
    _, run = next(data.fit([start]))
    if run is None:
        return False
    columns = np.ascontiguousarray(data.X.T)
    p, names = len(columns), np.arange(start.n_clusters)
    mixing = Mixing(
        kind=FULL,
        prior=np.zeros((p, p)),
        extra=0.0,
        added=model.reg_covar * np.eye(p),
        freedom=0,
        constant=log_height(p),
        steps=steps,
        down=-model.tol * len(X),
        up=model.tol * len(X),
        moves_last=True,
    )
    moments = backend().mixture_moments(columns, memberships(run.labels, names))
    fitted = backend().em(columns, moments, mixing)
    if fitted is None:
        return False
    moments, likelihoods = Moments(*fitted[0]), fitted[3] / len(X)
    mixture = Components.from_moments(moments, moments.covariances + mixing.added)
    try:
        whiteners = mixture.densities.whiteners
    except np.linalg.LinAlgError:
        return False
    last = np.diff(likelihoods, prepend=-np.inf)[-1]
    model.converged_ = len(likelihoods) < steps or bool(abs(last) < model.tol)
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
    model.n_features_in_, model.n_iter_ = p, len(likelihoods)
    model.lower_bounds_ = likelihoods.tolist()
    model.lower_bound_ = model.lower_bounds_[-1]
    return True
