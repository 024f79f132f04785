"""Points and given labels → the probability of each label, by a classifier that has not seen it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from clustertrust._errors import InputError, ParameterError, literal
from clustertrust._parallel import count_threads, map_blocks
from clustertrust._types import Array, Floats, Ints
from clustertrust._validation.arguments import check_floats
from clustertrust._validation.frames import is_frame
from clustertrust.auditing.default_classifiers import DEFAULTS
from clustertrust.ensemble.fitting import seed_parameters
from clustertrust.ensemble.labels import in_order_of

AUTO = "auto"
FOLDS = 5
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
    is_made = not isinstance(classifier, type)
    if not (is_made and hasattr(classifier, "predict_proba") and is_classifier(classifier)):
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
    try:
        ordered = sorted(names.tolist())
    except TypeError as error:
        raise InputError(
            "labels are of several kinds, which have no order for the columns of {pred_probs}; "
            "make all of them text."
        ) from error
    place = {name: column for column, name in enumerate(ordered)}
    pred_probs = in_order_of(X, pred_probs, "pred_probs")
    if is_frame(pred_probs):
        # Names from a file are text.
        columns = [str(name) for name in pred_probs.columns]
        if sorted(columns) != sorted(str(name) for name in ordered):
            raise InputError(
                f"{{pred_probs}} has the columns {literal(columns)} and the labels are "
                f"{literal(ordered)}; name one column after each label, or give an array with the "
                "columns in this order."
            )
        place = {name: columns.index(str(name)) for name in ordered}
    P = check_floats("pred_probs", pred_probs, "probabilities, one row per point")
    if P.shape != (n, len(ordered)):
        raise InputError(
            f"{{pred_probs}} has shape {P.shape}; {n} points with the labels {literal(ordered)} "
            f"need {n} rows and {len(ordered)} columns, one for each label in sorted order."
        )
    flaw = _flaw(P)
    if flaw:
        raise InputError(f"{{pred_probs}}: {flaw}; give probabilities, as predict_proba does.")
    return P[:, [place[name] for name in names.tolist()]]


def _flaw(P: Floats) -> str:
    """Return what is wrong with probabilities (n, k), rows of which add up to 1; else nothing."""
    bad = np.argwhere(~((P >= 0) & (P <= 1 + ROUNDING)))
    if bad.size:
        row, column = bad[0].tolist()
        return f"the value in row {row}, column {column} is {P[row, column]:.4g}, not from 0 to 1"
    total = P.sum(axis=1)
    off = np.flatnonzero(np.abs(total - 1) > ROUNDING)
    return f"row {off[0]} adds up to {total[off[0]]:.4g}, not to 1" if off.size else ""


def folds_of(labels: Ints, seed: int) -> Ints:
    """Deal points (n,) into random folds 0 to 4, of each label about as many into each."""
    shuffled = np.random.default_rng([seed, FOLDS]).permutation(labels.size)
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(labels.size, dtype=np.int64)
    fold[order] = np.arange(labels.size) % FOLDS
    return fold


def cross_validate(
    X: Any, labels: Ints, k: int, classifier: Any, seed: int, n_jobs: int | None
) -> list[Floats]:
    """Return the probabilities (n, k) of labels, by models that were fitted without the point.

    One array for each of the default classifiers, or for the one that is given. Points without a
    label (-1) are fitted to by none, and get those of a model of all others.
    """
    labelled = np.flatnonzero(labels >= 0)
    fold = folds_of(labels[labelled], seed)
    parts = [(labelled[fold != part], labelled[fold == part]) for part in np.unique(fold)]
    rest = np.flatnonzero(labels < 0)
    parts += [(labelled, rest)] if rest.size else []
    is_default = isinstance(classifier, str)
    ours = [partial(_by_default, make, k) for make in DEFAULTS.values()]
    voting = ours if is_default else [partial(_by_given, classifier)]
    by_classifier = [np.zeros((len(labels), k)) for _ in voting]

    def predict(number: int) -> None:
        which, part = divmod(number, len(parts))
        train, to = parts[part]
        rng = np.random.default_rng([seed, part])
        classes, shares = voting[which](X, labels, train, to, rng)
        by_classifier[which][np.ix_(to, classes)] = shares

    # Our own alone: others may not tolerate several threads. Each model is fitted and asked by one
    # thread, since trees that share threads add up their votes, and round, in any order.
    threads = count_threads(n_jobs) if is_default else 1
    for _ in map_blocks(predict, iter(range(len(voting) * len(parts))), threads):
        pass
    return by_classifier


def _by_default(
    make: Any, k: int, X: Any, labels: Ints, train: Ints, to: Ints, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Return the classes, and their probabilities for the rows `to`, by a classifier of ours."""
    model = make(_state(rng))
    train = np.sort(rng.permutation(train)[: model.most_rows(X, k)])
    model = model.fit(X[train], labels[train])
    return model.classes_, model.predict_proba(X[to])


def _by_given(
    classifier: Any, X: Any, labels: Ints, train: Ints, to: Ints, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Return the same by a user's classifier, or raise if that fails or gives no probabilities.

    It is copied, with a seed from `rng` if it is random.
    """
    try:
        model = clone(classifier)
        model.set_params(**dict.fromkeys(seed_parameters(model), _state(rng)))
        model = model.fit(_rows(X, train), labels[train])
        classes = np.asarray(model.classes_)
        shares = np.asarray(model.predict_proba(_rows(X, to)), dtype=np.float64)
    except Exception as error:
        problem = f"fails on {len(train)} of the points: {type(error).__name__}: {error}"
        remedy = "give one that can be fitted to them, or {classifier=None}"
        raise ParameterError("classifier", classifier, literal(problem), remedy) from error
    fits = shares.shape == (len(to), len(classes))
    flaw = _flaw(shares) if fits else f"its shape is {shares.shape}"
    if flaw:
        problem = f"does not return probabilities: {flaw}"
        remedy = "give another, or your own probabilities as {pred_probs}"
        raise ParameterError("classifier", classifier, problem, remedy)
    return classes, shares


def _rows(X: Any, rows: Ints) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _state(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def name_of(classifier: Any, pred_probs: Any) -> str:
    """Return what made the probabilities, in words."""
    if pred_probs is not None:
        return "given probabilities"
    return " + ".join(DEFAULTS) if isinstance(classifier, str) else type(classifier).__name__
