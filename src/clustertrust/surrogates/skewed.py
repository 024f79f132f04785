"""Data without clusters, with columns as skewed as those of the data.

k-means cuts a skewed cloud into a dense core and a long tail, and both score higher than pieces of
a Gaussian. Here each column of a Gaussian is bent as the column of the data is: by one number,
which cannot make a second mode.

References
----------
The g distribution: D. C. Hoaglin, "Summarizing shape numerically: the g-and-h distributions", in
Exploring Data Tables, Trends, and Shapes (1985).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from clustertrust._types import Array, Floats
from clustertrust.surrogates.families import Draw, gaussian

# Quantiles whose distances from the median are compared with those on the other side
SHARES = np.array([0.75, 0.9, 0.975])
# Less is not told from chance in some hundred points; more is an outlier's, and would overflow.
LEAST, MOST = 0.25, 3.0
# Most that the largest exceeds the smallest by, as a factor, where all quantiles agree
ALIKE = 2.0
# Standard deviations from the median: points beyond an end of the bent column are put there.
END = 4.0


def skewness(X: Array) -> Floats:
    """Return g of each column, (d,): log of the ratio of the distances of two quantiles, p and
    1 - p, from the median, divided by the normal quantile of p; 0 for a symmetric column.

    In a g distribution, exponential and log-normal columns among them, it is about the same for all
    p, and the smallest counts. Where it is not, as in a column that a small cluster skews, it is 0.
    """
    middle = np.median(X, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (np.quantile(X, SHARES, axis=0) - middle) / (
            middle - np.quantile(X, 1 - SHARES, axis=0)
        )
        g = np.log(ratio) / ndtri(SHARES)[:, None]
    # Not finite where a quarter of the values or more are equal
    sizes = np.abs(np.where(np.isfinite(g), g, 0.0))
    # The middle one would be nearer to the truth of skewed clouds, but two groups skew a column
    # too: the tumours of `load_breast_cancer` would be called no structure.
    least = sizes.min(axis=0)
    is_skewed = (least >= LEAST) & (sizes.max(axis=0) <= ALIKE * least)
    is_skewed &= (g > 0).all(axis=0) | (g < 0).all(axis=0)
    return np.where(is_skewed, np.sign(g[0]) * np.minimum(least, MOST), 0.0)


def skewed_gaussian(X: Array) -> Draw:
    """Draw from one Gaussian with bent columns; from a plain one if no column is skewed.

    A column becomes normal by log(1 + g (x - median) / scale) / g. The Gaussian has the mean and
    the covariance of such columns, and its columns go back by the inverse.
    """
    X = np.asarray(X, dtype=np.float64)
    g = skewness(X)
    bent = np.flatnonzero(g)
    if bent.size == 0:
        return gaussian(X)
    g, some = g[bent], X[:, bent]
    middle, z = np.median(some, axis=0), ndtri(SHARES[1])
    ends = np.quantile(some, [1 - SHARES[1], SHARES[1]], axis=0)
    size = (ends[1] - ends[0]) * g / (np.exp(g * z) - np.exp(-g * z))
    straight = X.copy()
    straight[:, bent] = (
        np.log(np.maximum(1 + g * (some - middle) / size, np.exp(-END * np.abs(g)))) / g
    )
    draw = gaussian(straight)

    def bend(rng: np.random.Generator) -> Floats:
        Z = np.asarray(draw(rng))
        Z[:, bent] = middle + size * (np.exp(g * Z[:, bent]) - 1) / g
        return Z

    return bend
