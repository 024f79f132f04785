"""Where the kernels run: on the CPU, or on an NVIDIA GPU by CuPy, which is imported when it is
asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._errors import ParameterError
from clustertrust._validation.arguments import check_choice
from clustertrust.kernels import _cupy

# On a GPU distances are computed in single precision, unless double is asked for.
GPU = ("cuda", "cuda-double")
DEVICES = ("auto", "cpu", *GPU)


def check_device(device: Any) -> None:
    """Raise for a device that is not known."""
    check_choice("device", device, DEVICES)


def is_on_gpu(X: Any) -> bool:
    """Whether an array lives on a GPU: CuPy's, and others that say so, such as tensors of torch."""
    if hasattr(X, "__cuda_array_interface__"):
        return True
    where = getattr(X, "__dlpack_device__", None)
    # 2 is DLPack's number for CUDA.
    return where is not None and not isinstance(X, np.ndarray) and int(where()[0]) == 2


def to_host(X: Any) -> Any:
    """Return X as a NumPy array where it is on a GPU, else unchanged."""
    if not is_on_gpu(X):
        return X
    cupy = _cupy.cupy()
    array = cupy.asarray(X) if hasattr(X, "__cuda_array_interface__") else cupy.from_dlpack(X)
    return cupy.asnumpy(array)


def resolve_device(device: str, X: Any) -> str:
    """Settle "auto": the GPU only where the data are there already.

    Raise if "cuda" is not available, with the reason.
    """
    if device == "cpu" or (device == "auto" and not is_on_gpu(X)):
        return "cpu"
    reason = _cupy.usable()
    if reason is None:
        return "cuda" if device == "auto" else device
    if device == "auto":
        return "cpu"
    raise ParameterError(
        "device",
        device,
        f"is not available: {reason}",
        "{device='cpu'} gives the same scores, slower",
    )


def refuse_gpu(device: str) -> None:
    """Raise where "cuda" is asked for data in blocks."""
    if device in GPU:
        raise ParameterError(
            "device",
            device,
            "takes data that fit into memory; data in blocks and Dask data are scored on the CPU",
            "leave {device} out, or load X",
        )
