"""Mean silhouettes of single runs of k-means on many surrogates at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clustertrust._types import Array, Floats
from clustertrust.ensemble.stacks import Stack
from clustertrust.kernels import backend


def stacked_silhouettes(
    sets: Sequence[Array], models: Sequence[Any], seeds: Sequence[Sequence[int]]
) -> list[Floats | None]:
    """Return the mean silhouettes (q,) of one run of each model on each data set.

    `models` are q of k-means that `PreparedData` suits, `seeds` (B, q). None in place of those of a
    data set of which some run has to be made alone, as `Stack.fit` says.
    """
    stack = Stack.from_points(sets)
    if stack is None:
        return [None] * len(sets)
    runs = [stack.fit(model, [own[r] for own in seeds]) for r, model in enumerate(models)]
    fine = np.logical_and.reduce([usable for _, usable in runs])
    labels = np.stack([found[fine] for found, _ in runs], axis=1)
    n_clusters = [int(model.n_clusters) for model in models]
    start = np.concatenate([[0], np.cumsum(n_clusters)])
    each = np.arange(len(labels))[:, None]
    sizes = np.hstack(
        [
            np.bincount((k * each + run).ravel(), minlength=k * len(run)).reshape(-1, k)
            for k, run in zip(n_clusters, labels.transpose(1, 0, 2), strict=True)
        ]
    ).astype(np.float64)
    means: list[Floats | None] = [None] * len(sets)
    X = stack.points[0] if fine.all() else stack.points[0][fine]
    found = backend().mean_silhouettes(X, labels, start, sizes)
    for b, own in zip(np.flatnonzero(fine), found, strict=True):
        means[b] = own
    return means
