"""A person's answers about points → whether each is assigned rightly, and what it should be."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Self, TypedDict, Unpack

import numpy as np
import pandas as pd
from scipy.stats import chi2

from clustertrust._errors import InputError
from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust._validation.arguments import check_count, check_flag, check_option_names
from clustertrust._validation.rows import check_same_length
from clustertrust.answers.scored import Scored, scored
from clustertrust.calibration.checks import check_correct, check_positions
from clustertrust.matching import count_pairs
from clustertrust.records import Record


@dataclass(frozen=True)
class Judged(Record):
    """Answers that count.

    Attributes
    ----------
    positions : (m,) positions of the points
    right : (m,) 1.0 for right, 0.0 for wrong
    should_be : (m,) code of the cluster that each should be in, -1 where none was given
    """

    positions: Annotated[Ints, "i m"]
    right: Annotated[Floats, "f! m"]
    should_be: Annotated[Ints, "i m"]

    def _from_stored(self) -> Self:
        """Return it; raise if an answer is neither right nor wrong."""
        if not np.isin(self.right, [0.0, 1.0]).all():
            raise ValueError("its answers are not all right or wrong")
        return self


class AnswerKinds(TypedDict, total=False):
    """What a person can say of points; :meth:`Answers.of` says what each kind means."""

    right: Any
    classes: Any
    should_be: Any


@dataclass(frozen=True)
class Answers:
    """A person's answers about some points.

    Attributes
    ----------
    positions : (m,) positions of the points, each once
    right : (m,) 1.0: the assignment is right, 0.0: wrong, NaN: skipped, or a class was given
    classes : (m,) class of each point, None where skipped; None: no classes were given
    should_be : (m,) code of the cluster that each should be in, -1 where none was given
    drawn : (m,) whether the point was drawn at random from all points with a score
    rounds : how many times questions were asked
    labels : (m,) code of the cluster that each is in
    """

    positions: Ints
    right: Floats
    classes: Array | None
    should_be: Ints
    drawn: Bools
    rounds: int
    labels: Ints

    @classmethod
    def none(cls, source: Scored) -> Answers:
        """Return answers to no question at all."""
        return replace(cls.of(source, [], right=[]), rounds=0)

    @classmethod
    def of(
        cls,
        cake: Any,
        positions: Any,
        *,
        drawn: Any = False,
        rounds: int = 1,
        force: bool = False,
        **kinds: Unpack[AnswerKinds],
    ) -> Answers:
        """Return answers about the points at some positions.

        Give one of the three kinds `right`, `classes` and `should_be`.

        Parameters
        ----------
        cake : fitted CAKE, Confidence, Audit, or DataFrame with their columns
        positions : (m,) positions of the points, each once
        right : (m,) booleans; None or NaN: skipped
        classes : (m,) class of each point, of any kind; missing: skipped
        should_be : (m,) the cluster that each point should be in, by name; missing: skipped
        drawn : bool, or (m,) booleans
            Whether points were drawn at random from all points with a score. Those that were
            skipped count as well. It is an error if the scores of these points are distributed so
            differently from those of all points that they were probably not drawn at random.
        rounds : int
            How many times questions were asked.
        force : bool
            Accept such points, because you know that they were drawn at random.

        Returns
        -------
        Answers
        """
        source = scored(cake)
        check_option_names("an answer", kinds, AnswerKinds.__annotations__)
        named_kinds = {name: values for name, values in kinds.items() if values is not None}
        if len(named_kinds) != 1:
            names = ", ".join(named_kinds) or "none"
            raise ValueError(f"Give one of right, classes and should_be; {names} given.")
        ((kind, values),) = named_kinds.items()
        points = check_positions(positions, len(source))
        check_same_length("positions", points, kind, values)
        without = points[np.isnan(source.scores[points])]
        if without.size:
            raise ValueError(
                f"The point at position {without[0]} has no score, so nothing can be learned from "
                "it; leave it out."
            )
        labels, codes = source.labels[points], np.full(len(points), -1)
        is_right, named = np.full(len(points), np.nan), None
        if kind == "right":
            is_right = check_correct(values, name=kind)
        elif kind == "should_be":
            codes = source.codes_of(values, kind)
            is_right = np.where(codes < 0, np.nan, codes == labels)
        else:
            named = np.array(values, dtype=object)
            named[np.asarray(pd.isna(named), dtype=bool)] = None
        codes = np.where((codes < 0) & (is_right == 1), labels, codes)
        random = np.broadcast_to(np.asarray(drawn, dtype=bool), points.shape).copy()
        if not check_flag("force", force):
            check_drawn(source.scores, points[random])
        rounds = check_count("rounds", rounds, at_least=1)
        return cls(points, is_right, named, codes, random, rounds, labels)

    @property
    def answered(self) -> Bools:
        """(m,) which were answered, not skipped."""
        if self.classes is None:
            return ~np.isnan(self.right)
        return np.array([name is not None for name in self.classes], dtype=bool)

    def take(self, which: Any) -> Answers:
        """Return some of the answers."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: value[which] for name, value in values.items() if np.ndim(value)}
        return replace(self, **arrays)

    def judged(self) -> Judged:
        """Return the answers that say whether a point is right or wrong.

        A cluster stands for the most common class of its other answers.
        """
        right = self.right
        if self.classes is not None:
            right = judge_by_others(self.labels, self.classes)
        judged = ~np.isnan(right)
        codes = np.where((self.should_be < 0) & (right == 1), self.labels, self.should_be)
        return Judged(self.positions[judged], right[judged], codes[judged])


def check_answers(answers: Any) -> Answers:
    """Raise unless these are answers."""
    if not isinstance(answers, Answers):
        raise TypeError(
            f"answers={type(answers).__name__} must be Answers: ask(cake, n).answered(right=…), or "
            "Answers.of(cake, positions, right=…, drawn=…)."
        )
    return answers


def judge_by_others(labels: Ints, classes: Any) -> Floats:
    """Return whether each class is the most common one of the others in its cluster, NaN: unknown.

    A point does not count in its own case: it would be right whenever it is alone.
    """
    codes, _ = pd.factorize(pd.Series(np.asarray(classes, dtype=object)))
    shape = labels.max(initial=0) + 1, codes.max(initial=0) + 1
    others = count_pairs(labels, codes, shape)[labels]
    own = np.arange(len(codes)), codes
    others[own] -= 1
    judged = (codes >= 0) & (labels >= 0) & others.any(axis=1)
    return np.where(judged, others[own] == others.max(axis=1), np.nan)


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
