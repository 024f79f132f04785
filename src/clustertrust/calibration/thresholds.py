"""Scores and random labels → how many points can be kept with a guaranteed small error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust._validation.arguments import (
    check_flat,
    check_floats,
    check_inside,
    check_scores,
    warn_user,
)
from clustertrust._validation.rows import check_same_length
from clustertrust.calibration.checks import check_correct
from clustertrust.calibration.evidence import binomial_p, hypergeometric_p, in_sequence, weighted_p
from clustertrust.calibration.sampling import Sample
from clustertrust.selection import select_above

# Sets of kept points to test: the surest 1 %, 2 %, …
TESTED_SETS = 100
# Testing starts at the first set whose labels allow one error. After a failure it starts again
# where they allow eight: among few labels, one error too many is common, and would rule out larger
# sets too.
FORGIVEN = (1, 8)
# If nothing is known about the scores before the labels: thresholds fixed for all data, with five
# starting points.
FIXED = np.append(np.arange(99, -1, -1) / 100, -np.inf)
STARTS = (0.8, 0.6, 0.4, 0.2, -np.inf)


@dataclass(frozen=True)
class RiskThreshold:
    """The largest kept set whose error is at most `alpha`, with confidence 1 - `delta`.

    `str()` puts it into words.

    Attributes
    ----------
    threshold : keep scores above it; -inf keeps every point, inf none: no set could be certified
    alpha, delta : as asked for
    guaranteed : whether the labels were a random sample; if not, the result is only about the
        labelled points
    n_points : number of points that the result is about; None: future points, drawn like the
        labelled ones
    thresholds : (t,) the thresholds tested, in the order of the tests, from high to low
    kept : (t,) points kept at each; where `n_points` is None, labelled ones
    labelled, errors : (t,) labels among them, and how many of these are wrong
    p_values : (t,) of the claim that the error is larger than `alpha`
    levels : (t,) the level of the test; 0: not tested
    """

    threshold: float
    alpha: float
    delta: float
    guaranteed: bool
    n_points: int | None
    thresholds: Floats
    kept: Ints
    labelled: Ints
    errors: Ints
    p_values: Floats
    levels: Floats

    @property
    def certified(self) -> bool:
        """Whether a set of points could be certified."""
        return self.threshold < np.inf

    @property
    def n_kept(self) -> int:
        """Points kept; where `n_points` is None, labelled ones."""
        return int(self.kept[self._step()]) if self.certified else 0

    @property
    def coverage(self) -> float:
        """Share of the points kept."""
        return self.n_kept / int(self.kept[-1])

    def _step(self) -> int:
        return int(np.flatnonzero(self.thresholds == self.threshold)[0])

    def keep(self, scores: Any) -> Bools:
        """Return a mask of the points to keep: score > threshold; NaN is never kept."""
        return select_above(scores, self.threshold)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per tested set, in the order of the tests."""
        names = ("thresholds", "kept", "labelled", "errors", "p_values", "levels")
        table = pd.DataFrame({name: getattr(self, name) for name in names})
        return table.assign(
            certified=(table["p_values"] <= table["levels"]) & (table["levels"] > 0)
        )

    def __str__(self) -> str:
        claim = f"error at most {self.alpha:g} with confidence {1 - self.delta:g}"
        if not self.certified:
            most = int(self.labelled.max(initial=0))
            needed = int(np.ceil(np.log(self.delta) / np.log1p(-self.alpha)))
            text = (
                f"No threshold can be certified ({claim}): {most} labels, {int(self.errors[-1])} "
                "of them errors."
            )
            if most < needed:
                text += (
                    f" Even without errors, about {needed} labels are needed; label more points."
                )
            else:
                text += " Label more points, or ask for a larger alpha or delta."
        else:
            step = self._step()
            which = (
                "Keep every score"
                if self.threshold == -np.inf
                else f"Keep scores above {self.threshold:.4g}"
            )
            among = (
                "points like these"
                if self.n_points is None
                else f"{self.kept[step]} of {self.n_points} points"
            )
            text = (
                f"{which}: {among}, {claim}.\n"
                f"Of {self.labelled[step]} labels among them {self.errors[step]} are wrong."
            )
        return (
            text
            if self.guaranteed
            else f"{text}\nNOT GUARANTEED: this holds only for the labelled points."
        )


def risk_threshold(
    scores: Any,
    correct: Any,
    alpha: float = 0.05,
    delta: float = 0.05,
    *,
    sample: Sample | None = None,
    inclusion: Any = None,
) -> RiskThreshold:
    """Find the lowest threshold above which the error is at most alpha, with confidence 1 - delta.

    Parameters
    ----------
    scores : (n,) numbers, higher is surer
        Scores of all points, labelled or not; points with NaN are never kept.
    correct : (n,) booleans, None or NaN where not known; with `sample`, (m,) in its order
        Whether the assignment is right, see :func:`map_clusters`. If some are not known, the
        guarantee is about the n points given, and the known ones must be a random sample of them.
        If all are known, the n points must be a random sample of a population, with scores from 0
        to 1, and the guarantee is about that population: future points.
    alpha : float
        Largest share of errors among the points kept.
    delta : float
        Largest probability, over the draw of the labels, that the share of errors exceeds alpha.
    sample : Sample, optional
        The sample that :func:`suggest` drew. After a review, which is not random, the result is
        only about the labelled points and has no guarantee; a warning says so.
    inclusion : (n,) probabilities in [0, 1], optional
        For labels drawn in another way: the probability that each point is labelled. Points of
        equal probability must have been drawn in the same way, each independently or as a simple
        random sample. 0: the result is not about this point.

    Returns
    -------
    RiskThreshold
        If no set can be certified, `certified` is False and the threshold keeps nothing.

    Notes
    -----
    For any scores and errors, P[error of the kept points > alpha] ≤ delta, because

    1. the tested sets (the surest 1 %, 2 %, … of the points), their order, and the starting points
       depend only on the scores and the number of labels; the starting points are the smallest sets
       that are expected to have enough labels to allow one error, and eight;
    2. for each the p-value of "the error is larger than alpha" is valid: hypergeometric for a
       random sample, binomial for a population, a Chernoff bound for unequal inclusion
       (:mod:`clustertrust.calibration.evidence`);
    3. testing continues to the next set only after a rejection, at the current level, and delta is
       divided among the starting points (the fallback procedure), so a false rejection has a
       probability of at most delta. With thresholds fixed in advance, for a population, there are
       five starting points.

    Do not use the labels that gave the clusters their classes.

    References
    ----------
    C. Clopper and E. Pearson, Biometrika 26 (1934) 404-413. A. Angelopoulos, S. Bates, E. Candès,
    M. Jordan and L. Lei, "Learn then test: calibrating predictive algorithms to achieve risk
    control", Annals of Applied Statistics 19 (2025) 1641-1662.

    Examples
    --------
    >>> import numpy as np
    >>> from clustertrust.calibration import risk_threshold, suggest
    >>> scores = np.arange(1000) / 1000
    >>> right = (scores > 0.3) | (np.arange(1000) % 2 == 0)  # half of the lowest scores are wrong
    >>> sample = suggest(scores, 200)
    >>> print(risk_threshold(scores, right[sample.positions], sample=sample))
    Keep scores above 0.2795: 720 of 1000 points, error at most 0.05 with confidence 0.95.
    Of 151 labels among them 3 are wrong.
    """
    values = check_scores(scores)
    alpha, delta = check_inside("alpha", alpha), check_inside("delta", delta)
    if np.isinf(values).any():
        raise ValueError(
            "scores has infinite values; give finite numbers, and NaN for points without a score."
        )
    right = _labels_of(values, correct, sample)
    if sample is not None and inclusion is not None:
        raise ValueError(
            "sample knows its inclusion probabilities; give either sample or inclusion."
        )
    if sample is None and inclusion is None and not np.isnan(right).any():
        return _of_population(values, right, alpha, delta)
    if sample is not None and not sample.guaranteed:
        warn_user(
            f"sample was drawn for purpose={sample.purpose!r}: its points were chosen by score, "
            "not at random, so nothing is guaranteed. For a guarantee, label suggest(scores, n, "
            "purpose='threshold')."
        )
        # The result is only about the labelled points, and must not look like more.
        labelled = np.where(np.isnan(right), np.nan, values)
        return replace(_of_points(labelled, right, alpha, delta, None), guaranteed=False)
    chances = sample.inclusion if sample is not None else _check_inclusion(inclusion, right)
    equal = sample is None or sample.design == "random"
    return _of_points(values, right, alpha, delta, chances, equal=equal)


def _of_population(values: Floats, right: Floats, alpha: float, delta: float) -> RiskThreshold:
    """Find the threshold for future points: all are labelled, thresholds are fixed."""
    scored = ~np.isnan(values)
    s, wrong = values[scored], right[scored] == 0
    if not s.size or ((s < 0) | (s > 1)).any():
        raise ValueError(
            "If every point is labelled, the thresholds are fixed in advance and scores must lie "
            "from 0 to 1. To take thresholds from the scores, give all scores, with None in "
            "correct for points without a label."
        )
    n = np.array([(s > t).sum() for t in FIXED])
    x = np.array([wrong[s > t].sum() for t in FIXED])
    p, shares = binomial_p(x, n, alpha), np.isin(FIXED, STARTS) / len(STARTS)
    return _conclude(FIXED.copy(), (n, n, x), p, shares, alpha, delta)


def _conclude(
    thresholds: Floats,
    counts: tuple[Ints, Ints, Ints],
    p: Floats,
    shares: Floats,
    alpha: float,
    delta: float,
) -> RiskThreshold:
    """Test the thresholds in order; `counts` are the points kept, the labels and the errors."""
    rejected, levels = in_sequence(p, shares, delta)
    threshold = float(thresholds[rejected][-1]) if rejected.any() else np.inf
    return RiskThreshold(threshold, alpha, delta, True, None, thresholds, *counts, p, levels)


def _of_points(
    values: Floats,
    right: Floats,
    alpha: float,
    delta: float,
    chances: Floats | None,
    *,
    equal: bool = True,
) -> RiskThreshold:
    """Find the threshold for the given points, of which a random sample is labelled.

    `chances` None: all points had the same chance.
    """
    there = ~np.isnan(values) if chances is None else ~np.isnan(values) & (chances > 0)
    if not there.any():
        raise ValueError(
            "No point has both a score and a chance to be labelled; there is nothing to keep."
        )
    order = np.flatnonzero(there)[np.argsort(-values[there], kind="stable")]
    z = right[order]
    pi, of = np.unique(
        np.ones(len(order)) if chances is None else chances[order], return_inverse=True
    )
    sizes, thresholds = _nested_sets(values[order])
    masks = (np.ones(len(order), dtype=bool), ~np.isnan(z), z == 0)
    kept, labelled, errors = (_counted(mask, of, len(pi), sizes) for mask in masks)
    if equal and len(pi) == 1:
        test = partial(_equal_chances, kept=kept, alpha=alpha)
        plan = np.floor(kept * (labelled[-1] / len(order)))
        one_error = np.ones_like(plan)
    else:
        test = partial(weighted_p, kept=kept, inclusion=pi, alpha=alpha)
        plan = kept * pi
        one_error = plan / plan.sum(axis=1, keepdims=True)
    shares = _shares(partial(test, labelled=plan), one_error, delta)
    counts = kept.sum(axis=1), labelled.sum(axis=1), errors.sum(axis=1)
    tested = _conclude(thresholds, counts, test(errors, labelled), shares, alpha, delta)
    return replace(tested, n_points=len(order))


def _equal_chances(errors: Array, labelled: Array, *, kept: Ints, alpha: float) -> Floats:
    """Run the hypergeometric test for tables with one group."""
    return hypergeometric_p(errors[:, 0], labelled[:, 0], kept[:, 0], alpha)


def _shares(test: Callable[[Array], Floats], one_error: Floats, delta: float) -> Floats:
    """Return shares of delta (t,), equal at the starting points and 0 elsewhere.

    These are where the expected labels allow 1 and 8 errors, each at its share of delta. With too
    few labels for both there is one; else one that allows no error; else the last set. No label is
    read, so the shares are fixed before the tests.
    """
    shares = np.zeros(len(one_error))
    for forgiven in [*(FORGIVEN[:c] for c in range(len(FORGIVEN), 0, -1)), (0,)]:
        good = np.array([test(errors * one_error) <= delta / len(forgiven) for errors in forgiven])
        if good.any(axis=1).all():
            np.add.at(shares, good.argmax(axis=1), 1 / len(forgiven))
            return shares
    shares[-1] = 1.0
    return shares


def _nested_sets(s: Floats) -> tuple[Ints, Floats]:
    """Return sizes and thresholds of the sets to test; points of equal score stay together.

    A threshold is half-way to the next lower score, so `>` and `≥` mean the same.
    """
    N = len(s)
    wanted = np.unique(np.ceil(np.arange(1, TESTED_SETS + 1) / TESTED_SETS * N).astype(np.int64))
    sizes = np.unique(N - np.searchsorted(s[::-1], s[wanted - 1], side="left"))
    above, below = s[sizes - 1], np.append(s, -np.inf)[sizes]
    middle = above / 2 + below / 2
    return sizes, np.where(middle < above, middle, below)


def _counted(mask: Bools, of: Ints, groups: int, sizes: Ints) -> Ints:
    """(t, G) points of the mask among the first `sizes`, by group."""
    out = np.zeros((len(sizes), groups), dtype=np.int64)
    first_set = np.searchsorted(sizes, np.flatnonzero(mask), side="right")
    np.add.at(out, (first_set, of[mask]), 1)
    return out.cumsum(axis=0)


def _labels_of(values: Floats, correct: Any, sample: Sample | None) -> Floats:
    """(n,) correctness, NaN where not labelled."""
    answers = check_correct(correct)
    if sample is None:
        check_same_length("scores", values, "correct", answers)
        right = answers
    else:
        if not isinstance(sample, Sample):
            raise TypeError(f"sample={sample!r} must be what suggest() returned.")
        check_same_length("scores", values, "sample.inclusion", sample.inclusion)
        check_same_length("sample.positions", sample.positions, "correct", answers)
        if np.isnan(answers).any():
            raise ValueError(
                f"correct is not known for {int(np.isnan(answers).sum())} of the {len(answers)} "
                "points of the sample. Leaving them out would bias it: count them as wrong "
                "(False), or label them."
            )
        right = np.full(len(values), np.nan)
        right[sample.positions] = answers
    if np.isnan(right).all():
        raise ValueError("correct is not known for any point; label some, see suggest().")
    return right


def _check_inclusion(inclusion: Any, right: Floats) -> Floats | None:
    """Return inclusion probabilities (n,); raise if a labelled point has none."""
    if inclusion is None:
        return None
    chances = check_floats("inclusion", inclusion, "a sequence of probabilities, one per point")
    check_flat("inclusion", chances, "probabilities")
    check_same_length("correct", right, "inclusion", chances)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise ValueError(
            "inclusion must be probabilities from 0 to 1, one for each of the points in scores."
        )
    impossible = np.flatnonzero((chances == 0) & ~np.isnan(right))
    if impossible.size:
        raise ValueError(
            f"The point at position {impossible[0]} is labelled though its inclusion is 0; give "
            "the probability with which it was drawn, or None in correct."
        )
    return chances
