"""What the tests of calibration share: scores with assignments that are right or wrong."""

import numpy as np


def drawn(n, seed=0, slope=6.0):
    """Scores, and assignments that are right with the probability 1 / (1 + exp(-slope (s - 0.4)))."""
    rng = np.random.default_rng(seed)
    s = rng.beta(1.2, 1.0, n)
    return s, rng.uniform(size=n) < 1 / (1 + np.exp(-slope * (s - 0.4)))
