"""The checks that public functions call first.

Each error names the argument, the value and the remedy.
"""

from __future__ import annotations

import difflib
import inspect
import itertools
import numbers
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from clustertrust._errors import Message, ParameterError, ParameterTypeError, ParameterWarning
from clustertrust._types import Array, Floats, Ints

MATRIX_OPTIONS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    # `check_finite` names the place and the remedy.
    "ensure_all_finite": False,
}

# The most runs, restarts, surrogates or values to try: more would take years or all memory.
MOST = 1_000_000


# An integer below 0, written out; or -1 and a description, as topic tools name their outliers.
NOISE = re.compile(r"-\d+(\.0*)?|-1_.*", re.DOTALL)


def warn_user(message: str | Message, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, however deep inside the package the warning arises.

    A :class:`Message` names parameters, which the command shows as its options.
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "clustertrust":
        frame, level = frame.f_back, level + 1
    if isinstance(message, Message):
        warnings.warn(ParameterWarning(message), stacklevel=level)
    else:
        warnings.warn(message, category, stacklevel=level)


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise unless `value` is one of the known names."""
    names = sorted(choices)
    if not isinstance(value, str) or value not in names:
        near = nearest_name(value, names) if isinstance(value, str) else None
        hint = "" if near is None else f". Did you mean {near!r}?"
        raise ParameterError(name, value, "is not known", f"choose one of {names}{hint}")


def nearest_name(name: str, names: Sequence[str]) -> str | None:
    """Return the name that was meant, most likely, in whatever case; None if none is similar."""
    small = {other.casefold(): other for other in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), list(small), 1, 0.6)
    return small[near[0]] if near else None


def check_count(name: str, value: Any, *, at_least: int, at_most: int | None = None) -> int:
    """Return an integer of at least `at_least` and at most `at_most`, if that is given."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ParameterTypeError(name, value, f"must be an integer of at least {at_least}")
    if value < at_least:
        raise ParameterError(name, value, f"must be at least {at_least}")
    if at_most is not None and int(value) > at_most:
        raise ParameterError(name, value, f"must be at most {at_most}")
    return int(value)


def check_flag(name: str, value: Any) -> bool:
    """Return True or False; 0 and 1 are accepted."""
    if not isinstance(value, numbers.Integral | np.bool_):
        raise ParameterTypeError(name, value, "must be True or False")
    return bool(value)


def check_number(name: str, value: Any) -> float:
    """Return one real number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        raise ParameterTypeError(name, value, "must be a number")
    try:
        return float(value)
    except OverflowError as error:
        raise ParameterError(name, value, "is too large for a float") from error


def check_inside(
    name: str,
    value: Any,
    low: float = 0.0,
    high: float = 1.0,
    *,
    ends: str = "()",
    remedy: str = "",
) -> float:
    """Return a number of an interval; `ends` says which of its ends belong to it, as in "(]"."""
    number = check_number(name, value)
    inside = low < number < high
    if not (inside or (number == low and ends[0] == "[") or (number == high and ends[1] == "]")):
        above = f"{'at least' if ends[0] == '[' else 'above'} {low:g}"
        below = f" and {'at most' if ends[1] == ']' else 'below'} {high:g}"
        problem = f"must be {above}{'' if high == np.inf else below}"
        raise ParameterError(name, value, problem, remedy)
    return number


def check_flat(name: str, values: Array, what: str) -> None:
    """Raise unless an array is one flat sequence of `what`, one per point."""
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be one flat sequence of {what}, one per point; its shape is "
            f"{values.shape}."
        )


def check_floats(name: str, values: Any, what: str) -> Floats:
    """Return numbers as floats, missing ones as NaN; `what` describes what is expected.

    NumPy would take the real part of complex numbers.
    """
    try:
        if np.iscomplexobj(values):
            raise TypeError("it holds complex numbers")
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be {what}: {error}.") from error


def check_option_names(what: str, options: Iterable[str], names: Collection[str]) -> None:
    """Raise if there is an option that `what`, such as "a page", does not have."""
    unknown = [name for name in options if name not in names]
    if unknown:
        raise TypeError(
            f"{unknown[0]!r} is not an option of {what}; choose from {', '.join(names)}."
        )


def check_mapping(name: str, value: Any) -> dict[Any, Any]:
    """Return a dict of names and values; None: an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise ParameterTypeError(name, value, "must be a dict of names and values")
    return {} if value is None else dict(value)


def check_names(name: str, value: Any, what: str) -> list[str]:
    """Return a sequence of names; `what` describes what they name."""
    if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray | pd.Index):
        raise ParameterTypeError(name, value, f"must be a list of {what}")
    names = list(value)
    if not all(isinstance(one, str) for one in names):
        raise ParameterTypeError(name, value, f"must be a list of {what}, each of them text")
    return names


def check_list(name: str, values: Any, such_as: str) -> list[Any]:
    """Return the values of an iterable as a list, at most `MOST` of them."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterTypeError(
            name, values, f"must be a range or a list of values, such as {such_as}"
        )
    listed = list(itertools.islice(values, MOST + 1))
    if len(listed) > MOST:
        raise ValueError(
            f"{name} holds more than {MOST} values, such as {listed[-1]!r}; give fewer."
        )
    return listed


def named_columns(X: Any, names: Sequence[str] | Array) -> pd.DataFrame:
    """Return points, dense or sparse, as a frame with these columns."""
    if sparse.issparse(X):
        accessor: Any = pd.DataFrame.sparse
        X = accessor.from_spmatrix(sparse.csr_matrix(X))
    return pd.DataFrame(X).set_axis(list(names), axis=1)


def is_frame(X: Any) -> bool:
    """Return whether X is a pandas or polars frame, without importing polars."""
    return _package(X) in {"pandas", "polars"} and type(X).__name__ == "DataFrame"


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or frame, without importing Dask."""
    return _package(X) in {"dask", "dask_expr"} and type(X).__name__ in {"Array", "DataFrame"}


def _package(X: Any) -> str:
    """Return the package that defines the type of X."""
    return type(X).__module__.split(".")[0]


def check_columns(X: Any, remedy: str = "") -> None:
    """Raise for columns of a frame that are not numbers or that share a name.

    `remedy` is what to do about text, where that is not to drop or to encode it.
    """
    if type(X).__name__ == "LazyFrame" and _package(X) == "polars":
        raise TypeError("X is a polars LazyFrame, which has no rows yet; give X.collect().")
    if type(X).__name__ == "AnnData" and _package(X) == "anndata":
        raise TypeError(
            "X is an AnnData object; give clustertrust.anndata.score the object, or a matrix of "
            "it, such as adata.obsm['X_pca']."
        )
    if not is_frame(X):
        return
    twice = [name for name, times in Counter(X.columns).items() if times > 1]
    if twice:
        raise ValueError(f"X has more than one column named {twice[0]!r}; rename them.")
    text = [str(name) for name, column in _columns_of(X, MAYBE_TEXT) if not _holds_numbers(column)]
    if text:
        index = "make them the index, " if isinstance(X, pd.DataFrame) else ""
        encode = (
            f"Drop them, {index}or encode them as numbers (clustertrust.TablePreparer, or "
            "sklearn.preprocessing.OneHotEncoder)."
        )
        raise ValueError(f"X has columns that are not numbers: {text}. {remedy or encode}")


# How the names of types begin, in lower case, whose columns may hold something else than numbers.
MAYBE_TEXT = ("object", "str", "utf8", "categor", "enum", "date", "time", "duration", "period")


def _columns_of(frame: Any, types: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Names and values of the columns of some types.

    Only those are taken out of the frame: it may have 100,000 columns.
    """
    for j, (name, kind) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if str(kind).lower().startswith(types):
            yield name, frame.iloc[:, j] if isinstance(frame, pd.DataFrame) else frame.to_series(j)


def _holds_numbers(column: Any) -> bool:
    kind = pd.api.types.infer_dtype(column.to_numpy(), skipna=True)
    return kind in {"integer", "floating", "mixed-integer-float", "boolean", "empty"}


def check_finite(
    X: Any, columns: Iterable[Any] | None = None, row_names: pd.Index | None = None
) -> None:
    """Raise with the place of the first missing or infinite value, also by its names."""
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        # One cheap pass; an overflowing sum is checked below.
        if np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = ~np.isfinite(values)
    count = int(bad.sum())
    if count == 0:
        return
    if sparse.issparse(X):
        first = int(np.flatnonzero(bad)[0])
        row = int(np.searchsorted(X.indptr, first, side="right") - 1)
        column = int(X.indices[first])
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
    name = "" if columns is None else f" ({list(columns)[column]!r})"
    of_row = ""
    if row_names is not None and not only_counts(row_names):
        of_row = f" ({row_names[row : row + 1].tolist()[0]!r})"
    kind = "NaN" if np.isnan(values[bad]).all() else "NaN or infinity"
    raise ValueError(
        f"X contains {count} value(s) that are missing or infinite ({kind}); the first is in row "
        f"{row}{of_row}, column {column}{name}. Drop those rows or impute them first (for example "
        "with sklearn.impute.SimpleImputer)."
    )


def check_range(X: Any, *, small: bool = True, dtype: Any = None) -> None:
    """Raise if squares of the values leave the range of their type.

    Distances would silently become 0 or infinite. `small=False` accepts values that are all close
    to 0, as new points may be; `dtype` is the type that the values will be converted to.
    """
    values = X.data if sparse.issparse(X) else X
    if not values.size:
        return
    kind = np.finfo(values.dtype if dtype is None else dtype)
    largest = max(abs(float(values.max())), abs(float(values.min())))
    high, low = float(np.sqrt(kind.max / (4.0 * values.size))), float(np.sqrt(kind.tiny / kind.eps))
    if low <= largest <= high or largest == 0 or (largest < low and not small):
        return
    unit = f"1e{np.floor(np.log10(largest)):.0f}"
    extreme = "large" if largest > high else "small"
    remedy = ", or convert it to float64" if dtype is None else ", or fit on float64"
    wider = remedy if kind.dtype == np.float32 else ""
    raise ValueError(
        f"X has values of up to {largest:.3g}, whose squared distances are too {extreme} for "
        f"{kind.dtype} (which needs values between {low:.0e} and {high:.0e}); divide X by {unit} "
        f"first{wider}."
    )


def as_type(X: Any, dtype: Any) -> Any:
    """Return new points in the type of the data of the fit; raise if they exceed its range."""
    if X.dtype == dtype:
        return X
    check_range(X, small=False, dtype=dtype)
    return X.astype(dtype)


# Python converts no longer texts to numbers.
MOST_DIGITS = 4000


def check_whole_numbers(X: Any) -> None:
    """Raise for integers that are no longer the same as floats: beyond 2**53 neighbours become
    one.
    """
    for name, values in _whole_columns(X):
        lost = _first_lost(values) if values.dtype == object else _first_lost_of(values)
        if lost is not None:
            raise ValueError(
                f"X has integers beyond 2**53 in column {name!r}, such as {lost}, which "
                "64-bit floats cannot distinguish from their neighbours. Subtract the column's "
                "smallest from it, or leave it out if it names the rows."
            )


def _first_lost(values: Array) -> int | None:
    """Return the first integer, in Python's own or as text, that is another one as a float."""
    # Only what can be a number: other objects need not have a hash.
    candidates = [value for value in values if isinstance(value, int | str)]
    for value in dict.fromkeys(candidates):
        text = value.strip() if isinstance(value, str) else value
        if isinstance(text, str) and not (
            text.lstrip("+-").isdecimal() and len(text) < MOST_DIGITS
        ):
            continue
        number = int(text)
        # Those beyond all floats are refused by another check.
        if 2**53 < abs(number) < 10**308 and int(float(number)) != number:
            return number
    return None


def _first_lost_of(values: Array) -> int | None:
    """Return the same for an array of integers of 64 bits."""
    if not values.size or max(abs(int(values.max())), abs(int(values.min()))) <= 2**53:
        return None
    rounded = values.astype(np.float64)
    # Rounded up to where the type ends: no way back.
    beyond = rounded >= float(np.iinfo(values.dtype).max)
    lost = beyond | (np.where(beyond, 0, rounded).astype(values.dtype) != values)
    return int(values[lost][0]) if lost.any() else None


def _whole_columns(X: Any) -> Iterator[tuple[Any, Array]]:
    """Names and values of the columns that hold integers of 64 bits, or may hold longer."""
    if is_frame(X):
        for name, column in _columns_of(X, ("object", "str")):
            yield name, column.to_numpy().astype(object)
        for name, column in _columns_of(X, ("int64", "uint64")):
            present = column.dropna() if isinstance(X, pd.DataFrame) else column.drop_nulls()
            unsigned = str(column.dtype).lower().startswith("u")
            yield name, present.to_numpy().astype("u8" if unsigned else "i8")
        return
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError:  # ragged; a later check reports it
            return
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == object:
        yield from enumerate(X.T)
    elif (
        isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iu" and X.dtype.itemsize == 8
    ):
        wide = np.abs(X.astype(np.float64)) >= 2.0**53
        for j in np.flatnonzero(wide.any(axis=0)):
            yield int(j), X[:, j]


def check_matrix(X: Any, *, estimator: Any = None, reset: bool = True, squares: bool = True) -> Any:
    """Return X as a float array or CSR matrix; with `estimator`, its features are checked.

    It has at least two rows, or one with `reset=False`, which is for new points.
    """
    least = 2 if reset else 1
    check_columns(X)
    check_whole_numbers(X)
    columns = X.columns if is_frame(X) else None
    row_names = X.index if isinstance(X, pd.DataFrame) else None
    try:
        if estimator is None:
            X = check_array(X, input_name="X", ensure_min_samples=least, **MATRIX_OPTIONS)
        else:
            X = validate_data(estimator, X, reset=reset, ensure_min_samples=least, **MATRIX_OPTIONS)
    except ValueError as error:
        if not str(error).startswith("could not convert string to float: "):
            raise
        text = str(error).partition(": ")[2]
        raise ValueError(
            f"X has text, such as {text}; give numbers, or put TablePreparer() in front of the "
            "estimator, which turns a table into numbers."
        ) from error
    check_finite(X, columns, row_names)
    # Distances will be squared.
    if squares:
        check_range(X, small=reset)
    return X


def check_square(name: str, matrix: Any, n: int) -> Any:
    """Return a precomputed (n, n) matrix, unchanged where it is sparse, or an array already
    (memory-mapped ones stay so).
    """
    if not sparse.issparse(matrix):
        matrix = matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix)
    if matrix.shape != (n, n):
        raise ValueError(
            f"{name} has shape {matrix.shape}; a precomputed matrix of {n} labelled points is "
            f"({n}, {n})."
        )
    return matrix


def check_same_length(name_a: str, a: Any, name_b: str, b: Any) -> None:
    """Raise unless both have the same number of points; a sparse matrix has no length."""
    n, m = (x.shape[0] if sparse.issparse(x) else len(x) for x in (a, b))
    if n != m:
        raise ValueError(
            f"{name_a} has {n} points and {name_b} has {m}; both must describe the same points."
        )


def check_same_points(name: str, value: Any, of: str, row_names: pd.Index) -> None:
    """Raise unless these are as many points, and, in a pandas frame, are named in the same way."""
    check_same_length(name, value, of, row_names)
    if isinstance(value, pd.DataFrame):
        check_same_rows(name, value.index, of, row_names)


def only_counts(index: pd.Index) -> bool:
    """Return whether an index is 0, 1, 2, …, as in frames whose rows have no names."""
    return index.equals(pd.RangeIndex(len(index)))


def check_same_rows(name: str, index: pd.Index, of: str, row_names: pd.Index) -> None:
    """Raise if two frames of equal length name their rows differently or in another order."""
    counted = only_counts(index) or only_counts(row_names)
    if index.equals(row_names) or (counted and not _same_names(index, row_names)):
        # Rows without names are known by their position.
        return
    _raise_of_rows(name, index, of, row_names)


def order_by_rows(name: str, index: pd.Index, of: str, row_names: pd.Index) -> Ints | None:
    """Return where the rows of `of` are in `name`; None if they go by position.

    They do if both have the same index, or if one only counts its rows and they share no label. The
    same labels in another order are put in order, with a warning. Raise if only some are shared.
    """
    if index.equals(row_names):
        return None
    if _same_names(index, row_names):
        order = pd.Index(index.map(str)).get_indexer(pd.Index(row_names.map(str)))
        if (order == np.arange(len(order))).all():
            return None
        warn_user(
            f"{name} has the index of {of} in another order; it is put into the order of {of}. "
            f"{name}.to_numpy() would go by position."
        )
        return np.asarray(order, dtype=np.int64)
    if (only_counts(index) or only_counts(row_names)) and not index.isin(row_names).any():
        return None
    _raise_of_rows(name, index, of, row_names)
    return None


def _same_names(index: pd.Index, row_names: pd.Index) -> bool:
    """Return whether two indexes hold the same labels, each once, in any order."""
    whole = [pd.api.types.is_integer_dtype(names.dtype) for names in (index, row_names)]
    if any(whole) and not all(whole):
        # Text that looks like a number is no position.
        return False
    theirs, ours = (pd.Index(names.map(str)) for names in (index, row_names))
    return bool(theirs.is_unique and ours.is_unique and theirs.isin(ours).all())


def _raise_of_rows(name: str, index: pd.Index, of: str, row_names: pd.Index) -> None:
    """Raise if rows are named differently, with the first that is."""
    theirs, ours = (names.map(str).to_numpy(dtype=object) for names in (index, row_names))
    differ = np.flatnonzero(theirs != ours)
    if differ.size:
        i = int(differ[0])
        raise ValueError(
            f"Row {i} of {name} is {theirs[i]!r} and row {i} of {of} is {ours[i]!r}; both must "
            f"list the same points in the same order. {name}.loc[{of}.index] puts them in order; "
            f"{name}.to_numpy() declares that they already are."
        )


def is_noise(label: Any) -> bool:
    """Return whether a label means noise, so that its points are in no cluster.

    This is the rule for all labels that are given: numbers below 0, the same as text, and -1 with
    a description ("-1_the_of_and"), as topic tools write it. Missing values are no labels.
    """
    if isinstance(label, str):
        return NOISE.fullmatch(label.strip()) is not None
    return isinstance(label, numbers.Real) and bool(label < 0)


def check_label_vector(name: str, labels: Any) -> tuple[Ints, Array]:
    """Return codes by first appearance (-1: not assigned) and the label behind each code."""
    return read_label_vector(name, labels)[:2]


def read_label_vector(
    name: str, labels: Any, noise: Any = "auto"
) -> tuple[Ints, Array, dict[str, int]]:
    """Return codes by first appearance, the label behind each code, and how often noise occurs.

    Labels may be of any kind: integers, text, categories, booleans. Noise and missing
    values have the code -1. `noise` is "auto", for what `is_noise`; a label or a list of labels,
    for these alone; or None. A cluster whose label would be noise by that rule is then called
    "cluster -1", since results use -1 for no cluster.
    """
    if hasattr(labels, "fit"):
        raise TypeError(
            f"{name} is a clusterer, {type(labels).__name__}, not labels of points; give its "
            "labels_ or what its fit_predict(X) returns."
        )
    try:
        values = labels if isinstance(labels, pd.Series | pd.Categorical) else np.asarray(labels)
        if isinstance(labels, list | tuple) and values.dtype.kind in "US":
            # NumPy would turn a missing value into text.
            values = np.asarray(labels, dtype=object)
        if values.ndim != 1:
            raise ValueError(f"its shape is {values.shape}")
        codes, names = pd.factorize(values)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be one flat sequence of labels, one per point: {error}."
        ) from error
    names = np.asarray(names)
    kind = pd.api.types.infer_dtype(names) if names.dtype == object else ""
    _check_label_range(name, names, kind)
    if kind in {"integer", "floating", "mixed-integer-float"}:
        names = names.astype(np.int64 if kind == "integer" else np.float64)
    if names.dtype.kind == "f":
        fractional = names[~np.isfinite(names) | (names != np.floor(names))]
        if fractional.size:
            raise ValueError(
                f"{name} contains {fractional[0]!r}, which is not a label; labels are "
                "integers, text or categories."
            )
        names = names.astype(np.int64)
    all_names = names.tolist()
    usual = np.array([is_noise(label) for label in all_names], dtype=bool)
    texts = {str(label) for label in noise_labels(noise)}
    drop = usual if is_auto(noise) else np.array([str(label) in texts for label in all_names], bool)
    counts: dict[str, int] = {}
    if drop.any():
        sizes = np.bincount(codes[codes >= 0], minlength=len(all_names))
        counts = {str(all_names[code]): int(sizes[code]) for code in np.flatnonzero(drop)}
        codes = np.append(np.where(drop, -1, np.cumsum(~drop) - 1), -1)[codes]
        names = names[~drop]
    if (usual & ~drop).any():
        names = np.array([f"cluster {x}" if is_noise(x) else str(x) for x in names.tolist()])
    return codes.astype(np.int64), names, counts


def is_auto(noise: Any) -> bool:
    """Return whether labels mean noise by the rule, not because they were named."""
    return isinstance(noise, str) and noise == "auto"


def noise_labels(noise: Any) -> list[Any]:
    """Return the labels that `noise` names: none for "auto" and None."""
    if noise is None or is_auto(noise):
        return []
    return list(noise) if isinstance(noise, list | tuple | set | np.ndarray) else [noise]


def _check_label_range(name: str, names: Array, kind: str) -> None:
    """Raise for numbers that do not fit into 64-bit integers."""
    if names.dtype.kind != "f" and kind not in {"integer", "floating", "mixed-integer-float"}:
        return
    finite = [value for value in names.tolist() if np.isfinite(float(value))]
    beyond = [value for value in finite if not -(2**63) <= value < 2**63]
    if beyond:
        raise ValueError(
            f"{name} contains {beyond[0]!r}, which is too large for a label; labels are 64-bit "
            "integers, text or categories."
        )


def with_nothing(names: Array) -> Array:
    """Append the name for index -1, no label: -1 for numbers, None for other names."""
    numeric = names.dtype.kind in "iu"
    # Unsigned numbers have no -1.
    kind = np.int64 if names.dtype.kind == "i" else object
    return np.append(names.astype(kind), np.array([-1 if numeric else None], dtype=kind))


def check_scores(scores: Any) -> Floats:
    """Return scores as one flat float array; missing values are NaN."""
    array = check_floats("scores", scores, "one flat sequence of numbers, one per point")
    check_flat("scores", array, "numbers")
    return array
