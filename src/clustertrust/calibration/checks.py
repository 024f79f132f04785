"""Checks that the parts of calibration share."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Floats, Ints
from clustertrust._validation.arguments import check_flat, check_floats


def check_correct(correct: Any, *, name: str = "correct") -> Floats:
    """Return 1.0 for right, 0.0 for wrong, NaN for not known (None, NaN, NA), one per point."""
    values = np.asarray(correct)
    if values.dtype.kind not in "biuf":
        # NumPy would turn True beside text into text
        values = np.asarray(correct, dtype=object)
    check_flat(name, values, "booleans")
    missing = np.asarray(pd.isna(values), dtype=bool)
    if values.dtype == object:
        valid = np.array(
            [isinstance(value, numbers.Real | np.bool_) and value in (0, 1) for value in values],
            dtype=bool,
        )
    else:
        valid = np.isin(values, [0, 1])
    if not (valid | missing).all():
        first = int(np.argmin(valid | missing))
        raise ValueError(
            f"{name} has {values[first]!r} at position {first}; give True or False, or None if it "
            "is not known. map_clusters(labels, classes).correct(positions, classes) finds which "
            "assignments are right."
        )
    out = np.full(len(values), np.nan)
    out[~missing] = values[~missing].astype(np.float64)
    return out


def check_positions(positions: Any, n: int, *, name: str = "positions") -> Ints:
    """Return positions of points, each once, from 0 to n - 1."""
    values = np.asarray(positions)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} must be one flat sequence of integers; dtype {values.dtype}, {values.shape}."
        )
    out = values.astype(np.int64)
    outside = out[(out < 0) | (out >= n)]
    if outside.size:
        raise ValueError(f"{name} has {outside[0]}; positions of {n} points run from 0 to {n - 1}.")
    if np.unique(out).size < out.size:
        raise ValueError(f"{name} names a point more than once; give each position once.")
    return out


def check_weights(sample_weight: Any, n: int) -> Floats:
    """Return n finite weights of at least 0, not all 0; None: all 1."""
    if sample_weight is None:
        return np.ones(n)
    wanted = f"{n} finite numbers of at least 0, not all 0"
    weights = check_floats("sample_weight", sample_weight, wanted)
    usable = np.isfinite(weights) & (weights >= 0)
    if weights.shape != (n,) or not usable.all() or not weights.any():
        raise ValueError(f"sample_weight must be {wanted}; shape {weights.shape}.")
    return weights
