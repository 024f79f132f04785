"""Where the kernels run: on the CPU, or on an NVIDIA GPU by CuPy, which is imported when it is
asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clustertrust._dask import open_client
from clustertrust._errors import ParameterError
from clustertrust._types import Ints
from clustertrust._validation.arguments import check_choice
from clustertrust.kernels import _cupy
from clustertrust.kernels._cupy import holding as holding

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
    on_host = cupy.asnumpy(array)
    _cupy.hold(on_host, array)
    return on_host


def take_rows(array: Any, rows: Ints) -> Any:
    """Return some rows of an array as a NumPy array, wherever it is."""
    return to_host(array[_cupy.cupy().asarray(rows)]) if is_on_gpu(array) else array[rows]


def resolve_device(device: str, X: Any) -> str:
    """Settle "auto": the GPU only where the data are there already. Raise if "cuda" is missing."""
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


def resolve_on_workers(device: str) -> str:
    """Settle "auto" for Dask data: the CPU. Raise if "cuda" is not available on some worker.

    Without a client, Dask's threads are those of this process.
    """
    if device not in GPU:
        return "cpu"
    client = open_client()
    reasons = {"here": _cupy.usable()} if client is None else client.run(_cupy.usable)
    for worker, reason in reasons.items():
        if reason is not None:
            where = worker if client is None else f"on the worker {worker}"
            raise ParameterError(
                "device",
                device,
                f"is not available {where}: {reason}",
                "start one worker for each GPU, and no others, or leave {device} out",
            )
    return device


def refuse_gpu(device: str) -> None:
    """Raise where "cuda" is asked for data in blocks, or for runs on Dask data."""
    if device in GPU:
        raise ParameterError(
            "device",
            device,
            "takes data that fit into memory here, or the scores of a Dask array",
            "leave {device} out, or load X",
        )
