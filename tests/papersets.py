"""The paper's data sets that can be rebuilt to the last digit, and its two moons.

S3 is left out: its noise came from a generator that was not seeded.
"""

from functools import cache

import numpy as np
from sklearn.datasets import make_moons

from clustertrust import datasets

MOON_NOISE = 0.06
NAMES = ["S1", "S2", "S4", "S5", "S6", "S7", "Ir", "Bc", "Dg"]
paper_set = cache(datasets.load)


def moons_with_outliers(rng):
    """1200 points on two moons (their moon in `y`), then 36 anywhere in the bounding box widened by
    10 % a side.
    """
    X, y = make_moons(1200, noise=MOON_NOISE, random_state=0)
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.1 * (high - low)
    return np.vstack([X, rng.uniform(low - margin, high + margin, (36, 2))]), y
