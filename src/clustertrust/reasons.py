"""Label, score, components → one reason per point: why its assignment is kept, or why not.

The reason is one of six (`REASONS`), and every table, page and explanation takes it from here. It
never contradicts the other columns: a point is *core* if it has a label and its score is above
the threshold, *unassigned* if it has no label or no score, and only other points get one of the
four doubts.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._errors import Message
from clustertrust._types import Bools, Floats, Ints
from clustertrust._validation.arguments import check_number
from clustertrust._validation.rows import check_same_length

__all__ = ["first_threshold"]

# The threshold where no point has a score; otherwise `cut` gives it.
THRESHOLD = 0.5
# Up to this share of rows above chance there is no structure, and weak structure up to the next. In
# data without clusters it is 5 % on average, and seldom more than 10 %.
NO_STRUCTURE, WEAK_STRUCTURE = 0.1, 0.3
# A rare cluster is structure too: one of so many rows of which more than this share score above
# chance. In data without clusters there is one in less than 1 % of the draws.
RARE_ROWS, RARE_SHARE = 10, 0.5
# From this stability on, the runs count as agreeing. It is the c of a point whose votes two
# clusters share 9 to 1 (0.9² + 0.1² = 0.82), rounded down; a point with equal shares has 0.5.
STABLE = 0.8
# If the silhouette's mean minus spread is above this, a point counts as inside its cluster. Kaufman
# and Rousseeuw, "Finding Groups in Data" (1990), read silhouettes up to 0.25 as no substantial
# structure. The rule uses the silhouette itself, not S̃, so the normalisation changes no reason.
INSIDE = 0.25
# From this share of the votes on, a boundary is one of distances: the runs do not doubt it.
NEARLY_ALL = 0.95

REASONS = (
    "core",
    "fringe",
    "boundary",
    "stable but isolated",
    "compact but unstable",
    "unassigned",
)
CORE, FRINGE, BOUNDARY, ISOLATED, UNSTABLE, UNASSIGNED = range(len(REASONS))

# Each reason as a sentence. Silhouettes alone cannot distinguish an outlier from a point at a firm
# border, so no sentence claims either.
SENTENCES = {
    "core": "its score is above the threshold.",
    "fringe": "the runs agree on it and it lies inside its cluster, but its score is not above "
    "the threshold.",
    "boundary": "it does not clearly belong to one cluster more than to another.",
    "stable but isolated": "the runs agree on it, but its own cluster is barely nearer to it than "
    "the next: it lies far from both, or near a border that all runs draw in the same place.",
    "compact but unstable": "it lies well inside its cluster, but the runs do not agree on which "
    "cluster that is.",
    "unassigned": "it has no cluster, or fewer than two runs assign it.",
}

# In place of a verdict; the second also where no threshold was given.
UNTESTED = (
    "Not tested for structure: that needs dense coordinates, a clusterer and at least two "
    "clusters, to score data without clusters in the same way."
)
MEDIAN = " Here core means a score above half of the median, which most points of any data reach."

# The same of given labels, many of which are surely wrong.
OF_GIVEN = SENTENCES | {
    "boundary": "another label fits it about as well as its own, or better.",
    "unassigned": "it has no label, or no run assigns it.",
}
# The same where data without clusters score as high.
OF_NO_STRUCTURE = SENTENCES | {
    "fringe": "the runs agree on it and it lies inside its cluster, but nothing is core."
}
# Of a boundary where the runs agree: their votes do not divide it, distances do.
NEAR = "the runs agree on it, but another cluster lies about as near to it as its own."


def above(scores: Any, threshold: float) -> Bools:
    """Return which scores are kept: score > threshold, strictly, as in Eq. (11); never NaN."""
    return np.asarray(scores) > threshold


def error_text(error: float) -> str:
    """Return a standard error to stand after a score, rounded up; empty for 0."""
    return f" ± {max(error, 0.001):.3f}" if error > 0 else ""


def first_threshold(scores: Any) -> float:
    """Return a threshold to start with: half of the median score, rounded down to two digits.

    Silhouettes are low in many dimensions, so no fixed number fits all data. Half of the typical
    score drops clearly weak points and few others. It lies between 0 and 0.5. It is not a
    guarantee; :func:`clustertrust.calibration.risk_threshold` gives one.

    Parameters
    ----------
    scores : (n,) numbers, NaN: no score

    Returns
    -------
    float
        `THRESHOLD` if there is no score at all.

    Examples
    --------
    >>> from clustertrust.reasons import first_threshold
    >>> first_threshold([0.1, 0.7, 0.9])
    0.35
    """
    values = np.asarray(scores, dtype=np.float64)
    present = values[~np.isnan(values)]
    if present.size == 0:
        return THRESHOLD
    # A hair more, because 0.7 / 2 is 0.35 in print and less in binary
    return float(np.floor(50 * np.median(present) + 1e-9) / 100)


class NullScores(NamedTuple):
    """What data without clusters score: what they rarely exceed, and quantiles of their scores."""

    level: float
    quantiles: tuple[float, ...]


@dataclass
class Chance:
    """The score that data without clusters rarely exceed.

    It is computed when it is first asked for, and then known: `compute` is called once. The
    `quantiles` of their scores, evenly spaced from 0 to 100 %, are not stored in files.
    """

    compute: Callable[[], NullScores | None] | None = None
    known: float | None = None
    quantiles: tuple[float, ...] = ()

    @property
    def level(self) -> float | None:
        """The score; None if no such data can be drawn or clustered."""
        compute = self.compute
        if compute is not None:
            found = compute()
            if found is not None:
                self.known, self.quantiles = found
            # Its points are not needed any more.
            self.compute = None
        return self.known


@dataclass(frozen=True)
class Cut:
    """Where scores are cut, and what that means.

    Attributes
    ----------
    threshold : above this a score is kept
    rule : "given"; "chance": what data without clusters rarely exceed; "median": half of it
    chance : what data without clusters rarely exceed; None if that is not known
    share : share of all rows that score above chance, likewise
    clusters : how many clusters have at least `RARE_ROWS` rows, most of them above chance
    """

    threshold: float
    rule: str
    chance: float | None = None
    share: float | None = None
    clusters: int = 0

    @property
    def structure(self) -> str:
        """Return "none", "weak", "clear", or "unknown" if chance is not known."""
        if self.share is None:
            return "unknown"
        if self.share > WEAK_STRUCTURE:
            return "clear"
        return "weak" if self.share > NO_STRUCTURE or self.clusters else "none"

    @property
    def verdict(self) -> Message | None:
        """Whether there is structure, as a sentence; None if chance is not known."""
        if self.chance is None or self.share is None:
            return None
        if self.structure == "none":
            return Message(
                "No structure: scores are no higher than in data without clusters; try {choose_k}, "
                "or another clusterer."
            )
        share = "over 99%" if 0.995 <= self.share < 1 else f"{self.share:.0%}"
        rare = ""
        if self.share <= NO_STRUCTURE:
            rare = f", but in {self.clusters} cluster{'s' * (self.clusters > 1)} most do"
        return Message(
            f"{self.structure.capitalize()} structure: {share} of the rows score above chance "
            f"({self.chance:g}){rare}."
        )

    @property
    def opening(self) -> Message:
        """The verdict, or that there is none."""
        if self.verdict is not None:
            return self.verdict
        return Message(UNTESTED + (MEDIAN if self.rule == "median" else ""))

    @property
    def meaning(self) -> str:
        """What core means, in words."""
        if self.rule == "chance" and self.threshold != self.chance:
            return f"nothing is core{self.origin}"
        return f"core: a score above {self.threshold:g}{self.origin}"

    @property
    def origin(self) -> str:
        """Where the threshold comes from, to stand after it; empty if it was given."""
        if self.rule == "median":
            return ", half of the median"
        if self.rule == "given":
            return ""
        if self.threshold == self.chance:
            return ", which data without clusters rarely exceed"
        return f", since data without clusters reach {self.chance:g} too"


def cut(
    scores: Any, threshold: float | None = None, chance: float | None = None, labels: Any = None
) -> Cut:
    """Return where scores are cut: at a threshold that was given, at chance, else by the median.

    Tables, explanations, pages and the command all take it from here, so that a point that is core
    in one of them is core in all. Where there is no structure, no point is core. `labels` are codes
    of clusters, negative: none; with them a rare cluster is seen.
    """
    if chance is None:
        given = threshold is not None
        at = check_threshold(threshold) if given else first_threshold(scores)
        return Cut(at, "given" if given else "median")
    kept = above(scores, chance)
    share = float(kept.mean()) if kept.size else 0.0
    clusters = 0 if labels is None else _count_above(np.asarray(labels), kept)
    found = Cut(chance, "chance", chance, share, clusters)
    if threshold is not None:
        return replace(found, threshold=check_threshold(threshold), rule="given")
    return replace(found, threshold=1.0) if found.structure == "none" else found


def _count_above(labels: Ints, kept: Bools) -> int:
    """Return how many clusters have at least `RARE_ROWS` rows, most of which are kept."""
    has_one = labels >= 0
    sizes = np.bincount(labels[has_one])
    counts = np.bincount(labels[has_one & kept], minlength=len(sizes))
    return int(((sizes >= RARE_ROWS) & (counts > RARE_SHARE * sizes)).sum())


def lies_near(stability: Any, votes: Any) -> Any:
    """Return whether a boundary is one of distances: the runs agree, or nearly all `votes` do."""
    return (np.asarray(stability) >= STABLE) | (np.asarray(votes) >= NEARLY_ALL)


def margins(votes: Floats, labels: Ints, rival: Ints) -> Floats:
    """Return votes for the label minus votes for the rival; a missing one (-1) has no votes."""
    votes, labels, rival = np.asarray(votes), np.asarray(labels), np.asarray(rival)
    rows = np.arange(len(votes))
    ours, theirs = (np.where(who >= 0, votes[rows, who], 0.0) for who in (labels, rival))
    # Shares of runs: 0.95 - 0.05 is 0.9.
    return np.asarray(np.round(np.nan_to_num(ours - theirs), 12))


def doubts(stability: Floats, placement: Floats) -> NDArray[np.int8]:
    """Return the doubt about each point, in case its score is too low: numbers of `REASONS`.

    `placement` is the mean of the silhouette minus its spread. If the runs agree (c ≥ `STABLE`) and
    it is above `INSIDE`, only the threshold excludes the point: *fringe*. Inside, but the runs do
    not agree: *compact but unstable*. Not inside, and the runs do not agree, or `placement` is
    below 0 (another cluster is nearer in some runs): *boundary*. The rest, agreed on but not
    inside: *stable but isolated*; for example a point alone in its cluster, with silhouette 0.
    """
    agreed, inside = stability >= STABLE, placement > INSIDE
    codes = np.where(inside, np.where(agreed, FRINGE, UNSTABLE), BOUNDARY)
    codes[agreed & ~inside & (placement >= 0)] = ISOLATED
    return codes.astype(np.int8)


def reasons(
    labels: Any,
    scores: Any,
    stability: Any,
    silhouette_mean: Any,
    silhouette_std: Any,
    *,
    threshold: float | None = None,
) -> pd.Categorical:
    """Return one reason per point.

    Parameters
    ----------
    labels : (n,) integers
        Consensus labels; negative: none.
    scores, stability, silhouette_mean, silhouette_std : (n,) numbers
        As in :class:`clustertrust.Confidence`; NaN where fewer than two runs assign the point.
    threshold : float, optional
        Points with a label and a score above this are core. None: half of the median score,
        :func:`first_threshold`.

    Returns
    -------
    Categorical of (n,) reasons, its categories `REASONS`

    Examples
    --------
    >>> from clustertrust.reasons import reasons
    >>> scores, stability = [0.8, 0.1, 0.2, float("nan")], [1, 0.5, 1, 0]
    >>> list(reasons([0, 0, 1, -1], scores, stability, [0.7, 0.1, 0.2, 0], [0, 0, 0, 0],
    ...              threshold=0.5))
    ['core', 'boundary', 'stable but isolated', 'unassigned']
    """
    named = {"labels": labels, "scores": scores, "stability": stability}
    named |= {"silhouette_mean": silhouette_mean, "silhouette_std": silhouette_std}
    arrays = {name: np.asarray(values) for name, values in named.items()}
    for name, array in arrays.items():
        if array.ndim != 1 or array.dtype.kind not in "iuf":
            raise ValueError(
                f"{name} must be one flat sequence of numbers, one per point; its shape is "
                f"{array.shape} and its type {array.dtype}."
            )
        check_same_length(name, array, "labels", arrays["labels"])
    labels, scores, stability, mean, std = arrays.values()
    threshold = cut(scores, threshold).threshold
    codes = doubts(stability, mean - std)
    codes[above(scores, threshold)] = CORE
    codes[(labels < 0) | np.isnan(scores)] = UNASSIGNED
    categories: Any = pd.Index(REASONS)
    return pd.Categorical.from_codes(codes, categories=categories)


def check_threshold(threshold: Any) -> float:
    """Return a threshold; an infinite one keeps every point or none."""
    if not isinstance(threshold, numbers.Real) or isinstance(threshold, bool | np.bool_):
        raise TypeError(f"threshold={threshold!r} must be a number, such as {THRESHOLD}.")
    value = check_number("threshold", threshold)
    if np.isnan(value):
        raise ValueError("threshold=nan keeps nothing; give a number.")
    return value
