"""The paper's data sets that can be rebuilt to the last digit: S1, S2, S4 to S7, Ir, Bc, Dg, and
the two moons.

S3 is left out: its noise came from a generator that was not seeded.
"""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_blobs, make_moons
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

# Centre, standard deviation, size and seed of each cluster, one call of the generator a cluster.
# The paper gives 2.5 for the second cluster of S2; the authors' notebook, and the printed numbers,
# have 2.3.
BLOBS = {
    "S2": [((0, 0), 2.0, 1000, 42), ((2, 0), 2.3, 1000, 43), ((8, 8), 1.5, 1000, 44)],
    "S4": [
        ((-3, -3), 1.9, 750, 20),
        ((-3, 3), 1.9, 750, 21),
        ((3, -3), 1.9, 750, 22),
        ((3, 3), 1.9, 750, 23),
    ],
    "S5": [((0, 0), 0.2, 1000, 100), ((8, 0), 3.0, 2000, 101), ((4, 8), 1.0, 1000, 102)],
    "S6": [((0, 0), 0.4, 1000, 200), ((4, 0), 2.5, 2000, 201), ((8, 0), 0.4, 1000, 202)],
    "S7": [((0, 0), 0.3, 500, 400), ((5, 5), 1.5, 1000, 401), ((10, 0), 2.5, 2500, 402)],
}
MOON_NOISE = 0.06
NAMES = ["S1", *BLOBS, "Ir", "Bc", "Dg"]


@cache
def paper_set(name):
    """Points and true classes."""
    if name == "S1":
        return make_blobs(4000, centers=[(0, 0), (5, 5), (12, 0)], cluster_std=2.0, random_state=42)
    if name in BLOBS:
        parts = [
            make_blobs(size, centers=[center], cluster_std=std, random_state=seed)[0]
            for center, std, size, seed in BLOBS[name]
        ]
        return np.vstack(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    if name == "Bc":
        X, y = load_breast_cancer(return_X_y=True)
        return PCA(10, random_state=42).fit_transform(StandardScaler().fit_transform(X)), y
    return {"Ir": load_iris, "Dg": load_digits}[name](return_X_y=True)


def moons_with_outliers(rng):
    """1200 points on two moons (their moon in `y`), then 36 anywhere in the bounding box widened by
    10 % a side.
    """
    X, y = make_moons(1200, noise=MOON_NOISE, random_state=0)
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.1 * (high - low)
    return np.vstack([X, rng.uniform(low - margin, high + margin, (36, 2))]), y
