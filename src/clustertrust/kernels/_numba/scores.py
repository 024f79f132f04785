"""Moments of cells and of silhouettes, scores and their errors: what is done for each point."""

from __future__ import annotations

import numpy as np

from clustertrust._types import Floats, Ints
from clustertrust.kernels._numba.compiling import compiled, inner
from clustertrust.kernels.rules import Fusing

# Of a sum of squares: what is left of it below this by subtracting has lost digits.
_CANCELLED = 1e-3


@compiled
def cell_sums(X, cell_of, base, part, sums):  # type: ignore[no-untyped-def]
    """sums[j] += x - base[j] for the points x of cell j among the rows part[0]:part[1]. O(n d)."""
    for i in range(part[0], part[1]):
        j = cell_of[i]
        x, origin, total = X[i], base[j], sums[j]
        for f in range(total.size):
            total[f] += np.float64(x[f]) - origin[f]


@compiled
def cell_squares(X, cell_of, means, part, squares):  # type: ignore[no-untyped-def]
    """squares[j] += |x - means[j]|² for the points x of cell j in the rows part[0]:part[1]."""
    for i in range(part[0], part[1]):
        j = cell_of[i]
        x, mean = X[i], means[j]
        total = 0.0
        for f in range(mean.size):
            difference = np.float64(x[f]) - mean[f]
            total += difference * difference
        squares[j] += total


@compiled
def cluster_sums(rows, start, counts, means, origin, part, sums):  # type: ignore[no-untyped-def]
    """Add up counts[j] (means[j] - origin) of the cells j of each cluster: sums (K, d). O(m R d).

    `rows` (m, R) are the clusters of the cells, of which part[0]:part[1] are added.
    """
    for j in range(part[0], part[1]):
        mean, size = means[j], np.float64(counts[j])
        for r in range(rows.shape[1]):
            if rows[j, r] >= 0:
                total = sums[start[r] + rows[j, r]]
                for f in range(total.size):
                    total[f] += size * (mean[f] - origin[f])


@compiled
def cluster_squares(rows, start, counts, means, inside, centers, part, squares):  # type: ignore[no-untyped-def]
    """Add up inside[j] + counts[j] |means[j] - centers[c]|² of the cells j of each cluster c.

    That is Σ of squared distances to its centre: squares (K,). As in `cluster_sums`, O(m R d).
    """
    for j in range(part[0], part[1]):
        mean, size = means[j], np.float64(counts[j])
        for r in range(rows.shape[1]):
            if rows[j, r] >= 0:
                c = start[r] + rows[j, r]
                center, total = centers[c], 0.0
                for f in range(center.size):
                    difference = mean[f] - center[f]
                    total += difference * difference
                squares[c] += inside[j] + size * total


@compiled
def _moments(s, mean, std):  # type: ignore[no-untyped-def]
    n, R = s.shape
    for i in range(n):
        row = s[i]
        total, runs = 0.0, 0
        for r in range(R):
            there = row[r] == row[r]  # not NaN
            total += row[r] if there else 0.0
            runs += there
        if runs == 0:
            mean[i] = std[i] = np.nan
            continue
        middle, squares = total / runs, 0.0
        for r in range(R):
            away = row[r] - middle if row[r] == row[r] else 0.0
            squares += away * away
        mean[i], std[i] = middle, np.sqrt(squares / runs)


def moments(s: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (n,) of each row of s (n, R), without its NaN. O(n R)."""
    mean, std = np.empty((2, len(s)))
    _moments(s, mean, std)
    return mean, std


@compiled
def _moments_without(s, away, mean, std):  # type: ignore[no-untyped-def]
    n, R = s.shape
    for i in range(n):
        row = s[i]
        total, runs = 0.0, 0
        for r in range(R):
            there = row[r] == row[r]  # not NaN
            total += row[r] if there else 0.0
            runs += there
        middle, squares = total / max(runs, 1), 0.0
        for r in range(R):
            away[r] = row[r] - middle if row[r] == row[r] else 0.0
            squares += away[r] * away[r]
        for r in range(R):
            left = runs - (row[r] == row[r])
            if left == 0:
                mean[i, r] = std[i, r] = np.nan
                continue
            shift = away[r] / left
            variance = (squares - away[r] * away[r]) / left - shift * shift
            if variance < _CANCELLED * squares:  # the others around their mean, anew
                variance = 0.0
                for q in range(R):
                    apart = away[q] + shift if q != r and row[q] == row[q] else 0.0
                    variance += apart * apart / left
            mean[i, r], std[i, r] = middle - shift, np.sqrt(variance)


def moments_without_each(s: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation (n, R) of the other values of each row of s (n, R), not NaN.

    O(n R), where a difference of sums keeps its digits.
    """
    mean, std = np.empty((2, *s.shape))
    _moments_without(s, np.empty(s.shape[1]), mean, std)
    return mean, std


@inner
def _fuse(c, g, harmonic):  # type: ignore[no-untyped-def]
    """2 c g / (c + g), 0 where both are 0; or c g."""
    total = c + g if harmonic else 2.0
    return 2 * c * g / total if total != 0 else 0.0


@inner
def _normalize(low, affine):  # type: ignore[no-untyped-def]
    """Mean less std → [0, 1], or [0, ∞) where it is only clipped; NaN stays NaN."""
    value = (low + 1.0) / 2.0 if affine else low
    value = 1.0 if affine and value > 1.0 else value
    return 0.0 if value < 0.0 else value


@inner
def _spread(values, counted, runs):  # type: ignore[no-untyped-def]
    """The jackknife error of values (R,), each without one run; counted (R,) are 1 or 0."""
    total = 0.0
    for r in range(values.size):
        total += values[r] * counted[r]
    mean, squares = total / runs, 0.0
    for r in range(values.size):
        away = (values[r] - mean) * counted[r]
        squares += away * away
    return np.sqrt((runs - 1) / runs * squares)


@compiled
def _score(at, of, cells, ballots, near, extra, fusing, between, numbers, votes, names):  # type: ignore[no-untyped-def]
    known, cell_sums = cells
    labels, shares = ballots
    s, nearest, reference = near
    counted, away, low, theta = between[0], between[1], between[2], between[3]
    R, k, lost = s.shape[1], shares.shape[1], 0
    for p in range(at.size):
        i = at[p]
        j, row = of[i], s[p]
        sums, c = cell_sums[j], known[0, j]
        for v in range(k):
            votes[i, v] = shares[j, v]
        rival = labels[1, j] if labels[1, j] >= 0 else nearest[p, reference]
        lost += rival < 0 and labels[0, j] >= 0
        names[0, i], names[1, i], numbers[1, i], numbers[6, i] = labels[0, j], rival, c, known[2, j]
        total, agreed, runs = 0.0, 0.0, 0.0
        for r in range(R):
            there = row[r] == row[r]  # not NaN
            away[r] = row[r] if there else 0.0
            counted[r] = 1.0 if there or fusing.disagree else 0.0
            total += away[r]
            agreed += sums[r]
            runs += counted[r]
        mean, squares = total / runs, 0.0  # NaN where no run counts
        for r in range(R):  # around the mean the variance loses no digits
            away[r] = (away[r] - mean) * counted[r]
            squares += away[r] * away[r]
        std = np.sqrt(squares / runs)
        g = _normalize(mean - std, fusing.affine)
        score, error = _fuse(c, g, fusing.harmonic), np.nan
        if runs >= 3 and runs == known[1, j]:
            pairs, agreed = (runs - 1) * (runs - 2) / 2, agreed / 2
            for r in range(R):
                shift = away[r] / (runs - 1)
                variance = (squares - away[r] * away[r]) / (runs - 1) - shift * shift
                if variance < _CANCELLED * squares:  # the others around their mean, anew
                    variance = 0.0
                    for q in range(R):
                        apart = (away[q] + shift) * counted[q]
                        variance += apart * apart / (runs - 1) if q != r else 0.0
                low[r] = mean - shift - np.sqrt(variance)
                without = (agreed - sums[r]) / pairs
                without = 0.0 if without < 0.0 else 1.0 if without > 1.0 else without
                theta[r] = _fuse(without, _normalize(low[r], fusing.affine), fusing.harmonic)
            error = _spread(theta, counted, runs)
            if g == 0:
                high = mean + fusing.z * _spread(low, counted, runs) - std
                risen = _fuse(c, _normalize(high, fusing.affine), fusing.harmonic)
                raised = abs(risen - score) / fusing.z
                error = raised if raised > error else error
            left = 1 - 2 / (runs + 2)
            unseen = score - _fuse(left * c, left * g, fusing.harmonic)
            error = np.sqrt(error * error + unseen * unseen)
        if fusing.parts > 0:
            score = (score + extra[i]) / (1 + fusing.parts)
            error = error / (1 + fusing.parts) + 0.0 * extra[i]  # NaN where a part is
        numbers[0, i], numbers[2, i], numbers[3, i], numbers[4, i] = score, g, mean, std
        numbers[5, i] = error
    return lost


def score(
    at: Ints,
    of: Ints,
    cells: tuple[Floats, Floats],
    ballots: tuple[Ints, Floats],
    near: tuple[Floats, Ints, int],
    extra: Floats,
    fusing: Fusing,
    out: tuple[Floats, Floats, Ints],
) -> int:
    """Scores of the points `at` (b,) and all that belongs to them; how many lack a rival.

    `of` (n,) is the column of `cells` and `ballots` of each point: c, the number of runs that
    count and the strength (3, m), and the agreements of each run with all others (m, R); label and
    runner-up (2, m) and votes (m, k). `near` are silhouettes (b, R), the nearest other clusters
    (b, R) and the reference run. `extra` (n,) is the sum of other components, if there are any.

    Written are score, c, g, mean and std of silhouettes, standard error and strength (7, n), votes
    (n, k), and label and rival (2, n). The error is the root of the squares of the jackknife's and
    of that by runs of a kind not seen yet, NaN where fewer than three runs count. The score without
    a run comes from sums, so no run is scored again: O(b R).
    """
    between = np.empty((4, near[0].shape[1]))
    return int(_score(at, of, cells, ballots, near, extra, fusing, between, *out))
