"""Scores → which points to ask a person about: some at random, some that teach most."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from clustertrust._errors import ParameterError, ParameterTypeError
from clustertrust._types import Bools, Floats, Ints
from clustertrust._validation.arguments import MOST, check_count
from clustertrust.answers.features import Features
from clustertrust.answers.judging import Answers
from clustertrust.answers.learned import LearnedConfidence, learn_from
from clustertrust.answers.posterior import covariance
from clustertrust.answers.scored import Scored, scored

# Share of the questions that are drawn at random: 40 of 60
RANDOM_SHARE = 2 / 3
# Points among which those are chosen that teach most
CANDIDATES = 400
# Strength of the effects that are to be found out
STRENGTH = 2.0


@dataclass(frozen=True)
class Questions:
    """Points to ask a person about.

    Attributes
    ----------
    positions : (m,) positions of the points; those drawn at random first, in random order
    drawn : (m,) which were drawn at random: only these count for a guarantee
    inclusion : (m,) probability with which each was drawn; NaN for those that were chosen
    round : 1 for the first questions about these scores, 2 for the next
    """

    positions: Ints
    drawn: Bools
    inclusion: Floats
    round: int = 1
    source: Scored = field(repr=False, default=None)  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return one line: the arrays would fill a screen."""
        size = f"{len(self.drawn)} points, {int(self.drawn.sum())} drawn at random"
        return f"<Questions: {size}; positions, drawn, answered(), …>"

    def answered(self, right: Any = None, *, classes: Any = None, should_be: Any = None) -> Answers:
        """Return the questions with their answers, in the order of `positions`.

        Parameters
        ----------
        right : (m,) booleans; None: skipped
        classes : (m,) class of each point; missing: skipped
        should_be : (m,) the cluster that each point should be in; missing: skipped
            Give one of the three.

        Returns
        -------
        Answers
        """
        return Answers.of(
            self.source,
            self.positions,
            right=right,
            classes=classes,
            should_be=should_be,
            drawn=self.drawn,
            rounds=self.round,
            # They were drawn here
            force=True,
        )


def ask(
    cake: Any,
    n: int = 60,
    *,
    n_random: int | None = None,
    answers: Answers | None = None,
    X: Any = None,
    random_state: Any = 0,
) -> Questions:
    """Choose n points to ask a person about.

    Parameters
    ----------
    cake : fitted CAKE, Confidence, Audit, or DataFrame with their columns
    n : int
        Number of questions. If nearly all answers are right, :func:`decide` needs about 60 for a
        risk of 0.1, and 120 for 0.05.
    n_random : int, optional
        How many of them to draw at random from all points: only these count for a guarantee. The
        others are chosen to teach the model most: uncertain, unlike each other, and in all
        clusters. None: two thirds.
    answers : Answers, optional
        What was answered before. The random part continues where it ended, and the model asks
        about what it does not know yet.
    X : (n, d) array or frame, optional
        The points, as for :class:`LearnedConfidence`.
    random_state : int, RandomState or None

    Returns
    -------
    Questions

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clustertrust import CAKE
    >>> from clustertrust.answers import ask
    >>> questions = ask(CAKE(3, random_state=0).fit(load_iris().data), 30)
    >>> len(questions.positions), int(questions.drawn.sum())
    (30, 20)
    """
    source = scored(cake, X)
    m = check_count("n", n, at_least=1, at_most=MOST)
    if not isinstance(answers, Answers | None):
        raise ParameterTypeError("answers", answers, "must be Answers, such as Answers.of(…)")
    size = round(m * RANDOM_SHARE) if n_random is None else n_random
    size = check_count("n_random", size, at_least=0, at_most=m)
    before = Answers.none(source) if answers is None else answers
    rng = check_random_state(random_state)
    with_score = np.flatnonzero(~np.isnan(source.scores))
    drawn_before = before.positions[before.drawn]
    pool = np.setdiff1d(with_score, drawn_before)
    left = np.setdiff1d(with_score, before.positions)
    if size > pool.size or m > left.size:
        raise ParameterError(
            "n",
            m,
            f"is more than the {left.size} points that have a score and no answer",
            "ask about fewer",
        )
    # Points that were answered before may be drawn: leaving them out would bias the sample.
    drawn = rng.permutation(pool)[:size]
    others = np.setdiff1d(left, drawn)
    taken = np.union1d(before.positions, drawn)
    chosen: Ints = np.array([], dtype=np.int64)
    if m > size:
        chosen = instructive_points(_ranking(source, before), others, taken, m - size, rng)
    inclusion = np.full(m, np.nan)
    inclusion[:size] = (len(drawn_before) + size) / len(with_score)
    positions = np.concatenate([drawn, chosen]).astype(np.int64)
    return Questions(positions, np.arange(m) < size, inclusion, before.rounds + 1, source)


def _ranking(source: Scored, before: Answers) -> LearnedConfidence:
    """Learn from the answers about points that were not drawn at random.

    Of the others it is known that they are answered, not how: else the ranking would depend on
    answers that are to test it.
    """
    return learn_from(source, before.take(~before.drawn).judged())


def instructive_points(
    learned: LearnedConfidence, pool: Ints, taken: Ints, n: int, rng: Any
) -> Ints:
    """Choose the n points of the pool that teach most, given those answered or asked anyway."""
    candidates = rng.permutation(pool)[: max(CANDIDATES, n)]
    taken = taken[: max(CANDIDATES, n)]
    positions = np.concatenate([taken, candidates])
    features, p = learned.features(positions), learned.scores[positions]
    return positions[most_instructive(features, p, n, np.arange(len(taken)))]


def most_instructive(points: Features, p: Floats, n: int, taken: Ints) -> Ints:
    """Choose n points, one after the other, each the one that lowers the total variance most.

    `points` are the candidates, each of which also stands for others like it; `p` their
    probabilities, and `taken` positions among them that have an answer. An answer about point i has
    the precision h = p (1 - p) for f, so it lowers the variance of f at j by C_ij² / (C_ii + 1 /
    h_i), and that of the probability at j by h_j² times this. C is the covariance of f given the
    answers so far. O(m²) for each answer, m candidates.
    """
    h = np.maximum(p * (1 - p), 1e-4)
    C = covariance(points, points, STRENGTH)
    if len(taken):
        observed = C[np.ix_(taken, taken)] + np.diag(1 / h[taken])
        C -= C[:, taken] @ np.linalg.solve(observed, C[taken])
    chosen: list[int] = []
    free = np.ones(len(p), dtype=bool)
    free[taken] = False
    for _ in range(n):
        gain = (C**2) @ h**2 / (np.diag(C) + 1 / h)
        i = int(np.argmax(np.where(free, gain, -np.inf)))
        chosen.append(i)
        free[i] = False
        C -= np.outer(C[:, i], C[i] / (C[i, i] + 1 / h[i]))
    return np.array(chosen, dtype=np.int64)
