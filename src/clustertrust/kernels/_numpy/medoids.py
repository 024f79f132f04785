"""Swaps of k-medoids."""

from __future__ import annotations

import numpy as np

from clustertrust._types import AnyFloats, Ints


def fasterpam(X: AnyFloats, start: Ints, max_iter: int) -> tuple[Ints, int]:
    """Medoids (k,) of X (n, d) by eager swaps from `start`, and the number of sweeps."""
    n = len(X)
    medoids = np.array(start, dtype=np.int64)

    def distances(i: int) -> AnyFloats:
        return np.asarray(np.sqrt(((X - X[i]) ** 2).sum(axis=1)))

    to_medoid = np.array([distances(i) for i in medoids])
    without = 0
    for sweep in range(max_iter):
        for c in range(n):
            without = try_swaps(distances(c)[None, :], c, medoids, to_medoid, without)
            if without >= n:
                return medoids, sweep + 1
    return medoids, max_iter


def try_swaps(
    block: AnyFloats, start: int, medoids: Ints, to_medoid: AnyFloats, without: int
) -> int:
    """Try the points start:start + b as medoids, whose distances to all are `block` (b, n).

    `medoids` (k,) and the distances from them, `to_medoid` (k, n), change in place. Returns the
    number of candidates since the last swap.
    """
    k, n = to_medoid.shape
    for c, distance in enumerate(block, start):
        if c not in medoids:
            # The loss after each swap, from scratch: each medoid in turn gives way.
            others = [np.delete(to_medoid, m, axis=0).min(axis=0, initial=np.inf) for m in range(k)]
            losses = [np.minimum(other, distance).sum() for other in others]
            best = int(np.argmin(losses))
            if losses[best] < to_medoid.min(axis=0).sum() * (1 - 1e-14):
                medoids[best], to_medoid[best] = c, distance
                without = -1
        without += 1
        if without >= n:
            break
    return without
