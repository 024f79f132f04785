"""Arrays and texts → entries of a JSON document: compressed little-endian bytes in base64."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Array, Ints


def pack(array: Array, dtype: str) -> dict[str, Any]:
    """Return an array as a JSON-able dict of type `dtype` (such as "f4"), little-endian."""
    stored = np.ascontiguousarray(array, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"dtype": dtype, "shape": list(stored.shape), "data": _squeeze(stored.tobytes())}


def pack_codes(codes: Ints, k: int) -> dict[str, Any]:
    """Return the codes from -1 to k - 1, in the smallest type that holds them."""
    if k <= 127:
        return pack(codes, "i1")
    return pack(codes, "i2" if k <= 32767 else "i4")


def pack_index(index: pd.Index) -> dict[str, Any]:
    """Pack names of points: a range by start and step, integers, or anything as text."""
    if isinstance(index, pd.RangeIndex):
        return {"kind": "range", "start": index.start, "step": index.step}
    values = index.to_numpy()
    whole = values.dtype.kind in "iu" and len(values) > 0
    # Browsers have doubles alone, which hold integers exactly up to here.
    if whole and values.min() > -(2**53) and values.max() < 2**53:
        return {"kind": "numbers", "values": pack(values, "f8")}
    parts = (" / ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in index)
    return {"kind": "texts", "data": _squeeze(json.dumps(list(parts)).encode())}


def _squeeze(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()
