"""Sets of our own that the ranking was developed on, beside the paper's; a claim is made on none of them.

They are drawn one after the other from one stream, so that their order is part of what they are. The last three were
drawn anew after development, by the same recipe.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs, make_circles, make_moons

from experiments.research.heldout import NOISE, Set, stack

Xy = tuple[NDArray, NDArray]


def draw() -> dict[str, Xy]:
    """All of them, by name."""
    rng = np.random.default_rng(123)

    def gauss(mean: Sequence[float], covariance: NDArray | list[list[float]], n: int) -> NDArray:
        return rng.multivariate_normal(mean, covariance, n)

    def t(mean: Sequence[float], spread: float) -> NDArray:
        return np.array(mean) + spread * rng.standard_t(3, (600, 2))

    def disc(center: Sequence[float], radius: float, n: int) -> NDArray:
        far, angle = np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
        return np.array(center) + radius * far[:, None] * np.column_stack(
            [np.cos(angle), np.sin(angle)]
        )

    def spheres(d: int, gap: float, spreads: Sequence[float], sizes: Sequence[int]) -> Xy:
        centers = rng.normal(size=(len(spreads), d)) * gap / np.sqrt(2 * d)
        return stack(
            [
                c + s * rng.normal(size=(n, d))
                for c, s, n in zip(centers, spreads, sizes, strict=True)
            ]
        )

    made: dict[str, Xy] = {}
    wide, tall = [[9, 0], [0, 0.3]], [[0.3, 0], [0, 6]]
    made["elongated"] = stack(
        [gauss([0, 0], wide, 500), gauss([0, 4], wide, 500), gauss([9, 2], tall, 500)]
    )
    made["t3"] = stack([t([0, 0], 1), t([6, 0], 1), t([3, 5], 1.5)])
    made["discs"] = stack([disc([0, 0], 1, 300), disc([4, 0], 2.5, 900), disc([0, 5], 1.5, 500)])
    made["moons"] = make_moons(1000, noise=0.1, random_state=1)
    made["rings"] = make_circles(1000, factor=0.4, noise=0.08, random_state=1)
    made["50d"] = spheres(50, 6, [1] * 5, [300] * 5)
    made["50d, spreads"] = spheres(50, 9, [0.5, 1, 1.5, 2], [400, 300, 200, 100])
    made["20d, overlap"] = spheres(20, 4, [1, 0.8, 1.2, 1, 0.6, 1.1], [300] * 6)
    I = np.eye(2)  # noqa: E741
    made["sizes"] = stack(
        [gauss([0, 0], I, 2000), gauss([4, 0], I * 0.25, 100), gauss([0, 4], I * 0.5, 200)]
    )
    X, y = make_blobs(1200, centers=6, n_features=3, cluster_std=1.8, random_state=5)
    noise = rng.uniform(X.min(0), X.max(0), (240, 3))
    made["3d, noise"] = np.vstack([X, noise]), np.append(y, [NOISE] * 240)
    made["10d"] = make_blobs(900, centers=5, n_features=10, cluster_std=4, random_state=3)
    logs = [((0, 0), (0.5, 0.5)), ((1.5, 0.3), (0.4, 0.5)), ((0.3, 1.5), (0.5, 0.3))]
    made["lognormal"] = stack([np.exp(rng.normal(mean, spread, (500, 2))) for mean, spread in logs])
    A = rng.normal(size=(8, 8))
    X, y = spheres(8, 5, [1] * 4, [300] * 4)
    made["8d, stretched"] = X @ A, y
    angle = rng.random(600) * 4
    bow = np.column_stack([np.cos(angle), np.sin(angle)]) * 4 + rng.normal(0, 0.4, (600, 2))
    made["bow"] = stack([bow, gauss([0, 0], I * 0.4, 300)])
    shares = ([8, 2, 2, 2, 1], [2, 8, 2, 2, 1], [2, 2, 8, 3, 3], [1, 1, 1, 8, 6])
    made["shares"] = stack([rng.dirichlet(a, 400) for a in shares])
    rates = ([2, 5, 1, 8, 3, 4], [6, 2, 1, 8, 3, 2], [2, 5, 7, 3, 3, 4], [9, 9, 5, 2, 1, 6])
    made["counts"] = stack([rng.poisson(rate, (300, 6)).astype(float) for rate in rates])
    return made


def sets() -> list[Set]:
    """The same with the number of clusters asked for."""
    return [Set(name, X, y, len(np.unique(y[y != NOISE]))) for name, (X, y) in draw().items()]
