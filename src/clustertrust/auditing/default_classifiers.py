"""The classifiers that vote in an audit unless it is given others: trees, and two regressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import ExtraTreeClassifier

from clustertrust._caught import collected_warnings
from clustertrust._parallel import one_thread
from clustertrust._types import Floats, Ints

TREES = 100
# Rows that a classifier of a fold is fitted on: more barely make it better, and take long.
MOST_ROWS = 20_000
# The same for logistic regression: rows × classes × (columns + this) are at most so many.
MOST_PRODUCTS, FOR_EACH_CLASS = 40_000_000, 100
# Its steps; where they do not suffice, what it has found by then is nearly as good.
STEPS = 100
# Points, nearness to which are the columns that make round borders
CENTERS = 100


class Trees:
    """The trees of `ExtraTreesClassifier(random_state=state)`, grown one after the other.

    The forest of scikit-learn hands its trees to a pool, also with one thread, and sets the filters
    of warnings of the whole process meanwhile: folds in several threads would warn of each other.
    """

    def __init__(self, state: int) -> None:
        rng = np.random.RandomState(state)  # as the forest draws its seeds
        self.seeds = [rng.randint(np.iinfo(np.int32).max) for _ in range(TREES)]

    @staticmethod
    def most_rows(X: Any, k: int) -> int:
        """Return how many rows it is fitted on at most."""
        return MOST_ROWS

    def fit(self, X: Any, y: Ints) -> Trees:
        """Keep what the trees are grown on. Grown trees hold a number for each node and class."""
        self.X, self.y, self.classes_ = X, y, np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Grow the trees, and return the mean of what they say."""
        total = np.zeros((X.shape[0], len(self.classes_)))
        for seed in self.seeds:
            tree = ExtraTreeClassifier(max_features="sqrt", random_state=seed)
            total += tree.fit(self.X, self.y).predict_proba(X)
        return np.asarray(total / TREES)


class Straight:
    """Logistic regression of standardised columns: straight borders."""

    def __init__(self, state: int) -> None:
        self.state = state

    @staticmethod
    def most_rows(X: Any, k: int) -> int:
        """Return how many rows it is fitted on at most."""
        d = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
        return min(MOST_ROWS, int(MOST_PRODUCTS / (k * (d + FOR_EACH_CLASS))))

    def columns(self, n: int) -> list[Any]:
        """Return what follows on standardised columns, for n rows."""
        return []

    def fit(self, X: Any, y: Ints) -> Straight:
        """Fit; a single class has all of the probability."""
        if (y == y[0]).all():
            self.model = DummyClassifier().fit(X, y)
        else:
            # Zeros of a sparse matrix stay zeros.
            scaler = StandardScaler(with_mean=not sparse.issparse(X))
            last = LogisticRegression(max_iter=STEPS)
            # Without the warning of steps that did not suffice
            with one_thread(), collected_warnings:
                self.model = make_pipeline(scaler, *self.columns(len(y)), last).fit(X, y)
        self.classes_ = self.model.classes_
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes."""
        with one_thread():
            return np.asarray(self.model.predict_proba(X))


class Round(Straight):
    """The same of the nearness to some points: round borders."""

    def columns(self, n: int) -> list[Any]:
        """Return the map to columns of nearness (Nyström's, Gaussian)."""
        return [Nystroem(n_components=min(CENTERS, n), random_state=self.state)]


# By what a result calls them: a seed → a classifier
DEFAULTS: dict[str, Callable[[int], Any]] = {
    "extra trees": Trees,
    "logistic regression": Straight,
    "kernel logistic regression": Round,
}
