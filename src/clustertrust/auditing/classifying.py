"""Points and given labels → the probability of each label, by a classifier that has not seen it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.tree import ExtraTreeClassifier

from clustertrust._errors import InputError, ParameterError
from clustertrust._parallel import count_threads, map_blocks
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_floats
from clustertrust._validation.frames import is_frame
from clustertrust.ensemble.fitting import seed_parameters
from clustertrust.ensemble.labels import in_order_of

AUTO = "auto"
FOLDS = 5
TREES = 100
# Rows that the trees of a fold are grown on: more barely make them better, and take long.
MOST_ROWS = 20_000
# How far the probabilities of a point may add up to something else than 1
ROUNDING = 1e-3


def check_classifier(classifier: Any, pred_probs: Any) -> None:
    """Raise for a classifier that cannot be used, or that goes with given probabilities."""
    if classifier is None or (isinstance(classifier, str) and classifier == AUTO):
        return
    if pred_probs is not None:
        raise ParameterError(
            "classifier",
            classifier,
            "and {pred_probs} both give probabilities",
            "leave one of the two out",
        )
    if not hasattr(classifier, "predict_proba") or not is_classifier(classifier):
        raise ParameterError(
            "classifier",
            classifier,
            "must be 'auto', None or a scikit-learn classifier with predict_proba",
            "give one such as RandomForestClassifier(), or your own probabilities as {pred_probs}",
        )


def check_probabilities(X: Any, pred_probs: Any, n: int, names: Array) -> Floats:
    """Return given probabilities (n, k) with a column for each of `names`, in their order.

    The columns of an array are those of the sorted names, as in cleanlab; those of a frame have
    the names themselves.
    """
    ordered = sorted(names.tolist())
    place = {name: column for column, name in enumerate(ordered)}
    pred_probs = in_order_of(X, pred_probs, "pred_probs")
    if is_frame(pred_probs):
        # Names from a file are text.
        columns = [str(name) for name in pred_probs.columns]
        if sorted(columns) != sorted(str(name) for name in ordered):
            raise InputError(
                f"pred_probs has the columns {columns} and the labels are {ordered}; name one "
                "column after each label, or give an array with the columns in this order."
            )
        place = {name: columns.index(str(name)) for name in ordered}
    P = check_floats("pred_probs", pred_probs, "probabilities, one row per point")
    if P.shape != (n, len(ordered)):
        raise InputError(
            f"pred_probs has shape {P.shape}; {n} points with the labels {ordered} need {n} rows "
            f"and {len(ordered)} columns, one for each label in sorted order."
        )
    bad = np.argwhere(~((P >= 0) & (P <= 1 + ROUNDING)))
    if bad.size:
        row, column = bad[0].tolist()
        raise InputError(
            f"pred_probs[{row}, {column}] is {P[row, column]}; give probabilities from 0 to 1, as "
            "predict_proba does."
        )
    total = P.sum(axis=1)
    off = np.flatnonzero(np.abs(total - 1) > ROUNDING)
    if off.size:
        raise InputError(
            f"pred_probs: row {off[0]} adds up to {total[off[0]]:.4g}, not to 1; give the "
            "probabilities of all labels, such as those of predict_proba."
        )
    return P[:, [place[name] for name in names.tolist()]]


def folds_of(labels: Ints, seed: int) -> Ints:
    """Deal points (n,) into random folds 0 to 4, of each label about as many into each."""
    shuffled = np.random.default_rng([seed, FOLDS]).permutation(labels.size)
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(labels.size, dtype=np.int64)
    fold[order] = np.arange(labels.size) % FOLDS
    return fold


def cross_validate(
    X: Any, labels: Ints, k: int, classifier: Any, seed: int, n_jobs: int | None
) -> Floats:
    """Return the probabilities (n, k) of labels by models that were fitted without the point.

    Points without a label (-1) are fitted to by none, and get those of a model of all others.
    """
    labelled = np.flatnonzero(labels >= 0)
    fold = folds_of(labels[labelled], seed)
    P = np.zeros((len(labels), k))
    parts = [(labelled[fold != part], labelled[fold == part]) for part in np.unique(fold)]
    rest = np.flatnonzero(labels < 0)
    parts += [(labelled, rest)] if rest.size else []

    def predict(number: int) -> None:
        train, to = parts[number]
        model = _fitted(X, labels, train, classifier, [seed, number])
        P[np.ix_(to, model.classes_)] = model.predict_proba(X[to])

    # Our trees alone: others may not tolerate several threads. Each fold is grown and asked by one
    # thread, since trees that share threads add up their votes, and round, in any order.
    threads = count_threads(n_jobs) if isinstance(classifier, str) else 1
    for _ in map_blocks(predict, iter(range(len(parts))), threads):
        pass
    return P


class _Trees:
    """The trees of `ExtraTreesClassifier(random_state=state)`, grown one after the other.

    The forest of scikit-learn hands its trees to a pool, also with one thread, and sets the filters
    of warnings of the whole process meanwhile: folds in several threads would warn of each other.
    """

    def __init__(self, state: int) -> None:
        rng = np.random.RandomState(state)  # as the forest draws its seeds
        seeds = [rng.randint(np.iinfo(np.int32).max) for _ in range(TREES)]
        self.trees = [ExtraTreeClassifier(max_features="sqrt", random_state=seed) for seed in seeds]

    def fit(self, X: Any, y: Ints) -> _Trees:
        self.trees = [tree.fit(X, y) for tree in self.trees]
        self.classes_ = self.trees[0].classes_
        return self

    def predict_proba(self, X: Any) -> Floats:
        total = self.trees[0].predict_proba(X)
        for tree in self.trees[1:]:
            total += tree.predict_proba(X)
        return np.asarray(total / TREES)


def _fitted(X: Any, labels: Ints, train: Ints, classifier: Any, seed: list[int]) -> Any:
    """Fit a classifier, with this seed if it is random, to the points at positions `train`."""
    rng = np.random.default_rng(seed)
    state = int(rng.integers(2**31))
    if isinstance(classifier, str):
        some = np.sort(rng.permutation(train)[:MOST_ROWS])
        return _Trees(state).fit(X[some], labels[some])
    model = clone(classifier)
    model.set_params(**dict.fromkeys(seed_parameters(model), state))
    return model.fit(X[train], labels[train])


def name_of(classifier: Any, pred_probs: Any) -> str:
    """Return what made the probabilities, in a word."""
    if pred_probs is not None:
        return "given probabilities"
    return "extra trees" if isinstance(classifier, str) else type(classifier).__name__
