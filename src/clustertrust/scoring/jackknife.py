"""How far the score would move with other runs: the jackknife over runs."""

from __future__ import annotations

import numpy as np

from clustertrust._parallel import blocks, map_blocks
from clustertrust._types import Floats, Ints
from clustertrust.geometry.component import NORMALIZATIONS
from clustertrust.scoring.settings import Scoring
from clustertrust.stability import Stability, pairs


def standard_errors(
    of: Ints,
    stability: Stability,
    s: Floats,
    scoring: Scoring,
    parts: tuple[Floats, ...] = (),
) -> Floats:
    """se² = (R_i - 1)/R_i Σ_r (θ₋ᵣ - θ̄)² over the R_i runs that count; NaN where R_i < 3.

    θ₋ᵣ is the score without run r. c₋ᵣ = (T - T_r) / C(R_i - 1, 2) and the mean and std of the
    other silhouettes come from sums that are already known, so no run is scored again: O(nR).

    Parameters
    ----------
    of : (n,) row of `stability` that each point belongs to
    stability : the stability of those rows, with per-run sums
    s : (n, R) silhouettes, NaN where a run does not count
    scoring : how c, μ and σ become a score, and on how many threads
    parts : (n,) other components that the fusion takes, such as persistence; held fixed, so the
        error is that of c and S̃ only
    """

    def of_rows(rows: slice) -> Floats:
        more = tuple(part[rows, None] for part in parts)
        return _of_block(of[rows], stability, s[rows], scoring, more)

    # The arrays of a block stay in the cache.
    small = blocks(len(s), 16 * 8 * s.shape[1])
    return np.concatenate(list(map_blocks(of_rows, small, scoring.compute.threads)))


def _of_block(
    of: Ints, stability: Stability, s: Floats, scoring: Scoring, more: tuple[Floats, ...]
) -> Floats:
    counted = stability.counted[of]
    runs = stability.runs[of].astype(np.float64)[:, None]
    # Fewer than three runs give NaN, without a division by zero.
    runs[runs < 3] = np.nan

    sums = stability.sums[of]
    c = (sums.sum(axis=1, keepdims=True) / 2 - sums) / pairs(runs - 1)

    everywhere = bool(counted.all())
    t = s if everywhere else np.where(counted, s, 0.0)
    mean = t.sum(axis=1, keepdims=True) / runs
    # Around the mean the variance loses no digits.
    t = s - mean if everywhere else np.where(counted, s - mean, 0.0)
    squares = t**2
    shift = t / (runs - 1)
    variance = (squares.sum(axis=1, keepdims=True) - squares) / (runs - 1) - shift**2
    std = np.sqrt(np.maximum(variance, 0.0))
    g = NORMALIZATIONS[scoring.normalization](mean - shift, std)

    scores = scoring.fusion(np.clip(c, 0.0, 1.0), g, *more)
    if not everywhere:
        scores[~counted] = 0.0
    spread = scores - scores.sum(axis=1, keepdims=True) / runs
    if not everywhere:
        spread[~counted] = 0.0
    errors: Floats = np.sqrt((runs - 1) / runs * (spread**2).sum(axis=1, keepdims=True))
    return errors[:, 0]
