"""Densities of mixtures of Gaussians at points."""

from __future__ import annotations

import numpy as np

from clustertrust._types import Floats, Ints


def joint_densities(
    columns: Floats, peaks: Floats, means: Floats, whiteners: Floats, *, sums: bool = True
) -> tuple[Floats, Floats, Ints]:
    """log(share f) of each Gaussian at points `columns` (p, n), log of their sum, the largest."""
    logs = np.array(
        [
            peak - 0.5 * ((whiten @ (columns - mean[:, None])) ** 2).sum(axis=0)
            for peak, mean, whiten in zip(peaks, means, whiteners, strict=True)
        ]
    )
    labels = logs.argmax(axis=0)
    if not sums:
        return logs[:, :0], np.empty(0), labels
    return logs, np.logaddexp.reduce(logs, axis=0), labels
