"""Matrices of points: finite numbers whose squares stay in range."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from clustertrust._errors import Message
from clustertrust._validation.arguments import warn_user
from clustertrust._validation.frames import check_columns, check_whole_numbers, is_frame
from clustertrust._validation.rows import only_counts

MATRIX_OPTIONS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    # `check_finite` names the place and the remedy.
    "ensure_all_finite": False,
}


def check_matrix(X: Any, *, estimator: Any = None, reset: bool = True, squares: bool = True) -> Any:
    """Return X as a float array or CSR matrix; with `estimator`, its features are checked.

    It has at least two rows, or one with `reset=False`, which is for new points.
    """
    least = 2 if reset else 1
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        # scikit-learn would take the values behind the mask.
        X = np.ma.filled(X.astype(np.float64), np.nan)
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
        text = re.sub(r"^np\.str_\((.*)\)$", r"\1", str(error).partition(": ")[2])
        raise ValueError(
            f"X has text, such as {text}; give numbers, or put TablePreparer() in front of the "
            "estimator, which turns a table into numbers."
        ) from error
    check_finite(X, columns, row_names)
    # Distances will be squared.
    if squares:
        check_range(X, small=reset)
    return X


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


def check_square(name: str, matrix: Any, n: int) -> Any:
    """Return a precomputed (n, n) matrix, sparse and memory-mapped ones unchanged."""
    if not sparse.issparse(matrix):
        matrix = matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix)
    if matrix.shape != (n, n):
        raise ValueError(
            f"{name} has shape {matrix.shape}; a precomputed matrix of {n} labelled points is "
            f"({n}, {n})."
        )
    return matrix


def warn_of_distances(X: Any) -> None:
    """Warn of points that look like the distances of all pairs of points."""
    if not isinstance(X, np.ndarray) or len(X) < 4 or X.shape[0] != X.shape[1]:
        return
    if X.any() and X.min() >= 0 and not X.diagonal().any() and np.allclose(X, X.T):
        warn_user(
            Message(
                "X is square and symmetric with zeros on its diagonal, as distances of all pairs "
                "are, and each row is taken as a point. If they are distances, use "
                "{metric='precomputed'}."
            )
        )
