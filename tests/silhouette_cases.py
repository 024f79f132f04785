"""What the tests of geometry share: points, runs, every option, and plain loops."""

import numpy as np

rng = np.random.default_rng(0)
N = 60
X = rng.normal(size=(N, 3)) * [1.0, 2.0, 0.5] + [3.0, -1.0, 0.0]
# Runs of different numbers of clusters, none of them good: silhouettes of either sign.
FULL = np.column_stack([rng.integers(0, k, N) for k in (2, 3, 5)])
FULL[0, 2] = 7  # a cluster of one point
GAPS = FULL.copy()
GAPS[rng.random(GAPS.shape) < 0.2] = -1


def by_loops(labels, distance):
    """Eq. (1), run by run and point by point.

    distance(i, members) is how far point i is from a cluster.
    """
    s = np.full(labels.shape, np.nan)
    for r, run in enumerate(labels.T):
        clusters = {c: np.flatnonzero(run == c) for c in set(run) if c >= 0}
        for i in np.flatnonzero(run >= 0):
            s[i, r] = 0.0
            if len(clusters[run[i]]) > 1 and len(clusters) > 1:
                a = distance(i, clusters[run[i]])
                b = min(distance(i, members) for c, members in clusters.items() if c != run[i])
                s[i, r] = (b - a) / max(a, b) if max(a, b) > 0 else 0.0
    return s


def halved_canberra(x, y):
    """A metric that scikit-learn does not know by name."""
    return 0.5 * np.sum(np.abs(x - y) / (np.abs(x) + np.abs(y)))
