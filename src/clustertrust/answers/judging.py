"""What a person said of some points → whether their assignment is right, and what it should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Floats, Ints
from clustertrust._validation import check_same_length
from clustertrust.answers.scored import Scored
from clustertrust.calibration.checks import check_correct, check_positions

__all__ = ["Judged", "judge_answers"]


@dataclass(frozen=True)
class Judged:
    """Answers that count.

    Attributes
    ----------
    positions : (m,) positions of the points
    right : (m,) 1.0 for right, 0.0 for wrong
    should_be : (m,) code of the cluster that each should be in, -1 where it was not said
    """

    positions: Ints
    right: Floats
    should_be: Ints


def judge_answers(
    source: Scored, positions: Any, *, right: Any, classes: Any, should_be: Any
) -> Judged:
    """Return the answers that say something; points without a score are refused."""
    given = {"right": right, "classes": classes, "should_be": should_be}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise ValueError(
            f"Give one of right, classes and should_be; {', '.join(names) or 'none'} given."
        )
    at = check_positions(positions, len(source))
    check_same_length("positions", at, names[0], given[names[0]])
    without = at[np.isnan(source.scores[at])]
    if without.size:
        raise ValueError(
            f"The point at position {without[0]} has no score, so nothing can be learned from it; "
            "leave it out."
        )
    codes = np.full(len(at), -1)
    if right is not None:
        said = check_correct(right, name="right")
    elif should_be is not None:
        codes = source.codes_of(should_be, "should_be")
        said = np.where(codes < 0, np.nan, codes == source.labels[at])
    else:
        said = judge_by_others(source.labels[at], classes)
    known = ~np.isnan(said)
    codes = np.where((codes < 0) & (said == 1), source.labels[at], codes)
    return Judged(at[known], said[known], codes[known])


def judge_by_others(labels: Ints, classes: Any) -> Floats:
    """Return whether each class is the most common one of the others in its cluster, NaN: unknown.

    A point does not count in its own case: it would be right whenever it is alone.
    """
    codes, _ = pd.factorize(pd.Series(np.asarray(classes, dtype=object)))
    out = np.full(len(codes), np.nan)
    known = (codes >= 0) & (labels >= 0)
    if not known.any():
        return out
    table = np.zeros((labels.max() + 1, codes.max() + 1), dtype=np.int64)
    np.add.at(table, (labels[known], codes[known]), 1)
    for i in np.flatnonzero(known):
        others = table[labels[i]].copy()
        others[codes[i]] -= 1
        if others.any():
            out[i] = others[codes[i]] == others.max()
    return out
