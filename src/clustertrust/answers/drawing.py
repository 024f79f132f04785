"""Whether points that someone says were drawn at random can have been."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from clustertrust._errors import InputError
from clustertrust._types import Floats, Ints

# Bands of the scores, with equally many points in each
BANDS = 5
# Points, below which the law of χ² does not hold and nothing is refused
FEWEST = 10
# Share of honest draws that may be refused
RARE = 0.001


def draw_p_value(scores: Floats, positions: Ints) -> float:
    """Return how probable it is that points drawn at random differ as much from all in score.

    χ² of the number of points in each fifth of the scores, with the variance of draws without
    replacement. 1 where there are too few to say.
    """
    ranked = np.sort(scores[~np.isnan(scores)])
    n, m = len(ranked), len(positions)
    if not FEWEST <= m < n:
        return 1.0
    edges = np.unique(np.quantile(ranked, np.arange(1, BANDS) / BANDS))
    sizes = np.bincount(np.searchsorted(edges, ranked, side="right"), minlength=len(edges) + 1)
    bands = np.searchsorted(edges, scores[positions], side="right")
    drawn = np.bincount(bands, minlength=len(sizes))[sizes > 0]
    sizes = sizes[sizes > 0]
    expected = m * sizes / n
    statistic = ((drawn - expected) ** 2 / expected).sum() * (n - 1) / (n - m)
    return float(chi2.sf(statistic, len(sizes) - 1)) if len(sizes) > 1 else 1.0


def check_drawn(scores: Floats, positions: Ints) -> None:
    """Raise if points were probably not drawn at random, going by their scores."""
    p = draw_p_value(scores, positions)
    if p < RARE:
        raise InputError(
            f"{{drawn=True}}: the scores of these {len(positions)} points are not distributed "
            f"like those of all {np.count_nonzero(~np.isnan(scores))} (χ² of five bands, "
            f"p = {p:.1g}), so they were probably not drawn at random, and a guarantee "
            "would not hold. Leave out {drawn=True}; or give {force=True} if you know that they "
            "were drawn at random."
        )
