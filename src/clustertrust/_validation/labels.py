"""One vector of labels → codes and names; which labels mean noise."""

from __future__ import annotations

import numbers
import re
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Array, Ints

# An integer below 0, written out; or -1 and a description, as topic tools name their outliers.
NOISE = re.compile(r"-\d+(\.0*)?|-1_.*", re.DOTALL)


def is_noise(label: Any) -> bool:
    """Return whether a label means noise, so that its points are in no cluster.

    This is the rule for all labels that are given: numbers below 0, the same as text, and -1 with
    a description ("-1_the_of_and"), as topic tools write it. Missing values are not labels.
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
    if names.dtype.kind in "mM":
        # As lists these would be numbers of nanoseconds.
        names = pd.Index(names).astype(str).to_numpy(dtype=object)
    kind = pd.api.types.infer_dtype(names) if names.dtype == object else ""
    _check_label_range(name, names, kind)
    if kind in {"integer", "floating", "mixed-integer-float"}:
        names = names.astype(np.int64 if kind == "integer" else np.float64)
    if names.dtype.kind == "f":
        fractional = names[~np.isfinite(names) | (names != np.floor(names))]
        if fractional.size:
            raise ValueError(
                f"{name} contains {fractional[0].item()!r}, which is not a label; labels are "
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
