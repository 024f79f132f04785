"""Answers → which points to keep, with a guaranteed small error, and what their labels should be.

No answer serves twice in a guarantee. Those that were not drawn at random, and where there are
enough a quarter of the random ones, teach the model that ranks the points; the other random ones
test how many of the surest can be kept (:func:`clustertrust.calibration.risk_threshold`). When the
kept set is certified, points that a person called wrong leave it, and those called right or
corrected join it: that can only lower its error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from clustertrust._types import Array, Bools, Floats, Ints
from clustertrust._validation.arguments import check_inside
from clustertrust.answers.judging import Answers, Judged, check_answers, judge_by_others
from clustertrust.answers.learned import LearnedConfidence, learn_from
from clustertrust.answers.scored import Scored, scored
from clustertrust.calibration.classes import ClusterMap, map_clusters
from clustertrust.calibration.evidence import hypergeometric_p
from clustertrust.calibration.sampling import Sample
from clustertrust.calibration.thresholds import RiskThreshold, risk_threshold

# One in this many random answers teaches the model, or names the clusters
SPENT = 4
# So many times the fewest answers that could certify anything must be left to test
ENOUGH = 2.5
# Answers per cluster that name it, where they are not more than one in `SPENT`
NAMING = 5
# More questions than this are not proposed
LARGEST_PLAN = 5000


@dataclass(frozen=True, repr=False)
class Decision:
    """Which points to keep, and on what evidence; `str()` says it in one sentence.

    Attributes
    ----------
    kept : (n,) mask of the points to keep
    labels : (n,) label of each point, corrected where a person named another one, and for dropped
        points that are probably wrong if another label was named for similar points
    learned : LearnedConfidence from all answers: `scores`, `interval`, `by_cluster`
    cut : the test of the guarantee; None if no point was drawn at random
    risk, delta : as asked for
    answers : what was answered
    class_names : class of each cluster, if answers are classes; else None
    more : how many more points, drawn at random, would probably suffice; 0: none are needed, None:
        no number helps
    """

    kept: Bools
    labels: Array
    learned: LearnedConfidence
    cut: RiskThreshold | None
    risk: float
    delta: float
    answers: Answers
    class_names: dict[Any, Any] | None
    more: int | None

    @property
    def guaranteed(self) -> bool:
        """Whether the error of the kept points is guaranteed."""
        return self.cut is not None and self.cut.certified

    @property
    def n_kept(self) -> int:
        """Number of points kept."""
        return int(self.kept.sum())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per point: kept or not, label, probability with limits, answer."""
        source = self.learned.source
        answer = np.full(len(self.kept), "", dtype=object)
        judged = self.learned.answers
        answer[judged.positions] = np.where(judged.right == 1, "right", "wrong")
        low, high = self.learned.interval.T
        columns = {
            "kept": self.kept,
            "label": self.labels,
            "label_before": source.named(source.labels),
            "probability": self.learned.scores,
            "low": low,
            "high": high,
            "answer": answer,
        }
        if self.class_names is not None:
            columns["class"] = [self.class_names.get(label) for label in self.labels.tolist()]
        return pd.DataFrame(columns, index=source.index)

    def __repr__(self) -> str:
        """Return one line: the arrays would fill a screen."""
        return f"<Decision: {self.n_kept} of {len(self.kept)} kept; str() says on what evidence>"

    def __str__(self) -> str:
        used = self.learned.n_answers
        answers = f"{used} answer{'' if used == 1 else 's'} used"
        surely = (
            f"at most {_percent(self.risk)} are wrong, with {_percent(1 - self.delta)} confidence"
        )
        if self.guaranteed:
            text = f"Of the {self.n_kept:,} rows kept, {surely}; {answers}."
            if self.answers.rounds > 1:
                together = max(1 - self.answers.rounds * self.delta, 0.0)
                text += (
                    f" This is decision {self.answers.rounds} about these rows: for all decisions "
                    f"together the confidence is {_percent(together)}."
                )
            return text
        if self.cut is None:
            return (
                f"Nothing is kept: none of the answers is about rows drawn at random, so nothing "
                f"can be guaranteed; {answers}. {self.advice}"
            )
        return (
            f"Nothing is kept: the answers do not show for any set of rows that {surely}; "
            f"{answers}. {self.advice}"
        )

    @property
    def advice(self) -> str:
        """What to ask next, in a sentence; empty if the aim was met."""
        if self.guaranteed:
            return ""
        if not _left(self.learned.scores, self.answers):
            return "Every row with a score was asked about. Allow a larger risk, or cluster again."
        if self.more is None:
            return (
                "More answers are unlikely to help: even among the surest rows too many are "
                "probably wrong. Allow a larger risk, or cluster again."
            )
        return f"Ask about at least {self.more} more rows, drawn at random."


def decide(
    cake: Any, answers: Answers, *, risk: float = 0.1, delta: float = 0.05, X: Any = None
) -> Decision:
    """Find which points can be kept with an error of at most `risk`.

    Parameters
    ----------
    cake : fitted CAKE, Confidence, Audit, or DataFrame with their columns
    answers : Answers
        From `ask(cake, 60).answered(right=…)`, or :meth:`Answers.of`.
    risk : float
        Largest share of wrong assignments among the points kept.
    delta : float
        Largest probability that this share is exceeded.
    X : (n, d) array or frame, optional
        The points, as for :class:`LearnedConfidence`.

    Returns
    -------
    Decision

    Examples
    --------
    >>> from clustertrust import CAKE
    >>> from clustertrust.answers import ask, decide
    >>> from clustertrust.datasets import load
    >>> X, y = load("S1")
    >>> cake = CAKE(3, random_state=0).fit(X)
    >>> questions = ask(cake, 120)
    >>> answers = questions.answered(classes=y[questions.positions])
    >>> decide(cake, answers, risk=0.1).guaranteed
    True
    """
    check_answers(answers)
    risk, delta = check_inside("risk", risk), check_inside("delta", delta)
    source = scored(cake, X)
    if not answers.answered.any():
        raise ValueError("No question was answered; answer some, see ask().")
    plan = _plan(source, answers, risk, delta)
    learned = learn_from(source, plan.judged)
    cut, kept = _certify(source, plan, risk, delta)
    kept[plan.judged.positions[plan.judged.right == 0]] = False
    met = cut is not None and cut.certified
    if met:
        kept[plan.judged.positions[plan.judged.should_be >= 0]] = True
    codes = _corrected(source, learned, plan.judged)
    # What is guaranteed is their own label.
    codes[kept] = _with_corrections(source.labels, plan.judged)[kept]
    return Decision(
        kept=kept,
        labels=source.named(codes),
        learned=learned,
        cut=cut,
        risk=risk,
        delta=delta,
        answers=answers,
        class_names=None if plan.named is None else dict(plan.named.names),
        more=0 if met else _more(learned.scores, answers, plan, risk, delta),
    )


@dataclass(frozen=True)
class Plan:
    """Which answers do what.

    Attributes
    ----------
    judged : all answers that say right or wrong
    taught : positions of answers that teach the model of the ranking
    tested : positions of random answers that test it
    passed : (t,) whether these are right; skipped ones are not
    named : the class of each cluster, if answers are classes
    untested : positions of random answers that do not test
    """

    judged: Judged
    taught: Judged
    tested: Ints
    passed: Bools
    named: ClusterMap | None
    untested: Ints


def _plan(source: Scored, answers: Answers, risk: float, delta: float) -> Plan:
    """Divide the answers; which random ones are spent depends on no answer."""
    random = np.flatnonzero(answers.drawn)
    order = random[np.argsort(answers.positions[random])]
    # Not the order of a file, which may be sorted.
    order = np.random.default_rng(0).permutation(order)
    named, right = None, answers.right.copy()
    spent = spent_on_learning(len(order), risk, delta)
    should_be = answers.should_be
    if answers.classes is not None:
        spent = max(spent, min(len(order) // SPENT, NAMING * len(source.names)))
        naming = np.union1d(np.flatnonzero(~answers.drawn), order[:spent])
        naming = naming[answers.answered[naming]] if answers.answered[naming].any() else naming
        named, right = _by_classes(source, answers, naming)
        should_be = _clusters_of(source, named, answers)
    tests, points = order[spent:], answers.positions
    judges = np.flatnonzero(~np.isnan(right))
    judged, taught = (
        Judged(points[some], right[some], should_be[some])
        for some in (judges, np.setdiff1d(judges, tests))
    )
    return Plan(judged, taught, points[tests], right[tests] == 1, named, points[order[:spent]])


def spent_on_learning(m: int, risk: float, delta: float) -> int:
    """How many of m random answers teach: a quarter, if enough are left to test, else none."""
    fewest = np.log(delta) / np.log1p(-risk)
    spent = m // SPENT
    return spent if m - spent >= ENOUGH * fewest else 0


def _by_classes(source: Scored, answers: Answers, naming: Ints) -> tuple[ClusterMap, Floats]:
    """Name the clusters by some answers, and judge all: those that name them by each other."""
    assert answers.classes is not None
    named = map_clusters(
        source.named(source.labels), answers.classes[naming], answers.positions[naming]
    )
    right = np.full(len(answers.positions), np.nan)
    right[naming] = judge_by_others(answers.labels[naming], answers.classes[naming])
    rest = np.setdiff1d(np.flatnonzero(answers.answered), naming)
    right[rest] = named.correct(answers.positions[rest], answers.classes[rest])
    return named, right


def _clusters_of(source: Scored, named: ClusterMap, answers: Answers) -> Ints:
    """Return the cluster that stands for each class, its own if that does; -1: none or several."""
    assert answers.classes is not None
    names = list(named.names.values())
    alone = {kind: cluster for cluster, kind in named.names.items() if names.count(kind) == 1}
    own = np.array([named.names.get(label) for label in source.named(answers.labels).tolist()])
    codes = source.codes_of([alone.get(kind) for kind in answers.classes], "classes")
    return np.where((own == answers.classes) & answers.answered, answers.labels, codes)


def _certify(
    source: Scored, plan: Plan, risk: float, delta: float
) -> tuple[RiskThreshold | None, Bools]:
    """Rank all points by the answers that teach, and test how many of the surest can be kept."""
    n = len(source)
    if not len(plan.tested):
        return None, np.zeros(n, dtype=bool)
    ranked = learn_from(source, plan.taught).scores.copy()
    ranked[plan.untested] = np.nan
    with_score = ~np.isnan(ranked)
    inclusion = np.where(with_score, len(plan.tested) / with_score.sum(), 0.0)
    sample = Sample(plan.tested, inclusion, "threshold", "random")
    cut = risk_threshold(ranked, plan.passed, alpha=risk, delta=delta, sample=sample)
    return cut, cut.keep(ranked)


def _corrected(source: Scored, learned: LearnedConfidence, judged: Judged) -> Ints:
    """Return labels as they should be.

    A person's word first. A point that is probably wrong gets the cluster that was named most often
    for wrong points of its cluster, of those with the same rival if there are any.
    """
    labels = source.labels.copy()
    doubtful = np.flatnonzero(learned.scores < 0.5)
    rivals = source.columns.get("rival", np.full(len(source), -1))
    wrong = (judged.right == 0) & (judged.should_be >= 0)
    # The narrower rule has the last word.
    for same_rival in (False, True):
        alike = source.labels * (len(source.names) + 1) + (rivals + 1) * same_rival
        of_alike = pd.Series(judged.should_be[wrong]).groupby(alike[judged.positions[wrong]])
        # The smallest on ties.
        best = of_alike.agg(lambda codes: codes.mode()[0])
        codes = best.reindex(alike[doubtful], fill_value=-1).to_numpy(np.int64)
        labels[doubtful] = np.where(codes >= 0, codes, labels[doubtful])
    return _with_corrections(labels, judged)


def _with_corrections(labels: Ints, judged: Judged) -> Ints:
    """Return labels, those that a person corrected as they should be."""
    corrected = labels.copy()
    has_word = judged.should_be >= 0
    corrected[judged.positions[has_word]] = judged.should_be[has_word]
    return corrected


def _more(scores: Floats, answers: Answers, plan: Plan, risk: float, delta: float) -> int | None:
    """How many more random answers would certify a tenth of the points or more, if errors are as
    expected; None: no number would, or no point is left to ask about.
    """
    p = np.sort(scores[~np.isnan(scores)])[::-1]
    shares = np.arange(10, 101) / 100
    kept = np.maximum((shares * len(p)).astype(np.int64), 1)
    wrong = 1 - np.cumsum(p)[kept - 1] / kept
    totals = np.unique(np.ceil(np.geomspace(1, LARGEST_PLAN / 10, 60)).astype(np.int64)) * 10
    n = np.minimum((totals[:, None] * shares).astype(np.int64), kept)
    errors = np.ceil(wrong * n).astype(np.int64)
    enough = (hypergeometric_p(errors, n, kept, risk) <= delta).any(axis=1)
    left = _left(scores, answers)
    if not enough.any() or not left:
        return None
    return min(max(int(totals[enough.argmax()]) - len(plan.tested), 10), left)


def _left(scores: Floats, answers: Answers) -> int:
    """How many points were not asked about; those that were skipped are not asked again."""
    return int(np.count_nonzero(~np.isnan(scores))) - len(answers.positions)


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"
