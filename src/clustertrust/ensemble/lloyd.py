"""Many runs of k-means on the same data, which are prepared once.

`KMeans.fit` checks, copies and centres the data at each call, which on small data takes longer than
the clustering. Here the data are prepared once. Each run starts at scikit-learn's own initial
centres and calls its own loop, so centres and labels are those of `KMeans(n_init=1,
random_state=seed).fit(X)` to the last bit. The two functions are private to scikit-learn: if a
version lacks them or changes their parameters, `prepare_data` returns None and each run calls
`KMeans.fit`.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, _kmeans
from sklearn.utils.extmath import row_norms

from clustertrust._types import Array, Floats, Ints
from clustertrust.distances.metrics import is_name
from clustertrust.distances.tiles import by_feature, in_fours
from clustertrust.kernels import backend


@dataclass(frozen=True, eq=False)
class PreparedData:
    """Data prepared for any number of runs of k-means.

    Attributes
    ----------
    X : (n, d) the data minus their mean
    mean : (d,)
    squares : (n,) |x|² of the rows of X
    weights : (n,) ones
    variance : mean variance of the columns of the data, the unit of `tol`
    tiles : the original data, laid out for the search of the nearest centre
    """

    X: Array
    mean: Array
    squares: Array
    weights: Array
    # A number of the type of the data, as in scikit-learn.
    variance: Any
    tiles: Array

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """Pickle as None: runs in another process call `KMeans.fit`, without a second copy of X."""
        return type(None), ()

    def fit(self, model: Any) -> bool:
        """Fit the model on one thread, as `model.fit` would; return False if it must do so itself.

        It must if it is not k-means with one start and a number as seed, if a parameter is not
        valid, and if clusters are empty: then `fit` warns.
        """
        if type(model) is not KMeans or not self._suits(model):
            return False
        start = model._init_centroids(
            self.X,
            x_squared_norms=self.squares,
            init=model.init,
            random_state=_stream(model.random_state),
            sample_weight=self.weights,
        )
        loop = _loop()
        # Without it the data would not have been prepared.
        assert loop is not None
        labels, inertia, centers, n_iter = loop(
            self.X,
            self.weights,
            start,
            max_iter=model.max_iter,
            tol=self.variance * model.tol,
            verbose=False,
            n_threads=1,
        )
        if not np.bincount(labels, minlength=model.n_clusters).all():
            return False
        model.labels_, model.inertia_, model.n_iter_ = labels, inertia, n_iter
        model.cluster_centers_ = centers + self.mean
        return True

    def _suits(self, model: KMeans) -> bool:
        """Return whether the parameters are valid and ask for one plain start."""
        if model.verbose or not is_name(model.algorithm, "lloyd"):
            return False
        once = isinstance(model.n_init, Integral) and model.n_init == 1
        if is_name(model.init, "k-means++"):
            once = once or is_name(model.n_init, "auto")
        elif not is_name(model.init, "random"):
            return False
        numbers = (model.n_clusters, model.max_iter, model.random_state)
        whole = all(
            isinstance(value, Integral) and not isinstance(value, bool) for value in numbers
        )
        return bool(
            once
            and whole
            and isinstance(model.tol, Real)
            and float(model.tol) >= 0
            and 1 <= model.n_clusters <= len(self.X)
            and model.max_iter >= 1
            and 0 <= model.random_state < 2**32
        )

    def nearest(self, centers: Floats) -> Ints:
        """Return the nearest of `centers` (k, d) for each point, as `placing.nearest_point`."""
        return np.asarray(
            backend().nearest_row(in_fours(centers), len(centers), self.tiles)[: len(self.X)]
        )


def prepare_data(X: Any) -> PreparedData | None:
    """Prepare dense data; None for other data, and if scikit-learn's private functions changed.

    The steps and their order are scikit-learn's, so they round alike.
    """
    if _loop() is None or not isinstance(X, np.ndarray) or X.dtype not in (np.float64, np.float32):
        return None
    centred = np.array(X, order="C")
    variance = np.mean(np.var(centred, axis=0))
    mean = centred.mean(axis=0)
    centred -= mean
    weights = np.ones(len(X), dtype=X.dtype)
    tiles = by_feature(np.asarray(X, dtype=np.float64))
    return PreparedData(centred, mean, row_norms(centred, squared=True), weights, variance, tiles)


_streams = threading.local()


def _stream(seed: int) -> np.random.RandomState:
    """Return `RandomState(seed)`, reseeding one per thread: making one takes a fifth of a run."""
    if not hasattr(_streams, "one"):
        _streams.one = np.random.RandomState(0)
    _streams.one.seed(seed)
    stream: np.random.RandomState = _streams.one
    return stream


@functools.cache
def _loop() -> Callable[..., Any] | None:
    """Return scikit-learn's loop of one run; None if its private functions changed."""
    loop = getattr(_kmeans, "_kmeans_single_lloyd", None)
    start = getattr(KMeans, "_init_centroids", None)
    if loop is None or start is None:
        return None
    # Without its limit to one thread of BLAS, which callers set once for all runs.
    loop = inspect.unwrap(loop)
    expected = ["X", "sample_weight", "centers_init", "max_iter", "verbose", "tol", "n_threads"]
    begins = ["self", "X", "x_squared_norms", "init", "random_state", "sample_weight"]
    is_same = list(inspect.signature(loop).parameters) == expected
    starts_same = list(inspect.signature(start).parameters)[: len(begins)] == begins
    return loop if is_same and starts_same else None
