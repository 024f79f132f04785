"""The types of arrays that signatures name, in one place."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ints = NDArray[np.integer]
Floats = NDArray[np.float64]
AnyFloats = NDArray[np.floating]  # the kernels keep float32 where the data are float32
Bools = NDArray[np.bool_]
Arrays = dict[str, Array]
Result = TypeVar("Result")  # of a function that is called block by block
