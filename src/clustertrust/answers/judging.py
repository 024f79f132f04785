"""What a person said of some points → whether their assignment is right, and what it should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clustertrust._types import Bools, Floats, Ints
from clustertrust._validation import check_count, check_flag, check_same_length
from clustertrust.answers.drawing import check_drawn
from clustertrust.answers.scored import Scored, scored
from clustertrust.calibration.checks import check_correct, check_positions

__all__ = ["Answers", "Judged", "judge_by_others"]


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


@dataclass(frozen=True)
class Answers:
    """What a person said about some points.

    Attributes
    ----------
    positions : (m,) positions of the points, each once
    right : (m,) 1.0: the assignment is right, 0.0: wrong, NaN: skipped, or a class was given
    classes : (m,) class of each point, None where skipped; None: no classes were given
    should_be : (m,) code of the cluster that each should be in, -1 where it was not said
    drawn : (m,) whether the point was drawn at random from all points with a score
    rounds : how many times questions were asked
    labels : (m,) code of the cluster that each is in
    """

    positions: Ints
    right: Floats
    classes: NDArray | None
    should_be: Ints
    drawn: Bools
    rounds: int
    labels: Ints

    @classmethod
    def none(cls, source: Scored) -> Answers:
        """Return answers to no question at all."""
        found = cls.of(source, np.array([], dtype=np.int64), right=[])
        return cls(*(*(getattr(found, name) for name in _UNTIL_ROUNDS), 0, found.labels))

    @classmethod
    def of(
        cls,
        cake: Any,
        positions: Any,
        *,
        right: Any = None,
        classes: Any = None,
        should_be: Any = None,
        drawn: Any = False,
        rounds: int = 1,
        force: bool = False,
    ) -> Answers:
        """Return answers about the points at some positions. Give one of the three kinds.

        Parameters
        ----------
        cake : fitted CAKE, Confidence, Audit, or DataFrame with their columns
        positions : (m,) positions of the points, each once
        right : (m,) truth values; None or NaN: skipped
        classes : (m,) class of each point, of any kind; missing: skipped
        should_be : (m,) the cluster that each point should be in, by name; missing: skipped
        drawn : bool, or (m,) truth values
            Whether points were drawn at random from all points with a score. Those that were
            skipped count as well. Points that can hardly have been drawn, because their scores are
            spread otherwise than those of all points, are an error.
        rounds : int
            How many times questions were asked.
        force : bool
            Accept such points: you know that chance alone chose them.

        Returns
        -------
        Answers
        """
        source = scored(cake)
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
                f"The point at position {without[0]} has no score, so nothing can be learned from "
                "it; leave it out."
            )
        labels, codes = source.labels[at], np.full(len(at), -1)
        said, kinds = np.full(len(at), np.nan), None
        if right is not None:
            said = check_correct(right, name="right")
        elif should_be is not None:
            codes = source.codes_of(should_be, "should_be")
            said = np.where(codes < 0, np.nan, codes == labels)
        else:
            kinds = np.array(classes, dtype=object)
            kinds[np.asarray(pd.isna(kinds), dtype=bool)] = None
        codes = np.where((codes < 0) & (said == 1), labels, codes)
        random = np.broadcast_to(np.asarray(drawn, dtype=bool), at.shape).copy()
        if not check_flag("force", force):
            check_drawn(source.scores, at[random])
        rounds = check_count("rounds", rounds, at_least=1)
        return cls(at, said, kinds, codes, random, rounds, labels)

    @property
    def known(self) -> Bools:
        """(m,) which were answered, not skipped."""
        if self.classes is None:
            return ~np.isnan(self.right)
        return np.array([kind is not None for kind in self.classes], dtype=bool)

    def take(self, at: Any) -> Answers:
        """Return some of the answers."""
        return Answers(
            self.positions[at],
            self.right[at],
            None if self.classes is None else self.classes[at],
            self.should_be[at],
            self.drawn[at],
            self.rounds,
            self.labels[at],
        )

    def judged(self) -> Judged:
        """Return the answers that say something of right and wrong.

        A cluster stands for the most common class of its other answers.
        """
        said = self.right
        if self.classes is not None:
            said = judge_by_others(self.labels, self.classes)
        known = ~np.isnan(said)
        codes = np.where((self.should_be < 0) & (said == 1), self.labels, self.should_be)
        return Judged(self.positions[known], said[known], codes[known])


_UNTIL_ROUNDS = ("positions", "right", "classes", "should_be", "drawn")


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
