"""What a report packs, unpacked without a browser."""

import base64
import json
import zlib

import numpy as np


def unpack(packed):
    """The array that `clustertrust.report.packing.pack` packed."""
    kind = np.dtype(packed["dtype"]).newbyteorder("<")
    return np.frombuffer(expand(packed["data"]), dtype=kind).reshape(packed["shape"])


def unpack_index(packed, n):
    """The n names that `clustertrust.report.packing.pack_index` packed, as text."""
    if packed["kind"] == "range":
        return [str(packed["start"] + packed["step"] * i) for i in range(n)]
    if packed["kind"] == "numbers":
        return [str(int(value)) for value in unpack(packed["values"])]
    return json.loads(expand(packed["data"]))


def expand(text):
    return zlib.decompress(base64.b64decode(text))
