"""Which points the page asks about, in which order: a random sample first, then the uncertain ones.

The random order is one permutation of all scored points, fixed when the page is written, so that
the first m answers are a simple random sample and can carry a guarantee.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Floats, Ints
from clustertrust.report.packing import pack, pack_index

# Of the random order, more than a person answers, and of the uncertain points
MOST_RANDOM, MOST_UNCERTAIN = 1000, 400
# What the page plans at first. With 59 random answers, all right, at most 5 % are wrong with 95 %
# confidence; with fewer not even that can be shown.
PLANNED_RANDOM, PLANNED_UNCERTAIN = 60, 40
SEED = 0
# What the command calls the index of rows without names
ROW = "row"


def question_order(scores: Floats, codes: Ints, drawn: int) -> tuple[Ints, Ints]:
    """Return positions of points to ask about: the start of a random order, and uncertain ones.

    Points without a score are never asked about. The uncertain ones are those with the lowest
    scores of each cluster, one cluster after the other, so that no cluster takes all questions;
    a point may be in both lists. Each list takes at most a quarter of the points `drawn`.
    """
    scored = np.flatnonzero(~np.isnan(scores))
    random = np.random.default_rng(SEED).permutation(scored)[: min(MOST_RANDOM, drawn // 4)]
    by_score = scored[np.argsort(scores[scored], kind="stable")]
    by_cluster = by_score[np.argsort(codes[by_score], kind="stable")]
    sizes = np.unique(codes[by_cluster], return_counts=True)[1]
    rank = np.arange(by_cluster.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    turns = np.lexsort((scores[by_cluster], rank))
    return random, by_cluster[turns][: min(MOST_UNCERTAIN, drawn // 4)]


def pack_questions(order: tuple[Ints, Ints], n_scored: int) -> dict[str, Any]:
    """Pack the questions, how many of them the page plans at first, and the points they are of."""
    random, uncertain = order
    return {
        "random": pack(random, "u4"),
        "uncertain": pack(uncertain, "u4"),
        "planned": [PLANNED_RANDOM, PLANNED_UNCERTAIN],
        "of": n_scored,
    }


def pack_row_numbers(rows: Any, index: pd.Index) -> dict[str, Any] | None:
    """Pack the position of each point in the file of scores; None: not known."""
    if rows is None:
        named = index.name == ROW and index.dtype.kind in "iu"
        return pack_index(index if named else pd.RangeIndex(len(index)))
    numbers = np.asarray(rows)
    if numbers.shape != (len(index),) or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"rows must be {len(index)} integers, one for each point; its shape is "
            f"{numbers.shape} and its type {numbers.dtype}."
        )
    return None if (numbers < 0).any() else pack_index(pd.Index(numbers))


def fingerprint(parts: Iterable[Any]) -> str:
    """Return a digest of points and labels, under which the browser keeps and finds answers."""
    return hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:24]
